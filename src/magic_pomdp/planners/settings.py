"""What all planners' settings have in common."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from magic_pomdp.core.settings import Settings

if TYPE_CHECKING:
    from magic_pomdp.core.task import Task


class CannotPlan(ValueError):
    """A planner lacks something that it needs to plan in a task."""


@dataclass(frozen=True)
class PlannerSettings(Settings):
    """What can be set about a planner. Derive from it, with a `setting(…)` for each."""

    def length(self, task: "Task") -> int:
        """Length of the planner's macro-actions in a task, from which its time follows; CannotPlan if something that it
        needs there is missing. A setting called `macro_length` can also be changed on the live page."""
        return 1
