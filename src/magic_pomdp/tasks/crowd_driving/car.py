"""How a car moves, and when two of them touch."""

import math

from magic_pomdp.core.compiling import compiled, inlined
from magic_pomdp.core.randomness import four_normals
from magic_pomdp.core.series import power_series
from magic_pomdp.tasks.crowd_driving.gamma import COS, FRONT, REAR, SIDE, SIN, SPEED, X, Y

STEER = SPEED + 1
"""Where a car keeps its steering angle."""
DURATION = 0.2
"""Seconds of one step."""
WHEEL_BASE = 2.5106
STRAIGHT = 1e-4
"""A smaller steering angle is none."""
MOST_STEER = math.radians(15.0)
AT_ONCE = 1e6
"""Radians a second of wheels that turn without delay."""
STEER_GAIN = 1.5
"""Steering of a car that follows a velocity, for every radian that its heading is off."""
SPEED_NOISE, POSITION_NOISE, HEADING_NOISE = 0.1, 0.1, 0.02
"""Standard deviations, for every step, even of a standing car."""
LOG_DENSITY = -2.0 * math.log(2.0 * math.pi) - math.log(SPEED_NOISE * POSITION_NOISE**2 * HEADING_NOISE)
"""Of a car just where it was expected."""

MIDDLE = 0.5 * (FRONT - REAR)
"""How far the body's middle lies before the reference point."""
HALF = 0.5 * (FRONT + REAR)
"""Half its length."""
APART = 4.0 * (HALF * HALF + SIDE * SIDE)
"""Bodies whose middles are at least the root of this apart do not touch."""
CLEAR = (math.sqrt(APART) + 2.0 * MIDDLE + 0.1) ** 2
"""Nor do those whose reference points are at least the root of this apart."""


SMALL = 0.5
"""Angles up to this are small: their functions are sums of a few powers, to 10⁻⁹. Almost all angles of a step are."""


SINE = tuple((-1.0) ** i / math.factorial(2 * i + 1) for i in range(6))
VERSINE = tuple((-1.0) ** i / math.factorial(2 * i + 2) for i in range(6))
TANGENT = (1.0, 1 / 3, 2 / 15, 17 / 315, 62 / 2835, 1382 / 155925, 21844 / 6081075, 929569 / 638512875)
ARC_TANGENT = tuple((-1.0) ** i / (2 * i + 1) for i in range(8))
"""Coefficients of sin(x) / x, (1 − cos(x)) / x², tan(x) / x and arctan(x) / x in powers of x²."""


@inlined
def sine_over(angle):
    """sin x / x of a small angle."""
    return power_series(SINE, angle * angle)


@inlined
def versine_over(angle):
    """(1 − cos x) / x of a small angle."""
    return angle * power_series(VERSINE, angle * angle)


@inlined
def turned(x, y, angle):
    """A vector turned by an angle."""
    if abs(angle) <= SMALL:
        cos, sin = 1.0 - angle * versine_over(angle), angle * sine_over(angle)
    else:
        cos, sin = math.cos(angle), math.sin(angle)
    return cos * x - sin * y, sin * x + cos * y


@inlined
def tangent_of(angle):
    """tan x."""
    if abs(angle) > MOST_STEER:
        return math.tan(angle)
    return angle * power_series(TANGENT, angle * angle)


@inlined
def arc_tangent(tangent):
    """The angle of a tangent."""
    if abs(tangent) > MOST_STEER:
        return math.atan(tangent)
    return tangent * power_series(ARC_TANGENT, tangent * tangent)


@inlined
def steer_towards(cos, sin, velocity_x, velocity_y):
    """The steering angle of a car that follows a velocity."""
    ahead, aside = cos * velocity_x + sin * velocity_y, cos * velocity_y - sin * velocity_x
    if ahead <= 0.0 or abs(aside) > 0.25 * ahead:  # by more than 14 degrees: as far as it goes
        if ahead < 0.0 or aside != 0.0:
            return MOST_STEER if aside >= 0.0 else -MOST_STEER
        return 0.0
    angle = arc_tangent(aside / ahead)
    return min(MOST_STEER, max(-MOST_STEER, STEER_GAIN * angle))


@inlined
def expected_move(cars, car, target_speed, acceleration, steer, reference):
    """Where a car that begins at cars[car] comes to without noise: x, y, cosine and sine of its heading, speed.

    With `reference`, it turns on the published program's radius, for which it takes the arc tangent of the steering.
    """
    x, y, cos, sin, speed = cars[car + X], cars[car + Y], cars[car + COS], cars[car + SIN], cars[car + SPEED]
    change = acceleration if speed <= target_speed else -acceleration
    time = min(DURATION, abs(target_speed - speed) / acceleration)
    distance = speed * time + 0.5 * change * time * time + target_speed * (DURATION - time)
    speed += change * time
    if abs(steer) < STRAIGHT:
        return x + distance * cos, y + distance * sin, cos, sin, speed
    curvature = (arc_tangent(steer) if reference else tangent_of(steer)) * (1.0 / WHEEL_BASE)
    angle = distance * curvature
    if abs(angle) <= SMALL:
        ahead, aside = distance * sine_over(angle), distance * versine_over(angle)
    else:
        ahead, aside = math.sin(angle) / curvature, (1.0 - math.cos(angle)) / curvature
    new_cos, new_sin = turned(cos, sin, angle)
    return x + ahead * cos - aside * sin, y + ahead * sin + aside * cos, new_cos, new_sin, speed


@inlined
def turn_wheels(wheels, before, wanted, rate, delay):
    """The front wheels during a step, if they turn at some rate (0: at once) towards what was wanted before, and after
    some seconds of delay towards what is wanted now: their mean angle, and the angle at the end."""
    fast = rate if rate > 0.0 else AT_ONCE
    first, wheels = turn_towards(wheels, before, fast, delay)
    second, wheels = turn_towards(wheels, wanted, fast, DURATION - delay)
    return (first + second) / DURATION, wheels


@inlined
def turn_towards(wheels, wanted, rate, seconds):
    """Wheels that turn for some seconds: the integral of their angle, and the angle at the end."""
    time = min(seconds, abs(wanted - wheels) / rate)
    turned_to = wheels + (rate * time if wanted > wheels else -rate * time)
    return 0.5 * (wheels + turned_to) * time + turned_to * (seconds - time), turned_to


@inlined
def move(cars, car, target_speed, acceleration, steer, reference, random):
    """Move a car, with noise."""
    x, y, cos, sin, speed = expected_move(cars, car, target_speed, acceleration, steer, reference)
    off_x, off_y, off_heading, off_speed = four_normals(random)
    cars[car + X] = x + POSITION_NOISE * off_x
    cars[car + Y] = y + POSITION_NOISE * off_y
    cos, sin = turned(cos, sin, HEADING_NOISE * off_heading)
    rounding = 1.5 - 0.5 * (cos * cos + sin * sin)  # keeps the heading at length 1
    cars[car + COS], cars[car + SIN] = rounding * cos, rounding * sin
    cars[car + SPEED] = speed + SPEED_NOISE * off_speed
    cars[car + STEER] = steer


@inlined
def log_density(cars, car, target_speed, acceleration, steer, reference, seen, place):
    """ln p of a car being where seen[place:] has it, after a step from cars[car]."""
    x, y, cos, sin, speed = expected_move(cars, car, target_speed, acceleration, steer, reference)
    off_x, off_y = (seen[place + X] - x) * (1.0 / POSITION_NOISE), (seen[place + Y] - y) * (1.0 / POSITION_NOISE)
    off_speed = (seen[place + SPEED] - speed) * (1.0 / SPEED_NOISE)
    ahead = cos * seen[place + COS] + sin * seen[place + SIN]
    aside = cos * seen[place + SIN] - sin * seen[place + COS]
    angle = arc_tangent(aside / ahead) if ahead > 0.0 else math.atan2(aside, ahead)
    off_heading = angle * (1.0 / HEADING_NOISE)
    return LOG_DENSITY - 0.5 * (off_x * off_x + off_y * off_y + off_speed * off_speed + off_heading * off_heading)


# ------------------------------------------------------------------------------------------------------------- bodies


@compiled
def bodies_touch(cars, i, j, reference):
    """Whether the bodies of the cars at i and j overlap; with `reference`, whether a corner of one is in the other."""
    ax, ay, bx, by = cars[i + COS], cars[i + SIN], cars[j + COS], cars[j + SIN]
    x, y = cars[j + X] - cars[i + X] + MIDDLE * (bx - ax), cars[j + Y] - cars[i + Y] + MIDDLE * (by - ay)
    if x * x + y * y >= APART:
        return False
    along, across = abs(ax * bx + ay * by), abs(ax * by - ay * bx)
    deep, flat = HALF + HALF * along + SIDE * across, SIDE + SIDE * along + HALF * across
    separated = (
        abs(ax * x + ay * y) > deep
        or abs(bx * x + by * y) > deep
        or abs(ax * y - ay * x) > flat
        or abs(bx * y - by * x) > flat
    )
    if separated or not reference:
        return not separated
    return corner_in_body(ax, ay, bx, by, x, y) or corner_in_body(bx, by, ax, ay, -x, -y)


@compiled
def corner_in_body(ax, ay, bx, by, x, y):
    """Whether a corner of the body of heading b, whose middle is at (x, y), is in the body of heading a at 0."""
    for k in range(4):
        long, wide = (HALF if k < 2 else -HALF), (SIDE if k % 2 == 0 else -SIDE)
        corner_x, corner_y = x + long * bx - wide * by, y + long * by + wide * bx
        if abs(ax * corner_x + ay * corner_y) <= HALF and abs(ax * corner_y - ay * corner_x) <= SIDE:
            return True
    return False


@inlined
def corner(cars, car, k):
    """The k-th corner of a body, 0 to 3."""
    long, wide = (FRONT if k < 2 else -REAR), (SIDE if k % 2 == 0 else -SIDE)
    cos, sin = cars[car + COS], cars[car + SIN]
    return cars[car + X] + long * cos - wide * sin, cars[car + Y] + long * sin + wide * cos


@inlined
def ahead_and_aside(car, x, y, unit):
    """A vector in the frame of the first of some cars, in a unit of length."""
    return (car[COS] * x + car[SIN] * y) / unit, (car[COS] * y - car[SIN] * x) / unit
