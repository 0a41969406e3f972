"""Episodes in any world: the task's simulator, or one that nobody can look into."""

import math

import msgspec
import numpy as np
import pytest

from magic_pomdp import Belief, MacroDespot, Outcome, Plan, evaluate, make, run_episode
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.planners import Budget, MacroDespotSettings
from magic_pomdp.results import Evaluation
from magic_pomdp.running import Beginning, Episode, Happening, SimulatedWorld
from magic_pomdp.running.world import draw_beginning
from magic_pomdp.tasks.tiger import LISTEN, OPEN_LEFT

pytestmark = pytest.mark.jit_off

TIGER = make("tiger", max_steps=6)
LEFT, RIGHT = np.array([0.0]), np.array([1.0])


class Radio:
    """A world that plays what was heard elsewhere, and tells nothing else. Its rewards are its own."""

    state = None

    def __init__(self, task, heard=(1.0, 1.0, 0.0, 1.0, 1.0, 0.0), reward=-1.0, first=None):
        self.task, self.heard, self.reward, self.first = task, heard, reward, first
        self.begun, self.actions = [], []

    def begin(self, seed, episode):
        self.begun.append((seed, episode))
        self.time = 0
        return Beginning(np.zeros(0), None if self.first is None else np.array([self.first]))

    def act(self, action):
        self.actions.append(action.tolist())
        self.time += 1
        return Happening(np.array([self.heard[self.time - 1]]), self.reward, Outcome.RUNNING)


class Talkative(Radio):
    """It says where it thinks the tiger is, which is for records and pictures alone."""

    state = np.array([1.0])


class Watching:
    """A planner that listens for ever, and notes what it is told."""

    def __init__(self, task=TIGER):
        self.task, self.seen = task, []

    def plan(self, belief, context=None, *, budget=None, seed=0):
        self.seen.append((belief.particles.tolist(), belief.context.tolist(), context.tolist(), int(seed)))
        return Plan(np.array([[float(LISTEN)]]), 0, 0.0, None, None, 1, 1, 1, 1, 0.0, "budget used")


def particles_seen(planner):
    return [seen[0] for seen in planner.seen]


# --------------------------------------------------------------------------------------------- a world of one's own


def test_an_episode_runs_in_a_world_that_tells_no_truth():
    world, moments = Radio(TIGER), []
    record = run_episode(TIGER, Watching(), seed=3, episode=7, world=world, watch=moments.append)
    assert world.begun == [(3, 7)]
    assert world.actions == [[float(LISTEN)]] * 6
    assert all(moment.state is None for moment in moments)
    assert (record.steps, record.total_return, record.outcome) == (6, -6.0, "unfinished")
    assert (record.result.belief_error, record.result.belief_error_final, record.result.statistics) == (None, None, {})


def test_the_belief_follows_what_is_observed():
    episode = Episode(TIGER, Watching(), Radio(TIGER), seed=3)
    while not episode.over:
        episode.prepare()
        episode.act()
    exact = 1.0 / (1.0 + (0.15 / 0.85) ** 3)  # after five: 4 − 1; nothing is asked of the last observation
    assert episode.belief.particles.mean() == pytest.approx(exact, abs=0.04)


def test_nothing_but_the_observations_reaches_belief_and_planner():
    """Worlds that sound alike, but pay otherwise and tell a truth or none, are alike to both."""
    planners = []
    for world in (Radio(TIGER), Radio(TIGER, reward=99.0), Talkative(TIGER)):
        planners.append(Watching())
        run_episode(TIGER, planners[-1], seed=3, world=world)
    assert planners[0].seen == planners[1].seen == planners[2].seen
    other = Watching()
    run_episode(TIGER, other, seed=3, world=Radio(TIGER, heard=(0.0,) * 6))
    assert particles_seen(other)[0] == particles_seen(planners[0])[0]
    assert particles_seen(other)[1:] != particles_seen(planners[0])[1:]


def test_what_a_world_tells_of_its_truth_is_kept_in_records():
    result = run_episode(TIGER, Watching(), seed=3, world=Talkative(TIGER)).result
    assert 0.0 <= result.belief_error_final < result.belief_error < 0.6


def test_the_simulator_and_a_radio_that_plays_its_observations_give_the_same_belief():
    heard, live, replayed = [], Watching(), Watching()
    run_episode(TIGER, live, seed=3, watch=lambda moment: heard.append(moment.observation))
    run_episode(TIGER, replayed, seed=3, world=Radio(TIGER, heard=[float(one[0]) for one in heard[1:]]))
    assert live.seen == replayed.seen


class Scribbling(Radio):
    """It writes into all arrays that it gets or has given."""

    def begin(self, seed, episode):
        self.known = np.array([3.0, 1.0, -2.0, 2.5, -3.0])
        self.observed = np.zeros(3)
        return Beginning(self.known)

    def act(self, action):
        action[:] = 77.0
        self.known[:] = 77.0
        self.observed[:] = 0.0
        return Happening(self.observed, 0.0, Outcome.RUNNING)


def test_a_world_that_writes_into_its_arrays_changes_nothing_else():
    task = make("light-dark", max_steps=3)
    planner = MacroDespot(task, settings=MacroDespotSettings.advised(task, scenarios=5), budget=Budget(steps=100))
    episode = Episode(task, planner, Scribbling(task))
    same = Belief.initial(task, np.array([3.0, 1.0, -2.0, 2.5, -3.0]), seed=episode.belief._seed)
    episode.prepare()
    plan = episode.plan.macro_action.copy()
    episode.act()
    same.update(plan[0], np.zeros(3))
    np.testing.assert_array_equal(episode.plan.macro_action, plan)
    np.testing.assert_array_equal(episode.context, [3.0, 1.0, -2.0, 2.5, -3.0])
    np.testing.assert_array_equal(episode.belief.particles, same.particles)
    np.testing.assert_array_equal(episode.moment().action, plan[0])


# ------------------------------------------------------------------------------------------------ a first observation


def test_a_world_may_be_observed_before_the_first_action():
    first, told = Watching(), Watching()
    run_episode(TIGER, first, seed=3, world=Radio(TIGER))
    run_episode(TIGER, told, seed=3, world=Radio(TIGER, first=1.0))
    assert np.mean(particles_seen(first)[0]) == pytest.approx(0.5, abs=0.05)
    assert np.mean(particles_seen(told)[0]) == pytest.approx(0.85, abs=0.04)
    assert np.mean(particles_seen(told)[1]) == pytest.approx(1.0 / (1.0 + (0.15 / 0.85) ** 2), abs=0.04)


def test_a_first_observation_of_the_wrong_size_is_refused():
    world = Radio(TIGER)
    world.begin = lambda seed, episode: Beginning(np.zeros(0), np.zeros(2))
    with pytest.raises(ValueError, match=r"first observation must have shape \(1,\), but has shape \(2,\)"):
        Episode(TIGER, Watching(), world)


# --------------------------------------------------------------------------------------------------------- evaluations


def evaluate_radio(**options):
    return evaluate(TIGER, Watching, 3, seed=5, world=Radio, **options)


def test_an_evaluation_in_a_world_of_ones_own():
    report = evaluate_radio(workers=0)
    assert (report.episodes, report.complete, report.return_mean, report.steps_mean) == (3, True, -6.0, 6.0)
    assert (report.belief_error_mean, report.statistics, report.unfinished_rate) == (None, {}, 1.0)
    assert [record.belief_error for record in report.records] == [None] * 3
    assert msgspec.json.decode(msgspec.json.encode(report), type=Evaluation) == report


def test_worker_processes_make_a_world_of_their_own():
    assert evaluate_radio(workers=1).records == evaluate_radio(workers=0).records


def test_the_world_by_default_is_the_simulator():
    assert (
        evaluate(TIGER, Watching, 3, seed=5, workers=0, world=SimulatedWorld).records
        == evaluate(TIGER, Watching, 3, seed=5, workers=0).records
        == tuple(run_episode(TIGER, Watching(), seed=5, episode=number).result for number in range(3))
    )


# ------------------------------------------------------------------------------------------------------ bad worlds


def spoiled(**changes):
    """A radio whose answer to an action is changed."""
    world = Radio(TIGER)
    act = world.act
    world.act = lambda action: act(action)._replace(**changes)
    return world


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reward": math.nan}, r"^The world gave the reward nan after 0 steps\.$"),
        ({"reward": -math.inf}, r"^The world gave the reward -inf after 0 steps\.$"),
        ({"observation": np.zeros(3)}, r"observation must have shape \(1,\), but has shape \(3,\)"),
        ({"observation": np.array([np.nan])}, "observation contains NaN"),
        ({"outcome": 7}, "7 is not a valid Outcome"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        run_episode(TIGER, Watching(), world=spoiled(**changes))


def test_a_context_of_the_wrong_size_is_refused():
    world = Radio(TIGER)
    world.begin = lambda seed, episode: Beginning(np.zeros(2))
    with pytest.raises(ValueError, match=r"world's context must have shape \(0,\), but has shape \(2,\)"):
        Episode(TIGER, Watching(), world)


@pytest.mark.parametrize("state", [np.zeros(2), np.zeros(0), np.array([np.nan])])
def test_a_state_that_is_none_of_the_task_is_refused(state):
    world = Talkative(TIGER)
    world.state = state
    with pytest.raises(ValueError, match=r"^The world's state (must have shape \(1,\)|contains NaN)"):
        Episode(TIGER, Watching(), world)


def test_a_world_may_tell_outcomes_as_whole_numbers_and_observations_as_lists():
    record = run_episode(TIGER, Watching(), world=spoiled(outcome=1, observation=[0.0], reward=np.float32(2.0)))
    assert (record.steps, record.outcome, record.total_return) == (1, "success", 2.0)


# ------------------------------------------------------------------------------------------------------ the simulator


def test_the_simulators_luck_follows_from_seed_and_episode():
    def lived(seed, episode, actions):
        world = SimulatedWorld(TIGER)
        world.begin(seed, episode)
        heard = [world.act(np.array([float(action)])) for action in actions]
        return [(float(one.observation[0]), one.reward, one.outcome) for one in heard]

    assert lived(1, 2, [LISTEN] * 6) == lived(1, 2, [LISTEN] * 6)
    assert len({tuple(lived(1, episode, [LISTEN] * 6)) for episode in range(8)}) > 2
    assert len({tuple(lived(seed, 2, [LISTEN] * 6)) for seed in range(8)}) > 2


def test_the_worlds_noise_at_a_time_is_the_same_whatever_was_done_before():
    """Whether the second sound is right does not depend on the first action."""
    for episode in range(10):
        right = []
        for first in (LISTEN, OPEN_LEFT):
            world = SimulatedWorld(TIGER)
            world.begin(4, episode)
            world.act(np.array([float(first)]))
            right.append(bool(world.act(np.array([float(LISTEN)])).observation[0] == world.state[0]))
        assert right[0] == right[1]


def test_the_simulator_begins_as_the_task_draws_it():
    task, world = make("light-dark"), SimulatedWorld(make("light-dark"))
    beginning = world.begin(1, 2)
    context, state = draw_beginning(task, new_stream(1, 2, 0))
    np.testing.assert_array_equal(beginning.context, context)
    np.testing.assert_array_equal(world.state, state)
    assert beginning.observation is None
    world.act(np.array([1.0, 0.0]))
    assert world.state[0] == pytest.approx(state[0] + 0.5)
