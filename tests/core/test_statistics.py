import math

import numpy as np
import pytest

from magic_pomdp.core.statistics import RunningMean, mean, percentile, standard_error


def test_mean_and_standard_error_by_hand():
    values = [2.0, 4.0, 4.0, 6.0]  # squares of deviations: 4 + 0 + 0 + 4; variance 8/3
    assert mean(values) == 4.0
    assert standard_error(values) == pytest.approx(math.sqrt(8.0 / 3.0) / 2.0, abs=1e-15)


@pytest.mark.parametrize("values", [[], [7.0]])
def test_standard_error_is_zero_below_two_values(values):
    assert standard_error(values) == standard_error(values, [3.0] * len(values)) == 0.0


@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_a_running_mean_is_that_of_all_values(count):
    values, running = np.random.default_rng(count).normal(1e6, 3.0, count).tolist(), RunningMean()
    for value in values:
        running.add(value)
    assert running.mean == pytest.approx(mean(values), rel=1e-12)
    assert running.standard_error == pytest.approx(standard_error(values), rel=1e-6)


def test_weighted_mean_by_hand():
    assert mean([1.0, 0.2], [1.0, 9.0]) == pytest.approx(0.28)
    assert mean([], []) == 0.0


def test_equal_weights_change_nothing():
    values = [2.0, 4.0, 4.0, 6.0]
    assert mean(values, [3.0] * 4) == pytest.approx(mean(values))
    assert standard_error(values, [3.0] * 4) == pytest.approx(standard_error(values))


def test_the_error_of_a_weighted_mean_is_how_much_it_varies_between_samples():
    random = np.random.default_rng(0)
    weights = random.integers(1, 150, (2_000, 200))
    values = random.random((2_000, 200)) + 5.0 / weights
    samples = list(zip(values, weights, strict=True))
    told = np.mean([standard_error(*sample) for sample in samples])
    assert told == pytest.approx(np.std([mean(*sample) for sample in samples]), rel=0.06)


def test_nothing_has_mean_and_percentile_zero():
    assert mean([]) == 0.0
    assert percentile([], 99) == 0.0


def test_percentiles_by_hand():
    assert percentile([3.0, 1.0, 2.0], 50) == 2.0
    assert percentile([0.0, 10.0], 99) == pytest.approx(9.9)
