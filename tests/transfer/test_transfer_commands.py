"""The commands `transfer` and `identify`, from the command line to files."""

import pytest

from magic_pomdp.results import Evaluation, Identification, load_recording, read_as
from magic_pomdp.transfer.table.entry import TABLE

SMALL = ("--planner", "macro-despot", "--steps", 300, "--scenarios", 10, "--set", "max_steps=3", "--workers", 0)


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.usefixtures("table_parts")
def test_from_trials_to_a_recorded_evaluation(run, tmp_path):
    code, out, _ = run("identify", "puck-push", "--trials", 4, "--json", "found.json", "--save-trials", "pushes.csv")
    assert code == 0
    assert "creep" in out
    assert "ms a frame" in out
    found = read_as(tmp_path / "found.json", Identification)
    code, _, _ = run("identify", "puck-push", "--read", "pushes.csv", "--json", "again.json")
    assert code == 0
    again = read_as(tmp_path / "again.json", Identification)
    assert again.values() == pytest.approx(found.values(), rel=1e-3, abs=1e-5)
    assert (again.seed, again.measured) == (None, {})

    options = ("--identified", "found.json", "--friction", 1.5, "--episodes", 1, "--json", "r.json")
    code, out, _ = run("transfer", "puck-push", *SMALL, *options, "--record", "r.record.gz")
    assert code == 0
    assert TABLE.label in out
    assert "9.6" in out  # the paper's, beside it
    evaluation = read_as(tmp_path / "r.json", Evaluation)
    assert (evaluation.world, evaluation.identified, evaluation.complete) == (TABLE.label, "found.json", True)
    assert evaluation.world_settings["friction"] == 1.5
    assert evaluation.task_parameters["creep"] == found.values()["creep"]
    recording = load_recording(tmp_path / "r.record.gz")
    assert recording.world == TABLE.label
    assert len(recording.episodes[0].pictures) == 4


@pytest.mark.usefixtures("table_parts")
def test_none_is_the_task_as_it_is_published(run, tmp_path):
    code, out, _ = run("transfer", "puck-push", *SMALL, "--identified", "none", "--episodes", 1)
    assert code == 0
    assert "task not fitted to it" in out
    (path,) = (tmp_path / "results").iterdir()
    assert path.name.startswith("transfer_not-identified_puck-push_macro-despot_")
    assert read_as(path, Evaluation).identified == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("transfer", "tiger"), "There is no other world for 'tiger'"),
        (("identify", "tiger"), "There is no other world for 'tiger'"),
        (("transfer", "puck-push", "--friction", "0"), "The setting friction must lie in (0, 10], not 0.0."),
        (("transfer", "puck-push", "--identified", "no.json"), "no.json"),
        (("identify", "puck-push", "--read", "no.csv"), "no.csv"),
    ],
)
def test_bad_input_is_told_in_a_sentence(run, arguments, sentence):
    code, _, err = run(*arguments)
    assert code in (1, 2)
    assert sentence in err
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1
