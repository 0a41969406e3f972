"""Roads for a person to look at."""

import numpy as np

from magic_pomdp.tasks.crowd_driving.building import RoadMap
from magic_pomdp.tasks.crowd_driving.scene import road_area

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


def _fill(axes, area, color: str) -> None:
    """Fill polygons, but not their holes."""
    import shapely
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    polygons = [part for part in shapely.get_parts(area) if part.geom_type == "Polygon"]
    for polygon in polygons:
        rings = [Path(np.array(ring.coords), closed=True) for ring in (polygon.exterior, *polygon.interiors)]
        axes.add_patch(PathPatch(Path.make_compound_path(*rings), facecolor=color, edgecolor="none"))
