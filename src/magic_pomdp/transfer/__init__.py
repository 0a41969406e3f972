"""Transfer: other worlds than a task's own simulator, and tasks fitted to them."""

from typing import TYPE_CHECKING

from magic_pomdp._lazy import lazy_names

if TYPE_CHECKING:
    from magic_pomdp.transfer.identifying import identify as identify
    from magic_pomdp.transfer.identifying import shipped_identification as shipped_identification
    from magic_pomdp.transfer.registry import OtherWorld as OtherWorld
    from magic_pomdp.transfer.registry import find_other_world as find_other_world
    from magic_pomdp.transfer.registry import other_worlds as other_worlds
    from magic_pomdp.transfer.trials import Trials as Trials
    from magic_pomdp.transfer.trials import read_trials as read_trials
    from magic_pomdp.transfer.trials import write_trials as write_trials

__all__ = [
    "OtherWorld",
    "Trials",
    "find_other_world",
    "identify",
    "other_worlds",
    "read_trials",
    "shipped_identification",
    "write_trials",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "transfer.identifying": ("identify", "shipped_identification"),
        "transfer.registry": ("OtherWorld", "find_other_world", "other_worlds"),
        "transfer.trials": ("Trials", "read_trials", "write_trials"),
    },
)
