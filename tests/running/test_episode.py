import dataclasses
import json
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numba import config

from magic_pomdp import FAILURE, RUNNING, SUCCESS, Budget, DespotSettings, MacroDespot, Plan, Task, make_task, uniform
from magic_pomdp.running.episode import RESERVED, run_episode
from magic_pomdp.running.evaluate import PlannerChoice, describe, evaluate

SMALL = DespotSettings(scenarios=20, search_depth=10)


class Corridor(Task):
    """Walk right until the wall; a share of the walkers has ended before the first step."""

    name = "corridor"
    state_size = 2
    action_size = 1
    observation_size = 1
    particles = 5

    max_steps: int = 7
    wall: float = 4.0
    reward: float = 1.0
    ended: float = 0.0

    def draw_state(self, context, random, state):
        state[0] = 0.0
        state[1] = SUCCESS if uniform(random) < self.ended else RUNNING

    def step(self, context, state, action, random, observation):
        observation[0] = state[0]
        if state[1] != RUNNING:
            return 0.0, int(state[1])
        state[0] += action[0]
        observation[0] = state[0]
        if state[0] >= self.wall:
            state[1] = FAILURE
        return self.reward, int(state[1])

    def log_likelihood(self, context, state, action, observation):
        return 0.0 if observation[0] == state[0] else -math.inf

    def observation_key(self, observation):
        return int(observation[0])

    def upper_bound(self, context, state):
        return 0.0 if state[1] != RUNNING else 10.0

    def state_distance(self, state, other):
        return abs(state[0] - other[0])

    def actions(self):
        return np.array([[1.0]])


@dataclass
class Scripted:
    """A planner that always says the same."""

    macro_action: np.ndarray

    def plan(self, belief, context, *, seed=0):
        return Plan(self.macro_action, 0, 0.0, 0.0, 0.0, 1, 2, 3, 4, 0.5, "tree full")


def walk(length=1):
    return Scripted(np.ones((length, 1)))


@pytest.mark.jit_off
def test_returns_steps_and_outcome_by_hand():
    record = run_episode(Corridor(), walk(3), episode=5)
    assert (record.episode, record.steps, record.outcome) == (5, 4, "failure")
    assert record.total_return == 4.0
    assert record.discounted_return == pytest.approx(1 + 0.98 + 0.98**2 + 0.98**3)
    assert (record.belief_error, record.belief_error_final, record.recoveries, record.ignored) == (0.0, 0.0, 0, 0)


@pytest.mark.jit_off
def test_a_macro_action_is_cut_at_the_end_of_the_episode():
    record = run_episode(Corridor(wall=99.0), walk(5))
    assert (record.steps, record.outcome) == (7, "unfinished")
    assert record.plan_steps == (4, 4)
    assert record.plan_seconds == (0.5, 0.5)
    assert (record.plan_depths, record.plan_nodes, record.plans_cut_short) == ((3, 3), (2, 2), 2)


@pytest.mark.jit_off
@pytest.mark.skipif(not config.DISABLE_JIT, reason="compiling a planner only for this would take long")
def test_a_belief_of_ended_particles_does_no_harm():
    task = Corridor(ended=0.8)
    planner = MacroDespot(task, settings=SMALL, budget=Budget(steps=100))
    records = [run_episode(task, planner, episode=episode) for episode in range(60)]
    assert {record.outcome for record in records} == {"success", "failure"}
    assert any(record.recoveries > 0 for record in records)


@pytest.mark.jit_off
def test_bad_rewards_and_empty_macro_actions_are_refused():
    broken = Corridor()
    object.__setattr__(broken, "reward", math.nan)
    with pytest.raises(ValueError, match=r"Corridor\.step gave the reward nan after 0 steps"):
        run_episode(broken, walk())
    with pytest.raises(ValueError, match="without any action"):
        run_episode(Corridor(), Scripted(np.ones((0, 1))))


class Told(Corridor):
    """Tells numbers of numpy's kinds, and of episodes in which it walked two steps at a time something more."""

    def statistics(self, context, states):
        found = {"reached": states[-1, 0] >= self.wall, "cells": np.int64(len(states)), "place": states[-1, 0]}
        found["above"] = states[1:, 0] > 1.0
        return found | ({"leap": np.float32(2.0)} if states[1, 0] > 1.0 else {})


class ToldWrongly(Corridor):
    told: ClassVar[dict] = {}

    def statistics(self, context, states):
        return self.told


@pytest.mark.jit_off
def test_what_a_task_tells_of_an_episode_is_kept_as_plain_numbers():
    records = [run_episode(Told(), walk()), run_episode(Told(), Scripted(np.full((1, 1), 2.0)))]
    assert records[0].statistics == {"reached": 1.0, "cells": 5.0, "place": 4.0, "above": 0.75}
    assert all(type(value) is float for record in records for value in record.statistics.values())
    report = dataclasses.replace(describe(Told(), lambda task: walk(), 0), records=tuple(records)).to_json()
    assert json.loads(json.dumps(report)) == report
    assert (report["cells_mean"], report["leap_mean"]) == (4.0, 2.0)  # the latter of the episode that had one
    assert report["above_mean"] == pytest.approx(5 / 6)  # of four steps and two


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"steps": 1.0}, "cannot call anything 'steps'"),
        ({"return": 1.0}, "cannot call anything 'return'"),
        ({3: 1.0}, "cannot call anything 3"),
        ({"mood": "good"}, "gave 'good' as 'mood'"),
        ({"height": math.nan}, "gave nan as 'height'"),
        ({"places": np.ones(2)}, "as 'places'"),
    ],
)
def test_what_cannot_be_kept_is_refused(told, message, monkeypatch):
    monkeypatch.setattr(ToldWrongly, "told", told)
    with pytest.raises(ValueError, match=rf"ToldWrongly\.statistics .*{message}"):
        run_episode(ToldWrongly(), walk())


@pytest.mark.jit_off
def test_names_of_every_record_and_evaluation_are_reserved():
    record = run_episode(Corridor(), walk())
    means = describe(Corridor(), lambda task: walk(), 0).to_json()
    assert record.to_json().keys() | {name.removesuffix("_mean") for name in means if "_mean" in name} == RESERVED


class Hurried(Corridor):
    concurrent = True

    def plan_seconds(self, length):
        return 0.2 * length


@dataclass
class Noting(Scripted):
    """It notes which budgets it was asked to keep."""

    budget: Budget | None = None
    asked: list = dataclasses.field(default_factory=list)

    def plan(self, belief, context, *, seed=0, budget=None):
        self.asked.append(budget)
        return super().plan(belief, context, seed=seed)


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("budget", "first"),
    [
        (Budget(seconds=0.6), Budget(seconds=0.2)),
        (Budget(seconds=0.1), None),
        (Budget(steps=9), None),
        (None, None),
    ],
)
def test_a_robot_that_plans_ahead_waits_a_single_step_for_its_first_plan(budget, first):
    planner = Noting(np.ones((3, 1)), budget)
    record = run_episode(Hurried(wall=99.0), planner, concurrent=True)
    assert planner.asked == [first, None]  # for the steps 1 to 3 and 4 to 6
    assert record.total_return == 7.0


@pytest.mark.parametrize(
    ("task", "budget", "concurrent"),
    [
        (Corridor(), Budget(seconds=0.1), False),
        (Hurried(), Budget(seconds=0.1), True),
        (Hurried(), Budget(steps=100), False),
    ],
)
def test_an_evaluation_tells_whether_it_planned_ahead(task, budget, concurrent):
    assert describe(task, PlannerChoice(budget=budget), 0).to_json()["concurrent"] is concurrent


@pytest.mark.parametrize("concurrent", [None, False, True])
def test_an_evaluation_plans_ahead_if_told_to(concurrent):
    planner = Noting(np.ones((3, 1)), Budget(steps=9))
    evaluation = evaluate(Hurried(wall=99.0), lambda task: planner, 1, workers=0, concurrent=concurrent)
    assert evaluation.concurrent is bool(concurrent)
    assert len(planner.asked) == (2 if concurrent else 3)  # of the 7 steps one is idle


def test_an_episode_depends_on_seed_and_number_alone():
    task = make_task("tiger", max_steps=10)
    planner = MacroDespot(task, settings=SMALL, budget=Budget(steps=500))
    first = [run_episode(task, planner, seed=3, episode=episode).to_json() for episode in range(4)]
    again = [run_episode(task, planner, seed=3, episode=episode).to_json() for episode in (3, 2, 1, 0)]
    assert first == again[::-1]
    assert len({record["return"] for record in first}) > 1
    other = [run_episode(task, planner, seed=4, episode=episode).to_json() for episode in range(4)]
    assert first != other
