"""The robot's path: points of equal distance along lanes, in the context of an episode."""

from numba import njit

from magic_pomdp.tasks.crowd_driving.roads import advance, inside, place_on

POINT = 0.1
"""Metres between the points of the path."""


@njit
def lay_path(roads, lane, arc, first_exit, exits, random, path):
    """Fill the points of a path that begins on a lane and takes any branch. The bit of the first exit that it comes
    to; 0 if there is none."""
    exit = 0
    for k in range(len(path) // 2):
        if k > 0:
            lane, arc = advance(roads, lane, arc, POINT, random)
        x, y = place_on(roads, lane, arc)
        path[2 * k], path[2 * k + 1] = x, y
        for area in range(first_exit, first_exit + exits if exit == 0 else 0):
            if exit == 0 and inside(roads, x, y, 1 << area):
                exit = 1 << area
    return exit


@njit
def leaves_areas(roads, path, mask):
    """The point from which on a path is in none of the areas of a mask, or stays where it is."""
    k = len(path) // 2 - 1
    while k > 0:
        stays = path[2 * k] == path[2 * k - 2] and path[2 * k + 1] == path[2 * k - 1]
        if not stays and inside(roads, path[2 * k], path[2 * k + 1], mask):
            break
        k -= 1
    return k + 1
