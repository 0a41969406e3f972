"""Who is near whom: GAMMA's cars look at their nearest neighbours."""

from magic_pomdp.core.compiling import compiled
from magic_pomdp.tasks.crowd_driving.gamma import CAR, NEIGHBOURS, PLANE, REACH, X, Y

FEW = 24
"""Up to so many cars, looking at all pairs is the fastest way to find neighbours."""


@compiled
def find_neighbours(cars, count, room, slots):
    """Note the nearest cars within reach of every car: how many in slots[i], and which ones, nearest first, from
    slots[count + NEIGHBOURS · i] on; squared distances from room[NEIGHBOURS · i] on."""
    for i in range(count):
        slots[i] = 0
    if count <= FEW:
        xs, ys = lay_out(cars, count, room)
        for i in range(count):
            x, y = xs[i], ys[i]
            near = 0  # most cars have nobody near: counting takes several others at a time, and no branch
            for j in range(i):
                near += (xs[j] - x) * (xs[j] - x) + (ys[j] - y) * (ys[j] - y) < REACH * REACH
            for j in range(i if near > 0 else 0):
                dx, dy = xs[j] - x, ys[j] - y
                square = dx * dx + dy * dy
                if square < REACH * REACH:
                    note_neighbour(i, j, square, count, room, slots)
                    note_neighbour(j, i, square, count, room, slots)
    else:
        sweep_strips(cars, count, room, slots)


@compiled
def find_neighbours_of(cars, count, wanted, room, slots):
    """Note the same of the cars i for which wanted[i] is 1. Of the others, nothing is to be relied on."""
    number = 0
    for i in range(count):
        number += wanted[i]
    if 2 * number >= count or (number > 0 and count > FEW):
        find_neighbours(cars, count, room, slots)
    elif number > 0:
        xs, ys = lay_out(cars, count, room)
        for i in range(count):
            if wanted[i] == 1:
                look_around(i, count, xs, ys, room, slots)


@compiled
def look_around(i, count, xs, ys, room, slots):
    """Note the nearest cars within reach of one car, the same of equally near ones as `find_neighbours` does."""
    x, y = xs[i], ys[i]
    slots[i] = near = 0
    for j in range(count):
        near += (xs[j] - x) * (xs[j] - x) + (ys[j] - y) * (ys[j] - y) < REACH * REACH
    for j in range(count if near > 1 else 0):  # it is near itself
        dx, dy = xs[j] - x, ys[j] - y
        square = dx * dx + dy * dy
        if square < REACH * REACH and j != i:
            note_neighbour(i, j, square, count, room, slots)


@compiled
def lay_out(cars, count, room):
    """Where all cars are, as views of a part of `room`: x of each, y of each."""
    first = NEIGHBOURS * count + 2 * PLANE * NEIGHBOURS
    xs, ys = room[first : first + count], room[first + count : first + 2 * count]
    for i in range(count):
        xs[i], ys[i] = cars[CAR * i + X], cars[CAR * i + Y]
    return xs, ys


@compiled
def note_neighbour(i, j, square, count, room, slots):
    """Put j among the neighbours of i, if it is one of the nearest."""
    place, first = slots[i], NEIGHBOURS * i
    if place == NEIGHBOURS:
        if square >= room[first + NEIGHBOURS - 1]:
            return
        place -= 1
    else:
        slots[i] += 1
    while place > 0 and room[first + place - 1] > square:
        room[first + place] = room[first + place - 1]
        slots[count + first + place] = slots[count + first + place - 1]
        place -= 1
    room[first + place] = square
    slots[count + first + place] = j


@compiled
def sweep_strips(cars, count, room, slots):
    """Sort the cars into strips at least as wide as the reach; neighbours are in the same strip or the next one."""
    low = high = cars[X]
    for i in range(1, count):
        low, high = min(low, cars[CAR * i + X]), max(high, cars[CAR * i + X])
    per_metre = 1.0 / max(REACH, (high - low) / (count - 1))
    ends = (1 + NEIGHBOURS) * count  # of every strip, in `order`; the strip of every car; the cars by strip
    strips, order = ends + count + 1, ends + 2 * count + 1
    for i in range(count + 1):
        slots[ends + i] = 0
    for i in range(count):
        strip = min(int((cars[CAR * i + X] - low) * per_metre), count - 1)
        slots[strips + i] = strip
        slots[ends + strip + 1] += 1
    for strip in range(count):
        slots[ends + strip + 1] += slots[ends + strip]
    for i in range(count - 1, -1, -1):  # afterwards `ends` of a strip is where it begins
        strip = slots[strips + i]
        slots[ends + strip + 1] -= 1
        slots[order + slots[ends + strip + 1]] = i
    for place in range(count):
        i = slots[order + place]
        x, y, strip = cars[CAR * i + X], cars[CAR * i + Y], slots[strips + i]
        stop = slots[ends + strip + 3] if strip + 3 <= count else count
        for other in range(place + 1, stop):
            j = slots[order + other]
            dx, dy = cars[CAR * j + X] - x, cars[CAR * j + Y] - y
            square = dx * dx + dy * dy
            if square < REACH * REACH:
                note_neighbour(i, j, square, count, room, slots)
                note_neighbour(j, i, square, count, room, slots)
