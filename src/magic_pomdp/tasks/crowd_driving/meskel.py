"""Our own map of a junction, from the figures in `meskel.toml`."""

import math
import tomllib
from importlib.resources import files
from typing import Any

import numpy as np

from magic_pomdp.tasks.crowd_driving.network import Junction, Lane, RoadNetwork, arcs_of, points_at

_CURVE_POINTS = 60
"""Points of the polyline that a curve through the junction becomes."""
_BEND_STEPS = 8
"""Pieces of the polyline in which an arm bends."""
_SMOOTH = (0.25, 0.75)
"""How long the handles of a curve may be, in lengths of its chord."""


def read_figures() -> dict[str, Any]:
    """The figures of the map, by name."""
    return tomllib.loads(files(__package__).joinpath("meskel.toml").read_text(encoding="utf-8"))


def meskel_network(figures: dict[str, Any]) -> RoadNetwork:
    """Straight arms, smooth ways through the junction, slip roads past it."""
    width, length = figures["lane_width"], figures["arm_length"]
    middles: dict[str, np.ndarray] = {}
    links: dict[str, list[str]] = {}
    for name, arm in figures["entries"].items():
        for index, middle in enumerate(_arm_lanes(arm, width, length, -1.0)):
            inward = middle[::-1]
            if "fork" in arm:
                far, inward = _cut(inward, arcs_of(inward)[-1] - arm["fork"])
                middles[f"{name}far_{index}"] = far
                links[f"{name}far_{index}"] = [f"{name}_{index}"]
            middles[f"{name}_{index}"] = inward
    for name, arm in figures["exits"].items():
        for index, outward in enumerate(_arm_lanes(arm, width, length, 1.0)):
            if "fork" in arm:
                outward, far = _cut(outward, arm["fork"])
                middles[f"{name}far_{index}"] = far
                links[f"{name}_{index}"] = [f"{name}far_{index}"]
            middles[f"{name}_{index}"] = outward
    inside = []
    for entry, entry_lane, exit, exit_lane, metres in figures["movements"]["through"]:
        start, end = f"{entry}_{entry_lane}", f"{exit}_{exit_lane}"
        inside.append(name := f":{start}-{end}_0")
        middles[name] = _curve(middles[start], middles[end], metres)
        links.setdefault(start, []).append(name)
        links[name] = [end]
    for entry, exit, metres in figures["movements"]["slip_roads"]:
        start, end = f"{entry}far_0", f"{exit}far_0"
        middles[name := f"{entry}-{exit}_0"] = _curve(middles[start], middles[end], metres)
        links[start].append(name)
        links[name] = [end]
    numbers = {name: number for number, name in enumerate(middles)}
    lanes = tuple(
        Lane(
            name=name,
            edge=name.rpartition("_")[0],
            middle=middle,
            links=tuple(numbers[link] for link in links.get(name, ())),
            internal=name.startswith(":"),
            width=width,
        )
        for name, middle in middles.items()
    )
    arriving = tuple(numbers[name] for name in middles if name.rpartition("_")[0] in figures["entries"])
    junction = Junction("meskel", _junction_shape(figures, middles), arriving, tuple(numbers[name] for name in inside))
    return RoadNetwork(lanes, (junction,))


def _arm_lanes(arm: dict[str, Any], width: float, length: float, outward: float) -> list[np.ndarray]:
    """The middle of every lane of an arm, rightmost first, from the junction outward; `outward` is 1 for an exit and
    −1 for an entry, on which cars drive the other way."""
    final, over = arm.get("bend", (arm["heading"], 1.0))
    bearings = np.append(np.linspace(arm["heading"], final, _BEND_STEPS), final)
    steps = np.append(np.full(_BEND_STEPS, over / _BEND_STEPS), length - over)
    ahead = np.array([_compass(bearing) for bearing in bearings])
    middle = np.array(arm["mouth"]) + outward * np.concatenate(
        [[[0.0, 0.0]], np.cumsum(steps[:, None] * ahead, axis=0)]
    )
    right = np.array([_compass(bearing + 90.0) for bearing in (arm["heading"], *bearings)])
    return [middle + (0.5 * (arm["lanes"] - 1) - index) * width * right for index in range(arm["lanes"])]


def _cut(line: np.ndarray, arc: float) -> tuple[np.ndarray, np.ndarray]:
    """A polyline in two at an arc length."""
    arcs = arcs_of(line)
    at = points_at(arc, line, arcs)
    return np.vstack([line[arcs < arc], at]), np.vstack([at, line[arcs > arc]])


def _compass(degrees: float) -> np.ndarray:
    angle = math.radians(degrees)
    return np.array([math.sin(angle), math.cos(angle)])


def _curve(before: np.ndarray, after: np.ndarray, metres: float) -> np.ndarray:
    """A cubic curve from the end of one lane to the start of another, along both. Its handles, the same at both ends,
    are chosen for its length; where that would take a kink, it is as near to that length as smooth handles go."""
    start, leave, arrive, end = before[-1], _unit(before[-1] - before[-2]), _unit(after[1] - after[0]), after[0]
    chord = float(np.hypot(*(end - start)))
    handles = chord * np.linspace(*_SMOOTH, 200)[:, None, None]
    t = np.linspace(0.0, 1.0, _CURVE_POINTS)[:, None]
    first, second = start + handles * leave, end - handles * arrive
    curves = (1 - t) ** 3 * start + 3 * (1 - t) ** 2 * t * first + 3 * (1 - t) * t**2 * second + t**3 * end
    steps = np.diff(curves, axis=1)
    lengths = np.hypot(steps[..., 0], steps[..., 1]).sum(axis=1)
    best: np.ndarray = curves[np.argmin(abs(lengths - metres))]
    return best


def _unit(vector: np.ndarray) -> np.ndarray:
    length: float = np.hypot(*vector)
    return vector / length


def _junction_shape(figures: dict[str, Any], middles: dict[str, np.ndarray]) -> np.ndarray:
    """The area between the mouths: once around, through both corners of every mouth, and along the right-hand edge of
    the ways that turn from one arm into the next."""
    half = 0.5 * figures["lane_width"]
    corners = []
    for arm in (*figures["entries"].values(), *figures["exits"].values()):
        across = arm["lanes"] * half * _compass(arm["heading"] + 90.0)
        corners += [np.array(arm["mouth"]) + across, np.array(arm["mouth"]) - across]
    for entry, entry_lane, exit, exit_lane, _ in figures["movements"]["through"]:
        if entry_lane == exit_lane == 0 and [entry, exit] in figures["movements"]["corners"]:
            middle = middles[f":{entry}_0-{exit}_0_0"]
            ahead = np.gradient(middle, axis=0)
            right = np.stack([ahead[:, 1], -ahead[:, 0]], axis=1) / np.hypot(*ahead.T)[:, None]
            corners += list(middle[1:-1] + half * right[1:-1])
    around = np.array(corners)
    off_x, off_y = (around - np.array(figures["junction"]["centre"])).T
    return around[np.argsort(np.arctan2(off_y, off_x))]
