"""What did best on the scenarios of a search is looked at again before it is chosen."""

import numpy as np
import pytest

import magic_pomdp as mp
from magic_pomdp.planners import MacroDespotSettings
from magic_pomdp.planners.second_look import Look, choose, evenly_spread

pytestmark = pytest.mark.jit_off

GOAL_AHEAD = np.array([0.45, 0.0, 9.0, 0.0, 0.0])
"""Light-Dark's context: the goal, radius 0.5, is 0.45 to the right."""


def at_the_edge(count=4000):
    """A robot of which a tenth believes to be outside the goal."""
    task = mp.make("light-dark")
    states = np.zeros((count, task.state_size))
    states[:, 0] = np.where(np.random.default_rng(0).random(count) < 0.1, -0.2, 0.3)
    return task, states


def planner(task, second_look, threads=1, **more):
    settings = MacroDespotSettings.advised(task, scenarios=5, second_look=second_look, threads=threads, **more)
    return mp.MacroDespot(task, settings=settings, budget=mp.Budget(steps=20_000))


def lucky_seed(task, states):
    """A seed whose scenarios are all inside the goal."""
    hasty = planner(task, 0)
    for seed in range(50):
        if hasty.plan(states, GOAL_AHEAD, seed=seed).value > 99.0:
            return seed
    raise AssertionError("no seed draws only particles inside the goal")


def test_a_stop_that_is_right_in_all_scenarios_alone_is_not_chosen():
    task, states = at_the_edge()
    seed = lucky_seed(task, states)
    hasty = planner(task, 0).plan(states, GOAL_AHEAD, seed=seed)
    careful = planner(task, 1000).plan(states, GOAL_AHEAD, seed=seed)
    assert hasty.value == pytest.approx(100.0)
    assert careful.choice != hasty.choice
    assert 80.0 < careful.value < 100.0
    np.testing.assert_array_equal(careful.values, hasty.values)  # they are what the search has found
    assert hasty.steps < careful.steps <= hasty.steps + 5000


def test_it_takes_a_small_part_of_a_budget_in_steps_and_sees_no_less_than_the_search():
    task, states = at_the_edge()
    short = planner(task, 1_000_000).plan(states, GOAL_AHEAD, budget=mp.Budget(steps=1), seed=1)
    none = planner(task, 0).plan(states, GOAL_AHEAD, budget=mp.Budget(steps=1), seed=1)
    assert none.steps < short.steps <= none.steps + 25 * 5 * 16


def test_with_a_budget_in_steps_it_is_the_same_for_any_number_of_threads(jit):
    task, states = at_the_edge()
    one, three = (planner(task, 300, threads).plan(states, GOAL_AHEAD, seed=5) for threads in (1, 3))
    np.testing.assert_array_equal(one.values, three.values)
    assert one.steps == three.steps


def test_what_follows_counts_for_those_that_go_on():
    values = np.array([10.0, 9.0, 1.0])
    looks = {0: Look(-5.0, 0.5), 1: Look(3.0, 1.0)}
    firsts = {0: Look(2.0, 1.0), 1: Look(3.0, 1.0)}
    assert choose(values, firsts.__getitem__, looks.__getitem__) == 1
    np.testing.assert_allclose(values, [-5.0 + 0.5 * 8.0, 9.0, 1.0])


def test_what_there_is_no_time_to_look_at_is_chosen_as_it_is():
    values = np.array([1.0, 2.0])
    assert choose(values, lambda macro: Look(0.0, 1.0), lambda macro: None) == 1
    assert values.tolist() == [1.0, 2.0]


def test_nothing_that_ends_the_episode_is_worth_more_by_what_follows():
    values = np.array([4.0])
    assert choose(values, lambda macro: Look(4.0, 0.0), lambda macro: Look(3.0, 0.1)) == 0
    assert values.tolist() == [3.0]


@pytest.mark.parametrize("count", [1, 2, 7, 1000, 5000])
def test_particles_are_spread_over_the_belief_and_so_are_the_first_of_them(count):
    particles = np.arange(3000.0)[:, None]
    taken = evenly_spread(particles, count)[:, 0]
    assert len(taken) == len(set(taken)) == min(count, 3000)
    first = taken[: max(1, len(taken) // 4)]
    assert abs(first.mean() - 1500.0) < 3000.0 * (0.03 + 1.0 / (len(first) + 1))


def test_the_search_may_discount_otherwise_than_the_task():
    task, states = at_the_edge()
    far = np.array([10.0, 0.0, 9.0, 0.0, 0.0])
    patient = planner(task, 0, discount=0.999).plan(states, far)
    hasty = planner(task, 0, discount=0.9).plan(states, far)
    assert patient.value > hasty.value
    assert task.discount == 0.98
    with pytest.raises(ValueError, match="discount must be below 1"):
        planner(task, 0, discount=1.0)
