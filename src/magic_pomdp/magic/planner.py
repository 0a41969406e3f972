"""MAGIC as a planner: parameters, from a trained generator, make the macro-actions for each belief; Macro-DESPOT plans
with them. A robot acts with the generator's mean, training with samples around it; all else is the same."""

import dataclasses
import time
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.settings import SettingValue, setting
from magic_pomdp.core.task import Task
from magic_pomdp.macros.spaces import MacroSpace
from magic_pomdp.macros.variations import Variations
from magic_pomdp.magic.generator import Features, Generator
from magic_pomdp.magic.model import Model, find_model, load_model
from magic_pomdp.planners.despot_settings import DespotSettings
from magic_pomdp.planners.macro_despot import MacroDespot
from magic_pomdp.planners.plan import Budget, Plan, budget_or
from magic_pomdp.planners.registry import PlannerEntry
from magic_pomdp.planners.search import rest_of, turn_to_plan
from magic_pomdp.planners.tree import DespotView, TreeSnapshot


@dataclass(frozen=True)
class MagicSettings(DespotSettings):
    """What can be set about MAGIC."""

    model: str = setting(
        "",
        "The trained generator: the name of one that ships, or a file.",
        default_words="the best that ships for the task",
    )

    @classmethod
    def advised(cls, task: Task, **changes: SettingValue) -> Self:
        """What a task advises and, if a model is named, what its training has set of the search; some of it changed."""
        model = changes.get("model")
        trained = load_model(str(model)).searching if model else {}
        return super().advised(task, **{**trained, **changes})

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
    thread is refused."""

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
        self._turn = turn_to_plan()

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
            started, budget = time.perf_counter(), budget_or(budget, self.budget)
            parameters = self.source(belief, context, seed)
            macro_actions = self.source.space.decode(parameters)
            variations = Variations.of_parameters(self.source.space, parameters, macro_actions)
            plan = self._despot.plan(
                belief,
                context,
                macro_actions=macro_actions,
                variations=variations,
                budget=rest_of(budget, started),
                seed=seed,
                keep_tree=keep_tree,
            )
            return dataclasses.replace(plan, seconds=time.perf_counter() - started)

    def go_on(self, budget: Budget, *, keep_tree: bool = False) -> Plan:
        """Search on where the last plan stopped. The new plan counts the steps of both, and the seconds of this one."""
        with self._turn:
            return self._despot.go_on(budget, keep_tree=keep_tree)

    def last_tree(self) -> TreeSnapshot:
        """The search tree of the last plan, in place: the next plan overwrites it."""
        return self._despot.last_tree()

    def tree_view(self) -> DespotView:
        """The search tree of the last plan, to be looked at."""
        return self._despot.tree_view()


MAGIC = PlannerEntry("magic", "MAGIC", MagicSettings, MagicPlanner)
