"""MAGIC as a planner: parameters, from a trained generator, make the macro-actions for each belief; Macro-DESPOT plans
with them. A robot acts with the generator's mean, training with samples around it; all else is the same."""

import dataclasses
import math
import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.settings import setting
from magic_pomdp.core.task import Task
from magic_pomdp.macros.spaces import MacroSpace
from magic_pomdp.magic.generator import Features, Generator
from magic_pomdp.magic.model import Model, find_model
from magic_pomdp.planners.macro_despot import DespotSettings, MacroDespot
from magic_pomdp.planners.plan import Budget, Plan
from magic_pomdp.planners.registry import PlannerEntry
from magic_pomdp.planners.search import check_situation, turn_to_plan
from magic_pomdp.planners.tree import DespotView, TreeSnapshot

_SHORTEST = 1e-6
"""Seconds that a search gets at least, when making the macro-actions has used up the budget."""


@dataclass(frozen=True)
class MagicSettings(DespotSettings):
    """What can be set about MAGIC."""

    model: str = setting(
        "",
        "The trained generator: the name of one that ships, or a file.",
        default_words="the best that ships for the task",
    )
    fallback_below: float | None = setting(
        None,
        "If learned macro-actions find less than this in half of a budget, the rest is for the primitive actions, and "
        "the better of both plans counts: a robot that is stuck may need a move that no training has shown.",
        short="fallback",
        default_words="never",
    )

    def length(self, task: Task) -> int:
        return find_model(task, self.model).macro_length


class ParameterSource(Protocol):
    """Where the parameters of a macro-action set come from."""

    space: MacroSpace
    """What they become."""

    def __call__(
        self, belief: Belief | np.ndarray, context: np.ndarray | None, seed: int | np.uint64 = 0
    ) -> np.ndarray:
        """The parameters for a belief (or its particles) in a context, shape (count, size)."""


class MeanParameters:
    """A trained model's mean parameters: those to act with."""

    def __init__(self, task: Task, model: Model) -> None:
        self.model, self.space = model, model.space_for(task)
        self._generator = Generator(model.shape, model.weights)
        self._features = Features(task, model.shape)

    def __call__(
        self, belief: Belief | np.ndarray, context: np.ndarray | None, seed: int | np.uint64 = 0
    ) -> np.ndarray:
        return self._generator.mean(*self._features(belief, context))


class MagicPlanner:
    """Macro-DESPOT with learned macro-actions. Use one planner for many plans, but not for two at a time; a second
    thread is refused.

    With a `fallback_below` there is a pause after half of the budget: see MagicSettings. If the learned macro-actions
    have found enough, their search goes on.
    """

    def __init__(
        self,
        task: Task,
        settings: MagicSettings | None = None,
        budget: Budget | None = None,
        source: ParameterSource | None = None,
    ) -> None:
        """Plan for a task with settings (what the task advises), a budget (0.1 s), and parameters from a source (the
        mean of the model that the settings name)."""
        self.task = task
        chosen = settings or MagicSettings.advised(task)
        if source is None:
            source = MeanParameters(task, find_model(task, chosen.model))
            chosen = dataclasses.replace(chosen, model=source.model.label)
        self.source = source
        self.macro_length = source.space.length
        self._despot = MacroDespot(task, source.space.decode(source.space.start), chosen, budget)
        self.settings, self.budget = self._despot.settings, self._despot.budget
        self._enough = -math.inf if chosen.fallback_below is None else chosen.fallback_below
        self._primitive: MacroDespot | None = None
        if chosen.fallback_below is not None:
            self._primitive = MacroDespot(task, MacroActions.repeat(task.actions(), 1), chosen)
        self._share = 1.0 if self._primitive is None else 0.5
        self._primitive_plan: Plan | None = None
        self._last = self._despot
        self._situation: tuple[np.ndarray, np.ndarray, int | np.uint64] | None = None
        self._turn = turn_to_plan()
        self.searched: Plan | None = None
        """What the last search found with the learned macro-actions, whatever came of the primitive ones."""

    def generate(self, belief: Belief | np.ndarray, context: np.ndarray | None = None) -> MacroActions:
        """The macro-actions for a belief (or its particles) in a context; in well under a millisecond."""
        with self._turn:
            return self.source.space.decode(self.source(belief, context))

    def plan(
        self,
        belief: Belief | np.ndarray,
        context: np.ndarray | None = None,
        *,
        budget: Budget | None = None,
        seed: int | np.uint64 = 0,
        keep_tree: bool = False,
    ) -> Plan:
        """Choose a macro-action, as `MacroDespot.plan` does. Making the set counts towards a budget in seconds."""
        with self._turn:
            return self._plan(belief, context, budget or self.budget, seed, keep_tree)

    def _plan(
        self,
        belief: Belief | np.ndarray,
        context: np.ndarray | None,
        budget: Budget,
        seed: int | np.uint64,
        keep_tree: bool,
    ) -> Plan:
        started = time.perf_counter()
        macro_actions = self.source.space.decode(self.source(belief, context, seed))
        plan = self._despot.plan(
            belief,
            context,
            macro_actions=macro_actions,
            budget=_rest(budget, self._share, started, 0),
            seed=seed,
            keep_tree=keep_tree,
        )
        self._last, self.searched, self._primitive_plan = self._despot, plan, None
        if self._primitive is not None:
            particles, known = check_situation(self.task, belief, context)
            self._situation = particles.copy(), known.copy(), seed
            plan = self._second_half(plan, budget, started, 0, keep_tree)
        return dataclasses.replace(plan, seconds=time.perf_counter() - started)

    def go_on(self, budget: Budget, *, keep_tree: bool = False) -> Plan:
        """Search on where the last plan stopped. The new plan counts the steps of both, and the seconds of this one."""
        with self._turn:
            started, before = time.perf_counter(), 0 if self.searched is None else self.searched.steps
            plan = self._despot.go_on(_rest(budget, self._share, started, 0), keep_tree=keep_tree)
            self._last, self.searched = self._despot, plan
            if self._primitive is not None:
                plan = self._second_half(plan, budget, started, before, keep_tree)
            return dataclasses.replace(plan, seconds=time.perf_counter() - started)

    def _second_half(self, plan: Plan, budget: Budget, started: float, before: int, keep_tree: bool) -> Plan:
        """Spend what is left of a budget after its first half, before which the learned macro-actions had so many
        steps: on them if they have found enough, else on the primitive actions. The better of both plans."""
        assert self._primitive is not None
        assert self._situation is not None
        rest = _rest(budget, 1.0, started, plan.steps - before)
        if plan.value >= self._enough:
            plan = self.searched = self._despot.go_on(rest, keep_tree=keep_tree)
        elif self._primitive_plan is None:
            particles, context, seed = self._situation
            self._primitive_plan = self._primitive.plan(particles, context, budget=rest, seed=seed, keep_tree=keep_tree)
        else:
            self._primitive_plan = self._primitive.go_on(rest, keep_tree=keep_tree)
        if self._primitive_plan is None:
            return plan
        steps = plan.steps + self._primitive_plan.steps
        if self._primitive_plan.value > plan.value:
            plan, self._last = self._primitive_plan, self._primitive
        return dataclasses.replace(plan, steps=steps)

    def last_tree(self) -> TreeSnapshot:
        """The search tree of the last plan, in place: the next plan overwrites it."""
        return self._last.last_tree()

    def tree_view(self) -> DespotView:
        """The search tree of the last plan, to be looked at."""
        return self._last.tree_view()


def _rest(budget: Budget, share: float, started: float, steps: int) -> Budget:
    """What is left of a share of a budget, some of which is spent; always something."""
    if budget.seconds is not None:
        return Budget(seconds=max(_SHORTEST, share * budget.seconds - (time.perf_counter() - started)))
    assert budget.steps is not None
    return Budget(steps=max(1, int(share * budget.steps) - steps))


MAGIC = PlannerEntry("magic", "MAGIC", MagicSettings, MagicPlanner)
