"""Navigation's rules in its building, its ways against a fine grid, and its draws against their distributions."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse, stats

from magic_pomdp import Outcome, make
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.tasks.building import DANGERS, GOALS, PLACES, WALLS
from magic_pomdp.tasks.navigation import GUESS_X, LOST, OTHER_X, OUTCOME, STEPS, SURE, TORN, TRUST

pytestmark = pytest.mark.jit_off

FAR = np.tile([100.0, 100.0], 7)
"""Beacons that nobody sees."""
CONTEXT = np.array([7.0, 20.0, *FAR])
EAST, NORTH, WEST, SOUTH = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


@pytest.fixture(scope="module")
def task():
    return make("navigation")


@pytest.fixture(scope="module")
def sure():
    return make("navigation", motion_noise=0.0)


def at(x, y, steps=0.0, outcome=Outcome.RUNNING, guess=(-25.0, 10.0), other=(-25.0, -10.0), trust=TORN):
    return np.array([x, y, steps, outcome, *guess, *other, trust, 0.0])


def step(task, state, action, seed=0, context=CONTEXT):
    state, observation = at(*state), np.full(3, np.nan)
    reward, outcome = task.step(context, state, action, new_stream(seed), observation)
    return state, reward, outcome, observation


# ---------------------------------------------------------------------------------------------------------------- draws


def test_goals_lie_in_their_regions_with_equal_chance(task):
    contexts = np.empty((1500, 16))
    for i, context in enumerate(contexts):
        task.draw_context(new_stream(i), context)
    x, y = contexts[:, 0], contexts[:, 1]
    inside = [
        (left <= x) & (x <= right) & (bottom <= y) & (y <= top) for left, bottom, right, top in GOALS
    ]  # the regions lie apart
    assert (np.sum(inside, axis=0) == 1).all()
    assert stats.chisquare(np.sum(inside, axis=1)).pvalue > 1e-4
    places = [tuple(beacon) for context in contexts for beacon in context[2:].reshape(7, 2)]
    assert all(len({tuple(beacon) for beacon in context[2:].reshape(7, 2)}) == 7 for context in contexts)
    assert set(places) == set(PLACES)
    counts = [places.count(place) for place in PLACES]
    assert np.abs(np.array(counts) - 525).max() < 5.0 * math.sqrt(1500 * 0.35 * 0.65)


def test_the_start_is_normal_around_either_place(task):
    states = np.empty((2000, 10))
    for i, state in enumerate(states):
        task.draw_state(CONTEXT, new_stream(i), state)
    above = states[:, 1] > 0.0
    assert stats.binomtest(int(above.sum()), len(states)).pvalue > 1e-4
    assert stats.kstest(states[:, 0] + 25.0, "norm").pvalue > 1e-4
    assert stats.kstest(states[above, 1] - 10.0, "norm").pvalue > 1e-4
    assert stats.kstest(states[~above, 1] + 10.0, "norm").pvalue > 1e-4
    assert (states[:, 2:] == at(0.0, 0.0)[2:]).all()  # nothing else tells where it was


def test_a_move_is_a_metre_with_noise(task):
    ends = np.array([step(task, (-25.0, 0.0, 3.0), [0.6, 0.8], seed)[0] for seed in range(2000)])
    for column, mean in ((0, -24.4), (1, 0.8)):
        assert stats.kstest((ends[:, column] - mean) / 0.3, "norm").pvalue > 1e-4
    assert (ends[:, STEPS : OUTCOME + 1] == [4.0, Outcome.RUNNING]).all()


# ---------------------------------------------------------------------------------------------------------------- rules


@pytest.mark.parametrize(
    ("place", "action", "held"),
    [
        ((-22.5, 0.0), EAST, False),
        ((-22.0, 0.0), EAST, True),  # at x = −21 it would touch the wall
        ((-21.5, -6.8), EAST, True),
        ((-21.75, -7.8), EAST, False),  # past the corner
        ((-27.5, 0.0), WEST, False),
        ((-28.0, 0.0), WEST, True),  # it would reach the edge
        ((-25.0, 28.0), NORTH, True),
    ],
)
def test_walls_and_the_edge_hold_the_robot_up(sure, place, action, held):
    state, reward, outcome, _ = step(sure, (*place, 0.0), action)
    np.testing.assert_allclose(state[:2], place if held else np.add(place, action))
    assert (state[2], reward, outcome) == (1.0, -0.2, Outcome.RUNNING)


def test_danger_ends_the_episode_by_a_touch(sure):
    assert step(sure, (-10.0, 10.9, 5.0), NORTH)[1:3] == (-0.2, Outcome.RUNNING)
    state, reward, outcome, _ = step(sure, (-10.0, 11.0, 5.0), NORTH)
    assert (state[1], reward, outcome) == (12.0, -100.0, Outcome.FAILURE)


@pytest.mark.parametrize(("distance", "reached"), [(1.5, True), (1.51, False)])
def test_the_goal_is_reached_within_its_radius(sure, distance, reached):
    reward, outcome = step(sure, (7.0, 19.0 - distance, 10.0), NORTH)[1:3]
    assert (reward, outcome) == ((100.0, Outcome.SUCCESS) if reached else (-0.2, Outcome.RUNNING))


def test_the_goal_comes_before_the_end_of_time_and_both_before_danger(sure):
    in_danger = np.array([0.0, 13.0, *FAR])  # a goal that is reached in a danger zone
    assert step(sure, (0.0, 11.5, 149.0), NORTH, context=in_danger)[1:3] == (100.0, Outcome.SUCCESS)
    assert step(sure, (-25.0, 0.0, 148.0), NORTH)[1:3] == (-0.2, Outcome.RUNNING)
    assert step(sure, (-25.0, 0.0, 149.0), NORTH)[1:3] == (-100.0, Outcome.FAILURE)
    late = step(sure, (0.0, 11.5, 149.0), NORTH)[0]
    assert sure.statistics(CONTEXT, late[None])["late_rate"] == 1.0


def test_an_ended_episode_stays_as_it_is(task):
    state, observation = at(7.0, 20.0, 30.0, Outcome.SUCCESS), np.full(3, np.nan)
    assert task.step(CONTEXT, state, EAST, new_stream(0), observation) == (0.0, Outcome.SUCCESS)
    assert state.tolist() == at(7.0, 20.0, 30.0, Outcome.SUCCESS).tolist()


# ------------------------------------------------------------------------------------------------------------- beacons


@pytest.mark.parametrize(("distance", "seen"), [(2.0, True), (2.01, False)])
def test_a_position_is_seen_near_a_beacon(sure, distance, seen):
    context = np.array([7.0, 20.0, *FAR[2:], -25.0, 0.0])
    observation = step(sure, (-25.0, -1.0 - distance, 0.0), NORTH, context=context)[3]
    assert observation[0] == float(seen)
    assert seen or (observation == 0.0).all()


def test_what_is_seen_is_the_position_with_noise(sure):
    context = np.array([7.0, 20.0, -25.0, 0.0, *FAR[2:]])
    seen = np.array([step(sure, (-25.0, -1.0, 0.0), NORTH, seed, context)[3] for seed in range(2000)])
    for column, mean in ((1, -25.0), (2, 0.0)):
        assert stats.kstest((seen[:, column] - mean) / 0.1, "norm").pvalue > 1e-4
    state = at(-25.0, 0.05, 1.0)
    expected = stats.norm.logpdf(seen[0, 1:], state[:2], 0.1).sum()
    assert sure.log_likelihood(context, state, NORTH, seen[0]) == pytest.approx(expected)
    assert sure.log_likelihood(context, state, NORTH, np.zeros(3)) == -math.inf
    assert sure.log_likelihood(CONTEXT, state, NORTH, np.zeros(3)) == 0.0
    assert sure.log_likelihood(CONTEXT, state, NORTH, seen[0]) == -math.inf


# ------------------------------------------------------------------------------------------------------ dead reckoning


def reckoned(task, state, action, observation, context=CONTEXT):
    state = state.copy()
    task.reckon(context, state, action, np.array(observation))
    return state


def test_dead_reckoning_knows_the_action_and_what_was_seen_and_nothing_else(task):
    context = np.array([7.0, 20.0, -25.0, 0.0, *FAR[2:]])
    for place in ((-25.0, 1.0), (20.0, 20.0)):
        state = reckoned(task, at(*place), EAST, [0.0, 0.0, 0.0], context)
        assert state[GUESS_X:].tolist() == [-24.0, 10.0, -24.0, -10.0, TORN, 1.0]
        state = reckoned(task, state, EAST, [1.0, -24.3, 0.4], context)
        assert state[GUESS_X:OTHER_X].tolist() == [-24.3, 0.4]
        assert state[TRUST] == SURE


def test_who_misses_a_beacon_started_elsewhere_and_who_misses_the_goal_is_lost(task):
    context = np.array([7.0, 20.0, -25.0, 0.0, *FAR[2:]])
    state = reckoned(task, at(0.0, 0.0, guess=(-25.0, -2.0), other=(-25.0, 18.0)), NORTH, np.zeros(3), context)
    assert state[GUESS_X : TRUST + 1].tolist() == [-25.0, 19.0, -25.0, -1.0, TORN]
    state = reckoned(task, at(0.0, 0.0, guess=(7.0, 18.5), trust=SURE), NORTH, np.zeros(3), context)
    assert state[TRUST] == LOST


def test_particles_take_over_what_was_seen(task):
    context = np.array([7.0, 20.0, -25.0, 0.0, *FAR[2:]])
    state, seen = at(-25.0, -1.0), np.array([1.0, -24.9, 0.2])
    task.condition(context, state, NORTH, new_stream(0), seen, np.zeros(3))
    assert state[GUESS_X:OTHER_X].tolist() == [-24.9, 0.2]


def test_the_guide_keeps_out_of_the_corridor_between_dangers(task):
    macro_actions = task.macro_actions(12)
    sure = at(0.0, 0.0, guess=(-25.0, 10.0), trust=SURE)
    chosen = task.guide(CONTEXT, sure, macro_actions.actions, macro_actions.lengths)
    assert macro_actions.actions[chosen, 0, 1] < -0.5  # southwards, though the goal is in the north east
    ahead = at(0.0, 0.0, guess=(7.0, 5.0), trust=SURE)
    chosen = task.guide(CONTEXT, ahead, macro_actions.actions, macro_actions.lengths)
    assert macro_actions.actions[chosen, 0].tolist() == pytest.approx([0.0, 1.0], abs=1e-12)
    assert macro_actions.lengths[chosen] == 12


# ---------------------------------------------------------------------------------------------------------------- ways


def shortest_ways(goal, spacing=0.5):
    """Distances from the goal on a fine grid, in sixteen directions: at most 3 % longer than the shortest ways."""
    side = np.arange(-29.0, 29.0 + spacing, spacing)
    x, y = np.meshgrid(side, side, indexing="ij")
    free = np.ones(x.shape, bool)
    for left, bottom, right, top in WALLS + DANGERS:
        free &= np.maximum(np.maximum(left - x, x - right), np.maximum(bottom - y, y - top)) > 0.7
    number = np.arange(x.size).reshape(x.shape)
    ends, begins, lengths = [], [], []
    for dx, dy in itertools.product(range(-2, 3), repeat=2):
        if math.gcd(dx, dy) == 1:
            a = (slice(max(0, -dx), x.shape[0] - max(0, dx)), slice(max(0, -dy), x.shape[1] - max(0, dy)))
            b = (slice(max(0, dx), x.shape[0] + min(0, dx)), slice(max(0, dy), x.shape[1] + min(0, dy)))
            both = free[a] & free[b]
            begins.append(number[a][both])
            ends.append(number[b][both])
            lengths.append(np.full(both.sum(), spacing * math.hypot(dx, dy)))
    graph = sparse.coo_matrix((np.concatenate(lengths), (np.concatenate(begins), np.concatenate(ends))), (x.size,) * 2)
    nearest = int(np.argmin(np.where(free, np.hypot(x - goal[0], y - goal[1]), np.inf)))
    return side, free, sparse.csgraph.dijkstra(graph.tocsr(), indices=nearest).reshape(x.shape)


@pytest.mark.parametrize("goal", [(7.0, -27.0), (27.0, 15.0), (15.0, 0.0)])
def test_ways_lead_around_walls_and_danger(task, goal):
    side, free, ways = shortest_ways(goal)
    context, rng = np.array([*goal, *FAR]), np.random.default_rng(0)
    for i, j in rng.integers(len(side), size=(300, 2)):
        if free[i, j]:
            way = task.way(context, at(side[i], side[j]))
            assert 0.95 * ways[i, j] - 1.0 <= way <= ways[i, j] + 0.5


def test_the_bound_is_a_reward_put_off_by_the_way(task):
    state = at(7.0, 0.0)  # the goal is 20 m ahead
    moves = 18.5 / 1.05
    expected = 100.0 * 0.99 ** (moves - 1.0) - 0.2 * (1.0 - 0.99 ** (moves - 1.0)) / 0.01
    assert task.upper_bound(CONTEXT, state) == pytest.approx(expected)
    late = at(7.0, 0.0, 145.0)
    assert task.upper_bound(CONTEXT, late) == pytest.approx(-100.0 * 0.99**4 - 0.2 * (1.0 - 0.99**4) / 0.01)


def test_returns_are_also_told_without_the_cost_of_running_late(task):
    def told(steps, outcome):
        return task.statistics(CONTEXT, at(7.0, 0.0, steps, outcome)[None])["return_but_for_running_late"]

    assert told(51.0, Outcome.SUCCESS) == pytest.approx(90.0)
    assert told(51.0, Outcome.FAILURE) == pytest.approx(-110.0)
    assert told(150.0, Outcome.FAILURE) == pytest.approx(-30.0)


def test_handcrafted_macro_actions_are_straight_lines_and_learning_sets_out_from_them(task):
    macro_actions, space = task.macro_actions(8), task.macro_space(8)
    assert macro_actions.lengths.tolist() == [8] * 8
    np.testing.assert_allclose(macro_actions.actions[2], np.tile(NORTH, (8, 1)), atol=1e-12)
    np.testing.assert_allclose(space.decode(space.start).actions, macro_actions.actions, atol=1e-12)


@pytest.mark.parametrize(
    "parameters", [{"speed": 0.0}, {"motion_noise": -1.0}, {"discount": 1.0}, {"beacon_range": 0.0}]
)
def test_impossible_parameters_are_refused(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        make("navigation", **parameters)
