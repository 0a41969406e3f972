"""A road network as plain Python: lanes, how they connect, and the junctions between them.

Coordinates are metres in SUMO's axes: x to the east, y to the north, traffic on the right.
"""

import heapq
import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from magic_pomdp.core.reading import in_short

if TYPE_CHECKING:
    from shapely import LineString

_MOST_ROUTES = 64
"""Routes from one lane."""
_MOST_LANES = 1000
"""Lanes of a route."""


class UnusableRoads(ValueError):
    """What is wrong with a road network, as the end of a sentence that begins with the file's name."""


def shown(name: str) -> str:
    """A name from a file, for a message."""
    return in_short(name, 60)


@dataclass(frozen=True)
class Lane:
    """One lane, driven along its middle."""

    name: str
    """As SUMO writes it: the edge's name, an underscore and the index, 0 being the rightmost lane."""
    edge: str
    """The road that the lane is part of."""
    middle: np.ndarray
    """Polyline in the direction of travel; shape (points, 2)."""
    links: tuple[int, ...] = ()
    """The lanes that go on from the end of this one, in the order of the file."""
    internal: bool = False
    """Whether it leads through a junction."""
    width: float = 4.0

    @cached_property
    def arcs(self) -> np.ndarray:
        """How far along the middle each of its points is; shape (points,)."""
        return arcs_of(self.middle)

    @cached_property
    def length(self) -> float:
        return float(self.arcs[-1])

    @property
    def shown(self) -> str:
        """Its name, for a message."""
        return shown(self.name)

    @cached_property
    def line(self) -> "LineString":
        """The middle, for questions of geometry."""
        import shapely

        return shapely.LineString(self.middle)


@dataclass(frozen=True)
class Junction:
    """Where roads meet."""

    name: str
    shape: np.ndarray
    """Corners of its area; shape (corners, 2)."""
    arriving: tuple[int, ...]
    """Lanes that end at it, those inside it left out."""
    inside: tuple[int, ...]
    """Its internal lanes."""
    connected: bool = True
    """Whether a lane leads through it, if roads meet there at all."""


@dataclass(frozen=True)
class RoadNetwork:
    lanes: tuple[Lane, ...]
    junctions: tuple[Junction, ...]

    def edge_lanes(self, edge: str) -> tuple[int, ...]:
        """The lanes of a road, rightmost first."""
        return tuple(number for number, lane in enumerate(self.lanes) if lane.edge == edge)

    def routes(self, first: int, reach: float) -> list[tuple[int, ...]]:
        """The ways to drive from the start of a lane on: to `reach` metres beyond its end, or until the road ends.

        After _MOST_ROUTES ways, the nearest forks first, a fork goes on only along its first link."""
        found: list[tuple[int, ...]] = []
        open_routes: list[tuple[float, tuple[int, ...]]] = [(0.0, (first,))]
        while open_routes:
            beyond, route = heapq.heappop(open_routes)
            links = self.lanes[route[-1]].links
            if beyond >= reach or not links:
                found.append(route)
                continue
            check_not_endless(route, reach, self)
            room = _MOST_ROUTES - len(found) - len(open_routes)
            for link in links[: max(room, 1)]:
                heapq.heappush(open_routes, (beyond + self.lanes[link].length, (*route, link)))
        return found

    def reachable(self, lanes: tuple[int, ...], reach: float) -> set[int]:
        """Some lanes, and all that begin less than `reach` metres beyond the ends of these."""
        found: set[int] = set()
        waiting = sorted((0.0, lane) for lane in lanes)
        while waiting:
            beyond, lane = heapq.heappop(waiting)
            if lane not in found:
                found.add(lane)
                for link in self.lanes[lane].links if beyond < reach else ():
                    heapq.heappush(waiting, (beyond + self.lanes[link].length, link))
        return found

    def around(self, x: float, y: float, radius: float) -> "RoadNetwork":
        """The part of the network whose lanes come within a radius of a place."""
        import shapely

        place = shapely.Point(x, y)
        return self.part([number for number, lane in enumerate(self.lanes) if lane.line.distance(place) <= radius])

    def part(self, kept: list[int]) -> "RoadNetwork":
        """The network with some of its lanes only, and the junctions at which these arrive."""
        new = {old: number for number, old in enumerate(kept)}

        def renumber(numbers: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(new[number] for number in numbers if number in new)

        lanes = tuple(replace(self.lanes[old], links=renumber(self.lanes[old].links)) for old in kept)
        junctions = [
            replace(junction, arriving=renumber(junction.arriving), inside=renumber(junction.inside))
            for junction in self.junctions
        ]
        return RoadNetwork(lanes, tuple(junction for junction in junctions if junction.arriving))

    def extended(self, metres: float) -> "RoadNetwork":
        """The network with its loose ends going straight on: roads do not end where a map does."""
        lanes = []
        for lane in self.lanes:
            if not lane.links:
                step = lane.middle[-1] - lane.middle[-2]
                further = lane.middle[-1] + metres / max(math.hypot(*step), 1e-9) * step
                lane = replace(lane, middle=np.vstack([lane.middle, further]))
            lanes.append(lane)
        return replace(self, lanes=tuple(lanes))

    def polyline(self, route: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Points along a route and their arc lengths. Where two lanes do not quite meet, the gap has no length."""
        lanes = [self.lanes[number] for number in route]
        starts = accumulate((lane.length for lane in lanes[:-1]), initial=0.0)
        arcs = [start + lane.arcs for start, lane in zip(starts, lanes, strict=True)]
        return np.concatenate([lane.middle for lane in lanes]), np.concatenate(arcs)


def check_not_endless(route: "list[int] | tuple[int, ...]", reach: float, network: RoadNetwork) -> None:
    """Refuse roads of so short lanes that it takes very many of them to get anywhere."""
    if len(route) >= _MOST_LANES:
        first = network.lanes[route[0]].shown
        raise UnusableRoads(f"{_MOST_LANES:,} lanes on from lane {first}, one has not come {reach:g} m far")


def arcs_of(points: np.ndarray) -> np.ndarray:
    """How far along a polyline each of its points is; shape (points,)."""
    return np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])


def points_at(arc: float | np.ndarray, points: np.ndarray, arcs: np.ndarray) -> np.ndarray:
    """Where on a polyline an arc length is, or many are; shape (…, 2)."""
    return np.stack([np.interp(arc, arcs, points[:, 0]), np.interp(arc, arcs, points[:, 1])], axis=-1)
