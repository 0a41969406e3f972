"""LaserTag: Tag among eight obstacles, with a laser that measures in eight directions. After Somani et al. (2013).

The robot knows where it is; the opponent begins anywhere. Each beam reaches up to a wall, an obstacle or the opponent;
it reads whole units, too little by the absolute value of a normal number. On the opponent's square it reads nothing.
"""

import dataclasses
import math
from functools import cache

import numpy as np

from magic_pomdp.core.belief import BeliefSettings
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import integer, normal
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.planners.pomcpow import PomcpowSettings
from magic_pomdp.tasks.chase import MOVES, OPPONENT, OUTCOME, ROBOT, Chase

ROWS, COLUMNS, OBSTACLES = 7, 11, 8
BEAMS = (*MOVES, (1, 1), (1, -1), (-1, -1), (-1, 1))
"""Observation: what the beam in each of these directions reads."""
STRAIGHT = len(MOVES)
"""So many of them are straight, the others diagonal."""
TOGETHER = -1.0
"""What every beam reads on the opponent's square."""
NEVER = -1e9
"""Instead of the logarithm of 0."""
MOST = 20
"""No beam reads as many units."""


class LaserTag(Chase):
    """The context tells which of the layouts an episode has, and where the robot begins."""

    name = "laser-tag"
    observation_size = len(BEAMS)
    context_size = 2
    advice = (
        BeliefSettings(particles=10_000),
        MacroDespotSettings(scenarios=100, search_depth=40, regularisation=0.05),
        PomcpowSettings(26.0, observation_widening=4.0, observation_exponent=1.0 / 35.0, search_depth=60),
    )

    layouts: int = 10
    """In how many ways the obstacles may lie."""
    noise: float = 2.5
    """Standard deviation of the normal number in a reading."""
    key_cell: float = 20.0
    """Readings in the same interval of this length share a branch of the search."""

    reaches: np.ndarray = dataclasses.field(init=False, repr=False)
    """Of each layout and square, at which step each beam meets a wall or an obstacle: shape (layouts, squares, 8)."""
    logarithms: np.ndarray = dataclasses.field(init=False, repr=False)
    """ln of how likely a straight and a diagonal beam of so many steps has a reading: shape (2, steps, readings)."""

    def __post_init__(self) -> None:
        if self.layouts < 1 or min(self.noise, self.key_cell) <= 0.0:
            raise ValueError("LaserTag's layouts, noise and key_cell must be positive.")
        object.__setattr__(self, "reaches", _reaches(self.layouts))
        object.__setattr__(self, "logarithms", _logarithms(self.noise))
        super().__post_init__()

    def floors(self) -> np.ndarray:
        return _floors(self.layouts)

    def layout(self, context):
        return int(context[0])

    def draw_context(self, random, context):
        context[0] = integer(random, self.layouts)
        context[1] = self.draw_square(context, random)

    def draw_state(self, context, random, state):
        state[ROBOT], state[OPPONENT] = context[1], self.draw_square(context, random)
        state[OUTCOME] = Outcome.RUNNING

    def step(self, context, state, action, random, observation):
        observation[:] = TOGETHER
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0, int(state[OUTCOME])
        reward, outcome = self.chase(context, state, action, random)
        if state[ROBOT] != state[OPPONENT]:
            met, at = self.beam(state)
            for beam in range(len(BEAMS)):
                steps = self.steps_of(context, state, beam, met, at)
                distance = steps if beam < STRAIGHT else math.sqrt(2.0) * steps
                observation[beam] = max(0, math.floor(distance - abs(self.noise * normal(random))))
        return reward, outcome

    def beam(self, state):
        """Which beam would meet the opponent, and at which step, if nothing were between; −1 if none does."""
        across = int(state[OPPONENT]) % COLUMNS - int(state[ROBOT]) % COLUMNS
        up = int(state[OPPONENT]) // COLUMNS - int(state[ROBOT]) // COLUMNS
        if across == 0:
            return (0 if up > 0 else 2), abs(up)
        if up == 0:
            return (1 if across > 0 else 3), abs(across)
        if abs(across) != abs(up):
            return -1, 0
        if across > 0:
            return (4 if up > 0 else 5), abs(up)
        return (7 if up > 0 else 6), abs(up)

    def steps_of(self, context, state, beam, met, at):
        """At which step a beam meets something; the one that would meet the opponent does so at the latest at his."""
        steps = int(self.reaches[self.layout(context), int(state[ROBOT]), beam])
        return min(steps, at) if beam == met else steps

    def log_likelihood(self, context, state, action, observation):
        together = state[ROBOT] == state[OPPONENT]
        if together or observation[0] == TOGETHER:
            return 0.0 if together and observation[0] == TOGETHER else -math.inf
        met, at = self.beam(state)
        total = 0.0
        for beam in range(len(BEAMS)):
            if not 0.0 <= observation[beam] < MOST:
                return -math.inf
            steps = self.steps_of(context, state, beam, met, at)
            logarithm = self.logarithms[0 if beam < STRAIGHT else 1, steps, int(observation[beam])]
            if logarithm == NEVER:
                return -math.inf
            total += logarithm
        return total

    def observation_key(self, observation):
        key = 0
        for beam in range(len(BEAMS)):
            key = MOST * key + math.floor(observation[beam] / self.key_cell) + 1
        return key


@cache
def _floors(layouts: int) -> np.ndarray:
    """Layouts whose obstacles lie anywhere."""
    random = np.random.default_rng(0)
    floors = np.ones((layouts, ROWS * COLUMNS), dtype=bool)
    for floor in floors:
        floor[random.choice(ROWS * COLUMNS, OBSTACLES, replace=False)] = False
    return floors.reshape(layouts, ROWS, COLUMNS)


@cache
def _reaches(layouts: int) -> np.ndarray:
    """At which step each beam from each square meets a wall or an obstacle."""
    floors = np.pad(_floors(layouts), ((0, 0), (1, 1), (1, 1)))
    reaches = np.zeros((layouts, ROWS, COLUMNS, len(BEAMS)))
    row, column = np.indices((ROWS, COLUMNS)) + 1
    for beam, (dx, dy) in enumerate(BEAMS):
        clear = np.ones((layouts, ROWS, COLUMNS), dtype=bool)
        for step in range(1, COLUMNS + 1):
            reaches[..., beam] += clear
            above, beside = np.clip(row + step * dy, 0, ROWS + 1), np.clip(column + step * dx, 0, COLUMNS + 1)
            clear &= floors[:, above, beside]
    return reaches.reshape(layouts, ROWS * COLUMNS, len(BEAMS))


@cache
def _logarithms(noise: float) -> np.ndarray:
    """ln of how likely each reading is. A reading of 0 takes in all that would be less."""

    def at_least(missing: float) -> float:
        """How likely the absolute value of the normal number is at least this."""
        return math.erfc(max(0.0, missing) / (noise * math.sqrt(2.0)))

    table = np.full((2, COLUMNS + 1, MOST), NEVER)
    for kind, unit in enumerate((1.0, math.sqrt(2.0))):
        for steps in range(1, COLUMNS + 1):
            for reading in range(math.ceil(steps * unit)):
                distance = steps * unit
                less = at_least(distance - reading) if reading > 0 else 0.0
                probability = at_least(distance - reading - 1.0) - less
                table[kind, steps, reading] = math.log(max(probability, 1e-300))
    return table
