"""Light-Dark: find the light to localise, then stop exactly on the goal.

The robot knows how it moves but not where it started. Only inside a vertical strip of light does it see its position.
Stopping within the goal's radius earns +100, anywhere else −100, and so does running out of steps.
"""

import dataclasses
import math

import numpy as np

from magic_pomdp.core.learning_hints import Mirror
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import normal, uniform
from magic_pomdp.core.scene import Circle, Handle, Scene, Shape, Track, rectangle
from magic_pomdp.core.series import direction
from magic_pomdp.core.task import Task
from magic_pomdp.macros.spaces import BezierSpace
from magic_pomdp.macros.straight import compass
from magic_pomdp.magic.planner import MagicSettings
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.planners.pomcpow import PomcpowSettings

X, Y, STEPS, OUTCOME = range(4)
"""State: position, primitive steps taken, and how the episode has ended (RUNNING while it has not)."""
GOAL_X, GOAL_Y, LIGHT, START_X, START_Y = range(5)
"""Context: the goal, the middle of the strip of light, the mean of the prior."""
SEEN, SEEN_X, SEEN_Y = range(3)
"""Observation: 1 and a noisy position in the light, 0 0 0 in the dark."""

LOG_TWO_PI = math.log(2.0 * math.pi)


class LightDark(Task):
    """An action is the unit vector of the heading; the zero vector is Stop."""

    name = "light-dark"
    state_size = 4
    action_size = 2
    observation_size = 3
    context_size = 5
    particle_features_size = 4
    context_features_size = 3
    continuous_state = (X, Y)
    plain_features = ((STEPS, X, Y), (GOAL_X, GOAL_Y, LIGHT))
    advice = (
        MacroDespotSettings(scenarios=20, macro_length=16, shorter="6,2", discount=0.99),
        MagicSettings(scenarios=50, discount=0.99),
        PomcpowSettings(50.0, 25.0, 0.05, 10.0, 0.1),
    )

    stop_share = 0.2
    """Of the random actions."""

    max_steps: int = 60
    """Reaching this many steps without stopping is a failure."""
    speed: float = 0.5
    """Distance of one move."""
    goal_radius: float = 0.5
    """Stopping at most this far from the goal is a success."""
    light_half_width: float = 0.3
    """The robot sees where |x − light| is at most this."""
    observation_noise: float = 0.1
    """Standard deviation of each seen coordinate."""
    prior_noise: float = 1.0
    """Standard deviation of each coordinate of the start."""
    arena: float = 4.0
    """Start, goal and light are drawn with coordinates in ± this."""
    separation: float = 4.0
    """Start and goal, start and light, goal and light are at least this far apart."""
    step_reward: float = -0.1
    """Reward of a move."""
    goal_reward: float = 100.0
    """Reward of stopping at the goal."""
    failure_reward: float = -100.0
    """Reward of stopping elsewhere, or of running out of steps."""
    key_cell: float = 0.5
    """Seen positions in the same square of this side share a branch of the search."""

    powers: np.ndarray = dataclasses.field(init=False, repr=False)
    """Of the discount: what a reward after so many steps is worth."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "powers", self.discount ** np.arange(max(0, self.max_steps) + 1.0))
        super().__post_init__()
        if self.discount == 1.0:
            raise ValueError("Light-Dark's discount must be below 1.")
        for name in ("speed", "goal_radius", "light_half_width", "observation_noise", "prior_noise", "key_cell"):
            if getattr(self, name) <= 0.0:
                raise ValueError(f"Light-Dark's {name} must be positive, not {getattr(self, name)}.")
        if not 0.0 < self.separation <= 1.5 * self.arena:
            raise ValueError(
                f"Light-Dark's separation {self.separation} must be positive and at most 1.5 times its arena "
                f"{self.arena}, or no start, goal and light would fit."
            )

    def draw_context(self, random, context):
        while True:
            for i in range(5):
                context[i] = self.arena * (2.0 * uniform(random) - 1.0)
            if (
                math.hypot(context[START_X] - context[GOAL_X], context[START_Y] - context[GOAL_Y]) >= self.separation
                and abs(context[START_X] - context[LIGHT]) >= self.separation
                and abs(context[GOAL_X] - context[LIGHT]) >= self.separation
            ):
                return

    def draw_state(self, context, random, state):
        state[X] = context[START_X] + self.prior_noise * normal(random)
        state[Y] = context[START_Y] + self.prior_noise * normal(random)
        state[STEPS] = 0.0
        state[OUTCOME] = Outcome.RUNNING

    def step(self, context, state, action, random, observation):
        if state[OUTCOME] != Outcome.RUNNING:
            observation[SEEN] = 0.0
            return 0.0, int(state[OUTCOME])
        reward, outcome = self.step_unobserved(context, state, action, random, observation)
        if abs(state[X] - context[LIGHT]) <= self.light_half_width:
            observation[SEEN] = 1.0
            observation[SEEN_X] = state[X] + self.observation_noise * normal(random)
            observation[SEEN_Y] = state[Y] + self.observation_noise * normal(random)
        else:
            observation[SEEN] = 0.0
            observation[SEEN_X] = 0.0
            observation[SEEN_Y] = 0.0
        return reward, outcome

    def step_unobserved(self, context, state, action, random, unseen):
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0, int(state[OUTCOME])
        state[STEPS] += 1.0
        if action[0] == 0.0 and action[1] == 0.0:
            at_goal = (state[X] - context[GOAL_X]) ** 2 + (state[Y] - context[GOAL_Y]) ** 2 <= self.goal_radius**2
            outcome = Outcome.SUCCESS if at_goal else Outcome.FAILURE
            state[OUTCOME] = outcome
            return self.goal_reward if at_goal else self.failure_reward, outcome
        state[X] += self.speed * action[0]
        state[Y] += self.speed * action[1]
        if state[STEPS] >= self.max_steps:
            state[OUTCOME] = Outcome.FAILURE
            return self.failure_reward, Outcome.FAILURE
        return self.step_reward, Outcome.RUNNING

    def log_likelihood(self, context, state, action, observation):
        lit = abs(state[X] - context[LIGHT]) <= self.light_half_width
        if lit != (observation[SEEN] == 1.0):
            return -math.inf
        if not lit:
            return 0.0
        square = (observation[SEEN_X] - state[X]) ** 2 + (observation[SEEN_Y] - state[Y]) ** 2
        return -0.5 * square / self.observation_noise**2 - 2.0 * math.log(self.observation_noise) - LOG_TWO_PI

    def observation_key(self, observation):
        if observation[SEEN] == 0.0:
            return 0
        column = math.floor(observation[SEEN_X] / self.key_cell)
        row = math.floor(observation[SEEN_Y] / self.key_cell)
        return 1 + 2 * (column * 1_000_003 + row)

    def upper_bound(self, context, state):
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0
        distance = math.sqrt((context[GOAL_X] - state[X]) ** 2 + (context[GOAL_Y] - state[Y]) ** 2)
        moves = math.ceil(
            max(0.0, distance - self.goal_radius) * (1.0 / self.speed) - 1e-9
        )  # less what rounding may add
        moving_for_ever = self.step_reward / (1.0 - self.discount)
        moves_left = self.max_steps - 1 - int(state[STEPS])
        power = self.powers[min(moves, max(0, moves_left))]
        if moves <= moves_left:
            return moving_for_ever + power * (self.goal_reward - moving_for_ever)
        at_the_end = moving_for_ever + power * (self.failure_reward - moving_for_ever)
        return max(self.failure_reward, at_the_end)  # too late: the failure can only be put off

    def draw_action(self, actions, random, action):
        if uniform(random) < self.stop_share:
            action[0] = action[1] = 0.0
        else:
            action[0], action[1] = direction(uniform(random))

    def particle_features(self, context, state, features):
        """Where goal and light are as seen from the robot, and the time."""
        features[0] = (context[GOAL_X] - state[X]) / self.arena
        features[1] = (context[GOAL_Y] - state[Y]) / self.arena
        features[2] = (context[LIGHT] - state[X]) / self.arena
        features[3] = state[STEPS] / self.max_steps

    def context_features(self, context, features):
        features[0] = context[GOAL_X] / self.arena
        features[1] = context[GOAL_Y] / self.arena
        features[2] = context[LIGHT] / self.arena

    def state_distance(self, state, other):
        return math.hypot(state[X] - other[X], state[Y] - other[Y])

    def actions(self) -> np.ndarray:
        return np.vstack([compass(8), np.zeros((1, 2))])

    def macro_actions(self, length: int) -> MacroActions:
        return MacroActions.repeat(compass(8), length).add(np.zeros((1, 2)))

    def macro_space(self, length: int) -> BezierSpace:
        return BezierSpace(length, extra=(((0.0, 0.0),),))  # Stop is always there, and never more than once

    def mirrors(self) -> tuple[Mirror, ...]:
        left_right = Mirror((-1.0, 1.0, -1.0, 1.0), (-1.0, 1.0, -1.0), (-1.0, 1.0) * 3)
        up_down = Mirror((1.0, -1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (1.0, -1.0) * 3)
        return left_right, up_down

    def scene(self, context: np.ndarray) -> Scene:
        edge, light, width = 1.9 * self.arena, context[LIGHT], self.light_half_width
        strip = rectangle(light - width, -edge, light + width, edge, "light")
        goal = Circle(context[GOAL_X], context[GOAL_Y], self.goal_radius, "goal", filled=False)
        return Scene(
            view=(-edge, -edge, edge, edge),
            shapes=(strip, goal),
            robot=(X, Y),
            particles=(Track(X, Y),),
            trails=(Track(X, Y, "path"),),
            handles=(
                Handle("goal", GOAL_X, GOAL_Y, radius=self.goal_radius),
                Handle("light", LIGHT, None, radius=width),
                Handle("robot", X, Y, "hidden"),
            ),
        )

    def sprites(self, context: np.ndarray, state: np.ndarray, particles: np.ndarray) -> tuple[Shape, ...]:
        return (Circle(state[X], state[Y], 0.045 * self.arena, "robot"),)
