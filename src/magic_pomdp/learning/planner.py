"""MAGIC as a planner: a trained generator makes the macro-actions for each belief, and Macro-DESPOT plans with them."""

import dataclasses
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
    """Macro-DESPOT with learned macro-actions. Use one planner for many plans, but not for two at a time."""

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
        macro_actions = self.generate(belief, context)
        budget = budget or self.budget
        if budget.seconds is not None:
            budget = Budget(seconds=max(SHORTEST, budget.seconds - (time.perf_counter() - started)))
        plan = self._despot.plan(
            belief, context, macro_actions=macro_actions, budget=budget, seed=seed, keep_tree=keep_tree
        )
        return dataclasses.replace(plan, seconds=time.perf_counter() - started)

    def last_tree(self) -> TreeSnapshot:
        """The search tree of the last plan, in place: the next plan overwrites it."""
        return self._despot.last_tree()
