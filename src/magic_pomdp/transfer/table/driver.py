"""The robot's own computer: it turns to a heading and drives there, by what its wheels tell and what was last seen."""

import math
from collections.abc import Callable

import numpy as np

from magic_pomdp.transfer.table.perception import Seen
from magic_pomdp.transfer.table.scene import WHEEL_RADIUS, WHEEL_SIDE
from magic_pomdp.transfer.table.table import Encoders, Table

SPEED, SECONDS = 50.0, 2.0
"""What a primitive action asks for: so many millimetres a second, for so long."""
_TICK = 0.02
"""Seconds between two commands to the motors."""
_PAUSE = 0.1
"""Seconds for which the robot stands before an action: it has been waiting for a plan."""
_ALIGNED, _LONGEST_TURN = 0.02, 3.0
"""A turn on the spot ends when the heading is right up to so many radians, or after so many seconds."""
_TURN_GAIN, _FASTEST_TURN = 5.0, 2.5
_STEER_GAIN, _FASTEST_STEER = 3.0, 1.0
"""Radians a second, for each radian that the heading is off, and at most: on the spot, and while driving."""


class Driver:
    """Steers two wheels. It knows its pose from the camera, and in between from its wheels."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.x = self.y = self.heading = 0.0
        self._felt = Encoders(0.0, 0.0)

    def begin(self, x: float, y: float, heading: float) -> None:
        """Stand somewhere, as far as the robot knows."""
        self.x, self.y, self.heading = x, y, heading
        self._felt = self._table.encoders()

    def correct(self, seen: Seen) -> None:
        """Believe the camera rather than the wheels, in what it has seen."""
        if seen.robot is not None:
            self.x, self.y = seen.robot
        if seen.heading is not None:
            self.heading = seen.heading

    def turn(self, direction: np.ndarray) -> None:
        """Stop, and turn on the spot until the robot looks in a direction."""
        self._command(0.0, 0.0, _PAUSE)
        for _ in range(round(_LONGEST_TURN / _TICK)):
            off = self._off(direction)
            if abs(off) < _ALIGNED:
                break
            self._command(0.0, _limited(_TURN_GAIN * off, _FASTEST_TURN))
        self._command(0.0, 0.0)

    def drive(self, direction: np.ndarray, seconds: float, speed: float = SPEED) -> None:
        """Drive on for some time, steered towards a direction."""
        for _ in range(round(seconds / _TICK)):
            self._command(speed, _limited(_STEER_GAIN * self._off(direction), _FASTEST_STEER))

    def photograph(self, take: Callable[[float, float], bytes], speed: float = SPEED) -> bytes:
        """A frame, taken while the robot drives on."""
        frame = take(*_wheels(speed, 0.0))
        self._feel()
        return frame

    def _command(self, speed: float, turning: float, seconds: float = _TICK) -> None:
        self._table.run(*_wheels(speed, turning), seconds)
        self._feel()

    def _feel(self) -> None:
        """Move the pose by what the wheels have turned."""
        now, before = self._table.encoders(), self._felt
        left, right = WHEEL_RADIUS * (now.left - before.left), WHEEL_RADIUS * (now.right - before.right)
        turned = (right - left) / (2.0 * WHEEL_SIDE)
        driven, middle = 0.5 * (left + right), self.heading + 0.5 * turned
        self.x += driven * math.cos(middle)
        self.y += driven * math.sin(middle)
        self.heading += turned
        self._felt = now

    def _off(self, direction: np.ndarray) -> float:
        """How far the robot has to turn, to the left, until it looks in a direction."""
        off = math.atan2(direction[1], direction[0]) - self.heading
        return math.atan2(math.sin(off), math.cos(off))


def _wheels(speed: float, turning: float) -> tuple[float, float]:
    """Radians a second of the left and the right wheel, for millimetres and radians a second of the robot."""
    return (speed - WHEEL_SIDE * turning) / WHEEL_RADIUS, (speed + WHEEL_SIDE * turning) / WHEEL_RADIUS


def _limited(value: float, most: float) -> float:
    return max(-most, min(most, value))
