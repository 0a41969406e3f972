"""Maze: a long way through rooms and doors, begun in one of two places, with moves that slip.

A square robot moves in small steps along the axes. Now and then it slips sideways, and only on landmarks does it see
where it is. Walls hold it up; danger zones end the episode. After Maze2D of ROP-RaS3 (ISRR 2024).
"""

import dataclasses
import math
import re
from functools import cache

import numpy as np
from numba import njit

from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import integer, normal, uniform
from magic_pomdp.core.scene import Circle, Handle, Scene, Shape, Track, box, rectangle
from magic_pomdp.core.task import Task
from magic_pomdp.macros.stairs import StairSpace
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.planners.pomcpow import PomcpowSettings

X, Y, OUTCOME = range(3)
"""State: position, and how the episode has ended (RUNNING while it has not)."""
SEEN, SEEN_X, SEEN_Y = range(3)
"""Observation: 1 and a noisy position on a landmark, 0 0 0 elsewhere."""

EDGE = 25.0
"""The maze is the square ± this."""
STEP = 0.5
"""Distance of one move."""
LAST = round(2.0 * EDGE / STEP) - 1
"""The robot is always at a multiple of it: at the first to this one, from the lower left corner."""
HALF_SIDE = 0.5
"""Of the robot."""
STARTS = ((21.5, -11.5), (21.5, 10.5))
GOAL_X, GOAL_Y, GOAL_RADIUS = -16.0, 8.0, 1.0
LANDMARKS = (
    *((22.0, 15.0, 1.0, 1.0), (0.0, 10.0, 1.0, 1.0), (19.0, 21.5, 1.0, 1.0), (-6.0, 14.0, 1.0, 1.0)),
    *((-6.0, 22.0, 1.0, 1.0), (-7.0, -10.0, 1.0, 1.0), (-12.0, 2.0, 1.0, 1.0), (-16.0, 8.0, 1.5, 1.5)),
)
DANGERS = ((6.0, -9.0, 7.0, 1.0), (6.0, -13.0, 7.0, 1.0), (6.0, 21.0, 5.0, 0.8), (-23.0, 0.5, 0.3, 2.5))
"""Middle, and half of the width and of the height, of landmarks and of danger zones."""
MAP = """\
################################
#..##.........##.......##......#
#..##.........##.......##......#
#..##.........##.......##......#
#..##.........##.......##......#
#..####..##########..####......#
#..####..##########..####......#
#......................##......#
#......................##......#
#......................##......#
#..##............##....##......#
#..##............##....##......#
#..##............##............#
#..##............##............#
#..##............##....#########
#..##............##............#
#..##............##............#
#..##............##............#
#..##............##....####...##
#..################....####...##
#..################....##......#
#......................##......#
#......................##......#
#......................##......#
#..################....##......#
#..################....##......#
#..#.............##....##......#
#..#.............##....##......#
#..###..###########....##......#
#......................##......#
#......................##......#
################################"""
FREE, WALL, DANGER, GOAL = 0.0, 1.0, 2.0, 3.0
"""What a robot meets at a place."""
MOVES = ((1, 0), (0, 1), (-1, 0), (0, -1))
PRECISE = 1e-3
"""A table of values is good enough when it changes by less."""
LOG_TWO_PI = math.log(2.0 * math.pi)


class Maze(Task):
    """An action is a unit vector along an axis; any other vector counts as the nearest of these."""

    name = "maze"
    state_size = 3
    action_size = 2
    observation_size = 3
    particle_features_size = 7
    context_features_size = 0
    advice = (
        MacroDespotSettings(scenarios=30, search_depth=100, macro_length=40, shorter="16,6,3"),
        PomcpowSettings(400.0, search_depth=100),
    )

    discount: float = 0.99
    max_steps: int = 800
    """An episode that is still running after so many primitive steps is stopped."""
    slip: float = 0.2
    """Probability of moving sideways, to the left or to the right, instead of ahead."""
    observation_noise: float = 0.1
    """Standard deviation of each seen coordinate."""
    step_reward: float = -0.1
    """Reward of a step."""
    goal_reward: float = 800.0
    """Reward of reaching the goal."""
    failure_reward: float = -800.0
    """Reward of touching a danger zone."""
    key_cell: float = 1.0
    """Seen positions in the same square of this side share a branch of the search."""
    trust: float = 0.8
    """How much of its bound a position is worth to a search that looks no further."""

    places: np.ndarray = dataclasses.field(init=False, repr=False)
    """What the robot meets at each multiple of a step: FREE, WALL, DANGER or GOAL."""
    lit: np.ndarray = dataclasses.field(init=False, repr=False)
    """Where it sees its position: 1, or 0."""
    values: np.ndarray = dataclasses.field(init=False, repr=False)
    """What a robot that always saw its position would earn from each place."""

    def __post_init__(self) -> None:
        places, lit = _places()
        object.__setattr__(self, "places", places)
        object.__setattr__(self, "lit", lit)
        object.__setattr__(self, "values", np.zeros_like(places))
        super().__post_init__()
        if not 0.0 <= self.slip <= 1.0 or not 0.0 <= self.trust <= 1.0 or self.discount == 1.0:
            raise ValueError("The maze's slip and trust must lie between 0 and 1, its discount below 1.")
        for name in ("observation_noise", "key_cell"):
            if getattr(self, name) <= 0.0:
                raise ValueError(f"The maze's {name} must be positive, not {getattr(self, name)}.")
        rewards = self.step_reward, self.goal_reward, self.failure_reward
        object.__setattr__(self, "values", _values(self.discount, self.slip, *rewards))

    # ------------------------------------------------------------------------------------------------------ the problem

    def draw_state(self, context, random, state):
        state[X], state[Y] = STARTS[integer(random, len(STARTS))]
        state[OUTCOME] = Outcome.RUNNING

    def step(self, context, state, action, random, observation):
        observation[SEEN] = observation[SEEN_X] = observation[SEEN_Y] = 0.0
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0, int(state[OUTCOME])
        reward, outcome = self.step_unobserved(context, state, action, random, observation)
        if self.lit[place_of(state[X]), place_of(state[Y])] == 1.0:
            observation[SEEN] = 1.0
            observation[SEEN_X] = state[X] + self.observation_noise * normal(random)
            observation[SEEN_Y] = state[Y] + self.observation_noise * normal(random)
        return reward, outcome

    def step_unobserved(self, context, state, action, random, unseen):
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0, int(state[OUTCOME])
        ahead_x, ahead_y = 0, 0
        if abs(action[0]) >= abs(action[1]):
            ahead_x = 1 if action[0] > 0.0 else -1
        else:
            ahead_y = 1 if action[1] > 0.0 else -1
        luck = uniform(random)
        if luck < 0.5 * self.slip:
            ahead_x, ahead_y = -ahead_y, ahead_x
        elif luck < self.slip:
            ahead_x, ahead_y = ahead_y, -ahead_x
        column, row = place_of(state[X]) + ahead_x, place_of(state[Y]) + ahead_y
        met = self.places[column, row]
        if met == WALL:
            return self.step_reward, Outcome.RUNNING
        state[X], state[Y] = STEP * column - EDGE, STEP * row - EDGE
        if met == FREE:
            return self.step_reward, Outcome.RUNNING
        outcome = Outcome.SUCCESS if met == GOAL else Outcome.FAILURE
        state[OUTCOME] = outcome
        return self.goal_reward if met == GOAL else self.failure_reward, outcome

    def log_likelihood(self, context, state, action, observation):
        lit = self.lit[place_of(state[X]), place_of(state[Y])] == 1.0
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
        """What a robot would earn that always saw its position."""
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0
        return self.values[place_of(state[X]), place_of(state[Y])]

    def value_beyond(self, context, state):
        """Part of the bound. Without it, a search that does not see the goal would wander about."""
        return self.trust * max(0.0, self.upper_bound(context, state))

    def actions(self) -> np.ndarray:
        return np.array(MOVES, dtype=np.float64)

    def macro_space(self, length: int) -> StairSpace:
        return StairSpace(length)

    def plan_seconds(self, length: int) -> float:
        return 1.0

    # ----------------------------------------------------------------------------------------------------- the networks

    def particle_features(self, context, state, features):
        """The robot in the maze, the goal and the nearest landmark as seen from it, and how good its place is."""
        nearest, square = 0, math.inf
        for i in range(len(LANDMARKS)):
            distance = (state[X] - LANDMARKS[i][0]) ** 2 + (state[Y] - LANDMARKS[i][1]) ** 2
            if distance < square:
                nearest, square = i, distance
        features[0] = state[X] / EDGE
        features[1] = state[Y] / EDGE
        features[2] = (GOAL_X - state[X]) / EDGE
        features[3] = (GOAL_Y - state[Y]) / EDGE
        features[4] = (LANDMARKS[nearest][0] - state[X]) / EDGE
        features[5] = (LANDMARKS[nearest][1] - state[Y]) / EDGE
        features[6] = self.values[place_of(state[X]), place_of(state[Y])] / self.goal_reward

    # -------------------------------------------------------------------------------------------------- what people see

    def state_distance(self, state, other):
        return math.hypot(state[X] - other[X], state[Y] - other[Y])

    def scene(self, context: np.ndarray) -> Scene:
        return Scene(
            view=(-EDGE, -EDGE, EDGE, EDGE),
            shapes=(
                *(rectangle(*wall, "obstacle") for wall in _walls()),
                *(box(x, y, 0.0, 2.0 * width, 2.0 * height, "light") for x, y, width, height in LANDMARKS),
                *(box(x, y, 0.0, 2.0 * width, 2.0 * height, "danger") for x, y, width, height in DANGERS),
                Circle(GOAL_X, GOAL_Y, GOAL_RADIUS, "goal", filled=False),
            ),
            robot=(X, Y),
            particles=(Track(X, Y),),
            trails=(Track(X, Y, "path"),),
            handles=(Handle("robot", X, Y, "hidden", HALF_SIDE),),
        )

    def sprites(self, context: np.ndarray, state: np.ndarray, particles: np.ndarray) -> tuple[Shape, ...]:
        return (box(state[X], state[Y], 0.0, 2.0 * HALF_SIDE, 2.0 * HALF_SIDE),)


@njit
def place_of(coordinate):
    """The number of the multiple of a step that is nearest to a coordinate, within the maze's outer wall."""
    return min(max(math.floor((coordinate + EDGE) / STEP + 0.5), 1), LAST)


def _walls() -> list[tuple[float, float, float, float]]:
    """Left, bottom, right and top of the walls: of each row of the map those without a gap between them."""
    rows = MAP.splitlines()
    side, walls = 2.0 * EDGE / len(rows), []
    for i, row in enumerate(rows):
        top = EDGE - i * side
        for run in re.finditer("#+", row):
            walls.append((run.start() * side - EDGE, top - side, run.end() * side - EDGE, top))
    return walls


@cache
def _places() -> tuple[np.ndarray, np.ndarray]:
    """What the robot meets at each place, and where it sees its position."""
    coordinates = np.arange(0.0, 2.0 * EDGE + STEP, STEP) - EDGE
    x, y = np.meshgrid(coordinates, coordinates, indexing="ij")

    def touched(left: float, bottom: float, right: float, top: float) -> np.ndarray:
        beside = np.maximum(np.maximum(left - x, x - right), np.maximum(bottom - y, y - top))
        return beside <= HALF_SIDE + 1e-9

    def around(x: float, y: float, width: float, height: float) -> np.ndarray:
        return touched(x - width, y - height, x + width, y + height)

    places = np.full(x.shape, FREE)
    to_goal = np.hypot(np.maximum(abs(x - GOAL_X) - HALF_SIDE, 0.0), np.maximum(abs(y - GOAL_Y) - HALF_SIDE, 0.0))
    for danger in DANGERS:
        places[around(*danger)] = DANGER
    places[to_goal <= GOAL_RADIUS] = GOAL
    for wall in _walls():
        places[touched(*wall)] = WALL
    lit = np.any([around(*landmark) for landmark in LANDMARKS + DANGERS], axis=0)
    return places, lit.astype(np.float64)


@cache
def _values(discount: float, slip: float, step_reward: float, goal_reward: float, failure_reward: float) -> np.ndarray:
    """What is earned from each place by who sees it: value iteration, from below, and what may still be missing."""
    places, _ = _places()
    inner, ends = (slice(1, -1), slice(1, -1)), (places == GOAL, places == DANGER)
    values, change = np.zeros_like(places), math.inf
    while change > PRECISE:
        stay = step_reward + discount * values
        arrival, moved = np.select(ends, (goal_reward, failure_reward), stay), []
        for dx, dy in MOVES:
            to = (slice(1 + dx, LAST + 1 + dx), slice(1 + dy, LAST + 1 + dy))
            moved.append(np.where(places[to] == WALL, stay[inner], arrival[to]))
        best = np.max(
            [(1.0 - slip) * moved[i] + 0.5 * slip * (moved[i - 1] + moved[(i + 1) % 4]) for i in range(4)], axis=0
        )
        best[places[inner] != FREE] = 0.0
        change = float(np.abs(best - values[inner]).max())
        values[inner] = best
    return values + change / (1.0 - discount)
