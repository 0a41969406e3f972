import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from magic_pomdp.core.saving import check_writable, claimed, save_bytes, save_elsewhere


def test_saved_data_comes_back_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "result.json"
    save_bytes(path, "ξ".encode())
    assert path.read_text(encoding="utf-8") == "ξ"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_save_keeps_the_old_file(tmp_path):
    path = tmp_path / "result.json"
    path.write_text("old")
    with pytest.raises(TypeError):
        save_bytes(path, "no bytes")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_has_left_of_a_file_goes_when_it_is_saved_again(tmp_path):
    path, other = tmp_path / "[result].json", tmp_path / f".other.json.{2**30}.part"
    for process in (2**30, os.getppid()):  # there is no process of the first number, and the second one is at work
        (tmp_path / f".[result].json.{process}.part").touch()
    other.touch()
    save_bytes(path, b"new")
    assert set(tmp_path.iterdir()) == {path, other, tmp_path / f".[result].json.{os.getppid()}.part"}


def test_checking_leaves_an_existing_file_as_it_is(tmp_path):
    path = tmp_path / "result.json"
    path.write_text("old")
    assert check_writable(path) == path.resolve()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_bad_places_are_refused_in_a_sentence(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        check_writable(tmp_path)
    with pytest.raises(ValueError, match="There is no folder"):
        check_writable(tmp_path / "missing" / "result.json")
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ValueError, match="There is no folder"):
        check_writable(file / "result.json")
    with pytest.raises(ValueError, match="Nothing can be saved as"):
        check_writable(tmp_path / ("x" * 300))


def test_a_link_is_followed(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("{}")
    link.symlink_to(target)
    save_bytes(check_writable(link), b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_folder_has_one_process_at_a_time(tmp_path):
    with claimed(tmp_path):
        for _ in range(2):  # who is refused does not take it from who has it
            with pytest.raises(ValueError, match=r"^Another process is at work in .*: wait for it"), claimed(tmp_path):
                pass
    with claimed(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == []


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    folder = tmp_path / "gone"
    with pytest.raises(OSError, match="No such file or directory") as failure:
        save_bytes(folder / "result.json", b"new")
    assert failure.value.filename == str(folder / "result.json")


def test_a_full_disk_keeps_the_old_file_and_is_told_of_it(tmp_path):
    path = tmp_path / "result.json"
    path.write_text("old")
    script = f"""
import resource
from pathlib import Path
from magic_pomdp.core.saving import save_bytes
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    save_bytes(Path({str(path)!r}), bytes(10**6))
except OSError as error:
    print(error.strerror, error.filename)
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert told == f"File too large {path}\n"
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_has_no_room_is_kept_elsewhere(tmp_path, monkeypatch):
    spare, home = tmp_path / "spare", tmp_path / "home"
    for folder in (spare, home):
        folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spare))
    monkeypatch.setenv("HOME", str(home))
    first = save_elsewhere("result.json", lambda path: save_bytes(path, b"1"))
    second = save_elsewhere("result.json", lambda path: save_bytes(path, b"2"))
    assert (first.read_bytes(), second.read_bytes()) == (b"1", b"2")  # none takes the place of another
    assert first.parent.parent == second.parent.parent == spare

    def save_at_home(path: Path) -> None:
        if spare in path.parents:
            raise OSError(28, "No space left on device")
        save_bytes(path, b"3")

    third = save_elsewhere("result.json", save_at_home)
    assert third.parent.parent == home
    assert len(list(spare.iterdir())) == 2  # no empty folder stays

    def save_nowhere(path: Path) -> None:
        raise OSError(28, "No space left on device")

    assert save_elsewhere("result.json", save_nowhere) is None
    assert len(list(home.iterdir())) == 1
