"""The table in MuJoCo: what really happens to robot and puck."""

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from magic_pomdp.tasks.puck_push import PuckPush
from magic_pomdp.transfer.table.scene import MM, PADS, PUCK_TOP, WHEEL_RADIUS, scene_xml

PUCK_ON_TABLE, PUCK_ON_ROBOT = (0.2, 0.5), (0.1, 0.4)
"""Between which coefficients the friction of an episode is drawn."""
PAD_RADIUS = (0.5, 0.8)
"""How far the puck's pads lie off its middle, in its radii."""
WHEEL_ERROR, MOTOR_ERROR = 0.01, 0.03
"""Standard deviations, as shares: of a wheel's radius, and of the speed at which a motor turns it, in each action."""


@dataclass(frozen=True)
class Encoders:
    """What the robot itself feels: how far its wheels have turned, in radians."""

    left: float
    right: float


class Table:
    """Robot and puck on the table. Lengths in millimetres, times in seconds."""

    def __init__(self, task: PuckPush, friction: float = 1.0) -> None:
        self.task, self.friction = task, friction
        self.model = mujoco.MjModel.from_xml_string(scene_xml(task))
        self.data = mujoco.MjData(self.model)
        self.tick = float(self.model.opt.timestep)
        self._gains = np.ones(2)

    def begin(self, state: np.ndarray, goal: np.ndarray, heading: float, random: np.random.Generator) -> None:
        """Put robot and puck where a state of the task has them, and draw what nobody knows: friction, where the puck
        stands on its pads, and how round the wheels are."""
        model, data = self.model, self.data
        mujoco.mj_resetData(model, data)
        on_table = self.friction * random.uniform(*PUCK_ON_TABLE)
        on_robot = self.friction * random.uniform(*PUCK_ON_ROBOT)
        pads = self.task.puck_radius * random.uniform(*PAD_RADIUS)
        turned = random.uniform(0.0, 2.0 * math.pi)
        for i in range(PADS):
            angle = turned + 2.0 * math.pi * i / PADS
            pad = model.geom(f"pad{i}")
            pad.pos[:] = MM * pads * math.cos(angle), MM * pads * math.sin(angle), MM * (2.0 - 0.5 * PUCK_TOP)
            pad.friction[0] = on_table
        model.geom("puck_body").friction[0] = on_table
        for name in ("shell", "puck_edge"):
            model.geom(name).friction[0] = on_robot
        for name in ("left_tyre", "right_tyre"):
            radius = MM * WHEEL_RADIUS * (1.0 + WHEEL_ERROR * random.standard_normal())
            model.geom(name).size[0] = model.geom(name).rbound[0] = radius
        for name in ("goal0", "goal1"):
            model.geom(name).pos[:2] = MM * goal
        self.place("puck", state[2], state[3], 0.0)
        self.place("robot", state[0], state[1], heading)

    def place(self, name: str, x: float, y: float, heading: float) -> None:
        """Put the robot or the puck somewhere, at rest."""
        height = 0.5 * PUCK_TOP if name == "puck" else 0.0
        joint = self.data.joint(name)
        joint.qpos[:] = MM * x, MM * y, MM * height, math.cos(heading / 2.0), 0.0, 0.0, math.sin(heading / 2.0)
        joint.qvel[:] = 0.0
        mujoco.mj_forward(self.model, self.data)

    def drift(self, random: np.random.Generator) -> None:
        """Let the motors be somewhat stronger or weaker from now on."""
        self._gains = 1.0 + MOTOR_ERROR * random.standard_normal(2)

    def run(self, left: float, right: float, seconds: float) -> None:
        """Let some time pass, with the motors told to turn the wheels at these speeds, in radians a second."""
        self.data.ctrl[:] = self._gains * (left, right)
        mujoco.mj_step(self.model, self.data, round(seconds / self.tick))

    def encoders(self) -> Encoders:
        """How far the wheels have turned."""
        return Encoders(float(self.data.joint("left").qpos[0]), float(self.data.joint("right").qpos[0]))

    def positions(self) -> tuple[float, float, float, float]:
        """The truth: x and y of the robot, and of the puck."""
        robot, puck = self.data.joint("robot").qpos, self.data.joint("puck").qpos
        return float(robot[0]) / MM, float(robot[1]) / MM, float(puck[0]) / MM, float(puck[1]) / MM

    def heading(self) -> float:
        """The truth: where the robot looks."""
        turn = self.data.joint("robot").qpos[3:]
        return float(
            math.atan2(2.0 * (turn[0] * turn[3] + turn[1] * turn[2]), 1.0 - 2.0 * (turn[2] ** 2 + turn[3] ** 2))
        )
