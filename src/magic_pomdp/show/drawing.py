"""A frame of an episode on matplotlib's axes, from what the task says of its look. The page draws the same data."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib.patches import Circle as CirclePatch
from matplotlib.patches import Polygon as PolygonPatch

from magic_pomdp.core.scene import Circle, Line, Polygon, Scene, Shape, Text

SHOWN = 400
"""Particles that are drawn."""


@cache
def palette(theme: str) -> dict[str, str]:
    """The colour of every role on "light" or on "dark" ground."""
    return json.loads((Path(__file__).parent / "page" / "palette.json").read_text(encoding="utf-8"))[theme]


def draw_frame(
    axes, scene: Scene, sprites: Sequence[Shape], states: np.ndarray, particles: np.ndarray, theme: str = "dark"
) -> None:
    """Draw the scene, the true states so far (one a row, the last is now), the belief's particles, and what moves."""
    colours = palette(theme)
    left, bottom, right, top = scene.view
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xticks=[], yticks=[])
    axes.set_facecolor(colours["ground"])
    for shape in scene.shapes:
        _draw(axes, shape, colours)
    shown = particles[:: max(1, len(particles) // SHOWN)]
    for track in scene.particles:
        colour = colours.get(track.role, track.role)
        axes.scatter(shown[:, track.x], shown[:, track.y], s=3, color=colour, alpha=0.5, linewidths=0)
    for track in scene.trails:
        colour = colours.get(track.role, track.role)
        axes.plot(states[:, track.x], states[:, track.y], color=colour, lw=1.0, alpha=0.8)
    for shape in sprites:
        _draw(axes, shape, colours)


def _draw(axes, shape: Shape, colours: dict[str, str]) -> None:
    colour = colours.get(shape.role, shape.role)
    if isinstance(shape, Circle):
        centre = shape.x, shape.y
        axes.add_patch(CirclePatch(centre, shape.radius, fill=shape.filled, color=colour, lw=0 if shape.filled else 2))
    elif isinstance(shape, Polygon):
        cos, sin = np.cos(shape.heading), np.sin(shape.heading)
        corners = np.array(shape.points) @ np.array([[cos, sin], [-sin, cos]]) + (shape.x, shape.y)
        axes.add_patch(PolygonPatch(corners, fill=shape.filled, color=colour, lw=0 if shape.filled else 2))
    elif isinstance(shape, Line):
        points = np.array(shape.points)
        axes.plot(points[:, 0], points[:, 1], "--" if shape.dashed else "-", color=colour, lw=shape.width)
    elif isinstance(shape, Text):
        axes.text(shape.x, shape.y, shape.text, color=colour, ha="center", va="center", fontsize=9)
