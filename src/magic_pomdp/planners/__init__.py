"""Planners: those that ship, their settings, and what a planner of your own needs."""

from typing import TYPE_CHECKING

from magic_pomdp._lazy import lazy_names

if TYPE_CHECKING:
    from magic_pomdp.core.compiling import kernel as kernel
    from magic_pomdp.core.settings import Range as Range
    from magic_pomdp.core.settings import setting as setting
    from magic_pomdp.core.views import borrow as borrow
    from magic_pomdp.planners.despot_settings import DespotSettings as DespotSettings
    from magic_pomdp.planners.despot_settings import MacroDespotSettings as MacroDespotSettings
    from magic_pomdp.planners.explaining import Alternative as Alternative
    from magic_pomdp.planners.explaining import Explanation as Explanation
    from magic_pomdp.planners.macro_despot import MacroDespot as MacroDespot
    from magic_pomdp.planners.plan import Budget as Budget
    from magic_pomdp.planners.plan import Plan as Plan
    from magic_pomdp.planners.plan import Planner as Planner
    from magic_pomdp.planners.pomcpow import Pomcpow as Pomcpow
    from magic_pomdp.planners.pomcpow import PomcpowSettings as PomcpowSettings
    from magic_pomdp.planners.registry import PlannerEntry as PlannerEntry
    from magic_pomdp.planners.registry import find_planner as find_planner
    from magic_pomdp.planners.registry import planner_names as planner_names
    from magic_pomdp.planners.registry import register_planner as register_planner
    from magic_pomdp.planners.search import check_situation as check_situation
    from magic_pomdp.planners.search import new_counters as new_counters
    from magic_pomdp.planners.search import spend as spend
    from magic_pomdp.planners.settings import CannotPlan as CannotPlan
    from magic_pomdp.planners.settings import PlannerSettings as PlannerSettings
    from magic_pomdp.planners.tree_top import Seen as Seen
    from magic_pomdp.planners.tree_top import TreeView as TreeView

__all__ = [
    "Alternative",
    "Budget",
    "CannotPlan",
    "DespotSettings",
    "Explanation",
    "MacroDespot",
    "MacroDespotSettings",
    "Plan",
    "Planner",
    "PlannerEntry",
    "PlannerSettings",
    "Pomcpow",
    "PomcpowSettings",
    "Range",
    "Seen",
    "TreeView",
    "borrow",
    "check_situation",
    "find_planner",
    "kernel",
    "new_counters",
    "planner_names",
    "register_planner",
    "setting",
    "spend",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "core.compiling": ("kernel",),
        "core.settings": (
            "Range",
            "setting",
        ),
        "core.views": ("borrow",),
        "planners.explaining": (
            "Alternative",
            "Explanation",
        ),
        "planners.despot_settings": (
            "DespotSettings",
            "MacroDespotSettings",
        ),
        "planners.macro_despot": ("MacroDespot",),
        "planners.plan": (
            "Budget",
            "Plan",
            "Planner",
        ),
        "planners.pomcpow": (
            "Pomcpow",
            "PomcpowSettings",
        ),
        "planners.registry": (
            "PlannerEntry",
            "find_planner",
            "planner_names",
            "register_planner",
        ),
        "planners.search": (
            "check_situation",
            "new_counters",
            "spend",
        ),
        "planners.settings": (
            "CannotPlan",
            "PlannerSettings",
        ),
        "planners.tree_top": (
            "Seen",
            "TreeView",
        ),
    },
)
