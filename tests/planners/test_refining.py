"""After a share of its budget, a search tries variations of its best macro-actions with the rest."""

import numpy as np
import pytest

import magic_pomdp as mp
from magic_pomdp.macros.variations import Variations
from magic_pomdp.planners import MacroDespotSettings
from magic_pomdp.planners.refining import EACH, VARIED, refined

CONTEXT = np.array([1070.0, 300.0])
"""Puck-Push's goal."""
MORE = VARIED * EACH


def planner(refine=0.4, **settings):
    task = mp.make("puck-push")
    return mp.MacroDespot(task, settings=MacroDespotSettings.advised(task, refine=refine, **settings))


def plan(chosen, steps=200_000, seed=3, **options):
    belief = mp.Belief.initial(chosen.task, CONTEXT, 200, seed=1)
    return chosen.plan(belief, budget=mp.Budget(steps=steps), seed=seed, **options)


def test_variations_of_the_best_come_before_the_set():
    task = mp.make("puck-push")
    compass = task.macro_actions(2)
    values = np.array([3.0, -np.inf, 9.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    grown = refined(compass, Variations.of_set(task, compass), values, np.uint64(5))
    assert (len(grown), grown.first_only) == (MORE + len(compass), MORE)
    np.testing.assert_array_equal(grown.actions[MORE:], compass.actions)
    to_best = np.linalg.norm(grown.actions[:MORE] - compass.actions[np.repeat([2, 0], EACH)], axis=2)
    assert 0.0 < to_best.min() < to_best.max() < 1.0
    nothing = refined(compass, Variations.of_set(task, compass), np.full(8, -np.inf), np.uint64(5))
    assert nothing is compass


def test_a_refined_plan_knows_all_that_it_has_tried():
    found, plain = plan(planner()), plan(planner(refine=0.0))
    assert (len(plain.values), len(found.values), len(found.macro_actions)) == (8, 8 + MORE, 8 + MORE)
    np.testing.assert_array_equal(found.macro_action, found.macro_actions.actions[found.choice])
    assert found.steps == pytest.approx(200_000, rel=0.1)  # both searches count


def test_too_little_time_for_two_searches_is_left_to_one():
    few = 2_000
    np.testing.assert_array_equal(plan(planner(), few).values, plan(planner(refine=0.0), few).values)


def test_a_set_that_cannot_be_varied_is_searched_as_it_is():
    zigzag = mp.MacroActions(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]), np.array([2, 2]))
    with_it, without = (plan(planner(refine), macro_actions=zigzag) for refine in (0.4, 0.0))
    np.testing.assert_array_equal(with_it.values, without.values)
    assert with_it.steps == without.steps


def test_the_plan_is_the_same_again_and_with_any_number_of_threads(jit):
    one, two, again = plan(planner(threads=1)), plan(planner(threads=2)), planner(threads=2)
    plan(again, seed=8)
    again = plan(again)
    for other in (two, again):
        assert (one.choice, one.value, one.steps) == (other.choice, other.value, other.steps)
        np.testing.assert_array_equal(one.values, other.values)
    assert plan(planner(), seed=4).values.tolist() != one.values.tolist()


def test_a_refined_search_goes_on_and_tells_of_itself():
    chosen = planner()
    first = plan(chosen)
    more = chosen.go_on(mp.Budget(steps=20_000), keep_tree=True)
    assert more.steps >= first.steps + 20_000
    assert len(more.values) == len(first.values)
    assert (more.values >= first.values).all()
    assert len(chosen.tree_view().macro_actions) == len(first.values)
    assert more.explain()


def test_a_refined_search_keeps_its_time(jit):
    chosen = planner()
    belief = mp.Belief.initial(chosen.task, CONTEXT, 200, seed=1)
    chosen.plan(belief, budget=mp.Budget(steps=100))
    seconds = [chosen.plan(belief, budget=mp.Budget(seconds=0.03), seed=seed).seconds for seed in range(5)]
    assert 0.02 < min(seconds) < 0.06


@pytest.mark.parametrize("share", [-0.1, 0.95, float("nan")])
def test_a_share_that_makes_no_sense_is_refused(share):
    with pytest.raises(ValueError, match="refine"):
        planner(refine=share)
