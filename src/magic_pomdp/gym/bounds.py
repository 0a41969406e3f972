"""Between which limits the numbers of a task lie, for those that ship. Noise is bounded, too: `randomness.normal`
cannot leave ± NORMAL."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from magic_pomdp.core.task import Task

NORMAL = 14.0
"""A normal number is at most 3.66 + 53 ln 2 / 3.65, for a draw has 53 bits."""
_UNIT = 1e-9
"""A vector whose length is so close to 1 is a unit vector as it is."""
_SHORT = 0.5
"""A shorter vector is no heading, where there is something to do without one."""


Limits = tuple[npt.ArrayLike, npt.ArrayLike]
"""The least and the largest values: numbers for all, or one for each."""


@dataclass(frozen=True)
class Bounds:
    """Between which limits the numbers of a task lie. What is not told is not bounded."""

    observation: Limits | None = None
    context: Limits | None = None
    action: Limits | None = None
    """Of actions that are given as they are, not by their number."""
    nearest: Callable[[np.ndarray], np.ndarray] | None = None
    """The actions of the task that are nearest to any actions within the limits; shape (n, action_size) each. What is
    an action of the task stays as it is. Default: all are."""


def bounds_of(task: Task) -> Bounds:
    """What is known of a task's limits; nothing, of a task that does not ship."""
    found = _BOUNDS.get(task.name) if type(task).__module__.startswith("magic_pomdp.tasks.") else None
    return Bounds() if found is None else found(task)


def headings(vectors: np.ndarray, otherwise: tuple[float, float], short: float = 0.0) -> np.ndarray:
    """The first two numbers of each row as a vector of length 1; where it is no longer than `short`, something else."""
    vectors = vectors[:, :2]
    lengths = np.hypot(vectors[:, 0], vectors[:, 1])[:, None]
    units = np.where(abs(lengths - 1.0) <= _UNIT, vectors, vectors / np.where(lengths > 0.0, lengths, 1.0))
    return np.where(lengths > short, units, otherwise)


def _light_dark(task: Task) -> Bounds:
    from magic_pomdp.tasks.light_dark import LightDark

    assert isinstance(task, LightDark)
    noise = NORMAL * task.observation_noise
    x = task.arena + task.light_half_width + noise  # only in the light is anything seen
    y = task.arena + NORMAL * task.prior_noise + task.speed * task.max_steps + noise
    return Bounds(
        observation=((0.0, -x, -y), (1.0, x, y)),
        context=(-task.arena, task.arena),
        action=(-1.0, 1.0),
        nearest=lambda actions: headings(actions, (0.0, 0.0), _SHORT),  # Stop
    )


def _navigation(task: Task) -> Bounds:
    from magic_pomdp.tasks.building import EDGE
    from magic_pomdp.tasks.navigation import Navigation

    assert isinstance(task, Navigation)
    beacon = EDGE + task.beacon_range + NORMAL * task.observation_noise  # only near one is anything seen
    return Bounds(
        observation=((0.0, -beacon, -beacon), (1.0, beacon, beacon)),
        context=(-EDGE, EDGE),
        action=(-1.0, 1.0),
        nearest=lambda actions: headings(actions, (1.0, 0.0)),
    )


def _maze(task: Task) -> Bounds:
    from magic_pomdp.macros.stairs import stairs
    from magic_pomdp.tasks.maze import EDGE, Maze

    assert isinstance(task, Maze)
    seen = EDGE + NORMAL * task.observation_noise
    return Bounds(
        observation=((0.0, -seen, -seen), (1.0, seen, seen)),
        action=(-1.0, 1.0),
        nearest=lambda actions: stairs(actions[:, None, :])[:, 0],
    )


def _puck_push(task: Task) -> Bounds:
    from magic_pomdp.tasks.puck_push import PUCK_BOTTOM, PUCK_LEFT, PUCK_RIGHT, PUCK_TOP, PuckPush

    assert isinstance(task, PuckPush)
    touching = task.bot_radius + task.puck_radius
    beyond = task.duration * (task.speed + NORMAL * task.speed_noise)  # in the step that ends it
    beyond += (1.001 + NORMAL * task.gap_noise) * touching + NORMAL * max(task.bot_noise, task.puck_noise)
    left, bottom, right, top = PUCK_LEFT - beyond, PUCK_BOTTOM - beyond, PUCK_RIGHT + beyond, PUCK_TOP + beyond
    return Bounds(
        observation=((left, bottom, 0.0, left, bottom), (right, top, 1.0, right, top)),
        context=((980.0, 125.0), (1167.0, 475.0)),
        action=(-1.0, 1.0),
        nearest=lambda actions: headings(actions, (1.0, 0.0)),
    )


def _vdp_tag(task: Task) -> Bounds:
    from magic_pomdp.tasks.vdp_tag import VdpTag

    assert isinstance(task, VdpTag)
    far = 3.0 * task.arena + task.speed * task.duration * task.max_steps
    noise = NORMAL * max(task.beam_noise, task.look_noise)
    return Bounds(
        observation=(min(0.0, task.no_target) - noise, max(task.no_target, far) + noise),
        action=((-1.0, -1.0, 0.0), (1.0, 1.0, 1.0)),
        nearest=lambda actions: np.column_stack([headings(actions, (1.0, 0.0)), (actions[:, 2] >= 0.5).astype(float)]),
    )


def _tiger(task: Task) -> Bounds:
    return Bounds(observation=(0.0, 1.0), action=(0.0, 2.0), nearest=np.rint)


def _rock_sample(task: Task) -> Bounds:
    from magic_pomdp.tasks.rock_sample import RockSample

    assert isinstance(task, RockSample)
    context = (0.0, max(1.0, len(task.places) - 1.0))  # limits that are equal are warned of
    return Bounds(observation=(0.0, 2.0), context=context, action=(0.0, 4.0 + task.rocks), nearest=np.rint)


def _tag(task: Task) -> Bounds:
    from magic_pomdp.tasks.tag import Tag

    assert isinstance(task, Tag)
    return Bounds(observation=(-1.0, task.ways.shape[1] - 1.0), action=(0.0, 4.0), nearest=np.rint)


def _laser_tag(task: Task) -> Bounds:
    from magic_pomdp.tasks.laser_tag import COLUMNS, LaserTag

    assert isinstance(task, LaserTag)
    context = (0.0, (task.layouts - 1.0, task.ways.shape[1] - 1.0))
    return Bounds(observation=(-1.0, COLUMNS), context=context, action=(0.0, 4.0), nearest=np.rint)


def _light_dark_1d(task: Task) -> Bounds:
    from magic_pomdp.tasks.light_dark_1d import LightDark1D

    assert isinstance(task, LightDark1D)
    seen = task.edge + NORMAL * (task.edge + abs(task.light) + task.least_noise)
    moves = task.actions()[:, 0]
    return Bounds(
        observation=(-seen, seen),
        action=(moves.min(), moves.max()),
        nearest=lambda actions: moves[np.abs(actions - moves).argmin(axis=1)][:, None],
    )


def _sub_hunt(task: Task) -> Bounds:
    from magic_pomdp.tasks.sub_hunt import SubHunt

    assert isinstance(task, SubHunt)
    noise = NORMAL * max(task.passive_noise, task.detected_noise, task.ping_noise)
    seen = max(task.detect_radius, 1.5 * task.size) + noise
    return Bounds(observation=(-noise, seen), action=(0.0, 5.0), nearest=np.rint)


def _crowd_driving(task: Task) -> Bounds:
    from magic_pomdp.tasks.crowd_driving.car import MOST_STEER
    from magic_pomdp.tasks.crowd_driving.macro_sets import TOP_SPEED
    from magic_pomdp.tasks.crowd_driving.roads import LENGTH
    from magic_pomdp.tasks.crowd_driving.task import CrowdDriving

    assert isinstance(task, CrowdDriving)
    (west, south), (east, north) = task.samples[:, :2].min(axis=0), task.samples[:, :2].max(axis=0)
    off_road, off_speed = 50.0, 5.0  # more than noise, which drivers steer against, ever gathers
    seen_low = (west - off_road, south - off_road, -1.01, -1.01, -off_speed, -MOST_STEER)
    seen_high = (east + off_road, north + off_road, 1.01, 1.01, TOP_SPEED + off_speed, MOST_STEER)
    cars = task.cars + 1
    longest = max(float(task.tracks[:, LENGTH].max()), task.max_steps)
    return Bounds(
        observation=(np.tile(seen_low, cars), np.tile(seen_high, cars)),
        context=(
            np.hstack([0.0, 0.0, np.tile((*seen_low, 0.0, 0.0), cars), np.tile((west, south), task.path_points)]),
            np.hstack(
                [
                    2.0**53,  # a mask
                    task.path_points,
                    np.tile((*seen_high, len(task.tracks), longest), cars),
                    np.tile((east, north), task.path_points),
                ]
            ),
        ),
        action=((0.0, -MOST_STEER), (TOP_SPEED, MOST_STEER)),
    )


_BOUNDS: dict[str, Callable[[Task], Bounds]] = {
    "crowd-driving": _crowd_driving,
    "laser-tag": _laser_tag,
    "light-dark": _light_dark,
    "light-dark-1d": _light_dark_1d,
    "maze": _maze,
    "navigation": _navigation,
    "puck-push": _puck_push,
    "rock-sample": _rock_sample,
    "sub-hunt": _sub_hunt,
    "tag": _tag,
    "tiger": _tiger,
    "vdp-tag": _vdp_tag,
}
