"""What was computed is shown, and kept where there is room, if it cannot be saved where it should be."""

import errno
import os
import re
import resource
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from results_cases import valid_recordings
from small_results import a_record, an_evaluation

from magic_pomdp import cli
from magic_pomdp.learning.trainer import Trained
from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.files import read_as
from magic_pomdp.results.metrics import EvaluationReport
from magic_pomdp.results.recording import load_recording
from magic_pomdp.results.training import Ablation

SMALL = ("--planner", "pomcpow", "--steps", "100", "--workers", "0")


@pytest.fixture
def run(monkeypatch, capfd, tmp_path):
    """Run a command in this process, in a folder that is full: exit code, standard output, standard error."""
    full, spare = tmp_path / "full", tmp_path / "spare"
    full.mkdir()
    spare.mkdir()
    monkeypatch.chdir(full)
    monkeypatch.setattr(tempfile, "tempdir", str(spare))
    real = Path.replace

    def run_command(*arguments, room=False, room_for=()):
        def replace(temporary, path):
            if full in path.resolve().parents and path.name not in room_for:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(temporary, path)

        monkeypatch.setattr(Path, "replace", real if room else replace)
        monkeypatch.setattr(sys, "argv", ["magic-pomdp", *map(str, arguments)])
        return cli.main(), *capfd.readouterr()

    return run_command


def test_evaluate_shows_its_table_and_keeps_its_episodes(run, tmp_path):
    code, out, complaint = run("evaluate", "tiger", "--episodes", 3, *SMALL, "--json", "result.json")
    (kept,) = (tmp_path / "spare").glob("*/*")
    path = tmp_path / "full" / "result.json"
    assert code == 1
    assert "return" in out
    assert "Saved as" not in out
    assert complaint == f"magic-pomdp: {path} cannot be saved (No space left on device): it is kept as {kept}.\n"
    assert len(read_as(kept, Evaluation).records) == 3
    assert list(path.parent.iterdir()) == []


def test_compare_goes_on_and_the_same_command_runs_what_is_missing(run, tmp_path):
    asked = ("compare", "tiger", "--planners", "pomcpow", "--steps", "100", "--steps", "50", "--episodes", 2)
    asked += ("--workers", "0", "--folder", "all")
    code, out, complaint = run(*asked)
    assert code == 1
    assert "50steps a plan" in out
    assert {path.name for path in (tmp_path / "spare").glob("*/*")} == {
        "pomcpow_100steps.json",
        "pomcpow_50steps.json",
        "comparison.json",
        "anytime.png",
        "anytime.svg",
    }
    complaints = [line for line in complaint.splitlines() if " finished: " not in line]
    assert len(complaints) == 4  # the picture has one for both of its files
    assert all(line.count("No space left on device): it is kept as") == 1 for line in complaints)
    code, out, complaint = run(*asked, room=True)
    assert (code, [line for line in complaint.splitlines() if " finished: " not in line]) == (0, [])
    assert read_as(tmp_path / "full" / "all" / "pomcpow_50steps.json", Evaluation).complete


def test_recordings_and_pages_are_kept(run, tmp_path):
    code, out, _ = run("record", "light-dark", "--episodes", 1, *SMALL, "--set", "max_steps=3", "--out", "a.record.gz")
    (kept,) = (tmp_path / "spare").glob("*/*")
    assert code == 1
    assert f"saved as {kept}" in out
    assert len(load_recording(kept).episodes) == 1
    code, out, complaint = run("replay", kept, "--no-open", "--out", "page.html")
    assert code == 1
    assert "page.html cannot be saved (No space left on device): it is kept as" in complaint
    code, out, complaint = run("report", kept, "--no-open", "--out", "report.html")
    assert code == 1
    assert "report.html cannot be saved (No space left on device): it is kept as" in complaint


def test_what_has_room_nowhere_is_at_least_shown(run, monkeypatch):
    def no_folder(**_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "mkdtemp", no_folder)
    code, out, complaint = run("evaluate", "tiger", "--episodes", 3, *SMALL, "--json", "result.json")
    assert code == 1
    assert "return" in out
    assert "cannot be saved (No space left on device): it is lost, for there is no room elsewhere." in complaint


@pytest.fixture
def recorded(tmp_path):
    """A file of a recording."""
    path = tmp_path / "some.record.gz"
    path.write_bytes(valid_recordings()["recording"])
    return path


def test_video_is_kept(run, recorded, tmp_path):
    path = tmp_path / "full" / "film.gif"
    code, out, complaint = run("video", recorded, "--out", "film.gif", "--fps", "1", "--width", "120")
    (kept,) = (tmp_path / "spare").glob("*/*")
    assert code == 1
    assert f"saved as {kept}" in out
    assert complaint == f"magic-pomdp: {path} cannot be saved (No space left on device): it is kept as {kept}.\n"
    assert kept.read_bytes().startswith(b"GIF89a")
    assert list(path.parent.iterdir()) == []


def test_video_tells_of_what_ffmpeg_has_no_room_for(run, recorded, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # else Python keeps halves of its own files
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))  # for what this process starts, too
    try:
        code, out, complaint = run("video", recorded, "--out", "film.mp4", "--fps", "1", "--width", "120", room=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert (code, out) == (1, "")
    assert complaint.startswith(f"magic-pomdp: {tmp_path / 'full' / 'film.mp4'} cannot be saved (ffmpeg")
    assert complaint.endswith("it is lost, for there is no room elsewhere.\n")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [recorded]


def test_ablate_shows_its_table_and_the_same_command_does_what_is_missing(run, tmp_path, monkeypatch):
    ablation = pytest.importorskip("magic_pomdp.learning.ablation")
    judged = []

    def judge(task, factory, episodes, seed, *_):
        judged.append(factory.name)
        return an_evaluation(task="tiger", seed=seed, records=(a_record(0),))

    report = EvaluationReport(
        updates=1, minutes=1.0, return_mean=2.0, return_stderr=0.5, success_rate=0.5, episodes=4, plan_steps=9
    )
    trained = Trained(Path("some"), report, (report,), updates=1, plans=1, warmup=1, minutes=1.0, stopped_by="updates")
    monkeypatch.setattr(ablation, "evaluate", judge)
    monkeypatch.setattr(ablation, "train", lambda *_: trained)
    asked = ("ablate", "tiger", "--conditionings", "none", "--episodes", 1, "--workers", 0, "--out", "all")
    code, out, complaint = run(*asked, room_for={"question.json"})
    assert code == 1
    assert "none, set" in out
    names = ["handcrafted.json", "result.json", "ablation.json", "curves.png"]
    told = re.findall(r"([\w.]+) cannot be saved \(No space left on device\): it is kept as", complaint)
    assert told == names
    assert {path.name for path in (tmp_path / "spare").glob("*/*")} == {*names, "curves.svg"}
    assert run(*asked, room=True)[0] == 0
    assert judged == 2 * ["macro-despot", "magic"]
    assert read_as(tmp_path / "full" / "all" / "ablation.json", Ablation).rows
    assert run(*asked)[0] == 1  # there is only the last of all to be saved again
    assert len(judged) == 4
