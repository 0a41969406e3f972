import math

import numpy as np
import pytest

from magic_pomdp import Budget, MacroDespot, Outcome, Task, evaluate, make
from magic_pomdp.core.grouping import CELL_WIDTH, observation_cells
from magic_pomdp.core.randomness import normal, uniform
from magic_pomdp.running import PlannerFactory
from magic_pomdp.tasks.light_dark import LightDark
from magic_pomdp.tasks.puck_push import PuckPush


class Gauges(Task):
    """Four gauges: noisy, exact but varying, a whole number, broken."""

    name = "gauges"
    state_size = 1
    action_size = 1
    observation_size = 4
    noise: float = 0.2

    def draw_state(self, context, random, state):
        state[0] = 10.0 * uniform(random)

    def step(self, context, state, action, random, observation):
        state[0] += action[0]
        observation[0] = state[0] + self.noise * normal(random)
        observation[1] = state[0]
        observation[2] = math.floor(state[0])
        observation[3] = 0.0
        return 0.0, Outcome.RUNNING

    def log_likelihood(self, context, state, action, observation):
        return 0.0

    def upper_bound(self, context, state):
        return 0.0

    def actions(self):
        return np.array([[-0.1], [0.1]])


class KeylessLightDark(LightDark):
    name = "keyless-light-dark"
    observation_key = Task.observation_key


class KeylessPuckPush(PuckPush):
    name = "keyless-puck-push"
    observation_key = Task.observation_key


def test_cells_follow_the_noise():
    cells = observation_cells(Gauges())
    assert cells[0] == pytest.approx(CELL_WIDTH * 0.2, rel=0.25)
    assert 0.2 < cells[1] < 5.0
    assert cells[2:].tolist() == [1.0, 1.0]
    assert observation_cells(Gauges(noise=0.4))[0] == pytest.approx(2.0 * cells[0], rel=1e-6)


def test_a_key_of_the_tasks_own_needs_no_cells():
    assert len(observation_cells(make("light-dark"))) == 0


def test_what_is_seen_now_and_then_is_measured_where_it_is_seen():
    cells = observation_cells(KeylessPuckPush())
    moved = math.hypot(5.0, 3.0)  # the robot's own noise, and that of its motion
    assert (cells[:2] > CELL_WIDTH * 3.0).all()
    assert (cells[:2] < CELL_WIDTH * 2.0 * moved).all()
    assert cells[2] == 1.0
    assert (cells[3:] > 0.5 * CELL_WIDTH * 5.0).all()
    assert (cells[3:] < 3.0 * CELL_WIDTH * 5.0).all()


@pytest.mark.jit_off
def test_keys_tell_cells_apart_and_nothing_else():
    key = Gauges().observation_key
    assert key(np.array([0.1, 1.0, 2.0, 0.0])) == key(np.array([0.9, 1.5, 2.0, 0.0]))
    grid = [np.array([x, y, 0.5, 0.5]) for x in range(-20, 20) for y in range(-20, 20)]
    assert len({key(cell) for cell in grid}) == 1600


@pytest.mark.jit_off
def test_futures_that_look_alike_stay_together(jit_is_off):
    """Compiled, default keys plan in the test below."""
    task = Gauges()
    planner = MacroDespot(task, budget=Budget(steps=1))
    belief = np.full((50, 1), 5.05)
    tree = planner.plan(belief, np.zeros(0), keep_tree=True).tree
    assert tree.nodes["scenario_count"][1:].max() > 20


@pytest.mark.slow
def test_light_dark_without_its_key_is_planned_as_well():
    factory = PlannerFactory(budget=Budget(steps=100_000))
    own, default = (evaluate(task(), factory, 40, 11, workers=0) for task in (LightDark, KeylessLightDark))
    assert default.return_mean > own.return_mean - 4.0 * math.hypot(own.return_stderr, default.return_stderr)
