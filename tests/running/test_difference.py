import math

import pytest
from small_results import a_record, an_evaluation

from magic_pomdp.running.difference import difference


def evaluation(returns, first=0, **changes):
    records = tuple(
        a_record(first + i, total_return=value, outcome="success" if value > 0 else "failure")
        for i, value in enumerate(returns)
    )
    return an_evaluation(**{"task": "some", "task_parameters": {"noise": 0.5}, "records": records, **changes})


def test_episodes_are_compared_one_by_one():
    found = difference(evaluation([10.0, 4.0, -2.0, 99.0]), evaluation([-3.0, 1.0, 1.0], first=1))
    assert found.episodes == 3
    assert (found.first, found.second) == (pytest.approx(101.0 / 3.0), pytest.approx(-1.0 / 3.0))
    # by hand: 7, −3 and 98, which are −27, −37 and 64 off their mean
    assert found.mean == pytest.approx(34.0)
    assert found.stderr == pytest.approx(math.sqrt((27.0**2 + 37.0**2 + 64.0**2) / 6.0))
    assert found.standard_errors == pytest.approx(found.mean / found.stderr)
    assert (found.only_first, found.only_second) == (1, 1)


def test_equal_differences_have_no_error():
    assert difference(evaluation([2.0, 3.0]), evaluation([1.0, 2.0])).standard_errors == math.inf
    assert difference(evaluation([2.0, 3.0]), evaluation([2.0, 3.0])).standard_errors == 0.0


def test_an_older_result_may_lack_a_parameter():
    assert difference(evaluation([1.0, 2.0]), evaluation([1.0, 2.0], task_parameters={})).mean == 0.0


def test_a_parameter_does_not_hide_the_seed():
    one, other = ({"task_parameters": {"seed": 1, "task": "x"}, "seed": seed} for seed in (3, 4))
    with pytest.raises(ValueError, match=r"another seed each \(3 and 4\)"):
        difference(evaluation([1.0, 2.0], **one), evaluation([1.0, 2.0], **other))


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"seed": 4}, "another seed each \\(3 and 4\\)"),
        ({"task": "else"}, "another task each \\(some and else\\), .* keeps its name"),
        ({"task_parameters": {"noise": 0.1}}, "another noise each \\(0.5 and 0.1\\)"),
        ({"records": ()}, "0 episodes in common"),
    ],
)
def test_what_does_not_compare_is_refused(other, sentence):
    with pytest.raises(ValueError, match=sentence):
        difference(evaluation([1.0, 2.0]), evaluation([1.0, 2.0], **other))
