"""The world of an episode on the table: actions go to the robot, and what is observed comes from the camera's image."""

import math
from collections import Counter

import numpy as np

from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.core.task import Task
from magic_pomdp.running.world import BEGINNING, Beginning, Happening, draw_beginning
from magic_pomdp.tasks.puck_push import PuckPush
from magic_pomdp.transfer.table.entry import TableSettings
from magic_pomdp.transfer.table.perception import NOTHING, Seen
from magic_pomdp.transfer.table.rig import Rig
from magic_pomdp.transfer.table.scene import BOARD

_HEADING_AT_START = 0.1
"""Standard deviation, in radians: the robot looks about at the puck."""
_BY_HAND, _TURNED_BY_HAND = 40.0, 0.5
"""How far somebody moves and turns the robot: standard deviations of each coordinate, and of the heading."""


class TableWorld:
    """Robot and puck on a table in MuJoCo, under a camera. The table is that of the task as it is published, whatever
    the planner believes; how an episode stands, the planner's task tells of the true state."""

    def __init__(self, task: Task, settings: TableSettings) -> None:
        if not isinstance(task, PuckPush):
            raise ValueError(f"A table under a camera is a world for {PuckPush.name} alone.")
        self._task, self._settings = task, settings
        self._rig = Rig(settings.friction)
        self._random = np.random.default_rng()
        self._context, self.state = np.zeros(task.context_size), np.zeros(task.state_size)
        self.picture: bytes | None = None
        """The last frame that the camera has sent: a JPEG."""
        self.faults: Counter[str] = Counter()
        """What has gone wrong in this episode, by its name, and how often."""

    def begin(self, seed: int, episode: int) -> Beginning:
        self._random = np.random.default_rng((seed, episode))
        possible = [name for name in ("dropped", "frozen", "moved") if getattr(self._settings, name) > 0.0]
        self.faults = Counter(dict.fromkeys([*possible, "robot_not_seen"], 0))
        self._context, self.state = draw_beginning(self._task, new_stream(seed, episode, BEGINNING))
        heading = _HEADING_AT_START * float(self._random.standard_normal())
        self.picture, seen = self._rig.begin(self.state, self._context, heading, self._random)
        return Beginning(self._context.copy(), self._observation(seen))

    def act(self, action: np.ndarray) -> Happening:
        if self._happens(self._settings.moved):
            self._move_by_hand()
        self._rig.turn(action, self._random)
        seen = self._receive(self._rig.drive(action))
        self._rig.driver.correct(seen)
        self.state[:4] = self._rig.table.positions()
        reward, outcome = self._task.judge(self._context, self.state)
        return Happening(self._observation(seen), float(reward), Outcome(outcome))

    def _receive(self, frame: bytes) -> Seen:
        """What is recognised in a frame, if it arrives, and is not the old one."""
        if self._happens(self._settings.dropped):
            self.faults["dropped"] += 1
            return NOTHING
        if self._happens(self._settings.frozen):
            self.faults["frozen"] += 1
            frame = self.picture or frame
        if frame == self.picture:  # not even its noise has changed: the camera stands still, not the robot
            return NOTHING
        self.picture = frame
        seen = self._rig.look(frame)
        if seen.robot is None:
            self.faults["robot_not_seen"] += 1
        return seen

    def _observation(self, seen: Seen) -> np.ndarray:
        """The task's observation. A robot that is not seen is where it has felt its wheels take it."""
        puck = (0.0, 0.0, 0.0) if seen.puck is None else (1.0, *seen.puck)
        return np.array([self._rig.driver.x, self._rig.driver.y, *puck])

    def _happens(self, probability: float) -> bool:
        return probability > 0.0 and self._random.uniform() < probability

    def _move_by_hand(self) -> None:
        """Put the robot somewhere near, on the board and off the puck."""
        self.faults["moved"] += 1
        table = self._rig.table
        x, y, puck_x, puck_y = table.positions()
        left, bottom, right, top = BOARD
        radius = table.task.bot_radius + 10.0
        while True:
            new_x, new_y = (x, y) + _BY_HAND * self._random.standard_normal(2)
            free = math.hypot(new_x - puck_x, new_y - puck_y) > radius + table.task.puck_radius
            if free and left + radius < new_x < right - radius and bottom + radius < new_y < top - radius:
                break
        table.place("robot", new_x, new_y, table.heading() + _TURNED_BY_HAND * float(self._random.standard_normal()))
