"""Navigation: through a building to the goal, without knowing in which of two places one has started.

The robot's motion is noisy, and only near beacons does it see its position. Walls hold it up; danger zones end the
episode. Goal and beacons are known. After Navigation 2D of RMAG (IROS 2023).
"""

import dataclasses
import math

import numpy as np

from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import integer, normal, uniform
from magic_pomdp.core.scene import Circle, Handle, Scene, Shape, Track, rectangle
from magic_pomdp.core.series import direction, exponential
from magic_pomdp.core.task import Task
from magic_pomdp.macros.spaces import BezierSpace
from magic_pomdp.macros.straight import compass
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.planners.pomcpow import PomcpowSettings
from magic_pomdp.tasks.building import (
    DANGERS,
    EDGE,
    GOALS,
    PLACES,
    STARTS,
    WALLS,
    careful_ways,
    holds_up,
    length_of_way,
    next_point,
    shortest_ways,
    touches,
)

X, Y, STEPS, OUTCOME, GUESS_X, GUESS_Y, OTHER_X, OTHER_Y, TRUST, SINCE = range(10)
"""State: position, primitive steps taken, how the episode has ended (RUNNING while it has not); and what the robot
concludes from all that it has done and seen: where it is by dead reckoning, where it is if it started in the other
place, how far it trusts that, and for how long it has gone without seeing a beacon where it expected one."""
TORN, SURE, LOST = range(3)
"""It does not know yet where it started; it trusts its dead reckoning; it does not, since it should be at the goal."""
GOAL_X, GOAL_Y, BEACONS = range(3)
"""Context: the goal, and from BEACONS on x and y of each beacon."""
SEEN, SEEN_X, SEEN_Y = range(3)
"""Observation: 1 and a noisy position near a beacon, 0 0 0 elsewhere."""

BEACON_COUNT = 7
"""So many of the places have a beacon."""
FASTEST = 1.05
"""Mean speed that noise cannot raise a step to, in steps' lengths."""
LUCK = 3.0
"""How far behind an arrival in time is not yet impossible, in standard deviations of the noise."""
AT_GOAL, AT_BEACON = 1.0, 1.3
"""So near the goal by dead reckoning, the robot should be there; so near a beacon, it should see it."""
LONG, SIDE_TRIP = 15.0, 6.0
"""After so many steps by dead reckoning, beacons so near are worth a visit."""
WARY = 1.8
"""A robot that goes by dead reckoning keeps so far from danger, if it can, in its radius."""
NEAR_WALL, SCRAPE = 2.2, 0.3
"""A step that ends so near a wall, in the robot's radius, costs so much more: noise would often hold the robot up."""
DETOUR = 0.8
"""What a step costs who follows the guide, in its length: the less, the longer the macro-actions that it chooses."""
LOG_TWO_PI = math.log(2.0 * math.pi)


class Navigation(Task):
    """Lengths in metres. An action is the unit vector of the heading."""

    name = "navigation"
    state_size = 10
    action_size = 2
    observation_size = 3
    context_size = BEACONS + 2 * BEACON_COUNT
    particle_features_size = 8
    context_features_size = 2 + len(PLACES)
    advice = (
        MacroDespotSettings(scenarios=50, search_depth=60, macro_length=8),
        PomcpowSettings(100.0, search_depth=60),
    )

    discount: float = 0.99
    max_steps: int = 150
    """Reaching this many steps is a failure."""
    speed: float = 1.0
    """Distance of one move."""
    motion_noise: float = 0.3
    """Standard deviation of each coordinate of a move."""
    radius: float = 1.0
    """Of the robot."""
    goal_radius: float = 1.5
    """The goal is reached when the robot's middle is this near."""
    beacon_range: float = 2.0
    """How near a beacon the robot sees its position."""
    observation_noise: float = 0.1
    """Standard deviation of each seen coordinate."""
    prior_noise: float = 1.0
    """Standard deviation of each coordinate of the start, around either of the two places."""
    step_reward: float = -0.2
    """Reward of a step."""
    goal_reward: float = 100.0
    """Reward of reaching the goal."""
    failure_reward: float = -100.0
    """Reward of touching a danger zone, and of running out of steps."""
    key_cell: float = 4.0
    """Seen positions in the same square of this side share a branch of the search. With 1, as in the published program,
    nearly every scenario that sees a beacon is alone in its branch, and the search plans with hindsight."""
    value_trust: float = 0.5
    """How much of its bound a position is worth to a search that looks no further."""

    walls: np.ndarray = dataclasses.field(init=False, repr=False)
    dangers: np.ndarray = dataclasses.field(init=False, repr=False)
    obstacles: np.ndarray = dataclasses.field(init=False, repr=False)
    ways: np.ndarray = dataclasses.field(init=False, repr=False)
    """See `shortest_ways`."""
    far_obstacles: np.ndarray = dataclasses.field(init=False, repr=False)
    far_ways: np.ndarray = dataclasses.field(init=False, repr=False)
    far_corners: np.ndarray = dataclasses.field(init=False, repr=False)
    far_points: np.ndarray = dataclasses.field(init=False, repr=False)
    """See `careful_ways`."""
    log_discount: float = dataclasses.field(init=False, repr=False, default=0.0)

    def __post_init__(self) -> None:
        tables = (np.array(WALLS), np.array(DANGERS), *shortest_ways(self.radius), *careful_ways(self.radius))
        names = ("walls", "dangers", "obstacles", "ways", "far_obstacles", "far_ways", "far_corners", "far_points")
        for name, table in zip(names, tables, strict=True):
            object.__setattr__(self, name, table)
        super().__post_init__()
        object.__setattr__(self, "log_discount", math.log(self.discount))
        if self.discount == 1.0:
            raise ValueError("Navigation's discount must be below 1.")
        for name in ("speed", "radius", "goal_radius", "beacon_range", "observation_noise", "key_cell"):
            if getattr(self, name) <= 0.0:
                raise ValueError(f"Navigation's {name} must be positive, not {getattr(self, name)}.")
        if not 0.0 <= self.value_trust <= 1.0:
            raise ValueError(f"Navigation's value_trust must lie between 0 and 1, not at {self.value_trust}.")
        for name in ("motion_noise", "prior_noise"):
            if getattr(self, name) < 0.0:
                raise ValueError(f"Navigation's {name} must not be negative, but is {getattr(self, name)}.")

    # ------------------------------------------------------------------------------------------------------ the problem

    def draw_context(self, random, context):
        left, bottom, right, top = GOALS[integer(random, len(GOALS))]
        context[GOAL_X] = left + (right - left) * uniform(random)
        context[GOAL_Y] = bottom + (top - bottom) * uniform(random)
        drawn = 0
        for place in range(len(PLACES)):  # each with the chance that just so many are left to be drawn
            if integer(random, len(PLACES) - place) < BEACON_COUNT - drawn:
                context[BEACONS + 2 * drawn], context[BEACONS + 2 * drawn + 1] = PLACES[place]
                drawn += 1

    def draw_state(self, context, random, state):
        x, y = STARTS[integer(random, len(STARTS))]
        state[X] = x + self.prior_noise * normal(random)
        state[Y] = y + self.prior_noise * normal(random)
        state[STEPS] = 0.0
        state[OUTCOME] = Outcome.RUNNING
        state[GUESS_X], state[GUESS_Y] = STARTS[0]
        state[OTHER_X], state[OTHER_Y] = STARTS[1]
        state[TRUST] = TORN
        state[SINCE] = 0.0

    def step(self, context, state, action, random, observation):
        observation[SEEN] = observation[SEEN_X] = observation[SEEN_Y] = 0.0
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0, int(state[OUTCOME])
        reward, outcome = self.move(context, state, action, random)
        if self.near_beacon(context, state[X], state[Y], self.beacon_range):
            observation[SEEN] = 1.0
            observation[SEEN_X] = state[X] + self.observation_noise * normal(random)
            observation[SEEN_Y] = state[Y] + self.observation_noise * normal(random)
        self.reckon(context, state, action, observation)
        return reward, outcome

    def condition(self, context, state, action, random, observation, imagined):
        """The robot reckons with what it has really seen."""
        if state[OUTCOME] != Outcome.RUNNING:
            return -math.inf, 0.0, int(state[OUTCOME])
        reward, outcome = self.move(context, state, action, random)
        value = self.log_likelihood(context, state, action, observation) if outcome == Outcome.RUNNING else -math.inf
        self.reckon(context, state, action, observation)
        return value, reward, outcome

    def move(self, context, state, action, random):
        """Move the robot, if nothing holds it up, and see how the episode stands: reward and outcome."""
        x = state[X] + self.speed * action[0] + self.motion_noise * normal(random)
        y = state[Y] + self.speed * action[1] + self.motion_noise * normal(random)
        if not holds_up(self.walls, x, y, self.radius):
            state[X], state[Y] = x, y
        state[STEPS] += 1.0
        reward, outcome = self.step_reward, Outcome.RUNNING
        if (state[X] - context[GOAL_X]) ** 2 + (state[Y] - context[GOAL_Y]) ** 2 <= self.goal_radius**2:
            reward, outcome = self.goal_reward, Outcome.SUCCESS
        elif state[STEPS] >= self.max_steps or touches(self.dangers, state[X], state[Y], self.radius):
            reward, outcome = self.failure_reward, Outcome.FAILURE
        state[OUTCOME] = outcome
        return reward, outcome

    def near_beacon(self, context, x, y, reach):
        """Whether a beacon is so near."""
        for i in range(BEACONS, BEACONS + 2 * BEACON_COUNT, 2):
            if (x - context[i]) ** 2 + (y - context[i + 1]) ** 2 <= reach**2:
                return True
        return False

    def reckon(self, context, state, action, observation):
        """Note what follows from an action and what was seen after it: where the robot may be now."""
        if observation[SEEN] == 1.0:
            state[GUESS_X], state[GUESS_Y] = observation[SEEN_X], observation[SEEN_Y]
            state[TRUST] = SURE
            state[SINCE] = 0.0
            return
        state[SINCE] += 1.0
        self.go_by_guess(state, GUESS_X, action)
        if state[TRUST] == TORN:
            self.go_by_guess(state, OTHER_X, action)
        x, y = state[GUESS_X], state[GUESS_Y]
        if state[TRUST] == SURE and (x - context[GOAL_X]) ** 2 + (y - context[GOAL_Y]) ** 2 <= AT_GOAL**2:
            state[TRUST] = LOST
        elif self.near_beacon(context, x, y, AT_BEACON):
            state[SINCE] = 0.0
            if state[TRUST] == LOST:
                state[TRUST] = SURE  # for want of something better
            elif state[TRUST] == TORN:
                state[GUESS_X], state[GUESS_Y] = state[OTHER_X], state[OTHER_Y]
                state[OTHER_X], state[OTHER_Y] = x, y

    def go_by_guess(self, state, guess, action):
        """Move a guess as the robot would move without noise."""
        x, y = state[guess] + self.speed * action[0], state[guess + 1] + self.speed * action[1]
        if not holds_up(self.walls, x, y, self.radius):
            state[guess], state[guess + 1] = x, y

    def log_likelihood(self, context, state, action, observation):
        near = self.near_beacon(context, state[X], state[Y], self.beacon_range)
        if near != (observation[SEEN] == 1.0):
            return -math.inf
        if not near:
            return 0.0
        square = (observation[SEEN_X] - state[X]) ** 2 + (observation[SEEN_Y] - state[Y]) ** 2
        return -0.5 * square / self.observation_noise**2 - 2.0 * math.log(self.observation_noise) - LOG_TWO_PI

    def observation_key(self, observation):
        if observation[SEEN] == 0.0:
            return 0
        column = math.floor(observation[SEEN_X] / self.key_cell)
        row = math.floor(observation[SEEN_Y] / self.key_cell)
        return 1 + 2 * (column * 1_000_003 + row)

    # ---------------------------------------------------------------------------------------------------------- the way

    def upper_bound(self, context, state):
        """The shortest way to the goal around walls and danger zones, faster than noise can make it."""
        if state[OUTCOME] != Outcome.RUNNING:
            return 0.0
        step = FASTEST * self.speed
        moves = max(1.0, (self.way(context, state) - self.goal_radius) / step)
        moving_for_ever = self.step_reward / (1.0 - self.discount)
        moves_left = self.max_steps - state[STEPS]
        if moves <= moves_left + LUCK * self.motion_noise / step * math.sqrt(moves_left):
            return moving_for_ever + exponential((moves - 1.0) * self.log_discount) * (
                self.goal_reward - moving_for_ever
            )
        at_the_end = exponential((moves_left - 1.0) * self.log_discount) * (self.failure_reward - moving_for_ever)
        return max(self.failure_reward, moving_for_ever + at_the_end)  # too late: the failure can only be put off

    def value_beyond(self, context, state):
        """Part of the bound. Without it, a search that does not see the goal would wander about."""
        return self.value_trust * max(0.0, self.upper_bound(context, state))

    def way(self, context, state):
        """How far it is to the goal."""
        return length_of_way(self.obstacles, self.ways, state[X], state[Y], context[GOAL_X], context[GOAL_Y])

    def guide(self, context, state, macro_actions, lengths):
        """By dead reckoning to the goal, far from danger; to the nearest beacon while that cannot be trusted."""
        x, y, to_x, to_y = state[GUESS_X], state[GUESS_Y], context[GOAL_X], context[GOAL_Y]
        nearest = self.nearest_beacon(context, x, y)
        near = (x - context[nearest]) ** 2 + (y - context[nearest + 1]) ** 2 <= SIDE_TRIP**2
        if state[TRUST] != SURE or (state[SINCE] > LONG and near):
            to_x, to_y = context[nearest], context[nearest + 1]
            for i in range(len(self.dangers)):
                if touches(self.dangers[i : i + 1], to_x, to_y, self.radius + WARY):
                    to_x += math.copysign(1.0, 2.0 * to_x - self.dangers[i, 0] - self.dangers[i, 2])
        to_x, to_y = next_point(self.far_obstacles, self.far_ways, self.far_corners, self.far_points, x, y, to_x, to_y)
        best, shortest = 0, math.inf
        for i in range(len(lengths)):
            move_x = move_y = 0.0
            for j in range(lengths[i]):
                move_x, move_y = move_x + macro_actions[i, j, 0], move_y + macro_actions[i, j, 1]
            off_x, off_y = x + self.speed * move_x - to_x, y + self.speed * move_y - to_y
            if math.sqrt(off_x * off_x + off_y * off_y) + DETOUR * self.speed * lengths[i] < shortest:
                length = self.way_by(macro_actions[i], lengths[i], x, y, to_x, to_y)
                if length < shortest:
                    best, shortest = i, length
        return best

    def way_by(self, macro_action, length, x, y, to_x, to_y):
        """How far a point will be after a macro-action, and what that costs; more, if walls or dangers are near."""
        cost = DETOUR * self.speed * length
        for j in range(length):
            next_x, next_y = x + self.speed * macro_action[j, 0], y + self.speed * macro_action[j, 1]
            if touches(self.dangers, next_x, next_y, WARY * self.radius):
                cost += self.speed
            if holds_up(self.walls, next_x, next_y, self.radius):
                cost += self.speed
            else:
                x, y = next_x, next_y
                if touches(self.walls, x, y, NEAR_WALL * self.radius):
                    cost += SCRAPE * self.speed
        return math.sqrt((x - to_x) ** 2 + (y - to_y) ** 2) + cost

    def nearest_beacon(self, context, x, y):
        """Where in the context the nearest beacon is."""
        nearest, square = BEACONS, math.inf
        for i in range(BEACONS, BEACONS + 2 * BEACON_COUNT, 2):
            distance = (x - context[i]) ** 2 + (y - context[i + 1]) ** 2
            if distance < square:
                nearest, square = i, distance
        return nearest

    def draw_action(self, actions, random, action):
        action[0], action[1] = direction(uniform(random))

    def actions(self) -> np.ndarray:
        return compass(8)

    def macro_space(self, length: int) -> BezierSpace:
        return BezierSpace(length)

    def plan_seconds(self, length: int) -> float:
        return 0.3

    # ----------------------------------------------------------------------------------------------------- the networks

    def particle_features(self, context, state, features):
        """The robot in the building, the goal and the nearest beacon as seen from it, the way to the goal, the time."""
        nearest = self.nearest_beacon(context, state[X], state[Y])
        features[0] = state[X] / EDGE
        features[1] = state[Y] / EDGE
        features[2] = (context[GOAL_X] - state[X]) / EDGE
        features[3] = (context[GOAL_Y] - state[Y]) / EDGE
        features[4] = (context[nearest] - state[X]) / EDGE
        features[5] = (context[nearest + 1] - state[Y]) / EDGE
        features[6] = self.way(context, state) / EDGE
        features[7] = state[STEPS] / self.max_steps

    def context_features(self, context, features):
        """The goal, and which places have a beacon."""
        features[0] = context[GOAL_X] / EDGE
        features[1] = context[GOAL_Y] / EDGE
        for place in range(len(PLACES)):
            features[2 + place] = 0.0
            for i in range(BEACONS, BEACONS + 2 * BEACON_COUNT, 2):
                if abs(context[i] - PLACES[place][0]) + abs(context[i + 1] - PLACES[place][1]) < self.beacon_range:
                    features[2 + place] = 1.0

    # -------------------------------------------------------------------------------------------------- what people see

    def state_distance(self, state, other):
        return math.hypot(state[X] - other[X], state[Y] - other[Y])

    def statistics(self, context: np.ndarray, states: np.ndarray) -> dict[str, float | np.ndarray]:
        """What the return is if running out of steps costs nothing, and how often episodes end so, or in danger."""
        steps, outcome = float(states[-1, STEPS]), states[-1, OUTCOME]
        late, failed = steps >= self.max_steps, outcome == Outcome.FAILURE
        last = self.goal_reward if outcome == Outcome.SUCCESS else self.failure_reward if not late else self.step_reward
        if outcome == Outcome.RUNNING:
            last = self.step_reward
        return {
            "return_but_for_running_late": self.step_reward * (steps - 1.0) + last,
            "late_rate": float(failed and late),
            "danger_rate": float(failed and not late),
        }

    def scene(self, context: np.ndarray) -> Scene:
        beacons = context[BEACONS:].reshape(-1, 2)
        return Scene(
            view=(-EDGE, -EDGE, EDGE, EDGE),
            shapes=(
                *(rectangle(*wall, "obstacle") for wall in WALLS),
                *(rectangle(*danger, "danger") for danger in DANGERS),
                *(Circle(x, y, self.beacon_range, "light") for x, y in beacons),
                Circle(context[GOAL_X], context[GOAL_Y], self.goal_radius, "goal", filled=False),
            ),
            robot=(X, Y),
            particles=(Track(X, Y),),
            trails=(Track(X, Y, "path"),),
            handles=(
                Handle("goal", GOAL_X, GOAL_Y, radius=self.goal_radius),
                *(
                    Handle(f"beacon {i + 1}", BEACONS + 2 * i, BEACONS + 2 * i + 1, radius=self.beacon_range)
                    for i in range(len(beacons))
                ),
                Handle("robot", X, Y, "hidden", self.radius),
            ),
        )

    def sprites(self, context: np.ndarray, state: np.ndarray, particles: np.ndarray) -> tuple[Shape, ...]:
        return (Circle(state[X], state[Y], self.radius, "robot"),)
