"""From pushes to the task's parameters. It knows nothing of MuJoCo: pushes of a real robot do as well.

A pushed puck slides round the robot: its angle θ off the direction of driving grows with the distance d that it is
pushed. The task's model of this is θ' = θ·e^{µd} with a creep µ, up to the robot's side, where the puck stays behind.
That model is fitted to what is seen of each step; what it leaves over is how badly the puck is seen.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from magic_pomdp.results.identification import FittedParameter
from magic_pomdp.tasks.puck_push import PuckPush
from magic_pomdp.transfer.trials import Trials

TIME, HEADING_X, HEADING_Y, ROBOT_X, ROBOT_Y, PUCK_X, PUCK_Y = range(7)
"""Columns of a trial's rows."""
_FEWEST_FRAMES, _FEWEST = 4, 3
_SHORT = 1e-3
"""Seconds that make no difference."""
_MOVED = 5.0
"""Millimetres: a puck that is seen to move less may not have been touched."""
_FARTHEST = 1e6
"""No number of a trial is larger, in millimetres or seconds."""
_SLOWEST, _FASTEST = 1e-4, 0.1
"""Between these a creep is looked for."""
_SCALES = np.array([0.1, 0.1, 1e-5])
"""Small changes of what is fitted to a step: two places in millimetres, and the creep."""
_ROUNDS = 40


@dataclass(frozen=True)
class _Drive:
    """The robot in a step: at a constant speed, as a straight line through where it was seen fits best."""

    direction: np.ndarray
    """Of driving, a unit vector."""
    origin: np.ndarray
    """A point on the line."""
    driven: np.ndarray
    """How far beyond it the robot is in each frame, along the direction."""


@dataclass(frozen=True)
class _Push:
    """What one step tells of the puck."""

    creep: float
    information: float
    """1 / variance of the creep, if the puck were seen with a standard deviation of 1 mm."""
    squares: float
    """Of how far off its fitted way the puck was seen, summed up."""
    freedom: int
    """How many of these numbers are not used up by the fit."""


def fit_pushes(task: PuckPush, trials: Trials) -> tuple[FittedParameter, ...]:
    """Speed and heading of the robot, the creep of the puck, and how well both are seen, with standard errors; a
    ValueError says what the trials do not tell."""
    largest = np.max(np.nan_to_num(np.abs(trials.rows[:, 1:])))
    if largest > _FARTHEST:
        raise ValueError(f"Times and places of trials must not exceed {_FARTHEST:g} s and mm, and one is {largest:g}.")
    steps = [step for trial in trials.each() for step in _steps(task, trial)]
    if len(steps) < _FEWEST:
        raise ValueError(
            f"The trials must show the robot before and after at least {_FEWEST} steps of {task.duration:g} s each, "
            f"and show {len(steps)}."
        )
    pushes = [push for step in steps if (push := _push(task, step)) is not None]
    if len(pushes) < _FEWEST:
        raise ValueError(f"At least {_FEWEST} steps must show the puck sliding round the robot, and {len(pushes)} do.")
    speeds, turns = np.array([_motion(task, step) for step in steps]).T
    speed, speed_noise = float(np.mean(speeds)), float(np.std(speeds, ddof=1))
    heading_noise = float(np.sqrt(np.mean(turns**2)))
    freedom = sum(push.freedom for push in pushes)
    noise = math.sqrt(sum(push.squares for push in pushes) / freedom)
    creeps = [push.creep for push in pushes if noise**2 / push.information < task.creep_noise**2]
    if len(creeps) < _FEWEST:
        raise ValueError(f"At least {_FEWEST} steps must tell the creep well enough, and {len(creeps)} do.")
    creep, creep_noise = float(np.mean(creeps)), float(np.std(creeps, ddof=1))
    count, creep_count = len(steps), len(creeps)

    def told(name: str, value: float, stderr: float, about: str) -> FittedParameter:
        model = float(getattr(task, name))
        return FittedParameter(name=name, model=model, value=value, stderr=stderr, about=about)

    return (
        told("speed", speed, speed_noise / math.sqrt(count), "mm/s, in a step"),
        told("speed_noise", speed_noise, speed_noise / math.sqrt(2 * count), "its standard deviation"),
        told("heading_noise", heading_noise, heading_noise / math.sqrt(2 * count), "radians, standard deviation"),
        told("creep", creep, creep_noise / math.sqrt(creep_count), "1/mm, in a step"),
        told("creep_noise", creep_noise, creep_noise / math.sqrt(2 * creep_count), "its standard deviation"),
        # Whether robot or puck was seen in the wrong place, nobody can tell: a belief reckons with both.
        told("bot_noise", noise, noise / math.sqrt(2 * freedom), "mm, how badly the robot is seen"),
        told("puck_noise", noise, noise / math.sqrt(2 * freedom), "mm, how badly the puck is seen"),
    )


def _steps(task: PuckPush, trial: np.ndarray) -> list[np.ndarray]:
    """The rows of each step of a trial, from one whole multiple of a step's duration to the next; only those with the
    robot seen at both ends."""
    phase = np.mod(trial[:, TIME] + _SHORT, task.duration)
    ends = np.flatnonzero((phase < 2.0 * _SHORT) & _known(trial, HEADING_X, HEADING_Y, ROBOT_X, ROBOT_Y))
    steps = [trial[first : last + 1] for first, last in pairwise(ends)]
    return [step for step in steps if step[-1, TIME] - step[0, TIME] < task.duration + _SHORT]


def _known(rows: np.ndarray, *columns: int) -> np.ndarray:
    """In which rows all of these columns have a number."""
    known: np.ndarray = np.isfinite(rows[:, columns]).all(axis=1)
    return known


def _motion(task: PuckPush, step: np.ndarray) -> tuple[float, float]:
    """Speed of a step, and the angle by which it was off the direction that was asked for."""
    dx, dy = step[-1, ROBOT_X] - step[0, ROBOT_X], step[-1, ROBOT_Y] - step[0, ROBOT_Y]
    ahead = dx * step[-1, HEADING_X] + dy * step[-1, HEADING_Y]
    aside = dy * step[-1, HEADING_X] - dx * step[-1, HEADING_Y]
    return math.hypot(dx, dy) / task.duration, math.atan2(aside, ahead)


def _drive(step: np.ndarray) -> _Drive | None:
    """The robot's straight line in a step; None if too little is seen of it. The line begins after the first frame,
    for then the robot still stood."""
    seen = _known(step[1:], TIME, ROBOT_X, ROBOT_Y)
    if seen.sum() < _FEWEST_FRAMES:
        return None
    time = step[1:, TIME]
    basis = np.column_stack([np.ones(len(time)), time - step[0, TIME]])
    robot = step[1:, ROBOT_X : ROBOT_Y + 1]
    line = np.linalg.lstsq(basis[seen], robot[seen], rcond=None)[0]
    length = float(np.hypot(*line[1]))
    if length == 0.0:
        return None
    direction, origin = line[1] / length, line[0]
    start = (step[0, ROBOT_X : ROBOT_Y + 1] - origin) @ direction
    driven = np.concatenate([[start], (basis @ line - origin) @ direction])
    return _Drive(direction, origin, driven)


def _push(task: PuckPush, step: np.ndarray) -> _Push | None:
    """The creep that fits what is seen of the puck in a step; None if that tells none."""
    drive, seen = _drive(step), _known(step, TIME, PUCK_X, PUCK_Y)
    if drive is None or not seen[0] or seen.sum() < _FEWEST_FRAMES:
        return None
    off = step[seen, PUCK_X : PUCK_Y + 1] - drive.origin
    (dx, dy), driven = drive.direction, drive.driven[seen]
    places = np.column_stack([off[:, 0] * dx + off[:, 1] * dy, off[:, 1] * dx - off[:, 0] * dy])
    touching = task.bot_radius + task.puck_radius
    if np.hypot(*(places[-1] - places[0])) < _MOVED or abs(places[0, 1]) >= touching or places[0, 0] < driven[0]:
        return None

    def left_over(fitted: np.ndarray) -> np.ndarray:
        difference: np.ndarray = _way_of_puck(fitted, driven, touching) - places
        return difference.ravel()

    fitted, left, slopes = _least_squares(left_over, np.array([*places[0], task.creep]))
    others, own = slopes[:, :2], slopes[:, 2]
    own = own - others @ np.linalg.lstsq(others, own, rcond=None)[0]  # what the other two cannot make up for
    information, creep = float(own @ own), float(fitted[2])
    if information <= 0.0 or not _SLOWEST < creep < _FASTEST:
        return None
    return _Push(creep, information, float(left @ left), len(left) - 3)


def _way_of_puck(fitted: np.ndarray, driven: np.ndarray, touching: float) -> np.ndarray:
    """Where the task's model has the puck when the robot has driven so far. What is fitted: where the puck lay before
    it was touched, along the robot's line and to the left of it, and the creep."""
    ahead, aside, creep = fitted.tolist()
    sine = max(-1.0 + 1e-6, min(1.0 - 1e-6, aside / touching))
    angle, creep = math.asin(sine), max(_SLOWEST, min(_FASTEST, creep))
    contact = ahead - touching * math.cos(angle)
    to_side = math.log(0.5 * math.pi / max(abs(angle), 1e-9)) / creep
    pushed = np.clip(driven - contact, 0.0, to_side)
    grown = angle * np.exp(creep * pushed)
    return np.column_stack([contact + pushed + touching * np.cos(grown), touching * np.sin(grown)])


def _least_squares(
    left_over: Callable[[np.ndarray], np.ndarray], start: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What leaves over the least squares, what it leaves over, and the slopes of that (Levenberg and Marquardt)."""
    at, left, damping = start, left_over(start), 1e-3
    for _ in range(_ROUNDS):
        slopes = np.column_stack([left_over(at + change) - left for change in np.diag(_SCALES)])
        normal = slopes.T @ slopes
        damped = normal + np.diag(damping * np.diag(normal) + 1e-12)
        moved = at - _SCALES * np.linalg.solve(damped, slopes.T @ left)
        then = left_over(moved)
        if then @ then < left @ left:
            at, left, damping = moved, then, 0.1 * damping
        else:
            damping *= 10.0
    return at, left, slopes / _SCALES
