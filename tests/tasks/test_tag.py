"""Tag and LaserTag: rules, tables and beams."""

import math
from collections import Counter

import numpy as np
import pytest

from magic_pomdp import Belief, Budget, Outcome, make, run_episode
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.planners import DespotSettings, find_planner
from magic_pomdp.tasks.chase import EAST, NORTH, OPPONENT, ROBOT, SOUTH, TAG, WEST
from magic_pomdp.tasks.laser_tag import BEAMS, TOGETHER

NOTHING = np.zeros(0)


def step(task, robot, opponent, action, seed=0, context=NOTHING):
    state, observation = np.array([robot, opponent, Outcome.RUNNING], float), np.full(task.observation_size, np.nan)
    reward, outcome = task.step(context, state, np.array([float(action)]), new_stream(seed), observation)
    return state, reward, outcome, observation


@pytest.mark.jit_off
def test_tag_has_29_squares():
    """Two rows of ten, and above the sixth to the eighth three more."""
    task = make("tag")
    assert task.free[0].tolist() == [*range(20), 25, 26, 27, 35, 36, 37, 45, 46, 47]
    assert task.ways[0, 15].tolist() == [25, 16, 5, 14, 15]
    assert task.ways[0, 10].tolist() == [10, 11, 0, 10, 10]  # walls above and to the left


@pytest.mark.jit_off
def test_who_tags_whom():
    task = make("tag")
    assert step(task, 7, 7, TAG)[1:3] == (10.0, Outcome.SUCCESS)
    assert step(task, 7, 8, TAG)[1:3] == (-10.0, Outcome.RUNNING)
    state, reward, outcome, seen = step(task, 7, 19, EAST)
    assert (state[ROBOT], reward, outcome, seen[0]) == (8, -1.0, Outcome.RUNNING, 8)
    assert step(task, 8, 9, EAST, seed=3)[3][0] == (TOGETHER if step(task, 8, 9, EAST, seed=3)[0][OPPONENT] == 9 else 9)


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("robot", "opponent", "shares"),
    [
        (0, 16, {16: 0.2, 17: 0.4, 26: 0.4}),  # away to the east and to the north
        (6, 16, {16: 0.2, 17: 0.2, 15: 0.2, 26: 0.4}),  # in the same column
        (11, 14, {14: 0.2 + 0.2, 15: 0.4, 4: 0.2}),  # in the same row, a wall above
        (0, 19, {19: 1.0}),  # in a corner
    ],
)
def test_the_opponent_runs_away(robot, opponent, shares):
    task, count = make("tag"), 3000
    seen = Counter(int(step(task, robot, opponent, WEST, seed)[0][OPPONENT]) for seed in range(count))
    assert seen.keys() == shares.keys()
    for square, share in shares.items():
        assert seen[square] / count == pytest.approx(share, abs=0.04)


@pytest.mark.jit_off
def test_the_bound_is_what_is_earned_by_who_sees_the_opponent():
    """It solves Bellman's equation, with chances counted from steps in place of the table's own."""
    task, rng = make("tag"), np.random.default_rng(0)
    assert task.upper_bound(NOTHING, np.array([3.0, 3.0, Outcome.RUNNING])) == 10.0
    for _ in range(5):
        robot, opponent = rng.choice(task.free[0], 2, replace=False)
        worth = []
        for action in (NORTH, EAST, SOUTH, WEST):
            states = [step(task, robot, opponent, action, seed)[0] for seed in range(1500)]
            worth.append(-1.0 + 0.95 * np.mean([task.upper_bound(NOTHING, state) for state in states]))
        assert task.upper_bound(NOTHING, np.array([robot, opponent, Outcome.RUNNING])) == pytest.approx(
            max(worth), abs=0.25
        )


@pytest.mark.jit_off
def test_beams_reach_walls_obstacles_and_the_opponent():
    task = make("laser-tag", noise=1e-9)
    for layout in range(3):
        free, context = set(task.free[layout].astype(int).tolist()), np.array([float(layout), 0.0])
        for robot, opponent in zip(sorted(free)[3:60:5], sorted(free)[50:3:-5], strict=False):
            if robot == opponent:
                continue
            state = np.array([robot, opponent, Outcome.RUNNING], dtype=float)
            met, at = task.beam(state)
            for beam, (dx, dy) in enumerate(BEAMS):
                steps = 1
                while True:
                    x, y = robot % 11 + steps * dx, robot // 11 + steps * dy
                    if not (0 <= x < 11 and 0 <= y < 7) or 11 * y + x not in free or 11 * y + x == opponent:
                        break
                    steps += 1
                assert task.steps_of(context, state, beam, met, at) == steps


@pytest.mark.jit_off
def test_readings_are_whole_units_too_short():
    task, context = make("laser-tag"), np.zeros(2)
    robot = int(task.free[0, 30])
    opponent = int(task.free[0, 60])
    rows = []
    for seed in range(1500):
        state, _, _, seen = step(task, robot, opponent, TAG, seed, context)
        if state[OPPONENT] == opponent:
            rows.append(seen)
    met, at = task.beam(np.array([robot, opponent, 0.0]))
    readings = np.array(rows)
    for beam in range(len(BEAMS)):
        steps = task.steps_of(context, np.array([robot, opponent, 0.0]), beam, met, at)
        table = np.exp(task.logarithms[0 if beam < 4 else 1, steps])
        assert table.sum() == pytest.approx(1.0)
        for reading in range(math.ceil(steps * (1.0 if beam < 4 else math.sqrt(2.0)))):
            assert np.mean(readings[:, beam] == reading) == pytest.approx(table[reading], abs=0.08)
    together = step(task, robot, robot, WEST, 0, context)
    assert (together[3] == TOGETHER).all() == (together[0][ROBOT] == together[0][OPPONENT])


def test_the_laser_tells_where_the_opponent_is():
    """After four steps his square is a few times as likely as before: one in 69."""
    task, shares, action = make("laser-tag"), [], np.array([float(NORTH)])
    for episode in range(20):
        context, truth, observation, random = np.zeros(2), np.zeros(3), np.zeros(8), new_stream(1, episode)
        task.draw_context(random, context)
        task.draw_state(context, random, truth)
        belief = Belief.initial(task, context, 3000, seed=episode)
        for _ in range(4):
            task.step(context, truth, action, random, observation)
            belief.update(action, observation)
        assert belief.ignored == 0
        shares.append(np.mean(belief.particles[:, OPPONENT] == truth[OPPONENT]))
    assert np.mean(shares) > 3.0 / 69.0


@pytest.mark.parametrize(("name", "least"), [("tag", -14.0), ("laser-tag", -16.0)])
def test_despot_finds_the_opponent(name, least):
    """Who never does earns −20."""
    task = make(name)
    settings = DespotSettings.advised(task, scenarios=100)
    planner = find_planner("despot").build(task, settings, Budget(steps=50_000))
    returns = [run_episode(task, planner, seed=0, episode=episode).result.discounted_return for episode in range(5)]
    assert np.mean(returns) > least
