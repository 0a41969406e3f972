"""Deadlines: a search stops in the middle of an expansion, what it has found counts, and it can go on from there."""

import numpy as np
import pytest
from guided_tiger import GuidedTiger

from magic_pomdp import Belief, Budget, MacroActions, MacroDespot, make
from magic_pomdp.core.clock import FOREVER, deadline_after, is_late, now
from magic_pomdp.planners import MacroDespotSettings, team
from magic_pomdp.planners.tree import NO_BRANCH, NO_NODE, ROOT
from magic_pomdp.planners.trials import MY_OWN, extend
from magic_pomdp.tasks.tiger import LISTEN

pytestmark = pytest.mark.jit_off


def test_the_clock():
    assert 0 <= now() <= now()
    assert not is_late(FOREVER)
    assert is_late(now() - 1)
    assert not is_late(deadline_after(60.0))


PARTICLES = (np.arange(100.0) % 2)[:, None]


def planner(task, **settings):
    chosen = MacroDespotSettings(**{"scenarios": 8, "search_depth": 3, "threads": 1, **settings})
    return MacroDespot(task, settings=chosen)


@pytest.mark.parametrize("task", [GuidedTiger(), make("tiger")])
def test_a_search_that_is_late_from_the_beginning_still_has_an_answer(task):
    plan = planner(task).plan(PARTICLES, np.zeros(0), budget=Budget(seconds=1e-9))
    assert np.isfinite([plan.value, plan.lower, plan.upper]).all()
    assert plan.lower <= plan.upper
    assert plan.trials == 1
    assert plan.macro_action.shape == (1, 1)


class Interrupted:
    """A planner whose clock strikes after so many pieces of work, in every round. For ordinary Python."""

    def __init__(self, monkeypatch, pieces):
        self.pieces, self.left = pieces, pieces
        monkeypatch.setattr(team, "is_late", self.is_late)

    def is_late(self, deadline):
        if deadline == FOREVER:
            return False
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("policy", ["greedy", "guided", "random"])
@pytest.mark.parametrize("pieces", range(1, 30, 4))
def test_an_interrupted_search_is_valid_and_goes_on(policy, pieces, monkeypatch, jit_is_off):
    """However often it is interrupted, it ends as one that never was."""
    whole = planner(GuidedTiger(), default_policy=policy)
    expected = whole.plan(PARTICLES, np.zeros(0), budget=Budget(steps=10**6), seed=3, keep_tree=True)
    assert expected.stopped_by == "gap closed"
    search = planner(GuidedTiger(), default_policy=policy)
    search.plan(PARTICLES, np.zeros(0), budget=Budget(steps=1), seed=3)  # makes the root, and a first trial
    clock, interruptions = Interrupted(monkeypatch, pieces), 0
    known, choices = search._planned[:2]
    for _ in range(1_000):
        clock.left = clock.pieces
        parts = search._tree, search._bench, search._desks[0]
        finished = extend(search._tasks[0], known, choices, search._rules, *parts, 10**9, FOREVER - 1, MY_OWN)
        root, counters = search._tree.nodes[ROOT], search._tree.counters[0]
        assert root.lower <= root.upper + 1e-9
        assert root.lower <= expected.upper + 1e-9
        assert root.upper >= expected.lower - 1e-9
        interruptions += not finished
        if finished:
            break
        check_pending(search)
    assert finished
    assert counters.pending == NO_NODE
    assert root.lower == pytest.approx(expected.lower)
    assert root.upper == pytest.approx(expected.upper)
    assert interruptions > 0 or pieces > 20


def check_pending(search):
    """What lacks bounds cannot be chosen, and promises no more than its node."""
    counters = search._tree.counters[0]
    if counters.pending != NO_NODE:
        node = search._tree.nodes[counters.pending]
        assert node.first_branch != NO_BRANCH
        branches = search._tree.branches[node.first_branch : node.first_branch + 3]
        open_ones = np.isinf(branches["lower"])
        assert open_ones.any()
        assert (branches["upper"][open_ones] <= node.upper + 1e-9).all()


def test_what_a_deadline_kept_from_being_looked_at_is_worth_nothing(monkeypatch, jit_is_off):
    search = planner(GuidedTiger())
    monkeypatch.setattr("magic_pomdp.planners.macro_despot.spend", lambda budget, start, counters, run: run(10**9))
    monkeypatch.setattr("magic_pomdp.planners.expanding.WORTH_SHARING", 1)
    monkeypatch.setattr("magic_pomdp.planners.expanding.WORTH_INTERRUPTING", 1)
    Interrupted(monkeypatch, 8)  # pieces after each round's first: the root's scenarios, and one macro-action of three
    plan = search.plan(PARTICLES, np.zeros(0), budget=Budget(seconds=60.0))
    assert plan.choice == LISTEN  # the guide's
    assert np.isneginf(plan.values).all()
    assert np.isfinite(plan.uppers).all()


@pytest.mark.parametrize("count", [8, 64])
def test_the_first_decision_costs_no_more_than_in_proportion_to_the_macro_actions(count):
    """In primitive steps, of which the greedy policy tries a limited number at a time."""
    task = make("light-dark")
    headings = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    macro_actions = MacroActions.repeat(np.stack([np.cos(headings), np.sin(headings)], axis=1), 6)
    settings = MacroDespotSettings.advised(task, scenarios=2, search_depth=12, threads=1)
    belief = Belief.initial(task, np.array([3.0, 1.0, -2.0, 2.5, -3.0]), 100, seed=1)
    plan = MacroDespot(task, macro_actions, settings).plan(belief, budget=Budget(steps=1))
    assert plan.trials == 1
    assert plan.steps < 2 * 12 * count * (2 + 2 * 32)
