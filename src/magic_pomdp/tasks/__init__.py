"""Tasks: what there is to write one, and to be known by name."""

from typing import TYPE_CHECKING

from magic_pomdp._lazy import lazy_names

if TYPE_CHECKING:
    from magic_pomdp.core.belief import BeliefSettings as BeliefSettings
    from magic_pomdp.core.compiling import not_inlined as not_inlined
    from magic_pomdp.core.registry import register_task as register_task
    from magic_pomdp.core.registry import task_names as task_names

__all__ = [
    "BeliefSettings",
    "not_inlined",
    "register_task",
    "task_names",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "core.belief": ("BeliefSettings",),
        "core.compiling": ("not_inlined",),
        "core.registry": (
            "register_task",
            "task_names",
        ),
    },
)
