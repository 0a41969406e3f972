"""Test pushes on the table: the robot drives straight on into a puck that lies somewhat to the side, and the camera
looks on."""

import math

import numpy as np

from magic_pomdp.core.randomness import check_seed
from magic_pomdp.transfer.registry import OnProgress
from magic_pomdp.transfer.table.driver import SECONDS
from magic_pomdp.transfer.table.entry import TABLE, TableSettings
from magic_pomdp.transfer.table.perception import Seen
from magic_pomdp.transfer.table.rig import Rig

STEPS, FRAMES = 2, 5
"""Actions of a push, and frames in each of them."""
_FREE = 130.0, 520.0, 100.0, 500.0
"""Left, right, bottom and top of where pushes take place: off the walls, and off the strips, where nothing is seen."""
_OFFSETS = 0.05, 1.2
"""How far to the side the puck lies, in radians as seen from the robot. A push meets each ratio of angles for the same
distance, so their logarithms are drawn evenly."""
_GAP = 3.0
"""Millimetres between robot and puck before a push."""
_TURNED = 1.0
"""How far the robot looks elsewhere before it turns to push, in radians: a standard deviation."""
_NOWHERE = np.array([1100.0, 299.0])


def run_pushes(settings: TableSettings, count: int, seed: int, on_progress: OnProgress) -> tuple[np.ndarray, float]:
    """Rows of some pushes, as `TABLE.columns` has them, and the median time of computing that a frame took."""
    rig, rows = Rig(settings.friction), []
    check_seed(seed)
    for trial in range(count):
        random = np.random.default_rng((seed, trial, 1))
        state, direction = _beginning(rig, random)
        heading = math.atan2(direction[1], direction[0]) + _TURNED * float(random.standard_normal())
        _, seen = rig.begin(state, _NOWHERE, heading, random)
        rows.append(_row(trial, 0.0, direction, seen))
        for step in range(STEPS):
            rig.turn(direction, random)
            for frame in range(1, FRAMES + 1):
                seen = rig.look(rig.drive(direction, SECONDS / FRAMES))
                rows.append(_row(trial, SECONDS * (step + frame / FRAMES), direction, seen))
            rig.driver.correct(seen)  # only now, as in an episode
        on_progress(trial + 1)
    return np.array(rows), float(np.median(rig.frame_seconds))


def _beginning(rig: Rig, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Where robot and puck stand, and a direction in which there is room for the whole push."""
    touching = rig.table.task.bot_radius + rig.table.task.puck_radius
    left, right, bottom, top = _FREE
    while True:
        x, y, angle = random.uniform(left, right), random.uniform(bottom, top), random.uniform(-math.pi, math.pi)
        far = STEPS * 100.0 + touching
        if left < x + far * math.cos(angle) < right and bottom < y + far * math.sin(angle) < top:
            break
    side = angle + random.choice((-1.0, 1.0)) * math.exp(random.uniform(*np.log(_OFFSETS)))
    reach = touching + _GAP
    state = np.array([x, y, x + reach * math.cos(side), y + reach * math.sin(side)])
    return state, np.array([math.cos(angle), math.sin(angle)])


def _row(trial: int, time: float, direction: np.ndarray, seen: Seen) -> list[float]:
    robot, puck = seen.robot or (math.nan, math.nan), seen.puck or (math.nan, math.nan)
    row = [float(trial), time, *direction.tolist(), *robot, *puck]
    assert len(row) == len(TABLE.columns)
    return row
