"""Which part of a road network a task takes place in: a junction, the roads that meet there, and where cars start.

Polygons are shapely's, which is imported only when a scene is made.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from magic_pomdp.tasks.crowd_driving.network import Junction, RoadNetwork, UnusableRoads, shown
from magic_pomdp.tasks.crowd_driving.roads import AREAS, FIRST_ENTRY

if TYPE_CHECKING:
    from shapely import Geometry

_STRIP_WIDTH = 1.025
"""Drivable strip around a lane, in widths of the lane: a little more, so that lanes side by side leave no gap."""
_ARC_SEGMENTS = 5
"""Straight pieces of a quarter of a strip's round end."""
_ENTRY_LENGTH = 20.0
"""Metres before a junction of a SUMO network in which the ego starts."""
EXIT_LENGTH = 260.0
"""Metres of road that belong to an exit: more than a car drives in an episode."""
_SPAWN_REACH, _SPAWN_MARGIN = 50.0, 20.0
"""How far from the middle of a junction of a SUMO network other cars start, or around it if that is farther."""


@dataclass(frozen=True)
class RoadScene:
    """Areas of a task, in the network's coordinates."""

    junction: "Geometry"
    entries: tuple["Geometry", ...]
    exits: tuple["Geometry", ...]
    exit_roads: tuple[str, ...]
    """The road with which each exit begins."""
    starts: tuple["Geometry", ...]
    """Where, for each entry, the middle of a lane is a start of the ego."""
    spawn_box: tuple[float, float, float, float]
    """West, south, east, north: where other cars start."""

    @property
    def areas(self) -> tuple["Geometry", ...]:
        return (self.junction, *self.entries, *self.exits)

    def entry_area(self, entry: int) -> int:
        return FIRST_ENTRY + entry

    def exit_area(self, exit: int) -> int:
        return FIRST_ENTRY + len(self.entries) + exit


def meskel_scene(network: RoadNetwork, figures: dict[str, Any], variant: str) -> RoadScene:
    """The scene of our own map. In the reference variant entries and exits are the areas in the figures; else they are
    whole arms, so that neither a start nor a fast drive leaves the road."""
    import shapely

    road = road_area(network)
    junction = shapely.Polygon(figures["junction"]["area"]) & road
    entries = [shapely.Polygon(arm["area"]) & road for arm in figures["entries"].values()]
    starts = tuple(entry - junction for entry in entries)
    if variant == "reference":
        exits = [shapely.Polygon(arm["area"]) & road for arm in figures["exits"].values()]
    else:
        entries, exits = (
            [_strips(network, (*network.edge_lanes(name), *network.edge_lanes(f"{name}far"))) for name in figures[arms]]
            for arms in ("entries", "exits")
        )
        junction |= _strips(network, network.junctions[0].inside)
    exit_roads = tuple(figures["exits"])
    return RoadScene(junction, tuple(entries), tuple(exits), exit_roads, starts, tuple(figures["spawn_box"]))


def junction_scene(network: RoadNetwork, junction: Junction) -> RoadScene:
    """The scene at a junction of any network: every road into it is an entry, every road out of it an exit."""

    lanes = network.lanes
    area = _shape(junction) | _strips(network, junction.inside)
    west, south, east, north = area.bounds
    if math.isnan(west):
        raise UnusableRoads(f"junction {shown(junction.name)} has no area")
    arriving = [lane for lane in junction.arriving if lanes[lane].links]
    inside, roads_in = set(junction.inside), defaultdict[str, list[int]](list)
    for lane in arriving:
        roads_in[lanes[lane].edge].append(lane)
    onward = [link for lane in (*arriving, *junction.inside) for link in lanes[lane].links]
    out = dict.fromkeys(lanes[link].edge for link in onward if link not in inside)
    _check_roads(len(out))
    starts = {edge: _last_stretches(network, road) - area for edge, road in roads_in.items()}
    starts = {edge: start for edge, start in starts.items() if start.area > 0.0}  # some roads are very short
    _check_roads(len(starts) + len(out))
    x, y = 0.5 * (west + east), 0.5 * (south + north)
    reach = max(_SPAWN_REACH, 0.5 * max(east - west, north - south) + _SPAWN_MARGIN)
    return RoadScene(
        junction=area,
        entries=tuple(_strips(network, network.edge_lanes(edge)) for edge in starts),
        exits=tuple(_beyond(network, edge) for edge in out),
        exit_roads=tuple(out),
        starts=tuple(starts.values()),
        spawn_box=(x - reach, y - reach, x + reach, y + reach),
    )


def _check_roads(count: int) -> None:
    """Refuse a junction at which more roads meet than a cell has bits for."""
    if count > AREAS - 1:
        raise UnusableRoads(f"a junction may have {AREAS - 1} roads at most, but this one has {count}")


def _beyond(network: RoadNetwork, edge: str) -> "Geometry":
    """A road, and the roads and junctions that can be reached from there."""
    import shapely

    lanes = network.reachable(network.edge_lanes(edge), EXIT_LENGTH)
    passed = [junction for junction in network.junctions if lanes.intersection(junction.inside)]
    return shapely.union_all([_strips(network, lanes), *map(_shape, passed)])


def _shape(junction: Junction) -> "Geometry":
    import shapely

    return shapely.Polygon(junction.shape).buffer(0.0) if len(junction.shape) > 2 else shapely.Polygon()


def _last_stretches(network: RoadNetwork, lanes: Iterable[int]) -> "Geometry":
    """What is around the middle of lanes just before their end."""
    import shapely
    from shapely.ops import substring

    lines = [network.lanes[lane].line for lane in lanes]
    ends = [substring(line, max(line.length - _ENTRY_LENGTH, 0.0), line.length) for line in lines]
    return shapely.union_all([end.buffer(0.01) for end in ends])


def road_area(network: RoadNetwork) -> "Geometry":
    """All that can be driven on: strips around the lanes, and the junctions."""
    import shapely

    return shapely.union_all([_strips(network, range(len(network.lanes))), *map(_shape, network.junctions)])


def _strips(network: RoadNetwork, numbers: Iterable[int]) -> "Geometry":
    import shapely

    lanes = [network.lanes[number] for number in numbers]
    strips = [lane.line.buffer(0.5 * _STRIP_WIDTH * lane.width, quad_segs=_ARC_SEGMENTS) for lane in lanes]
    return shapely.union_all(strips)
