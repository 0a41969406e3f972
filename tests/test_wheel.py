"""What is installed is complete: the wheel holds code, types, models and pages, and nothing else of the sources."""

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "magic_pomdp"

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("build", "hatchling")), reason="wheels cannot be built here"
)


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """The files in a wheel that is built as an installer builds it, with what is installed here."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        assert opened.testzip() is None
        return set(opened.namelist())


def test_the_wheel_holds_the_whole_package(names):
    here = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert here <= names
    assert any(name.endswith(".safetensors") for name in here)
    assert {"magic_pomdp/py.typed", "magic_pomdp/show/page/report.html", "magic_pomdp/show/page/page.css"} <= here


def test_the_wheel_holds_nothing_else(names):
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"magic_pomdp"}
    assert any(name.endswith("/licenses/LICENSE") for name in names)
