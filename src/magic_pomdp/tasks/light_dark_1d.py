"""LightDark1D: stop at the origin of a line, seeing well only around 10. After Sunberg & Kochenderfer (2018).

Positions are whole numbers. A move is 1 or 10 to either side and costs 1; stopping at the origin earns 100, anywhere
else it costs 100. What is seen of the position is as noisy as it is far from the light.
"""

import dataclasses
import math

import numpy as np

from magic_pomdp.core.belief import BeliefSettings
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import integer, normal
from magic_pomdp.core.scene import Circle, Line, Scene, Shape, rectangle
from magic_pomdp.core.task import Task
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.planners.pomcpow import PomcpowSettings

POSITION, OUTCOME = range(2)
"""State: where the robot is, and how it has stopped (RUNNING while it has not)."""
MOVES = (-10, -1, 1, 10)
"""Actions: one of these, or 0 to stop."""


class LightDark1D(Task):
    """The action is the move; 0 stops."""

    name = "light-dark-1d"
    state_size = 2
    action_size = 1
    observation_size = 1
    discrete_actions = True
    advice = (
        BeliefSettings(particles=10_000),
        MacroDespotSettings(scenarios=500, search_depth=20),
        PomcpowSettings(90.0, observation_exponent=1.0 / 15.0, popularity=0.5, search_depth=20),
    )

    discount: float = 0.95
    edge: int = 60
    """The line ends at ± this."""
    start: int = 30
    """The robot begins anywhere within ± this."""
    light: float = 10.0
    """Where everything is seen as it is."""
    least_noise: float = 1e-4
    """Standard deviation of what is seen there."""
    move_reward: float = -1.0
    """Reward of a move."""
    goal_reward: float = 100.0
    """Reward of stopping at the origin."""
    miss_reward: float = -100.0
    """Reward of stopping anywhere else."""

    values: np.ndarray = dataclasses.field(init=False, repr=False)
    """What is earned from each position, −edge to edge, by who knows it."""
    best: np.ndarray = dataclasses.field(init=False, repr=False)
    """What to do there."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", np.zeros(1))
        object.__setattr__(self, "best", np.zeros(1))
        super().__post_init__()
        if not 0 <= self.start <= self.edge or not 10 <= self.edge <= 10_000:
            raise ValueError("LightDark1D's edge must lie between 10 and 10000, and its start between 0 and the edge.")
        if self.least_noise <= 0.0 or self.discount == 1.0:
            raise ValueError("LightDark1D's least_noise must be positive, its discount below 1.")
        if max(self.move_reward, self.miss_reward) > 0.0 or self.goal_reward < 0.0:
            raise ValueError(
                "LightDark1D's move_reward and miss_reward must not be positive, its goal_reward not negative."
            )
        values, best = self._known_values()
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "best", best)

    def draw_state(self, context, random, state):
        state[POSITION] = integer(random, 2 * self.start + 1) - self.start
        state[OUTCOME] = Outcome.RUNNING

    def step(self, context, state, action, random, observation):
        observation[0] = 0.0
        reward, outcome = self.step_unobserved(context, state, action, random, observation)
        if outcome == Outcome.RUNNING:
            observation[0] = state[POSITION] + self.noise(state) * normal(random)
        return reward, outcome

    def step_unobserved(self, context, state, action, random, unseen):
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0, int(state[OUTCOME])
        if action[0] == 0.0:
            there = state[POSITION] == 0.0
            state[OUTCOME] = Outcome.SUCCESS if there else Outcome.FAILURE
            return (self.goal_reward if there else self.miss_reward), int(state[OUTCOME])
        state[POSITION] = min(float(self.edge), max(-float(self.edge), state[POSITION] + action[0]))
        return self.move_reward, Outcome.RUNNING

    def noise(self, state):
        """Standard deviation of what is seen."""
        return abs(state[POSITION] - self.light) + self.least_noise

    def log_likelihood(self, context, state, action, observation):
        noise = self.noise(state)
        return -0.5 * ((observation[0] - state[POSITION]) / noise) ** 2 - math.log(noise)

    def observation_key(self, observation):
        return math.floor(observation[0])

    def upper_bound(self, context, state):
        """The best of a robot that knows where it is."""
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0
        return self.values[int(state[POSITION]) + self.edge]

    def rollout_action(self, context, state, actions, random, action):
        """What is best for who knows the position."""
        action[0] = self.best[int(state[POSITION]) + self.edge]

    def actions(self) -> np.ndarray:
        return np.array([[-10.0], [-1.0], [0.0], [1.0], [10.0]])

    def scene(self, context: np.ndarray) -> Scene:
        edge = float(self.edge)
        light = rectangle(self.light - 3.0, -3.0, self.light + 3.0, 3.0, "light")
        line = Line(((-edge, 0.0), (edge, 0.0)), "obstacle")
        return Scene(view=(-edge - 2.0, -12.0, edge + 2.0, 12.0), shapes=(light, line, Circle(0.0, 0.0, 1.0, "goal")))

    def sprites(self, context: np.ndarray, state: np.ndarray, particles: np.ndarray) -> tuple[Shape, ...]:
        """How likely the robot is at each position."""
        places, counts = np.unique(particles[:, POSITION], return_counts=True)
        bars = [
            rectangle(place - 0.4, 0.5, place + 0.4, 0.5 + 10.0 * count / len(particles), "belief")
            for place, count in zip(places.tolist(), counts.tolist(), strict=True)
        ]
        return *bars, Circle(state[POSITION], 0.0, 0.8, "robot")

    def _known_values(self) -> tuple[np.ndarray, np.ndarray]:
        """What is earned, and what to do, at each position: value iteration, until nothing changes."""
        positions = np.arange(-self.edge, self.edge + 1)
        stop = np.where(positions == 0, self.goal_reward, self.miss_reward)
        values, before = stop, np.full(len(positions), -np.inf)
        while not np.array_equal(values, before):
            before = values
            arrived = [before[np.clip(positions + move, -self.edge, self.edge) + self.edge] for move in MOVES]
            worth = np.array([stop, *(self.move_reward + self.discount * there for there in arrived)])
            values = np.maximum(before, worth.max(axis=0))
        return values, np.array([0, *MOVES], dtype=np.float64)[worth.argmax(axis=0)]
