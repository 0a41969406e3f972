"""Roads for a person to look at."""

import numpy as np

from magic_pomdp.tasks.crowd_driving.building import RoadMap
from magic_pomdp.tasks.crowd_driving.car import MIDDLE, corner
from magic_pomdp.tasks.crowd_driving.gamma import CAR, COS, FRONT, SIN, X, Y
from magic_pomdp.tasks.crowd_driving.layout import ARC, AREA, PROGRESS, TRACK
from magic_pomdp.tasks.crowd_driving.roads import place_on
from magic_pomdp.tasks.crowd_driving.scene import road_area

SHOWN = 100
"""Particles that are drawn."""
EXPECTED = 15.0
"""Metres of their cars' routes."""
VIEW = 70.0
"""Half the side of the picture, in metres."""
OWN, OTHER, PATH, BELIEF = "#ff6b5e", "#d7dee8", "#6fe08a", "#ffd166"
GROUND, ROAD, DRIVABLE, LINE = "#39424e", "#4d5866", "#5f6c7d", "#8793a3"


def draw_roads(axes, road_map: RoadMap, entry: int | None = None, exit: int | None = None) -> None:
    """Draw the roads of a map on matplotlib's `axes`; with an entry and an exit also the area to drive in."""
    axes.set(aspect="equal", facecolor=GROUND, xticks=[], yticks=[])
    _fill(axes, road_area(road_map.network), ROAD)
    if entry is not None and exit is not None:
        scene = road_map.scene
        _fill(axes, scene.junction | scene.entries[entry] | scene.exits[exit], DRIVABLE)
    for lane in road_map.network.lanes:
        axes.plot(*lane.middle.T, color=LINE, lw=0.4, ls=":" if lane.internal else "-")


def draw_scene(axes, task, context: np.ndarray, states: np.ndarray, particles: np.ndarray) -> None:
    """Draw a moment of Crowd-Driving: cars with their headings, the robot's path, and where the belief expects the
    other cars to go."""
    state = states[-1]
    area, first = int(context[AREA]), task.path_from()
    entry = next(e for e in range(task.entries) if area >> (1 + e) & 1)
    exit = next(x for x in range(task.exits) if area >> (1 + task.entries + x) & 1)
    draw_roads(axes, task.road_map(), entry, exit)
    path = context[first:].reshape(-1, 2)
    axes.plot(*path[int(state[PROGRESS]) :].T, color=PATH, lw=1.2, alpha=0.8)
    axes.plot(states[:, X], states[:, Y], color="white", lw=0.8)
    roads = task.road_map().tables
    shown = particles[:: max(1, len(particles) // SHOWN)]
    ahead = np.arange(0.0, EXPECTED + 1.0, 1.0)
    for car in range(CAR, CAR * (task.cars + 1), CAR):
        tracks, counts = np.unique(shown[:, car + TRACK].astype(int), return_counts=True)
        for track, count in zip(tracks, counts, strict=True):
            arc = shown[shown[:, car + TRACK] == track, car + ARC].mean()
            way = np.array([place_on(roads, track, arc + metres) for metres in ahead])
            axes.plot(*way.T, color=BELIEF, lw=1.5, alpha=0.15 + 0.75 * count / len(shown), solid_capstyle="round")
    for car in range(CAR * task.cars, -1, -CAR):
        _draw_car(axes, state, car, OWN if car == 0 else OTHER)
    middle = 0.5 * (state[X] + task.middle_x), 0.5 * (state[Y] + task.middle_y)
    axes.set(xlim=(middle[0] - VIEW, middle[0] + VIEW), ylim=(middle[1] - VIEW, middle[1] + VIEW))


def _draw_car(axes, state: np.ndarray, car: int, color: str) -> None:
    """The body, and a line from its middle to its front."""
    from matplotlib.patches import Polygon

    axes.add_patch(Polygon([corner(state, car, k) for k in (0, 1, 3, 2)], facecolor=color, edgecolor="black", lw=0.4))
    along = np.array([MIDDLE, FRONT])
    axes.plot(
        state[car + X] + along * state[car + COS], state[car + Y] + along * state[car + SIN], color="black", lw=0.7
    )


def _fill(axes, area, color: str) -> None:
    """Fill polygons, but not their holes."""
    import shapely
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    polygons = [part for part in shapely.get_parts(area) if part.geom_type == "Polygon"]
    for polygon in polygons:
        rings = [Path(np.array(ring.coords), closed=True) for ring in (polygon.exterior, *polygon.interiors)]
        axes.add_patch(PathPatch(Path.make_compound_path(*rings), facecolor=color, edgecolor="none"))
