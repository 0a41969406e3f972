"""The building of the task Navigation: its walls, its danger zones, and the ways around them."""

import math
from functools import cache

import numpy as np
from numba import njit

from magic_pomdp.tasks.ways_around import find_ways, free_corners, grown

EDGE = 30.0
"""The building is the square ± this."""
WALLS = (
    (-20.0, 15.0, 5.0, 30.0),
    (-20.0, -6.0, 5.0, 5.0),
    (-20.0, -25.0, 5.0, -14.0),
    (10.0, 8.0, 30.0, 13.0),
    (15.0, -30.0, 30.0, -10.0),
)
DANGERS = ((-20.0, 13.0, 5.0, 15.0), (-20.0, 5.0, 5.0, 7.0), (-20.0, -30.0, -5.0, -28.0), (28.0, -10.0, 30.0, 8.0))
GOALS = ((6.0, -28.0, 9.0, 28.0), (10.0, 15.0, 28.0, 28.0), (10.0, -8.0, 28.0, 6.0))
"""Left, bottom, right and top of the walls, of the danger zones, and of the regions that the goal is drawn from."""
STARTS = ((-25.0, 10.0), (-25.0, -10.0))
PLACES = (
    *((-22.0, 28.0), (7.0, 28.0), (-22.0, 15.0), (7.0, 15.0), (-22.0, 5.0), (-22.0, -6.0), (7.0, 5.0), (7.0, -6.0)),
    *((-22.0, -14.0), (-22.0, -25.0), (7.0, -14.0), (7.0, -25.0), (20.0, 15.0), (20.0, 6.0), (15.0, -10.0)),
    *((15.0, -25.0), (-28.0, 22.0), (-28.0, 0.0), (-28.0, -22.0), (-7.0, -10.0)),
)
"""Where beacons may be."""

CLEARANCE = 0.7
"""A robot of radius 1 keeps out of all rectangles that are grown by this: a disc contains such a square."""
BESIDE, ABOVE = 1.5, 3.1
"""Who does not know exactly where he is keeps so far from danger, and out of corridors between two dangers."""
ROUND = 2.3
"""He goes round corners at this distance from the shortest way, in x and in y."""
GRID = np.arange(-EDGE, EDGE + 1.0)
"""The ways are known from every whole metre."""


@cache
def shortest_ways(radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Walls and danger zones as the middle of a robot has to go around them, and how long the ways from every whole
    metre to their corners are."""
    obstacles = grown(np.array(WALLS + DANGERS), CLEARANCE * radius)
    corners, _ = free_corners(obstacles, EDGE - CLEARANCE * radius)
    return obstacles, find_ways(obstacles, corners, GRID)[0]


@cache
def careful_ways(radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same for who keeps away from danger; the first corner of each of these ways; and where to pass corners."""
    obstacles = grown(np.array(WALLS + DANGERS), CLEARANCE * radius)
    margin = np.array([-BESIDE, -ABOVE, BESIDE, ABOVE])
    obstacles[len(WALLS) : -1] = np.array(DANGERS[:-1]) + margin  # the last one is in nobody's way
    corners, outwards = free_corners(obstacles, EDGE - CLEARANCE * radius)
    return obstacles, *find_ways(obstacles, corners, GRID), corners + ROUND * outwards


@njit
def touches(rectangles, x, y, radius):
    """Whether a disc touches one of some rectangles."""
    for i in range(len(rectangles)):
        off_x = max(rectangles[i, 0] - x, 0.0, x - rectangles[i, 2])
        off_y = max(rectangles[i, 1] - y, 0.0, y - rectangles[i, 3])
        if off_x * off_x + off_y * off_y <= radius * radius:
            return True
    return False


@njit
def holds_up(walls, x, y, radius):
    """Whether a disc touches a wall, or reaches the edge of the building."""
    return abs(x) >= EDGE - radius or abs(y) >= EDGE - radius or touches(walls, x, y, radius)


@njit
def crosses(rectangles, x, y, to_x, to_y):
    """Whether a straight line crosses one of some rectangles."""
    move_x, move_y = to_x - x, to_y - y
    per_x = 1.0 / move_x if move_x != 0.0 else 1e12
    per_y = 1.0 / move_y if move_y != 0.0 else 1e12
    for i in range(len(rectangles)):
        left, right = (rectangles[i, 0] - x) * per_x, (rectangles[i, 2] - x) * per_x
        bottom, top = (rectangles[i, 1] - y) * per_y, (rectangles[i, 3] - y) * per_y
        enter = max(min(left, right), min(bottom, top))
        leave = min(max(left, right), max(bottom, top))
        if enter < leave and enter < 1.0 and leave > 0.0:
            return True
    return False


@njit
def length_of_way(obstacles, ways, x, y, to_x, to_y):
    """How long the shortest way from a point to another is."""
    if not crosses(obstacles, x, y, to_x, to_y):
        return math.sqrt((x - to_x) ** 2 + (y - to_y) ** 2)
    column, row, right, up = _grid_place(x, y)
    to_column, to_row, to_right, to_up = _grid_place(to_x, to_y)
    shortest = math.inf
    for corner in range(ways.shape[2]):
        here = _between(ways, column, row, right, up, corner)
        shortest = min(shortest, here + _between(ways, to_column, to_row, to_right, to_up, corner))
    return shortest


@njit
def next_point(obstacles, ways, first, points, x, y, to_x, to_y):
    """The first point to make for on the way from a point to another."""
    if not crosses(obstacles, x, y, to_x, to_y):
        return to_x, to_y
    column, row = _nearest(x), _nearest(y)
    to_column, to_row = _nearest(to_x), _nearest(to_y)
    best, shortest = 0, math.inf
    for corner in range(ways.shape[2]):
        length = ways[column, row, corner] + ways[to_column, to_row, corner]
        if length < shortest:
            best, shortest = corner, length
    corner = first[column, row, best]
    return points[corner, 0], points[corner, 1]


@njit
def _nearest(coordinate):
    """The place in the grid of the nearest whole metre."""
    return min(max(math.floor(coordinate + EDGE + 0.5), 0), len(GRID) - 1)


@njit
def _grid_place(x, y):
    """The whole metre to the lower left of a point, as a place in the grid, and how far the point lies from there."""
    across = min(max(x + EDGE, 0.0), 2.0 * EDGE - 1e-6)
    along = min(max(y + EDGE, 0.0), 2.0 * EDGE - 1e-6)
    column, row = int(across), int(along)
    return column, row, across - column, along - row


@njit
def _between(table, column, row, right, up, number):
    """A number of a table at a point between four places of its grid."""
    lower = (1.0 - right) * table[column, row, number] + right * table[column + 1, row, number]
    upper = (1.0 - right) * table[column, row + 1, number] + right * table[column + 1, row + 1, number]
    return (1.0 - up) * lower + up * upper
