"""A moment of an episode on matplotlib's axes, from what the task says of its look. The page draws the same data."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import Circle as CirclePatch
from matplotlib.patches import Polygon as PolygonPatch

from magic_pomdp.core.scene import Circle, Line, Polygon, Scene, Shape, Text, shapes_from_json

SHOWN = 400
"""Particles that are drawn."""
SHAPES, PARTICLES, TRAILS, MACRO_ACTIONS, SPRITES = 1, 2, 3, 4, 6
"""What lies above what."""


@cache
def palette(theme: str) -> dict[str, str]:
    """The colour of every role on "light" or on "dark" ground."""
    return json.loads((Path(__file__).parent / "page" / "palette.json").read_text(encoding="utf-8"))[theme]


def draw_moment(axes, episode: dict[str, Any], time: float, theme: str = "dark", scale: float = 1.0) -> None:
    """Draw a recorded episode at a time between 0 and its last step; widths and dots are `scale` times as large."""
    last = len(episode["states"]) - 1
    step = min(int(time), last)
    later, share = min(step + 1, last), min(time, last) - step

    def at(name: str) -> np.ndarray:
        return episode[name][step] + share * (episode[name][later] - episode[name][step])

    scene = Scene.from_json(episode["scene"])
    moving = zip(episode["sprites"][step], episode["sprites"][later], strict=False)
    sprites = shapes_from_json([_between(shape, following, share) for shape, following in moving])
    states = np.vstack([episode["states"][: step + 1], at("states")[None]])
    draw_frame(axes, scene, sprites, states, at("particles"), theme, scale)
    plan = episode["plans"][episode["plan_of_frame"][step]]
    if step < last and plan.get("paths") is not None:
        draw_macro_actions(axes, plan, theme, scale)


def draw_frame(
    axes,
    scene: Scene,
    sprites: Sequence[Shape],
    states: np.ndarray,
    particles: np.ndarray,
    theme: str = "dark",
    scale: float = 1.0,
) -> None:
    """Draw the scene, the true states so far (one a row, the last is now), the belief's particles, and what moves."""
    colours = palette(theme)
    left, bottom, right, top = scene.view
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xticks=[], yticks=[])
    axes.set_facecolor(colours["ground"])
    for shape in scene.shapes:
        _draw(axes, shape, colours, SHAPES, scale)
    shown = particles[:: max(1, len(particles) // SHOWN)]
    for track in scene.particles:
        colour = colours.get(track.role, track.role)
        x, y = shown[:, track.x], shown[:, track.y]
        axes.scatter(x, y, s=3 * scale, color=colour, alpha=0.6, linewidths=0, zorder=PARTICLES)
    for track in scene.trails:
        colour = colours.get(track.role, track.role)
        axes.plot(states[:, track.x], states[:, track.y], color=colour, lw=scale, alpha=0.8, zorder=TRAILS)
    for shape in sprites:
        _draw(axes, shape, colours, SPRITES, scale)


def draw_macro_actions(axes, plan: dict[str, Any], theme: str = "dark", scale: float = 1.0) -> None:
    """The ways of a plan's macro-actions, coloured by value, the best above the others; the chosen one is bright."""
    colours = palette(theme)
    values = np.array([plan["value"]]) if plan["values"] is None else plan["values"]
    of = shades(values)
    for macro in sorted(range(len(of)), key=lambda macro: (macro == plan["choice"], of[macro])):
        chosen = macro == plan["choice"]
        x, y = plan["paths"][macro][: plan["lengths"][macro] + 1].T
        colour = shade_colour(colours, of[macro])
        style = {"solid_capstyle": "round", "solid_joinstyle": "round", "zorder": MACRO_ACTIONS + chosen}
        if chosen:
            axes.plot(x, y, color=colours["chosen"], lw=4 * scale, **style)
        alpha = 1.0 if chosen else 0.45 + 0.5 * of[macro]
        axes.plot(x, y, color=colour, lw=(2.2 if chosen else 1.2) * scale, alpha=alpha, **style)
        size, end = (4.5, colours["chosen"]) if chosen else (3.0, colour)
        axes.plot(x[-1], y[-1], "o", ms=size * scale, color=end, mew=0, zorder=MACRO_ACTIONS + chosen)


def shades(values: np.ndarray) -> np.ndarray:
    """1 for the best value, 0 for those far below the middle ones, so that one very bad does not hide the rest."""
    ordered = np.sort(values)
    best = ordered[-1]
    low = max(ordered[0], best - 3 * (best - ordered[len(ordered) // 2]))
    return np.clip((values - low) / (best - low), 0.0, 1.0) if best > low else np.ones(len(values))


def shade_colour(colours: dict[str, str], shade: float) -> tuple[float, ...]:
    """The colour of a shade between 0 and 1."""
    low, middle, high = ([int(colours[name][i : i + 2], 16) / 255 for i in (1, 3, 5)] for name in LOW_TO_HIGH)
    first, second, share = (low, middle, 2 * shade) if shade < 0.5 else (middle, high, 2 * shade - 1)
    return tuple(a + share * (b - a) for a, b in zip(first, second, strict=True))


LOW_TO_HIGH = ("low", "middle", "high")


def _between(shape: dict[str, Any], following: dict[str, Any], share: float) -> dict[str, Any]:
    """A shape, as plain data, on its way from one step to the next."""
    if share == 0.0 or [shape.get(name) for name in ("kind", "role")] != [following.get(n) for n in ("kind", "role")]:
        return shape
    mixed = dict(shape)
    for name in {"x", "y", "radius"} & shape.keys() & following.keys():
        mixed[name] = shape[name] + share * (following[name] - shape[name])
    if "heading" in shape:
        turn = following["heading"] - shape["heading"]
        mixed["heading"] = shape["heading"] + share * np.arctan2(np.sin(turn), np.cos(turn))
    if "points" in shape and len(shape["points"]) == len(following["points"]):
        before, after = np.array(shape["points"]), np.array(following["points"])
        mixed["points"] = before + share * (after - before)
    return mixed


def _draw(axes, shape: Shape, colours: dict[str, str], zorder: int, scale: float) -> None:
    colour = colours.get(shape.role, shape.role)
    if isinstance(shape, Circle | Polygon):
        style: dict[str, Any] = {
            "fill": shape.filled,
            "color": colour,
            "lw": 0 if shape.filled else 2 * scale,
            "zorder": zorder,
        }
        if isinstance(shape, Circle):
            axes.add_patch(CirclePatch((shape.x, shape.y), shape.radius, **style))
        else:
            cos, sin = np.cos(shape.heading), np.sin(shape.heading)
            corners = np.array(shape.points) @ np.array([[cos, sin], [-sin, cos]]) + (shape.x, shape.y)
            axes.add_patch(PolygonPatch(corners, **style))
    elif isinstance(shape, Line):
        points, width = np.array(shape.points), shape.width * scale
        axes.plot(points[:, 0], points[:, 1], "--" if shape.dashed else "-", color=colour, lw=width, zorder=zorder)
    elif isinstance(shape, Text):
        style = {"ha": "center", "va": "center", "fontsize": 9 * scale, "zorder": zorder}
        axes.text(shape.x, shape.y, shape.text, color=colour, **style)
