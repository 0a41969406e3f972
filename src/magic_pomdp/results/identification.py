"""Parameters of a task, fitted to what was tried in the world that its planner will meet."""

from typing import Annotated

import msgspec

from magic_pomdp.core.randomness import check_seed
from magic_pomdp.results.base import Amount, Count, Label, Name, Scalar, Stored


class FittedParameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of the task, as the trials tell it."""

    name: Name
    model: float
    """What it is in the task as it ships."""
    value: float
    stderr: Amount
    """Standard error of the value."""
    about: Label = ""
    """What it means, in a few words."""


class Identification(Stored, frozen=True, kw_only=True, tag="identification"):
    """What trials in another world tell of a task's parameters."""

    task: Name
    world: Label
    """In which world the trials were made."""
    world_settings: dict[str, Scalar] = msgspec.field(default_factory=dict)
    seed: int | None = None
    """What all chance of the trials followed from; None of trials that were recorded elsewhere."""
    trials: Count
    parameters: Annotated[tuple[FittedParameter, ...], msgspec.Meta(min_length=1)]
    measured: dict[str, float] = msgspec.field(default_factory=dict)
    """What else was measured, by what it is."""

    def __post_init__(self) -> None:
        if self.seed is not None:
            check_seed(self.seed)
        names = [one.name for one in self.parameters]
        if len(set(names)) < len(names):
            raise ValueError("A parameter comes twice.")

    def values(self) -> dict[str, float]:
        """The fitted values by the parameters' names."""
        return {one.name: one.value for one in self.parameters}
