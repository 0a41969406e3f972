"""What Crowd-Driving looks like: roads, the robot's path, cars, and where the belief expects them to go."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from magic_pomdp.core.scene import Line, Points, Polygon, Scene, Shape, Track, box
from magic_pomdp.tasks.crowd_driving.building import RoadMap
from magic_pomdp.tasks.crowd_driving.car import HALF, MIDDLE
from magic_pomdp.tasks.crowd_driving.gamma import CAR, COS, FRONT, SIDE, SIN, X, Y
from magic_pomdp.tasks.crowd_driving.layout import ARC, TRACK
from magic_pomdp.tasks.crowd_driving.roads import RoadTables, place_on
from magic_pomdp.tasks.crowd_driving.scene import road_area

if TYPE_CHECKING:
    from shapely import Geometry

_MARGIN = 5.0
"""Metres that are shown around what happens."""
_DETAIL = 0.05
"""Lines are simplified by so many metres at most."""
_SHOWN = 100
"""Particles whose expectations are drawn."""
_WAYS = 3
"""Of every car, so many ways that it is expected to go, the likeliest."""
_WAY_AHEAD = np.linspace(FRONT, FRONT + 15.0, 8)
"""Metres along these ways, from the car's front on."""
_SAME = 1.0
"""Ways that end no farther from each other are one."""


def crowd_scene(road_map: RoadMap, areas: int, path: np.ndarray) -> Scene:
    """The part of the roads where cars start or the robot may come, what it must not leave (the areas of a mask), and
    its path."""
    import shapely

    way = shapely.LineString(path)
    west, south, east, north = shapely.total_bounds([way, shapely.box(*road_map.scene.spawn_box)])
    view = (west - _MARGIN, south - _MARGIN, east + _MARGIN, north + _MARGIN)
    seen = shapely.box(*view)
    allowed = shapely.union_all([area for k, area in enumerate(road_map.scene.areas) if areas >> k & 1])
    return Scene(
        view=view,
        shapes=(
            *_filled(road_area(road_map.network) & seen),
            *_lanes(road_map, seen),
            *_outlines(allowed.boundary & seen),
            Line(_points(way), "goal", 2.0),
        ),
        robot=(X, Y),
        trails=(Track(X, Y, "path"),),
    )


def crowd_sprites(roads: RoadTables, state: np.ndarray, particles: np.ndarray) -> tuple[Shape, ...]:
    """For each of the other cars as many ways, and the cars: shapes keep their places in the list as time goes on."""
    cars = range(0, len(state) // CAR * CAR, CAR)  # behind them is how the episode stands
    shown = particles[:: max(1, len(particles) // _SHOWN)]
    ways = [way for car in cars[1:] for way in _ways(roads, shown[:, car + TRACK], shown[:, car + ARC])]
    bodies = [part for car in cars for part in _car(state[car : car + CAR], "robot" if car == 0 else "other")]
    return (*ways, *bodies)


def _car(car: np.ndarray, role: str) -> tuple[Polygon, Polygon]:
    """The body, and the windscreen, which tells front from back. The robot's is an outline, for the macro-actions are
    below it, and shorter than a car."""
    heading = math.atan2(car[SIN], car[COS])

    def part(middle: float, length: float, width: float, role: str, filled: bool = True) -> Polygon:
        return box(car[X] + middle * car[COS], car[Y] + middle * car[SIN], heading, length, width, role, filled)

    body = part(MIDDLE, 2.0 * HALF, 2.0 * SIDE, role, filled=role != "robot")
    return body, part(0.6 * FRONT, 0.8, 1.6 * SIDE, "ground")


def _ways(roads: RoadTables, tracks: np.ndarray, arcs: np.ndarray) -> list[Line]:
    """The ways that a car is expected to go, the wider the likelier. If there are fewer, the last is repeated."""
    found: list[tuple[float, np.ndarray]] = []
    tracks = np.floor(tracks)
    for track in np.unique(tracks):
        arc, share = arcs[tracks == track].mean(), float((tracks == track).mean())
        way = np.array([place_on(roads, int(track), arc + metres) for metres in _WAY_AHEAD])
        for k, (other_share, other) in enumerate(found):
            if math.dist(other[-1], way[-1]) < _SAME:
                found[k] = other_share + share, other
                break
        else:
            found.append((share, way))
    likely = sorted(range(len(found)), key=lambda k: -found[k][0])[:_WAYS]
    lines = [Line(tuple(map(tuple, found[k][1])), "belief", 0.4 + 1.6 * found[k][0]) for k in sorted(likely)]
    return lines + [lines[-1]] * (_WAYS - len(lines))


def _filled(area: "Geometry") -> Iterator[Polygon]:
    """Polygons, and then their holes."""
    import shapely

    polygons = [part for part in shapely.get_parts(area) if part.geom_type == "Polygon"]
    for polygon in polygons:
        yield Polygon(_points(polygon.exterior), "surface")
    for polygon in polygons:
        yield from (Polygon(_points(hole), "ground") for hole in polygon.interiors)


def _lanes(road_map: RoadMap, seen: "Geometry") -> Iterator[Line]:
    import shapely

    for lane in road_map.network.lanes:
        for part in shapely.get_parts(lane.line & seen):
            if part.length > 0.0:
                yield Line(_points(part), "shade", 1.0, dashed=lane.internal)


def _outlines(boundary: "Geometry") -> Iterator[Line]:
    import shapely

    merged = shapely.line_merge(shapely.union_all(shapely.get_parts(boundary)))
    return (Line(_points(part), "obstacle", 1.0) for part in shapely.get_parts(merged) if part.length > 0.0)


def _points(line: "Geometry") -> Points:
    return list(line.simplify(_DETAIL).coords)
