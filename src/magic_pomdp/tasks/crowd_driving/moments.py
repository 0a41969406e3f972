"""What the other cars did at moments that a search comes back to.

A moment is a scenario at a time. Whatever the robot has done until then, its noise is the same, and so is what most
cars do: all whom neither the robot nor anybody who made way for it has come near. Of every moment the last step is
kept: each car as it was before and after it. Who is again just as before, and has nobody near who is not, moves again
as he did. That is no approximation: what is taken over is what would be computed, to the last bit.
"""

from typing import NamedTuple

import numpy as np

from magic_pomdp.core.compiling import compiled
from magic_pomdp.core.randomness import U64
from magic_pomdp.tasks.crowd_driving.gamma import CAR, REACH, X, Y

WAYS = 8
"""Places of a group. The random stream of a moment tells which group it belongs to."""
CROWDED = 4
"""Moments of a group, on average, are no more than this: hardly any group then has more than places."""
MOST_NUMBERS = 1 << 24
"""Of cars that are kept: 128 MB for each thread of a search. Who would need more keeps nothing."""
NOWHERE = 0
"""The place of all moments that are not kept."""

BEFORE, AFTER = range(2)


class Moments(NamedTuple):
    """Places for moments."""

    streams: np.ndarray
    """uint64 (places,): the random stream with which the step began."""
    turns: np.ndarray
    """int64 (groups,): which place of a group is the next to be given to another moment."""
    moved: np.ndarray
    """(places, cars, 2, CAR): every car BEFORE and AFTER the step; of the robot's car only how it was before."""
    draws: np.ndarray
    """uint64 (places, cars + 1): the random stream before each car moved, and after the last."""
    orders: np.ndarray
    """(places, cars, 2): every car's target speed and steering."""


def room_for_moments(moments: int, cars: int) -> Moments:
    """Places for so many moments of so many cars, if that is not too large a room, and NOWHERE."""
    groups = 1 << ((moments - 1) // CROWDED).bit_length() if moments > 0 else 0
    if WAYS * groups * cars * 2 * CAR > MOST_NUMBERS:
        groups = 0
    places = 1 + WAYS * groups
    return Moments(
        streams=np.zeros(places, np.uint64),
        turns=np.zeros(groups, np.int64),
        moved=np.zeros((places, cars, 2, CAR)),
        draws=np.zeros((places, cars + 1), np.uint64),
        orders=np.zeros((places, cars, 2)),
    )


@compiled
def find_moment(streams, turns, stream):
    """The place of the moment that begins with a random stream. A new one takes the place of that which came to its
    group first."""
    if len(turns) == 0:
        return NOWHERE
    group = np.int64((stream >> U64(32)) % U64(len(turns)))
    first = NOWHERE + 1 + WAYS * group
    for place in range(first, first + WAYS):
        if streams[place] == stream:
            return place
    place = first + turns[group]
    turns[group] = (turns[group] + 1) % WAYS
    streams[place] = stream
    return place


@compiled
def note_changes(cars, count, xs, ys, moved, affected):
    """Tell whose step is not the one that is kept: who is not as before, and who has, or had, one of these near. And
    note how they are now."""
    affected[:count] = 0
    for i in range(count):
        difference = np.int64(0)
        for k in range(CAR):
            now, then = np.float64(cars[CAR * i + k]), np.float64(moved[i, BEFORE, k])
            difference |= now.view(np.int64) ^ then.view(np.int64)  # equal numbers may differ: there are two zeros
        if difference != 0:
            affected[i] = 1
            affect_around(xs[i], ys[i], count, xs, ys, affected)
            affect_around(moved[i, BEFORE, X], moved[i, BEFORE, Y], count, xs, ys, affected)
            for k in range(CAR):
                moved[i, BEFORE, k] = cars[CAR * i + k]
    affected[0] = 0  # the robot's car obeys its planner, and nothing is kept of what it did


@compiled
def affect_around(x, y, count, xs, ys, affected):
    """Whoever is within reach of a place is affected."""
    for i in range(count):
        affected[i] |= (xs[i] - x) * (xs[i] - x) + (ys[i] - y) * (ys[i] - y) < REACH * REACH
