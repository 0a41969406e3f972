"""Faults from outside: no room, a folder that vanishes. After each there is one sentence for each file and nothing half
written, and the same command goes on when the fault is gone."""

import dataclasses
import os
import re
import resource
import signal
import tempfile
import time
from pathlib import Path

import pytest
from small_commands import COMMANDS, LONGEST, left_over, wait_until_gone, workers_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"),
]
BY_NAME = {command.name: command for command in COMMANDS}


def limit_files(size):
    """What a child does before it begins: from then on none of its files can have more bytes."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.fixture
def spare():
    """Where what cannot be saved goes; a short path, since sockets have names in it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def surroundings(spare):
    """The environment of a command. Without its last entry, Python would keep halves of its own files."""
    return {**os.environ, "TMPDIR": str(spare), "PYTHONDONTWRITEBYTECODE": "1"}


def check_stopped(process, folder, spare, file, *reasons):
    """The command has told, in a sentence for each file, why that cannot be saved and where it is instead, the first
    one first; and it has left nothing half done."""
    _, err = process.communicate(timeout=LONGEST)
    complaints = [line for line in err.splitlines() if line.startswith("magic-pomdp: ")]
    assert (process.returncode, "Traceback" in err) == (1, False), err
    assert file in complaints[0]
    assert all(any(reason in line for reason in reasons) for line in complaints), err
    kept = [Path(line.removesuffix(".")) for line in re.findall(r"it is kept as (.*)", err)]
    assert all(path.is_file() and path.is_relative_to(spare) for path in kept), err
    assert wait_until_gone(process) == []
    assert left_over(folder) == []


def check_works(command, folder):
    folder.mkdir(exist_ok=True)
    process = command.start(folder, None)
    _, err = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, err
    assert command.outcome(folder)
    assert left_over(folder) == []


def has_begun(name, folder, process):
    """Whether a command is in the middle of its work."""
    patterns = {"compare": "*steps.json", "train": "checkpoint-*"}
    return any((folder / "result").glob(patterns[name])) if name in patterns else workers_of(process)


@pytest.mark.parametrize(("name", "instead"), [("compare", "a file"), ("train", "nothing"), ("record", "nothing")])
def test_the_folder_of_the_results_vanishes(name, instead, tmp_path, spare, jit):
    command = BY_NAME[name]
    if name == "record":
        (tmp_path / "result").mkdir()
        path = "result/episodes.record.gz"
        arguments = tuple(path if one == command.result else one for one in command.arguments)
        command = dataclasses.replace(command, arguments=arguments, result=path)
    process = command.start(tmp_path, surroundings(spare))
    while process.poll() is None and not has_begun(name, tmp_path, process):
        time.sleep(0.005)
    (tmp_path / "result").rename(tmp_path / "elsewhere")
    if instead == "a file":
        (tmp_path / "result").touch()
    check_stopped(process, tmp_path, spare, "result/", "No such file or directory", "Not a directory")
    (tmp_path / "result").unlink(missing_ok=True)
    (tmp_path / "elsewhere").rename(tmp_path / "result")
    check_works(command, tmp_path)


@pytest.mark.parametrize(
    ("name", "size", "file"), [("compare", 1_000, "macro-despot_100steps.json"), ("train", 25_000, "checkpoint-")]
)
def test_no_room_for_a_file(name, size, file, tmp_path, spare, jit):
    """A limit on the size of files stands for a full disk."""
    command = BY_NAME[name]
    process = command.start(tmp_path, surroundings(spare), preexec_fn=limit_files(size))
    check_stopped(process, tmp_path, spare, f"result/{file}", "File too large")
    check_works(command, tmp_path)
