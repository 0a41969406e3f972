"""README's table of results is what the stored evaluations say."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


@pytest.fixture(scope="module")
def readme():
    """The script that writes the table."""
    spec = importlib.util.spec_from_file_location("benchmarks_readme", ROOT / "benchmarks" / "readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_what_is_stored(readme):
    text = README.read_text(encoding="utf-8")
    if readme.BEGIN not in text:
        pytest.skip("README has no place for the table")
    assert readme.written(text) == text, "python benchmarks/readme.py writes it anew"


def test_it_is_written_between_the_marks(readme):
    text = f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n"
    written = readme.written(text)
    assert written == f"before\n{readme.BEGIN}\n\n{readme.results_table()}\n\n{readme.END}\nafter\n"
    assert readme.written(written) == written
    assert "| MAGIC, the paper's | 54.1 | 87.9 | 58.6 |" in written
    with pytest.raises(ValueError, match="There are no lines"):
        readme.written("nothing")


def test_a_readme_without_marks_is_refused(readme, tmp_path, monkeypatch, capsys):
    (tmp_path / "README.md").write_text("nothing")
    monkeypatch.setattr(readme, "files", dict)
    monkeypatch.setattr(readme, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["readme.py"])
    assert readme.main() == 2
    assert "There are no lines" in capsys.readouterr().err
