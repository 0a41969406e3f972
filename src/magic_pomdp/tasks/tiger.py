"""Tiger: behind one of two doors. Listening costs 1 and is right with probability 0.85.

Opening the other door earns 10, opening the tiger's costs 100; then the tiger is put behind a door at random.
Its optimum is known: listen until one side leads by two, then open the other (discounted return 19.37 for ever).
"""

import math

import numpy as np

from magic_pomdp.core.belief import BeliefSettings
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import uniform
from magic_pomdp.core.scene import Circle, Scene, Shape, Text, rectangle
from magic_pomdp.core.task import Task
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.planners.pomcpow import PomcpowSettings

LISTEN, OPEN_LEFT, OPEN_RIGHT = range(3)


class Tiger(Task):
    """State and observation: 0 for left, 1 for right. Action: one of LISTEN, OPEN_LEFT, OPEN_RIGHT."""

    name = "tiger"
    state_size = 1
    action_size = 1
    observation_size = 1
    advice = (
        BeliefSettings(particles=1000),
        MacroDespotSettings(scenarios=200, search_depth=40),
        PomcpowSettings(exploration=150.0, search_depth=40),
    )

    discount: float = 0.95
    max_steps: int = 40
    """Steps of an episode; the task itself never ends."""
    accuracy: float = 0.85
    """Probability of hearing the tiger where it is."""
    listen_reward: float = -1.0
    """Reward of listening."""
    safe_reward: float = 10.0
    """Reward of opening the door without the tiger."""
    tiger_reward: float = -100.0
    """Reward of opening the tiger's door."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.discount == 1.0:
            raise ValueError("Tiger's discount must be below 1.")
        if not 0.0 < self.accuracy < 1.0:
            raise ValueError(f"Tiger's accuracy must lie between 0 and 1, not at {self.accuracy}.")

    def draw_state(self, context, random, state):
        state[0] = 0.0 if uniform(random) < 0.5 else 1.0

    def step(self, context, state, action, random, observation):
        if action[0] == LISTEN:
            heard_right = uniform(random) < self.accuracy
            observation[0] = state[0] if heard_right else 1.0 - state[0]
            return self.listen_reward, Outcome.RUNNING
        opened = 0.0 if action[0] == OPEN_LEFT else 1.0
        reward = self.tiger_reward if opened == state[0] else self.safe_reward
        self.draw_state(context, random, state)
        observation[0] = 0.0 if uniform(random) < 0.5 else 1.0  # an opened door tells nothing of the next tiger
        return reward, Outcome.RUNNING

    def log_likelihood(self, context, state, action, observation):
        if action[0] != LISTEN:
            return math.log(0.5)
        return math.log(self.accuracy if observation[0] == state[0] else 1.0 - self.accuracy)

    def observation_key(self, observation):
        return int(observation[0])

    def upper_bound(self, context, state):
        return self.safe_reward / (1.0 - self.discount)  # as if it always knew

    def rollout_action(self, context, state, actions, random, action):
        """Listen: doors opened at random would only tell how bad chance is."""
        action[0] = LISTEN

    def actions(self) -> np.ndarray:
        return np.array([[LISTEN], [OPEN_LEFT], [OPEN_RIGHT]], dtype=np.float64)

    def scene(self, context: np.ndarray) -> Scene:
        doors = [rectangle(side + 0.1, 0.0, side + 0.9, 1.0, "surface") for side in (0, 1)]
        words = Text(0.5, -0.12, "left"), Text(1.5, -0.12, "right")
        return Scene(view=(-0.2, -0.3, 2.2, 1.3), shapes=(*doors, *words))

    def sprites(self, context: np.ndarray, state: np.ndarray, particles: np.ndarray) -> tuple[Shape, ...]:
        """How likely the tiger is behind each door, and where it is."""
        right = float(particles[:, 0].mean())
        bars = [rectangle(x + 0.1, 0.0, x + 0.9, height, "belief") for x, height in ((0, 1.0 - right), (1, right))]
        return *bars, Circle(state[0] + 0.5, 1.12, 0.07, "robot")
