"""RockSample(n, k): which of k rocks on a field of n × n squares are worth a sample? After Smith & Simmons (2004).

The rover knows where it is and where the rocks lie, but not which of them are good. It can look at a rock from
anywhere; the further away, the less reliable. Sensor, start and penalties are those of Silver & Veness (2010) and of
Somani et al. (2013): a look tells half as much at a distance of 20, and what cannot be done costs 100.
"""

import dataclasses
import math
from functools import cache

import numpy as np

from magic_pomdp.core.belief import BeliefSettings
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import integer, uniform
from magic_pomdp.core.scene import Circle, Scene, Shape, rectangle
from magic_pomdp.core.task import Task
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.planners.pomcpow import PomcpowSettings

NORTH, EAST, SOUTH, WEST, SAMPLE, LOOK = range(6)
"""Actions: four moves, a sample of the rock underneath, and LOOK + i to look at rock i."""
NOTHING, GOOD, BAD = range(3)
"""Observations: GOOD or BAD after a look, else NOTHING."""
X, Y, ROCKS, PROMISING, OUTCOME = range(5)
"""State: where the rover is, the good rocks as the bits of a whole number, likewise those of which the last look said
so, which the rover knows, and whether it has left."""

NO_ROCK = -1
MOST_ROCKS = 20
"""The table of values doubles with every rock."""
PUBLISHED = {
    (7, 8): ((2, 0), (0, 1), (3, 1), (6, 3), (2, 4), (3, 4), (5, 5), (1, 6)),
    (11, 11): ((0, 3), (0, 7), (1, 8), (2, 4), (3, 3), (3, 8), (4, 3), (5, 8), (6, 1), (9, 3), (9, 9)),
}
"""Where the rocks lie in those sizes for which that was published."""


class RockSample(Task):
    """The context tells which of the layouts an episode has. Where no layout was published, rocks lie at random."""

    name = "rock-sample"
    state_size = 5
    action_size = 1
    observation_size = 1
    context_size = 1
    advice = (
        BeliefSettings(particles=20_000),
        MacroDespotSettings(scenarios=60, search_depth=40),
        PomcpowSettings(20.0, search_depth=40),
    )

    discount: float = 0.95
    max_steps: int = 90
    """An episode that is still running after so many primitive steps is stopped."""
    size: int = 7
    """n: squares on each side of the field."""
    rocks: int = 8
    """k: rocks on it."""
    layouts: int = 10
    """How many layouts there are, where none was published."""
    half_distance: float = 20.0
    """Distance at which a look tells only half of what it tells at the rock."""
    good_reward: float = 10.0
    """Reward of sampling a good rock, which is bad from then on."""
    bad_reward: float = -10.0
    """Reward of sampling a bad rock."""
    exit_reward: float = 10.0
    """Reward of leaving by the east side."""
    illegal_reward: float = -100.0
    """Reward of a sample where there is no rock, and of a move against one of the other sides."""

    places: np.ndarray = dataclasses.field(init=False, repr=False)
    """Of each layout, where its rocks lie: shape (layouts, k, 2)."""
    rock_at: np.ndarray = dataclasses.field(init=False, repr=False)
    """Of each layout, the number of the rock on each square, or NO_ROCK: shape (layouts, n, n)."""
    reliability: np.ndarray = dataclasses.field(init=False, repr=False)
    """How likely a look tells the truth, by how many squares to the side and up the rock is: shape (n, n)."""
    powers: np.ndarray = dataclasses.field(init=False, repr=False)
    """γ to the power of 0, 1, …"""
    values: np.ndarray = dataclasses.field(init=False, repr=False)
    """What is earned at each rock by who knows which others are good: shape (layouts, k, 2^k)."""

    def __post_init__(self) -> None:
        for name in ("places", "rock_at", "reliability", "powers", "values"):
            object.__setattr__(self, name, np.zeros(1))
        super().__post_init__()
        if not 2 <= self.size <= 100 or not 1 <= self.rocks <= min(MOST_ROCKS, self.size**2):
            raise ValueError(
                f"RockSample's size must lie between 2 and 100 and its rocks between 1 and {MOST_ROCKS}, each on a "
                f"square of its own, not at {self.size} and {self.rocks}."
            )
        if self.layouts < 1 or self.half_distance <= 0.0 or self.discount == 1.0:
            raise ValueError("RockSample's layouts and half_distance must be positive, its discount below 1.")
        if min(self.good_reward, self.exit_reward) < 0.0 or max(self.bad_reward, self.illegal_reward) > 0.0:
            raise ValueError("RockSample's good_reward and exit_reward must not be negative, the others not positive.")
        places = _places(self.size, self.rocks, self.layouts)
        rock_at = np.full((len(places), self.size, self.size), float(NO_ROCK))
        for layout, row in enumerate(places):
            rock_at[layout, row[:, 0], row[:, 1]] = np.arange(self.rocks)
        aside, above = np.indices((self.size, self.size))
        powers = self.discount ** np.arange(2.0 * self.size + 1.0)
        object.__setattr__(self, "places", places.astype(np.float64))
        object.__setattr__(self, "rock_at", rock_at)
        object.__setattr__(self, "reliability", 0.5 + 0.5 * 2.0 ** (-np.hypot(aside, above) / self.half_distance))
        object.__setattr__(self, "powers", powers)
        object.__setattr__(self, "values", self._values_at_rocks(places))

    # ------------------------------------------------------------------------------------------------------ the problem

    def draw_context(self, random, context):
        context[0] = integer(random, len(self.places))

    def draw_state(self, context, random, state):
        state[X], state[Y], state[OUTCOME] = 0.0, self.size // 2, Outcome.RUNNING
        state[PROMISING] = 0.0
        state[ROCKS] = integer(random, 1 << self.rocks)

    def step(self, context, state, action, random, observation):
        observation[0] = NOTHING
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0, int(state[OUTCOME])
        if action[0] >= LOOK:
            rock = int(action[0]) - LOOK
            sees_right = uniform(random) < self.reliability_of(context, state, rock)
            observation[0] = GOOD if self.is_good(state, rock) == sees_right else BAD
            self.note(state, rock, observation[0] == GOOD)
            return 0.0, Outcome.RUNNING
        if action[0] == SAMPLE:
            return self.sample(context, state), Outcome.RUNNING
        if action[0] == EAST:
            if state[X] == self.size - 1:
                state[OUTCOME] = Outcome.SUCCESS
                return self.exit_reward, Outcome.SUCCESS
            state[X] += 1.0
            return 0.0, Outcome.RUNNING
        dx = -1.0 if action[0] == WEST else 0.0
        dy = 1.0 if action[0] == NORTH else -1.0 if action[0] == SOUTH else 0.0
        if state[X] + dx < 0.0 or not 0.0 <= state[Y] + dy < self.size:
            return self.illegal_reward, Outcome.RUNNING
        state[X] += dx
        state[Y] += dy
        return 0.0, Outcome.RUNNING

    def sample(self, context, state):
        """Take a sample; its reward."""
        rock = int(self.rock_at[int(context[0]), int(state[X]), int(state[Y])])
        if rock == NO_ROCK:
            return self.illegal_reward
        self.note(state, rock, False)
        if not self.is_good(state, rock):
            return self.bad_reward
        state[ROCKS] -= 1 << rock
        return self.good_reward

    def is_good(self, state, rock):
        return (int(state[ROCKS]) >> rock) & 1 == 1

    def is_promising(self, state, rock):
        return (int(state[PROMISING]) >> rock) & 1 == 1

    def note(self, state, rock, promising):
        """Note whether a rock is promising."""
        if promising != self.is_promising(state, rock):
            state[PROMISING] += (1 << rock) if promising else -(1 << rock)

    def reliability_of(self, context, state, rock):
        """How likely a look at a rock tells the truth."""
        layout = int(context[0])
        aside, above = self.places[layout, rock, 0] - state[X], self.places[layout, rock, 1] - state[Y]
        return self.reliability[int(abs(aside)), int(abs(above))]

    def moves_to(self, context, state, rock):
        """How many moves away a rock is."""
        layout = int(context[0])
        return int(abs(self.places[layout, rock, 0] - state[X]) + abs(self.places[layout, rock, 1] - state[Y]))

    def log_likelihood(self, context, state, action, observation):
        if action[0] < LOOK:
            return 0.0 if observation[0] == NOTHING else -math.inf
        said = GOOD if self.is_promising(state, int(action[0]) - LOOK) else BAD  # the state has noted it
        return 0.0 if observation[0] == said else -math.inf

    def condition(self, context, state, action, random, observation, imagined):
        """A look that said this: so it is noted, and the state weighed by how likely it is."""
        if action[0] < LOOK or state[OUTCOME] != Outcome.RUNNING or observation[0] == NOTHING:
            reward, outcome = self.step(context, state, action, random, imagined)
            fits = outcome == Outcome.RUNNING and observation[0] == imagined[0]
            return (0.0 if fits else -math.inf), reward, outcome
        rock, says_good = int(action[0]) - LOOK, observation[0] == GOOD
        self.note(state, rock, says_good)
        reliability = self.reliability_of(context, state, rock)
        probability = reliability if says_good == self.is_good(state, rock) else 1.0 - reliability
        return (math.log(probability) if probability > 0.0 else -math.inf), 0.0, Outcome.RUNNING

    def observation_key(self, observation):
        return int(observation[0])

    def upper_bound(self, context, state):
        """The best way for a rover that knows which rocks are good: on to one of them, or out."""
        return 0.0 if state[OUTCOME] != Outcome.RUNNING else self.best_way(context, state, int(state[ROCKS]))[1]

    def best_way(self, context, state, good):
        """Where to if just the rocks of a set are good, and what is earned: a rock, or NO_ROCK for out."""
        target, best, layout = NO_ROCK, self.exit_reward * self.powers[self.size - 1 - int(state[X])], int(context[0])
        for rock in range(self.rocks):
            if (good >> rock) & 1 == 1:
                then = self.values[layout, rock, good - (1 << rock)]
                value = self.powers[self.moves_to(context, state, rock)] * (self.good_reward + self.discount * then)
                if value > best:
                    target, best = rock, value
        return target, best

    def promising_action(self, context, state):
        """The next step of the best way through the promising rocks."""
        rock, _ = self.best_way(context, state, int(state[PROMISING]))
        if rock == NO_ROCK:
            return EAST
        x, y = self.places[int(context[0]), rock, 0], self.places[int(context[0]), rock, 1]
        if x != state[X]:
            return EAST if x > state[X] else WEST
        if y != state[Y]:
            return NORTH if y > state[Y] else SOUTH
        return SAMPLE

    def guide(self, context, state, macro_actions, lengths):
        """The best way through the promising rocks, without another look."""
        wanted = self.promising_action(context, state)
        for number in range(len(lengths)):
            if macro_actions[number, 0, 0] == wanted:
                return number
        return 0

    def rollout_action(self, context, state, actions, random, action):
        action[0] = self.promising_action(context, state)

    def actions(self) -> np.ndarray:
        return np.arange(LOOK + self.rocks, dtype=np.float64)[:, None]

    # ---------------------------------------------------------------------------------------------------- what is told

    @property
    def particle_features_size(self) -> int:
        return 2 + self.rocks

    def particle_features(self, context, state, features):
        """Where the rover is, and which rocks are good."""
        features[0], features[1] = state[X], state[Y]
        for rock in range(len(features) - 2):
            features[2 + rock] = 1.0 if self.is_good(state, rock) else 0.0

    def state_distance(self, state, other):
        """How many rocks one of two states has wrong."""
        wrong = 0.0
        for rock in range(self.rocks):
            wrong += self.is_good(state, rock) != self.is_good(other, rock)
        return wrong

    def scene(self, context: np.ndarray) -> Scene:
        field = rectangle(-0.5, -0.5, self.size - 0.5, self.size - 0.5, "surface")
        way_out = rectangle(self.size - 0.5, -0.5, self.size + 0.5, self.size - 0.5, "goal")
        return Scene(view=(-1.0, -1.0, self.size + 1.0, self.size), shapes=(field, way_out), robot=(X, Y))

    def sprites(self, context: np.ndarray, state: np.ndarray, particles: np.ndarray) -> tuple[Shape, ...]:
        """Rocks, the good ones filled; over each, how likely it is good. And the rover."""
        believed = (particles[:, ROCKS].astype(np.int64)[:, None] >> np.arange(self.rocks)) & 1
        shapes: list[Shape] = []
        for rock, (x, y) in enumerate(self.places[int(context[0])].tolist()):
            shapes.append(Circle(x, y, 0.35, "object", filled=bool(self.is_good(state, rock))))
            shapes.append(
                rectangle(x - 0.4, y + 0.4, x - 0.4 + 0.8 * float(believed[:, rock].mean()), y + 0.48, "belief")
            )
        return *shapes, Circle(state[X], state[Y], 0.25, "robot")

    # ------------------------------------------------------------------------------------------------------- the tables

    def _values_at_rocks(self, places: np.ndarray) -> np.ndarray:
        """What is earned at each rock by who knows that just the rocks of a set, the bits of a number, are good. Sets
        follow by size: a sample leaves a smaller one."""
        k, values = self.rocks, np.zeros((len(places), self.rocks, 2**self.rocks))
        sets = np.arange(2**k)
        sizes = ((sets[:, None] >> np.arange(k)) & 1).sum(axis=1)
        for layout, row in enumerate(places):
            table, powers = values[layout], self.discount ** np.abs(row[:, None] - row).sum(axis=2).astype(np.float64)
            table[:] = (self.exit_reward * self.discount ** (self.size - 1.0 - row[:, 0]))[:, None]
            for size in range(1, k + 1):
                for rock in range(k):
                    some = sets[(sizes == size) & ((sets >> rock) & 1 == 1)]
                    earned = self.good_reward + self.discount * table[rock, some - (1 << rock)]
                    table[:, some] = np.maximum(table[:, some], powers[:, rock, None] * earned)
        return values


@cache
def _places(size: int, rocks: int, layouts: int) -> np.ndarray:
    """Where the rocks of each layout lie: as published, or drawn without putting two on a square."""
    if (size, rocks) in PUBLISHED:
        return np.array([PUBLISHED[size, rocks]])
    random = np.random.default_rng(0)
    squares = [random.choice(size**2, rocks, replace=False) for _ in range(layouts)]
    return np.stack(np.divmod(np.array(squares), size), axis=2)
