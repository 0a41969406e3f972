"""Tag: find an opponent who runs away, and tag him, on 29 squares. After Pineau, Gordon & Thrun (2003).

The robot knows its square from the first step on, and sees the opponent only there. Both begin anywhere. The opponent
moves as in the program of Somani et al. (2013), see `chase.py`.
"""

import math

import numpy as np

from magic_pomdp.core.belief import BeliefSettings
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.planners.pomcpow import PomcpowSettings
from magic_pomdp.tasks.chase import OPPONENT, OUTCOME, ROBOT, Chase

MAP = """\
#####...##
#####...##
#####...##
..........
.........."""
TOGETHER = -1.0
"""Observation: the robot's square, or this if the opponent is there."""


class Tag(Chase):
    """29 squares; who is where, is hidden at first."""

    name = "tag"
    observation_size = 1
    advice = (
        BeliefSettings(particles=10_000),
        MacroDespotSettings(scenarios=100, search_depth=40, regularisation=0.05),
        PomcpowSettings(20.0, search_depth=60),
    )

    def floors(self) -> np.ndarray:
        return np.array([[[square == "." for square in row] for row in MAP.splitlines()[::-1]]])

    def draw_state(self, context, random, state):
        state[ROBOT], state[OPPONENT] = self.draw_square(context, random), self.draw_square(context, random)
        state[OUTCOME] = Outcome.RUNNING

    def step(self, context, state, action, random, observation):
        observation[0] = TOGETHER
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0, int(state[OUTCOME])
        reward, outcome = self.chase(context, state, action, random)
        observation[0] = self.seen(state)
        return reward, outcome

    def seen(self, state):
        """What is observed."""
        return TOGETHER if state[ROBOT] == state[OPPONENT] else state[ROBOT]

    def log_likelihood(self, context, state, action, observation):
        return 0.0 if observation[0] == self.seen(state) else -math.inf

    def observation_key(self, observation):
        return int(observation[0])
