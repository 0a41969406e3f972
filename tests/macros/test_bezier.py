"""Curves against dense sampling, degenerate curves, bad input, and reference outputs where they are at hand."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from magic_pomdp.macros import decode_bezier

pytestmark = pytest.mark.jit_off


def dense_curve(parameters, samples):
    t = np.linspace(0.0, 1.0, samples + 1)[:, None]
    first, second, third = parameters.reshape(3, 2)
    return 3 * (1 - t) ** 2 * t * first + 3 * (1 - t) * t**2 * second + t**3 * third


def march(curve, chord, length):
    """Indices at which chords end on a densely sampled curve."""
    ends = [0]
    while len(ends) <= length:
        outside = np.hypot(*(curve[ends[-1] :] - curve[ends[-1]]).T) >= chord
        if not outside.any():
            break
        ends.append(ends[-1] + int(outside.argmax()))
    return ends


def brute_force(parameters, length):
    """The longest chord that fits `length` times, by trying chords from the longest down; then bisection."""
    curve = dense_curve(parameters, 20_000)
    long = np.hypot(*np.diff(curve, axis=0).T).sum() / length
    short = long
    while len(march(curve, short, length)) <= length:
        long, short = short, 0.97 * short
    for _ in range(30):
        middle = 0.5 * (long + short)
        if len(march(curve, middle, length)) <= length:
            long = middle
        else:
            short = middle
    chords = np.diff(curve[march(curve, short, length)], axis=0)
    return np.arctan2(chords[:, 1], chords[:, 0])


def angle_between(a, b):
    return np.abs(np.angle(np.exp(1j * (a - b))))


@pytest.mark.parametrize("length", [1, 2, 5, 8])
def test_agrees_with_dense_sampling(length):
    parameters = np.random.default_rng(length).normal(size=(12, 6))
    decoded = decode_bezier(parameters, length)
    errors = [angle_between(decoded[i], brute_force(parameters[i], length)).max() for i in range(12)]
    assert np.median(errors) < 1e-3
    assert max(errors) < 0.03  # where a circle only touches the curve, the touching point is ill-conditioned


def test_agrees_with_reference_outputs():
    folder = os.environ.get("MAGIC_POMDP_VECTORS")
    if folder is None:
        pytest.skip("MAGIC_POMDP_VECTORS does not name a folder with reference outputs")
    for vector in json.loads(Path(folder, "bezier.json").read_text())["vectors"]:
        decoded = decode_bezier(np.array([vector["params"]]), vector["n"])[0]
        assert angle_between(decoded, np.array(vector["angles"])).max() < 5e-3


def test_a_straight_line_keeps_its_heading():
    headings = decode_bezier(np.array([[1.0, 1.0, 2.0, 2.0, 3.0, 3.0]]), 6)
    np.testing.assert_allclose(headings, np.pi / 4, atol=1e-9)


def test_the_scale_does_not_matter():
    parameters = np.random.default_rng(3).normal(size=(4, 6))
    for scale in (1e-200, 1e-3, 1e200):
        np.testing.assert_allclose(decode_bezier(scale * parameters, 8), decode_bezier(parameters, 8), atol=1e-6)


@pytest.mark.parametrize(
    "control",
    [
        [0, 0, 0, 0, 0, 0],
        [1, 2, 1, 2, 1, 2],
        [1, 0, -1, 0, 0, 0],  # there and back to where it began
        [1, 0, 1, 0, 0, 0],
        [1, 1, -1, 1, 0, 0],  # a loop
        [1, 1, 0, 1, 1, 0],  # a cusp
        [0, 0, 0, 0, 1e-300, 0],
    ],
)
def test_degenerate_curves_still_give_actions(control):
    for length in (1, 3, 8, 40):
        headings = decode_bezier(np.array([control], dtype=float), length)
        assert headings.shape == (1, length)
        assert np.isfinite(headings).all()


@settings(max_examples=150, deadline=None)
@given(arrays(float, (2, 6), elements=st.floats(-1e6, 1e6)), st.integers(1, 12))
def test_any_numbers_give_actions(parameters, length):
    headings = decode_bezier(parameters, length)
    assert headings.shape == (2, length)
    assert (np.abs(headings) <= np.pi).all()


@pytest.mark.parametrize(
    ("parameters", "length", "message"),
    [
        (np.zeros((2, 5)), 3, "shape"),
        (np.zeros(6), 3, "shape"),
        (np.zeros((0, 6)), 3, "empty"),
        (np.full((1, 6), np.nan), 3, "NaN"),
        (np.ones((1, 6)), 0, "length 1"),
    ],
)
def test_bad_input_is_refused(parameters, length, message):
    with pytest.raises(ValueError, match=message):
        decode_bezier(parameters, length)
