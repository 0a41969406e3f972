"""What searches have in common: they refuse the same bad input, and spend a budget in the same way."""

import time
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from magic_pomdp.core.arrays import check_particles, check_vector
from magic_pomdp.core.belief import Belief
from magic_pomdp.core.clock import FOREVER, deadline_after
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.core.turns import Turn
from magic_pomdp.planners.plan import Budget

FIRST_SLICE = 2_000
"""Primitive steps of a timed search's first slice, before its speed is known."""
SLICE_SECONDS = 0.001
"""How long a timed search runs before the clock is looked at again."""
_SHORTEST = 1e-6
"""Seconds that a search gets at least, whatever went before it."""
MOST_DELAY = 0.001
"""Seconds that a plan may take after its search; what takes longer is not the plan's fault."""


def new_counters() -> np.ndarray:
    """What a search counts at least, for `spend`: its `trials` and its primitive `steps`; shape (1,)."""
    return np.zeros(1, np.dtype((np.record, [("trials", np.int64), ("steps", np.int64)])))


def plain(record: np.record) -> SimpleNamespace:
    """A record of a search's memory as Python's own numbers: numpy takes microseconds for each field of a record."""
    assert record.dtype.names is not None
    return SimpleNamespace(**dict(zip(record.dtype.names, record.tolist(), strict=True)))


def turn_to_plan() -> Turn:
    """What a planner holds while it searches: its tree has room for one search."""
    return Turn("This planner is planning in another thread: give each thread a planner of its own.")


def check_situation(
    task: Task, belief: Belief | np.ndarray, context: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The particles of a belief and the context as kernels take them, or a ValueError that says what is wrong."""
    if isinstance(belief, Belief):
        known = belief.context if context is None else check_vector(context, task.context_size, "context")
        if not np.array_equal(known, belief.context):
            raise ValueError(
                f"The belief has the context {belief.context.tolist()}, not {known.tolist()}: leave the context out, "
                "or tell the belief with change_context."
            )
        return check_particles(task, belief.particles), check_vector(known, task.context_size, "context")
    if context is None and task.context_size > 0:
        raise ValueError("Particles do not know their context: give it to the planner as well, or a Belief.")
    known = np.zeros(0) if context is None else context
    return check_particles(task, belief), check_vector(known, task.context_size, "context")


def check_macro_actions(task: Task, macro_actions: MacroActions) -> MacroActions:
    """The macro-actions, or a ValueError if they are not of the task's kind."""
    if macro_actions.actions.shape[2] != task.action_size:
        raise ValueError(
            f"An action of {task_name(task)} has {task.action_size} numbers, but the macro-action set has "
            f"{macro_actions.actions.shape[2]} an action."
        )
    return macro_actions


class Punctuality:
    """Lets searches end so much before their deadline as it takes to make plans of them: longer than one would think,
    since after a search no cache of the processor holds anything of Python any more."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def search_budget(self, budget: Budget) -> Budget:
        """What of a budget is for the search; at least half of it."""
        if budget.seconds is None:
            return budget
        return Budget(seconds=max(0.5 * budget.seconds, budget.seconds - self._seconds))

    def plan_is_made(self, searched: float) -> None:
        """A plan is made of a search that ended at a time. A long delay, when the machine did something else, does not
        count for much."""
        self._seconds += 0.1 * (min(MOST_DELAY, time.perf_counter() - searched) - self._seconds)


def part_of(budget: Budget, share: float) -> Budget:
    """A share of a budget; at least a step."""
    if budget.seconds is not None:
        return Budget(seconds=share * budget.seconds)
    assert budget.steps is not None
    return Budget(steps=max(1, int(share * budget.steps)))


def rest_of(budget: Budget, started: float) -> Budget:
    """What is left of a budget that has been spent since a time; always something."""
    if budget.seconds is None:
        return budget
    return Budget(seconds=max(_SHORTEST, budget.seconds - (time.perf_counter() - started)))


def deadline_of(budget: Budget, started: float) -> int:
    """When a budget will be spent, for compiled code; see `core/clock.py`."""
    return FOREVER if budget.seconds is None else deadline_after(started + budget.seconds - time.perf_counter())


def spend(budget: Budget, started: float, counters: np.ndarray, extend: Callable[[int], bool]) -> bool:
    """Extend a search until its budget is spent; whether it finished before.

    `extend` runs it until so many primitive steps are simulated in all, and tells whether it is finished; `counters`,
    shape (1,), count its `trials`, of which there is always one, and its `steps`.
    """
    if budget.seconds is None:
        assert budget.steps is not None
        return extend(budget.steps)
    trials, steps = counters["trials"], counters["steps"]
    deadline, slice_steps, finished = started + budget.seconds, FIRST_SLICE, False
    now = time.perf_counter()
    while not finished and (trials[0] == 0 or now < deadline):
        before, began = int(steps[0]), now
        finished = extend(before + slice_steps)
        now = time.perf_counter()
        steps_per_second = (int(steps[0]) - before) / max(now - began, 1e-9)
        slice_steps = max(1, int(steps_per_second * min(SLICE_SECONDS, deadline - now)))
    return finished
