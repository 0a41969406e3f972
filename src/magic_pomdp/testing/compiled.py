"""Whether a task's functions compile, and then do what they do as plain Python.

A kernel, made from the table of functions, calls one of them on every row of its arguments. With the JIT off, it is
plain Python itself.
"""

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numba import config

from magic_pomdp.core.compiling import kernel, task_type
from magic_pomdp.core.functions import FUNCTIONS, Returned
from magic_pomdp.core.task import Task
from magic_pomdp.core.views import borrow
from magic_pomdp.testing import finding
from magic_pomdp.testing.declaration import function_arguments
from magic_pomdp.testing.finding import (
    COMPILED_PATIENCE,
    PLAIN_PATIENCE,
    Broken,
    Finding,
    attempt,
    out_of_bounds,
)
from magic_pomdp.testing.plain import Record

TOLERANCE = 1e-9
"""How far compiled code may be from plain Python, relatively or absolutely."""
SIDE_BY_SIDE = 50
"""Steps on which two settings of a task are compared."""


@cache
def _rows(name: str) -> Callable[..., None]:
    """A kernel that calls one of the task's functions on every row of its arguments."""
    given = function_arguments(name)
    target = ("", "results[i] = ", "results[i, 0], results[i, 1] = ", "results[i, 0], results[i, 1], results[i, 2] = ")
    source = [
        f"def rows_of_{name}(task, {', '.join(given)}, results):",
        *(f"    {argument} = borrow({argument}, task)" for argument in given),
        "    for i in range(len(results)):",
        f"        {target[FUNCTIONS[name].returns.count]}task.{name}({', '.join(f'{one}[i]' for one in given)})",
    ]
    made: dict[str, Any] = {"borrow": borrow, "__name__": __name__}
    exec(compile("\n".join(source), __file__, "exec"), made)  # in this module's name it can be kept on disk
    rows: Callable[..., None] = kernel(made[f"rows_of_{name}"])
    return rows


def run(task: Task, name: str, arguments: dict[str, np.ndarray], plain: bool = False) -> np.ndarray:
    """Call a function on every row of its arguments, in place; what it returned, (n, 2) for steps, (n, 3) for
    condition, else (n,)."""
    count, returns = len(next(iter(arguments.values()))), FUNCTIONS[name].returns
    shape = (count, returns.count) if returns.count > 1 else (count,)
    results = np.zeros(shape, np.int64 if returns is Returned.KEY else np.float64)
    function = _rows(name)
    function = getattr(function, "py_func", function) if plain else function
    finding.on_call(name, PLAIN_PATIENCE if plain else COMPILED_PATIENCE)
    try:
        function(task, *arguments.values(), results)
    except IndexError as error:
        raise out_of_bounds(name, error) from error
    return results


def own_functions(task: Task) -> list[str]:
    """The functions that the task's class itself brings along."""
    return [name for name in FUNCTIONS if getattr(type(task), name) is not getattr(Task, name)]


def check_compiles(task: Task, record: Record) -> Iterator[Finding]:
    """Whether every function compiles on its own."""
    for name in own_functions(task):
        try:
            run(task, name, record.arguments(task, name))
        except Broken:
            raise
        except Exception as error:  # numba raises many kinds
            message = _essence(str(error)) or f"{type(error).__name__}: {error}"
            yield Finding(name, f"it does not compile: {message}", "code that numba can compile", _remedy(message))


def _essence(message: str) -> str:
    """Of numba's message: the first line that says something, the call it is about, and the line of code."""
    message = re.sub(r"\x1b\[[0-9;]*m", "", message)  # numba's colours, where the library for them is installed
    message = re.sub(r"Checked(?=(Task|View)\()", "", message)  # all that is compiled here is
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("Failed in nopython mode", "- Resolution failure"))]
    parts = lines[:1] + [line.removeprefix(">>> ") for line in lines[1:2] if line.startswith(">>> ")]
    places = [i for i, line in enumerate(lines) if line.startswith("File ")]
    if places:
        where = lines[places[0] : places[1] if len(places) > 1 else None]
        code = f": {where[where.index('^') - 1]}" if "^" in where else ""
        parts.append(f"({where[0].rstrip(':')}{code})")
    essence = re.sub(" at 0x[0-9a-f]+", "", " ".join(parts))
    return re.sub(r"Task\(\S*?(\w+), \w+, \(.*?\)\)\)", r"\1", essence)


def _remedy(message: str) -> str:
    if "Untyped global name" in message:
        return "Make the helper a method of the task, or decorate it with @numba.njit"
    if "Unknown attribute" in message:
        return (
            "What compiled code reads from self is an annotated parameter (float, int, bool, np.ndarray), a number of "
            "the class, or a method"
        )
    if "unify" in message:
        return "Return, and keep in each variable, the same kind of value in every branch"
    if "View(" in message or "iter" in message:
        return (
            "Array arguments know indexing, slices to read, len and assignment to one element; "
            "use a loop and math.* in place of numpy functions"
        )
    return (
        "Keep to numbers, loops, math.*, indexing, other methods of the task and functions decorated with @numba.njit"
    )


def check_agreement(task: Task, record: Record) -> Iterator[Finding]:
    """Whether compiled code does what plain Python does."""
    if config.DISABLE_JIT:
        return
    for name in own_functions(task):
        difference = _difference(task, name, record)
        if difference:
            advice = (
                "Look for whole numbers beyond 64 bits, for division by zero, and for names that mean something else "
                "when compiled; NUMBA_DISABLE_JIT=1 lets you step through the plain version"
            )
            yield Finding(name, difference, "the same results compiled and as plain Python", advice)


def _difference(task: Task, name: str, record: Record) -> str:
    plain, native = (record.arguments(task, name) for _ in range(2))
    plain["the returned value"] = run(task, name, plain, plain=True)
    native["the returned value"] = run(task, name, native)
    for what, expected in plain.items():
        same = np.isclose(native[what], expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True).reshape(
            len(expected), -1
        )
        if not same.all():
            row = int(np.flatnonzero(~same.all(axis=1))[0])
            return f"{what} is {native[what][row].tolist()} compiled, but {expected[row].tolist()} as plain Python"
    return ""


def check_side_by_side(task: Task, record: Record) -> Iterator[Finding]:
    """Whether two settings of a task can be used in turn, and without compiling again."""
    some = Record(*(rows[:SIDE_BY_SIDE] for rows in record))
    before = _step_results(task, some)
    for other in _neighbours(task):
        if task_type(other, checked=True) != task_type(task, checked=True):
            advice = "Parameters travel as numbers: do not override how a task becomes a numba type"
            yield Finding("parameters", "another value gave another numba type", "the same type", advice)
            return
        attempt("step", _step_results, other, some)
        if not np.array_equal(_step_results(task, some), before, equal_nan=True):
            seen = "after another object with other parameters was used, the same step gave something else"
            advice = "Keep settings in the parameters only: not in the class, not in variables of the module"
            yield Finding("parameters", seen, "objects that do not influence each other", advice)
            return


def _step_results(task: Task, record: Record) -> np.ndarray:
    """All that `step` does, run as plain Python, which sees variables that compiled code takes for constants."""
    arguments = record.arguments(task, "step")
    results = run(task, "step", arguments, plain=True)
    return np.hstack([arguments["state"], arguments["observation"], results])


def _neighbours(task: Task) -> Iterator[Task]:
    """The task with one of its float parameters changed a little, for each that may be."""
    for field in dataclasses.fields(task):
        value = getattr(task, field.name)
        for changed in (1.01 * value, 0.99 * value) if isinstance(value, float) else ():
            with contextlib.suppress(ValueError):  # the task allows no such value
                yield dataclasses.replace(task, **{field.name: changed})  # type: ignore[arg-type]
