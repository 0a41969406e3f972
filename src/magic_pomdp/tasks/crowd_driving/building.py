"""From a road network and a scene in it to the tables that compiled code looks things up in."""

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from magic_pomdp.tasks.crowd_driving.gamma import FRONT, REAR, SIDE
from magic_pomdp.tasks.crowd_driving.meskel import meskel_network, read_figures
from magic_pomdp.tasks.crowd_driving.network import Junction, RoadNetwork, points_at
from magic_pomdp.tasks.crowd_driving.roads import AREAS, BEYOND, GROUP, SPACING, SPAWN, RoadTables
from magic_pomdp.tasks.crowd_driving.scene import EXIT_LENGTH, RoadScene, junction_scene, meskel_scene
from magic_pomdp.tasks.crowd_driving.sumo import read_sumo

if TYPE_CHECKING:
    from shapely import Geometry

_VARIANTS = ("default", "reference")
_ROUTE_REACH = 160.0
"""Routes go on for at least so many metres after the lane they begin with, if the road does."""
_SCENE_RADIUS = 450.0
"""Of a SUMO network, the lanes that come within so many metres of the junction are used."""
_AREA_CELL = 1.0
"""Metres of a cell in which areas are looked up."""


@dataclass(frozen=True)
class RoadMap:
    """A road network, the scene in it, and the tables of both."""

    network: RoadNetwork
    scene: RoadScene
    routes: tuple[tuple[int, ...], ...]
    """The lanes of every route; track `len(network.lanes) + k` is route k."""
    tables: RoadTables

    @property
    def entries(self) -> int:
        return len(self.scene.entries)


@cache
def load_map(path: str | Path | None = None, variant: str = "default", junction: str | None = None) -> RoadMap:
    """Our own junction, or one of a SUMO network (by its name, or else the one with most ways through it), ready for
    use. Later calls give the same map again. The variant makes a difference for our own junction; on others, the
    default variant refuses a junction before which no start is on the road."""
    if variant not in _VARIANTS:
        raise ValueError(f"The variant must be one of {', '.join(_VARIANTS)}, not {variant!r}.")
    if path is None:
        if junction is not None:
            raise ValueError(f"Only a map has junctions to choose from, but junction is {junction!r} without a map.")
        figures = read_figures()
        network = meskel_network(figures)
        return _build_map(network, meskel_scene(network, figures, variant))
    network = read_sumo(path, turnarounds=False)
    found = _find_junction(network, Path(path).name, junction)
    x, y = found.shape.mean(axis=0)
    network = network.around(x, y, _SCENE_RADIUS).extended(EXIT_LENGTH)
    found = next(candidate for candidate in network.junctions if candidate.name == found.name)
    road_map = _build_map(network, junction_scene(network, found))
    if variant == "default" and not _has_start_on_road(road_map):
        raise ValueError(
            f"The road network {Path(path).name} cannot be driven on: wherever the robot could start before junction "
            f"{found.name}, a part of its car, which is {2.0 * SIDE:.1f} m wide, is off the road."
        )
    return road_map


def _find_junction(network: RoadNetwork, file: str, name: str | None) -> Junction:
    """The junction of a name, or else the one with most ways through it, the most central of these."""
    ways = {
        junction.name: sum(len(network.lanes[lane].links) for lane in junction.arriving)
        for junction in network.junctions
        if len(junction.shape) > 2
    }
    if name is not None and name not in ways:
        raise ValueError(f"The road network {file} has no junction {name!r}.")
    if not any(ways.values()) or (name is not None and not ways[name]):
        for junction in network.junctions:
            if not junction.connected and name in (None, junction.name):
                reason = f"roads meet at junction {junction.name}, but no connection leads through it"
                raise ValueError(f"{file} is not a usable SUMO network: {reason}.")
        raise ValueError(f"The road network {file} has no junction that one can drive through.")
    middles = {junction.name: junction.shape.mean(axis=0) for junction in network.junctions if junction.name in ways}
    centre = np.mean(list(middles.values()), axis=0)
    if name is None:
        name = max(ways, key=lambda key: (ways[key], -np.hypot(*(middles[key] - centre))))
    return next(junction for junction in network.junctions if junction.name == name)


def _build_map(network: RoadNetwork, scene: RoadScene) -> RoadMap:
    """Put a network and a scene into tables."""
    if len(scene.areas) > AREAS:
        raise ValueError(f"A junction may have {AREAS - 1} roads at most, but this one has {len(scene.areas) - 1}.")
    places = _build_places(network, scene)
    spawning = {int(lane) for group, lane, _, _ in places if group == SPAWN}
    exits = {road: scene.exit_area(exit) for exit, road in enumerate(scene.exit_roads)}
    tracks, samples, links, routes = _build_tracks(network, spawning, exits)
    tables = RoadTables(tracks, samples, links, places, *_build_areas(scene.areas))
    return RoadMap(network, scene, routes, tables)


def _build_tracks(
    network: RoadNetwork, spawning: set[int], exits: dict[str, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[tuple[int, ...], ...]]:
    """`tracks`, `samples` and `links`, and the lanes of the routes, of which lanes have some where cars may start.

    `exits` has the areas of exits, by the roads with which they begin."""
    lanes = network.lanes
    rows: list[list[float]] = []
    samples: list[np.ndarray] = []
    links: list[int] = []
    routes: list[tuple[int, ...]] = []
    sample_count = 0

    def add_track(route: tuple[int, ...], length: float, sampled: float, columns: list[int]) -> None:
        nonlocal sample_count
        points, arcs = network.polyline(route)
        steps = int(np.ceil(min(sampled, arcs[-1]) / SPACING))
        at = SPACING * np.minimum(np.arange(steps + 2), steps)
        samples.append(points_at(at, points, arcs))
        rows.append([sample_count, steps, length, *columns])
        sample_count += steps + 2

    for number, lane in enumerate(lanes):
        from_here = network.routes(number, _ROUTE_REACH) if number in spawning else []
        first_route = len(lanes) + len(routes)
        columns = [len(links), len(lane.links), first_route, len(from_here), exits.get(lane.edge, -1)]
        add_track(_first_links(network, number), lane.length, lane.length + BEYOND, columns)
        links += lane.links
        routes += from_here
    for route in routes:
        length = sum(lanes[lane].length for lane in route)
        add_track(route, length, length, [0, 0, 0, 0, -1])
    return np.array(rows, dtype=np.float64), np.concatenate(samples), np.array(links, dtype=np.int64), tuple(routes)


def _first_links(network: RoadNetwork, lane: int) -> tuple[int, ...]:
    """A lane and those that follow along the first links, as far as one looks ahead."""
    route, beyond = [lane], 0.0
    while beyond < BEYOND + SPACING and network.lanes[route[-1]].links:
        route.append(network.lanes[route[-1]].links[0])
        beyond += network.lanes[route[-1]].length
    return tuple(route)


def _build_places(network: RoadNetwork, scene: RoadScene) -> np.ndarray:
    """`places`: starts of the ego, entry by entry, and of other cars."""
    import shapely

    groups = [*enumerate(scene.starts), (SPAWN, shapely.box(*scene.spawn_box))]
    places = []
    for group, area in groups:
        for number, lane in enumerate(network.lanes):
            for part in shapely.get_parts(lane.line & area):
                if part.length > 0.0:
                    start = lane.line.project(shapely.Point(part.coords[0]))
                    places.append((group, number, min(start, lane.length - part.length), part.length))
        if not any(place[0] == group for place in places):
            who = "another car" if group == SPAWN else f"the ego at entry {group}"
            raise ValueError(f"The road network has no lane on which {who} could start.")
    return np.array(places, dtype=np.float64)


def _has_start_on_road(road_map: RoadMap) -> bool:
    """Whether the whole body of the robot's car is on the road at one of its starts; every half metre is tried."""
    import shapely
    from shapely.affinity import rotate, translate

    scene = road_map.scene
    corners = shapely.MultiPoint([(ahead, aside) for ahead in (-REAR, FRONT) for aside in (-SIDE, SIDE)])
    for entry, lane, start, length in road_map.tables.places[road_map.tables.places[:, GROUP] != SPAWN]:
        road = shapely.union_all([scene.junction, scene.entries[int(entry)], *scene.exits])
        line = road_map.network.lanes[int(lane)].line
        for arc in np.arange(start, start + length, SPACING):
            here, ahead = line.interpolate([arc, arc + 0.5 * SPACING])
            heading = math.atan2(ahead.y - here.y, ahead.x - here.x)
            if road.covers(translate(rotate(corners, heading, (0.0, 0.0), use_radians=True), here.x, here.y)):
                return True
    return False


def _build_areas(areas: "tuple[Geometry, ...]") -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """`area_grid`, `area_cells`, `area_rows` and `area_edges`."""
    import shapely

    edges = []
    for number, area in enumerate(areas):
        for ring in shapely.get_rings(shapely.get_parts(area)):
            for side in pairwise(ring.coords):
                low, high = sorted(side, key=itemgetter(1))
                edges.append((low[1], high[1], low[0], high[0], number))
    edge_table = np.array(edges)
    west, south = np.floor([edge_table[:, 2:4].min(), edge_table[:, 0].min()]) - _AREA_CELL
    columns, rows = (
        int(np.ceil(extent / _AREA_CELL)) + 2
        for extent in (edge_table[:, 2:4].max() - west, edge_table[:, 1].max() - south)
    )
    cells = np.zeros((rows, columns), dtype=np.int64)
    row_edges: list[np.ndarray] = []
    middles = west + _AREA_CELL * (np.arange(columns) + 0.5)
    for row in range(rows):
        bottom = south + row * _AREA_CELL
        here = edge_table[(edge_table[:, 0] <= bottom + _AREA_CELL) & (edge_table[:, 1] >= bottom)]
        for low, high, low_x, high_x, number in here:
            ends = [low_x, high_x]
            if high > low:
                slope = (high_x - low_x) / (high - low)
                ends = [low_x + slope * (min(max(y, low), high) - low) for y in (bottom, bottom + _AREA_CELL)]
            first, last = (min(ends) - west) / _AREA_CELL - 1e-6, (max(ends) - west) / _AREA_CELL + 1e-6
            cells[row, int(first) : int(last) + 1] |= 1 << (AREAS + int(number))
        rising = here[here[:, 1] > here[:, 0]]
        slopes = (rising[:, 3] - rising[:, 2]) / (rising[:, 1] - rising[:, 0])
        row_edges.append(np.column_stack([rising[:, :3], slopes, rising[:, 4]]))
        cells[row] |= _inside_bits(row_edges[-1], middles, bottom + 0.5 * _AREA_CELL) & ~(cells[row] >> AREAS)
    starts = np.cumsum([0, *(len(part) for part in row_edges)], dtype=np.int64)
    grid = np.array([west, south, _AREA_CELL, columns, rows])
    return grid, cells, starts, np.ascontiguousarray(np.concatenate(row_edges))


def _inside_bits(edges: np.ndarray, xs: np.ndarray, y: float) -> np.ndarray:
    """The bits of the areas that points of one height are in: those whose edges they see an odd number of."""
    bits = np.zeros(len(xs), dtype=np.int64)
    for low, high, low_x, slope, number in edges:
        if low <= y < high:
            bits ^= np.where(xs < low_x + (y - low) * slope, 1 << int(number), 0)
    return bits
