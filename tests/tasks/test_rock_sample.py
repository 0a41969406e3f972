"""RockSample's rules, and its bound against what is known of it."""

import math

import numpy as np
import pytest

from magic_pomdp import Belief, Budget, Outcome, make, run_episode
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.planners import DespotSettings, find_planner
from magic_pomdp.tasks.rock_sample import BAD, EAST, GOOD, LOOK, NORTH, NOTHING, SAMPLE, SOUTH, WEST

CONTEXT = np.zeros(1)


def step(task, x, y, good, action, seed=0):
    state, observation = np.array([x, y, good, 0, Outcome.RUNNING], dtype=float), np.full(1, np.nan)
    reward, outcome = task.step(CONTEXT, state, np.array([float(action)]), new_stream(seed), observation)
    return state, reward, outcome, observation[0]


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("at", "action", "to", "reward"),
    [
        ((0, 3), NORTH, (0, 4), 0.0),
        ((0, 3), SOUTH, (0, 2), 0.0),
        ((0, 3), EAST, (1, 3), 0.0),
        ((1, 3), WEST, (0, 3), 0.0),
        ((0, 3), WEST, (0, 3), -100.0),
        ((2, 6), NORTH, (2, 6), -100.0),
        ((2, 0), SOUTH, (2, 0), -100.0),
        ((0, 3), SAMPLE, (0, 3), -100.0),
    ],
)
def test_moves(at, action, to, reward):
    state, earned, outcome, seen = step(make("rock-sample"), *at, 0, action)
    assert (tuple(state[:2]), earned, outcome, seen) == (to, reward, Outcome.RUNNING, NOTHING)


@pytest.mark.jit_off
def test_leaving_and_sampling():
    task = make("rock-sample")
    assert step(task, 6, 3, 5, EAST)[1:3] == (10.0, Outcome.SUCCESS)
    x, y = task.places[0, 2]
    state, reward, _, _ = step(task, x, y, 0b101, SAMPLE)
    assert (state[2], reward) == (0b001, 10.0)
    assert step(task, x, y, 0b001, SAMPLE)[1] == -10.0


@pytest.mark.jit_off
def test_a_look_tells_half_as_much_at_the_half_distance():
    task = make("rock-sample", half_distance=4.0)
    x, y = task.places[0, 0]
    assert task.reliability_of(CONTEXT, np.array([x, y, 0.0, 0.0, 0.0]), 0) == 1.0
    assert task.reliability_of(CONTEXT, np.array([x + 4.0, y, 0.0, 0.0, 0.0]), 0) == pytest.approx(0.75)
    seen = [step(task, x + 4.0, y, 1, LOOK, seed)[3] for seed in range(400)]
    assert set(seen) == {GOOD, BAD}
    assert np.mean(np.array(seen) == GOOD) == pytest.approx(0.75, abs=0.08)


@pytest.mark.jit_off
def test_the_bound_is_the_best_way_of_who_knows():
    """Compared with all orders of three rocks."""
    task = make("rock-sample", size=5, rocks=3, layouts=2)
    places, gamma, rng = task.places[1], task.discount, np.random.default_rng(0)

    def best(x, y, left):
        ways = [10.0 * gamma ** (4 - x)]
        for rock in left:
            moves = abs(places[rock, 0] - x) + abs(places[rock, 1] - y)
            ways.append(gamma**moves * (10.0 + gamma * best(*places[rock], left - {rock})))
        return max(ways)

    for _ in range(20):
        x, y, good = rng.integers(5), rng.integers(5), rng.integers(8)
        left = frozenset(rock for rock in range(3) if good >> rock & 1)
        state = np.array([x, y, good, 0, Outcome.RUNNING], dtype=float)
        assert task.upper_bound(np.ones(1), state) == pytest.approx(best(x, y, left))


@pytest.mark.jit_off
def test_the_guide_goes_where_a_look_has_promised_something():
    task, actions = make("rock-sample"), make("rock-sample").macro_actions(1)
    state, observation = np.array([0.0, 3.0, 1 << 4, 0.0, Outcome.RUNNING]), np.zeros(1)
    assert task.guide(CONTEXT, state, actions.actions, actions.lengths) == EAST
    value, _, _ = task.condition(
        CONTEXT, state, np.array([LOOK + 4.0]), new_stream(0), np.array([float(GOOD)]), observation
    )
    assert math.exp(value) == pytest.approx(task.reliability_of(CONTEXT, state, 4))
    taken, reward = [], 0.0
    while reward == 0.0:
        action = float(task.guide(CONTEXT, state, actions.actions, actions.lengths))
        reward, _ = task.step(CONTEXT, state, np.array([action]), new_stream(0), observation)
        taken.append(int(action))
    assert taken == [EAST, EAST, NORTH, SAMPLE]  # the rock lies at (2, 4)
    assert (reward, state[2], state[3]) == (10.0, 0.0, 0.0)


def test_layouts():
    assert len(make("rock-sample").places) == len(make("rock-sample", size=11, rocks=11).places) == 1
    task = make("rock-sample", size=6, rocks=4, layouts=3)
    assert task.places.shape == (3, 4, 2)
    for layout in range(3):
        assert len({tuple(place) for place in task.places[layout]}) == 4
        for rock, (x, y) in enumerate(task.places[layout].astype(int)):
            assert task.rock_at[layout, x, y] == rock


@pytest.mark.parametrize("wrong", [{"rocks": 21}, {"rocks": 0}, {"size": 1}, {"size": 2, "rocks": 5}, {"layouts": 0}])
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match="RockSample's"):
        make("rock-sample", **wrong)


def test_looks_tell_the_belief_which_rocks_are_good():
    task = make("rock-sample")
    belief = Belief.initial(task, CONTEXT, 4000, seed=1)
    for _ in range(8):
        belief.update(np.array([LOOK + 1.0]), np.array([float(BAD)]))
    assert ((belief.particles[:, 2].astype(int) >> 1) & 1).mean() < 0.01
    assert ((belief.particles[:, 2].astype(int) >> 2) & 1).mean() == pytest.approx(0.5, abs=0.1)


def test_despot_does_better_than_driving_out():
    task = make("rock-sample")
    settings = DespotSettings.advised(task, scenarios=100)
    planner = find_planner("despot").build(task, settings, Budget(steps=100_000))
    returns = [run_episode(task, planner, seed=0, episode=episode).result.discounted_return for episode in range(4)]
    assert math.fsum(returns) / 4 > 12.0  # straight out is worth 7.4
