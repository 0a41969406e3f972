"""VDP-Tag: catch a target that drifts on a Van der Pol oscillator, past four barriers, by eight noisy beams.

The robot moves half a unit a step, the target often faster: it has to wait for it where it will come by. An accurate
look at the target's distance costs 5, a poor one nothing. After Sunberg & Kochenderfer (2018).
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import normal, uniform
from magic_pomdp.core.scene import Circle, Handle, Line, Scene, Shape, Track
from magic_pomdp.core.series import direction
from magic_pomdp.core.task import Task
from magic_pomdp.macros.spaces import Kind, SpaceDescription, check_length
from magic_pomdp.macros.straight import directions
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.planners.pomcpow import PomcpowSettings

AGENT_X, AGENT_Y, TARGET_X, TARGET_Y, OUTCOME = range(5)
"""State: the robot, the target, and whether it is caught (RUNNING while it is not)."""
HEADING_X, HEADING_Y, LOOK = range(3)
"""Action: the unit vector of the heading, and 1 to look or 0 not to."""
BEAMS = 8
"""Observation: what each beam reads; the i-th reaches from i to i + 1 eighths of a turn."""

RUNGE_KUTTA_STEPS = 5
HEADINGS = 16
LARGEST_ARENA = 5.0
"""Further out the flow is too fast for so few steps of the integration."""
LARGEST_NOISE = 6.0
FORESEEN = 4
"""The upper bound takes no noise to exceed so many standard deviations, and looks so many steps ahead."""
SHORTEST = 1e-9
"""A heading is no shorter."""
BEFORE_BARRIER = 1e-9
"""The share of a move that a robot stopped by a barrier stays short of it."""


class VdpTag(Task):
    """Each step the target follows its flow, with noise, and the robot moves straight on up to a barrier, if it meets
    one. The target is caught when they are then close enough."""

    name = "vdp-tag"
    state_size = 5
    action_size = 3
    observation_size = BEAMS
    continuous_state = (TARGET_X, TARGET_Y)
    advice = (
        MacroDespotSettings(scenarios=50, search_depth=10, macro_length=2),
        PomcpowSettings(20.0, 30.0, 1.0 / 30.0, 5.0, 0.01, guided_actions=0.5, search_depth=10),
    )

    discount: float = 0.95
    max_steps: int = 100
    """Steps of an episode; a target still free then is no failure, just not caught."""
    mu: float = 2.0
    """μ of the oscillator: ẋ = μ (x − x³/3 − y), ẏ = x/μ."""
    duration: float = 0.5
    """Time of one step."""
    speed: float = 1.0
    """Distance that the robot moves in a unit of time."""
    target_noise: float = 0.05
    """Standard deviation of each coordinate of the target's move."""
    tag_radius: float = 0.1
    """The target is caught when it is closer than this."""
    arena: float = 4.0
    """The target begins with coordinates in ± this; the robot, in the middle."""
    barrier_begin: float = 0.2
    barrier_end: float = 3.0
    """There is a barrier on each half axis, from and to these distances from the middle."""
    look_noise: float = 0.1
    """Standard deviation of the beam that meets the target, if the robot looks."""
    beam_noise: float = 5.0
    """Standard deviation of every other reading."""
    no_target: float = 1.0
    """Mean reading of a beam that does not meet the target."""
    step_reward: float = -1.0
    tag_reward: float = 100.0
    """Of the step that catches the target, in place of step_reward."""
    look_reward: float = -5.0
    """Of looking, in addition."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("mu", "duration", "speed", "tag_radius", "look_noise", "beam_noise"):
            if getattr(self, name) <= 0.0:
                raise ValueError(f"VDP-Tag's {name} must be positive, not {getattr(self, name)}.")
        for name, sign in (("target_noise", 1), ("tag_reward", 1), ("step_reward", -1), ("look_reward", -1)):
            if sign * getattr(self, name) < 0.0:
                wrong = "negative" if sign > 0 else "positive"
                raise ValueError(f"VDP-Tag's {name} must not be {wrong}, but is {getattr(self, name)}.")
        if not 0.0 <= self.arena <= LARGEST_ARENA:
            raise ValueError(f"VDP-Tag's arena must lie in [0, {LARGEST_ARENA:g}], not at {self.arena}.")
        if not 0.0 <= self.barrier_begin <= self.barrier_end:
            raise ValueError(
                f"VDP-Tag's barrier_begin {self.barrier_begin} must lie between 0 and its barrier_end "
                f"{self.barrier_end}."
            )
        if self.discount == 1.0:
            raise ValueError("VDP-Tag's discount must be below 1.")

    def draw_state(self, context, random, state):
        state[AGENT_X] = state[AGENT_Y] = 0.0
        state[TARGET_X] = self.arena * (2.0 * uniform(random) - 1.0)
        state[TARGET_Y] = self.arena * (2.0 * uniform(random) - 1.0)
        state[OUTCOME] = Outcome.RUNNING

    def step(self, context, state, action, random, observation):
        if state[OUTCOME] != Outcome.RUNNING:
            observation[:] = 0.0
            return 0.0, int(state[OUTCOME])
        x, y = self.drift(state[TARGET_X], state[TARGET_Y])
        state[TARGET_X] = x + self.target_noise * normal(random)
        state[TARGET_Y] = y + self.target_noise * normal(random)
        self.move(state, action)
        reward, outcome = self.step_reward, Outcome.RUNNING
        if self.distance(state) < self.tag_radius:
            reward, outcome = self.tag_reward, Outcome.SUCCESS
        if action[LOOK] != 0.0:
            reward += self.look_reward
        state[OUTCOME] = outcome
        self.read_beams(state, action, random, observation)
        return reward, outcome

    def drift(self, x, y):
        """Where the oscillator carries a target in one step, but for noise."""
        time, inverse, third = self.duration / RUNGE_KUTTA_STEPS, 1.0 / self.mu, self.mu / 3.0
        for _ in range(RUNGE_KUTTA_STEPS):
            x, y = runge_kutta(x, y, self.mu, third, inverse, time)
        return x, y

    def move(self, state, action):
        """Move the robot, up to the first barrier on its way."""
        length = self.speed * self.duration
        dx, dy = length * action[HEADING_X], length * action[HEADING_Y]
        x, y = state[AGENT_X], state[AGENT_Y]
        share = min(
            crossing(y, dy, x, dx, self.barrier_begin, self.barrier_end),
            crossing(x, dx, y, dy, self.barrier_begin, self.barrier_end),
        )
        state[AGENT_X] = x + share * dx
        state[AGENT_Y] = y + share * dy

    def distance(self, state):
        """From the robot to the target."""
        return math.sqrt((state[TARGET_X] - state[AGENT_X]) ** 2 + (state[TARGET_Y] - state[AGENT_Y]) ** 2)

    def beam(self, state):
        """The beam that meets the target."""
        bearing = math.atan2(state[TARGET_Y] - state[AGENT_Y], state[TARGET_X] - state[AGENT_X])
        if bearing <= 0.0:
            bearing += 2.0 * math.pi
        return min(BEAMS, math.ceil(bearing * (BEAMS / (2.0 * math.pi)))) - 1

    def read_beams(self, state, action, random, observation):
        """Fill what the beams read."""
        for i in range(BEAMS):
            observation[i] = self.no_target + self.beam_noise * normal(random)
        noise = self.beam_noise if action[LOOK] == 0.0 else self.look_noise
        observation[self.beam(state)] = self.distance(state) + noise * normal(random)

    def log_likelihood(self, context, state, action, observation):
        """Against the likelihood of no target at all: so only the beam that meets it counts."""
        noise = self.beam_noise if action[LOOK] == 0.0 else self.look_noise
        reading = observation[self.beam(state)]
        without = (reading - self.no_target) / self.beam_noise
        return 0.5 * (without * without - ((reading - self.distance(state)) / noise) ** 2)

    def observation_key(self, observation):
        """The beam that reads most: with so much noise, all else would leave every scenario alone in its branch."""
        largest = 0
        for i in range(1, BEAMS):
            if observation[i] > observation[largest]:
                largest = i
        return largest

    def upper_bound(self, context, state):
        """The robot meets the target's course as early as it can reach it, with all noise in its favour.

        The flow draws two targets apart at most by the largest eigenvalue of its symmetrised Jacobian, which is that
        at x = 0.
        """
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0
        parting = 0.5 * (self.mu + math.sqrt(self.mu**2 + (1.0 / self.mu - self.mu) ** 2))
        stretch = math.exp(parting * self.duration)
        x, y, drifted, reach, moves = state[TARGET_X], state[TARGET_Y], 0.0, self.tag_radius, 0
        while moves < FORESEEN:
            moves += 1
            x, y = self.drift(x, y)
            drifted = stretch * drifted + LARGEST_NOISE * self.target_noise
            reach += self.speed * self.duration
            if (x - state[AGENT_X]) ** 2 + (y - state[AGENT_Y]) ** 2 <= (reach + drifted) ** 2:
                break
        moving_for_ever = self.step_reward / (1.0 - self.discount)
        return moving_for_ever + self.discount ** (moves - 1) * (self.tag_reward - moving_for_ever)

    def draw_action(self, actions, random, action):
        action[HEADING_X], action[HEADING_Y] = direction(uniform(random))
        action[LOOK] = 1.0 if uniform(random) < 0.5 else 0.0

    def rollout_action(self, context, state, actions, random, action):
        """Straight to where the target will be in a step, without looking."""
        x, y = self.drift(state[TARGET_X], state[TARGET_Y])
        dx, dy = x - state[AGENT_X], y - state[AGENT_Y]
        distance = math.sqrt(dx * dx + dy * dy)
        action[HEADING_X], action[HEADING_Y] = (dx / distance, dy / distance) if distance > 0.0 else (1.0, 0.0)
        action[LOOK] = 0.0

    def state_distance(self, state, other):
        return math.hypot(state[TARGET_X] - other[TARGET_X], state[TARGET_Y] - other[TARGET_Y])

    def actions(self) -> np.ndarray:
        headings = directions((np.arange(HEADINGS) + 0.5) * (2.0 * np.pi / HEADINGS))
        return np.vstack([np.column_stack([headings, np.full(HEADINGS, look)]) for look in (0.0, 1.0)])

    def macro_actions(self, length: int) -> MacroActions:
        """Every heading, straight on; looking at the end or not at all."""
        macro_actions = MacroActions.repeat(self.actions(), length)
        macro_actions.actions[:, :-1, LOOK] = 0.0
        return macro_actions

    def macro_space(self, length: int) -> "LookingLines":
        return LookingLines(length, self.actions())

    def scene(self, context: np.ndarray) -> Scene:
        edge, begin, end = 1.05 * self.arena, self.barrier_begin, self.barrier_end
        axes = ((1, 0), (-1, 0), (0, 1), (0, -1))
        return Scene(
            view=(-edge, -edge, edge, edge),
            shapes=[Line(((begin * x, begin * y), (end * x, end * y)), "obstacle", 3.0) for x, y in axes],
            robot=(AGENT_X, AGENT_Y),
            particles=(Track(TARGET_X, TARGET_Y),),
            trails=(Track(TARGET_X, TARGET_Y, "object"), Track(AGENT_X, AGENT_Y, "path")),
            handles=(
                Handle("target", TARGET_X, TARGET_Y, "hidden", self.tag_radius),
                Handle("robot", AGENT_X, AGENT_Y, "seen"),
            ),
        )

    def sprites(self, context: np.ndarray, state: np.ndarray, particles: np.ndarray) -> tuple[Shape, ...]:
        target = Circle(state[TARGET_X], state[TARGET_Y], self.tag_radius, "object")
        return target, Circle(state[AGENT_X], state[AGENT_Y], 0.025 * self.arena, "robot")


@dataclass(frozen=True, eq=False)
class LookingLines:
    """Straight lines in any direction, with or without a look at the end: three numbers each, the heading and, if it is
    positive, the look."""

    length: int
    actions: np.ndarray
    """Held actions to set out from, shape (count, 3)."""

    kind: Kind = "sphere"
    size: int = 3

    def __post_init__(self) -> None:
        check_length(self.length)

    @property
    def count(self) -> int:
        return len(self.actions)

    @cached_property
    def start(self) -> np.ndarray:
        looks = self.actions[:, LOOK:] - 0.5
        numbers = np.hstack([self.actions[:, :LOOK], looks])
        units: np.ndarray = numbers / np.linalg.norm(numbers, axis=1, keepdims=True)
        return units

    def decode(self, parameters: np.ndarray) -> MacroActions:
        parameters = np.asarray(parameters, dtype=np.float64)
        if parameters.shape != (self.count, self.size):
            raise ValueError(
                f"The parameters of looking lines have shape ({self.count}, {self.size}), not {parameters.shape}."
            )
        actions = np.zeros((self.count, self.length, 3))
        along = np.maximum(np.linalg.norm(parameters[:, :LOOK], axis=1, keepdims=True), SHORTEST)
        actions[:, :, :LOOK] = (parameters[:, :LOOK] / along)[:, None]
        actions[:, -1, LOOK] = parameters[:, LOOK] > 0.0
        return MacroActions(actions, np.full(self.count, self.length))

    def describe(self) -> SpaceDescription:
        return {"space": "looking lines", "count": self.count, "size": self.size, "length": self.length}


@njit
def runge_kutta(x, y, mu, third, inverse, time):
    """One step of the classical method of order 4 along the oscillator's flow."""
    half, sixth = 0.5 * time, time / 6.0
    x1, y1 = flow(x, y, mu, third, inverse)
    x2, y2 = flow(x + half * x1, y + half * y1, mu, third, inverse)
    x3, y3 = flow(x + half * x2, y + half * y2, mu, third, inverse)
    x4, y4 = flow(x + time * x3, y + time * y3, mu, third, inverse)
    return x + sixth * (x1 + 2.0 * (x2 + x3) + x4), y + sixth * (y1 + 2.0 * (y2 + y3) + y4)


@njit
def flow(x, y, mu, third, inverse):
    """The target's velocity, given μ, μ/3 and 1/μ."""
    return x * (mu - third * (x * x)) - mu * y, inverse * x


@njit
def crossing(across, move_across, along, move_along, begin, end):
    """The share of a move that is possible before the barriers on an axis, given the coordinates across and along it.

    A robot right on the axis is on neither side, so it may leave it.
    """
    if across * (across + move_across) >= 0.0:
        return 1.0
    share = -across / move_across
    if not begin <= abs(along + share * move_along) <= end:
        return 1.0
    return max(0.0, share - BEFORE_BARRIER)
