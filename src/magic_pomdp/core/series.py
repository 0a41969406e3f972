"""Sine, cosine, arcsine, arccosine and exponential where a step's time is theirs: power series, to about 1e-11.

A library's function is a call, and a long chain of operations in which each waits for the one before. A series of
fixed length is compiled into the step itself, and its even and odd halves run side by side. Arguments outside the
range in which it converges fast go to the library.
"""

import math

import numpy as np
from numba import njit
from numpy.polynomial import Chebyshev, Polynomial

SIN = tuple((-1.0) ** i / math.factorial(2 * i + 1) for i in range(10))
COS = tuple((-1.0) ** i / math.factorial(2 * i) for i in range(10))
ARCSINE = tuple(math.comb(2 * i, i) / (4.0**i * (2 * i + 1)) for i in range(16))
EXPONENTIAL = tuple(1.0 / math.factorial(i) for i in range(16))
"""Coefficients of sin(x) / x, cos(x) and arcsin(x) / x in powers of x², and of exp(x) in powers of x."""
SMALL, FEW, SOME = 0.3, 6, 12
"""Of an angle up to this, so few coefficients give sine and cosine as well; of twice this, so many the exponential."""


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
def sin_cos(angle):
    """Sine and cosine of an angle; by series within ±π/2."""
    square = angle * angle
    if square < SMALL * SMALL:
        return angle * power_series(SIN[:FEW], square), power_series(COS[:FEW], square)
    if square > 2.5:
        return math.sin(angle), math.cos(angle)
    return angle * power_series(SIN, square), power_series(COS, square)


@fused
def arccosine(cosine):
    """The angle from 0 to π that has this cosine."""
    size = abs(cosine)
    angle = math.sqrt(1.0 - size) * power_series(ARCCOSINE, size)
    return angle if cosine >= 0.0 else math.pi - angle


@fused
def arcsine(sine):
    """The angle in ±π/2 that has this sine."""
    square = sine * sine
    if square > 0.25:
        return 0.5 * math.pi - arccosine(sine)
    return sine * power_series(ARCSINE, square)


@fused
def exponential(x):
    """exp(x); by series within ±2."""
    if abs(x) > 2.0:
        return math.exp(x)
    root = power_series(EXPONENTIAL[:SOME], 0.5 * x) if abs(x) < 2.0 * SMALL else power_series(EXPONENTIAL, 0.5 * x)
    return root * root


@fused
def direction(turn):
    """Cosine and sine of a heading from 0 to 1 turn: of half of it by series, and doubled."""
    sin, cos = sin_cos(math.pi * (turn - 0.5))
    return (sin - cos) * (sin + cos), -2.0 * sin * cos
