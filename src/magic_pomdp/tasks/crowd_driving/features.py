"""What the networks see of Crowd-Driving, in the frame of the robot's car."""

from magic_pomdp.core.compiling import compiled
from magic_pomdp.tasks.crowd_driving.car import MOST_STEER, STEER, ahead_and_aside
from magic_pomdp.tasks.crowd_driving.gamma import CAR, COS, SIN, SPEED, X, Y
from magic_pomdp.tasks.crowd_driving.layout import ARC, PROGRESS, TRACK
from magic_pomdp.tasks.crowd_driving.path import POINT
from magic_pomdp.tasks.crowd_driving.roads import place_on

FAST = 6.0
"""A speed in whose units the networks see speeds."""
PATH_AHEAD = (1.0, 2.5, 4.5, 7.0, 10.0, 14.0, 19.0, 25.0, 32.0, 40.0)
"""Metres along the path at which the networks look at it."""
OWN_FEATURES = 8 + 2 * len(PATH_AHEAD)
CAR_FEATURES = 10
AROUND = 20.0
"""A length in whose units the networks see what is around the robot."""
STRIDE, CONTEXT_POINTS = 100, 15
"""Of the whole path, the networks see one point in so many, and this number of them: the same in both variants, so that
one generator serves both."""
INTENT = 8.0
"""Metres along another car's route at which the networks look at it."""


@compiled
def fill_own(cars, time, road, features):
    """The robot's car, the share of the time that is over, and the metres of road that are left."""
    features[0] = cars[SPEED] / FAST
    features[1] = cars[STEER] / MOST_STEER
    features[2] = time
    features[3] = road / 100.0


@compiled
def fill_path(cars, path, features):
    """Where the robot is on its path, and the path ahead."""
    point, last = int(cars[PROGRESS]), len(path) // 2 - 1
    at = 2 * point
    features[4], features[5] = ahead_and_aside(cars, path[at] - cars[X], path[at + 1] - cars[Y], 4.0)
    features[6], features[7] = ahead_and_aside(cars, path[at + 2] - path[at], path[at + 3] - path[at + 1], POINT)
    for k in range(len(PATH_AHEAD)):
        at = 2 * min(point + int(PATH_AHEAD[k] / POINT), last)
        features[8 + 2 * k], features[9 + 2 * k] = ahead_and_aside(
            cars, path[at] - cars[X], path[at + 1] - cars[Y], AROUND
        )


@compiled
def fill_whole_path(start, path, features):
    """The path in the frame of where the robot started."""
    for k in range(CONTEXT_POINTS):
        at = 2 * min(STRIDE * k + STRIDE // 2, len(path) // 2 - 1)
        features[2 * k], features[2 * k + 1] = ahead_and_aside(
            start, path[at] - start[X], path[at + 1] - start[Y], 100.0
        )


@compiled
def fill_others(roads, cars, others, features):
    """The other cars, and where they want to go."""
    for i in range(1, others + 1):
        car, out = CAR * i, OWN_FEATURES + CAR_FEATURES * (i - 1)
        features[out], features[out + 1] = ahead_and_aside(
            cars, cars[car + X] - cars[X], cars[car + Y] - cars[Y], AROUND
        )
        features[out + 2], features[out + 3] = ahead_and_aside(cars, cars[car + COS], cars[car + SIN], 1.0)
        features[out + 4] = cars[car + SPEED] / FAST
        features[out + 5] = cars[car + STEER] / MOST_STEER
        track, arc = int(cars[car + TRACK]), cars[car + ARC]
        x, y = place_on(roads, track, arc + 0.5 * INTENT)
        aim_x, aim_y = place_on(roads, track, arc + INTENT)
        features[out + 6], features[out + 7] = ahead_and_aside(cars, aim_x - cars[X], aim_y - cars[Y], AROUND)
        features[out + 8], features[out + 9] = ahead_and_aside(cars, aim_x - x, aim_y - y, 0.5 * INTENT)
