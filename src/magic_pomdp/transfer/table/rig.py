"""Table, camera, perception and the robot's own computer, put together."""

import time

import numpy as np

from magic_pomdp.tasks.puck_push import PuckPush
from magic_pomdp.transfer.table.camera import EXPOSURE, Camera
from magic_pomdp.transfer.table.driver import SECONDS, Driver
from magic_pomdp.transfer.table.perception import MarksNotFound, Perception, Seen, decode
from magic_pomdp.transfer.table.table import Table

CALIBRATIONS = 5
"""Frames in which the marks may be looked for."""


class Rig:
    """The table with all that is on and above it. It has the sizes of the task as it is published."""

    def __init__(self, friction: float) -> None:
        published = PuckPush()
        self.table = Table(published, friction)
        self.camera = Camera(self.table)
        self.perception = Perception(published.bot_radius, published.puck_radius)
        self.driver = Driver(self.table)
        self.frame_seconds: list[float] = []
        """Time of computing that each frame took, from light to places."""
        self._taking = 0.0

    def begin(
        self, state: np.ndarray, goal: np.ndarray, heading: float, random: np.random.Generator
    ) -> tuple[bytes, Seen]:
        """Put everything in its place, and look until the camera knows how it hangs: the frame, and what is in it."""
        self.table.begin(state, goal, heading, random)
        self.camera.begin(random)
        self.driver.begin(float(state[0]), float(state[1]), heading)
        for left in reversed(range(CALIBRATIONS)):
            frame = self._take(0.0, 0.0)
            try:
                self.perception.calibrate(decode(frame))
                break
            except MarksNotFound:
                if left == 0:
                    raise
        seen = self.look(frame)
        self.driver.correct(seen)
        return frame, seen

    def turn(self, direction: np.ndarray, random: np.random.Generator) -> None:
        """Begin an action: turn on the spot."""
        self.table.drift(random)
        self.driver.turn(direction)

    def drive(self, direction: np.ndarray, seconds: float = SECONDS) -> bytes:
        """Drive for some time; the frame that is exposed at its end, still on the move."""
        self.driver.drive(direction, seconds - EXPOSURE)
        return self.driver.photograph(self._take)

    def look(self, frame: bytes) -> Seen:
        """What is recognised in a frame."""
        started = time.process_time()
        seen = self.perception.see(decode(frame))
        self.frame_seconds.append(self._taking + time.process_time() - started)
        return seen

    def _take(self, left: float, right: float) -> bytes:
        started = time.process_time()
        frame = self.camera.take(left, right)
        self._taking = time.process_time() - started
        return frame
