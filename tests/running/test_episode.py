import dataclasses
import math
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import numpy as np
import pytest
from numba import config

from magic_pomdp import Budget, MacroDespot, Outcome, Plan, Task, evaluate, make, run_episode
from magic_pomdp.planners import DespotSettings
from magic_pomdp.random import uniform
from magic_pomdp.results import EpisodeResult, Evaluation
from magic_pomdp.running import Episode, PlannerFactory
from magic_pomdp.running.episode import NOT_PLANNED, RESERVED_STATISTICS
from magic_pomdp.running.evaluating import describe
from magic_pomdp.tasks import BeliefSettings

SMALL = DespotSettings(scenarios=20, search_depth=10)


class Corridor(Task):
    """Walk right until the wall; a share of the walkers has ended before the first step."""

    name = "corridor"
    state_size = 2
    action_size = 1
    observation_size = 1
    advice = (BeliefSettings(particles=5),)

    max_steps: int = 7
    wall: float = 4.0
    reward: float = 1.0
    ended: float = 0.0

    def draw_state(self, context, random, state):
        state[0] = 0.0
        state[1] = Outcome.SUCCESS if uniform(random) < self.ended else Outcome.RUNNING

    def step(self, context, state, action, random, observation):
        observation[0] = state[0]
        if state[1] != Outcome.RUNNING:
            return 0.0, int(state[1])
        state[0] += action[0]
        observation[0] = state[0]
        if state[0] >= self.wall:
            state[1] = Outcome.FAILURE
        return self.reward, int(state[1])

    def log_likelihood(self, context, state, action, observation):
        return 0.0 if observation[0] == state[0] else -math.inf

    def observation_key(self, observation):
        return int(observation[0])

    def upper_bound(self, context, state):
        return 0.0 if state[1] != Outcome.RUNNING else 10.0

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
    result = record.result
    assert (result.episode, result.steps, result.outcome, result.plans) == (5, 4, "failure", 2)
    assert result.total_return == 4.0
    assert result.discounted_return == pytest.approx(1 + 0.98 + 0.98**2 + 0.98**3)
    assert (result.belief_error, result.belief_error_final, result.recoveries, result.ignored) == (0.0, 0.0, 0, 0)
    assert (record.steps, record.outcome, record.total_return) == (4, "failure", 4.0)  # in short


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
    assert any(record.result.recoveries > 0 for record in records)


@pytest.mark.jit_off
def test_bad_rewards_and_empty_macro_actions_are_refused():
    broken = Corridor()
    object.__setattr__(broken, "reward", math.nan)
    with pytest.raises(ValueError, match=r"Corridor\.step gave the reward nan after 0 steps"):
        run_episode(broken, walk())
    with pytest.raises(ValueError, match="without any action"):
        run_episode(Corridor(), Scripted(np.ones((0, 1))))
    with pytest.raises(ValueError, match=r"planner's action must have shape \(1,\), but has shape \(2,\)"):
        run_episode(Corridor(), Scripted(np.ones((3, 2))))
    with pytest.raises(ValueError, match="planner's action contains NaN"):
        run_episode(Corridor(), Scripted(np.full((1, 1), np.nan)))


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


class InTurn:
    """A planner that says one thing after the other."""

    def __init__(self, *macro_actions):
        self.macro_actions_left = list(macro_actions)

    def plan(self, belief, context, *, seed=0, budget=None):
        return Scripted(self.macro_actions_left.pop(0)).plan(belief, context, seed=seed)


@pytest.mark.jit_off
def test_what_a_task_tells_of_an_episode_is_kept_as_plain_numbers():
    steps, leaps = np.ones((7, 1)), np.full((7, 1), 2.0)
    report = evaluate(Told(), lambda task: InTurn(steps, steps, leaps), 2, workers=0)  # the first is to warm up
    told = [record.statistics for record in report.records]
    assert told[0] == {"reached": 1.0, "cells": 5.0, "place": 4.0, "above": 0.75}
    assert told[1] == {"reached": 1.0, "cells": 3.0, "place": 4.0, "above": 1.0, "leap": 2.0}
    assert all(type(value) is float for one in told for value in one.values())
    assert msgspec.json.decode(msgspec.json.encode(report), type=Evaluation) == report
    means = {name: found.mean for name, found in report.statistics.items()}
    assert (means["cells"], means["leap"]) == (4.0, 2.0)  # the latter of the episode that had one
    assert means["above"] == pytest.approx(5 / 6)  # of four steps and two


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
    stored = msgspec.to_builtins(run_episode(Corridor(), walk()).result).keys()
    means = {name.removesuffix("_mean") for name in Evaluation.__struct_fields__ if name.endswith("_mean")}
    assert stored | means | set(EpisodeResult.__struct_fields__) == RESERVED_STATISTICS


# -------------------------------------------------------------------------------------------------------- step by step


@pytest.mark.jit_off
@pytest.mark.parametrize("ahead", [False, True])
def test_an_episode_stepped_by_hand_is_the_one_that_runs_by_itself(ahead):
    task = Corridor(wall=99.0)
    running = Episode(task, walk(3), seed=2, episode=5, plans_ahead=ahead)
    prepared = 0
    while not running.over:
        if running.needs_plan:
            running.prepare()
            prepared += 1
        assert not running.needs_plan
        happened = running.act()
        assert (happened.reward, happened.outcome) == (1.0, Outcome.RUNNING)
    assert running.record() == run_episode(task, walk(3), seed=2, episode=5, plans_ahead=ahead)
    assert prepared == 3
    assert not running.needs_plan


@pytest.mark.jit_off
def test_an_episode_tells_how_it_stands():
    running = Episode(Corridor(), walk(3), episode=5)
    assert (running.steps, running.over, running.needs_plan, running.plan) == (0, False, True, None)
    beginning = running.moment()
    assert (beginning.reward, beginning.action, beginning.observation, beginning.plan) == (0.0, None, None, None)
    assert running.record().result.plans == running.record().steps == 0
    running.prepare()
    plan = running.plan
    running.prepare()
    assert running.plan is plan  # nothing was due
    running.act()
    moment = running.moment()
    assert (moment.reward, moment.action.tolist(), moment.observation.tolist()) == (1.0, [1.0], [1.0])
    assert (moment.state.tolist(), moment.belief.particles.tolist()) == ([1.0, 0.0], [[1.0, 0.0]] * 5)
    for _ in range(2):
        running.act()
    assert running.needs_plan
    with pytest.raises(ValueError, match=r"^There is no action to carry out: call prepare first\.$"):
        running.act()
    running.prepare()
    running.act()
    assert (running.over, running.outcome, running.rewards) == (True, Outcome.FAILURE, [1.0] * 4)
    with pytest.raises(ValueError, match=r"^The episode is over: begin another one\.$"):
        running.act()
    running.prepare()  # there is nothing to plan for
    assert running.record().result.plans == 2


@pytest.mark.jit_off
def test_plans_that_are_forgotten_are_made_anew():
    running = Episode(Corridor(wall=99.0), walk(3))
    running.prepare()
    running.act()
    running.forget_plans()
    assert running.needs_plan
    running.prepare()
    for _ in range(3):
        running.act()
    assert (running.steps, running.record().result.plans) == (4, 2)


@pytest.mark.jit_off
def test_moments_are_shown_before_each_step_and_after_the_last():
    seen = []
    record = run_episode(Corridor(), walk(3), watch=lambda moment: seen.append((moment.reward, moment.state[0])))
    assert seen == [(0.0, 0.0), (1.0, 1.0), (1.0, 2.0), (1.0, 3.0), (1.0, 4.0)]
    assert record.steps == 4


# ------------------------------------------------------------------------------------------------------ planning ahead


class Hurried(Corridor):
    """It does not wait. What it does without a plan is told by a parameter."""

    concurrent = True
    waiting: float = 0.0

    def action_without_plan(self):
        return np.array([self.waiting])

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
        (Budget(seconds=0.1), Budget(seconds=0.1)),
        (Budget(steps=9), Budget(steps=9)),
        (None, None),
    ],
)
def test_a_robot_that_plans_ahead_waits_a_single_step_for_its_first_plan(budget, first):
    planner = Noting(np.ones((3, 1)), budget)
    record = run_episode(Hurried(wall=99.0), planner, plans_ahead=True)
    assert planner.asked == [first, None]  # for the steps 1 to 3 and 4 to 6
    assert record.total_return == 7.0


class Patient(Hurried):
    """It waits for as long as a macro-action takes."""

    def steps_without_plan(self, length):
        return length


@pytest.mark.jit_off
@pytest.mark.parametrize(("length", "waits"), [(3, 3), (None, 1)])
def test_a_task_may_wait_for_a_whole_macro_action(length, waits):
    planner, seen = Noting(np.ones((3, 1)), Budget(seconds=5.0)), []
    planner.macro_length = length
    run_episode(Patient(wall=99.0, waiting=0.5), planner, watch=seen.append, plans_ahead=True)
    assert [moment.action[0] for moment in seen[1:]] == [0.5] * waits + [1.0] * (7 - waits)
    assert planner.asked[0].seconds == pytest.approx(0.2 * waits)


@pytest.mark.parametrize(
    ("task", "budget", "concurrent"),
    [
        (Corridor(), Budget(seconds=0.1), False),
        (Hurried(), Budget(seconds=0.1), True),
        (Hurried(), Budget(steps=100), False),
    ],
)
def test_an_evaluation_tells_whether_it_planned_ahead(task, budget, concurrent):
    assert describe(task, PlannerFactory(budget=budget), 0).concurrent is concurrent


@pytest.mark.parametrize("ahead", [None, False, True])
def test_an_evaluation_plans_ahead_if_told_to(ahead):
    planner = Noting(np.ones((3, 1)), Budget(steps=9))
    evaluation = evaluate(Hurried(wall=99.0), lambda task: planner, 1, workers=0, plans_ahead=ahead)
    assert evaluation.concurrent is bool(ahead)
    assert planner.asked.pop(0) == Budget(steps=1)  # to warm up
    assert len(planner.asked) == (2 if ahead else 3)  # of the 7 steps one is without a plan


@pytest.mark.jit_off
def test_until_its_first_plan_the_robot_does_what_the_task_says():
    seen = []
    run_episode(Hurried(wall=99.0, waiting=0.5), walk(3), watch=seen.append, plans_ahead=True)
    assert [moment.plan.choice for moment in seen] == [NOT_PLANNED, *[0] * 7]
    assert [float(moment.action[0]) for moment in seen[1:]] == [0.5, *[1.0] * 6]
    assert all(moment.next_plan is not None for moment in seen[:4])
    assert all(moment.next_plan is None for moment in seen[-3:])  # after the last plan, none is needed


@dataclass
class Expecting(Scripted):
    """It notes where it expects the robot to be."""

    places: list = dataclasses.field(default_factory=list)

    def plan(self, belief, context, *, seed=0):
        self.places.append(float(getattr(belief, "particles", belief)[:, 0].mean()))
        return super().plan(belief, context, seed=seed)


@pytest.mark.jit_off
def test_a_plan_made_ahead_is_for_the_belief_expected_at_its_beginning():
    planner = Expecting(np.ones((3, 1)))
    run_episode(Hurried(wall=99.0, waiting=0.5), planner, plans_ahead=True)
    assert planner.places == [0.5, 3.5]
    planner = Expecting(np.ones((3, 1)))
    run_episode(Hurried(wall=99.0, waiting=0.5), planner, plans_ahead=False)
    assert planner.places == [0.0, 3.0, 6.0]


@pytest.mark.jit_off
def test_where_no_particle_is_expected_to_get_the_robot_looks_again_then():
    planner = Expecting(np.ones((3, 1)))
    record = run_episode(Hurried(wall=3.0, waiting=0.5), planner, plans_ahead=True)
    assert planner.places == [0.5]  # beyond the wall there is nothing to plan
    assert (record.steps, record.outcome) == (4, "failure")


def test_a_robot_plans_ahead_if_its_task_does_not_wait_and_its_budget_is_time():
    for budget, ahead in ((Budget(seconds=0.1), True), (Budget(steps=9), False), (None, True)):
        assert Episode(Hurried(), Noting(np.ones((3, 1)), budget)).plans_ahead is ahead
        assert Episode(Corridor(), Noting(np.ones((3, 1)), budget)).plans_ahead is False


# --------------------------------------------------------------------------------------------------------- determinism


def test_an_episode_depends_on_seed_and_number_alone():
    task = make("tiger", max_steps=10)
    planner = MacroDespot(task, settings=SMALL, budget=Budget(steps=500))
    first = [run_episode(task, planner, seed=3, episode=episode).result for episode in range(4)]
    again = [run_episode(task, planner, seed=3, episode=episode).result for episode in (3, 2, 1, 0)]
    assert first == again[::-1]
    assert len({result.total_return for result in first}) > 1
    other = [run_episode(task, planner, seed=4, episode=episode).result for episode in range(4)]
    assert first != other
