"""Why a plan is what it is: what each alternative would lose, and what might still be better."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from magic_pomdp.planners.plan import Plan

SHOWN = 5
"""Alternatives that words tell of."""
NO_DIFFERENCE = 1e-9
"""Values that are nearer to each other than this are the same."""


@dataclass(frozen=True, eq=False)
class Alternative:
    """A macro-action that could have been chosen."""

    number: int
    """Its number in the macro-action set."""
    actions: np.ndarray
    """Its primitive actions; shape (length, action_size)."""
    value: float | None
    """What the search expects it to earn; None if there was no time to look at it."""
    loses: float | None
    """How much less that is than the chosen one is expected to earn."""
    upper: float | None
    """What it could earn at most; None from a planner that has no bounds."""
    ruled_out: bool
    """Whether its upper bound says that it cannot be better than what the search has found."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a macro-action was chosen: as data, and with `str` or `print` in words."""

    plan: "Plan"
    alternatives: tuple[Alternative, ...]
    """All others, the best first."""

    @property
    def searched_value(self) -> float | None:
        """What the search alone expects of the chosen one, without a second look."""
        return _known(self.plan.values, self.plan.choice)

    def __str__(self) -> str:
        return "\n".join([*self._choice(), *self._others(), *self._search()])

    def _choice(self) -> list[str]:
        plan, searched = self.plan, self.searched_value
        words = [f"Chosen: {_name(plan.choice, plan.macro_action)}. It is expected to earn {plan.value:.4g}."]
        if searched is not None and abs(searched - plan.value) > NO_DIFFERENCE:
            words.append(
                f"The search alone expects {searched:.4g} of it; a second look or its default policy, the rest."
            )
        return words

    def _others(self) -> list[str]:
        if not self.alternatives:
            return ["There was no other, or the planner tells nothing of others."]
        seen = [other for other in self.alternatives if other.loses is not None]
        words = [f"  {_name(other.number, other.actions)}: {_how_good(other)}." for other in seen[:SHOWN]]
        if len(seen) > SHOWN:
            words.append(f"  … and {len(seen) - SHOWN} that are worth no more than these.")
        if len(seen) < len(self.alternatives):
            words.append(f"Not looked at before the deadline: {len(self.alternatives) - len(seen)}.")
        ruled_out = sum(other.ruled_out for other in seen)
        if ruled_out:
            words.append(f"{ruled_out} of {len(self.alternatives)} others cannot be better, say their upper bounds.")
        return words

    def _search(self) -> list[str]:
        plan = self.plan
        bounds = "" if plan.lower is None or plan.upper is None else f", between {plan.lower:.4g} and {plan.upper:.4g}"
        return [
            f"The search looked {plan.depth} steps ahead{bounds}, in {plan.seconds:.3g} s and {plan.steps:,} simulated "
            f"steps. How it stands: {plan.stopped_by}."
        ]


def explain(plan: "Plan") -> Explanation:
    """Why a plan is what it is; see `Plan.explain`."""
    macro_actions, values = plan.macro_actions, plan.values
    if macro_actions is None or values is None:
        return Explanation(plan, ())
    others = []
    for number in range(len(macro_actions)):
        if number != plan.choice:
            actions = macro_actions.actions[number, : macro_actions.lengths[number]]
            value, upper = _known(values, number), _known(plan.uppers, number)
            loses = None if value is None else plan.value - value
            others.append(Alternative(number, actions, value, loses, upper, _is_ruled_out(plan, loses, upper)))
    return Explanation(plan, tuple(sorted(others, key=lambda other: (other.loses is None, other.loses))))


def _is_ruled_out(plan: "Plan", loses: float | None, upper: float | None) -> bool:
    if plan.lower is None or upper is None or loses is None:
        return False
    return upper <= plan.lower + NO_DIFFERENCE and loses >= -NO_DIFFERENCE


def _known(numbers: np.ndarray | None, index: int) -> float | None:
    """A value or bound, if there is one."""
    if numbers is None or not 0 <= index < len(numbers) or not np.isfinite(numbers[index]):
        return None
    return float(numbers[index])


def _how_good(other: Alternative) -> str:
    assert other.loses is not None
    if other.loses < -NO_DIFFERENCE:
        return f"looked {-other.loses:.4g} better in the search, but not at a second look"
    if other.loses <= NO_DIFFERENCE:
        return "as good"
    if other.ruled_out or other.upper is None:
        return f"loses {other.loses:.4g}"
    return f"loses {other.loses:.4g}, as far as the search went; at most {other.upper:.4g}"


def _name(number: int, actions: np.ndarray) -> str:
    first = ", ".join(f"{round(float(component), 3) + 0.0:g}" for component in actions[0])
    return f"macro-action {number} ({len(actions)} {'step' if len(actions) == 1 else 'steps'}, the first ({first}))"
