"""The maze's rules on its map, and its draws against their distributions."""

import math

import numpy as np
import pytest
from scipy import stats

from magic_pomdp import Outcome, make
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.planners import MacroDespotSettings

pytestmark = pytest.mark.jit_off

NOTHING = np.zeros(0)
EAST, NORTH, WEST, SOUTH = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


@pytest.fixture(scope="module")
def task():
    return make("maze")


@pytest.fixture(scope="module")
def sure():
    return make("maze", slip=0.0)


def step(task, place, action, seed=0):
    state, observation = np.array([*place, Outcome.RUNNING], dtype=float), np.full(3, np.nan)
    reward, outcome = task.step(NOTHING, state, action, new_stream(seed), observation)
    return (float(state[0]), float(state[1])), reward, outcome, observation


def test_half_of_all_episodes_start_in_each_place(task):
    states = np.empty((1000, 3))
    for i, state in enumerate(states):
        task.draw_state(NOTHING, new_stream(i), state)
    above = (states == [21.5, 10.5, Outcome.RUNNING]).all(axis=1)
    assert (above | (states == [21.5, -11.5, Outcome.RUNNING]).all(axis=1)).all()
    assert stats.binomtest(int(above.sum()), len(states)).pvalue > 1e-4


@pytest.mark.parametrize("action", [EAST, NORTH, WEST, SOUTH])
def test_a_fifth_of_all_moves_slip_to_either_side(task, action):
    begin = np.array([2.0, 12.0])
    ends = np.array([step(task, begin, action, seed)[0] for seed in range(2000)])
    moves = (ends - begin) / 0.5
    left = np.array([-action[1], action[0]])
    counts = [int((moves == direction).all(axis=1).sum()) for direction in (action, left, -left)]
    assert sum(counts) == len(ends)
    assert stats.chisquare(counts, [1600, 200, 200]).pvalue > 1e-4


@pytest.mark.parametrize(
    ("place", "action"),
    [((21.5, 4.0), SOUTH), ((22.5, -11.5), EAST), ((15.0, -12.0), WEST), ((-22.5, 10.0), WEST)],
)
def test_walls_hold_the_robot_up(sure, place, action):
    for _ in range(3):
        place, reward, outcome, _ = step(sure, place, action)
        assert (reward, outcome) == (-0.1, Outcome.RUNNING)
    assert step(sure, place, action)[0] == place


def test_dangers_end_the_episode_by_a_touch(sure):
    above = step(sure, (6.0, -6.5), SOUTH)
    assert above[:3] == ((6.0, -7.0), -0.1, Outcome.RUNNING)
    touching = step(sure, (6.0, -7.0), SOUTH)  # its lower edge is at the upper one of the zone, −8
    assert touching[:3] == ((6.0, -7.5), -800.0, Outcome.FAILURE)


def test_the_goal_ends_the_episode_by_a_touch(sure):
    assert step(sure, (-14.0, 8.0), WEST)[1:3] == (800.0, Outcome.SUCCESS)
    assert step(sure, (-13.5, 8.0), WEST)[1:3] == (-0.1, Outcome.RUNNING)
    assert step(sure, (-14.5, 9.5), WEST)[1:3] == (-0.1, Outcome.RUNNING)  # only its corner is near


def test_an_ended_episode_stays_as_it_is(sure):
    state, observation = np.array([-14.5, 8.0, Outcome.SUCCESS]), np.full(3, np.nan)
    assert sure.step(NOTHING, state, EAST, new_stream(0), observation) == (0.0, Outcome.SUCCESS)
    assert state.tolist() == [-14.5, 8.0, Outcome.SUCCESS]


@pytest.mark.parametrize(("y", "seen"), [(12.5, False), (13.0, True), (14.5, True)])
def test_a_touch_of_a_landmark_shows_the_place(sure, y, seen):
    observation = step(sure, (22.0, y), NORTH)[3]
    assert observation[0] == float(seen)
    assert seen or (observation == 0.0).all()


def test_what_is_seen_is_the_place_with_noise(sure):
    seen = np.array([step(sure, (22.0, 14.5), NORTH, seed)[3] for seed in range(2000)])
    for column, mean in ((1, 22.0), (2, 15.0)):
        assert stats.kstest((seen[:, column] - mean) / 0.1, "norm").pvalue > 1e-4


def test_likelihood_is_the_density_of_what_is_seen(task):
    seen, on, off = np.array([1.0, 22.05, 14.9]), np.array([22.0, 15.0, 0.0]), np.array([22.0, 10.0, 0.0])
    expected = stats.norm.logpdf(seen[1:], on[:2], 0.1).sum()
    assert task.log_likelihood(NOTHING, on, NORTH, seen) == pytest.approx(expected)
    assert task.log_likelihood(NOTHING, on, NORTH, np.zeros(3)) == -math.inf
    assert task.log_likelihood(NOTHING, off, NORTH, np.zeros(3)) == 0.0
    assert task.log_likelihood(NOTHING, off, NORTH, seen) == -math.inf


@pytest.mark.parametrize(("start", "metres"), [((21.5, -11.5), 59.0), ((21.5, 10.5), 47.0)])
def test_the_bound_is_the_shortest_way_where_nothing_slips(sure, start, metres):
    moves = metres / 0.5
    expected = 800.0 * 0.99 ** (moves - 1.0) - 0.1 * (1.0 - 0.99 ** (moves - 1.0)) / 0.01
    assert sure.upper_bound(NOTHING, np.array([*start, 0.0])) == pytest.approx(expected, abs=0.2)


def test_slipping_costs_time(task, sure):
    state = np.array([21.5, 10.5, 0.0])
    assert 0.7 * sure.upper_bound(NOTHING, state) < task.upper_bound(NOTHING, state) < sure.upper_bound(NOTHING, state)


@pytest.mark.parametrize("place", [(21.5, 10.5), (0.0, 10.0), (-14.0, 9.0), (6.0, -7.0), (12.5, 4.0), (-22.0, 5.0)])
def test_the_bound_is_what_the_best_move_earns_on_average(task, sure, place):
    def after(action):
        end, reward, outcome, _ = step(sure, place, action)
        return reward + 0.99 * task.upper_bound(NOTHING, np.array([*end, outcome]))

    moves = [after(action) for action in (EAST, NORTH, WEST, SOUTH)]
    best = max(0.8 * moves[i] + 0.1 * (moves[i - 1] + moves[(i + 1) % 4]) for i in range(4))
    assert task.upper_bound(NOTHING, np.array([*place, Outcome.RUNNING])) == pytest.approx(best, abs=0.01)


def test_handcrafted_macro_actions_are_of_several_lengths(task):
    macro_actions = MacroDespotSettings.advised(task).handcrafted(task)
    assert macro_actions.lengths.tolist() == [length for length in (40, 16, 6, 3) for _ in range(4)]
    assert (macro_actions.actions[1, :40] == NORTH).all()


@pytest.mark.parametrize(
    "parameters", [{"slip": 1.5}, {"discount": 1.0}, {"key_cell": 0.0}, {"observation_noise": 0.0}]
)
def test_impossible_parameters_are_refused(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        make("maze", **parameters)
