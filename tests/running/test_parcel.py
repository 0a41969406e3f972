"""An object and the files that it depends on reach a process that has neither its modules nor its folder."""

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from magic_pomdp.running import parcel
from magic_pomdp.running.parcel import pack, unpack

pytestmark = pytest.mark.jit_off


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Unpacks as another machine would, and gives the object; all that was packed is gone by then."""
    here = tmp_path / "here"
    here.mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(sys, "path", [*sys.path])

    def unpack_there(packed, **options):
        shutil.rmtree(here)
        return unpack(pickle.loads(pickle.dumps(packed)), **options)

    return unpack_there


def test_files_are_found_by_the_names_they_had(elsewhere):
    Path("run").mkdir()
    Path("run/best.model").write_bytes(b"weights")
    Path("map.xml").write_text("roads")
    named = {
        "relative": "run/best.model",
        "absolute": os.path.abspath("map.xml"),
        "path": Path("map.xml").resolve(),
        "word": "magic",
    }
    found = elsewhere(pack(named))
    assert (found["relative"], found["word"]) == ("run/best.model", "magic")
    assert Path(found["relative"]).read_bytes() == b"weights"
    assert Path(found["absolute"]).read_text() == "roads"
    assert isinstance(found["path"], Path)
    assert found["path"].read_text() == "roads"
    assert found["absolute"] != named["absolute"]


def test_a_class_in_a_file_is_found_by_its_place(elsewhere):
    Path("own.py").write_text("class Own: pass")
    place = f"{os.path.abspath('own.py')}:Own"
    found = elsewhere(pack({"absolute": place, "relative": "own.py:Own"}))
    file, _, name = found["absolute"].rpartition(":")
    assert (Path(file).read_text(), name, found["absolute"] == place) == ("class Own: pass", "Own", False)
    assert Path("own.py").read_text() == "class Own: pass"


def test_what_changes_is_not_packed(elsewhere, tmp_path):
    Path("board").write_bytes(b"old")
    own_copy = tmp_path / "copy"
    board = Path("board").resolve()
    packed = pack({"board": board}, changing=board)
    assert not packed.files.keys() & {str(board)}
    assert elsewhere(packed, changing=(str(board), str(own_copy))) == {"board": own_copy}


def test_too_much_is_refused(elsewhere, monkeypatch):
    Path("huge.bin").write_bytes(bytes(2**20))
    monkeypatch.setattr(parcel, "MOST_BYTES", 2**19)
    with pytest.raises(ValueError, match=r"^The files to be sent are too large, .* MB together: the largest is .*huge"):
        pack("huge.bin")


def test_the_same_content_is_written_once(elsewhere, tmp_path):
    Path("map.xml").write_text("roads")
    packed = pack(os.path.abspath("map.xml"))
    first = elsewhere(packed)
    before = os.stat(first).st_mtime_ns
    assert unpack(packed) == first
    assert os.stat(first).st_mtime_ns == before


MODULE = """
from neighbour import double
class Own:
    def __init__(self, number): self.number = number
    def answer(self): return double(self.number)
"""
UNPACK = (
    "import pickle; from magic_pomdp.running.parcel import unpack; print(unpack(pickle.load(open(0, 'rb'))).answer())"
)
SCRIPT = """
import pickle, sys
class Own:
    def answer(self): return 42
if __name__ == "__main__":
    from magic_pomdp.running.parcel import pack
    sys.stdout.buffer.write(pickle.dumps(pack(Own())))
"""


def in_python(*arguments, cwd, content=b""):
    finished = subprocess.run([sys.executable, *arguments], cwd=cwd, input=content, capture_output=True, check=True)
    return finished.stdout


def test_modules_of_ones_own_and_their_neighbours_go_along(tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "own_module.py").write_text(MODULE)
    (folder / "neighbour.py").write_text("def double(number): return 2 * number")
    monkeypatch.syspath_prepend(str(folder))
    from own_module import Own

    content = pickle.dumps(pack(Own(21)))
    shutil.rmtree(folder)
    monkeypatch.delitem(sys.modules, "own_module")
    monkeypatch.delitem(sys.modules, "neighbour")
    assert in_python("-c", UNPACK, cwd=tmp_path, content=content) == b"42\n"


def test_the_script_goes_along_if_it_is_needed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    content = in_python(script.name, cwd=tmp_path)
    script.unlink()
    assert in_python("-c", UNPACK, cwd=tmp_path, content=content) == b"42\n"


@dataclass
class Plain:
    number: int


def test_what_is_installed_stays(elsewhere):
    packed = pack(Plain(3))
    assert not any("site-packages" in path or "magic_pomdp/running/" in path for path in packed.files)
    assert __file__ in packed.files
