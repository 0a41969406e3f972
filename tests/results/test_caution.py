"""What figures do not say stands below their tables."""

import pytest
from small_results import a_record, an_evaluation

from magic_pomdp import Budget
from magic_pomdp.running.difference import difference
from magic_pomdp.show.caution import difference_cautions, failure_caution, late_caution


def evaluated(*returns, **changes):
    """Failures return less than nothing, and what is None has not ended."""
    ends = {True: "success", False: "failure", None: "unfinished"}
    records = tuple(
        a_record(i, total_return=one or 0.0, outcome=ends[None if one is None else one > 0])
        for i, one in enumerate(returns)
    )
    return an_evaluation(records=records, **changes)


def test_failures_that_were_not_seen_may_still_be():
    one, other = evaluated(*[97.0] * 30), evaluated(*[96.0] * 30)
    assert failure_caution(difference(one, other)) == (
        "No failure seen: with 30 episodes, up to 10.0% may still fail, and the error above does not hold that; "
        "run 500 episodes or more."
    )
    one, other = evaluated(*[97.0] * 500), evaluated(*[96.0] * 500)
    assert failure_caution(difference(one, other)).endswith(
        "up to 0.6% may still fail, and the error above does not hold that."
    )


def test_few_failures_tell_little():
    one, other = evaluated(*[100.0] * 19, -100.0), evaluated(*[96.0] * 20)
    assert failure_caution(difference(one, other)) == (
        "Few failures seen: 1 and 0 in 20 episodes, and one costs about 198. The error above says little of how often "
        "each fails; run 500 episodes or more."
    )


@pytest.mark.parametrize("second", [(-100.0,) * 5 + (96.0,) * 5, (None,) * 10])
def test_who_often_fails_or_never_ends_is_told_nothing(second):
    one = evaluated(*([97.0] * 10 if second[0] else second))
    assert failure_caution(difference(one, evaluated(*second))) == ""


def test_other_budgets_and_numbers_of_episodes_are_told():
    one = evaluated(*[97.0, -1.0] * 15, budget=Budget(seconds=0.1))
    other = evaluated(*[96.0, -1.0] * 10, budget=Budget(seconds=0.003), label="Other")
    (line,) = difference_cautions(one, [(other, difference(one, other))])
    assert line == "Budgets differ (0.1 s, 0.003 s); only the 20 episodes that they share count."
    twice = [(other, difference(one, other)), (one, difference(one, one))]
    assert difference_cautions(one, twice) == [f"Other: {line}"]


def test_late_plans_are_told():
    late = an_evaluation(budget=Budget(seconds=0.003), plan_seconds_p99=0.043)
    assert late_caution([late]) == (
        "Plans were late (99 % within 43 ms for a budget of 3 ms): the machine was busy. Compare with --steps, or on a "
        "quiet machine."
    )
    for seconds, taken in ((0.003, 0.0079), (0.1, 0.149)):
        assert late_caution([an_evaluation(budget=Budget(seconds=seconds), plan_seconds_p99=taken)]) == ""
    assert late_caution([an_evaluation(budget=None), an_evaluation()]) == ""
