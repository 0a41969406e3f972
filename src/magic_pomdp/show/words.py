"""Names and numbers as people write them."""

import math

from magic_pomdp.planners.plan import Budget
from magic_pomdp.planners.registry import planner_label
from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.training import AblationRow


def label_of(evaluation: Evaluation) -> str:
    """The planner of an evaluation as it is written."""
    return evaluation.label or planner_label(evaluation.planner)


def lengths_words(evaluation: Evaluation) -> str:
    """Lengths of the macro-actions, of a handcrafted set of several such as 16/6/2; else the longest one's. "" for a
    planner without macro-actions."""
    longest, shorter = evaluation.macro_length, evaluation.settings.get("shorter")
    if longest is None:
        return ""
    others = {int(one) for one in str(shorter).split(",") if one.isdecimal() and len(one) < 9 and int(one) < longest}
    return "/".join(map(str, (longest, *sorted(others, reverse=True))))


def number_words(number: float, digits: int | None = None) -> str:
    """Three digits, or none behind the point of a large number; with a real minus sign."""
    if digits is None:
        digits = 0 if abs(number) >= 100 else 1 if abs(number) >= 10 else 2
    return f"{number:,.{digits}f}".replace("-", "−")


def mean_words(mean: float, error: float, digits: int | None = None) -> str:
    """A mean and its standard error, with as many digits as two of the error's need."""
    if digits is None:
        digits = max(0, 1 - math.floor(math.log10(error))) if error > 0.0 else None
    return f"{number_words(mean, digits)} ± {number_words(error, digits)}"


def score_words(mean: float, error: float) -> str:
    """A mean return and its standard error: a digit behind the point, and two of an error that has none otherwise."""
    return f"{number_words(mean, 1)} ± {number_words(error, 1 if error >= 0.1 else 2)}"


def gain_words(row: AblationRow) -> str:
    """What a rung gains over the one before, with its sign; "" where there is none."""
    if row.gain is None or row.gain_stderr is None:
        return ""
    return f"{'+' if row.gain >= 0.0 else ''}{mean_words(row.gain, row.gain_stderr, 1)}"


def budget_words(budget: Budget | None) -> str:
    """A budget as it is said."""
    if budget is None:
        return "none"
    return f"{budget.steps:,} steps" if budget.steps else f"{budget.seconds:g} s"
