"""SubHunt: a submarine tracks and destroys another that crosses the field. After Sunberg & Kochenderfer (2018).

Nobody knows from which side the target has come; it goes straight on to the other. Eight beams hardly show it from
further away than 3. A ping shows it from everywhere, but from then on it knows, and an attack may fail.
"""

import dataclasses
import math
from functools import cache

import numpy as np

from magic_pomdp.core.belief import BeliefSettings
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import integer, normal, uniform
from magic_pomdp.core.scene import Circle, Scene, Shape, Track, rectangle
from magic_pomdp.core.task import Task
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.planners.pomcpow import PomcpowSettings

OWN_X, OWN_Y, TARGET_X, TARGET_Y, GOAL, AWARE, OUTCOME = range(7)
"""State: both submarines, the side that the target goes to, whether it knows, and how the hunt has ended."""
NORTH, EAST, SOUTH, WEST, PING, ENGAGE = range(6)
"""Actions: four moves, a ping, and an attack. The first four are sides, too."""
DIRECTIONS = ((0, 1), (1, 0), (0, -1), (-1, 0))
BEAMS = 8
"""Observation: what each beam reads; the i-th reaches from i to i + 1 eighths of a turn."""
SPEED = 3
"""Squares that the submarine moves in a step."""


class SubHunt(Task):
    """In a step the target goes 2 squares ahead, or, as often, one ahead and one to the left or to the right. It
    escapes when it has reached the other side; whoever would leave the field stays at its edge."""

    name = "sub-hunt"
    state_size = 7
    action_size = 1
    observation_size = BEAMS
    particle_features_size = 6
    advice = (
        BeliefSettings(particles=20_000),
        MacroDespotSettings(scenarios=500, search_depth=20),
        PomcpowSettings(17.0, observation_widening=6.0, observation_exponent=0.01, search_depth=20),
    )

    discount: float = 0.99
    size: int = 20
    """Squares on each side of the field."""
    kill_radius: float = 2.0
    """How near the target must be to be attacked."""
    aware_kill: float = 0.6
    """Probability that an attack succeeds on a target that knows; one that does not has no chance."""
    detect_radius: float = 3.0
    """How near the target must be to be seen without a ping; also the mean of what other beams read then."""
    passive_noise: float = 5.0
    """Standard deviation of these."""
    detected_noise: float = 0.5
    """Standard deviation of a beam that sees the target without a ping."""
    ping_noise: float = 0.5
    """Standard deviation of every beam after a ping; those that do not meet the target read the field's size."""
    kill_reward: float = 100.0
    """Reward of destroying the target."""

    values: np.ndarray = dataclasses.field(init=False, repr=False)
    """What is earned by who sees the target, which goes north: shape (aware, own x, own y, target x, target y)."""
    best: np.ndarray = dataclasses.field(init=False, repr=False)
    """What to do there, of the same shape."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", np.zeros((1, 1, 1, 1, 1)))
        object.__setattr__(self, "best", np.zeros((1, 1, 1, 1, 1)))
        super().__post_init__()
        if not 4 <= self.size <= 40 or not 0.0 <= self.aware_kill <= 1.0:
            raise ValueError("SubHunt's size must lie between 4 and 40, its aware_kill between 0 and 1.")
        for name in ("kill_radius", "detect_radius", "passive_noise", "detected_noise", "ping_noise"):
            if getattr(self, name) <= 0.0:
                raise ValueError(f"SubHunt's {name} must be positive, not {getattr(self, name)}.")
        if self.kill_reward < 0.0:
            raise ValueError("SubHunt's kill_reward must not be negative.")
        values, best = _known_values(self.size, self.discount, self.kill_radius, self.aware_kill)
        object.__setattr__(self, "values", self.kill_reward * values)
        object.__setattr__(self, "best", best)

    # ------------------------------------------------------------------------------------------------------ the problem

    def draw_state(self, context, random, state):
        middle, last = self.size // 2 - 1, self.size - 1
        state[OWN_X] = state[OWN_Y] = middle
        goal, along = integer(random, len(DIRECTIONS)), integer(random, self.size)
        state[GOAL] = goal
        state[TARGET_X] = 0.0 if goal == EAST else last if goal == WEST else along
        state[TARGET_Y] = 0.0 if goal == NORTH else last if goal == SOUTH else along
        state[AWARE], state[OUTCOME] = 0.0, Outcome.RUNNING

    def step(self, context, state, action, random, observation):
        reward, outcome = self.step_unobserved(context, state, action, random, observation)
        if outcome == Outcome.RUNNING:
            self.read_beams(state, action, random, observation)
        else:
            observation[:] = 0.0
        return reward, outcome

    def step_unobserved(self, context, state, action, random, unseen):
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0, int(state[OUTCOME])
        chance, luck = uniform(random), uniform(random)
        hits = state[AWARE] == 0.0 or luck < self.aware_kill
        if action[0] == ENGAGE and hits and self.distance(state) <= self.kill_radius:
            state[OUTCOME] = Outcome.SUCCESS
            return self.kill_reward, Outcome.SUCCESS
        if action[0] == PING:
            state[AWARE] = 1.0
        elif action[0] != ENGAGE:
            self.move(state, OWN_X, int(action[0]), SPEED)
        goal = int(state[GOAL])
        self.move(state, TARGET_X, goal, 1)
        self.move(state, TARGET_X, goal if chance < 0.5 else (goal + 1) % 4 if chance < 0.75 else (goal + 3) % 4, 1)
        if self.to_go(state) == 0.0:
            state[OUTCOME] = Outcome.FAILURE
        return 0.0, int(state[OUTCOME])

    def move(self, state, which, side, squares):
        """Move one of the two so many squares to a side, at most to the edge; `which` is its x among a state's
        numbers."""
        dx = 1 if side == EAST else -1 if side == WEST else 0
        dy = 1 if side == NORTH else -1 if side == SOUTH else 0
        state[which] = min(self.size - 1.0, max(0.0, state[which] + squares * dx))
        state[which + 1] = min(self.size - 1.0, max(0.0, state[which + 1] + squares * dy))

    def to_go(self, state):
        """How many squares the target is from where it wants to go."""
        if state[GOAL] == NORTH:
            return self.size - 1.0 - state[TARGET_Y]
        if state[GOAL] == EAST:
            return self.size - 1.0 - state[TARGET_X]
        return state[TARGET_Y] if state[GOAL] == SOUTH else state[TARGET_X]

    def distance(self, state):
        """From one submarine to the other."""
        return math.sqrt((state[TARGET_X] - state[OWN_X]) ** 2 + (state[TARGET_Y] - state[OWN_Y]) ** 2)

    def beam(self, state):
        """The beam that meets the target."""
        bearing = math.atan2(state[TARGET_Y] - state[OWN_Y], state[TARGET_X] - state[OWN_X])
        if bearing <= 0.0:
            bearing += 2.0 * math.pi
        return min(BEAMS, math.ceil(bearing * (BEAMS / (2.0 * math.pi)))) - 1

    def read_beams(self, state, action, random, observation):
        """Fill what the beams read."""
        pings, distance = action[0] == PING, self.distance(state)
        mean, noise = (float(self.size), self.ping_noise) if pings else (self.detect_radius, self.passive_noise)
        for i in range(BEAMS):
            observation[i] = mean + noise * normal(random)
        if pings or distance <= self.detect_radius:
            observation[self.beam(state)] = distance + self.noise_of(action) * normal(random)

    def noise_of(self, action):
        """Standard deviation of a beam that sees the target."""
        return self.ping_noise if action[0] == PING else self.detected_noise

    def log_likelihood(self, context, state, action, observation):
        """Against the likelihood of no target at all: so only the beam that sees it counts."""
        pings, distance = action[0] == PING, self.distance(state)
        if not pings and distance > self.detect_radius:
            return 0.0
        mean, noise = (float(self.size), self.ping_noise) if pings else (self.detect_radius, self.passive_noise)
        reading, own_noise = observation[self.beam(state)], self.noise_of(action)
        surprise = ((reading - mean) / noise) ** 2 - ((reading - distance) / own_noise) ** 2
        return 0.5 * surprise + math.log(noise / own_noise)

    def upper_bound(self, context, state):
        """The best of a submarine that always sees the target."""
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0
        own_x, own_y, x, y = self.turned(state)
        return self.values[int(state[AWARE]), own_x, own_y, x, y]

    def turned(self, state):
        """Both places if the field is turned so that the target goes north."""
        own_x, own_y, x, y = int(state[OWN_X]), int(state[OWN_Y]), int(state[TARGET_X]), int(state[TARGET_Y])
        last = self.size - 1
        if state[GOAL] == NORTH:
            return own_x, own_y, x, y
        if state[GOAL] == EAST:
            return last - own_y, own_x, last - y, x
        if state[GOAL] == SOUTH:
            return last - own_x, last - own_y, last - x, last - y
        return own_y, last - own_x, y, last - x

    def rollout_action(self, context, state, actions, random, action):
        """What is best for who sees the target."""
        own_x, own_y, x, y = self.turned(state)
        best = self.best[int(state[AWARE]), own_x, own_y, x, y]
        action[0] = (best + state[GOAL]) % 4 if best < PING else best

    def actions(self) -> np.ndarray:
        return np.arange(6.0)[:, None]

    # ---------------------------------------------------------------------------------------------------- what is told

    def particle_features(self, context, state, features):
        """The submarine, the target as seen from it, where that goes, and whether it knows."""
        features[0], features[1] = state[OWN_X], state[OWN_Y]
        features[2], features[3] = state[TARGET_X] - state[OWN_X], state[TARGET_Y] - state[OWN_Y]
        features[4], features[5] = state[GOAL], state[AWARE]

    def state_distance(self, state, other):
        return math.hypot(state[TARGET_X] - other[TARGET_X], state[TARGET_Y] - other[TARGET_Y])

    def scene(self, context: np.ndarray) -> Scene:
        last = self.size - 1.0
        return Scene(
            view=(-1.0, -1.0, last + 1.0, last + 1.0),
            shapes=(rectangle(-0.5, -0.5, last + 0.5, last + 0.5, "surface"),),
            robot=(OWN_X, OWN_Y),
            particles=(Track(TARGET_X, TARGET_Y),),
            trails=(Track(TARGET_X, TARGET_Y, "object"), Track(OWN_X, OWN_Y, "path")),
        )

    def sprites(self, context: np.ndarray, state: np.ndarray, particles: np.ndarray) -> tuple[Shape, ...]:
        """The target is full when it knows; around the submarine is what it can attack."""
        own, target = (float(state[OWN_X]), float(state[OWN_Y])), (float(state[TARGET_X]), float(state[TARGET_Y]))
        attack = Circle(*own, self.kill_radius, "danger", filled=False)
        return attack, Circle(*target, 0.4, "object", filled=bool(state[AWARE])), Circle(*own, 0.4, "robot")


@cache
def _known_values(size: int, discount: float, kill_radius: float, aware_kill: float) -> tuple[np.ndarray, np.ndarray]:
    """Probability, discounted, that who sees a target that goes north destroys it, and what to do: backwards from the
    target's last row, for it comes nearer in every step."""
    squares, last = np.arange(size), size - 1
    values, best = np.zeros((2, size, size, size, size)), np.zeros((2, size, size, size, size))
    forth, back = np.clip(squares + SPEED, 0, last), np.clip(squares - SPEED, 0, last)
    own_x, own_y, x = np.meshgrid(squares, squares, squares, indexing="ij")
    beside = np.clip(squares - 1, 0, last), np.clip(squares + 1, 0, last)
    for row in range(last - 1, -1, -1):
        near = (own_x - x) ** 2 + (own_y - row) ** 2 <= kill_radius**2
        next_row = values[..., row + 1]
        then = 0.5 * values[..., min(row + 2, last)] + 0.25 * (next_row[..., beside[0]] + next_row[..., beside[1]])
        for aware in (1, 0):
            stay, kill = discount * then[aware], aware_kill if aware else 1.0
            worth = [
                stay[:, forth],
                stay[forth],
                stay[:, back],
                stay[back],
                discount * then[1],
                np.where(near, kill + (1.0 - kill) * stay, stay),
            ]
            values[aware, ..., row], best[aware, ..., row] = np.max(worth, axis=0), np.argmax(worth, axis=0)
    return values, best
