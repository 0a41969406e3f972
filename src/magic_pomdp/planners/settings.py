"""What all planners' settings have in common."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from magic_pomdp.core.settings import Settings, setting

if TYPE_CHECKING:
    from magic_pomdp.core.task import Task


DEEPEST_SEARCH = 10_000
"""Most primitive steps that a search looks ahead, and that a macro-action lasts: one trial is then over in a moment."""


def room_for_nodes(default: int) -> Any:
    """The setting of a tree's size. Nodes, and branches, are counted in 32 bits."""
    about = "Room for belief nodes; a search that fills it ends early and says so."
    return setting(default, about, short="nodes", at_least=1, at_most=100_000_000)


class CannotPlan(ValueError):
    """A planner lacks something that it needs to plan in a task."""


@dataclass(frozen=True)
class PlannerSettings(Settings):
    """What can be set about a planner. Derive from it, with a `setting(…)` for each."""

    def length(self, task: "Task") -> int:
        """Length of the planner's macro-actions in a task, from which its time follows; CannotPlan if something that it
        needs there is missing. A setting called `macro_length` can also be changed on the live page."""
        return 1
