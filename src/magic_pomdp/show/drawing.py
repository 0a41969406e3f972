"""A moment of an episode on matplotlib's axes, from what the task says of its look. The page draws the same data."""

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle as CirclePatch
from matplotlib.patches import Polygon as PolygonPatch
from msgspec.structs import replace

from magic_pomdp.core.reading import printable
from magic_pomdp.core.scene import Circle, Line, Points, Polygon, Scene, Shape, Text
from magic_pomdp.results.recording import RecordedEpisode, RecordedPlan

_SHOWN = 400
"""Particles that are drawn."""
_VAST = 1e4
"""A circle with a radius of so many diagonals of the view has edges there that no pixel tells from straight lines. As
the curve that it is, it would be drawn in pieces of a pixel, all around."""
_THIN = 1 / 256
"""Pixels below which a line leaves no trace. Dashes are as short as a line is thin, and would be countless."""
_SHAPES, _PARTICLES, _TRAILS, _MACRO_ACTIONS, _SPRITES = 1, 2, 3, 4, 6
"""What lies above what."""


@cache
def palette(theme: str) -> dict[str, str]:
    """The colour of every role on "light" or on "dark" ground."""
    themes = (Path(__file__).parent / "page" / "palette.json").read_bytes()
    return msgspec.json.decode(themes, type=dict[str, dict[str, str]])[theme]


def scene_of(episode: RecordedEpisode) -> Scene:
    """What an episode's task looks like, or a ValueError if it does not say."""
    if episode.scene is None:
        raise ValueError("The task of this episode has no look, so there is nothing to draw.")
    return episode.scene


def draw_moment(axes: Axes, episode: RecordedEpisode, time: float, theme: str = "dark", scale: float = 1.0) -> None:
    """Draw a recorded episode at a time between 0 and its last step; widths and dots are `scale` times as large."""
    last = len(episode.states) - 1
    step = min(int(time), last)
    later, share = min(step + 1, last), min(time, last) - step

    def now(frames: np.ndarray) -> np.ndarray:
        return _mixed(frames[step], frames[later], share)

    moving = zip(episode.sprites[step], episode.sprites[later], strict=False)
    sprites = [_between(shape, following, share) for shape, following in moving]
    states = np.vstack([episode.states[: step + 1], now(episode.states)[None]])
    draw_frame(axes, scene_of(episode), sprites, states, now(episode.particles), theme, scale)
    plan = episode.plans[episode.plan_of_frame[step]]
    if step < last and plan.paths is not None:
        _draw_macro_actions(axes, plan, plan.paths, theme, scale)


def draw_frame(
    axes: Axes,
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
        _draw(axes, shape, colours, _SHAPES, scale)
    shown = particles[:: max(1, len(particles) // _SHOWN)]
    for track in scene.particles:
        colour = colours.get(track.role, track.role)
        x, y = shown[:, track.x], shown[:, track.y]
        axes.scatter(x, y, s=3 * scale, color=colour, alpha=0.6, linewidths=0, zorder=_PARTICLES)
    for track in scene.trails:
        colour = colours.get(track.role, track.role)
        axes.plot(states[:, track.x], states[:, track.y], color=colour, lw=scale, alpha=0.8, zorder=_TRAILS)
    for shape in sprites:
        _draw(axes, shape, colours, _SPRITES, scale)


def _draw_macro_actions(axes: Axes, plan: RecordedPlan, paths: np.ndarray, theme: str, scale: float) -> None:
    """The ways of a plan's macro-actions, coloured by value, the best above the others; the chosen one is bright."""
    colours = palette(theme)
    values = np.full(len(paths), plan.value) if plan.values is None else plan.values
    of = _shades(values)
    for macro in sorted(range(len(of)), key=lambda macro: (macro == plan.choice, of[macro])):
        chosen = macro == plan.choice
        x, y = paths[macro][: plan.lengths[macro] + 1].T
        colour = _shade_colour(colours, of[macro])
        style: dict[str, Any] = {
            "solid_capstyle": "round",
            "solid_joinstyle": "round",
            "zorder": _MACRO_ACTIONS + chosen,
        }
        if chosen:
            axes.plot(x, y, color=colours["chosen"], lw=4 * scale, **style)
        alpha = 1.0 if chosen else 0.45 + 0.5 * of[macro]
        axes.plot(x, y, color=colour, lw=(2.2 if chosen else 1.2) * scale, alpha=alpha, **style)
        size, end = (4.5, colours["chosen"]) if chosen else (3.0, colour)
        axes.plot(x[-1], y[-1], "o", ms=size * scale, color=end, mew=0, zorder=_MACRO_ACTIONS + chosen)


def _shades(values: np.ndarray) -> np.ndarray:
    """1 for the best value, 0 for those far below the middle ones, so that one very bad does not hide the rest."""
    ordered = np.sort(values)
    best = ordered[-1]
    low = max(ordered[0], best - 3 * (best - ordered[len(ordered) // 2]))
    return np.clip((values - low) / (best - low), 0.0, 1.0) if best > low else np.ones(len(values))


def _shade_colour(colours: dict[str, str], shade: float) -> tuple[float, ...]:
    """The colour of a shade between 0 and 1."""
    low, middle, high = ([int(colours[name][i : i + 2], 16) / 255 for i in (1, 3, 5)] for name in _LOW_TO_HIGH)
    first, second, share = (low, middle, 2 * shade) if shade < 0.5 else (middle, high, 2 * shade - 1)
    return tuple(a + share * (b - a) for a, b in zip(first, second, strict=True))


_LOW_TO_HIGH = ("low", "middle", "high")


def _between(shape: Shape, following: Shape, share: float) -> Shape:
    """A shape on its way from one step to the next."""
    if share == 0.0 or shape.role != following.role:
        return shape
    match shape, following:
        case Circle(), Circle():
            radius = _mixed(shape.radius, following.radius, share)
            return replace(shape, **_mixed_place(shape, following, share), radius=radius)
        case Polygon(), Polygon():
            turn = following.heading - shape.heading
            heading = shape.heading + share * np.arctan2(np.sin(turn), np.cos(turn))
            points = _mixed_points(shape.points, following.points, share)
            return replace(shape, **_mixed_place(shape, following, share), heading=heading, points=points)
        case Line(), Line():
            return replace(shape, points=_mixed_points(shape.points, following.points, share))
        case Text(), Text():
            return replace(shape, **_mixed_place(shape, following, share))
    return shape


_Value = TypeVar("_Value", float, np.ndarray)
_Placed = TypeVar("_Placed", Circle, Polygon, Text)


def _mixed(before: _Value, after: _Value, share: float) -> _Value:
    mixed: _Value = before + share * (after - before)
    return mixed


def _mixed_place(before: _Placed, after: _Placed, share: float) -> dict[str, float]:
    return {"x": _mixed(before.x, after.x, share), "y": _mixed(before.y, after.y, share)}


def _mixed_points(before: Points, after: Points, share: float) -> Points:
    if len(before) != len(after):
        return before
    return [(_mixed(x, u, share), _mixed(y, v, share)) for (x, y), (u, v) in zip(before, after, strict=True)]


def _draw(axes: Axes, shape: Shape, colours: dict[str, str], zorder: int, scale: float) -> None:
    colour = colours.get(shape.role, shape.role)
    if isinstance(shape, Circle | Polygon):
        style: dict[str, Any] = {
            "fill": shape.filled,
            "color": colour,
            "lw": 0 if shape.filled else 2 * scale,
            "zorder": zorder,
        }
        if isinstance(shape, Circle) and shape.radius < _VAST * _diagonal(axes):
            axes.add_patch(CirclePatch((shape.x, shape.y), shape.radius, **style))
        elif isinstance(shape, Circle):
            axes.add_patch(PolygonPatch(_part_in_view(axes, shape), **style))
        else:
            cos, sin = np.cos(shape.heading), np.sin(shape.heading)
            corners = _corners(shape.points) @ np.array([[cos, sin], [-sin, cos]]) + (shape.x, shape.y)
            axes.add_patch(PolygonPatch(corners, **style))
    elif isinstance(shape, Line):
        points, width = _corners(shape.points), shape.width * scale
        if width >= _THIN:
            dashes = "--" if shape.dashed else "-"
            axes.plot(points[:, 0], points[:, 1], dashes, color=colour, lw=width, zorder=zorder)
    elif isinstance(shape, Text) and _is_near(axes, shape):
        style = {"ha": "center", "va": "center", "fontsize": 9 * scale, "zorder": zorder, "parse_math": False}
        axes.text(shape.x, shape.y, printable(shape.text), color=colour, **style)


def _is_near(axes: Axes, words: Text) -> bool:
    """Whether words may be seen: they are not placed far outside the view, where a picture has no pixels."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    return 2 * left - right <= words.x <= 2 * right - left and 2 * bottom - top <= words.y <= 2 * top - bottom


def _diagonal(axes: Axes) -> float:
    """Of the view."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    return math.hypot(right - left, top - bottom)


def _part_in_view(axes: Axes, vast: Circle) -> np.ndarray:
    """Corners of a square that looks the same in the view as a circle of which one sees one edge at most: its other
    edges are outside."""
    size, middle = _diagonal(axes), np.array([np.mean(axes.get_xlim()), np.mean(axes.get_ylim())])
    away = middle - (vast.x, vast.y)
    distance = math.hypot(*away)
    outwards = away / distance if distance > 0.0 else np.array([1.0, 0.0])
    edge = middle + outwards * np.clip(vast.radius - distance, -2.0 * size, 2.0 * size)
    along, back = 2.0 * size * np.array([-outwards[1], outwards[0]]), 4.0 * size * outwards
    return np.array([edge - along, edge + along, edge + along - back, edge - along - back])


def _corners(points: Points) -> np.ndarray:
    """Shape (count, 2), even if there are none."""
    return np.array(points, dtype=np.float64).reshape(-1, 2)
