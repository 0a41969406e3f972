"""What every planner is given and gives back: a budget, and a plan."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.task import Task
from magic_pomdp.planners.explaining import Explanation, explain

GAP_CLOSED, BUDGET_USED, TREE_FULL, STILL_SEARCHING = "gap closed", "budget used", "tree full", "still searching"

MOST_STEPS = 10**15
"""Of a budget: more than a search can take in a year."""


@dataclass(frozen=True)
class Budget:
    """How long a search may last: in seconds (real time) or in primitive steps (the same on every machine)."""

    seconds: float | None = None
    """Of real time, from the call to the plan."""
    steps: int | None = None
    """Primitive steps to simulate; results repeat with them."""

    def __post_init__(self) -> None:
        if (self.seconds is None) == (self.steps is None):
            given = "neither" if self.seconds is None else "both"
            raise ValueError(f"A budget is either seconds or primitive steps, but {given} were given.")
        if self.seconds is not None and not 0.0 < self.seconds < math.inf:
            raise ValueError(f"A budget in seconds must be positive, not {self.seconds}.")
        if self.steps is not None and not self.steps > 0:
            raise ValueError(f"A budget in primitive steps must be positive, not {self.steps}.")
        if self.steps is not None and self.steps % 1 != 0:
            raise ValueError(f"A budget in primitive steps must be a whole number, not {self.steps}.")
        if self.steps is not None and self.steps > MOST_STEPS:
            raise ValueError(f"A budget in primitive steps must be at most {MOST_STEPS}, not {self.steps}.")
        object.__setattr__(self, "seconds", None if self.seconds is None else float(self.seconds))
        object.__setattr__(self, "steps", None if self.steps is None else int(self.steps))

    def __str__(self) -> str:
        return f"{self.steps}steps" if self.seconds is None else f"{self.seconds:g}s"


def budget_or(budget: Budget | None, otherwise: Budget | None) -> Budget:
    """The budget, or another where none is given; a ValueError if that is no budget."""
    chosen = otherwise if budget is None else budget
    if not isinstance(chosen, Budget):
        raise ValueError(f"A budget is Budget(seconds=0.1) or Budget(steps=100_000), not {chosen!r}.")
    return chosen


@dataclass(frozen=True)
class Plan:
    """The result of a search."""

    macro_action: np.ndarray
    """The chosen macro-action; shape (length, action_size)."""
    choice: int
    """Its number in the macro-action set or, if there is none, among the actions that the search has tried."""
    value: float
    """What it is expected to earn: the lower bound of the best policy found, corrected by a second look at it, if there
    was one; or, from a planner without bounds, the mean of what it earned in the search."""
    lower: float | None
    """Lower bound at the root; None from a planner that has no bounds."""
    upper: float | None
    """Upper bound at the root; None from a planner that has no bounds."""
    trials: int
    """Trials, or simulations, from the root."""
    nodes: int
    """Belief nodes that were expanded; from a planner that expands none, all of them."""
    depth: int
    """Deepest belief node that a trial visited, in primitive steps from the root."""
    steps: int
    """Primitive steps simulated."""
    seconds: float
    """Time from call to return."""
    stopped_by: str
    """"budget used", "gap closed" (nothing more to gain), "tree full"; "still searching" of a robot's best so far."""
    values: np.ndarray | None = None
    """What each macro-action of the set, or each action that the search has tried, is expected to earn; shape
    (count,). −∞ for one that the deadline kept from being looked at."""
    uppers: np.ndarray | None = None
    """Upper bound of each of them; None from a planner that has no bounds."""
    macro_actions: MacroActions | None = None
    """The macro-action set, or the actions that the search has tried."""
    tree: object | None = None
    """The search tree as the planner keeps it, if it was asked for."""

    def __repr__(self) -> str:
        """In a line, without the arrays."""
        length, size = self.macro_action.shape
        bounds = "" if self.lower is None or self.upper is None else f" in [{self.lower:.4g}, {self.upper:.4g}]"
        return (
            f"Plan(macro-action {self.choice} of {length} actions of {size} numbers, value {self.value:.4g}{bounds}, "
            f"{self.steps:,} steps in {self.seconds:.3g} s, {self.stopped_by})"
        )

    @property
    def cut_short(self) -> bool:
        """Whether the search ended early because its memory was full; the plan is valid all the same."""
        return self.stopped_by == TREE_FULL

    def explain(self) -> Explanation:
        """Why this macro-action: what each other one would lose, and what might still be better. `print` it to read it
        in words; its `alternatives` are the same as data."""
        return explain(self)


class Planner(Protocol):
    """Anything that chooses a macro-action for a belief of a task.

    A planner may have more, which is used where it is there: `budget`, of a plan unless told otherwise; `settings`,
    which results keep; `macro_actions`, its set, or `macro_length`; `tree_view()`, which shows the last search; and
    `go_on(budget)`, which searches on where the last plan stopped, so that a robot can ask for the best plan so far.
    """

    task: Task

    def plan(
        self,
        belief: Belief | np.ndarray,
        context: np.ndarray | None = None,
        *,
        budget: Budget | None = None,
        seed: int | np.uint64 = 0,
    ) -> Plan:
        """Choose a macro-action for a belief, which knows its context, or for its particles, shape (n, state_size), in
        a context. Chance comes from the seed alone."""
        ...
