"""What was computed is shown, and kept where there is room, if it cannot be saved where it should be."""

import errno
import os
import sys
import tempfile
from pathlib import Path

import pytest

from magic_pomdp import cli
from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.files import read_as
from magic_pomdp.results.recording import load_recording

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

    def replace(temporary, path):
        if full in path.resolve().parents:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(temporary, path)

    def run_command(*arguments, room=False):
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
    assert all(line.count("No space left on device): it is kept as") == 1 for line in complaint.splitlines())
    code, out, complaint = run(*asked, room=True)
    assert (code, complaint) == (0, "")
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
