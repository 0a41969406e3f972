"""The table as MuJoCo's model: walls, strips, marks, a puck on three pads, and a robot on two wheels. In metres, at the
places that the task has in millimetres.

Nothing here knows how a pushed puck moves: it stands on the table with friction, on three pads just higher than
its rim, and touches the robot's round shell with friction. All light comes from all sides, so that a yellow thing on a
yellow strip has neither shadow nor rim.
"""

from magic_pomdp.tasks.puck_push import PuckPush

MM = 0.001
"""A millimetre in metres."""
BOARD = 37.0, 40.0, 1250.0, 558.0
"""Left, bottom, right and top inside the walls."""
STRIPS = (574.0, 716.0), (774.0, 916.0)
"""Left and right of each yellow strip."""
MARKS = (-12.0, -12.0), (1299.0, -12.0), (1299.0, 610.0), (-12.0, 610.0)
"""The middles of the marks at the corners: bottom left, and on against the clock."""
MARK_RADIUS = 14.0
ROBOT_TOP, PUCK_TOP = 26.0, 12.0
"""Heights of what the camera sees of them."""
TOUCH = 3.0
"""The height at which robot and puck touch."""
SPOT = 23.0
"""How far the spots that tell the robot's heading lie before and behind its middle."""
WHEEL_RADIUS, WHEEL_SIDE = 12.0, 31.0
"""The wheels, and how far each is off the robot's middle."""
PADS, PUCK_MASS = 3, 0.04
WIDTH, HEIGHT = 640, 480
"""The camera's image."""
CAMERA_HEIGHT, FIELD_OF_VIEW = 2.0, 33.0
"""Metres above the table, and degrees from the image's top to its bottom."""

_WALL = 10.0
_COLOURS = {
    "table": "0.51 0.52 0.51",
    "outside": "0.32 0.33 0.35",
    "wall": "0.22 0.22 0.24",
    "yellow": "0.9216 0.7804 0.1020",
    "mark": "0.85 0.08 0.08",
    "goal": "0.33 0.45 0.40",
    "shell": "0.12 0.22 0.76",
    "front": "0.12 0.76 0.21",
    "back": "0.81 0.12 0.71",
}


def scene_xml(task: PuckPush) -> str:
    """The model, for a task's sizes of robot, puck and goal."""
    left, bottom, right, top = BOARD
    middle_x, middle_y = (left + right) / 2, (bottom + top) / 2
    half_x, half_y = (right - left) / 2, (top - bottom) / 2
    materials = "".join(
        f'<material name="{name}" rgba="{colour} 1" specular="0" shininess="0" reflectance="0"/>'
        for name, colour in _COLOURS.items()
    )
    sides = (
        (left - _WALL / 2, middle_y, _WALL / 2, half_y + _WALL),
        (right + _WALL / 2, middle_y, _WALL / 2, half_y + _WALL),
        (middle_x, bottom - _WALL / 2, half_x, _WALL / 2),
        (middle_x, top + _WALL / 2, half_x, _WALL / 2),
    )
    walls = "".join(
        f'<geom class="wall" type="box" pos="{_at(x, y, 10)}" size="{_at(wide, high, 10)}"/>'
        for x, y, wide, high in sides
    )
    strips = "".join(
        f'<geom class="paint" type="box" material="yellow" pos="{_at((a + b) / 2, middle_y, 0)}" '
        f'size="{_at((b - a) / 2, half_y, 0.2)}"/>'
        for a, b in STRIPS
    )
    marks = "".join(
        f'<geom class="paint" type="cylinder" material="mark" pos="{_at(x, y, 0)}" size="{_at(MARK_RADIUS, 0.2)}"/>'
        for x, y in MARKS
    )
    goal = "".join(
        f'<geom class="paint" name="goal{i}" type="cylinder" material="{material}" pos="{_at(980, 299, 0)}" '
        f'size="{_at(radius, height)}"/>'
        for i, (material, radius, height) in enumerate(
            (("goal", task.goal_radius, 0.1), ("table", task.goal_radius - 5.0, 0.15))
        )
    )
    pads = "".join(f'<geom class="pad" name="pad{i}" pos="{_at(9, i, -4)}"/>' for i in range(PADS))
    wheels = "".join(
        f'<body pos="{_at(0, side * WHEEL_SIDE, WHEEL_RADIUS)}"><joint name="{name}" type="hinge" axis="0 1 0" '
        f'damping="1e-5" armature="2e-6"/><geom class="wheel" name="{name}_tyre"/></body>'
        for name, side in (("left", 1.0), ("right", -1.0))
    )
    casters = "".join(f'<geom class="caster" pos="{_at(x, 0, 4.4)}"/>' for x in (-28.0, 28.0))
    spots = "".join(
        f'<geom class="paint" type="cylinder" material="{name}" pos="{_at(x, 0, ROBOT_TOP)}" size="{_at(9, 0.2)}"/>'
        for name, x in (("front", SPOT), ("back", -SPOT))
    )
    motors = "".join(
        f'<general name="{name}_motor" joint="{name}" dyntype="filter" dynprm="0.05" gainprm="0.004" '
        f'biastype="affine" biasprm="0 0 -0.004" ctrllimited="true" ctrlrange="-10 10" forcelimited="true" '
        f'forcerange="-0.02 0.02"/>'
        for name in ("left", "right")
    )
    spun = 0.5 * PUCK_MASS * (task.puck_radius * MM) ** 2
    inertia = f"{0.5 * spun:.4g} {0.5 * spun:.4g} {spun:.4g}"
    return f"""
<mujoco model="table">
  <option timestep="0.002" integrator="implicitfast" cone="elliptic" impratio="10"/>
  <visual>
    <global offwidth="{WIDTH}" offheight="{HEIGHT}"/>
    <quality shadowsize="0" offsamples="0"/>
    <headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/>
  </visual>
  <default>
    <geom solref="0.006 1"/>
    <default class="paint"><geom contype="0" conaffinity="0" mass="0"/></default>
    <default class="wall"><geom material="wall" contype="2" conaffinity="0"/></default>
    <default class="pad"><geom type="sphere" size="{_at(2)}" contype="0" conaffinity="1" condim="3"
      rgba="0 0 0 0"/></default>
    <default class="wheel"><geom type="sphere" size="{_at(WHEEL_RADIUS)}" contype="0" conaffinity="1" mass="0.012"
      friction="1 0.002 0.0001" rgba="0 0 0 0"/></default>
    <default class="caster"><geom type="sphere" size="{_at(4)}" contype="0" conaffinity="1" mass="0.005"
      friction="0.02 0 0" rgba="0 0 0 0"/></default>
  </default>
  <asset>{materials}</asset>
  <worldbody>
    <camera name="camera" pos="{middle_x * MM} {middle_y * MM} {CAMERA_HEIGHT}" fovy="{FIELD_OF_VIEW}"/>
    <geom name="floor" type="plane" size="2 2 0.1" material="outside" contype="1" conaffinity="0" priority="-1"/>
    <geom class="paint" type="box" material="table" pos="{_at(middle_x, middle_y, 0)}"
      size="{_at(half_x, half_y, 0.05)}"/>
    {walls}{strips}{marks}{goal}
    <body name="puck" pos="0.45 0.299 {0.5 * PUCK_TOP * MM}">
      <freejoint name="puck"/>
      <inertial pos="0 0 0" mass="{PUCK_MASS}" diaginertia="{inertia}"/>
      <geom name="puck_body" type="cylinder" material="yellow" size="{_at(task.puck_radius, PUCK_TOP / 2 - 0.1)}"
        pos="{_at(0, 0, 0.1)}" contype="0" conaffinity="1" condim="3"/>
      <geom name="puck_edge" type="sphere" size="{_at(task.puck_radius)}" pos="{_at(0, 0, TOUCH - PUCK_TOP / 2)}"
        contype="4" conaffinity="2" condim="3" rgba="0 0 0 0"/>
      {pads}
    </body>
    <body name="robot" pos="0.3 0.299 0">
      <freejoint name="robot"/>
      <geom name="shell" type="cylinder" material="shell" pos="{_at(0, 0, 0.5 * (ROBOT_TOP + 1))}"
        size="{_at(task.bot_radius, 0.5 * (ROBOT_TOP - 1))}" contype="0" conaffinity="6" mass="0.2" condim="3"/>
      {spots}{casters}{wheels}
    </body>
  </worldbody>
  <actuator>{motors}</actuator>
</mujoco>"""


def _at(*millimetres: float) -> str:
    """Millimetres as MuJoCo reads them."""
    return " ".join(f"{value * MM:.7g}" for value in millimetres)
