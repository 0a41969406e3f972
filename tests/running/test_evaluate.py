import json
import multiprocessing
import os
import signal

import numpy as np
import pytest

from magic_pomdp import Budget, DespotSettings, MacroDespot, make_task
from magic_pomdp.running.evaluate import EvaluationInterrupted, PlannerChoice, evaluate

CHOICE = PlannerChoice(budget=Budget(steps=500), settings=DespotSettings(scenarios=20, search_depth=10))
EPISODES = 6


@pytest.fixture(scope="module")
def task():
    return make_task("tiger", max_steps=10)


@pytest.fixture(scope="module")
def undisturbed(task):
    return evaluate(task, CHOICE, EPISODES, seed=5, workers=0)


def text(evaluation):
    """The JSON without the keys that tell of time."""
    report = evaluation.to_json()
    timed = [key for key in report if key.startswith("plan_seconds") or key == "plan_steps_per_second"]
    assert len(timed) == 3
    return json.dumps({key: value for key, value in report.items() if key not in timed}, indent=2)


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_results_do_not_depend_on_the_number_of_workers(task, undisturbed, workers):
    assert text(evaluate(task, CHOICE, EPISODES, seed=5, workers=workers)) == text(undisturbed)


def test_another_seed_gives_other_results(task, undisturbed):
    assert text(evaluate(task, CHOICE, EPISODES, seed=6, workers=0)) != text(undisturbed)


def test_a_killed_worker_changes_nothing(task, undisturbed):
    killed = []

    def kill_one(record):
        if not killed:
            killed.append(multiprocessing.active_children()[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    assert text(evaluate(task, CHOICE, EPISODES, seed=5, workers=2, on_progress=kill_one)) == text(undisturbed)
    assert killed


def test_an_interruption_hands_over_what_is_finished(task, undisturbed):
    seen = []

    def interrupt(record):
        seen.append(record)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(EvaluationInterrupted) as caught:
        evaluate(task, CHOICE, EPISODES, seed=5, workers=2, on_progress=interrupt)
    report = caught.value.evaluation.to_json()
    assert (report["complete"], report["episodes"]) == (False, 3)
    whole = undisturbed.to_json()["records"]
    assert all(record == whole[record["episode"]] for record in report["records"])
    assert not multiprocessing.active_children()


def test_the_report(task, undisturbed):
    report = undisturbed.to_json()
    assert set(report) >= {
        *("task", "planner", "macro_length", "budget", "episodes", "seed", "complete", "return_mean", "return_stderr"),
        *("discounted_return_mean", "discounted_return_stderr", "success_rate", "steps_mean", "plan_steps_per_second"),
        *("plan_seconds_p50", "plan_seconds_p99", "search_depth_mean", "search_depth_max_mean", "nodes_mean"),
        *("belief_error_mean", "recoveries", "ignored", "settings", "task_parameters", "version", "records"),
    }
    assert report["budget"] == {"steps": 500}
    assert (report["task"], report["planner"], report["macro_length"]) == ("tiger", "macro-despot", 1)
    assert report["settings"]["scenarios"] == 20
    assert report["task_parameters"]["max_steps"] == 10
    records = report["records"]
    assert [record["episode"] for record in records] == list(range(EPISODES))
    assert set(records[0]) == {
        *("episode", "return", "discounted_return", "steps", "outcome", "belief_error", "belief_error_final"),
        *("recoveries", "ignored", "plans"),
    }
    returns = [record["return"] for record in records]
    assert report["return_mean"] == pytest.approx(np.mean(returns))
    assert report["return_stderr"] == pytest.approx(np.std(returns, ddof=1) / np.sqrt(EPISODES))
    assert report["steps_mean"] == 10
    assert report["success_rate"] == 0.0  # the tiger never ends
    assert all(record["plans"] == 10 and record["outcome"] == "unfinished" for record in records)


def make_own_planner(task):
    planner = MacroDespot(task, settings=CHOICE.settings, budget=CHOICE.budget)

    class Own:
        def plan(self, belief, context, *, seed=0):
            return planner.plan(belief, context, seed=seed)

    return Own()


def test_a_planner_of_ones_own(task, undisturbed):
    report = evaluate(task, make_own_planner, EPISODES, seed=5, workers=1).to_json()
    assert (report["planner"], report["macro_length"], report["budget"], report["settings"]) == ("Own", None, None, {})
    assert report["records"] == undisturbed.to_json()["records"]


def test_settings_left_to_the_task_are_reported(task):
    choice = PlannerChoice(budget=Budget(steps=1), settings=DespotSettings(search_depth=5))
    report = evaluate(task, choice, 1, workers=0).to_json()
    assert (report["settings"]["scenarios"], report["settings"]["search_depth"]) == (200, 5)


def test_bad_input_is_refused(task):
    with pytest.raises(ValueError, match="number of episodes must be at least 1, not 0"):
        evaluate(task, CHOICE, 0)
    with pytest.raises(ValueError, match="seed must be at least 0, not -1"):
        evaluate(task, CHOICE, 1, seed=-1)
    with pytest.raises(ValueError, match=r"no planner 'despott' \(did you mean 'despot'"):
        PlannerChoice("despott")
    with pytest.raises(ValueError, match="macro length is 1, not 3"):
        PlannerChoice("despot", 3)
    with pytest.raises(ValueError, match="macro length must be at least 1, not 0"):
        PlannerChoice(macro_length=0)
