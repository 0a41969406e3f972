"""The checks pass what is right and name what is wrong."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

import magic_pomdp as mp
from magic_pomdp import Outcome, Task
from magic_pomdp.core.registry import find_task
from magic_pomdp.planners import MacroDespotSettings
from magic_pomdp.random import normal, uniform
from magic_pomdp.tasks import task_names
from magic_pomdp.tasks.tiger import Tiger
from magic_pomdp.testing import likelihood, long_run, upper_bound
from magic_pomdp.testing.apart import check_task_apart
from magic_pomdp.testing.declaration import check_choices, check_class, primitive_actions

POSITION, OUTCOME, MEASURED = range(3)


class Corridor(Task):
    """Walk a corridor by a noisy sensor, and stop near its middle. Right in every respect."""

    name = "corridor"
    state_size = 2
    action_size = 1
    observation_size = 1

    noise: float = 0.5
    reward: float = 10.0

    def draw_state(self, context, random, state):
        state[POSITION] = 10.0 * uniform(random) - 5.0
        state[OUTCOME] = Outcome.RUNNING

    def step(self, context, state, action, random, observation):
        observation[0] = state[POSITION]
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0, int(state[OUTCOME])
        if action[0] == 0.0:
            state[OUTCOME] = Outcome.SUCCESS if abs(state[POSITION]) < 1.0 else Outcome.FAILURE
            return (self.reward if state[OUTCOME] == Outcome.SUCCESS else -self.reward), int(state[OUTCOME])
        state[POSITION] += action[0] + 0.1 * normal(random)
        observation[0] = state[POSITION] + self.noise * normal(random)
        return -0.1, Outcome.RUNNING

    def log_likelihood(self, context, state, action, observation):
        return -0.5 * ((observation[0] - state[POSITION]) / self.noise) ** 2

    def observation_key(self, observation):
        return math.floor(observation[0] / self.noise)

    def upper_bound(self, context, state):
        return self.reward if state[OUTCOME] == Outcome.RUNNING else 0.0

    def actions(self):
        return np.array([[-1.0], [0.0], [1.0]])


class StandsStillUnobserved(Corridor):
    def step_unobserved(self, context, state, action, random, unseen):
        return -0.1, Outcome.RUNNING


class DrawsApart(Corridor):
    """Its chance is drawn before its step."""

    noise_size = 1

    def draw_noise(self, random, noise):
        noise[0] = normal(random)

    def step_with_noise(self, context, state, action, noise):
        if state[OUTCOME] == Outcome.RUNNING and action[0] != 0.0:
            state[POSITION] += action[0] + 0.1 * noise[0]
            return -0.1, Outcome.RUNNING
        return self.step_unobserved(context, state, action, np.zeros(1, np.uint64), np.zeros(1))


class DrawsApartOnly(DrawsApart):
    """Its step does not know."""

    def draw_noise(self, random, noise):
        noise[0] = 2.0 * normal(random)


class NoiseOfHalfANumber(Corridor):
    noise_size = 0.5


class ForgetsNoise(DrawsApart):
    noise_size = 2


class UnobservedWithoutRoom(Corridor):
    def step_unobserved(self, context, state, action, random):
        return -0.1, Outcome.RUNNING


class Conditions(Corridor):
    """Says by itself what the default would do."""

    def condition(self, context, state, action, random, observation, imagined):
        reward, outcome = self.step(context, state, action, random, imagined)
        value = -math.inf
        if outcome == Outcome.RUNNING:
            value = self.log_likelihood(context, state, action, observation)
        return value, reward, outcome


class ConditionsWithoutRoom(Corridor):
    def condition(self, context, state, action, random, observation):
        return 0.0, 0.0, Outcome.RUNNING


class ConditionsOnNothing(Corridor):
    def condition(self, context, state, action, random, observation, imagined):
        return -math.inf, 0.0, Outcome.RUNNING


class ConditionsWithoutWeight(Corridor):
    def condition(self, context, state, action, random, observation, imagined):
        return self.step(context, state, action, random, imagined)


class SmallMirror(Corridor):
    def mirrors(self):
        return (mp.learning.Mirror((-1.0,), (), (-1.0,)),)


class FixedGuide(Corridor):
    def guide(self, context, state, macro_actions, lengths):
        return 2


class NoName(Corridor):
    name = ""


class NoStateSize(Task):
    name = "no-state-size"
    action_size = 1
    observation_size = 1

    draw_state = Corridor.draw_state
    step = Corridor.step
    log_likelihood = Corridor.log_likelihood
    upper_bound = Corridor.upper_bound
    actions = Corridor.actions


class OnlyAPart(Task, abstract=True):
    name = "only-a-part"
    state_size = action_size = observation_size = 1


class AdviceOfWords(Corridor):
    advice = ("be quick",)


class AdviceAlone(Corridor):
    advice = MacroDespotSettings()


class AdviceTwice(Corridor):
    advice = (MacroDespotSettings(scenarios=5), MacroDespotSettings(scenarios=6))


class BlursBeyondTheState(Corridor):
    continuous_state = (POSITION, 2)


class SeesBeyondTheState(Corridor):
    plain_features = ((POSITION, 7), ())


class ParameterOfPairs(Corridor):
    sizes: tuple = (1, 2)


class NumberForText(Corridor):
    label: str = 3  # type: ignore[assignment]


class GrowingFuture(Corridor):
    discount = 1.5

    def __post_init__(self):
        pass


class TooFewArguments(Corridor):
    def log_likelihood(self, state, action, observation):
        return 0.0


class NoUpperBound(Corridor):
    upper_bound = None


class ActionsOfWrongShape(Corridor):
    def actions(self):
        return np.array([-1.0, 0.0, 1.0])


class WritesPastTheEnd(Corridor):
    def draw_state(self, context, random, state):
        state[POSITION], state[OUTCOME], state[2] = 0.0, 0.0, 0.0


class ForgetsAnElement(Corridor):
    observation_size = 2


class RewardNotANumber(Corridor):
    def step(self, context, state, action, random, observation):
        observation[0] = 0.0
        return math.nan, Outcome.RUNNING


class UnknownOutcome(Corridor):
    def step(self, context, state, action, random, observation):
        observation[0] = 0.0
        return 0.0, 3


class GlobalRandomness(Corridor):
    def step(self, context, state, action, random, observation):
        observation[0] = np.random.normal()  # noqa: NPY002
        return 0.0, Outcome.RUNNING


class LikelihoodMovesTheState(Corridor):
    def log_likelihood(self, context, state, action, observation):
        state[POSITION] -= observation[0]
        return -0.5 * (state[POSITION] / self.noise) ** 2


class LikelihoodRaises(Corridor):
    def log_likelihood(self, context, state, action, observation):
        return math.log(0.0)


class KeyNotWhole(Corridor):
    def observation_key(self, observation):
        return observation[0] / self.noise


class KeyTooLarge(Corridor):
    def observation_key(self, observation):
        return 10**19 + math.floor(observation[0])


class Revives(Corridor):
    def step(self, context, state, action, random, observation):
        state[OUTCOME] = Outcome.RUNNING
        return Corridor.step(self, context, state, action, random, observation)


class DeniesTheTruth(Corridor):
    def log_likelihood(self, context, state, action, observation):
        return 0.0 if abs(observation[0] - state[POSITION]) < self.noise else -math.inf


class FeaturesNotFilled(Corridor):
    @property
    def particle_features_size(self):
        return 3

    def particle_features(self, context, state, features):
        features[0] = state[POSITION]
        features[1] = state[OUTCOME]


class DrawsHalfAnAction(Corridor):
    def draw_action(self, actions, random, action):
        if uniform(random) < 0.5:
            action[0] = 1.0


class DrawsFromElsewhere(Corridor):
    def draw_action(self, actions, random, action):
        action[0] = np.random.random()  # noqa: NPY002


class DrawsTooLongAnAction(Corridor):
    def draw_action(self, actions, random, action):
        action[0] = action[1] = uniform(random)


class GuidesNowhere(Corridor):
    def guide(self, context, state, macro_actions, lengths):
        return len(lengths)


class StatisticOfWords(Corridor):
    def statistics(self, context, states):
        return {"mood": "good"}


class StatisticCalledSteps(Corridor):
    def statistics(self, context, states):
        return {"steps": 1.0}


class StatisticWithoutName(Corridor):
    def statistics(self, context, states):
        return 1.0


class SceneOfWords(Corridor):
    def scene(self, context):
        return "a corridor"


class SceneBeyondTheState(Corridor):
    def scene(self, context):
        return mp.scene.Scene((0.0, 0.0, 1.0, 1.0), robot=(0, 9))


class SpritesNotANumber(Corridor):
    def scene(self, context):
        return mp.scene.Scene((0.0, 0.0, 1.0, 1.0))

    def sprites(self, context, state, particles):
        return [mp.scene.Circle(np.nan, 0.0, 1.0)]


# Mistakes that only compiled code shows. Every class is compiled for itself, so there are few.


def distance(a, b):
    return abs(a - b)


class DoesNotCompile(Corridor):
    """Plain Python that numba does not know, in five functions."""

    def state_distance(self, state, other):
        return distance(state[POSITION], other[POSITION])

    def upper_bound(self, context, state):
        return self.reward + np.sum(state)

    def rollout_action(self, context, state, actions, random, action):
        action[0] = -1.0 if state[POSITION] > self.middle() else 1.0

    def middle(self):
        return np.float64("0")

    def step_unobserved(self, context, state, action, random, unseen):
        if np.sum(action) == 99.0:
            return 0.0, Outcome.RUNNING
        return self.step(context, state, action, random, unseen)

    def condition(self, context, state, action, random, observation, imagined):
        reward, outcome = self.step(context, state, action, random, imagined)
        return 0.0 * np.sum(observation), reward, outcome


setting = 0.0


class DiffersOnceCompiled(Corridor):
    """Its keys overflow, and its noise is a variable of the module."""

    def __post_init__(self):
        global setting
        setting = self.noise

    def step(self, context, state, action, random, observation):
        observation[0] = setting
        return 0.0, Outcome.RUNNING

    def observation_key(self, observation):
        key = 1
        for _ in range(5):
            key = key * 1_000_003 + math.floor(observation[0])
        return key % 97


class Adjustable(Corridor):
    """Right, unless its parameters say otherwise."""

    claimed_noise: float = 1.0
    claimed_bound: float = 1.0
    claimed_within: float = 1.0
    later: float = 0.0
    slips: float = 0.0
    farthest_key: float = 1e9
    lost: bool = False

    walk = Corridor.step

    def step(self, context, state, action, random, observation):
        if state[OUTCOME] == Outcome.RUNNING and self.slips > 0.0 and uniform(random) < self.slips:
            state[99] = 1.0
        return self.walk(context, state, action, random, observation)

    def log_likelihood(self, context, state, action, observation):
        return -0.5 * ((observation[0] - state[POSITION]) / (self.claimed_noise * self.noise)) ** 2

    def observation_key(self, observation):
        cell = math.floor(observation[0] / self.noise)
        return math.floor(observation[cell]) if observation[0] > self.farthest_key else cell

    def upper_bound(self, context, state):
        return self.claimed_bound * self.reward if state[OUTCOME] == Outcome.RUNNING else 0.0

    def bound_within(self, context, state, steps):
        return self.claimed_within * self.upper_bound(context, state)

    def value_beyond(self, context, state):
        return self.later * self.reward

    def guide(self, context, state, macro_actions, lengths):
        return 10**9 if self.lost and 4.0 < state[POSITION] < 4.0001 else 0


class Remembers(Corridor):
    """Its state keeps what the robot has measured, whichever state a belief supposes: it does not condition."""

    state_size = 3
    walk = Corridor.step
    place = Corridor.draw_state

    def draw_state(self, context, random, state):
        self.place(context, random, state)
        state[MEASURED] = 0.0

    def step(self, context, state, action, random, observation):
        reward, outcome = self.walk(context, state, action, random, observation)
        if outcome == Outcome.RUNNING:
            state[MEASURED] = observation[0]
        return reward, outcome


class RemembersWhatWasSeen(Remembers):
    def condition(self, context, state, action, random, observation, imagined):
        reward, outcome = self.walk(context, state, action, random, imagined)
        if outcome != Outcome.RUNNING:
            return -math.inf, reward, outcome
        state[MEASURED] = observation[0]
        return self.log_likelihood(context, state, action, observation), reward, outcome


class LooksTwoStepsAhead(Adjustable):
    advice = (MacroDespotSettings(search_depth=2),)


class BetweenDoors(Tiger):
    def macro_space(self, length):
        return mp.macros.HeldActionSpace.of_actions(self.actions(), length)


def test_actions_that_do_not_exist_are_found():
    (finding,) = mp.testing.check_task(BetweenDoors)
    assert finding.function == "macro_space"
    assert "it made the action [" in str(finding)


@pytest.mark.slow
@pytest.mark.parametrize("name", task_names())
def test_shipped_tasks_pass(name, monkeypatch):
    fewer = {"cars": 2} if name == "crowd-driving" else {}  # plain Python takes its time with all of them
    monkeypatch.setattr(long_run, "_MOST_SECONDS", 1.5)  # the command takes a minute of it
    monkeypatch.setattr(likelihood, "_CONTEXTS", 12)  # the command looks at four times as much
    monkeypatch.setattr(upper_bound, "_REPEATS", 500)
    assert mp.testing.check_task(find_task(name)(**fewer)) == []


def test_chance_that_is_drawn_apart_passes():
    assert mp.testing.check_task(DrawsApart) == []


def test_a_right_condition_passes():
    assert mp.testing.check_task(Conditions) == []


def test_other_parameters_pass():
    assert mp.testing.check_task(Tiger(accuracy=0.7)) == []


@pytest.mark.jit_off
def test_right_task_passes_in_either_mode():
    assert mp.testing.check_task(Adjustable) == []


@pytest.mark.parametrize(
    ("task", "function", "mistake"),
    [
        (NoName, "name", "empty"),
        (NoStateSize, "state_size", "missing"),
        (OnlyAPart, "actions", "missing"),
        (AdviceOfWords, "advice", "it is ('be quick',)"),
        (AdviceAlone, "advice", "it is MacroDespotSettings("),
        (AdviceTwice, "advice", "two objects of one kind"),
        (BlursBeyondTheState, "continuous_state", "it is (0, 2)"),
        (SeesBeyondTheState, "plain_features", "must name numbers of a state, 0 to 1,"),
        (ParameterOfPairs, "sizes", "annotated as tuple"),
        (NumberForText, "label", "its value is 3"),
        (GrowingFuture, "discount", "it is 1.5"),
        (TooFewArguments, "log_likelihood", "takes 4 arguments (self, state, action, observation)"),
        (UnobservedWithoutRoom, "step_unobserved", "takes 5 arguments (self, context, state, action, random)"),
        (ConditionsWithoutRoom, "condition", "takes 6 arguments"),
        (SmallMirror, "mirrors", "particle_signs of a mirror of corridor must be 2 numbers, not 1"),
        (FixedGuide, "guide", "it returned 2"),
        (ConditionsOnNothing, "condition", "its weight is -inf for the observation"),
        (ConditionsWithoutWeight, "condition", "it returned ("),
        (NoUpperBound, "upper_bound", "missing"),
        (ActionsOfWrongShape, "actions", "shape (3,)"),
        (WritesPastTheEnd, "draw_state", "IndexError"),
        (ForgetsAnElement, "step", "elements [1] of `observation` unwritten"),
        (RewardNotANumber, "step", "reward is nan"),
        (UnknownOutcome, "step", "outcome is 3"),
        (GlobalRandomness, "step", "observation differed"),
        (LikelihoodMovesTheState, "log_likelihood", "changed `state`"),
        (LikelihoodRaises, "log_likelihood", "ValueError"),
        (KeyNotWhole, "observation_key", "returned"),
        (KeyTooLarge, "observation_key", "64 bits"),
        (Revives, "step", "had ended with outcome"),
        (StandsStillUnobserved, "step_unobserved", "it returned (-0.1, 0) and left"),
        (DrawsApartOnly, "step_with_noise", "it returned (-0.1, 0) and left"),
        (NoiseOfHalfANumber, "noise_size", "it is 0.5"),
        (ForgetsNoise, "draw_noise", "elements [1] of `noise`"),
        (DeniesTheTruth, "log_likelihood", "-inf for the observation"),
        (FeaturesNotFilled, "particle_features", "elements [2] of `features`"),
        (DrawsHalfAnAction, "draw_action", "elements [0] of `action`"),
        (DrawsFromElsewhere, "draw_action", "action differed"),
        (DrawsTooLongAnAction, "draw_action", "IndexError"),
        (GuidesNowhere, "guide", "it returned 3"),
        (StatisticOfWords, "statistics", "gave 'good' as 'mood'"),
        (StatisticCalledSteps, "statistics", "cannot call anything 'steps'"),
        (StatisticWithoutName, "statistics", "it returned 1.0"),
        (SceneOfWords, "scene", "it returned 'a corridor'"),
        (SceneBeyondTheState, "scene", "the numbers (0, 9) of a state"),
        (SpritesNotANumber, "sprites", "cannot be drawn"),
    ],
)
@pytest.mark.jit_off
def test_mistakes_seen_in_plain_python(task, function, mistake):
    assert_found(task, function, mistake)


def test_all_functions_that_do_not_compile_are_named(jit):
    findings = {finding.function: finding for finding in mp.testing.check_task(DoesNotCompile)}
    for function, mistake in (
        ("state_distance", "Untyped global name 'distance'"),
        ("upper_bound", "sum(View(float64, 1))"),
        ("rollout_action", "does not compile"),
        ("step_unobserved", "sum(View(float64, 1))"),
        ("condition", "sum(View(float64, 1))"),
    ):
        assert mistake in str(findings[function])
    assert "@numba.njit" in findings["state_distance"].advice


def test_what_differs_once_compiled_is_named(jit):
    key, parameters = map(str, mp.testing.check_task(DiffersOnceCompiled))
    assert key.startswith("observation_key: ")
    assert "as plain Python" in key
    assert parameters.startswith("parameters: ")
    assert "the same step gave something else" in parameters


@pytest.mark.parametrize(
    ("task", "function", "mistake", "advice"),
    [
        (Adjustable(claimed_noise=2.0), "log_likelihood", "on average", "as if the noise were larger"),
        (Adjustable(claimed_noise=0.5), "log_likelihood", "on average", "as if the noise were smaller"),
        (Adjustable(claimed_noise=1e9), "log_likelihood", "tell more about the state", ""),
        (Adjustable(claimed_bound=0.5), "upper_bound", "it is 5 for the state", ""),
        (Adjustable(claimed_within=0.5), "bound_within", "within 60 steps", ""),
        (LooksTwoStepsAhead(later=2.0), "bound_within", "it is 10 for the state", ""),
        (Adjustable(slips=1e-5), "step", "index 99 is out of bounds for axis 0 with size 2", ""),
        (Adjustable(farthest_key=12.0), "observation_key", "is out of bounds for axis 0 with size 1", ""),
        (Adjustable(lost=True), "guide", "it returned 1000000000", ""),
    ],
)
def test_mistakes_seen_in_many_steps(task, function, mistake, advice, jit):
    assert advice in assert_found(task, function, mistake).advice


def test_a_state_may_keep_what_was_observed_if_its_task_conditions():
    (finding,) = likelihood.check_likelihood(Remembers(), None)
    assert "If the state keeps what was observed, write condition" in finding.advice
    assert list(likelihood.check_likelihood(RemembersWhatWasSeen(), None)) == []


def assert_found(task, function, mistake):
    findings = {str(finding): finding for finding in mp.testing.check_task(task)}
    found = [finding for text, finding in findings.items() if text.startswith(f"{function}: ") and mistake in text]
    assert found, list(findings)
    return found[0]


class NeverReturns(Corridor):
    def draw_context(self, random, context):
        while True:
            pass


class EndsTheProcess(Corridor):
    def upper_bound(self, context, state):
        return float(os.abort() or 0.0)


def test_a_process_apart_tells_of_what_never_returns():
    (finding,) = check_task_apart(NeverReturns(), longest=5.0)
    assert str(finding).startswith("draw_context: it has not returned for 5 s. Expected: that every call ends.")


def test_a_process_apart_tells_of_what_crashes():
    told = []
    (finding,) = check_task_apart(EndsTheProcess(), tell=lambda *stage: told.append(stage))
    assert told[:1] == [("some episodes in plain Python", 1, 7)]
    assert str(finding).startswith("upper_bound: it ended the process (SIGABRT). Expected: that it returns.")


class MacroActionsOfItsOwn(Corridor):
    def macro_actions(self, length):
        return mp.MacroActions.repeat(np.array([[-2.0], [2.0]]), length).add(np.zeros((1, 1)))


def test_macro_actions_need_not_be_made_of_the_primitive_ones():
    assert list(check_class(MacroActionsOfItsOwn)) == list(check_choices(MacroActionsOfItsOwn())) == []
    assert primitive_actions(MacroActionsOfItsOwn()).tolist() == [[-1.0], [0.0], [1.0]]


class Grid(Corridor):
    """Walks in the plane, or so it seems: nobody says whether it may walk askew."""

    action_size = 2

    def actions(self):
        return np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])


class SteppedGrid(Grid):
    discrete_actions = True


class FreeGrid(Grid):
    discrete_actions = False


def test_whether_actions_of_whole_numbers_are_all_there_are_is_to_be_said():
    (found,) = check_choices(Grid())
    assert found.function == "discrete_actions"
    assert "Write `discrete_actions = True` in the class" in str(found)
    assert list(check_choices(SteppedGrid())) == list(check_choices(FreeGrid())) == []


def test_a_class_that_lacks_a_function_is_refused_before_any_check():
    with pytest.raises(ValueError, match=r"^MacroActionsOnly lacks actions: write it as "):

        class MacroActionsOnly(MacroActionsOfItsOwn):
            actions = Task.actions

    with pytest.raises(ValueError, match=r"^Unfinished lacks step and actions: write them as "):

        class Unfinished(NoStateSize):
            step = Task.step
            actions = Task.actions


def test_not_a_task():
    assert "magic_pomdp.Task" in str(mp.testing.check_task(int)[0])


CHECK = """
import numpy as np
from magic_pomdp.tasks.tiger import Tiger
from magic_pomdp.testing import compiled
sizes = {"context": 0, "state": 1, "action": 1, "observation": 1}
compiled.run(Tiger(), "log_likelihood", {name: np.zeros((5, size)) for name, size in sizes.items()})
stats = compiled._rows("log_likelihood").stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def test_the_next_check_finds_what_is_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    runs = [subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True) for _ in range(2)]
    assert [run.stdout.strip() for run in runs] == ["0 1", "1 0"], runs[-1].stderr


# ------------------------------------------------------------------------------------------------------------ planners


@pytest.mark.parametrize("name", ["tiger", "light-dark"])
def test_macro_despot_passes(name):
    assert mp.testing.check_planner(mp.MacroDespot(mp.make(name))) == []


class Wrapped:
    """A planner with one of its promises broken by `spoil`, which is given the plan that it would return."""

    def __init__(self, spoil=lambda plan: None, careless=False):
        self.task = Tiger()
        self.planner = mp.MacroDespot(self.task)
        self.macro_actions = self.planner.macro_actions
        self.spoil, self.careless, self.plans = spoil, careless, 0

    def plan(self, belief, context, *, budget=None, seed=0):
        self.plans += 1
        if self.careless:
            belief = np.nan_to_num(np.atleast_2d(getattr(belief, "particles", belief))[:, :1])
        plan = self.planner.plan(belief, context, budget=budget, seed=seed)
        for name, value in (self.spoil(plan) or {}).items():
            object.__setattr__(plan, name, value)
        return plan


def test_planners_that_break_a_promise():
    grown = Wrapped()
    grown.spoil = lambda plan: {"trials": plan.trials + grown.plans}
    cases = [
        (Wrapped(lambda plan: {"macro_action": np.full((1, 1), np.nan)}), "the macro-action is [[nan]]"),
        (Wrapped(lambda plan: {"macro_action": np.zeros(1)}), "shape (1,)"),
        (Wrapped(lambda plan: {"choice": 7}), "choice 7"),
        (Wrapped(lambda plan: {"value": math.inf}), "value is inf"),
        (Wrapped(lambda plan: {"lower": plan.upper + 1.0}), "above the upper bound"),
        (Wrapped(lambda plan: {"steps": 100 * plan.steps}), "were simulated"),
        (Wrapped(careless=True), "it planned for a belief with a NaN"),
        (grown, "trials was"),
    ]
    for planner, mistake in cases:
        findings = [str(finding) for finding in mp.testing.check_planner(planner)]
        assert any(mistake in text for text in findings), (mistake, findings)
