"""A training that is killed at any moment can be resumed, and loses at most what came after its last checkpoint."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from test_model import SMALL, TOY

from magic_pomdp.learning.checkpoint import checkpoints, load_checkpoint
from magic_pomdp.magic import load_model
from magic_pomdp.results.metrics import EvaluationReport, read_metrics

COMMAND = [sys.executable, "-m", "magic_pomdp", "train", TOY, *SMALL, "--workers", "1", "--out", "run"]
INTERVAL = 0.2
"""Seconds between checkpoints."""
SLACK = 3.0
"""Seconds by which a checkpoint may be late on a busy machine."""
QUICK = ["--checkpoint-minutes", str(INTERVAL / 60.0), "--evaluate-minutes", "0.005"]
MOMENTS = 10
FOREVER = ("--updates", "1000000")

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for workers in /proc")


def start(folder, *options):
    return subprocess.Popen(
        [*COMMAND, *QUICK, *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def wait_until(process, condition):
    """Until something is true, or the process has ended."""
    while process.poll() is None and not condition():
        time.sleep(0.005)


def newest(folder):
    return next((path.name for path in checkpoints(folder / "run")), "")


def wait_for_progress(process, folder):
    """Until there is a checkpoint with more in it, so that at least one worker has finished an episode."""
    before = newest(folder)
    wait_until(process, lambda: newest(folder) > before)


def workers_of(process):
    """The workers of a training: what its server has forked, so that they are children of a child, in its session."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            state, parent, session = fields[0], int(fields[1]), int(fields[3])
            if session == process.pid and state != "Z":
                parents[int(entry.name)] = parent
    return [number for number, parent in parents.items() if parents.get(parent) == process.pid]


def wait_for_end(workers):
    """Until none of them is left: they must not outlive the trainer."""
    deadline = time.monotonic() + 20.0
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def check_readable(folder):
    """Every file of a training that is meant to be read; the number of updates of the newest checkpoint, or −1."""
    said = []
    found = load_checkpoint(folder / "run", said.append)
    assert said == []
    if (folder / "run" / "best.safetensors").exists():
        assert load_model(folder / "run" / "best.safetensors").card.task == "target"
    if (folder / "run" / "metrics.jsonl").exists():
        read_metrics(folder / "run")
    return -1 if found is None else found[1].updates


def check_goes_on(folder, updates):
    """Resume and come to an end."""
    with start(folder, "--updates", str(updates + 20), "--resume") as process:
        out, err = process.communicate()
    assert (process.returncode, "The best generator returns" in out) == (0, True), err
    assert f"Resumed after {updates:,} updates" in err
    assert check_readable(folder) == updates + 20
    assert any(isinstance(line, EvaluationReport) for line in read_metrics(folder / "run"))
    assert not list(folder.glob("run/.*.part"))


@pytest.mark.slow
def test_the_trainer_is_killed_at_ten_random_moments(tmp_path):
    luck = random.Random(0)
    updates = -1
    for kill in range(MOMENTS):
        resume = ("--resume",) if (tmp_path / "run" / "settings.json").exists() else ()
        before, moment = newest(tmp_path), luck.uniform(0.0, 2.5 * INTERVAL)
        with start(tmp_path, *FOREVER, *resume) as process:
            if kill % 3:  # else it is killed wherever it is then, mostly before it has learned anything
                wait_until(process, lambda before=before: newest(tmp_path) > before)
            time.sleep(moment)
            workers = workers_of(process)
            os.kill(process.pid, signal.SIGKILL)
            killed_at = time.time()
            _, err = process.communicate()
        assert process.returncode == -signal.SIGKILL, err
        if kill % 3:
            (path, *_) = checkpoints(tmp_path / "run")
            assert killed_at - path.stat().st_mtime < INTERVAL + SLACK
        wait_for_end(workers)
        reached = check_readable(tmp_path)
        assert reached >= updates
        if resume and updates >= 0 and "Resumed" in err:
            assert f"Resumed after {updates:,} updates" in err
        updates = reached
    assert updates > 0
    check_goes_on(tmp_path, updates)


@pytest.mark.slow
@needs_proc
def test_workers_are_killed_at_ten_random_moments(tmp_path):
    """And then comes Ctrl-C, which saves and is no error."""
    luck, killed = random.Random(1), set()
    with start(tmp_path, *FOREVER, "--workers", "2") as process:
        wait_until(process, lambda: newest(tmp_path))
        for kill in range(MOMENTS):
            wait_for_progress(process, tmp_path)  # it gives up if workers are killed before any could begin
            wait_until(process, lambda: len(set(workers_of(process)) - killed) == 2)
            time.sleep(luck.uniform(0.0, 0.3))
            worker = sorted(set(workers_of(process)) - killed)[kill % 2]
            os.kill(worker, signal.SIGKILL)
            killed.add(worker)
        wait_until(process, lambda: len(set(workers_of(process)) - killed) == 2)
        wait_for_progress(process, tmp_path)  # it still learns
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate()
    assert (process.returncode, "the same command with --resume goes on" in err) == (130, True), err
    assert "Traceback" not in err
    assert len(killed) == MOMENTS
    check_goes_on(tmp_path, check_readable(tmp_path))
