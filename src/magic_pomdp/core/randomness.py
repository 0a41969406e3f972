"""Counter-based random streams.

A stream is one 64-bit counter in an array of shape (1,). Each draw advances the counter by a fixed odd number and
scrambles it (SplitMix64), so a stream is a pure function of where its counter starts: there is no global generator,
and the same key gives the same numbers in every process, compiled or not.

    random = new_stream(seed, episode)      # in Python
    x = uniform(random); y = normal(random) # in a task, compiled or not
"""

import math
import operator

import numpy as np
from numba import config, njit

from magic_pomdp.core.caching import keep

U64 = np.uint64
GOLDEN = U64(0x9E3779B97F4A7C15)
TIME_STRIDE = U64(0xD1342543DE82EF95)
"""Distance between the streams of two successive time steps; unrelated to GOLDEN, so they do not overlap."""

if config.DISABLE_JIT:
    np.seterr(over="ignore")  # 64-bit hashing wraps on purpose: numpy warns of it, compiled code does not


@keep
@njit
def mix(z):
    """Scramble 64 bits: every input bit changes every output bit with probability one half."""
    z = (z ^ (z >> U64(30))) * U64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U64(27))) * U64(0x94D049BB133111EB)
    return z ^ (z >> U64(31))


@keep
@njit
def derive(key, number):
    """The key of the `number`-th child of `key`."""
    return mix(mix(key) + (U64(number) + U64(1)) * GOLDEN)


@keep
@njit
def next_bits(random):
    """64 random bits."""
    random[0] += GOLDEN
    return mix(random[0])


@keep
@njit
def uniform(random):
    """A number in [0, 1)."""
    return (next_bits(random) >> U64(11)) * (1.0 / 9007199254740992.0)


@keep
@njit
def integer(random, count):
    """A whole number in 0 … count − 1."""
    return int(uniform(random) * count)


def _ziggurat_tables():
    """Edges x_i, heights exp(−x_i²/2) and ratios x_{i+1}/x_i of 256 layers of equal area (Marsaglia & Tsang)."""
    tail, area = 3.6541528853610088, 0.00492867323399
    edges = np.zeros(257)
    edges[0] = area / math.exp(-0.5 * tail * tail)
    edges[1] = tail
    for i in range(2, 256):
        edges[i] = math.sqrt(-2.0 * math.log(area / edges[i - 1] + math.exp(-0.5 * edges[i - 1] ** 2)))
    return edges, np.exp(-0.5 * edges**2), edges[1:] / edges[:-1]


_EDGES, _HEIGHTS, _RATIOS = _ziggurat_tables()
_TAIL = 3.6541528853610088


@keep
@njit
def normal(random):
    """A number from the standard normal distribution (ziggurat: one multiplication in 99 of 100 draws)."""
    while True:
        bits = next_bits(random)
        layer = bits & U64(255)
        side = (bits >> U64(11)) * (2.0 / 9007199254740992.0) - 1.0
        x = side * _EDGES[layer]
        if abs(side) < _RATIOS[layer]:
            return x
        if layer == U64(0):
            return _normal_tail(random, side)
        low, high = _HEIGHTS[layer], _HEIGHTS[layer + U64(1)]
        if low + uniform(random) * (high - low) < math.exp(-0.5 * x * x):
            return x


@keep
@njit
def four_normals(random):
    """The next four numbers of `normal`. Nearly always each takes one draw, so they can be worked out side by side."""
    start = random[0]
    x, in_x = _first_layer_draw(start + GOLDEN)
    y, in_y = _first_layer_draw(start + U64(2) * GOLDEN)
    z, in_z = _first_layer_draw(start + U64(3) * GOLDEN)
    w, in_w = _first_layer_draw(start + U64(4) * GOLDEN)
    if in_x & in_y & in_z & in_w:
        random[0] = start + U64(4) * GOLDEN
        return x, y, z, w
    return normal(random), normal(random), normal(random), normal(random)


@keep
@njit
def _first_layer_draw(counter):
    """The number that `normal` gives if its first draw is this one, and whether it does not need another."""
    bits = mix(counter)
    layer = bits & U64(255)
    side = (bits >> U64(11)) * (2.0 / 9007199254740992.0) - 1.0
    return side * _EDGES[layer], abs(side) < _RATIOS[layer]


@keep
@njit
def _normal_tail(random, side):
    """A draw from beyond the outermost layer, on the side of the given sign."""
    while True:
        beyond = -math.log(1.0 - uniform(random)) / _TAIL
        if -2.0 * math.log(1.0 - uniform(random)) > beyond * beyond:
            return _TAIL + beyond if side > 0.0 else -_TAIL - beyond


@keep
@njit
def seek(random, key, time):
    """Put the stream at the numbers that belong to `key` at time step `time`."""
    random[0] = key + U64(time) * TIME_STRIDE


def check_seed(seed: int | np.uint64, name: str = "seed") -> int:
    """The seed, or a ValueError: what is not a whole number of 64 bits would be taken for another seed."""
    try:
        number = operator.index(seed)
    except TypeError:
        raise ValueError(f"The {name} must be a whole number, not {seed!r}.") from None
    if number < 0:
        raise ValueError(f"The {name} must be at least 0, not {number}.")
    if number >= 2**64:
        raise ValueError(f"The {name} must be below 2^64, not {number}.")
    return number


def stream_key(seed: int | np.uint64, *path: int) -> np.uint64:
    """The key that belongs to a seed and a path of numbers below it (episode, purpose, plan…)."""
    key = U64(check_seed(seed))
    for number in path:
        key = U64(derive(key, number))  # compiled code hands 64 bits back as a Python integer
    return U64(mix(key))


def new_stream(seed: int | np.uint64, *path: int) -> np.ndarray:
    """A stream of its own for a seed and a path of numbers; shape (1,)."""
    return np.array([stream_key(seed, *path)], dtype=np.uint64)
