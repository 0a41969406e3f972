"""A plan tells why it is what it is."""

from dataclasses import replace

import numpy as np
import pytest

import magic_pomdp as mp
from magic_pomdp.planners import MacroDespotSettings


def made(values, uppers=None, choice=0, value=None, lower=None, **more):
    """A plan among as many macro-actions of one step as there are values."""
    values = np.array(values, float)
    given = {
        "macro_action": np.array([[float(choice)]]),
        "choice": choice,
        "value": float(values[choice]) if value is None else value,
        "lower": lower,
        "upper": None if uppers is None else max(uppers),
        "trials": 3,
        "nodes": 2,
        "depth": 7,
        "steps": 1234,
        "seconds": 0.1,
        "stopped_by": "budget used",
        "values": values,
        "uppers": None if uppers is None else np.array(uppers, float),
        "macro_actions": mp.MacroActions.repeat(np.arange(len(values), dtype=float)[:, None], 1),
    }
    return mp.Plan(**{**given, **more})


def test_the_best_alternative_comes_first_with_what_it_loses():
    explained = made([5.0, 3.0, 4.5], [6.0, 4.0, 5.5], lower=5.0).explain()
    assert [(other.number, other.loses, other.ruled_out) for other in explained.alternatives] == [
        (2, 0.5, False),
        (1, 2.0, True),
    ]
    words = str(explained)
    assert "Chosen: macro-action 0 (1 step, the first (0)). It is expected to earn 5." in words
    assert "macro-action 2 (1 step, the first (2)): loses 0.5, as far as the search went; at most 5.5." in words
    assert "macro-action 1 (1 step, the first (1)): loses 2." in words
    assert "1 of 2 others cannot be better, say their upper bounds." in words
    assert (
        "looked 7 steps ahead, between 5 and 6, in 0.1 s and 1,234 simulated steps. How it stands: budget used."
        in words
    )


def test_what_a_second_look_has_changed_is_told():
    explained = made([5.0, 6.0], [7.0, 6.0], value=4.8, lower=6.0).explain()
    assert "The search alone expects 5 of it" in str(explained)
    assert "macro-action 1 (1 step, the first (1)): looked 1.2 better in the search, but not at a second" in str(
        explained
    )
    assert not explained.alternatives[0].ruled_out


def test_what_was_not_looked_at_comes_last():
    explained = made([5.0, -np.inf, 5.0], [6.0, 6.0, 6.0], lower=5.0).explain()
    assert [other.number for other in explained.alternatives] == [2, 1]
    assert "macro-action 2 (1 step, the first (2)): as good." in str(explained)
    assert "Not looked at before the deadline: 1." in str(explained)


def test_many_alternatives_are_counted():
    assert "… and 3 that are worth no more than these." in str(made(np.arange(9.0), choice=8).explain())


def test_a_planner_that_tells_nothing_of_others_explains_what_it_can():
    explained = replace(made([1.0]), values=None, macro_actions=None).explain()
    assert explained.alternatives == ()
    assert explained.searched_value is None
    assert "nothing of others" in str(explained)


@pytest.mark.parametrize("planner", [mp.MacroDespot, mp.planners.Pomcpow])
def test_real_plans_explain_themselves(planner, jit):
    task = mp.make("light-dark")
    belief = mp.Belief.initial(task, context=[3, 1, -2, 2.5, -3], count=1000)
    more = {"settings": MacroDespotSettings.advised(task)} if planner is mp.MacroDespot else {}
    plan = planner(task, budget=mp.Budget(steps=20_000), **more).plan(belief)
    explained = plan.explain()
    assert len(explained.alternatives) == len(plan.values) - 1
    assert f"{plan.depth} steps ahead" in str(explained)
