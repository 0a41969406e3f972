"""What a task's class must declare: sizes, functions with the right arguments, parameters, and actions to choose."""

import dataclasses
import inspect
import typing
from collections.abc import Iterator
from types import FunctionType
from typing import NamedTuple

import numpy as np

from magic_pomdp.core.compiling import ACCEPTED
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.task import Task
from magic_pomdp.learning.generator import GeneratorShape
from magic_pomdp.learning.mirroring import check_mirrors
from magic_pomdp.testing.finding import Broken, Finding, attempt

KINDS = {**ACCEPTED, str: (str,)}
"""Kinds of parameters, and what their values may be. Compiled functions do not see text."""


class Function(NamedTuple):
    """What a function of a task is given, and what it does with it."""

    arguments: tuple[str, ...]
    fills: tuple[str, ...] = ()
    """Arguments of which it must write every element; what they held before means nothing."""
    changes: tuple[str, ...] = ()
    """Arguments that it may change. All others it only reads."""


FUNCTIONS = {
    "draw_context": Function(("random", "context"), fills=("context",), changes=("random",)),
    "draw_state": Function(("context", "random", "state"), fills=("state",), changes=("random",)),
    "step": Function(
        ("context", "state", "action", "random", "observation"), fills=("observation",), changes=("state", "random")
    ),
    "step_unobserved": Function(
        ("context", "state", "action", "random", "unseen"), changes=("state", "random", "unseen")
    ),
    "log_likelihood": Function(("context", "state", "action", "observation")),
    "condition": Function(
        ("context", "state", "action", "random", "observation", "imagined"), changes=("state", "random", "imagined")
    ),
    "observation_key": Function(("observation",)),
    "upper_bound": Function(("context", "state")),
    "draw_action": Function(("actions", "random", "action"), fills=("action",), changes=("random",)),
    "rollout_action": Function(
        ("context", "state", "actions", "random", "action"), fills=("action",), changes=("random",)
    ),
    "bound_within": Function(("context", "state", "steps")),
    "value_beyond": Function(("context", "state")),
    "guide": Function(("context", "state", "macro_actions", "lengths")),
    "particle_features": Function(("context", "state", "features"), fills=("features",)),
    "context_features": Function(("context", "features"), fills=("features",)),
    "state_distance": Function(("state", "other")),
}

SMALLEST = {
    "state_size": 1,
    "action_size": 1,
    "observation_size": 0,
    "context_size": 0,
    "scenarios": 1,
    "particles": 1,
    "search_depth": 1,
    "macro_length": 1,
}

MACRO_LENGTHS = (1, 2, 7)


def check_class(task_class: type) -> Iterator[Finding]:
    """Whether a class has a name, sizes and functions with the right arguments."""
    if not issubclass(task_class, Task):
        advice = "Write `class MyTask(magic_pomdp.Task)`"
        yield Finding(task_class.__name__, "it is not a task", "a class derived from magic_pomdp.Task", advice)
        return
    if not task_class.name:
        yield Finding("name", "it is empty", "what the command line calls the task", 'Write `name = "my-task"`')
    yield from _check_sizes(task_class)
    for name, function in FUNCTIONS.items():
        yield from _check_signature(task_class, name, function.arguments)
    if task_class.actions is Task.actions and task_class.macro_actions is Task.macro_actions:
        advice = "Write `def actions(self)`; it is ordinary Python and never compiled"
        yield Finding("actions", "it is missing", "a method that returns an array (count, action_size)", advice)


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
    for field in dataclasses.fields(task):  # type: ignore[arg-type]
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
    if type(task).actions is not Task.actions:
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
    for length in (task.macro_length, *MACRO_LENGTHS):
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
    if type(task).actions is not Task.actions or type(task).macro_space is not Task.macro_space:
        yield from _check_macro_space(task)


def _check_macro_space(task: Task) -> Iterator[Finding]:
    space = attempt("macro_space", task.macro_space, task.macro_length)
    decode = getattr(space, "decode", None)
    if decode is None or not hasattr(space, "start"):
        seen, advice = f"it returned {type(space).__name__}", "Return a magic_pomdp.BezierSpace or HeldActionSpace"
        yield Finding("macro_space", seen, "a macro-action space", advice)
        return
    decoded = attempt("macro_space", decode, space.start)
    if decoded.actions.shape[2] != task.action_size:
        seen = f"its actions have {decoded.actions.shape[2]} numbers"
        yield Finding("macro_space", seen, f"action_size = {task.action_size} numbers", "Correct the space")
        return
    shape = attempt("macro_space", GeneratorShape.for_task, task, space)
    attempt("mirrors", task.mirrors)
    try:
        check_mirrors(task, shape)
    except ValueError as error:
        expected = "a number for each feature of a particle and of the context, and for each parameter"
        yield Finding("mirrors", str(error).removesuffix("."), expected, "Correct the mirror")


def primitive_actions(task: Task) -> np.ndarray:
    """The actions to try: the task's own, or those its macro-actions consist of; shape (count, action_size)."""
    if type(task).actions is not Task.actions:
        return np.ascontiguousarray(task.actions(), dtype=np.float64)
    macro_actions = task.macro_actions(task.macro_length)
    used = np.arange(macro_actions.actions.shape[1]) < macro_actions.lengths[:, None]
    return np.unique(macro_actions.actions[used], axis=0)
