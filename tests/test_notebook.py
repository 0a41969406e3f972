"""The notebook runs from its first cell to its last."""

import importlib.util
from pathlib import Path

import pytest

TOUR = Path(__file__).parents[1] / "examples" / "tour.ipynb"
NEEDED = ("nbclient", "nbformat", "ipykernel", "matplotlib")

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in NEEDED), reason="notebooks cannot be run here"
)


@pytest.mark.slow
def test_the_tour_runs():
    import nbclient
    import nbformat

    tour = nbformat.read(TOUR, as_version=4)
    assert not any(cell.get("outputs") for cell in tour.cells), "the notebook is kept without outputs"
    nbclient.NotebookClient(tour, timeout=300, resources={"metadata": {"path": str(TOUR.parent)}}).execute()
    printed = "".join(out.get("text", "") for cell in tour.cells for out in cell.get("outputs", []))
    assert "success" in printed
    assert "magic: " in printed
    assert any("image/png" in out.get("data", {}) for cell in tour.cells for out in cell.get("outputs", []))
