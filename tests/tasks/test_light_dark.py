"""Light-Dark's rules against closed forms, and its draws against their distributions."""

import math

import numpy as np
import pytest
from scipy import stats

from magic_pomdp import Outcome, make
from magic_pomdp.core.randomness import new_stream

pytestmark = pytest.mark.jit_off

CONTEXT = np.array([3.0, 1.0, -2.0, 2.5, -3.0])  # goal (3, 1), light at −2, prior around (2.5, −3)
STOP = np.zeros(2)
EAST, NORTH = np.array([1.0, 0.0]), np.array([0.0, 1.0])


@pytest.fixture
def task():
    return make("light-dark")


def step(task, state, action, seed=0):
    state, observation = np.array(state, dtype=float), np.full(3, np.nan)
    reward, outcome = task.step(CONTEXT, state, action, new_stream(seed), observation)
    return state, reward, outcome, observation


def test_contexts_keep_start_goal_and_light_apart(task):
    contexts = np.empty((400, 5))
    for i, context in enumerate(contexts):
        task.draw_context(new_stream(i), context)
    goals, lights, starts = contexts[:, :2], contexts[:, 2], contexts[:, 3:]
    assert (np.abs(contexts) <= 4.0).all()
    assert (np.hypot(*(starts - goals).T) >= 4.0).all()
    assert (np.abs(starts[:, 0] - lights) >= 4.0).all()
    assert (np.abs(goals[:, 0] - lights) >= 4.0).all()
    assert goals[:, 1].min() < -3.5
    assert goals[:, 1].max() > 3.5


def test_the_start_is_normal_around_its_mean(task):
    states = np.empty((2000, 4))
    for i, state in enumerate(states):
        task.draw_state(CONTEXT, new_stream(i), state)
    for column, mean in ((0, 2.5), (1, -3.0)):
        assert stats.kstest(states[:, column] - mean, "norm").pvalue > 1e-4
    assert (states[:, 2:] == 0.0).all()


def test_a_move_is_exact_and_costs_a_tenth(task):
    heading = 0.7
    state, reward, outcome, observation = step(task, [1.0, 1.0, 3.0, 0.0], [math.cos(heading), math.sin(heading)])
    np.testing.assert_allclose(state, [1.0 + 0.5 * math.cos(heading), 1.0 + 0.5 * math.sin(heading), 4.0, 0.0])
    assert (reward, outcome) == (-0.1, Outcome.RUNNING)
    np.testing.assert_array_equal(observation, [0.0, 0.0, 0.0])


@pytest.mark.parametrize(("distance", "won"), [(0.0, True), (0.4999, True), (0.5, True), (0.5001, False), (5.0, False)])
def test_stopping_counts_within_the_goals_radius(task, distance, won):
    state, reward, outcome, _ = step(task, [3.0, 1.0 + distance, 10.0, 0.0], STOP)
    assert (reward, outcome) == ((100.0, Outcome.SUCCESS) if won else (-100.0, Outcome.FAILURE))
    assert state[3] == outcome


def test_the_sixtieth_move_fails_but_the_sixtieth_step_may_stop(task):
    assert step(task, [3.0, 1.0, 58.0, 0.0], EAST)[1:3] == (-0.1, Outcome.RUNNING)
    assert step(task, [3.0, 1.0, 59.0, 0.0], EAST)[1:3] == (-100.0, Outcome.FAILURE)
    assert step(task, [3.0, 1.0, 59.0, 0.0], STOP)[1:3] == (100.0, Outcome.SUCCESS)


@pytest.mark.parametrize(("x", "lit"), [(-1.75, True), (-2.25, True), (-2.0, True), (-1.7499, False), (-2.2501, False)])
def test_the_strip_of_light_includes_its_edges(x, lit):
    _, _, _, observation = step(make("light-dark", light_half_width=0.25), [x, 0.0, 0.0, 0.0], NORTH)
    assert observation[0] == float(lit)


def test_what_is_seen_is_the_position_with_noise(task):
    seen = np.array([step(task, [-2.0, 0.0, 0.0, 0.0], NORTH, seed)[3] for seed in range(2000)])
    for column, mean in ((1, -2.0), (2, 0.5)):
        assert stats.kstest((seen[:, column] - mean) / 0.1, "norm").pvalue > 1e-4


def test_likelihood_is_the_density_of_what_is_seen(task):
    state = np.array([-1.9, 0.3, 1.0, 0.0])
    seen = np.array([1.0, -1.85, 0.45])
    expected = stats.norm.logpdf(seen[1:], state[:2], 0.1).sum()
    assert task.log_likelihood(CONTEXT, state, NORTH, seen) == pytest.approx(expected)
    assert task.log_likelihood(CONTEXT, state, NORTH, np.zeros(3)) == -math.inf
    dark = np.array([0.0, 0.3, 1.0, 0.0])
    assert task.log_likelihood(CONTEXT, dark, NORTH, np.zeros(3)) == 0.0
    assert task.log_likelihood(CONTEXT, dark, NORTH, seen) == -math.inf


def test_keys_are_squares_of_half_a_unit(task):
    key = task.observation_key
    assert key(np.zeros(3)) == key(np.zeros(3))
    assert key(np.array([1.0, 0.1, 0.1])) == key(np.array([1.0, 0.49, 0.49]))
    squares = [(x, y) for x in np.arange(-5.0, 5.0, 0.5) for y in np.arange(-5.0, 5.0, 0.5)]
    assert len({key(np.array([1.0, x + 0.25, y + 0.25])) for x, y in squares} | {key(np.zeros(3))}) == 401


@pytest.mark.parametrize("distance", [0.0, 0.5, 0.50001, 1.0, 1.3, 5.5, 10.25])
def test_the_upper_bound_is_the_straight_way_and_a_stop(task, distance):
    moves = max(0, math.ceil((distance - 0.5) / 0.5 - 1e-9))
    expected = sum(-0.1 * 0.98**i for i in range(moves)) + 100.0 * 0.98**moves
    state = np.array([3.0 - distance, 1.0, 0.0, 0.0])
    assert task.upper_bound(CONTEXT, state) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("steps", [49, 50, 51, 58, 59])
def test_the_upper_bound_knows_when_it_is_too_late(task, steps):
    state = np.array([3.0 - 5.5, 1.0, steps, 0.0])  # ten moves from the goal
    bound, earned, fade, outcome = task.upper_bound(CONTEXT, state), 0.0, 1.0, Outcome.RUNNING
    while outcome == Outcome.RUNNING:
        at_goal = math.hypot(state[0] - 3.0, state[1] - 1.0) <= 0.5 + 1e-9
        state, reward, outcome, _ = step(task, state, STOP if at_goal else EAST)
        earned, fade = earned + fade * reward, fade * 0.98
    assert bound == pytest.approx(earned, abs=1e-9)
    assert outcome == (Outcome.SUCCESS if steps == 49 else Outcome.FAILURE)


def test_the_straight_way_is_never_better_than_the_bound(task):
    for distance in np.linspace(0.0, 12.0, 241):
        state = np.array([3.0 - distance, 1.0, 0.0, 0.0])
        bound, earned, fade = task.upper_bound(CONTEXT, state), 0.0, 1.0
        while math.hypot(state[0] - 3.0, state[1] - 1.0) > 0.5:
            state, reward, _, _ = step(task, state, EAST)
            earned, fade = earned + fade * reward, fade * 0.98
        assert earned + fade * step(task, state, STOP)[1] <= bound + 1e-9


def test_handcrafted_macro_actions_are_eight_lines_and_a_stop(task):
    macro_actions = task.macro_actions(6)
    assert macro_actions.lengths.tolist() == [6] * 8 + [1]
    np.testing.assert_allclose(macro_actions.actions[1, :6], np.full((6, 2), math.sqrt(0.5)))
    assert (macro_actions.actions[8, 0] == 0.0).all()


@pytest.mark.parametrize(
    "parameters", [{"speed": 0.0}, {"separation": 9.0}, {"max_steps": 0}, {"discount": 1.0}, {"arena": math.nan}]
)
def test_impossible_parameters_are_refused(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        make("light-dark", **parameters)
