"""A training that is killed at any moment can be resumed, and loses at most what came after its last checkpoint."""

import os
import signal
import subprocess
import sys
import time

import pytest
from test_model import SMALL, TOY

from magic_pomdp.learning.checkpoint import load_checkpoint
from magic_pomdp.learning.model import load_model
from magic_pomdp.learning.watching import read_metrics

COMMAND = [sys.executable, "-m", "magic_pomdp", "train", TOY, *SMALL, "--workers", "1", "--out", "run"]
QUICK = ["--checkpoint-minutes", "0.002", "--evaluate-minutes", "0.005"]


def start(folder, *options):
    return subprocess.Popen(
        [*COMMAND, *QUICK, *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def wait_for_checkpoint(process, folder, after=""):
    """Until there is a checkpoint that was not there before."""
    while process.poll() is None:
        names = sorted(path.name for path in folder.glob("run/checkpoint-*"))
        if names and names[-1] > after:
            return
        time.sleep(0.01)


@pytest.mark.parametrize("moments", [(0.0, 0.13, 0.4)])
def test_kill_and_resume(tmp_path, moments):
    resume, newest, updates = (), "", -1
    for moment in moments:
        with start(tmp_path, "--updates", "1000000", *resume) as process:
            wait_for_checkpoint(process, tmp_path, newest)
            time.sleep(moment)
            os.kill(process.pid, signal.SIGKILL)
            _, err = process.communicate()
        assert process.returncode == -signal.SIGKILL, err
        assert not resume or f"Resumed after {updates:,} updates" in err
        said = []
        _, about = load_checkpoint(tmp_path / "run", said.append)
        assert (said, about["updates"] >= updates) == ([], True)
        newest = max(path.name for path in tmp_path.glob("run/checkpoint-*"))
        updates, resume = about["updates"], ("--resume",)
    with start(tmp_path, "--updates", str(updates + 20), *resume) as process:
        out, err = process.communicate()
    assert (process.returncode, "The best generator returns" in out) == (0, True), err
    assert load_model(tmp_path / "run" / "best.safetensors").task == "target"
    assert any(line["event"] == "evaluation" for line in read_metrics(tmp_path / "run"))
    assert not list(tmp_path.glob("run/.*.part"))


def test_ctrl_c_saves_and_is_no_error(tmp_path):
    with start(tmp_path, "--updates", "1000000") as process:
        wait_for_checkpoint(process, tmp_path)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, "Traceback" in err) == (0, False), err
    assert "the same command with --resume goes on" in out
