"""Roads for compiled code: tables of plain arrays, and look-ups on them that allocate nothing.

    road_map = load_map()                    # building.py: our junction; load_map("file.net.xml"): a SUMO network
    roads = road_map.tables                  # a RoadTables: arrays; compiled code takes it, and can `borrow` it
    x, y = place_on(roads, track, arc)       # where a route point is
    dx, dy = heading_on(roads, track, arc)   # which way one drives there
    track, arc = advance(roads, track, arc, metres, random)   # drive on, drawing a branch at every fork
    track, arc = follow(roads, track, arc, x, y, random)      # catch up with a car at (x, y), metre by metre
    inside(roads, x, y, mask)                # in one of the areas of a mask, a sum of 1 << area: JUNCTION, then the
                                             # entries, scene.entry_area(e), then the exits, scene.exit_area(e)
    lane, arc = draw_place(roads, group, random)              # a start of the ego (group: its entry) or of another car

Metres; x to the east and y to the north, so that a turn to the left is positive.

A *track* is what one can drive along without choosing: either a lane (tracks 0 … lanes − 1; at its end it forks into
its links) or a whole route (the tracks after those; a route begins where a lane begins and has no links). A route
point is a track and an arc length on it in metres. So a car that chooses at each fork has a lane for its track, a car
with a route of its own has the route, and the same functions serve both:

    first, count = int(roads.tracks[lane, FIRST_ROUTE]), int(roads.tracks[lane, ROUTES])    # routes that fit a lane
    track = first + integer(random, count)   # …at the same arc length as on the lane
    x, y = place_on(roads, track, arc + 5.0) # 5 m ahead. On a lane: along the first link, as far as BEYOND

Only lanes on which other cars may start have routes. Tracks are sampled every SPACING metres and interpolated. This
cuts corners of a polyline by SPACING / 2 · sin(angle / 2) at most: 4 cm where it turns by 20°; 2 cm on our own map.
Where a road ends, the last half metre is not exact.
"""

import math
from typing import NamedTuple

import numpy as np

from magic_pomdp.core.compiling import compiled
from magic_pomdp.core.randomness import integer, uniform

SAMPLES_PER_METRE = 2
SPACING = 1.0 / SAMPLES_PER_METRE
"""Metres between the samples of a track."""
BEYOND = 8.0
"""A lane's track goes on for so long beyond its end, along the first link each time."""

FIRST_SAMPLE, LAST_STEP, LENGTH, FIRST_LINK, LINKS, FIRST_ROUTE, ROUTES, EXIT = range(8)
"""Columns of `tracks`. FIRST_SAMPLE: row in `samples`. LAST_STEP: samples after the first. FIRST_LINK, LINKS: part of
`links`. FIRST_ROUTE, ROUTES: the tracks that are routes from this lane on. EXIT: the area of the exit that
begins with this lane, or −1."""
LANE_REACH, OFF_LANE, OFF_HEADING = 4.0, 0.8, 0.2
"""A car may be so many metres beside the middle of its lane; usual deviations of place and heading from it."""
GROUP, PLACE_LANE, PLACE_START, PLACE_LENGTH = range(4)
"""Columns of `places`: stretches of lanes on which cars start."""
SPAWN = -1
"""The group of places where other cars start; group e ≥ 0 is for the ego, at entry e."""
WEST, SOUTH, CELL, GRID_COLUMNS, GRID_ROWS = range(5)
"""Numbers of a grid: its corner, the side of its cells, how many there are."""
EDGE_LOW, EDGE_HIGH, EDGE_X, EDGE_SLOPE, EDGE_AREA = range(5)
"""Columns of `area_edges`: the y of the lower and the upper end, the x of the lower one, dx/dy, and the area."""

JUNCTION, FIRST_ENTRY = 0, 1
"""Area of the junction itself; then come the entries, then the exits."""
AREAS = 31
"""At most so many areas fit a cell: whether all of the cell is in area k is its bit k, and whether the edge of area k
passes through it is its bit AREAS + k."""


class RoadTables(NamedTuple):
    """A road network in arrays."""

    tracks: np.ndarray
    """float64 (tracks, 8): see the columns above."""
    samples: np.ndarray
    """float64 (samples, 2): x and y. After a track's last sample it is there once more."""
    links: np.ndarray
    """int64: lanes that go on from a lane."""
    places: np.ndarray
    """float64 (places, 4): see the columns above."""
    area_grid: np.ndarray
    """float64 (5,): see WEST."""
    area_cells: np.ndarray
    """int64 (rows, columns): see AREAS."""
    area_rows: np.ndarray
    """int64 (rows + 1,): where in `area_edges` the edges that pass through a row of cells begin."""
    area_edges: np.ndarray
    """float64 (edges, 5): see the columns above."""


@compiled
def place_on(roads, track, arc):
    """Where a route point is: x, y. Before its track it is at the start, beyond the last sample at the end."""
    along = min(max(arc * (1.0 / SPACING), 0.0), roads.tracks[track, LAST_STEP])
    step = int(along)
    part = along - step
    row = int(roads.tracks[track, FIRST_SAMPLE]) + step
    x, y = roads.samples[row, 0], roads.samples[row, 1]
    return x + part * (roads.samples[row + 1, 0] - x), y + part * (roads.samples[row + 1, 1] - y)


@compiled
def heading_on(roads, track, arc):
    """The unit vector from a route point to the one 1 m further (along the first link at a fork)."""
    x, y = place_on(roads, track, arc)
    ahead_x, ahead_y = place_on(roads, track, arc + 1.0)
    if ahead_x == x and ahead_y == y:  # where the road ends
        x, y = place_on(roads, track, arc - 1.0)
    dx, dy = ahead_x - x, ahead_y - y
    length = math.sqrt(dx * dx + dy * dy)
    return dx / length, dy / length


@compiled
def advance(roads, track, arc, metres, random):
    """The route point some metres further. Each link is as likely as the others; where the road ends, it stays."""
    arc += metres
    while arc > roads.tracks[track, LENGTH]:
        links = int(roads.tracks[track, LINKS])
        if links == 0:
            return track, roads.tracks[track, LENGTH]
        arc -= roads.tracks[track, LENGTH]
        link = int(roads.tracks[track, FIRST_LINK])
        if links > 1:
            link += integer(random, links)
        track = roads.links[link]
    return track, arc


@compiled
def follow(roads, track, arc, x, y, random):
    """The route point of a car that has come to (x, y): as long as the route point 1 m further is not farther from the
    car, it becomes the route point. A branch is drawn anew each time, so it is chosen when the car passes the fork."""
    at_x, at_y = place_on(roads, track, arc)
    distance = (at_x - x) ** 2 + (at_y - y) ** 2
    while True:
        length = roads.tracks[track, LENGTH]
        along = arc * (1.0 / SPACING)
        row = int(along)
        part = along - row  # the same for all points that are whole metres apart
        row += int(roads.tracks[track, FIRST_SAMPLE])
        while arc + 1.0 <= length:
            row += SAMPLES_PER_METRE
            at_x = roads.samples[row, 0] + part * (roads.samples[row + 1, 0] - roads.samples[row, 0])
            at_y = roads.samples[row, 1] + part * (roads.samples[row + 1, 1] - roads.samples[row, 1])
            next_distance = (at_x - x) ** 2 + (at_y - y) ** 2
            if distance < next_distance:
                return track, arc
            arc, distance = arc + 1.0, next_distance
        if roads.tracks[track, LINKS] == 0.0:  # the road ends
            return track, arc
        next_track, next_arc = advance(roads, track, arc, 1.0, random)
        at_x, at_y = place_on(roads, next_track, next_arc)
        next_distance = (at_x - x) ** 2 + (at_y - y) ** 2
        if distance < next_distance:
            return track, arc
        track, arc, distance = next_track, next_arc, next_distance


@compiled
def draw_place(roads, group, random):
    """A route point of a group of places, drawn uniformly by length."""
    total = 0.0
    for k in range(len(roads.places)):
        if roads.places[k, GROUP] == group:
            total += roads.places[k, PLACE_LENGTH]
    left, last = total * uniform(random), -1
    for k in range(len(roads.places)):
        if roads.places[k, GROUP] == group:
            last = k
            if left < roads.places[k, PLACE_LENGTH]:
                break
            left -= roads.places[k, PLACE_LENGTH]
    along = min(left, roads.places[last, PLACE_LENGTH])
    return int(roads.places[last, PLACE_LANE]), roads.places[last, PLACE_START] + along


@compiled
def draw_lane(roads, lanes, x, y, cos, sin, random):
    """A lane, and the arc length on it, that a car at (x, y) with a heading may be on: the likelier, the better both
    fit and the more routes there are. If none fits, one that is near."""
    total, chosen, chosen_arc = 0.0, 0, 0.0
    nearest, near_lane, near_arc = math.inf, 0, 0.0
    for lane in range(lanes):
        row, step, last = int(roads.tracks[lane, FIRST_SAMPLE]), 0, int(roads.tracks[lane, LENGTH] / SPACING)
        best, at = math.inf, 0
        while step <= last:  # no sample is nearer than this one is, less the way to it
            distance = math.sqrt((roads.samples[row + step, 0] - x) ** 2 + (roads.samples[row + step, 1] - y) ** 2)
            if distance < best:
                best, at = distance, step
            step += max(1, int(SAMPLES_PER_METRE * (distance - min(best, LANE_REACH))))
        if best < nearest:
            nearest, near_lane, near_arc = best, lane, at * SPACING
        if best < LANE_REACH:
            along_x, along_y = heading_on(roads, lane, at * SPACING)
            ahead, aside = cos * along_x + sin * along_y, cos * along_y - sin * along_x
            if ahead > 0.0:
                off = (best / OFF_LANE) ** 2 + (aside / ahead / OFF_HEADING) ** 2
                weight = math.exp(-0.5 * off) * max(1.0, roads.tracks[lane, ROUTES])
                total += weight
                if uniform(random) * total < weight:
                    chosen, chosen_arc = lane, at * SPACING
    if total > 0.0:
        return chosen, chosen_arc
    return near_lane, near_arc


@compiled
def inside(roads, x, y, mask):
    """Whether a point is in one of the areas k whose bits 1 << k are in the mask. Exact, but for rounding on edges."""
    grid = roads.area_grid
    column, row = math.floor((x - grid[WEST]) / grid[CELL]), math.floor((y - grid[SOUTH]) / grid[CELL])
    if not (0 <= column < grid[GRID_COLUMNS] and 0 <= row < grid[GRID_ROWS]):
        return False
    cell = roads.area_cells[row, column]
    if cell & mask:
        return True
    if not (cell >> AREAS) & mask:
        return False
    found = 0
    for k in range(roads.area_rows[row], roads.area_rows[row + 1]):
        low = roads.area_edges[k, EDGE_LOW]
        edge_x = roads.area_edges[k, EDGE_X] + (y - low) * roads.area_edges[k, EDGE_SLOPE]
        if low <= y < roads.area_edges[k, EDGE_HIGH] and x < edge_x:
            found ^= 1 << int(roads.area_edges[k, EDGE_AREA])
    return found & mask != 0
