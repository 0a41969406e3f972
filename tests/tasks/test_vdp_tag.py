"""VDP-Tag's rules against closed forms, scipy's integrator and statistics."""

import math

import numpy as np
import pytest
from numba import njit
from scipy import stats
from scipy.integrate import solve_ivp

from magic_pomdp import Belief, Budget, MacroDespot, Outcome, make, run_episode
from magic_pomdp.core.randomness import new_stream, seek, stream_key
from magic_pomdp.core.views import borrow

NOTHING = np.zeros(0)
FAR = (3.9, 3.9)


def heading(angle, look=False):
    return np.array([math.cos(angle), math.sin(angle), float(look)])


def step(task, agent, target, action, seed=0):
    state, observation = np.array([*agent, *target, Outcome.RUNNING], dtype=float), np.full(8, np.nan)
    reward, outcome = task.step(NOTHING, state, action, new_stream(seed), observation)
    return state, reward, outcome, observation


@njit
def sample_steps(task, context, start, action, key, random, states, observations):
    context, start, action, random = borrow(context), borrow(start), borrow(action), borrow(random)
    states, observations = borrow(states), borrow(observations)
    for i in range(len(states)):
        for j in range(len(start)):
            states[i, j] = start[j]
        seek(random, key, i)
        task.step(context, states[i], action, random, observations[i])


def sample(task, agent, target, action, count=4000):
    states, observations = np.empty((count, 5)), np.empty((count, 8))
    start = np.array([*agent, *target, Outcome.RUNNING], dtype=float)
    sample_steps(task, NOTHING, start, action, stream_key(1), np.empty(1, np.uint64), states, observations)
    return states, observations


# ------------------------------------------------------------------------------------------------------------ motion


@pytest.mark.jit_off
@pytest.mark.parametrize("start", [(1.0, 0.5), (-2.0, 0.0), (0.1, -1.3), (2.0, 2.0), (-0.5, 1.2)])
def test_the_target_follows_the_oscillator(start):
    def flow(_, position):
        x, y = position
        return [2.0 * (x - x**3 / 3.0 - y), x / 2.0]

    exact = solve_ivp(flow, (0.0, 0.5), start, rtol=1e-10, atol=1e-12).y[:, -1]
    task = make("vdp-tag", target_noise=0.0)
    np.testing.assert_allclose(task.drift(*start), exact, atol=5e-4)
    state, _, _, _ = step(task, (0, 0), start, heading(0.3))
    np.testing.assert_allclose(state[2:4], task.drift(*start), atol=1e-12)


@pytest.mark.jit_off
def test_the_integration_is_of_order_four():
    """A step of a tenth of the length has an error smaller by four to five powers of ten."""
    start = (1.3, -0.4)
    coarse = make("vdp-tag", duration=1.0).drift(*start)
    fine = start
    for _ in range(10):
        fine = make("vdp-tag", duration=0.1).drift(*fine)
    exact = solve_ivp(
        lambda _, p: [2.0 * (p[0] - p[0] ** 3 / 3.0 - p[1]), p[0] / 2.0], (0.0, 1.0), start, rtol=1e-12, atol=1e-14
    ).y[:, -1]
    assert np.abs(fine - exact).max() < 1e-3 * np.abs(coarse - exact).max()


@pytest.mark.jit_off
@pytest.mark.parametrize("angle", [0.3, 2.0, 3.5, 5.5])
def test_the_robot_moves_half_a_unit(angle):
    state, reward, outcome, _ = step(make("vdp-tag"), (1.0, 1.0), FAR, heading(angle))
    np.testing.assert_allclose(state[:2], [1.0 + 0.5 * math.cos(angle), 1.0 + 0.5 * math.sin(angle)])
    assert (reward, outcome) == (-1.0, Outcome.RUNNING)


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("agent", "angle", "end"),
    [
        ((1.0, 0.2), -math.pi / 2, (1.0, 0.0)),
        ((1.0, -0.2), math.pi / 2, (1.0, 0.0)),
        ((-0.2, 2.0), 0.0, (0.0, 2.0)),
        ((0.2, -2.0), math.pi, (0.0, -2.0)),
        ((0.1, 0.3), math.radians(225), (0.0, 0.2)),  # the wall on one axis is met before the gap on the other
        ((0.1, 0.1), math.pi, (-0.4, 0.1)),  # through the gap in the middle
        ((3.1, 0.2), -math.pi / 2, (3.1, -0.3)),  # past the barrier's end
        ((2.9, 0.2), -math.pi / 2, (2.9, 0.0)),
        ((0.0, 0.0), math.pi / 4, (0.5 * math.sqrt(0.5), 0.5 * math.sqrt(0.5))),
    ],
)
def test_barriers_stop_the_robot(agent, angle, end):
    state, _, _, _ = step(make("vdp-tag"), agent, FAR, heading(angle))
    np.testing.assert_allclose(state[:2], end, atol=1e-6)


@pytest.mark.jit_off
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_no_push_gets_through_a_barrier(side):
    task, agent = make("vdp-tag"), np.array([1.0, 0.2 * side])
    rng = np.random.default_rng(0)
    for _ in range(200):
        angle = -side * rng.uniform(0.1, math.pi - 0.1)
        agent = step(task, (1.0, agent[1]), FAR, heading(angle))[0][:2]
        assert agent[1] * side > 0.0
    free = step(task, agent, FAR, heading(side * math.pi / 2))[0]
    assert free[1] == pytest.approx(0.5 * side, abs=1e-6)


def test_the_target_is_moved_by_noise_of_the_given_spread():
    task = make("vdp-tag")
    states, _ = sample(task, (0, 0), (1.0, 0.5), heading(4.0))
    for column, expected in zip((2, 3), task.drift(1.0, 0.5), strict=True):
        assert stats.kstest((states[:, column] - expected) / 0.05, "norm").pvalue > 1e-4


# ---------------------------------------------------------------------------------------------------------- rewards


@pytest.mark.jit_off
@pytest.mark.parametrize("look", [False, True])
@pytest.mark.parametrize(("distance", "caught"), [(0.0999, True), (0.1001, False)])
def test_tag(distance, caught, look):
    task = make("vdp-tag", target_noise=0.0)
    goal = np.array(task.drift(1.5, 1.0))
    agent = goal - [0.5 + distance, 0.0]
    state, reward, outcome, _ = step(task, agent, (1.5, 1.0), heading(0.0, look))
    assert outcome == (Outcome.SUCCESS if caught else Outcome.RUNNING)
    assert reward == (100.0 if caught else -1.0) - 5.0 * look
    assert state[4] == outcome
    again, observation = state.copy(), np.zeros(8)
    assert task.step(NOTHING, again, heading(0.0), new_stream(0), observation) == (0.0, outcome) or not caught


@pytest.mark.jit_off
def test_the_upper_bound_counts_the_moves_to_the_targets_course():
    task = make("vdp-tag", target_noise=0.0)
    ahead = task.drift(1.0, 0.5)
    near = np.array([ahead[0] + 0.6, ahead[1], 1.0, 0.5, Outcome.RUNNING])
    assert task.upper_bound(NOTHING, near) == pytest.approx(100.0)
    far = np.array([ahead[0] + 0.61, ahead[1], 1.0, 0.5, Outcome.RUNNING])
    assert task.upper_bound(NOTHING, far) <= -1.0 + 0.95 * 100.0 + 1e-9
    assert task.upper_bound(NOTHING, np.array([0.0, 0.0, 0.0, 0.0, Outcome.SUCCESS])) == 0.0


# ------------------------------------------------------------------------------------------------------- observation


@pytest.mark.jit_off
@pytest.mark.parametrize("beam", range(8))
def test_beams_are_eighths_of_a_turn(beam):
    task = make("vdp-tag")
    for share in (0.001, 0.5, 0.999):
        bearing = (beam + share) * math.pi / 4
        target = 0.3 + math.cos(bearing), -0.2 + math.sin(bearing)
        assert task.beam(np.array([0.3, -0.2, *target, Outcome.RUNNING])) == beam


@pytest.mark.jit_off
def test_a_border_belongs_to_the_beam_that_ends_there():
    task = make("vdp-tag")
    for target, beam in (((1.0, 0.0), 7), ((0.0, 1.0), 1), ((-1.0, 0.0), 3), ((0.0, -1.0), 5)):
        assert task.beam(np.array([0.0, 0.0, *target, Outcome.RUNNING])) == beam


@pytest.mark.parametrize(("look", "noise"), [(False, 5.0), (True, 0.1)])
def test_one_beam_reads_the_distance_the_others_noise(look, noise):
    task = make("vdp-tag", target_noise=0.0)
    states, observations = sample(task, (1.0, 1.0), (-1.0, -2.0), heading(0.5, look))
    beam, distance = task.beam(states[0]), task.distance(states[0])
    for i in range(8):
        mean, spread = (distance, noise) if i == beam else (1.0, 5.0)
        assert stats.kstest((observations[:, i] - mean) / spread, "norm").pvalue > 1e-4


@pytest.mark.jit_off
@pytest.mark.parametrize(("look", "noise"), [(False, 5.0), (True, 0.1)])
def test_likelihood_ratios_are_those_of_the_densities(look, noise):
    task, rng = make("vdp-tag"), np.random.default_rng(1)
    states = np.column_stack([np.tile([0.2, -0.1], (20, 1)), rng.uniform(-3, 3, (20, 2)), np.zeros(20)])
    observation = rng.normal(1.0, 5.0, 8)
    exact = []
    for state in states:
        means, spreads = np.ones(8), np.full(8, 5.0)
        means[task.beam(state)], spreads[task.beam(state)] = task.distance(state), noise
        exact.append(stats.norm.logpdf(observation, means, spreads).sum())
    found = [task.log_likelihood(NOTHING, state, heading(1.0, look), observation) for state in states]
    np.testing.assert_allclose(np.diff(found), np.diff(exact), atol=1e-8)


# --------------------------------------------------------------------------------------------------- belief, planners


@pytest.mark.jit_off
def test_the_start():
    task, states = make("vdp-tag"), np.empty((500, 5))
    for i, state in enumerate(states):
        task.draw_state(NOTHING, new_stream(i), state)
    assert (states[:, [0, 1, 4]] == 0.0).all()
    for column in (2, 3):
        assert stats.kstest((states[:, column] + 4.0) / 8.0, "uniform").pvalue > 1e-4


def test_looks_find_the_target():
    """Ten thousand particles close in on the target and stay with it."""
    task = make("vdp-tag")
    state = np.array([0.0, 0.0, 2.0, 1.0, Outcome.RUNNING])
    belief = Belief.initial(task, NOTHING, seed=2)
    before = belief.error(state)
    for time in range(6):
        observation = np.zeros(8)
        task.step(NOTHING, state, heading(0.4 + 2.0 * time, True), new_stream(time), observation)
        belief.update(heading(0.4 + 2.0 * time, True), observation)
    assert len(belief.particles) == 10_000
    assert belief.error(state) < 0.3 < before
    assert belief.recoveries == belief.ignored == 0
    assert len(np.unique(belief.particles[:, 2])) > 5_000


@pytest.mark.jit_off
def test_macro_actions_look_at_their_end_or_not_at_all():
    macro_actions = make("vdp-tag").macro_actions(3)
    assert len(macro_actions) == 32
    assert (macro_actions.actions[:, :2, 2] == 0.0).all()
    assert sorted(macro_actions.actions[:, 2, 2]) == [0.0] * 16 + [1.0] * 16
    np.testing.assert_allclose(np.hypot(*macro_actions.actions[..., :2].T), 1.0)


def test_macro_despot_runs():
    task = make("vdp-tag", max_steps=4)
    assert run_episode(task, MacroDespot(task, budget=Budget(steps=20_000))).steps >= 1


@pytest.mark.jit_off
def test_rollouts_go_where_the_target_will_be():
    task, action = make("vdp-tag", target_noise=0.0), np.empty(3)
    goal = np.array(task.drift(1.5, 1.0))
    state = np.array([*(goal - [0.3, 0.4]), 1.5, 1.0, Outcome.RUNNING])
    task.rollout_action(NOTHING, state, task.actions(), new_stream(0), action)
    np.testing.assert_allclose(action, [0.6, 0.8, 0.0])
    assert step(task, state[:2], (1.5, 1.0), action)[2] == Outcome.SUCCESS


@pytest.mark.parametrize(
    "parameters", [{"mu": 0.0}, {"arena": 9.0}, {"target_noise": -1.0}, {"barrier_begin": 4.0}, {"look_reward": 1.0}]
)
def test_impossible_parameters_are_refused(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        make("vdp-tag", **parameters)
