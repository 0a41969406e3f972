"""How an episode stands."""

import enum
from typing import Any, Literal

from numba import types
from numba.core.imputils import lower_cast


class Outcome(enum.IntEnum):
    """How an episode stands after a step. Compiled functions use it as they would use whole numbers."""

    RUNNING = 0
    """The episode goes on."""
    SUCCESS = 1
    """The episode has ended well."""
    FAILURE = 2
    """The episode has ended badly."""

    @property
    def word(self) -> Literal["unfinished", "success", "failure"]:
        """What results call it: an episode that nobody has ended is "unfinished"."""
        return _WORDS[self]


_WORDS: dict[Outcome, Literal["unfinished", "success", "failure"]] = {
    Outcome.RUNNING: "unfinished",
    Outcome.SUCCESS: "success",
    Outcome.FAILURE: "failure",
}


@lower_cast(types.IntEnumMember, types.Float)
def _as_float(context: Any, builder: Any, member: Any, number: Any, value: Any) -> Any:
    """Numba turns members into whole numbers; states, in which outcomes are kept, are made of floats."""
    return context.cast(builder, value, member.dtype, number)
