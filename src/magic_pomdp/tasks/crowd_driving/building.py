"""From a road network and a scene in it to the tables that compiled code looks things up in."""

from dataclasses import dataclass
from functools import cache, lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np

from magic_pomdp.core.reading import Damaged, in_short, printable, read_content
from magic_pomdp.tasks.crowd_driving.areas import SHORTER, build_areas
from magic_pomdp.tasks.crowd_driving.gamma import FRONT, REAR, SIDE
from magic_pomdp.tasks.crowd_driving.meskel import meskel_network, read_figures
from magic_pomdp.tasks.crowd_driving.network import (
    Junction,
    RoadNetwork,
    UnusableRoads,
    check_not_endless,
    points_at,
    shown,
)
from magic_pomdp.tasks.crowd_driving.roads import (
    BEYOND,
    GROUP,
    SAMPLES_PER_METRE,
    SPACING,
    SPAWN,
    RoadTables,
)
from magic_pomdp.tasks.crowd_driving.scene import EXIT_LENGTH, RoadScene, junction_scene, meskel_scene
from magic_pomdp.tasks.crowd_driving.sumo import MOST_BYTES, parse_sumo

_VARIANTS = ("default", "reference")
_ROUTE_REACH = 160.0
"""Routes go on for at least so many metres after the lane they begin with, if the road does."""
_SCENE_RADIUS = 450.0
"""Of a SUMO network, the lanes that come within so many metres of the junction are used."""
_MOST_LANES, _MOST_POINTS, _MOST_LANE_POINTS = 20_000, 100_000, 500
"""Of a SUMO network, the part that is used may have so many lanes, these so many points, and each so many."""
_MOST_CROSSINGS = 50
"""A lane may cross itself so often: the strip around it has edges between all crossings."""
_MOST_SAMPLES = 10_000_000
"""Tracks may have so many samples and points."""
_FOR_EVER = 1.0
"""One could go round for ever in a ring of lanes that are no longer than this: cars follow their routes metre by
metre."""


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


def load_map(path: str | Path | None = None, variant: str = "default", junction: str | None = None) -> RoadMap:
    """Our own junction, or one of a SUMO network (by its name, or else the one with most ways through it), ready for
    use. Later calls give the same map again, if the file has not changed. The variant makes a difference for our own
    junction; on others, the default variant refuses a junction before which no start is on the road."""
    if variant not in _VARIANTS:
        raise ValueError(f"The variant must be one of {', '.join(_VARIANTS)}, not {variant!r}.")
    if path is None:
        if junction is not None:
            raise ValueError(f"Only a map has junctions to choose from, but junction is {junction!r} without a map.")
        return _own_map(variant)
    path = Path(path)
    return _map_of(read_content(path, MOST_BYTES), printable(path.name), variant, junction)


@cache
def _own_map(variant: str) -> RoadMap:
    figures = read_figures()
    network = meskel_network(figures)
    return _build_map(network, meskel_scene(network, figures, variant))


@lru_cache(maxsize=8)
def _map_of(content: bytes, file: str, variant: str, junction: str | None) -> RoadMap:
    """The map of what a file holds; a ValueError says in a sentence why it is none."""
    import shapely

    network = parse_sumo(content, file, turnarounds=False)
    found = _find_junction(network, file, junction)
    try:
        network = _surroundings(network, found)
        found = next(candidate for candidate in network.junctions if candidate.name == found.name)
        road_map = _build_map(network, junction_scene(network, found))
        drivable = variant != "default" or _has_start_on_road(road_map)
    except UnusableRoads as reason:
        raise Damaged(f"{file} is not a usable SUMO network: {reason}.") from None
    except shapely.errors.ShapelyError as error:
        what = f"the shapes of its roads make no sense ({in_short(str(error))})"
        raise Damaged(f"{file} is not a usable SUMO network: {what}.") from None
    if not drivable:
        raise Damaged(
            f"The road network {file} cannot be driven on: wherever the robot could start before junction "
            f"{shown(found.name)}, a part of its car, which is {2.0 * SIDE:.1f} m wide, is off the road."
        )
    return road_map


def _surroundings(network: RoadNetwork, junction: Junction) -> RoadNetwork:
    """The part of a network around a junction, its loose ends going straight on."""
    x, y = junction.shape.mean(axis=0)
    near = network.around(x, y, _SCENE_RADIUS)
    if all(candidate.name != junction.name for candidate in near.junctions):
        raise UnusableRoads(
            f"the corners of junction {shown(junction.name)} lie more than {_SCENE_RADIUS:g} m from its lanes"
        )
    points = [len(lane.middle) for lane in near.lanes]
    if len(near.lanes) > _MOST_LANES or sum(points) > _MOST_POINTS or max(points) > _MOST_LANE_POINTS:
        raise UnusableRoads(
            f"within {_SCENE_RADIUS:g} m of junction {shown(junction.name)} there are {len(near.lanes):,} lanes of "
            f"{sum(points):,} points, up to {max(points):,} each, but there may be {_MOST_LANES:,}, {_MOST_POINTS:,} "
            f"and {_MOST_LANE_POINTS:,}: choose another junction, or simplify the network"
        )
    _check_rings(near)
    _check_crossings(near)
    return near.extended(EXIT_LENGTH)


def _check_rings(network: RoadNetwork) -> None:
    short = {number for number, lane in enumerate(network.lanes) if lane.length <= _FOR_EVER}
    try:
        TopologicalSorter({number: short.intersection(network.lanes[number].links) for number in short}).prepare()
    except CycleError as error:
        first = network.lanes[error.args[1][0]].shown
        raise UnusableRoads(
            f"lane {first} is part of a ring of lanes that are no longer than {_FOR_EVER:g} m: one would go round for "
            "ever"
        ) from None


def _check_crossings(network: RoadNetwork) -> None:
    import shapely

    for lane in network.lanes:
        if not lane.line.is_simple:
            pieces = shapely.linestrings(np.stack([lane.middle[:-1], lane.middle[1:]], axis=1))
            pairs = shapely.STRtree(pieces).query(pieces, predicate="intersects").shape[1]
            if pairs > 3 * len(pieces) + 2 * _MOST_CROSSINGS:  # each meets itself and its neighbours
                raise UnusableRoads(f"lane {lane.shown} crosses itself more than {_MOST_CROSSINGS} times")


def _find_junction(network: RoadNetwork, file: str, name: str | None) -> Junction:
    """The junction of a name, or else the one with most ways through it, the most central of these."""
    ways = {
        junction.name: sum(len(network.lanes[lane].links) for lane in junction.arriving)
        for junction in network.junctions
        if len(junction.shape) > 2
    }
    if name is not None and name not in ways:
        raise Damaged(f"The road network {file} has no junction {name!r}.")
    if not any(ways.values()) or (name is not None and not ways[name]):
        for junction in network.junctions:
            if not junction.connected and name in (None, junction.name):
                reason = f"roads meet at junction {shown(junction.name)}, but no connection leads through it"
                raise Damaged(f"{file} is not a usable SUMO network: {reason}.")
        raise Damaged(f"The road network {file} has no junction that one can drive through.")
    middles = {junction.name: junction.shape.mean(axis=0) for junction in network.junctions if junction.name in ways}
    centre = np.mean(list(middles.values()), axis=0)
    if name is None:
        name = max(ways, key=lambda key: (ways[key], -np.hypot(*(middles[key] - centre))))
    return next(junction for junction in network.junctions if junction.name == name)


def _build_map(network: RoadNetwork, scene: RoadScene) -> RoadMap:
    """Put a network and a scene into tables."""
    places = _build_places(network, scene)
    spawning = {int(lane) for group, lane, _, _ in places if group == SPAWN}
    exits = {road: scene.exit_area(exit) for exit, road in enumerate(scene.exit_roads)}
    tracks, samples, links, routes = _build_tracks(network, spawning, exits)
    tables = RoadTables(tracks, samples, links, places, *build_areas(scene.areas))
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
    sample_count = point_count = 0

    def add_track(route: tuple[int, ...], length: float, sampled: float, columns: list[int]) -> None:
        nonlocal sample_count, point_count
        points, arcs = network.polyline(route)
        steps = int(np.ceil(min(sampled, arcs[-1]) / SPACING))
        point_count += len(points)
        if sample_count + steps + point_count > _MOST_SAMPLES:
            raise UnusableRoads(
                f"its roads and the routes on them add up to more than {_MOST_SAMPLES / SAMPLES_PER_METRE / 1000:,.0f} "
                f"km; {SHORTER}"
            )
        at = SPACING * np.minimum(np.arange(steps + 2), steps)
        samples.append(points_at(at, points, arcs))
        if length > 0.0:  # and the last step may be of none
            _check_leads_on(samples[-1][: max(2, steps)], lanes[route[0]].shown)
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


def _check_leads_on(samples: np.ndarray, first: str) -> None:
    """Refuse a track on which one is at the same place again after half a metre, or a metre: it has no direction."""
    for apart in (1, SAMPLES_PER_METRE):
        if (samples[apart:] == samples[:-apart]).all(axis=1).any():
            raise UnusableRoads(f"the road that begins with lane {first} turns back on itself at once")


def _first_links(network: RoadNetwork, lane: int) -> tuple[int, ...]:
    """A lane and those that follow along the first links, as far as one looks ahead."""
    route, beyond = [lane], 0.0
    while beyond < BEYOND + SPACING and network.lanes[route[-1]].links:
        route.append(network.lanes[route[-1]].links[0])
        beyond += network.lanes[route[-1]].length
        check_not_endless(route, BEYOND + SPACING, network)
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
            raise UnusableRoads(f"it has no lane on which {who} could start")
    return np.array(places, dtype=np.float64)


def _has_start_on_road(road_map: RoadMap) -> bool:
    """Whether the whole body of the robot's car is on the road at one of its starts; every half metre is tried."""
    import shapely

    scene = road_map.scene
    roads = [shapely.union_all([scene.junction, entry, *scene.exits]) for entry in scene.entries]
    shapely.prepare(roads)
    corners = np.array([(ahead, aside) for ahead in (-REAR, FRONT) for aside in (-SIDE, SIDE)])
    for entry, lane, start, length in road_map.tables.places[road_map.tables.places[:, GROUP] != SPAWN]:
        line, arcs = road_map.network.lanes[int(lane)].line, np.arange(start, start + length, SPACING)
        here, ahead = (shapely.get_coordinates(line.interpolate(arcs + more)) for more in (0.0, 0.5 * SPACING))
        heading = np.arctan2(*(ahead - here).T[::-1])[:, None]
        x = here[:, :1] + np.cos(heading) * corners[:, 0] - np.sin(heading) * corners[:, 1]
        y = here[:, 1:] + np.sin(heading) * corners[:, 0] + np.cos(heading) * corners[:, 1]
        if shapely.intersects_xy(roads[int(entry)], x, y).all(axis=1).any():
            return True
    return False
