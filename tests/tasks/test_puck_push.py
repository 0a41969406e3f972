"""Puck-Push's rules against closed forms and statistics."""

import math

import numpy as np
import pytest
from numba import njit
from scipy import stats

from magic_pomdp import Belief, Outcome, make
from magic_pomdp.core.randomness import new_stream, seek, stream_key
from magic_pomdp.core.task import Task
from magic_pomdp.core.views import borrow
from magic_pomdp.tasks.puck_push import BOT_X, BOT_Y, PUCK_X, PUCK_Y, PuckPush

CONTEXT = np.array([1000.0, 300.0])
EAST, NORTH = np.array([1.0, 0.0]), np.array([0.0, 1.0])
QUIET = {"speed_noise": 0.0, "heading_noise": 0.0, "creep_noise": 0.0, "gap_noise": 0.0}


def step(task, bot, puck, action=EAST, steps=0.0, seed=0, context=CONTEXT):
    state, observation = np.array([*bot, *puck, steps, Outcome.RUNNING], dtype=float), np.full(5, np.nan)
    reward, outcome = task.step(context, state, action, new_stream(seed), observation)
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


def sample(task, bot, puck, action=EAST, count=4000):
    states, observations = np.empty((count, 6)), np.empty((count, 5))
    start = np.array([*bot, *puck, 0.0, Outcome.RUNNING])
    sample_steps(task, CONTEXT, start, action, stream_key(1), np.empty(1, np.uint64), states, observations)
    return states, observations


@pytest.mark.jit_off
def test_a_free_drive_leaves_the_puck_alone():
    state, reward, outcome, _ = step(make("puck-push", **QUIET), (300, 300), (300, 400))
    np.testing.assert_allclose(state[:4], [400.0, 300.0, 300.0, 400.0])
    assert (reward, outcome, state[4]) == (-0.1, Outcome.RUNNING, 1.0)


@pytest.mark.jit_off
def test_a_head_on_push_keeps_the_puck_in_front():
    state, _, _, _ = step(make("puck-push", **QUIET), (300, 300), (400, 300))
    np.testing.assert_allclose(state[:4], [400.0, 300.0, 400.0 + 1.001 * 54.0, 300.0])


@pytest.mark.jit_off
@pytest.mark.parametrize("offset", [1.0, 10.0, -20.0, 30.0])
def test_a_push_off_the_middle_creeps_around_the_robot(offset):
    state, _, _, _ = step(make("puck-push", **QUIET), (300, 300), (400, 300 + offset))
    driven = 100.0 - math.sqrt(54.0**2 - offset**2)
    begin = math.asin(offset / 54.0)
    pushed = min(100.0 - driven, math.log(math.pi / 2 / abs(begin)) / 0.01)
    angle = begin * math.exp(0.01 * pushed)
    expected = [
        300.0 + driven + pushed + 1.001 * 54.0 * math.cos(angle),
        300.0 + 1.001 * 54.0 * math.sin(angle),
    ]
    np.testing.assert_allclose(state[2:4], expected, atol=1e-9)


@pytest.mark.jit_off
def test_a_grazed_puck_is_lost_at_the_robots_side():
    state, _, _, _ = step(make("puck-push", **QUIET), (300, 300), (360, 300 + 50.0))
    assert state[3] - 300.0 == pytest.approx(1.001 * 54.0)  # at ninety degrees
    assert state[2] < 400.0  # left behind before the drive ended


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("bot", "puck", "reward", "outcome"),
    [
        ((1111.9, 300), (600, 300), -0.1, Outcome.RUNNING),
        ((1112.0, 300), (600, 300), -100.0, Outcome.FAILURE),  # the robot may not touch the wall
        ((1130.0, 300), (1200, 300), -100.0, Outcome.FAILURE),  # pushed over the edge
        ((850.0, 300), (920, 300), 100.0, Outcome.SUCCESS),
    ],
)
def test_ends(bot, puck, reward, outcome):
    assert step(make("puck-push", **QUIET), bot, puck)[1:3] == (reward, outcome)


@pytest.mark.jit_off
def test_the_whole_puck_must_be_in_the_goal():
    task = make("puck-push", **QUIET)
    end = 400.0 + 1.001 * 54.0
    for distance, outcome in ((64.0, Outcome.SUCCESS), (64.001, Outcome.RUNNING)):
        assert step(task, (300, 300), (400, 300), context=np.array([end + distance, 300.0]))[2] == outcome
    assert step(task, (300, 300), (300, 400), steps=99.0)[1:3] == (-100.0, Outcome.FAILURE)


def test_motion_noise_has_the_given_spread():
    states, _ = sample(make("puck-push"), (300, 300), (300, 500))
    forward, sideways = states[:, 0] - 300.0, states[:, 1] - 300.0
    length = np.hypot(forward, sideways)
    assert stats.kstest((length - 100.0) / 5.0, "norm").pvalue > 1e-4
    assert stats.kstest(np.arctan2(sideways, forward) / 0.05, "norm").pvalue > 1e-4


def test_the_gap_is_half_normal():
    quiet = {**QUIET, "gap_noise": 0.03}
    states, _ = sample(make("puck-push", **quiet), (300, 300), (400, 300))
    gaps = (states[:, 2] - 400.0) / 54.0 - 1.001
    assert stats.kstest(gaps / 0.03, "halfnorm").pvalue > 1e-4


@pytest.mark.parametrize(
    ("x", "hidden"), [(573.9, False), (574, True), (716, True), (745, False), (774, True), (917, False)]
)
def test_strips_hide_the_puck_and_flicker_does_elsewhere(x, hidden):
    _, observations = sample(make("puck-push", **QUIET), (300, 200), (x, 300))
    seen = observations[:, 2]
    assert seen.mean() == 0.0 if hidden else abs(seen.mean() - 0.9) < 5 * 0.3 / math.sqrt(len(seen))
    if not hidden:
        assert stats.kstest((observations[seen == 1, 3] - x) / 5.0, "norm").pvalue > 1e-4
    assert stats.kstest((observations[:, 1] - 200.0) / 3.0, "norm").pvalue > 1e-4


@pytest.mark.jit_off
def test_likelihood_is_the_density_of_what_is_seen():
    task, state = make("puck-push"), np.array([300.0, 299.0, 450.0, 299.0, 1.0, 0.0])
    bot = stats.norm.logpdf([2.0, -1.0], 0.0, 3.0).sum()
    puck = stats.norm.logpdf([4.0, 3.0], 0.0, 5.0).sum()
    seen, unseen = np.array([302.0, 298.0, 1.0, 454.0, 302.0]), np.array([302.0, 298.0, 0.0, 0.0, 0.0])
    assert task.log_likelihood(CONTEXT, state, EAST, seen) == pytest.approx(bot + puck + math.log(0.9))
    assert task.log_likelihood(CONTEXT, state, EAST, unseen) == pytest.approx(bot + math.log(0.1))
    state[2] = 600.0
    assert task.log_likelihood(CONTEXT, state, EAST, seen) == -math.inf
    assert task.log_likelihood(CONTEXT, state, EAST, unseen) == pytest.approx(bot)


@pytest.mark.jit_off
def test_who_does_not_see_the_puck_shares_a_branch():
    key = make("puck-push").observation_key
    seen, near, far = ([310.0, 310.0, 1.0, x, 310.0] for x in (410.0, 420.0, 435.0))
    assert key(seen) == key(near) != key(far)
    assert key(seen) != key([340.0, 310.0, 1.0, 410.0, 310.0])  # another place of the robot
    blind = key([310.0, 310.0, 0.0, 0.0, 0.0])
    assert blind == key([900.0, 100.0, 0.0, 0.0, 0.0]) != key(seen)


@pytest.mark.jit_off
def test_beyond_a_search_a_puck_at_a_wall_is_worth_less():
    task = make("puck-push")
    for room, share in ((240.0, 0.5), (50.0, 0.125), (0.0, 0.0)):
        for y in (56.0 + room, 542.0 - room):
            state = np.array([300.0, 299.0, 600.0, y, 10.0, Outcome.RUNNING])
            assert task.value_beyond(CONTEXT, state) == pytest.approx(share * task.upper_bound(CONTEXT, state))
    assert task.value_beyond(CONTEXT, np.array([300.0, 299.0, 600.0, 300.0, 99.0, Outcome.RUNNING])) == 0.0  # too late
    assert task.value_beyond(CONTEXT, np.array([300.0, 299.0, 600.0, 300.0, 10.0, Outcome.FAILURE])) == 0.0


@pytest.mark.jit_off
def test_the_start_and_the_goal():
    task = make("puck-push")
    states, contexts = np.empty((500, 6)), np.empty((500, 2))
    for i in range(500):
        task.draw_context(new_stream(i), contexts[i])
        task.draw_state(contexts[i], new_stream(i), states[i])
    for column, mean in enumerate((300.0, 299.0, 450.0, 299.0)):
        assert stats.kstest((states[:, column] - mean) / 4.0, "norm").pvalue > 1e-4
    assert stats.kstest((contexts[:, 0] - 980.0) / 187.0, "uniform").pvalue > 1e-4
    assert stats.kstest((contexts[:, 1] - 125.0) / 350.0, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("parameters", [{"speed": 0.0}, {"flicker": 1.0}, {"goal_radius": 10.0}, {"gap_noise": -1.0}])
def test_impossible_parameters_are_refused(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        make("puck-push", **parameters)


@pytest.mark.parametrize("seen", [(1.0, 560.0, 301.0), (0.0, 0.0, 0.0)])
def test_conditioning_agrees_with_weighing_blind_steps(seen):
    """Both are samples of the same distribution, so their mean weights and weighted mean states are equal."""
    task, count = make("puck-push"), 20_000
    before = np.array([400.0, 300.0, 470.0, 304.0, 3.0, 0.0])
    context, action = np.array([1000.0, 299.0]), np.array([1.0, 0.0])
    observation = np.array([505.0, 296.0, *seen])
    found = []
    for condition in (Task.condition, PuckPush.condition):
        states, weights = np.tile(before, (count, 1)), np.empty(count)
        for i in range(count):
            weights[i] = np.exp(
                condition(task, context, states[i], action, new_stream(4, i), observation, np.zeros(5))[0]
            )
        mean, spread = weights.mean(), weights.std() / np.sqrt(count)
        found.append((mean, spread, (weights[:, None] * states[:, :4]).sum(0) / weights.sum()))
        effective = weights.sum() ** 2 / (weights**2).sum()
    (blind, blind_error, blind_state), (mean, error, state) = found
    assert abs(mean - blind) < 4.0 * np.hypot(error, blind_error)
    np.testing.assert_allclose(state, blind_state, atol=0.3)
    assert effective > 0.3 * count


def test_a_belief_that_reckons_with_hands_finds_back_what_was_moved():
    elsewhere = np.array([350.0, 420.0, 1.0, 460.0, 150.0])  # robot and puck, both over 100 mm off
    for probability, finds_back in ((1e-9, True), (0.0, False)):
        task = make("puck-push", moved_by_hand=probability)
        belief = Belief.initial(task, CONTEXT, 2000, seed=1)
        belief.update(EAST, elsewhere)
        off = np.abs(belief.particles[:, [BOT_X, BOT_Y, PUCK_X, PUCK_Y]].mean(axis=0) - elsewhere[[0, 1, 3, 4]])
        assert bool((off < 5.0).all()) is finds_back
