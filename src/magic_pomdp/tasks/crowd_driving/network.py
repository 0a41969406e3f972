"""A road network as plain Python: lanes, how they connect, and the junctions between them.

Coordinates are metres in SUMO's axes: x to the east, y to the north, traffic on the right.
"""

from dataclasses import dataclass

import numpy as np


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

    @property
    def length(self) -> float:
        return float(arcs_of(self.middle)[-1])


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


@dataclass(frozen=True)
class RoadNetwork:
    lanes: tuple[Lane, ...]
    junctions: tuple[Junction, ...]

    def lane(self, name: str) -> int:
        """The number of the lane of a name."""
        for number, lane in enumerate(self.lanes):
            if lane.name == name:
                return number
        raise ValueError(f"The road network has no lane {name}.")

    def edge_lanes(self, edge: str) -> tuple[int, ...]:
        """The lanes of a road, rightmost first."""
        return tuple(number for number, lane in enumerate(self.lanes) if lane.edge == edge)

    def routes(self, first: int, reach: float) -> list[tuple[int, ...]]:
        """All ways to drive from the start of a lane on: to `reach` metres beyond its end, or until the road ends."""
        found: list[tuple[int, ...]] = []
        open_routes: list[tuple[tuple[int, ...], float]] = [((first,), 0.0)]
        while open_routes:
            route, beyond = open_routes.pop()
            links = self.lanes[route[-1]].links
            if beyond >= reach or not links:
                found.append(route)
            for link in reversed(links if beyond < reach else ()):
                open_routes.append(((*route, link), beyond + self.lanes[link].length))
        return found

    def polyline(self, route: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Points along a route and their arc lengths. Where two lanes do not quite meet, the gap has no length."""
        points = np.concatenate([self.lanes[lane].middle for lane in route])
        arcs, start = [], 0.0
        for lane in route:
            arcs.append(start + arcs_of(self.lanes[lane].middle))
            start = arcs[-1][-1]
        return points, np.concatenate(arcs)


def arcs_of(points: np.ndarray) -> np.ndarray:
    """How far along a polyline each of its points is; shape (points,)."""
    return np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
