"""Crowd-Driving: cross a busy junction without traffic lights, fast and unharmed.

The robot's car follows a path through the junction among other cars that drive by GAMMA. It sees where everybody is and
how fast, but not where they want to go.

In the default variant every other car draws its whole route when it starts; the belief begins with all routes that fit
the lane it is on. The variant `reference` behaves as the published program does, oddities included, so that scores
compare: the belief begins with the true intentions, and other cars choose a branch as they pass it.
"""

import dataclasses
import math

import numpy as np

from magic_pomdp.core.compiling import not_inlined
from magic_pomdp.core.hints import KEYS
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import integer, uniform
from magic_pomdp.core.scene import Scene, Shape
from magic_pomdp.macros.spaces import HeldActionSpace
from magic_pomdp.tasks.crowd_driving.advice import ADVICE, SEARCH_DEPTH
from magic_pomdp.tasks.crowd_driving.car import (
    CLEAR,
    DURATION,
    MOST_STEER,
    STEER,
    bodies_touch,
    corner,
)
from magic_pomdp.tasks.crowd_driving.drawing import crowd_scene, crowd_sprites
from magic_pomdp.tasks.crowd_driving.driver import (
    go_along,
    pick_macro_action,
    safe_speed,
    speed_for_road,
    steps_to_drive,
)
from magic_pomdp.tasks.crowd_driving.features import (
    CAR_FEATURES,
    CONTEXT_POINTS,
    INTENT,
    OWN_FEATURES,
    fill_others,
    fill_own,
    fill_path,
    fill_whole_path,
)
from magic_pomdp.tasks.crowd_driving.gamma import CAR, COS, SIN, SPEED, X, Y
from magic_pomdp.tasks.crowd_driving.layout import ARC, AREA, CARS_FROM, PROGRESS, ROAD_END, SEEN, STEPS, TRACK
from magic_pomdp.tasks.crowd_driving.macro_sets import HANDCRAFTED, TOP_SPEED, held_actions, turn_and_go
from magic_pomdp.tasks.crowd_driving.own_car import OwnCar
from magic_pomdp.tasks.crowd_driving.path import POINT, lay_path, leaves_areas, points_passed
from magic_pomdp.tasks.crowd_driving.roads import FIRST_ENTRY, JUNCTION, draw_place, inside, place_on
from magic_pomdp.tasks.crowd_driving.traffic import DRAWS

SLOW = 3.0
"""A robot slower than this stalls traffic."""
LOOK, LOOK_TIME = 4.0, 0.5
"""A driver steers for the point of the path so many metres, and so many seconds at the present speed, ahead."""
SHORTCUT = 1.1
"""The robot may come on faster than it drives, where it cuts a bend of the path."""
ROUND_THE_END = 5.0
"""Beside its path, the robot may find so many metres more of road than on it."""
NEARLY = 0.9
"""To run out of road after a search's last step costs at most this share of a failure."""


class CrowdDriving(OwnCar):
    """Metres, seconds, radians. An action is the speed to go for and the steering angle."""

    name = "crowd-driving"
    action_size = 2
    concurrent = True
    advice = ADVICE

    max_steps: int = 150
    """An episode that lasts so long has succeeded."""
    failure_reward: float = -100.0
    """For a collision, for leaving the road, and for facing backwards."""
    progress_reward: float = 1.0
    """For every metre along the path."""
    slow_reward: float = -100.0 * (1.0 - 0.98) / (1.0 - 0.98**40)
    """For every step that begins slower than 3 m/s: over a search's depth as bad as a failure."""
    key_cell: float = 10.0
    """Observations share a branch of the search if all cars near the robot are in the same cells of this side, of which
    the robot is in the middle of one. With 0, all observations share one."""
    key_range: float = 12.0
    """How near."""
    reference_keys: bool = False
    """Group observations as the published program does: nearly every scenario is alone, and the search plans with
    hindsight."""
    path_points: int = dataclasses.field(init=False, default=0, repr=False)
    """Points of the path."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("key_cell", "key_range"):
            if getattr(self, name) < 0.0:
                raise ValueError(f"Crowd-Driving's {name} must not be negative, but is {getattr(self, name)}.")
        if self.failure_reward > 0.0 or self.slow_reward > 0.0 or self.progress_reward < 0.0:
            raise ValueError("Crowd-Driving's failure_reward and slow_reward punish, and its progress_reward rewards.")
        if self.discount == 1.0:
            raise ValueError("Crowd-Driving's discount must be below 1.")
        longest = 150.0 if self.reference else 5.0 + TOP_SPEED * DURATION * self.max_steps
        object.__setattr__(self, "path_points", int(longest / POINT))

    # -------------------------------------------------------------------------------------------------- how large it is

    @property
    def observation_size(self) -> int:  # type: ignore[override]
        return SEEN * (self.cars + 1)

    @property
    def context_size(self) -> int:  # type: ignore[override]
        return CARS_FROM + CAR * (self.cars + 1) + 2 * self.path_points

    @property
    def particle_features_size(self) -> int:
        return OWN_FEATURES + CAR_FEATURES * self.cars

    @property
    def particle_members(self) -> tuple[int, int]:
        return self.cars, CAR_FEATURES

    @property
    def context_features_size(self) -> int:
        return 2 * CONTEXT_POINTS

    # ------------------------------------------------------------------------------------------------------ the start

    @not_inlined
    def draw_context(self, random, context):
        """Where everybody starts, and the robot's path."""
        roads = self.roads()
        cars = context[CARS_FROM : self.path_from()]
        for _ in range(DRAWS):  # the last draw is kept in any case: the path of a short episode has no exit
            exit = self.draw_path(roads, random, context)
            if exit and (self.reference or not self.leaves(roads, context, cars)):
                break
        for i in range(1, self.cars + 1):
            self.place_car(roads, cars, i, random)

    def draw_path(self, roads, random, context):
        """The robot's start at an entry, and from there a random way through the junction. Whether it has an exit."""
        first, entry = self.path_from(), integer(random, self.entries)
        lane, arc = draw_place(roads, entry, random)
        exit = lay_path(roads, lane, arc, random, context[first:])
        context[AREA] = (1 << JUNCTION) | (1 << (FIRST_ENTRY + entry)) | exit
        context[ROAD_END] = leaves_areas(roads, context[first:], int(context[AREA]))
        along_x, along_y = context[first + 2] - context[first], context[first + 3] - context[first + 1]
        length = math.sqrt(along_x * along_x + along_y * along_y)
        cars = context[CARS_FROM:first]
        cars[X], cars[Y], cars[COS], cars[SIN] = context[first], context[first + 1], along_x / length, along_y / length
        cars[SPEED] = cars[STEER] = cars[PROGRESS] = cars[STEPS] = 0.0
        return exit != 0

    def draw_state(self, context, random, state):
        """Everybody where the context has them. In the default variant, with routes that fit."""
        end = CAR * (self.cars + 1)
        for k in range(end):
            state[k] = context[CARS_FROM + k]
        state[end] = state[STEER]  # what is wanted of the wheels, where they take time
        state[len(state) - 1] = Outcome.RUNNING
        if self.surprise > 0.0:
            self.draw_intentions(self.roads(), state, random)
        elif not self.reference:
            roads = self.roads()
            for car in range(CAR, end, CAR):
                state[car + TRACK] = self.draw_route(roads, int(state[car + TRACK]), state[car + ARC], random)

    # ------------------------------------------------------------------------------------------------------- the step

    @not_inlined
    def step(self, context, state, action, random, observation):
        if state[len(state) - 1] != Outcome.RUNNING:
            observation[:] = 0.0
            return 0.0, int(state[len(state) - 1])
        reward, outcome = self.step_unobserved(context, state, action, random, observation)
        for i in range(self.cars + 1):
            for k in range(SEEN):
                observation[SEEN * i + k] = state[CAR * i + k]
        return reward, outcome

    @not_inlined
    def step_unobserved(self, context, state, action, random, unseen):
        outcome = int(state[len(state) - 1])
        if outcome != Outcome.RUNNING:
            return 0.0, outcome
        roads, slow = self.roads(), state[SPEED] < SLOW
        place = self.look_back(state, random)
        self.give_orders(roads, state, place)
        self.move_robot(state, action, random)
        self.move_traffic(roads, state, random, place)
        return self.judge(roads, context, state, slow)

    @not_inlined
    def condition(self, context, state, action, random, observation, imagined):
        """All that is seen becomes as it was seen; the intentions go on from what they were."""
        outcome = int(state[len(state) - 1])
        if outcome != Outcome.RUNNING:
            return -math.inf, 0.0, outcome
        roads, slow = self.roads(), state[SPEED] < SLOW
        self.give_orders_to_all(roads, state)
        value = self.robot_density(state, action, observation)
        for k in range(SEEN):
            state[k] = observation[k]
        value += self.see_traffic(roads, state, random, observation)
        reward, outcome = self.judge(roads, context, state, slow)
        if self.surprise > 0.0 and outcome == Outcome.FAILURE:  # it looks like that, but what was seen goes on
            reward = 0.0
            state[len(state) - 1] = outcome = Outcome.RUNNING
        return value, reward, outcome

    def log_likelihood(self, context, state, action, observation):
        """What is seen is certain."""
        for i in range(self.cars + 1):
            for k in range(SEEN):
                if observation[SEEN * i + k] != state[CAR * i + k]:
                    return -math.inf
        return 0.0

    @not_inlined
    def judge(self, roads, context, state, slow):
        """Count the progress, and see how the episode stands: reward and outcome."""
        before = int(state[PROGRESS])
        passed = points_passed(context[self.path_from() :], before, self.path_points - 2, state[X], state[Y])
        state[PROGRESS] = passed
        state[STEPS] += 1.0
        outcome = Outcome.RUNNING
        if self.collides(state) or self.leaves(roads, context, state) or self.faces_backwards(context, state):
            outcome = Outcome.FAILURE
        elif state[STEPS] >= self.max_steps:
            outcome = Outcome.SUCCESS
        state[len(state) - 1] = outcome
        if outcome == Outcome.FAILURE:
            return self.failure_reward, outcome
        return self.progress_reward * POINT * (passed - before) + (self.slow_reward if slow else 0.0), outcome

    def collides(self, state):
        """Whether the robot touches another car."""
        for i in range(1, self.cars + 1):
            dx, dy = state[CAR * i + X] - state[X], state[CAR * i + Y] - state[Y]
            if dx * dx + dy * dy < CLEAR and bodies_touch(state, 0, CAR * i, self.reference):
                return True
        return False

    def leaves(self, roads, context, cars):
        """Whether a corner of the robot is off the road."""
        mask = int(context[AREA])
        for k in range(4):
            x, y = corner(cars, 0, k)
            if not inside(roads, x, y, mask):
                return True
        return False

    def faces_backwards(self, context, state):
        """Whether the robot has turned away from the direction of its path."""
        at = self.path_from() + 2 * int(state[PROGRESS])
        along_x, along_y = context[at + 2] - context[at], context[at + 3] - context[at + 1]
        return state[COS] * along_x + state[SIN] * along_y < 0.0

    def path_from(self):
        """Where in the context the path begins."""
        return CARS_FROM + CAR * (self.cars + 1)

    # ------------------------------------------------------------------------------------------------------ the search

    def observation_key(self, observation):
        key = 0
        if self.reference_keys:
            for i in range(len(observation)):
                cell = 0.2 if i % SEEN >= SPEED else 1.0
                key = (1_000_003 * key + math.floor(observation[i] / cell)) % KEYS
        elif self.key_cell > 0.0:
            for car in range(SEEN, len(observation), SEEN):
                x, y = observation[car + X] - observation[X], observation[car + Y] - observation[Y]
                if abs(x) < self.key_range and abs(y) < self.key_range:
                    cell = 4096 * math.floor(x / self.key_cell + 0.5) + math.floor(y / self.key_cell + 0.5)
                    key = (1_000_003 * key + 131 * car + cell) % KEYS
        return key

    def upper_bound(self, context, state):
        return self.bound_within(context, state, self.max_steps)

    def bound_within(self, context, state, steps):
        """Full speed ahead, as if the road were empty."""
        if state[len(state) - 1] != Outcome.RUNNING:
            return 0.0
        steps, speed = min(steps, self.max_steps - int(state[STEPS])), max(0.0, state[SPEED])
        total, weight = 0.0, 1.0
        while steps > 0 and speed < TOP_SPEED:
            faster = min(TOP_SPEED, speed + self.acceleration * DURATION)
            total += weight * self.progress_reward * SHORTCUT * 0.5 * (speed + faster) * DURATION
            if speed < SLOW - 0.3:  # a little less slow, and chance may help
                total += weight * self.slow_reward
            weight *= self.discount
            speed = faster
            steps -= 1
        rest = (1.0 - self.discount**steps) / (1.0 - self.discount)
        total += weight * rest * self.progress_reward * SHORTCUT * TOP_SPEED * DURATION
        left = min(context[ROAD_END] + ROUND_THE_END / POINT, self.path_points - 2) - state[PROGRESS]
        return min(total, self.progress_reward * POINT * max(0.0, left))

    def value_beyond(self, context, state):
        """Where the road ends before the episode does: steps of stalling, or nearly a failure. A search of the task's
        own depth does not discount them, for they will count in full, and the road that they lack is used up now."""
        steps = self.max_steps - state[STEPS]
        lasting = steps_to_drive(POINT * (context[ROAD_END] - state[PROGRESS]), SLOW)
        stalling = max(NEARLY * self.failure_reward, self.slow_reward * max(0.0, steps - lasting))
        return stalling / self.discount**SEARCH_DEPTH

    @not_inlined
    def drive(self, context, state):
        """Speed and steering of a driver who looks only at what is seen: along the path, as fast as it can stop behind
        whoever is in the way, and where the road ends before the episode does, no faster than to use it up."""
        first, point = self.path_from(), int(state[PROGRESS])
        ahead = int((LOOK + LOOK_TIME * max(0.0, state[SPEED])) / POINT)
        at = first + 2 * min(point + ahead, self.path_points - 1)
        steer = go_along(state, context[at], context[at + 1])
        speed = min(TOP_SPEED, safe_speed(state, self.cars, steer, self.acceleration))
        road = POINT * (context[ROAD_END] - point)
        speed = min(speed, speed_for_road(road, DURATION * (self.max_steps - state[STEPS]), SLOW, self.acceleration))
        return speed, steer

    @not_inlined
    def guide(self, context, state, macro_actions, lengths):
        speed, steer = self.drive(context, state)
        return pick_macro_action(state[SPEED], speed, steer, SLOW, self.acceleration, macro_actions, lengths)

    def rollout_action(self, context, state, actions, random, action):
        action[0], action[1] = self.drive(context, state)

    def draw_action(self, actions, random, action):
        action[0] = TOP_SPEED * uniform(random)
        action[1] = MOST_STEER * (2.0 * uniform(random) - 1.0)

    def actions(self) -> np.ndarray:
        return np.array(HANDCRAFTED)

    def macro_actions(self, length: int) -> MacroActions:
        return turn_and_go(length)

    def macro_space(self, length: int) -> HeldActionSpace:
        return held_actions(length)

    def plan_seconds(self, length: int) -> float:
        """While a macro-action is carried out, less 0.1 s for the belief."""
        return round(DURATION * length - 0.1, 3)

    def steps_without_plan(self, length: int) -> int:
        """One; with `reference` a whole macro-action, as in the published program."""
        return length if self.reference else 1

    def statistics(self, context: np.ndarray, states: np.ndarray) -> dict[str, float | np.ndarray]:
        """Metres along the path, which steps ended slower than 3 m/s, and what a failure was."""
        last = states[-1]
        failed = last[-1] == Outcome.FAILURE
        collided = failed and self.collides(last)
        left = failed and not collided and self.leaves(self.roads(), context, last)
        return {
            "distance": POINT * float(last[PROGRESS]),
            "stall_rate": states[1:, SPEED] < SLOW,
            "collision_rate": float(collided),
            "off_road_rate": float(left),
            "backwards_rate": float(failed and not collided and not left),
        }

    def scene(self, context: np.ndarray) -> Scene:
        path = context[self.path_from() :].reshape(-1, 2)
        return crowd_scene(self.road_map(), int(context[AREA]), path)

    def sprites(self, context: np.ndarray, state: np.ndarray, particles: np.ndarray) -> tuple[Shape, ...]:
        return crowd_sprites(self.road_map().tables, state, particles)

    # ----------------------------------------------------------------------------------------------------- the networks

    @not_inlined
    def particle_features(self, context, state, features):
        """Everything in the robot's frame: itself, the path ahead of it, and the other cars with their intentions."""
        road = POINT * (context[ROAD_END] - state[PROGRESS])
        fill_own(state, state[STEPS] / self.max_steps, road, features)
        fill_path(state, context[self.path_from() :], features)
        fill_others(self.roads(), state, self.cars, features)

    def context_features(self, context, features):
        """The path in the frame of its start."""
        fill_whole_path(context[CARS_FROM:], context[self.path_from() :], features)

    def state_distance(self, state, other):
        """Between the routes that two states give the other cars: metres apart at some distance ahead, on average."""
        roads, total = self.roads(), 0.0
        for i in range(1, self.cars + 1):
            car = CAR * i
            x, y = place_on(roads, int(state[car + TRACK]), state[car + ARC] + INTENT)
            other_x, other_y = place_on(roads, int(other[car + TRACK]), other[car + ARC] + INTENT)
            total += math.sqrt((x - other_x) ** 2 + (y - other_y) ** 2)
        return total / max(1, self.cars)
