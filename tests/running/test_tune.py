import dataclasses
import errno
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from magic_pomdp.core.registry import make
from magic_pomdp.core.saving import claimed
from magic_pomdp.core.settings import settings_of
from magic_pomdp.planners.plan import Budget
from magic_pomdp.planners.pomcpow import PomcpowSettings
from magic_pomdp.planners.registry import find_planner, planner_names
from magic_pomdp.running.evaluating import evaluate
from magic_pomdp.running.factory import PlannerFactory
from magic_pomdp.running.tuning import FIRST_SEED, tune

optuna = pytest.importorskip("optuna")

FACTORY = PlannerFactory("pomcpow", budget=Budget(steps=500))


def run(storage, trials, factory=FACTORY, task=None, **changes):
    numbers = []
    asked = {"episodes": 3, "workers": 0, "on_trial": lambda number, _: numbers.append(number)} | changes
    return tune(task or make("tiger"), factory, storage, trials, **asked), numbers


def test_a_search_goes_on_where_it_stopped(tmp_path):
    storage = tmp_path / "tiger.log"
    first, numbers = run(storage, 2)
    assert numbers == [0, 1]
    more, numbers = run(storage, 4)
    assert numbers == [2, 3]
    assert len(more.trials) == 4
    assert all(trial in more.trials for trial in first.trials)
    returns = [trial.return_mean for trial in more.trials]
    assert returns == sorted(returns, reverse=True)
    assert more.options().startswith("--exploration ")
    assert run(storage, 4)[1] == []


def test_the_first_trial_has_the_tasks_own_settings(tmp_path):
    found, _ = run(tmp_path / "tiger.log", 1)
    own = PomcpowSettings.advised(make("tiger"))
    assert found.best["exploration"] == own.exploration
    assert found.best["observation_widening"] == own.observation_widening


def test_an_interrupted_search_goes_on_with_other_settings(tmp_path, capfd):
    def interrupt(*_):
        raise KeyboardInterrupt

    storage, own = tmp_path / "tiger.log", PomcpowSettings.advised(make("tiger"))
    with pytest.raises(KeyboardInterrupt):
        run(storage, 2, on_trial=interrupt)
    first, _ = run(storage, 1)
    assert first.best["exploration"] == own.exploration  # they are tried first, even if it takes two attempts
    with pytest.raises(KeyboardInterrupt):
        run(storage, 2, on_trial=interrupt)
    run(storage, 3)
    tried = [json.loads(line) for line in storage.read_text().splitlines()]
    values = [line["param_value_internal"] for line in tried if line.get("param_name") == "exploration"]
    assert len(values) == 5
    assert len(set(values)) == 4  # only the first was tried twice
    assert "Traceback" not in capfd.readouterr().err


def test_despot_is_tuned_too(tmp_path):
    found, _ = run(tmp_path / "tiger.log", 2, PlannerFactory("despot", budget=Budget(steps=500)))
    assert isinstance(found.best["scenarios"], int)


def test_every_planner_has_settings_to_look_for():
    for name in planner_names():
        assert any(known.tuned for known in settings_of(find_planner(name).settings).values())


def test_another_question_in_the_same_file_is_refused(tmp_path):
    run(tmp_path / "tiger.log", 1)
    with pytest.raises(ValueError, match="holds a search with episodes 3"):
        run(tmp_path / "tiger.log", 1, episodes=4)
    with pytest.raises(ValueError, match=r"holds a search with task_parameters .*'max_steps': "):
        run(tmp_path / "tiger.log", 1, task=make("tiger", max_steps=7))
    deeper = dataclasses.replace(FACTORY, overrides={"search_depth": 3})
    with pytest.raises(ValueError, match=r"holds a search with settings .*'search_depth': "):
        run(tmp_path / "tiger.log", 1, deeper)


def test_a_setting_of_zero_is_a_setting(tmp_path):
    narrow = dataclasses.replace(FACTORY, overrides={"action_exponent": 0.0})
    found, _ = run(tmp_path / "tiger.log", 1, narrow)
    assert found.best["action_exponent"] == 0.0


def test_a_file_that_holds_something_else_is_refused_and_kept(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("Buy milk.\n")
    with pytest.raises(ValueError, match=r"notes\.txt does not hold"):
        run(path, 1)
    assert path.read_text() == "Buy milk.\n"


def test_bad_numbers_are_refused_before_anything_is_stored(tmp_path):
    with pytest.raises(ValueError, match="number of trials must be at least 1, not 0"):
        run(tmp_path / "tiger.log", 0)
    with pytest.raises(ValueError, match="number of episodes must be at least 1, not 0"):
        run(tmp_path / "tiger.log", 1, episodes=0)
    with pytest.raises(ValueError, match="seed must be at least 0, not -1"):
        run(tmp_path / "tiger.log", 1, seed=-1)
    assert list(tmp_path.iterdir()) == []


# ----------------------------------------------------------------------------------------------------- faults of files


def test_trials_of_other_code_are_not_mixed_with_new_ones(tmp_path, monkeypatch):
    storage = tmp_path / "tiger.log"
    run(storage, 1)
    before = storage.read_bytes()
    monkeypatch.setattr("magic_pomdp.running.evaluating.code_digest", lambda _: "0123456789abcdef")
    with pytest.raises(ValueError, match=r"tiger\.log holds a search of other code, .*: name another file\.$"):
        run(storage, 2)
    assert storage.read_bytes() == before


@pytest.mark.parametrize("missing", [("code",), ("code", "software", "settings", "macro_length")])
def test_a_search_of_before_is_refused_with_the_reason(missing, tmp_path):
    """Such as one of version 0.1.0."""
    storage = tmp_path / "tiger.log"
    run(storage, 1)
    lines = [json.loads(line) for line in storage.read_text().splitlines()]
    for line in lines:
        for name in missing:
            line.get("user_attr", {}).get("question", {}).pop(name, None)
    storage.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    with pytest.raises(ValueError, match="of an earlier version, which did not keep what code it was of"):
        run(storage, 2)


def test_half_a_last_line_is_cut_off_with_a_sentence(tmp_path):
    storage, notes = tmp_path / "tiger.log", []
    whole, _ = run(storage, 2)
    with storage.open("a") as file:
        file.write('{"op_code":6,"worker_')
    again, numbers = run(storage, 3, on_note=notes.append)
    assert numbers == [2]
    assert all(trial in again.trials for trial in whole.trials)
    assert notes == [f"{storage} ended in half a line, which is cut off: it goes on with what was whole."]
    assert all(json.loads(line) for line in storage.read_text().splitlines())


@pytest.mark.parametrize("damage", [b'{"op_code":', b"[]", b'{"op_code":"x"}', b"\xff", b'{"op_code":NaN}'])
def test_a_damaged_line_is_named(damage, tmp_path):
    storage = tmp_path / "tiger.log"
    run(storage, 1)
    lines = storage.read_bytes().split(b"\n")
    lines[3] = damage
    storage.write_bytes(b"\n".join(lines))
    with pytest.raises(ValueError, match=r"^Line 4 of .*tiger\.log is .*\.$"):
        run(storage, 2)
    assert storage.read_bytes() == b"\n".join(lines)


@pytest.mark.parametrize("line", ['{"op_code":99}', '{"op_code":6,"worker_id":"w"}'])
def test_a_line_that_makes_no_sense_is_no_traceback(line, tmp_path):
    storage = tmp_path / "tiger.log"
    run(storage, 1)
    with storage.open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(ValueError, match=r"tiger\.log is damaged: optuna cannot go on with it"):
        run(storage, 2)


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (["much"], r"damaged at \$\.return_mean: expected float"),
        ([], "damaged: expected one return, not 0"),
        ([1.0, 2.0], "damaged: expected one return, not 2"),
    ],
)
def test_a_trial_that_did_not_return_one_number_is_named(returned, sentence, tmp_path):
    storage = tmp_path / "tiger.log"
    run(storage, 1)
    text = storage.read_text()
    value = next(line["values"] for line in map(json.loads, text.splitlines()) if line.get("values"))
    storage.write_text(text.replace(f'"values":{json.dumps(value)}', f'"values":{json.dumps(returned)}'))
    with pytest.raises(ValueError, match=rf"Trial 0 of .*tiger\.log is {sentence}"):
        run(storage, 2)


def test_a_search_for_the_lowest_return_is_refused(tmp_path):
    storage = tmp_path / "tiger.log"
    run(storage, 1)
    storage.write_text(storage.read_text().replace('"directions":[2]', '"directions":[1]'))
    with pytest.raises(ValueError, match=r"tiger\.log is damaged: it does not look for the highest return\."):
        run(storage, 2)


def test_a_full_disk_leaves_no_half_line_and_the_same_call_goes_on(tmp_path, monkeypatch):
    storage, real, room = tmp_path / "tiger.log", os.fsync, [9]

    def fsync(descriptor):
        room[0] -= 1
        if room[0] < 0:
            os.truncate(storage, storage.stat().st_size - 5)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="No space left") as failure:
        run(storage, 3)
    assert failure.value.filename == str(storage)
    assert storage.read_bytes().endswith(b"}\n")
    monkeypatch.setattr(os, "fsync", real)
    assert len(run(storage, 3)[0].trials) == 3


def test_the_command_ends_in_a_sentence_on_a_full_disk_and_goes_on(tmp_path):
    command = [sys.executable, "-m", "magic_pomdp", "tune", "tiger", "--planner", "pomcpow", "--steps", "100"]
    command += ["--trials", "3", "--episodes", "1", "--workers", "0", "--file", str(tmp_path / "tiger.log")]

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

    full = subprocess.run(command, preexec_fn=little_room, capture_output=True, text=True, check=False)
    assert full.returncode == 1
    assert full.stderr.count("\n") == 1
    assert "tiger.log cannot be written (File too large); it keeps what was found" in full.stderr
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stderr) == (0, "")


def test_a_search_that_was_killed_while_it_wrote_leaves_no_lock(tmp_path, monkeypatch):
    """It would keep the next one waiting for half a minute, and for ever if the file's path is relative."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    storage = Path("results", "tiger.log")
    run(storage, 1)
    (tmp_path / "results" / "tiger.log.lock").symlink_to(storage)  # what optuna's own lock looks like
    assert run(storage, 2)[1] == [1]


def test_two_searches_do_not_share_a_file(tmp_path):
    storage = tmp_path / "tiger.log"
    run(storage, 1)
    before = storage.read_bytes()
    with (
        claimed(storage),
        pytest.raises(ValueError, match=r"Another process is at work on .*tiger\.log: wait for it, or "),
    ):
        run(storage, 2)
    assert storage.read_bytes() == before
    assert run(storage, 2)[1] == [1]


def test_trials_at_once(tmp_path):
    """Each returns what its settings return, and the search goes on one by one."""
    found, numbers = run(tmp_path / "tiger.log", 4, at_once=2)
    assert sorted(numbers) == [0, 1, 2, 3]
    tried = dataclasses.replace(FACTORY, overrides=found.best)
    assert evaluate(make("tiger"), tried, 3, seed=FIRST_SEED, workers=0).return_mean == found.trials[0].return_mean
    assert len(run(tmp_path / "tiger.log", 5)[0].trials) == 5
    with pytest.raises(ValueError, match=r"^The number of trials at once must be at least 1, not 0\.$"):
        run(tmp_path / "tiger.log", 5, at_once=0)
