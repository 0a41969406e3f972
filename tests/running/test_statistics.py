import math

import pytest

from magic_pomdp.running.statistics import mean, percentile, standard_error


def test_mean_and_standard_error_by_hand():
    values = [2.0, 4.0, 4.0, 6.0]  # squares of deviations: 4 + 0 + 0 + 4; variance 8/3
    assert mean(values) == 4.0
    assert standard_error(values) == pytest.approx(math.sqrt(8.0 / 3.0) / 2.0, abs=1e-15)


@pytest.mark.parametrize("values", [[], [7.0]])
def test_standard_error_is_zero_below_two_values(values):
    assert standard_error(values) == 0.0


def test_nothing_has_mean_and_percentile_zero():
    assert mean([]) == 0.0
    assert percentile([], 99) == 0.0


def test_percentiles_by_hand():
    assert percentile([3.0, 1.0, 2.0], 50) == 2.0
    assert percentile([0.0, 10.0], 99) == pytest.approx(9.9)
