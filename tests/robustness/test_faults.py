"""Faults from outside: no room, a folder that vanishes, two processes that compile into one cache. After each there is
one sentence and nothing half written, and the same command goes on when the fault is gone."""

import dataclasses
import os
import resource
import signal
import time
from pathlib import Path

import pytest
from small_commands import COMMANDS, LONGEST, left_over, wait_until_gone, workers_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"),
]
BY_NAME = {command.name: command for command in COMMANDS}
OWN_TASK = (Path(__file__).parent.parent / "learning" / "toy.py").read_text()


def limit_files(size):
    """What a child does before it begins: from then on none of its files can have more bytes."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def check_stopped(process, folder, *reasons):
    """The command has ended with sentences that tell one of these reasons, and left nothing half done."""
    _, err = process.communicate(timeout=LONGEST)
    complaints = [line for line in err.splitlines() if line.startswith("magic-pomdp: ")]
    assert process.returncode == 1, err
    assert complaints
    assert all(any(reason in complaint for reason in reasons) for complaint in complaints), complaints
    assert "Traceback" not in err
    assert wait_until_gone(process) == []
    assert left_over(folder) == []


def check_works(command, folder):
    folder.mkdir(exist_ok=True)
    process = command.start(folder, None)
    _, err = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, err
    assert command.outcome(folder)
    assert left_over(folder) == []


@pytest.mark.parametrize(("name", "size"), [("compare", 1_000), ("train", 25_000)])
def test_no_room_for_a_file(name, size, tmp_path, jit):
    """A limit on the size of files stands for a full disk."""
    command = BY_NAME[name]
    check_works(command, tmp_path / "before")  # all is compiled now, and the limit meets results alone
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # or Python would keep halves of its own files
    process = command.start(tmp_path, environment, preexec_fn=limit_files(size))
    check_stopped(process, tmp_path, "File too large")
    check_works(command, tmp_path)


def has_begun(name, folder, process):
    """Whether a command is in the middle of its work."""
    patterns = {"compare": "*steps.json", "train": "checkpoint-*"}
    return any((folder / "result").glob(patterns[name])) if name in patterns else workers_of(process)


@pytest.mark.parametrize(("name", "instead"), [("compare", "a file"), ("train", "nothing"), ("record", "nothing")])
def test_the_folder_of_the_results_vanishes(name, instead, tmp_path, jit):
    command = BY_NAME[name]
    if name == "record":
        (tmp_path / "result").mkdir()
        path = "result/episodes.record.gz"
        arguments = tuple(path if one == command.result else one for one in command.arguments)
        command = dataclasses.replace(command, arguments=arguments, result=path)
    process = command.start(tmp_path, None)
    while process.poll() is None and not has_begun(name, tmp_path, process):
        time.sleep(0.005)
    (tmp_path / "result").rename(tmp_path / "elsewhere")
    if instead == "a file":
        (tmp_path / "result").touch()
    check_stopped(process, tmp_path, "No such file or directory", "Not a directory")
    (tmp_path / "result").unlink(missing_ok=True)
    (tmp_path / "elsewhere").rename(tmp_path / "result")
    check_works(command, tmp_path)
