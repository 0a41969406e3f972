"""The robot's path: points of equal distance along lanes, in the context of an episode."""

from magic_pomdp.core.compiling import compiled
from magic_pomdp.tasks.crowd_driving.roads import EXIT, advance, inside, place_on

POINT = 0.1
"""Metres between the points of the path."""


@compiled
def lay_path(roads, lane, arc, random, path):
    """Fill the points of a path that begins on a lane and takes any branch. The bit of the first exit that it takes; 0
    if there is none. (Where a point is would not tell: within some exits one can drive round, and into others.)"""
    exit = 0
    for k in range(len(path) // 2):
        if k > 0:
            lane, arc = advance(roads, lane, arc, POINT, random)
        path[2 * k], path[2 * k + 1] = place_on(roads, lane, arc)
        if exit == 0 and roads.tracks[lane, EXIT] >= 0.0:
            exit = 1 << int(roads.tracks[lane, EXIT])
    return exit


@compiled
def leaves_areas(roads, path, mask):
    """The first point of a path that is in none of the areas of a mask, or where the one before it is."""
    for k in range(1, len(path) // 2):
        stays = path[2 * k] == path[2 * k - 2] and path[2 * k + 1] == path[2 * k - 1]
        if stays or not inside(roads, path[2 * k], path[2 * k + 1], mask):
            return k
    return len(path) // 2


@compiled
def points_passed(path, point, last, x, y):
    """Which point of a path somebody at (x, y) has come to, who had come to a point before: on, up to the last one, as
    long as the next one is another (where the road ends it is not) and not farther away."""
    at_x, at_y = path[2 * point], path[2 * point + 1]
    distance = (at_x - x) ** 2 + (at_y - y) ** 2
    while point < last:
        next_x, next_y = path[2 * point + 2], path[2 * point + 3]
        next_distance = (next_x - x) ** 2 + (next_y - y) ** 2
        if distance < next_distance or (at_x == next_x and at_y == next_y):
            break
        point, at_x, at_y, distance = point + 1, next_x, next_y, next_distance
    return point
