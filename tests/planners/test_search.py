"""What every planner does with a belief and its context, and with a budget."""

import dataclasses
import pickle
import threading
import time

import numpy as np
import pytest

from magic_pomdp import Belief, Budget, MacroDespot, make
from magic_pomdp.planners import MacroDespotSettings, Pomcpow, PomcpowSettings, check_situation, new_counters, spend

pytestmark = pytest.mark.jit_off

CONTEXT = np.array([3.0, 1.0, -2.0, 2.5, -3.0])
OTHER = np.array([2.5, -3.0, -2.0, 2.5, -3.0])  # the goal is where the robot seems to be
LIGHT_DARK = make("light-dark")


@pytest.fixture(scope="module", params=["macro-despot", "pomcpow"])
def planner(request):
    if request.param == "macro-despot":
        return MacroDespot(LIGHT_DARK, settings=MacroDespotSettings.advised(LIGHT_DARK, scenarios=6))
    return Pomcpow(LIGHT_DARK, PomcpowSettings.advised(LIGHT_DARK, search_depth=12, tree_nodes=20_000))


@pytest.fixture(scope="module")
def belief():
    return Belief.initial(LIGHT_DARK, CONTEXT, 100, seed=1)


def comparable(plan):
    plain = dataclasses.replace(plan, seconds=0.0, macro_action=None, values=None, uppers=None, macro_actions=None)
    return plain, plan.macro_action.tolist(), plan.values.tolist()


def plan(planner, *situation):
    return comparable(planner.plan(*situation, budget=Budget(steps=1_000), seed=4))


def test_a_belief_knows_its_context(planner, belief):
    assert plan(planner, belief) == plan(planner, belief, CONTEXT) == plan(planner, belief.particles, CONTEXT)
    assert plan(planner, belief) != plan(planner, belief.particles, OTHER)


def test_a_belief_that_was_told_of_another_context_is_planned_for_in_that(planner):
    belief = Belief.initial(LIGHT_DARK, CONTEXT, 100, seed=1)
    belief.change_context(OTHER)
    assert plan(planner, belief) == plan(planner, belief, OTHER) == plan(planner, belief.particles, OTHER)


def test_a_context_that_contradicts_the_beliefs_is_refused(planner, belief):
    message = (
        r"^The belief has the context \[3\.0, .*\], not \[2\.5, .*\]: leave the context out, or tell the belief with "
        r"change_context\.$"
    )
    with pytest.raises(ValueError, match=message):
        plan(planner, belief, OTHER)


def test_particles_alone_need_a_context_where_there_is_one(planner, belief):
    with pytest.raises(ValueError, match=r"^Particles do not know their context: give it to the planner as well"):
        plan(planner, belief.particles)
    tiger = np.array([[0.0], [1.0]])
    particles, context = check_situation(make("tiger"), tiger)
    assert (particles.tolist(), context.shape) == (tiger.tolist(), (0,))


@pytest.mark.parametrize(
    ("situation", "message"),
    [
        ((np.zeros((3, 5)), CONTEXT), r"\(particles, 4\)"),
        ((np.zeros((0, 4)), CONTEXT), "no particles"),
        ((np.full((2, 4), np.inf), CONTEXT), "NaN or infinity in 2 of its 2 particles"),
        ((np.zeros((3, 4)), np.zeros(4)), r"context must have shape \(5,\), but has shape \(4,\)"),
        ((np.zeros((3, 4)), np.full(5, np.nan)), "context contains NaN"),
    ],
)
def test_a_situation_that_makes_no_sense_is_refused(situation, message):
    with pytest.raises(ValueError, match=message):
        check_situation(LIGHT_DARK, *situation)


# ------------------------------------------------------------------------------------------------------------ budgets


class Counted:
    """A search of trials of 50 steps, finished after some."""

    def __init__(self, size=10**9, pause=0.0):
        self.counters, self.size, self.pause, self.limits = new_counters(), size, pause, []

    def __call__(self, step_limit):
        self.limits.append(step_limit)
        while self.counters[0].trials == 0 or self.counters[0].steps < step_limit:
            time.sleep(self.pause)
            self.counters[0].trials += 1
            self.counters[0].steps += 50
            if self.counters[0].steps == self.size:
                return True
        return False


def test_a_budget_in_steps_is_spent_at_once():
    search = Counted()
    assert not spend(Budget(steps=700), time.perf_counter(), search.counters, search)
    assert (search.limits, search.counters[0].steps) == ([700], 700)


def test_a_finished_search_ends_before_its_budget():
    for budget in (Budget(steps=10**6), Budget(seconds=60.0)):
        search = Counted(size=500)
        assert spend(budget, time.perf_counter(), search.counters, search)
        assert search.counters[0].steps == 500


def test_a_budget_in_seconds_is_spent_in_slices():
    search, started = Counted(), time.perf_counter()
    assert not spend(Budget(seconds=0.05), started, search.counters, search)
    assert 0.05 <= time.perf_counter() - started < 1.0
    assert len(search.limits) > 5
    assert search.limits == sorted(search.limits)


def test_there_is_always_a_trial_even_if_no_time_is_left():
    search = Counted(pause=0.001)
    assert not spend(Budget(seconds=1e-9), time.perf_counter() - 1.0, search.counters, search)
    assert len(search.limits) == 1
    assert search.counters[0].trials >= 1


def test_a_second_thread_is_refused(planner, belief, monkeypatch):
    inside, go_on = threading.Event(), threading.Event()

    def slow_spend(*given):
        inside.set()
        assert go_on.wait(60.0)
        return spend(*given)

    monkeypatch.setattr(f"{type(planner).__module__}.spend", slow_spend)
    plans = []
    first = threading.Thread(target=lambda: plans.append(plan(planner, belief)))
    first.start()
    assert inside.wait(60.0)
    with pytest.raises(RuntimeError, match="planning in another thread: give each thread a planner of its own"):
        plan(planner, belief)
    go_on.set()
    first.join()
    assert plans == [plan(planner, belief)]  # and the first one's plan is as ever


def test_a_planner_can_be_sent_to_another_process_while_it_plans(planner, belief):
    with planner._turn:
        other = pickle.loads(pickle.dumps(planner._turn))
    with other, pytest.raises(RuntimeError), other:
        pass


def test_a_second_thread_cannot_update_a_belief(belief):
    action, observation = np.zeros(LIGHT_DARK.action_size), np.zeros(LIGHT_DARK.observation_size)
    with belief._turn, pytest.raises(RuntimeError, match="in use in another thread"):
        belief.update(action, observation)


class GuidesNowhere(type(LIGHT_DARK)):
    def guide(self, context, state, macro_actions, lengths):
        return len(lengths)


@pytest.mark.jit_off
def test_a_guide_that_names_no_macro_action_is_refused():
    task = GuidesNowhere()
    planner = MacroDespot(task, settings=MacroDespotSettings(scenarios=5, search_depth=4, default_policy="guided"))
    with pytest.raises(ValueError, match="guide returned a number that none of the macro-actions has"):
        plan(planner, Belief.initial(task, CONTEXT, 100, seed=1))
