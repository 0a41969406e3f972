"""Names and numbers as people write them."""

from typing import Any

PLANNER_NAMES = {"magic": "MAGIC", "macro-despot": "Macro-DESPOT", "despot": "DESPOT", "pomcpow": "POMCPOW"}


def planner_name(name: str) -> str:
    """A planner as it is written."""
    return PLANNER_NAMES.get(name, name)


def number_words(number: float, digits: int | None = None) -> str:
    """Three digits, or none behind the point of a large number; with a real minus sign."""
    if digits is None:
        digits = 0 if abs(number) >= 100 else 1 if abs(number) >= 10 else 2
    return f"{number:,.{digits}f}".replace("-", "−")


def budget_words(budget: dict[str, Any] | None) -> str:
    """A budget, as results store it."""
    if not budget:
        return "none"
    return f"{budget['steps']:,} steps" if budget.get("steps") else f"{budget['seconds']:g} s"
