"""The functions of a task that compiled code calls, in one table: compiling, checking and the docs follow from it.

What each of them is for, and what it is given, its method in `Task` tells.
"""

import enum
from dataclasses import dataclass


class Returned(enum.Enum):
    """What a function returns."""

    NOTHING = enum.auto()
    NUMBER = enum.auto()
    """A finite number."""
    LOGARITHM = enum.auto()
    """ln of a density or a probability: a number below infinity."""
    KEY = enum.auto()
    """A whole number of 64 bits."""
    CHOICE = enum.auto()
    """The number of a macro-action, or −1."""
    STEP = enum.auto()
    """Reward and outcome."""
    CONDITIONED = enum.auto()
    """A logarithm, reward and outcome."""

    @property
    def count(self) -> int:
        """Numbers that are returned."""
        return {Returned.NOTHING: 0, Returned.STEP: 2, Returned.CONDITIONED: 3}.get(self, 1)


@dataclass(frozen=True)
class Function:
    """What a function of a task does with its arguments. Those that it neither fills nor changes it only reads."""

    returns: Returned = Returned.NOTHING
    fills: tuple[str, ...] = ()
    """Arguments of which it writes every element; what they held before means nothing."""
    changes: tuple[str, ...] = ()
    """Arguments that it may change."""
    required: bool = False
    """Whether every task writes its own. The others have defaults that do for most tasks."""


FUNCTIONS: dict[str, Function] = {
    "draw_context": Function(fills=("context",), changes=("random",)),
    "draw_state": Function(fills=("state",), changes=("random",), required=True),
    "step": Function(Returned.STEP, fills=("observation",), changes=("state", "random"), required=True),
    "step_unobserved": Function(Returned.STEP, changes=("state", "random", "unseen")),
    "draw_noise": Function(fills=("noise",), changes=("random",)),
    "step_with_noise": Function(Returned.STEP, changes=("state",)),
    "log_likelihood": Function(Returned.LOGARITHM, required=True),
    "condition": Function(Returned.CONDITIONED, changes=("state", "random", "imagined")),
    "observation_key": Function(Returned.KEY),
    "upper_bound": Function(Returned.NUMBER, required=True),
    "bound_within": Function(Returned.NUMBER),
    "value_beyond": Function(Returned.NUMBER),
    "draw_action": Function(fills=("action",), changes=("random",)),
    "rollout_action": Function(fills=("action",), changes=("random",)),
    "guide": Function(Returned.CHOICE),
    "particle_features": Function(fills=("features",)),
    "context_features": Function(fills=("features",)),
    "state_distance": Function(Returned.NUMBER),
}
"""By name; the order is that of the code's fingerprint."""
