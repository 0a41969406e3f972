"""The table of a task's functions agrees with the methods that it is about."""

import inspect

import numpy as np
import pytest

from magic_pomdp import Task, make
from magic_pomdp.core.functions import FUNCTIONS, Returned
from magic_pomdp.core.task import REQUIRED
from magic_pomdp.testing.declaration import function_arguments

pytestmark = pytest.mark.jit_off


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_a_method_of_every_task_and_its_arguments_are_those_of_the_table(name):
    method = inspect.getattr_static(Task, name)
    assert inspect.isfunction(method)
    parameters = inspect.signature(method).parameters
    assert all(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in parameters.values())
    assert all(parameter.default is parameter.empty for parameter in parameters.values())
    arguments, function = tuple(parameters)[1:], FUNCTIONS[name]
    assert function_arguments(name) == arguments
    assert set(function.fills) | set(function.changes) <= set(arguments)
    assert not set(function.fills) & set(function.changes)
    assert ("random" in arguments) == ("random" in function.changes)  # chance that is used is used up


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_method_says_that_it_returns_is_what_the_table_says(name):
    count = FUNCTIONS[name].returns.count
    told = inspect.signature(getattr(Task, name)).return_annotation
    assert len(getattr(told, "__args__", () if told is None else (told,))) == count


def test_numbers_that_are_returned():
    assert [(one.name, one.count) for one in Returned] == [
        ("NOTHING", 0),
        ("NUMBER", 1),
        ("LOGARITHM", 1),
        ("KEY", 1),
        ("CHOICE", 1),
        ("STEP", 2),
        ("CONDITIONED", 3),
    ]


def test_what_is_required_has_no_default_and_what_is_not_has_one():
    assert REQUIRED == ("draw_state", "step", "log_likelihood", "upper_bound", "actions")
    for name in REQUIRED:
        method = getattr(Task, name)
        with pytest.raises(NotImplementedError):
            method(*[None] * len(inspect.signature(method).parameters))


def test_the_defaults_of_a_shipped_task_can_be_called():
    """Tiger leaves most of them out."""
    task, state, other = make("tiger"), np.array([1.0]), np.array([0.0])
    nothing, listen, random = np.zeros(0), np.zeros(1), np.array([7], np.uint64)
    assert task.bound_within(nothing, state, 3) == task.upper_bound(nothing, state)
    assert task.value_beyond(nothing, state) == 0.0
    assert task.guide(nothing, state, np.zeros((1, 1, 1)), np.ones(1)) == -1
    assert task.state_distance(state, other) == 1.0
    assert task.step_unobserved(nothing, state, listen, random.copy(), np.zeros(1))[0] == task.listen_reward
    logarithm, reward, outcome = task.condition(nothing, state, listen, random.copy(), state, np.zeros(1))
    assert (logarithm, reward, outcome) == (pytest.approx(np.log(0.85)), -1.0, 0)
    assert task.macro_actions(3).lengths.tolist() == [3, 3, 3]
    assert task.action_without_plan().tolist() == [0.0]
    assert (task.plan_seconds(5), dict(task.statistics(nothing, state[None]))) == (0.1, {})
