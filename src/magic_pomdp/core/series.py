"""Sine, cosine, arcsine, arccosine, exponential and logarithm where a step's time is theirs: power series, to 1e-11.

A library's function is a call, and a long chain of operations in which each waits for the one before. A series of
fixed length is compiled into the step itself, and its even and odd halves run side by side. Arguments are first brought
to where it converges fast, without a branch and without a call: so a processor can work on several at a time.
"""

import math

import numpy as np
from numba import njit
from numpy.polynomial import Chebyshev, Polynomial

SIN = tuple((-1.0) ** i / math.factorial(2 * i + 1) for i in range(10))
COS = tuple((-1.0) ** i / math.factorial(2 * i) for i in range(10))
ARCSINE = tuple(math.comb(2 * i, i) / (4.0**i * (2 * i + 1)) for i in range(18))
EXPONENTIAL = tuple(1.0 / math.factorial(i) for i in range(12))
LOGARITHM = tuple(1.0 / (2 * i + 1) for i in range(8))
"""Coefficients of sin(x) / x, cos(x), arcsin(x) / x and artanh(x) / x in powers of x², and of exp(x) in powers of x."""
LN2, LOG2_E = math.log(2.0), 1.0 / math.log(2.0)
WHOLE = 1.5 * 2.0**52
"""Numbers near it are whole, and their last bits are those of a whole number."""
MANTISSA, BIAS = 52, 1023
"""Bits of a number after those of its power of 2, and the power that stands for 1."""
ROOT_HALF = int(np.float64(math.sqrt(0.5)).view(np.int64))
"""The bits of √½."""
LARGEST_POWER = 708.0
"""Of e, that is still a number."""

__all__ = [
    "arccosine",
    "arcsine",
    "direction",
    "exponential",
    "logarithm",
    "power_series",
    "sin_cos",
    "sin_cos_within",
]


def _fit_arccosine() -> tuple[float, ...]:
    """Of arccos(x) / √(1 − x), which is smooth, for x from 0 to 1."""
    fitted = Chebyshev.interpolate(lambda x: np.arccos(x) / np.sqrt(1.0 - x), 15, domain=[0.0, 1.0])
    return tuple(fitted.convert(kind=Polynomial).coef.tolist())


ARCCOSINE = _fit_arccosine()

fused = njit(fastmath={"contract"})
"""A multiplication and the addition after it may be one operation, rounded once."""


@fused
def power_series(coefficients, x):
    """Σ coefficients[i] xⁱ; an even number of them."""
    square, even, odd = x * x, 0.0, 0.0
    for i in range(len(coefficients) - 2, -1, -2):
        even = even * square + coefficients[i]
        odd = odd * square + coefficients[i + 1]
    return even + x * odd


@fused
def sin_cos_within(angle):
    """Sine and cosine of an angle within ±π/2."""
    square = angle * angle
    return angle * power_series(SIN, square), power_series(COS, square)


@fused
def sin_cos(angle):
    """Sine and cosine of any angle: of what is left of it after half turns, each of which changes the sign of both."""
    half_turns = math.floor(angle * (1.0 / math.pi) + 0.5)
    sign = 1.0 - 2.0 * (half_turns - 2.0 * math.floor(0.5 * half_turns))
    sin, cos = sin_cos_within(angle - half_turns * math.pi)
    return sign * sin, sign * cos


@fused
def arccosine(cosine):
    """The angle from 0 to π that has this cosine."""
    size = abs(cosine)
    angle = math.sqrt(1.0 - size) * power_series(ARCCOSINE, size)
    return angle if cosine >= 0.0 else math.pi - angle


@fused
def arcsine(sine):
    """The angle in ±π/2 that has this sine: by series up to 1/2, and beyond by what is missing to a right angle."""
    size = abs(sine)
    beyond = size > 0.5
    square = 0.5 - 0.5 * size if beyond else size * size
    angle = (math.sqrt(square) if beyond else size) * power_series(ARCSINE, square)
    return math.copysign(0.5 * math.pi - 2.0 * angle if beyond else angle, sine)


@fused
def exponential(x):
    """exp(x), between the smallest and the largest number that there is: a power of 2, made of bits, times a series."""
    x = max(-LARGEST_POWER, min(LARGEST_POWER, x))
    shifted = x * LOG2_E + WHOLE
    power = np.int64((np.float64(shifted).view(np.int64) + BIAS) << MANTISSA).view(np.float64)
    return power * power_series(EXPONENTIAL, x - (shifted - WHOLE) * LN2)


@fused
def logarithm(x):
    """ln(x) of a positive number: of its power of 2 and, by series, of what is left, from √½ to √2."""
    bits = np.float64(x).view(np.int64)
    doublings = (bits - ROOT_HALF) >> MANTISSA
    rest = np.int64(bits - (doublings << MANTISSA)).view(np.float64)
    ratio = (rest - 1.0) / (rest + 1.0)
    return doublings * LN2 + 2.0 * ratio * power_series(LOGARITHM, ratio * ratio)


@fused
def direction(turn):
    """Cosine and sine of a heading from 0 to 1 turn: of half of it by series, and doubled."""
    sin, cos = sin_cos(math.pi * (turn - 0.5))
    return (sin - cos) * (sin + cos), -2.0 * sin * cos
