import dataclasses
import json
from pathlib import Path

import pytest

from magic_pomdp.core.registry import make
from magic_pomdp.core.settings import settings_of
from magic_pomdp.planners.plan import Budget
from magic_pomdp.planners.pomcpow import PomcpowSettings
from magic_pomdp.planners.registry import find_planner, planner_names
from magic_pomdp.running.factory import PlannerFactory
from magic_pomdp.running.tuning import tune

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


def test_a_search_that_was_killed_while_it_wrote_leaves_no_lock(tmp_path, monkeypatch):
    """It would keep the next one waiting for half a minute, and for ever if the file's path is relative."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    storage = Path("results", "tiger.log")
    run(storage, 1)
    (tmp_path / "results" / "tiger.log.lock").symlink_to(storage)  # what optuna's own lock looks like
    assert run(storage, 2)[1] == [1]
