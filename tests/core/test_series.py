import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magic_pomdp.core.series import (
    arccosine,
    arcsine,
    direction,
    exponential,
    logarithm,
    power_series,
    sin_cos,
    sin_cos_within,
)

pytestmark = pytest.mark.jit_off


@settings(deadline=None)  # the first call compiles
@given(st.floats(-10.0, 10.0))
def test_sine_and_cosine_are_the_librarys(angle):
    assert sin_cos(angle) == pytest.approx((math.sin(angle), math.cos(angle)), abs=1e-12)


@settings(deadline=None)  # the first call compiles
@given(st.floats(-0.5 * math.pi, 0.5 * math.pi))
def test_they_are_without_half_turns(angle):
    assert sin_cos_within(angle) == pytest.approx((math.sin(angle), math.cos(angle)), abs=1e-12)


@settings(deadline=None)  # the first call compiles
@given(st.floats(0.0, 1.0))
def test_a_direction_is_a_unit_vector_of_its_heading(turn):
    heading = 2.0 * math.pi * turn
    assert direction(turn) == pytest.approx((math.cos(heading), math.sin(heading)), abs=1e-13)


@settings(deadline=None)  # the first call compiles
@given(st.floats(-1.0, 1.0))
def test_arcsine_is_the_librarys(sine):
    assert arcsine(sine) == pytest.approx(math.asin(sine), abs=1e-12)


@settings(deadline=None)  # the first call compiles
@given(st.floats(-1.0, 1.0))
def test_arccosine_is_the_librarys(cosine):
    assert arccosine(cosine) == pytest.approx(math.acos(cosine), abs=1e-12)


@settings(deadline=None)  # the first call compiles
@given(st.floats(-700.0, 700.0))
def test_exponential_is_the_librarys(x):
    assert exponential(x) == pytest.approx(math.exp(x), rel=1e-12)


def test_an_exponential_beyond_all_numbers_is_the_nearest_that_there_is():
    assert exponential(-1e9) == pytest.approx(math.exp(-708.0), rel=1e-12)
    assert exponential(1e9) == pytest.approx(math.exp(708.0), rel=1e-12)


@settings(deadline=None)  # the first call compiles
@given(st.floats(1e-300, 1e300))
def test_logarithm_is_the_librarys(x):
    assert logarithm(x) == pytest.approx(math.log(x), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    "bound", [0.5 * math.pi, 1.5 * math.pi, 0.5 * math.log(2.0), 1.5 * math.log(2.0), math.sqrt(2.0)]
)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_where_another_part_begins_nothing_jumps(bound, sign):
    for x in (sign * bound, sign * math.nextafter(bound, 9.0), sign * math.nextafter(bound, 0.0)):
        assert sin_cos(x) == pytest.approx((math.sin(x), math.cos(x)), abs=1e-12)
        assert exponential(x) == pytest.approx(math.exp(x), rel=1e-12)
        assert logarithm(abs(x)) == pytest.approx(math.log(abs(x)), abs=1e-12)
    assert arcsine(sign * math.nextafter(0.5, 1.0)) == pytest.approx(sign * math.pi / 6, abs=1e-12)


def test_a_power_series_is_its_sum():
    assert power_series((1.0, 2.0, 3.0, 4.0), 0.5) == 1.0 + 2.0 * 0.5 + 3.0 * 0.25 + 4.0 * 0.125
