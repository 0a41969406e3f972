import numpy as np
import pytest
from numba import njit
from scipy import stats

from magic_pomdp.core.randomness import four_normals, integer, new_stream, normal, seek, stream_key, uniform


@njit
def sample(random, count):
    uniforms, normals, integers = np.empty(count), np.empty(count), np.empty(count)
    for i in range(count):
        uniforms[i], normals[i], integers[i] = uniform(random), normal(random), integer(random, 7)
    return uniforms, normals, integers


@pytest.fixture(scope="module")
def draws():
    return sample(new_stream(5, 1), 400_000)


def test_uniforms_are_uniform(draws):
    assert stats.kstest(draws[0], "uniform").pvalue > 1e-4
    assert draws[0].min() >= 0.0
    assert draws[0].max() < 1.0


def test_normals_are_normal_far_into_the_tails(draws):
    normals = draws[1]
    assert stats.kstest(normals, "norm").pvalue > 1e-4
    for edge in (2.0, 3.0, 3.6541528853610088, 4.0):  # the third is where the ziggurat's tail begins
        expected = 2 * stats.norm.sf(edge) * len(normals)
        assert abs((np.abs(normals) > edge).sum() - expected) < 5 * np.sqrt(expected)
    assert abs((normals > 0).mean() - 0.5) < 5 * 0.5 / np.sqrt(len(normals))


def test_integers_cover_their_range_evenly(draws):
    counts = np.bincount(draws[2].astype(int), minlength=7)
    assert len(counts) == 7
    assert stats.chisquare(counts).pvalue > 1e-4


def test_draws_of_one_stream_are_not_correlated(draws):
    for values in draws[:2]:
        for lag in (1, 2, 17):
            correlation = np.corrcoef(values[:-lag], values[lag:])[0, 1]
            assert abs(correlation) < 5 / np.sqrt(len(values))


@pytest.mark.jit_off
def test_a_stream_is_a_function_of_its_path():
    assert stream_key(1, 2, 3) == stream_key(1, 2, 3)
    keys = {int(stream_key(seed, a, b)) for seed in range(10) for a in range(10) for b in range(10)}
    assert len(keys) == 1000
    assert int(stream_key(0)) != int(stream_key(0, 0))
    with pytest.raises(ValueError, match="The seed must be at least 0, not -1"):
        stream_key(-1)  # once the same as 2^64 − 1


@pytest.mark.jit_off
def test_numbers_are_the_same_on_every_machine():
    random = new_stream(42, 7)
    assert [uniform(random), normal(random), integer(random, 100)] == [0.1824044952925108, 0.6410131936956004, 23]


def test_neighbouring_times_and_scenarios_are_independent():
    random = np.empty(1, np.uint64)
    values = np.empty((200, 200))
    for k in range(200):
        for time in range(200):
            seek(random, stream_key(9, k), time)
            values[k, time] = uniform(random)
    assert stats.kstest(values.ravel(), "uniform").pvalue > 1e-4
    for shifted in (values[1:] * values[:-1], values[:, 1:] * values[:, :-1]):
        assert abs(shifted.mean() - 0.25) < 5 * np.sqrt(7 / 144 / shifted.size)


def test_four_normals_are_the_next_four():
    at_once, one_by_one = new_stream(3), new_stream(3)
    for _ in range(200):
        assert four_normals(at_once) == tuple(normal(one_by_one) for _ in range(4))
        assert at_once[0] == one_by_one[0]
