"""How a sensible driver of the robot's car drives, by what everybody can see."""

import math

from magic_pomdp.core.compiling import compiled, inlined
from magic_pomdp.tasks.crowd_driving.car import DURATION, HALF, MIDDLE, MOST_STEER, WHEEL_BASE, arc_tangent
from magic_pomdp.tasks.crowd_driving.gamma import CAR, COS, FRONT, SIDE, SIN, SPEED, X, Y

OTHERS_BRAKE = 2.0
"""Deceleration that a driver counts on, of other cars. What the robot's car can do is given as `brake`."""
REACTION = 0.6
"""Seconds that pass before a driver can decide anew: a macro-action."""
ROOM = 0.3
"""Metres to keep free beside another car."""
SIGHT = 20.0
"""Cars farther ahead do not matter yet."""
BESIDE = -2.0
"""A car whose rear is farther back than this from the robot's front is beside it, and no more in its way."""
END_ROOM = 2.0
"""Metres to keep free before the end of the road."""
STEADY = 1.1
"""A driver who must not be slower than some speed aims at so many times it."""
TOO_FAST = 4.0
"""To be faster than one should be is so many times as bad as to be slower."""
STEER_WEIGHT, TARGET_WEIGHT, SLOW_WEIGHT = 300.0, 0.1, 10.0
"""Against (m/s)² beside the wanted speed when a macro-action ends: squared radians of steering beside the wanted one,
(m/s)² between the speed that it goes for and the wanted one, and to stall traffic."""


@inlined
def go_along(cars, x, y):
    """The steering angle of the arc on which the first car comes to a place ahead."""
    dx, dy = x - cars[X], y - cars[Y]
    aside = cars[COS] * dy - cars[SIN] * dx
    angle = arc_tangent(2.0 * WHEEL_BASE * aside / max(1.0, dx * dx + dy * dy))
    return min(MOST_STEER, max(-MOST_STEER, angle))


@compiled
def safe_speed(cars, others, steer, brake):
    """The speed at which the first car, steered like this, can stop behind whoever is in its way."""
    cos, sin = cars[COS], cars[SIN]
    bend = 0.5 * steer / WHEEL_BASE
    speed = math.inf
    for i in range(1, others + 1):
        car = CAR * i
        dx, dy = cars[car + X] - cars[X], cars[car + Y] - cars[Y]
        if dx * dx + dy * dy > (SIGHT + HALF) ** 2:
            continue
        along, across = cos * cars[car + COS] + sin * cars[car + SIN], cos * cars[car + SIN] - sin * cars[car + COS]
        x, y = cos * dx + sin * dy + MIDDLE * along, cos * dy - sin * dx + MIDDLE * across
        gap = x - HALF * abs(along) - SIDE * abs(across) - FRONT
        if gap < BESIDE:
            continue
        wide = SIDE + SIDE * abs(along) + HALF * abs(across) + ROOM
        y -= bend * x * x  # from the arc that the robot is on
        there = max(0.0, gap) / max(1.0, cars[SPEED])
        if abs(y) < wide or abs(y + there * cars[car + SPEED] * across) < wide:
            onward = max(0.0, cars[car + SPEED] * along)
            speed = min(speed, stopping_speed(gap + onward * onward / (2.0 * OTHERS_BRAKE), brake))
    return speed


@inlined
def stopping_speed(room, brake):
    """The speed from which a car comes to rest in some metres."""
    return max(0.0, math.sqrt(max(0.0, (REACTION * brake) ** 2 + 2.0 * brake * room)) - REACTION * brake)


@inlined
def speed_for_road(road, seconds, least, brake):
    """The speed that uses up a road in some seconds, or the least that is wanted, as long as there is room to stop."""
    road -= FRONT + END_ROOM
    return min(max(STEADY * least, road / max(1.0, seconds)), stopping_speed(road, brake))


@inlined
def steps_to_drive(road, least):
    """How many steps a road lasts at the least speed that is wanted."""
    return max(0.0, road - FRONT - END_ROOM) / (STEADY * least * DURATION)


@compiled
def pick_macro_action(now, speed, steer, slow, brake, macro_actions, lengths):
    """The number of the macro-action that most leads from the present speed to another, and steers like this."""
    best, least = 0, math.inf
    for macro in range(len(lengths)):
        target = mean_steer = 0.0
        for k in range(lengths[macro]):
            target += macro_actions[macro, k, 0] / lengths[macro]
            mean_steer += macro_actions[macro, k, 1] / lengths[macro]
        change = brake * DURATION * lengths[macro]
        reached = now + min(change, max(-change, target - now))
        faster = reached - speed
        cost = (TOO_FAST if faster > 0.0 else 1.0) * faster * faster + STEER_WEIGHT * (mean_steer - steer) ** 2
        cost += TARGET_WEIGHT * (target - speed) ** 2
        if speed >= STEADY * slow > max(reached, target):
            cost += SLOW_WEIGHT
        if cost < least:
            best, least = macro, cost
    return best
