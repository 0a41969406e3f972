"""GAMMA (Luo, Cai, Lee, Hsu 2022), a model of how cars avoid each other: one velocity for every car.

A car attends to its nearest neighbours. Each of them forbids it a half-plane of velocities: those that would bring the
two boxes together within the horizon, where both cars are expected to do half of the avoiding. The car takes the
velocity nearest to the one it prefers that no neighbour forbids.

A car is a block of CAR numbers in an array: its reference point near the rear axle, its unit heading, its speed, and
what else a task keeps of it. Nothing is allocated: a caller hands in room to work in, made by `new_room`.
"""

import math

import numpy as np

from magic_pomdp.core.compiling import compiled, inlined

CAR = 8
"""Numbers of a car."""
X, Y, COS, SIN, SPEED = range(5)
"""Of these, what this model looks at."""

REAR, FRONT, SIDE = 0.53535, 3.2668, 0.98701
"""The body reaches so far behind, before and beside the reference point."""
LONG = 0.5 * (REAR + 0.1 + FRONT + 2.0)
"""Half length of the box that others keep out of: the body, 0.1 m behind and 2 m before it."""
WIDE = SIDE + 0.5
"""Half its width: the body, and 0.5 m on either side."""
BOX_AHEAD = 0.5 * (FRONT + 2.0 - REAR - 0.1)
"""How far its middle lies before the reference point."""

HORIZON = 4.0
"""Seconds in which a collision counts."""
NEIGHBOURS = 5
"""The nearest so many count."""
ATTENTION_FRONT, ATTENTION_REAR = 8.0, 4.0
"""A neighbour ahead, or behind, is attended to up to this distance."""
REACH = ATTENTION_FRONT
"""Neighbours are nearer than this. (Published: 11 m, but who is farther away than the attention reaches comes after all
others, and changes nothing.)"""
MOST_SPEED = 10.0
"""No velocity is longer."""
PARALLEL = 1e-5
"""Two lines are parallel if the cross product of their directions is not larger."""
PLANE = 4
"""Numbers of a half-plane: a point of its border, and the unit normal that points to what is permitted."""


def new_room(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Room to work in for so many cars: numbers and indices."""
    numbers = (NEIGHBOURS + 2) * count + 2 * PLANE * NEIGHBOURS + 16
    return np.zeros(numbers), np.zeros((NEIGHBOURS + 4) * count + 2, np.int64)


# ----------------------------------------------------------------------------------------------- velocities of one car


@inlined
def choose_velocity(cars, count, i, wish_x, wish_y, reference, room, slots):
    """The velocity of car i, which prefers `wish`. `find_neighbours` has been called. With `reference`, the published
    program's test of whether a velocity leads to a collision. Also the number of half-planes."""
    if slots[i] == 0:
        return wish_x, wish_y, 0
    planes = note_half_planes(cars, count, i, reference, room, slots)
    if planes == 0:
        return wish_x, wish_y, 0
    x, y = nearest_permitted(wish_x, wish_y, planes, room, NEIGHBOURS * count)
    return x, y, planes


@compiled
def note_half_planes(cars, count, i, reference, room, slots):
    """Write the half-planes of car i behind the neighbours' distances in `room`; how many there are."""
    x, y, cos, sin = cars[CAR * i + X], cars[CAR * i + Y], cars[CAR * i + COS], cars[CAR * i + SIN]
    planes = 0
    for k in range(slots[i]):
        square = room[NEIGHBOURS * i + k]
        j = slots[count + NEIGHBOURS * i + k]
        ahead = cos * (cars[CAR * j + X] - x) + sin * (cars[CAR * j + Y] - y) >= 0.0
        if ahead or square <= ATTENTION_REAR * ATTENTION_REAR:
            planes += half_plane(cars, CAR * i, CAR * j, reference, room, NEIGHBOURS * count + PLANE * planes)
    return planes


@compiled
def half_plane(cars, i, j, reference, room, out):
    """Write the half-plane that the car at j permits the car at i to room[out:]; 1, or 0 if there is none."""
    ax, ay, bx, by = cars[i + COS], cars[i + SIN], cars[j + COS], cars[j + SIN]
    middle_x = cars[j + X] - cars[i + X] + BOX_AHEAD * (bx - ax)
    middle_y = cars[j + Y] - cars[i + Y] + BOX_AHEAD * (by - ay)
    # The difference of the boxes is an octagon around `middle`: it spans both boxes' sides.
    along, across = abs(ax * bx + ay * by), abs(ax * by - ay * bx)
    deep = LONG + LONG * along + WIDE * across  # its reach along either heading
    flat = WIDE + WIDE * along + LONG * across  # and across it
    depth_a, depth_b = ax * middle_x + ay * middle_y, bx * middle_x + by * middle_y
    side_a, side_b = ax * middle_y - ay * middle_x, bx * middle_y - by * middle_x
    way, against, out_x, out_y = deep - abs(depth_a), depth_a, ax, ay
    if deep - abs(depth_b) < way:
        way, against, out_x, out_y = deep - abs(depth_b), depth_b, bx, by
    if flat - abs(side_a) < way:
        way, against, out_x, out_y = flat - abs(side_a), side_a, -ay, ax
    if flat - abs(side_b) < way:
        way, against, out_x, out_y = flat - abs(side_b), side_b, -by, bx
    if way >= 0.0:  # the boxes overlap: no velocity against the shortest way out
        if way == 0.0:
            return 0
        sign = -1.0 if against > 0.0 else 1.0
        room[out], room[out + 1], room[out + 2], room[out + 3] = 0.0, 0.0, sign * out_x, sign * out_y
        return 1
    velocity_x, velocity_y = cars[i + SPEED] * ax, cars[i + SPEED] * ay
    closing_x, closing_y = velocity_x - cars[j + SPEED] * bx, velocity_y - cars[j + SPEED] * by
    near_x, near_y, inside = nearest_border(
        ax, ay, bx, by, middle_x, middle_y, closing_x, closing_y, reference, room, len(room) - 16
    )
    off_x, off_y = near_x - closing_x, near_y - closing_y
    length = math.sqrt(off_x * off_x + off_y * off_y)
    if length == 0.0:
        return 0
    sign = 1.0 if inside else -1.0
    room[out], room[out + 1] = velocity_x + 0.5 * off_x, velocity_y + 0.5 * off_y
    room[out + 2], room[out + 3] = sign * off_x / length, sign * off_y / length
    return 1


@compiled
def nearest_border(ax, ay, bx, by, middle_x, middle_y, px, py, reference, room, corners):
    """The point nearest to p on the border of the velocity obstacle of an octagon, and whether p is inside.

    The obstacle is everything in the octagon's shadow, as seen from the origin, scaled by the horizon. Its border are
    the sides that face the origin and the two rays along the outermost corners.
    """
    # The other box's axis that follows `a` counter-clockwise within a quarter turn.
    half_b, side_b = LONG, WIDE
    for _ in range(3):
        if ax * bx + ay * by > 0.0 and ax * by - ay * bx >= 0.0:
            break
        bx, by, half_b, side_b = -by, bx, side_b, half_b
    ex, ey, fx, fy = 2.0 * LONG * ax, 2.0 * LONG * ay, 2.0 * half_b * bx, 2.0 * half_b * by
    gx, gy, hx, hy = -2.0 * WIDE * ay, 2.0 * WIDE * ax, -2.0 * side_b * by, 2.0 * side_b * bx
    x, y = middle_x - 0.5 * (ex + fx + gx + hx), middle_y - 0.5 * (ey + fy + gy + hy)
    for k in range(8):
        room[corners + 2 * k], room[corners + 2 * k + 1] = x, y
        sign = 1.0 if k < 4 else -1.0
        if k % 4 == 0:
            x, y = x + sign * ex, y + sign * ey
        elif k % 4 == 1:
            x, y = x + sign * fx, y + sign * fy
        elif k % 4 == 2:
            x, y = x + sign * gx, y + sign * gy
        else:
            x, y = x + sign * hx, y + sign * hy
    best, best_x, best_y, inside = math.inf, 0.0, 0.0, False
    left = right = 0
    share = 1.0 / HORIZON
    for k in range(8):
        first, second = corners + 2 * k, corners + 2 * ((k + 1) % 8)
        x0, y0, x1, y1 = room[first], room[first + 1], room[second], room[second + 1]
        if x0 * y1 - y0 * x1 >= 0.0:
            continue  # it does not face the origin
        before = corners + 2 * ((k + 7) % 8)
        after = corners + 2 * ((k + 2) % 8)
        if room[before] * y0 - room[before + 1] * x0 >= 0.0:
            left = first
        if x1 * room[after + 1] - y1 * room[after] >= 0.0:
            right = second
        ux, uy = share * (x1 - x0), share * (y1 - y0)
        sx, sy = share * x0, share * y0
        wx, wy = px - sx, py - sy
        t = min(1.0, max(0.0, (wx * ux + wy * uy) / (ux * ux + uy * uy)))
        qx, qy = sx + t * ux, sy + t * uy
        square = (qx - px) ** 2 + (qy - py) ** 2
        if square < best:
            best, best_x, best_y = square, qx, qy
            if reference:  # it looks at the side before it is scaled
                wx, wy = px - x0, py - y0
            inside = ux * wy - uy * wx > 0.0
    for corner, turn in ((right, 1.0), (left, -1.0)):
        rx, ry = room[corner], room[corner + 1]
        t = max(share, (px * rx + py * ry) / (rx * rx + ry * ry))
        qx, qy = t * rx, t * ry
        square = (qx - px) ** 2 + (qy - py) ** 2
        if square < best:
            best, best_x, best_y = square, qx, qy
            inside = turn * (rx * py - ry * px) > 0.0
    return best_x, best_y, inside


# ----------------------------------------------------------------------------------------------------- linear programs


@compiled
def nearest_permitted(wish_x, wish_y, planes, room, first):
    """The velocity nearest to `wish` in all half-planes of room[first:] and in the disc of MOST_SPEED. If there is
    none, the one that violates those from the first impossible one on the least."""
    x, y = wish_x, wish_y
    square = x * x + y * y
    if square > MOST_SPEED * MOST_SPEED:
        shrink = MOST_SPEED / math.sqrt(square)
        x, y = shrink * x, shrink * y
    for k in range(planes):
        plane = first + PLANE * k
        if violation(room, plane, x, y) > 0.0:
            possible, t = best_on_border(room, first, k, plane, wish_x, wish_y, False)
            if not possible:
                return least_violation(x, y, k, planes, room, first)
            x, y = room[plane] + t * room[plane + 3], room[plane + 1] - t * room[plane + 2]
    return x, y


@inlined
def violation(room, plane, x, y):
    """How far a velocity is outside a half-plane."""
    return room[plane + 2] * (room[plane] - x) + room[plane + 3] * (room[plane + 1] - y)


@compiled
def best_on_border(room, first, count, plane, aim_x, aim_y, far):
    """The place on a half-plane's border, in the disc and in the `count` half-planes from `first` on, nearest to an
    aim; or, with `far`, farthest in the aim's direction. Whether there is any, and where: from the border's point
    along the direction that has the permitted side on its left."""
    px, py, dx, dy = room[plane], room[plane + 1], room[plane + 3], -room[plane + 2]
    middle = px * dx + py * dy
    square = middle * middle + MOST_SPEED * MOST_SPEED - px * px - py * py
    if square < 0.0:
        return False, 0.0
    half = math.sqrt(square)
    low, high = -middle - half, -middle + half
    for k in range(count):
        other = first + PLANE * k
        rise = room[other + 2] * dx + room[other + 3] * dy  # of what the other half-plane permits, along the border
        lack = violation(room, other, px, py)
        if abs(rise) <= PARALLEL:
            if lack > 0.0:
                return False, 0.0
        elif rise > 0.0:
            low = max(low, lack / rise)
        else:
            high = min(high, lack / rise)
        if low > high:
            return False, 0.0
    if far:
        return True, high if dx * aim_x + dy * aim_y > 0.0 else low
    return True, min(high, max(low, dx * (aim_x - px) + dy * (aim_y - py)))


@compiled
def least_violation(x, y, failed, planes, room, first):
    """When no velocity is in all half-planes: least violation of those from `failed` on (those before it are dropped,
    as in the published program)."""
    depth = 0.0
    bisectors = first + PLANE * NEIGHBOURS
    for i in range(failed, planes):
        plane = first + PLANE * i
        if violation(room, plane, x, y) <= depth:
            continue
        count = 0
        for j in range(failed, i):
            count += bisector(room, plane, first + PLANE * j, bisectors + PLANE * count)
        nx, ny = room[plane + 2], room[plane + 3]
        new_x, new_y, possible = MOST_SPEED * nx, MOST_SPEED * ny, True
        for k in range(count):
            line = bisectors + PLANE * k
            if violation(room, line, new_x, new_y) > 0.0:
                possible, t = best_on_border(room, bisectors, k, line, nx, ny, True)
                if not possible:
                    break
                new_x, new_y = room[line] + t * room[line + 3], room[line + 1] - t * room[line + 2]
        if possible:
            x, y = new_x, new_y
        depth = violation(room, plane, x, y)
    return x, y


@compiled
def bisector(room, plane, other, out):
    """Write the half-plane of velocities that violate `plane` no more than `other`; 1, or 0 if they are alike."""
    nx, ny, mx, my = room[plane + 2], room[plane + 3], room[other + 2], room[other + 3]
    cross = nx * my - ny * mx
    if abs(cross) <= PARALLEL:
        if nx * mx + ny * my > 0.0:
            return 0
        px, py = 0.5 * (room[plane] + room[other]), 0.5 * (room[plane + 1] + room[other + 1])
    else:
        t = violation(room, other, room[plane], room[plane + 1]) / (mx * ny - my * nx)
        px, py = room[plane] + t * ny, room[plane + 1] - t * nx
    bx, by = mx - nx, my - ny  # directions turned to the left: the difference of normals
    length = math.sqrt(bx * bx + by * by)
    room[out], room[out + 1], room[out + 2], room[out + 3] = px, py, bx / length, by / length
    return 1
