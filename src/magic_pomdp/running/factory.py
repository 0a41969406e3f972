"""Planners to order: a name, a budget, and what is set otherwise than the task advises."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from magic_pomdp.core.settings import SettingValue, setting_kinds, settings_of
from magic_pomdp.core.task import Task
from magic_pomdp.planners.plan import Budget, Planner
from magic_pomdp.planners.registry import DEFAULT_PLANNER, PlannerEntry, find_planner, planner_names
from magic_pomdp.planners.settings import CannotPlan, PlannerSettings


@dataclass(frozen=True)
class PlannerFactory:
    """A planner by name. Called with a task, it makes the planner; it can be sent to other processes."""

    planner: str = DEFAULT_PLANNER
    """The planner's name or, of one's own, its place: my_file.py:MyPlanner."""
    budget: Budget | None = None
    """Of each plan (default: the seconds that the task has for a macro-action of the planner's length)."""
    overrides: Mapping[str, SettingValue] = field(default_factory=dict)
    """Settings that are other than the task advises, by name."""

    def __post_init__(self) -> None:
        known, kinds = settings_of(self.entry.settings), setting_kinds(self.entry.settings)
        for name, value in self.overrides.items():
            if name not in known:
                raise ValueError(f"The setting {name} does not belong to {self.name}, which has {', '.join(known)}.")
            known[name].check(name, kinds[name], value)

    def __call__(self, task: Task) -> Planner:
        return self.entry.build(task, self.settings_for(task), self.budget_for(task))

    @cached_property
    def entry(self) -> PlannerEntry:
        """What the registry knows of it."""
        return find_planner(self.planner)

    @property
    def name(self) -> str:
        """What results call it."""
        return self.entry.name

    @property
    def label(self) -> str:
        """How people write it."""
        return self.entry.label

    def settings_for(self, task: Task) -> PlannerSettings:
        """Its settings in a task."""
        return self.entry.settings.advised(task, **self.overrides)

    def length_in(self, task: Task) -> int:
        """Length of its macro-actions in a task; a ValueError says why it cannot plan there."""
        return self.settings_for(task).length(task)

    def budget_for(self, task: Task) -> Budget:
        """Budget of a plan in a task."""
        return self.budget or Budget(seconds=task.plan_seconds(self.length_in(task)))


def able_planners(task: Task) -> tuple[str, ...]:
    """The planners that can plan in a task: one that needs something trained, only if that ships for the task."""
    able = []
    for name in planner_names():
        try:
            PlannerFactory(name).length_in(task)
        except CannotPlan:
            continue
        able.append(name)
    return tuple(able)
