"""Other worlds by the task that is their model. A world is one entry; the commands ask here, and know none by name."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from magic_pomdp.core.settings import Settings
from magic_pomdp.core.task import Task
from magic_pomdp.results.identification import FittedParameter
from magic_pomdp.running.world import World, WorldFactory
from magic_pomdp.transfer.trials import Trials

_SHIPPED = {
    "crowd-driving": "magic_pomdp.transfer.sumo.entry:JUNCTION",
    "puck-push": "magic_pomdp.transfer.table.entry:TABLE",
}
"""Where the other worlds that come with the package are, by the task's name."""

OnProgress = Callable[[int], None]
"""What is told the number of trials that are finished."""


@dataclass(frozen=True)
class OtherWorld:
    """A world other than a task's own simulator, in which what was planned with the task as the model really happens.
    Its module imports nothing that an extra brings: only `make` and `run_trials` do."""

    task: str
    """Name of the task that is the model."""
    label: str
    """What the world is, in a few words."""
    settings: type[Settings]
    """What can be set about the world. Each setting becomes an option of the commands."""
    missing: Callable[[], str]
    """A sentence that says what to install, "" if all is there."""
    make: Callable[[Task, Any], World]
    """Makes the world for a task, with settings of its kind."""
    columns: tuple[str, ...]
    """Of its trials."""
    usual_trials: int
    """How many trials tell the parameters well enough."""
    run_trials: Callable[[Task, Any, int, int, OnProgress], Trials]
    """Makes trials in the world: the task, settings, how many, a seed, and whom to tell of progress."""
    fit: Callable[[Task, Trials], tuple[FittedParameter, ...]]
    """The task's parameters as trials tell them; a ValueError says why they do not."""
    assumed: Mapping[str, float] = field(default_factory=dict)
    """Parameters of the task that no trial tells, but who plans in this world should set, fitted or not."""

    def factory(self, settings: Settings | None = None, identified: str = "") -> WorldFactory:
        """What makes the world for an evaluation, and where the task's parameters come from if they were fitted to the
        world; a ValueError if a part is not installed."""
        self.check_installed()
        return WorldFactory(self.label, settings or self.settings(), self.make, identified)

    def check_installed(self) -> None:
        """A ValueError that says what to install, if something is missing."""
        if sentence := self.missing():
            raise ValueError(sentence)


def other_worlds() -> tuple[str, ...]:
    """The tasks that have another world."""
    return tuple(_SHIPPED)


def find_other_world(task: str) -> OtherWorld:
    """The other world of a task, by the task's name."""
    if task not in _SHIPPED:
        raise ValueError(f"There is no other world for {task!r}: there is one for {', '.join(_SHIPPED)}.")
    module, _, name = _SHIPPED[task].partition(":")
    found: OtherWorld = getattr(importlib.import_module(module), name)
    return found
