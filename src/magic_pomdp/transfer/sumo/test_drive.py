"""What the robot's car can do, from test drives on an empty place: commands, and what was seen of the car."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from magic_pomdp.results.identification import FittedParameter
from magic_pomdp.tasks.crowd_driving.car import DURATION, MOST_STEER, WHEEL_BASE, turn_wheels
from magic_pomdp.tasks.crowd_driving.macro_sets import TOP_SPEED
from magic_pomdp.tasks.crowd_driving.own_car import OwnCar
from magic_pomdp.transfer.registry import OnProgress
from magic_pomdp.transfer.sumo.ego_car import EgoCar
from magic_pomdp.transfer.sumo.entry import JUNCTION
from magic_pomdp.transfer.sumo.world import HEADING_NOISE, PLACE_NOISE, SPEED_NOISE, WHEELS_NOISE
from magic_pomdp.transfer.trials import Trials

_STEPS = 100
"""Of a test drive: 20 s."""
_HELD = (2, 7)
"""For so many steps a command is held, at least and less than."""
SPEED_WANTED, STEERING_WANTED, X, Y, HEADING, SPEED, STEERING = range(7)
"""Columns of a trial."""
_NAMES = ("steering_rate", "steering_delay", "acceleration")
_ABOUT = ("rad/s of the front wheels", "s until they begin to turn", "m/s² of the car")
_START = np.array([1.0, 0.05, 3.0])
_LEAST, _MOST = np.array([0.05, 0.0, 0.3]), np.array([20.0, DURATION, 15.0])
_SHIFT = np.array([0.01, 0.002, 0.01])
"""By which parameters are changed to see what comes of it."""
_ITERATIONS = 30


def drive_around(count: int, seed: int, on_progress: OnProgress) -> Trials:
    """Test drives with steps of speed and steering, observed five times a second with the world's noise."""
    rows = []
    for trial in range(count):
        random = np.random.default_rng((seed, trial))
        car, left, command = EgoCar(0.0, 0.0, 0.0), 0, (0.0, 0.0)
        for _ in range(_STEPS + 1):
            if left == 0:
                left = int(random.integers(*_HELD))
                command = random.uniform(0.0, TOP_SPEED), random.uniform(-MOST_STEER, MOST_STEER)
            left -= 1
            seen = np.array([car.x, car.y, car.heading, car.speed, car.wheels])
            seen += random.normal(0.0, (PLACE_NOISE, PLACE_NOISE, HEADING_NOISE, SPEED_NOISE, WHEELS_NOISE))
            rows.append((trial, *command, *seen))
            car.drive(*command, DURATION)
        on_progress(trial + 1)
    return Trials(JUNCTION.columns, np.array(rows, dtype=np.float64))


def fit_car(trials: Trials) -> tuple[FittedParameter, ...]:
    """Rate and delay of the steering and the acceleration that explain test drives best. Standard errors are those of
    the jackknife: from what is found with each drive left out. Where the wheels' angle was not seen, how the car turns
    has to tell; a car's place is not needed."""
    drives = trials.each()
    if any(len(drive) < 3 for drive in drives):
        raise ValueError("A test drive needs at least three rows.")
    seen = np.concatenate([drive[:, [SPEED_WANTED, STEERING_WANTED, HEADING, SPEED]] for drive in drives])
    if not np.isfinite(seen).all():
        raise ValueError("Test drives must tell both commands, the heading and the speed in every row.")
    if np.ptp(seen[:, 0]) < 1.0 or np.ptp(seen[:, 1]) < 0.1:
        raise ValueError("Test drives must change the speed by 1 m/s and the steering by 0.1 radians at least.")
    values = _fit(drives, _START)
    left_out = [_fit([*drives[:k], *drives[k + 1 :]], values) for k in range(len(drives))] if len(drives) > 1 else []
    spread = np.var(left_out, axis=0) * (len(drives) - 1) if left_out else np.zeros(3)
    return tuple(
        FittedParameter(
            name=name, model=float(getattr(OwnCar, name)), value=round(float(value), 4),
            stderr=round(math.sqrt(variance), 4), about=about,
        )
        for name, value, variance, about in zip(_NAMES, values, spread, _ABOUT, strict=True)
    )  # fmt: skip


def _fit(drives: list[np.ndarray], start: np.ndarray) -> np.ndarray:
    return least_squares(lambda values: np.concatenate([_residuals(drive, *values) for drive in drives]), start)


def least_squares(residuals: Callable[[np.ndarray], np.ndarray], start: np.ndarray) -> np.ndarray:
    """The parameters with the least sum of squares, by Levenberg and Marquardt's method."""
    values, damping = start.copy(), 1e-3
    now = residuals(values)
    for _ in range(_ITERATIONS):
        slopes = np.column_stack([(residuals(values + shift) - now) / shift.sum() for shift in np.diag(_SHIFT)])
        square = slopes.T @ slopes
        change = np.linalg.solve(square + damping * np.diag(np.diag(square) + 1e-9), -slopes.T @ now)
        changed = np.clip(values + change, _LEAST, _MOST - _SHIFT)
        then = residuals(changed)
        if then @ then < now @ now:
            done = bool((abs(changed - values) < 1e-5 * _SHIFT / _SHIFT.min()).all())
            values, now, damping = changed, then, 0.3 * damping
            if done:
                break
        else:
            damping *= 4.0
    return values


def _residuals(drive: np.ndarray, rate: float, delay: float, acceleration: float) -> np.ndarray:
    """How far a drive is from what the task's model makes of its commands, in standard deviations."""
    wheels = before = 0.0 if math.isnan(drive[0, STEERING]) else drive[0, STEERING]
    speed, found = drive[0, SPEED], []
    for row, after in pairwise(drive):
        mean, wheels = turn_wheels(wheels, before, row[STEERING_WANTED], rate, delay)
        before = row[STEERING_WANTED]
        turned = 0.5 * (row[SPEED] + after[SPEED]) * DURATION * math.tan(mean) / WHEEL_BASE
        off = math.remainder(after[HEADING] - row[HEADING] - turned, 2.0 * math.pi)
        wanted, change = row[SPEED_WANTED], acceleration * DURATION
        speed += min(change, max(-change, wanted - speed))
        found += [off / (math.sqrt(2.0) * HEADING_NOISE), (after[SPEED] - speed) / SPEED_NOISE]
        if not math.isnan(after[STEERING]):
            found.append((after[STEERING] - wheels) / WHEELS_NOISE)
    return np.array(found)
