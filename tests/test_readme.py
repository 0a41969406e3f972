"""The tables of results in README and docs are what the stored evaluations say."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def readme(monkeypatch):
    """The script that writes the tables."""
    spec = importlib.util.spec_from_file_location("benchmarks_readme", ROOT / "benchmarks" / "readme.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_what_is_stored(readme):
    documents = [path for path in (ROOT / name for name in readme.DOCUMENTS) if path.exists()]
    texts = {path: path.read_text(encoding="utf-8") for path in documents}
    assert any(mark in text for mark in readme.TABLES for text in texts.values()), "no document has a table"
    for path, text in texts.items():
        assert readme.written(text) == text, f"python benchmarks/readme.py writes {path.name} anew"


def test_they_are_written_between_the_marks(readme):
    long, short = readme.TABLES
    text = f"before\n{short}\nold\n{readme.END}\nbetween\n{long}{readme.END}\nafter\n"
    written = readme.written(text)
    assert written == (
        f"before\n{short}\n\n{readme.results_table(short)}\n\n{readme.END}\nbetween\n"
        f"{long}\n\n{readme.results_table(long)}\n\n{readme.END}\nafter\n"
    )
    assert readme.written(written) == written
    assert "| MAGIC, the paper's | 54.1 | 87.9 | 58.6 |" in written
    assert "(−30.9) |" in written


def test_a_document_without_an_end_is_refused(readme, tmp_path, monkeypatch, capsys):
    (tmp_path / "README.md").write_text(next(iter(readme.TABLES)))
    monkeypatch.setattr(readme, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["readme.py"])
    assert readme.main() == 2
    assert "README.md: There is no line <!-- end" in capsys.readouterr().err
