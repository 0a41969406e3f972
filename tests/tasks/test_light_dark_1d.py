import numpy as np
import pytest

from magic_pomdp import Budget, Outcome, make, run_episode
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.planners import Pomcpow

NOTHING = np.zeros(0)


def step(task, position, action, seed=0):
    state, observation = np.array([position, Outcome.RUNNING], dtype=float), np.full(1, np.nan)
    reward, outcome = task.step(NOTHING, state, np.array([float(action)]), new_stream(seed), observation)
    return state[0], reward, outcome, observation[0]


@pytest.mark.jit_off
def test_moves_and_stops():
    task = make("light-dark-1d")
    assert step(task, 3, 10)[:3] == (13, -1.0, Outcome.RUNNING)
    assert step(task, -55, -10)[:3] == (-60, -1.0, Outcome.RUNNING)
    assert step(task, 0, 0)[1:3] == (100.0, Outcome.SUCCESS)
    assert step(task, 1, 0)[1:3] == (-100.0, Outcome.FAILURE)


@pytest.mark.jit_off
def test_what_is_seen_is_as_noisy_as_it_is_far_from_the_light():
    task = make("light-dark-1d")
    assert step(task, 9, 1)[3] == pytest.approx(10.0, abs=1e-3)
    seen = [step(task, -11, 1, seed)[3] for seed in range(2000)]
    assert np.std(seen) == pytest.approx(20.0, rel=0.06)
    assert np.mean(seen) == pytest.approx(-10.0, abs=1.5)


@pytest.mark.jit_off
def test_the_bound_is_the_shortest_way_home():
    task = make("light-dark-1d")
    for position, moves in ((0, 0), (1, 1), (10, 1), (-9, 2), (12, 3), (15, 6), (-30, 3), (35, 8)):
        value = 100.0 * 0.95**moves - (1.0 - 0.95**moves) / 0.05
        assert task.upper_bound(NOTHING, np.array([position, Outcome.RUNNING], dtype=float)) == pytest.approx(value)
        action = np.zeros(1)
        for left in range(moves, 0, -1):
            task.rollout_action(NOTHING, np.array([position, 0.0]), task.actions(), new_stream(0), action)
            position += int(action[0])
            assert left > 0
        assert position == 0


def test_pomcpow_goes_to_the_light_first():
    task = make("light-dark-1d")
    planner = Pomcpow(task, budget=Budget(steps=50_000))
    records = [run_episode(task, planner, seed=0, episode=episode) for episode in range(8)]
    assert sum(record.outcome == "success" for record in records) >= 7
    assert np.mean([record.result.discounted_return for record in records]) > 40.0


def test_what_makes_no_sense_is_refused():
    for wrong in ({"start": 70}, {"edge": 5}, {"least_noise": 0.0}, {"discount": 1.0}, {"goal_reward": -1.0}):
        with pytest.raises(ValueError, match="LightDark1D's"):
            make("light-dark-1d", **wrong)
