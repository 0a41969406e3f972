"""The examples are right, and planning in them beats going straight ahead."""

from pathlib import Path

import numpy as np
import pytest

import magic_pomdp as mp

EXAMPLES = Path(__file__).parents[1] / "examples"
EPISODES = 8


@pytest.fixture(autouse=True)
def _examples_are_importable(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))


class Fixed:
    """Not a planner at all: it carries out the same sequence of actions, whatever it believes."""

    def __init__(self, *sequence):
        self.sequence = np.array(sequence, dtype=np.float64)

    def plan(self, belief, context, *, seed=0):
        numbers = dict.fromkeys(("choice", "trials", "nodes", "depth", "steps"), 0)
        floats = dict.fromkeys(("value", "lower", "upper", "seconds"), 0.0)
        return mp.Plan(macro_action=self.sequence, stopped_by="", **numbers, **floats)


EAST = 1.0
STRAIGHT_AHEAD = {
    "rock_sample:RockSample": Fixed(*[[EAST]] * 5),
    "harbour:Harbour": Fixed(*[[1.0, 0.0]] * 10, [0.0, 0.0]),
}


def mean_return(task, planner):
    return np.mean([mp.run_episode(task, planner, seed=0, episode=episode).total_return for episode in range(EPISODES)])


def test_every_example_is_tested():
    tasks = {place.split(":")[0] for place in STRAIGHT_AHEAD}
    others = {
        "own_robot",  # see below
        "random_shooter",  # see test_own_planner.py
        "recurrent_ppo",  # not run: nothing else needs its libraries, and it takes minutes
    }
    assert {path.stem for path in EXAMPLES.glob("*.py")} == tasks | others


def test_a_robot_of_ones_own_runs_to_the_end(monkeypatch, capsys):
    import own_robot

    monkeypatch.setattr(own_robot, "STEP", 0.02)
    monkeypatch.setattr(own_robot, "DELAY", 0.005)
    outcome, latency = own_robot.main(seconds=0.1)
    assert outcome != mp.Outcome.RUNNING
    assert latency.count > 5
    assert 0.0 < latency.p50 <= latency.p99
    assert "From image to action" in capsys.readouterr().out


@pytest.mark.parametrize("place", STRAIGHT_AHEAD)
def test_example_is_right(place):
    assert mp.testing.check_task(mp.make(place)) == []


@pytest.mark.slow
@pytest.mark.parametrize("place", STRAIGHT_AHEAD)
def test_planning_beats_going_straight_ahead(place):
    task = mp.make(place)
    planner = mp.MacroDespot(task, budget=mp.Budget(steps=200_000))
    assert mean_return(task, planner) > mean_return(task, STRAIGHT_AHEAD[place]) + 5.0


@pytest.mark.jit_off
@pytest.mark.parametrize("place", STRAIGHT_AHEAD)
def test_example_runs_without_compiling(place):
    task = mp.make(place)
    settings = mp.planners.MacroDespotSettings.advised(task, scenarios=2, search_depth=4)
    planner = mp.MacroDespot(task, settings=settings, budget=mp.Budget(steps=50))
    assert mp.run_episode(task, planner).steps >= 1
