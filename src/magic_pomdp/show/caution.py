"""What figures do not say: sentences that stand below a table, and "" where there is nothing to be said."""

from collections.abc import Iterable

from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.running.difference import Difference
from magic_pomdp.show.words import budget_words, label_of, number_words

ENOUGH_FAILURES = 5
"""Of one of two planners: from so many on, a standard error holds what failures do."""
ENOUGH_EPISODES = 500
"""With none of so many failed, at most 0.6 % fail."""
_UNSEEN = 3.0
"""The rule of three: of n episodes none failed; with 95 % certainty, the rate is at most 3/n."""
_LATE, _LATE_SECONDS = 1.5, 0.005
"""Plans are late that take so many times their budget, and so many seconds more."""


def few_failures(found: Difference) -> bool:
    """Whether a difference's standard error knows little of failures. Tasks of which no episode succeeds have none."""
    ends = found.successes + found.first_failures + found.second_failures
    return ends > 0 and max(found.first_failures, found.second_failures) < ENOUGH_FAILURES


def failure_caution(found: Difference) -> str:
    """That failures which were not seen are not in the error, and how many there may still be."""
    if not few_failures(found):
        return ""
    more = f"; run {ENOUGH_EPISODES} episodes or more" if found.episodes < ENOUGH_EPISODES else ""
    if found.first_failures or found.second_failures:
        cost = "" if found.failure_costs is None else f", and one costs about {number_words(found.failure_costs, 0)}"
        return (
            f"Few failures seen: {found.first_failures} and {found.second_failures} in {found.episodes} episodes{cost}."
            f" The error above says little of how often each fails{more}."
        )
    return (
        f"No failure seen: with {found.episodes} episodes, up to {_UNSEEN / found.episodes:.1%} may still fail, and "
        f"the error above does not hold that{more}."
    )


def mismatch_caution(first: Evaluation, second: Evaluation, found: Difference) -> str:
    """That two evaluations had other budgets, or other numbers of episodes."""
    parts = []
    if first.budget != second.budget:
        parts.append(f"budgets differ ({budget_words(first.budget)}, {budget_words(second.budget)})")
    if (first.episodes, second.episodes) != (found.episodes, found.episodes):
        parts.append(f"only the {found.episodes} episodes that they share count")
    words = "; ".join(parts)
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def difference_cautions(first: Evaluation, others: Iterable[tuple[Evaluation, Difference]]) -> list[str]:
    """All that differences do not say, a line each; each says of whom, if there are several."""
    others = list(others)
    lines = []
    for other, found in others:
        who = f"{label_of(other)}: " if len(others) > 1 else ""
        lines += [who + line for line in (mismatch_caution(first, other, found), failure_caution(found)) if line]
    return list(dict.fromkeys(lines))


def late_caution(evaluations: Iterable[Evaluation]) -> str:
    """That plans took much longer than their budget."""
    late = []
    for one in evaluations:
        seconds = None if one.budget is None else one.budget.seconds
        if seconds and one.plan_seconds_p99 > max(_LATE * seconds, seconds + _LATE_SECONDS):
            late.append((one.plan_seconds_p99 / seconds, one.plan_seconds_p99, seconds))
    if not late:
        return ""
    _, taken, seconds = max(late)
    return (
        f"Plans were late (99 % within {1000 * taken:.0f} ms for a budget of {1000 * seconds:g} ms): the machine was "
        "busy. Compare with --steps, or on a quiet machine."
    )
