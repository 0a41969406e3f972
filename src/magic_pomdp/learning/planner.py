"""MAGIC as a planner: a trained generator makes the macro-actions for each belief, and Macro-DESPOT plans with them."""

import dataclasses
import math
import time
from pathlib import Path

import numpy as np

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.task import Task
from magic_pomdp.learning.generator import Features
from magic_pomdp.learning.model import Model, find_model
from magic_pomdp.planners.macro_despot import DespotSettings, MacroDespot
from magic_pomdp.planners.plan import Budget, Plan
from magic_pomdp.planners.tree import TreeSnapshot

SHORTEST = 1e-6
"""Seconds that a search gets at least, when making the macro-actions has used up the budget."""


class MagicPlanner:
    """Macro-DESPOT with learned macro-actions. Use one planner for many plans, but not for two at a time.

    For a task with a `doubt` there is a pause after half of the budget. If they have found less than that, the rest is
    for the primitive actions, and the better of both plans counts: a robot that is stuck may need a move that no
    training has shown. Otherwise the search goes on.
    """

    def __init__(
        self,
        task: Task,
        model: Model | str | Path | None = None,
        settings: DespotSettings | None = None,
        budget: Budget | None = None,
        macro_length: int | None = None,
    ) -> None:
        """Plan for a task with a model: its name, its file, or itself (default: the best that ships for the task, of
        the macro length if one is given), and a budget (0.1 s)."""
        self.model = model if isinstance(model, Model) else find_model(task, model, macro_length)
        self.space = self.model.space_for(task, macro_length)
        self.task = task
        self.macro_length = self.space.length
        self._despot = MacroDespot(task, self.space.decode(self.space.start), settings, budget)
        self.settings, self.budget = self._despot.settings, self._despot.budget
        self._other: MacroDespot | None = None
        if task.doubt > -math.inf:
            self._other = MacroDespot(task, MacroActions.repeat(task.actions(), 1), settings)
        self._last = self._despot
        self._generator = self.model.generator()
        self._features = Features(task, self.model.shape)

    def generate(self, belief: Belief | np.ndarray, context: np.ndarray) -> MacroActions:
        """The macro-actions for a belief (or its particles) in a context; in well under a millisecond."""
        return self.space.decode(self._generator.mean(*self._features(belief, context)))

    def plan(
        self,
        belief: Belief | np.ndarray,
        context: np.ndarray,
        *,
        budget: Budget | None = None,
        seed: int | np.uint64 = 0,
        keep_tree: bool = False,
    ) -> Plan:
        """Choose a macro-action, as `MacroDespot.plan` does. Making the set counts towards a budget in seconds."""
        started = time.perf_counter()
        macro_actions, budget = self.generate(belief, context), budget or self.budget
        share = 1.0 if self._other is None else 0.5
        plan = self._despot.plan(
            belief,
            context,
            macro_actions=macro_actions,
            budget=_rest(budget, share, started, 0),
            seed=seed,
            keep_tree=keep_tree,
        )
        self._last = self._despot
        if self._other is not None:
            rest = _rest(budget, 1.0, started, plan.steps)
            if plan.value >= self.task.doubt:
                plan = self._despot.go_on(rest, keep_tree=keep_tree)
            else:
                other = self._other.plan(belief, context, budget=rest, seed=seed, keep_tree=keep_tree)
                steps = plan.steps + other.steps
                if other.value > plan.value:
                    plan, self._last = other, self._other
                plan = dataclasses.replace(plan, steps=steps)
        return dataclasses.replace(plan, seconds=time.perf_counter() - started)

    def last_tree(self) -> TreeSnapshot:
        """The search tree of the last plan, in place: the next plan overwrites it."""
        return self._last.last_tree()


def _rest(budget: Budget, share: float, started: float, steps: int) -> Budget:
    """What is left of a share of a budget, some of which is spent; always something."""
    if budget.seconds is not None:
        return Budget(seconds=max(SHORTEST, share * budget.seconds - (time.perf_counter() - started)))
    assert budget.steps is not None
    return Budget(steps=max(1, int(share * budget.steps) - steps))
