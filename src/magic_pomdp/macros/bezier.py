"""Bezier curves cut into macro-actions.

Six numbers are the three control points of a cubic that starts at the origin. The curve is cut into exactly n chords of
equal length, each ending where the curve first leaves the circle around the chord's start; the longest such chord
is wanted, so that n chords use up the curve. Only the chords' headings matter: a curve's size does not.
"""

import math

import numpy as np

from magic_pomdp.core.compiling import compiled, kernel

_SEGMENTS = 128
"""Straight pieces that stand for a curve."""
_GROWTH = 1.125
"""Largest step in which the scale of a curve grows until it holds enough chords."""
_TOLERANCE = 1e-5
"""Relative error of the scale at which the search ends."""


def decode_bezier(parameters: np.ndarray, length: int) -> np.ndarray:
    """Headings (radians) of the primitive actions of a set of curves: (curves, 6) → (curves, length).

    The six numbers are x and y of three control points, as in a generator's output; their common scale does not matter.
    A curve that is a single point has no direction and gives heading 0.
    """
    parameters = np.ascontiguousarray(parameters, dtype=np.float64)
    if parameters.ndim != 2 or parameters.shape[1] != 6:
        raise ValueError(f"Bezier parameters have shape (curves, 6), but these have shape {parameters.shape}.")
    if len(parameters) == 0:
        raise ValueError("The macro-action set is empty: give the parameters of at least one curve.")
    if not np.isfinite(parameters).all():
        raise ValueError("The Bezier parameters contain NaN or infinity.")
    if length < 1:
        raise ValueError(f"A macro-action has at least length 1, not {length}.")
    headings = np.empty((len(parameters), length))
    _decode(parameters, headings, np.empty(6), np.empty((2, _SEGMENTS + 1)), np.empty((length, 2)))
    return headings


@kernel
def _decode(parameters, headings, control, points, chords):
    xs, ys = points[0], points[1]
    for curve in range(len(headings)):
        directed = _normalise(parameters[curve], control)
        if directed:
            _trace(control, xs, ys)
            _cut(xs, ys, chords)
        for i in range(len(chords)):
            headings[curve, i] = math.atan2(chords[i, 1], chords[i, 0]) if directed else 0.0


@compiled
def _normalise(parameters, control):
    """Scale six numbers to length 1. False if they are all zero."""
    largest, square = 0.0, 0.0
    for i in range(6):
        largest = max(largest, abs(parameters[i]))
    if largest == 0.0:
        return False
    for i in range(6):  # first by the largest number, so that no square overflows or vanishes
        control[i] = parameters[i] / largest
        square += control[i] ** 2
    for i in range(6):
        control[i] /= math.sqrt(square)
    return True


@compiled
def _trace(control, xs, ys):
    """Sample B(t) = 3(1−t)²t c₁ + 3(1−t)t² c₂ + t³ c₃ at evenly spaced t."""
    for i in range(_SEGMENTS + 1):
        t = i / _SEGMENTS
        first, second, third = 3.0 * (1.0 - t) ** 2 * t, 3.0 * (1.0 - t) * t * t, t * t * t
        xs[i] = first * control[0] + second * control[2] + third * control[4]
        ys[i] = first * control[1] + second * control[3] + third * control[5]


@compiled
def _cut(xs, ys, chords):
    """Find the smallest scale of the curve at which it holds as many unit chords as are wanted.

    Loops can make the number of chords fall again as the scale grows, so the scale grows in small steps from where it
    is surely too small; then the Illinois variant of false position, which halves the weight of an end that stays.
    """
    wanted = float(len(chords))
    arc = 0.0
    for i in range(_SEGMENTS):
        arc += math.sqrt((xs[i + 1] - xs[i]) ** 2 + (ys[i + 1] - ys[i]) ** 2)
    low = wanted / arc  # no chord is longer than its arc
    low_excess = min(_march(xs, ys, low, chords) - wanted, 0.0)
    high = _a_step_up(low, low_excess, wanted)
    high_excess = _march(xs, ys, high, chords) - wanted
    while high_excess < 0.0:
        low, low_excess, high = high, high_excess, _a_step_up(high, high_excess, wanted)
        high_excess = _march(xs, ys, high, chords) - wanted
    last_moved = 0
    while high - low > _TOLERANCE * high and high_excess > _TOLERANCE:
        middle = high - high_excess * (high - low) / (high_excess - low_excess)
        nudge = 0.5 * _TOLERANCE * high  # just beyond the root, so that the upper end arrives there
        middle = min(max(middle + nudge, low + nudge), high - nudge)
        excess = _march(xs, ys, middle, chords) - wanted
        moved = 1 if excess >= 0.0 else -1
        fade = 0.5 if moved == last_moved else 1.0
        if moved > 0:
            high, high_excess, low_excess = middle, excess, fade * low_excess
        else:
            low, low_excess, high_excess = middle, excess, fade * high_excess
        last_moved = moved
    _march(xs, ys, high, chords)


@compiled
def _a_step_up(scale, excess, wanted):
    """A larger scale: where a smooth curve would hold enough chords, or a little beyond; never far from the one before.
    Smaller chords follow a curve more closely, so their number grows a little faster than the scale."""
    enough = scale * wanted / max(1.0, wanted + excess)
    return min(_GROWTH * scale, max(enough, scale) * (1.0 + _TOLERANCE))


@compiled
def _march(xs, ys, scale, chords):
    """Lay chords along the curve. How many fit, the unused rest counted as a fraction."""
    square = 1.0 / (scale * scale)
    x, y, count = 0.0, 0.0, 0
    for ahead in range(1, _SEGMENTS + 1):
        dx, dy = xs[ahead] - x, ys[ahead] - y
        while dx * dx + dy * dy >= square:
            # Back from this sample, outside the circle around (x, y), to where the last piece crosses it.
            along_x, along_y = xs[ahead - 1] - xs[ahead], ys[ahead - 1] - ys[ahead]
            a = along_x * along_x + along_y * along_y
            b = along_x * dx + along_y * dy
            c = dx * dx + dy * dy - square
            back = c / (math.sqrt(max(0.0, b * b - a * c)) - b) if c > 0.0 else 0.0
            chords[count, 0], chords[count, 1] = dx + back * along_x, dy + back * along_y
            x, y = x + chords[count, 0], y + chords[count, 1]
            dx, dy = xs[ahead] - x, ys[ahead] - y
            count += 1
            if count == len(chords):
                return count + _distance(xs, ys, x, y) * scale
    return count + _distance(xs, ys, x, y) * scale


@compiled
def _distance(xs, ys, x, y):
    """How far the end of the curve is."""
    return math.sqrt((xs[_SEGMENTS] - x) ** 2 + (ys[_SEGMENTS] - y) ** 2)
