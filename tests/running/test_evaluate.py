import multiprocessing
import os
import signal

import msgspec
import numpy as np
import pytest

from magic_pomdp import Budget, MacroDespot, evaluate, make
from magic_pomdp.core.compiling import code_digest
from magic_pomdp.results import Evaluation
from magic_pomdp.running import EvaluationFailed, EvaluationInterrupted, PlannerFactory, SimulatedWorld
from magic_pomdp.tasks.tiger import Tiger

FACTORY = PlannerFactory(budget=Budget(steps=500), overrides={"scenarios": 20, "search_depth": 10})
EPISODES = 6


@pytest.fixture(scope="module")
def task():
    return make("tiger", max_steps=10)


@pytest.fixture(scope="module")
def undisturbed(task):
    return evaluate(task, FACTORY, EPISODES, seed=5, workers=0)


def text(evaluation):
    """The JSON, but for what tells of time."""
    timed = ("plan_seconds_p50", "plan_seconds_p99", "plan_steps_per_second")
    return msgspec.json.encode(msgspec.structs.replace(evaluation, **dict.fromkeys(timed, 0.0)))


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_results_do_not_depend_on_the_number_of_workers(task, undisturbed, workers):
    assert text(evaluate(task, FACTORY, EPISODES, seed=5, workers=workers)) == text(undisturbed)


def test_another_seed_gives_other_results(task, undisturbed):
    assert text(evaluate(task, FACTORY, EPISODES, seed=6, workers=0)) != text(undisturbed)


def test_a_killed_worker_changes_nothing(task, undisturbed):
    killed = []

    def kill_one(record):
        if not killed:
            killed.append(multiprocessing.active_children()[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    assert text(evaluate(task, FACTORY, EPISODES, seed=5, workers=2, on_progress=kill_one)) == text(undisturbed)
    assert killed


def test_an_interruption_hands_over_what_is_finished(task, undisturbed):
    seen = []

    def interrupt(record):
        seen.append(record)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(EvaluationInterrupted) as caught:
        evaluate(task, FACTORY, EPISODES, seed=5, workers=2, on_progress=interrupt)
    report = caught.value.evaluation
    assert (report.complete, report.episodes, len(report.records)) == (False, 3, 3)
    assert all(record == undisturbed.records[record.episode] for record in report.records)
    assert not multiprocessing.active_children()


def test_the_report(task, undisturbed):
    report, records = undisturbed, undisturbed.records
    stored = msgspec.to_builtins(report)
    assert set(stored) >= {
        *("task", "planner", "macro_length", "budget", "episodes", "seed", "complete", "return_mean", "return_stderr"),
        *("discounted_return_mean", "discounted_return_stderr", "success_rate", "steps_mean", "plan_steps_per_second"),
        *("plan_seconds_p50", "plan_seconds_p99", "search_depth_mean", "search_depth_max_mean", "nodes_mean"),
        *("belief_error_mean", "recoveries", "ignored", "settings", "task_parameters", "version", "records"),
        *("kind", "label", "code", "concurrent", "statistics"),
    }
    assert stored["kind"] == "evaluation"
    assert report.budget == Budget(steps=500)
    assert (report.task, report.planner, report.label, report.macro_length) == (
        *("tiger", "macro-despot", "Macro-DESPOT", 1),
    )
    assert (report.settings["scenarios"], report.settings["default_policy"]) == (20, "greedy")
    assert report.task_parameters["max_steps"] == 10
    assert (report.seed, report.complete, report.concurrent, report.code) == (5, True, False, code_digest(Tiger))
    assert [record.episode for record in records] == list(range(EPISODES))
    assert set(stored["records"][0]) == {
        *("episode", "return", "discounted_return", "steps", "outcome", "belief_error", "belief_error_final"),
        *("belief_error_least", "recoveries", "ignored", "plans", "statistics"),
    }
    returns = [record.total_return for record in records]
    assert report.return_mean == pytest.approx(np.mean(returns))
    assert report.return_stderr == pytest.approx(np.std(returns, ddof=1) / np.sqrt(EPISODES))
    assert report.steps_mean == 10
    assert (report.success_rate, report.failure_rate, report.unfinished_rate) == (0.0, 0.0, 1.0)  # the tiger never ends
    assert all(record.plans == 10 and record.outcome == "unfinished" for record in records)
    assert report.without_records() == msgspec.structs.replace(report, records=())


def make_own_planner(task):
    planner = MacroDespot(task, settings=FACTORY.settings_for(task), budget=FACTORY.budget)

    class Own:
        def plan(self, belief, context=None, *, budget=None, seed=0):
            return planner.plan(belief, context, budget=budget, seed=seed)

    return Own()


def test_a_planner_of_ones_own(task, undisturbed):
    report = evaluate(task, make_own_planner, EPISODES, seed=5, workers=1)
    assert (report.planner, report.label, report.macro_length, report.budget, report.settings) == (
        *("Own", "", None, None, {}),
    )
    assert report.records == undisturbed.records


def test_a_planner_by_name_alone(task):
    report = evaluate(task, "despot", 1, workers=0)
    assert (report.planner, report.budget) == ("despot", Budget(seconds=task.plan_seconds(1)))
    assert (report.settings["scenarios"], report.settings["search_depth"]) == (200, 40)


def test_settings_left_to_the_task_are_reported(task):
    factory = PlannerFactory(budget=Budget(steps=1), overrides={"search_depth": 5})
    report = evaluate(task, factory, 1, workers=0)
    assert (report.settings["scenarios"], report.settings["search_depth"]) == (200, 5)


class Closing(SimulatedWorld):
    """A world that ends before its third episode."""

    def begin(self, seed, episode):
        if episode == 2:
            raise RuntimeError("closed for today")
        return super().begin(seed, episode)


def test_a_failure_hands_over_what_is_finished(task, undisturbed):
    with pytest.raises(EvaluationFailed, match=r"^Episode 2 failed with RuntimeError: closed for today") as caught:
        evaluate(task, FACTORY, EPISODES, seed=5, workers=0, world=Closing)
    report = caught.value.evaluation
    assert isinstance(report, Evaluation)
    assert (report.complete, report.episodes) == (False, 2)
    assert report.records == undisturbed.records[:2]


def test_bad_input_is_refused(task):
    with pytest.raises(ValueError, match="number of episodes must be at least 1, not 0"):
        evaluate(task, FACTORY, 0)
    with pytest.raises(ValueError, match="seed must be at least 0, not -1"):
        evaluate(task, FACTORY, 1, seed=-1)
    with pytest.raises(ValueError, match=r"seed must be below 2\^64, not 18446744073709551616"):
        evaluate(task, FACTORY, 1, seed=2**64)
    with pytest.raises(ValueError, match=r"no planner 'despott' \(did you mean 'despot'"):
        PlannerFactory("despott")
    with pytest.raises(ValueError, match=r"no planner 'despott' \(did you mean 'despot'"):
        evaluate(task, "despott", 1)
    with pytest.raises(ValueError, match="macro_length does not belong to despot, which has scenarios"):
        PlannerFactory("despot", overrides={"macro_length": 3})
    with pytest.raises(ValueError, match=r"macro_length must lie in \[1, 10000\], not 0"):
        PlannerFactory(overrides={"macro_length": 0})


def test_an_evaluation_says_in_short_what_it_found(undisturbed):
    returns = f"{undisturbed.return_mean:.2f} ± {undisturbed.return_stderr:.2f}"
    assert repr(undisturbed) == f"<macro-despot on tiger: 6 episodes, return {returns}, success 0.0%>"
