"""What a task's class must declare: sizes, functions with the right arguments, parameters, and actions to choose."""

import dataclasses
import inspect
import typing
from collections.abc import Iterator
from functools import cache
from types import FunctionType

import numpy as np

from magic_pomdp.core.compiling import ACCEPTED
from magic_pomdp.core.functions import FUNCTIONS
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.settings import Settings
from magic_pomdp.core.task import Task
from magic_pomdp.learning.mirroring import check_mirrors
from magic_pomdp.macros.spaces import place
from magic_pomdp.magic.shape import GeneratorShape, plain_numbers
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.testing.finding import Broken, Finding, attempt

KINDS = {**ACCEPTED, str: (str,)}
"""Kinds of parameters, and what their values may be. Compiled functions do not see text."""


SMALLEST = {"state_size": 1, "action_size": 1, "observation_size": 0, "context_size": 0, "noise_size": 0}

MACRO_LENGTHS = (1, 2, 7)


@cache
def function_arguments(name: str) -> tuple[str, ...]:
    """What a function of a task is given, beside the task."""
    return tuple(inspect.signature(getattr(Task, name)).parameters)[1:]


def handcrafted_length(task: Task) -> int:
    """Length of the handcrafted macro-actions that the task advises."""
    return MacroDespotSettings.advised(task).macro_length


def check_class(task_class: type) -> Iterator[Finding]:
    """Whether a class has a name, sizes and functions with the right arguments."""
    if not issubclass(task_class, Task):
        advice = "Write `class MyTask(magic_pomdp.Task)`"
        yield Finding(task_class.__name__, "it is not a task", "a class derived from magic_pomdp.Task", advice)
        return
    if not task_class.name:
        yield Finding("name", "it is empty", "what the command line calls the task", 'Write `name = "my-task"`')
    yield from _check_sizes(task_class)
    for name in FUNCTIONS:
        yield from _check_signature(task_class, name, function_arguments(name))
    yield from _check_advice(task_class)


def _check_sizes(task: Task | type[Task]) -> Iterator[Finding]:
    """Whether sizes are whole numbers and large enough. What is a property of the class, its objects will tell."""
    for name, smallest in SMALLEST.items():
        size = getattr(task, name, None)
        if not isinstance(size, property) and (not isinstance(size, int) or size < smallest):
            seen = "it is missing" if size is None else f"it is {size!r}"
            advice = f"Write `{name} = …` in the class, without an annotation"
            yield Finding(name, seen, f"a whole number of at least {smallest}", advice)
    columns, width = task.continuous_state, getattr(task, "state_size", 0)
    if isinstance(width, int) and not (len(set(columns)) == len(columns) and set(columns) <= set(range(width))):
        advice = "Write `continuous_state = (X, Y)` with the indices of the state that may be blurred"
        yield Finding("continuous_state", f"it is {columns}", f"different indices below state_size = {width}", advice)


def _check_advice(task_class: type[Task]) -> Iterator[Finding]:
    """Whether the advice is settings, no kind of them twice."""
    advice = "Write `advice = (magic_pomdp.planners.MacroDespotSettings(…), …)`"
    given = task_class.advice
    if not isinstance(given, tuple) or not all(isinstance(one, Settings) for one in given):
        yield Finding("advice", f"it is {given!r}", "a tuple of settings objects", advice)
    elif len({type(one) for one in given}) < len(given):
        yield Finding("advice", "it holds two objects of one kind", "at most one object of each kind", advice)


def _check_signature(task_class: type, name: str, arguments: tuple[str, ...]) -> Iterator[Finding]:
    head = f"`def {name}({', '.join(('self', *arguments))})`"
    method = inspect.getattr_static(task_class, name, None)
    if not isinstance(method, FunctionType):
        seen = "it is missing" if method is None else f"it is a {type(method).__name__}"
        yield Finding(name, seen, f"an ordinary method {head}", f"Write {head}")
        return
    parameters = list(inspect.signature(method).parameters.values())
    if any(parameter.kind != parameter.POSITIONAL_OR_KEYWORD for parameter in parameters):
        yield Finding(name, "it has * or keyword-only arguments", head, f"Write {head}")
    elif len(parameters) != 1 + len(arguments):
        given = ", ".join(parameter.name for parameter in parameters)
        seen = f"it takes {len(parameters)} arguments ({given})"
        yield Finding(name, seen, f"{1 + len(arguments)}, self included", f"Write {head}")


def check_parameters(task: Task) -> Iterator[Finding]:
    """Whether all parameters are of kinds that compiled code knows, or text, which it does not see; and in range."""
    yield from _check_sizes(task)
    hints = typing.get_type_hints(type(task))
    for field in dataclasses.fields(task):
        kind, value = hints[field.name], getattr(task, field.name)
        if kind not in KINDS:
            seen = f"it is annotated as {getattr(kind, '__name__', kind)}"
            advice = "Use one of these, or a ClassVar for what compiled functions do not need"
            yield Finding(field.name, seen, "float, int, bool, np.ndarray or str", advice)
        elif not isinstance(value, KINDS[kind]):
            seen, expected = f"its value is {value!r}", f"a value of its kind, {kind.__name__}"
            yield Finding(field.name, seen, expected, "Change the value or the annotation")
    if not 0.0 < task.discount <= 1.0:
        advice = "Change it, and begin a __post_init__ of your own with super().__post_init__(), which refuses it"
        yield Finding("discount", f"it is {task.discount}", "a number in (0, 1]", advice)


def check_choices(task: Task) -> Iterator[Finding]:
    """Whether there are primitive actions and macro-actions to choose among."""
    actions = attempt("actions", task.actions)
    shape = getattr(actions, "shape", None)
    if not isinstance(actions, np.ndarray) or actions.ndim != 2 or actions.shape[1] != task.action_size:
        seen = f"it returned {type(actions).__name__}" + (f" of shape {shape}" if shape is not None else "")
        expected, advice = f"a numpy array of shape (count, {task.action_size})", "Return one row for each action"
        raise Broken("actions", seen, expected, advice)
    if len(actions) == 0 or not np.isfinite(actions.astype(np.float64)).all():
        seen = "it returned no action" if len(actions) == 0 else "it returned NaN or infinity"
        yield Finding("actions", seen, "at least one row of finite numbers", "Correct the array")
        return
    for length in (handcrafted_length(task), *MACRO_LENGTHS):
        macro_actions = attempt("macro_actions", task.macro_actions, length)
        if not isinstance(macro_actions, MacroActions):
            seen = f"it returned {type(macro_actions).__name__} for length {length}"
            advice = "Build one with MacroActions.repeat(actions, length)"
            raise Broken("macro_actions", seen, "a magic_pomdp.MacroActions", advice)
        if macro_actions.actions.shape[2] != task.action_size:
            seen = f"its actions have {macro_actions.actions.shape[2]} numbers"
            advice = "Correct the array or action_size"
            yield Finding("macro_actions", seen, f"action_size = {task.action_size} numbers", advice)
            return
    yield from _check_macro_space(task)


def _check_macro_space(task: Task) -> Iterator[Finding]:
    space = attempt("macro_space", task.macro_space, handcrafted_length(task))
    decode = getattr(space, "decode", None)
    if decode is None or not hasattr(space, "start"):
        advice = "Return a BezierSpace or HeldActionSpace of magic_pomdp.macros"
        yield Finding("macro_space", f"it returned {type(space).__name__}", "a macro-action space", advice)
        return
    decoded = attempt("macro_space", decode, space.start)
    if decoded.actions.shape[2] != task.action_size:
        seen = f"its actions have {decoded.actions.shape[2]} numbers"
        yield Finding("macro_space", seen, f"action_size = {task.action_size} numbers", "Correct the space")
        return
    if task.is_discrete:
        parameters = place(np.random.default_rng(0).normal(size=space.start.shape), space.kind)
        made, real = attempt("macro_space", decode, parameters), {tuple(action) for action in primitive_actions(task)}
        for sequence, length in zip(made.actions, made.lengths, strict=True):
            wrong = [action.tolist() for action in sequence[:length] if tuple(action) not in real]
            if wrong:
                advice = "Return a ListedActionSpace of magic_pomdp.macros, or write `discrete_actions = False`"
                yield Finding("macro_space", f"it made the action {wrong[0]}", "only rows of `actions`", advice)
                return
    elif _may_be_discrete(task):
        seen = "it is not said, all actions are whole numbers, and learning would try numbers between them"
        advice = "Write `discrete_actions = True` in the class if only the rows of `actions` count, else False"
        yield Finding("discrete_actions", seen, "True or False", advice)
        return
    shape = attempt("macro_space", GeneratorShape.for_task, task, space)
    try:
        plain_numbers(task, "plain")
    except ValueError as error:
        advice = "Write `plain_features = ((X, Y), (GOAL_X, GOAL_Y))`"
        yield Finding("plain_features", str(error).removesuffix("."), "indices of a state and of the context", advice)
    attempt("mirrors", task.mirrors)
    try:
        check_mirrors(task, shape, space)
    except ValueError as error:
        expected = "a number for each feature of a particle and of the context, and for each parameter"
        yield Finding("mirrors", str(error).removesuffix("."), expected, "Correct the mirror")


def _may_be_discrete(task: Task) -> bool:
    """Whether nobody says that actions may lie between the rows of `actions`, and these look as if there were none."""
    usual_space = type(task).macro_space is Task.macro_space
    return task.discrete_actions is None and usual_space and task.actions_are_few_and_whole


def primitive_actions(task: Task) -> np.ndarray:
    """The actions to try, as kernels take them; shape (count, action_size)."""
    return np.ascontiguousarray(task.actions(), dtype=np.float64)
