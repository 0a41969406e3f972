"""Whether a task's functions compile, and then do what they do as plain Python.

Each kernel calls one function on every row of its arguments. With the JIT off, a kernel is plain Python itself.
"""

import contextlib
import dataclasses
import re
from collections.abc import Iterator

import numpy as np
from numba import config

from magic_pomdp.core.compiling import kernel, task_type
from magic_pomdp.core.task import Task
from magic_pomdp.core.views import borrow
from magic_pomdp.testing.declaration import FUNCTIONS
from magic_pomdp.testing.finding import Finding, attempt
from magic_pomdp.testing.plain import Record

TOLERANCE = 1e-9
"""How far compiled code may be from plain Python, relatively or absolutely."""
SIDE_BY_SIDE = 50
"""Steps on which two settings of a task are compared."""


@kernel
def draw_contexts(task, randoms, contexts, results):
    randoms, contexts = borrow(randoms), borrow(contexts)
    for i in range(len(contexts)):
        task.draw_context(randoms[i], contexts[i])


@kernel
def draw_states(task, contexts, randoms, states, results):
    contexts, randoms, states = borrow(contexts), borrow(randoms), borrow(states)
    for i in range(len(states)):
        task.draw_state(contexts[i], randoms[i], states[i])


@kernel
def steps(task, contexts, states, actions, randoms, observations, results):
    contexts, states, actions = borrow(contexts), borrow(states), borrow(actions)
    randoms, observations = borrow(randoms), borrow(observations)
    for i in range(len(states)):
        reward, outcome = task.step(contexts[i], states[i], actions[i], randoms[i], observations[i])
        results[i, 0] = reward
        results[i, 1] = outcome


@kernel
def steps_unobserved(task, contexts, states, actions, randoms, unseen, results):
    contexts, states, actions = borrow(contexts), borrow(states), borrow(actions)
    randoms, unseen = borrow(randoms), borrow(unseen)
    for i in range(len(states)):
        reward, outcome = task.step_unobserved(contexts[i], states[i], actions[i], randoms[i], unseen[i])
        results[i, 0] = reward
        results[i, 1] = outcome


@kernel
def conditions(task, contexts, states, actions, randoms, observations, imagined, results):
    contexts, states, actions = borrow(contexts), borrow(states), borrow(actions)
    randoms, observations, imagined = borrow(randoms), borrow(observations), borrow(imagined)
    for i in range(len(states)):
        value, reward, outcome = task.condition(
            contexts[i], states[i], actions[i], randoms[i], observations[i], imagined[i]
        )
        results[i, 0] = value
        results[i, 1] = reward
        results[i, 2] = outcome


@kernel
def log_likelihoods(task, contexts, states, actions, observations, results):
    contexts, states, actions, observations = borrow(contexts), borrow(states), borrow(actions), borrow(observations)
    for i in range(len(states)):
        results[i] = task.log_likelihood(contexts[i], states[i], actions[i], observations[i])


@kernel
def observation_keys(task, observations, results):
    observations = borrow(observations)
    for i in range(len(observations)):
        results[i] = task.observation_key(observations[i])


@kernel
def upper_bounds(task, contexts, states, results):
    contexts, states = borrow(contexts), borrow(states)
    for i in range(len(states)):
        results[i] = task.upper_bound(contexts[i], states[i])


@kernel
def bounds_within(task, contexts, states, steps, results):
    contexts, states, steps = borrow(contexts), borrow(states), borrow(steps)
    for i in range(len(states)):
        results[i] = task.bound_within(contexts[i], states[i], steps[i])


@kernel
def values_beyond(task, contexts, states, results):
    contexts, states = borrow(contexts), borrow(states)
    for i in range(len(states)):
        results[i] = task.value_beyond(contexts[i], states[i])


@kernel
def draw_actions(task, choices, randoms, actions, results):
    choices, randoms, actions = borrow(choices), borrow(randoms), borrow(actions)
    for i in range(len(actions)):
        task.draw_action(choices[i], randoms[i], actions[i])


@kernel
def rollout_actions(task, contexts, states, choices, randoms, actions, results):
    contexts, states, choices = borrow(contexts), borrow(states), borrow(choices)
    randoms, actions = borrow(randoms), borrow(actions)
    for i in range(len(actions)):
        task.rollout_action(contexts[i], states[i], choices[i], randoms[i], actions[i])


@kernel
def guides(task, contexts, states, macro_actions, lengths, results):
    contexts, states, macro_actions = borrow(contexts), borrow(states), borrow(macro_actions)
    lengths = borrow(lengths)
    for i in range(len(states)):
        results[i] = task.guide(contexts[i], states[i], macro_actions[i], lengths[i])


@kernel
def particle_features(task, contexts, states, features, results):
    contexts, states, features = borrow(contexts), borrow(states), borrow(features)
    for i in range(len(states)):
        task.particle_features(contexts[i], states[i], features[i])


@kernel
def context_features(task, contexts, features, results):
    contexts, features = borrow(contexts), borrow(features)
    for i in range(len(contexts)):
        task.context_features(contexts[i], features[i])


@kernel
def state_distances(task, states, others, results):
    states, others = borrow(states), borrow(others)
    for i in range(len(states)):
        results[i] = task.state_distance(states[i], others[i])


KERNELS = {
    "draw_context": draw_contexts,
    "draw_state": draw_states,
    "step": steps,
    "step_unobserved": steps_unobserved,
    "log_likelihood": log_likelihoods,
    "condition": conditions,
    "observation_key": observation_keys,
    "upper_bound": upper_bounds,
    "bound_within": bounds_within,
    "value_beyond": values_beyond,
    "draw_action": draw_actions,
    "rollout_action": rollout_actions,
    "guide": guides,
    "particle_features": particle_features,
    "context_features": context_features,
    "state_distance": state_distances,
}


RETURNED = {"step": 2, "step_unobserved": 2, "condition": 3}
"""Functions that return several numbers, and how many."""


def run(task: Task, name: str, arguments: dict[str, np.ndarray], plain: bool = False) -> np.ndarray:
    """Call a function on every row of its arguments, in place; what it returned, (n, 2) for steps, (n, 3) for
    condition, else (n,)."""
    count = len(next(iter(arguments.values())))
    shape = (count, RETURNED[name]) if name in RETURNED else (count,)
    results = np.zeros(shape, np.int64 if name == "observation_key" else np.float64)
    function = KERNELS[name]
    function = getattr(function, "py_func", function) if plain else function
    function(task, *arguments.values(), results)
    return results


def _own_functions(task: Task) -> list[str]:
    """The functions that the task's class itself brings along."""
    return [name for name in FUNCTIONS if getattr(type(task), name) is not getattr(Task, name, None)]


def check_compiles(task: Task, record: Record) -> Iterator[Finding]:
    """Whether every function compiles on its own."""
    for name in _own_functions(task):
        try:
            run(task, name, record.arguments(task, name))
        except Exception as error:  # numba raises many kinds
            message = _essence(str(error)) or f"{type(error).__name__}: {error}"
            yield Finding(name, f"it does not compile: {message}", "code that numba can compile", _remedy(message))


def _essence(message: str) -> str:
    """Of numba's message: the first line that says something, the call it is about, and the line of code."""
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
    for name in _own_functions(task):
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
        if task_type(other) != task_type(task):
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
    for field in dataclasses.fields(task):  # type: ignore[arg-type]
        value = getattr(task, field.name)
        for changed in (1.01 * value, 0.99 * value) if isinstance(value, float) else ():
            with contextlib.suppress(ValueError):  # the task allows no such value
                yield dataclasses.replace(task, **{field.name: changed})  # type: ignore[type-var]
