import math
from collections import Counter

import numpy as np
import pytest

from magic_pomdp import Belief, Budget, Outcome, make, run_episode
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.planners import Pomcpow
from magic_pomdp.tasks.sub_hunt import EAST, ENGAGE, NORTH, PING, SOUTH, WEST

NOTHING = np.zeros(0)


def step(task, own, target, goal, action, aware=0.0, seed=0):
    state, observation = np.array([*own, *target, goal, aware, Outcome.RUNNING], dtype=float), np.full(8, np.nan)
    reward, outcome = task.step(NOTHING, state, np.array([float(action)]), new_stream(seed), observation)
    return state, reward, outcome, observation


@pytest.mark.jit_off
def test_both_begin_as_told():
    task, state = make("sub-hunt"), np.full(7, np.nan)
    starts = Counter()
    for seed in range(200):
        task.draw_state(NOTHING, new_stream(seed), state)
        assert state[:2].tolist() == [9, 9]
        assert task.to_go(state) == 19.0
        starts[int(state[4])] += 1
    assert min(starts.values()) > 25


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("goal", "ends"),
    [
        (NORTH, {(5, 7): 0.5, (4, 6): 0.25, (6, 6): 0.25}),
        (EAST, {(7, 5): 0.5, (6, 4): 0.25, (6, 6): 0.25}),
        (SOUTH, {(5, 3): 0.5, (4, 4): 0.25, (6, 4): 0.25}),
        (WEST, {(3, 5): 0.5, (4, 4): 0.25, (4, 6): 0.25}),
    ],
)
def test_the_target_goes_on(goal, ends):
    task = make("sub-hunt")
    seen = Counter(tuple(step(task, (9, 9), (5, 5), goal, PING, seed=seed)[0][2:4].astype(int)) for seed in range(800))
    assert seen.keys() == ends.keys()
    for place, share in ends.items():
        assert seen[place] / 800 == pytest.approx(share, abs=0.06)


@pytest.mark.jit_off
def test_moves_attacks_and_escapes():
    task = make("sub-hunt")
    assert step(task, (9, 9), (0, 0), NORTH, EAST)[0][:2].tolist() == [12, 9]
    assert step(task, (1, 9), (9, 0), NORTH, WEST)[0][:2].tolist() == [0, 9]
    assert step(task, (9, 9), (0, 5), NORTH, PING)[0][5] == 1.0
    assert step(task, (9, 9), (9, 11), NORTH, ENGAGE)[1:3] == (100.0, Outcome.SUCCESS)
    assert step(task, (9, 9), (9, 12), NORTH, ENGAGE)[1:3] == (0.0, Outcome.RUNNING)
    hits = np.mean([step(task, (9, 9), (9, 10), NORTH, ENGAGE, 1.0, seed)[1] for seed in range(600)])
    assert hits == pytest.approx(60.0, abs=8.0)
    assert step(task, (9, 9), (5, 18), NORTH, PING)[1:3] == (0.0, Outcome.FAILURE)


@pytest.mark.jit_off
def test_beams():
    task = make("sub-hunt")
    pinged = np.array([step(task, (9, 9), (15, 17), EAST, PING, seed=seed) for seed in range(1)], dtype=object)[0]
    bearing = math.atan2(pinged[0][3] - 9, pinged[0][2] - 9)
    assert np.argmin(pinged[3]) == int(bearing * 8 / (2 * math.pi))
    assert pinged[3].min() == pytest.approx(task.distance(pinged[0]), abs=2.0)
    assert np.delete(pinged[3], np.argmin(pinged[3])) == pytest.approx(20.0, abs=2.5)
    quiet = np.array([step(task, (0, 0), (15, 5), NORTH, WEST, seed=seed)[3] for seed in range(500)])
    assert quiet.mean() == pytest.approx(3.0, abs=0.3)
    assert quiet.std() == pytest.approx(5.0, rel=0.05)


@pytest.mark.jit_off
@pytest.mark.parametrize("goal", [NORTH, EAST, SOUTH, WEST])
def test_the_bound_is_what_is_earned_by_who_sees_the_target(goal):
    """Its own best action earns it, one step ahead."""
    task, rng = make("sub-hunt"), np.random.default_rng(goal)
    for aware in (0.0, 1.0):
        own, target = rng.integers(4, 16, 2), rng.integers(7, 13, 2)
        state, action = np.array([*own, *target, goal, aware, Outcome.RUNNING], dtype=float), np.zeros(1)
        task.rollout_action(NOTHING, state, task.actions(), new_stream(0), action)
        worth = []
        for seed in range(1500):
            after, reward, _, _ = step(task, own, target, goal, action[0], aware, seed)
            worth.append(reward + task.discount * task.upper_bound(NOTHING, after))
        assert task.upper_bound(NOTHING, state) == pytest.approx(np.mean(worth), abs=2.0)


def test_a_ping_shows_the_target():
    task, state = make("sub-hunt"), np.zeros(7)
    task.draw_state(NOTHING, new_stream(5), state)
    belief, observation = Belief.initial(task, NOTHING, 10_000, seed=1), np.zeros(8)
    task.step(NOTHING, state, np.array([float(PING)]), new_stream(6), observation)
    belief.update(np.array([float(PING)]), observation)
    assert belief.error(state) < 4.0


def test_pomcpow_hunts():
    task = make("sub-hunt")
    planner = Pomcpow(task, budget=Budget(steps=20_000))
    records = [run_episode(task, planner, seed=0, episode=episode) for episode in range(8)]
    assert np.mean([record.result.discounted_return for record in records]) > 30.0


def test_what_makes_no_sense_is_refused():
    for wrong in ({"size": 3}, {"aware_kill": 1.5}, {"ping_noise": 0.0}, {"kill_reward": -1.0}):
        with pytest.raises(ValueError, match="SubHunt's"):
            make("sub-hunt", **wrong)
