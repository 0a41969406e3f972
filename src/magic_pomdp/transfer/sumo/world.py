"""Crowd-Driving in SUMO: its drivers, a car with tyres, and what a car sees of all that."""

import math
from collections import Counter, deque

import numpy as np

from magic_pomdp.core.compiling import kernel
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import new_stream, stream_key
from magic_pomdp.core.views import borrow
from magic_pomdp.running.world import BEGINNING, HAPPENING, Beginning, Happening, draw_beginning
from magic_pomdp.tasks.crowd_driving.car import DURATION, MOST_STEER, STEER, WHEEL_BASE
from magic_pomdp.tasks.crowd_driving.gamma import CAR, COS, SIN, SPEED, X, Y
from magic_pomdp.tasks.crowd_driving.layout import ARC, CARS_FROM, SEEN, TRACK
from magic_pomdp.tasks.crowd_driving.roads import draw_lane
from magic_pomdp.tasks.crowd_driving.task import SLOW, CrowdDriving
from magic_pomdp.transfer.sumo.crowd import TICK, Car, Crowd
from magic_pomdp.transfer.sumo.ego_car import EgoCar
from magic_pomdp.transfer.sumo.entry import SumoSettings

PLACE_NOISE, HEADING_NOISE, SPEED_NOISE, WHEELS_NOISE = 0.05, 0.01, 0.05, 0.005
"""Standard deviations of what is seen of every car; its own wheels' angle the robot measures."""
_ROLLING = 1.0
"""Of a slower car one does not see how it steers."""
_LATE = 3
"""Ticks by which a late observation is late: 0.3 s."""


class SumoWorld:
    """The junction in SUMO. Context, rewards and outcomes are the task's own; they are judged by the truth."""

    def __init__(self, task: CrowdDriving, settings: SumoSettings) -> None:
        self.task, self.settings = task, settings
        self.state = np.zeros(task.state_size)
        self.context = np.zeros(task.context_size)
        self.faults: Counter[str] = Counter()
        """What has gone wrong in this episode, by its name, and how often."""
        self._crowd = Crowd(task.road_map(), task.map, settings.cars_per_second)
        self._car = EgoCar(0.0, 0.0, 0.0)
        self._random = np.random.default_rng(0)
        self._luck = np.zeros(1, np.uint64)
        self._slots: list[str] = []
        self._views: deque[tuple[np.ndarray, list[str]]] = deque(maxlen=_LATE + 1)
        self._seen = np.zeros((task.cars + 1, SEEN))
        self._seen_names: list[str] = []

    def begin(self, seed: int, episode: int) -> Beginning:
        """The robot's start and path are those of the task's own simulator; the other cars are SUMO's."""
        task = self.task
        self.context, _ = draw_beginning(task, new_stream(seed, episode, BEGINNING))
        cars = self.context[CARS_FROM : task.path_from()].reshape(-1, CAR)
        x, y, heading = cars[0, X], cars[0, Y], math.atan2(cars[0, SIN], cars[0, COS])
        luck = int(stream_key(seed, episode, HAPPENING))
        self._random, self._luck[0] = np.random.default_rng(luck), luck
        self.faults = Counter({name: 0 for name in ("vanish", "late") if getattr(self.settings, name) > 0.0})
        self._car = EgoCar(x, y, heading)
        self._crowd.begin(luck, x, y, heading)
        self._slots, self._seen_names = [""] * task.cars, [""] * task.cars
        self.state[:] = 0.0
        self.state[-1] = Outcome.RUNNING
        self._look()
        self._views.clear()
        self._views.append((self._truth(), list(self._slots)))
        seen = self._see(0)
        cars[1:, :SEEN] = seen[1:]
        _locate(task, cars, self._luck)
        _locate(task, self._cars(), self._luck)
        return Beginning(self.context.copy())

    def act(self, action: np.ndarray) -> Happening:
        """Drive for a step."""
        slow = self.state[SPEED] < SLOW
        if self.settings.vanish > 0.0 and self._random.random() < self.settings.vanish:
            self.faults["vanish"] += 1
            self._crowd.remove(min(self._crowd.cars(), key=self._distance).name)
        for _ in range(round(DURATION / TICK)):
            self._car.drive(float(action[0]), float(action[1]), TICK)
            self._crowd.move(self._car.x, self._car.y, self._car.heading, self._car.speed)
            self._look()
            self._views.append((self._truth(), list(self._slots)))
        if self.task.steering_delay > 0.0:
            self.state[-2] = action[1]
        _locate(self.task, self._cars(), self._luck)
        reward, outcome = _judge(self.task, self.context, self.state, slow)
        late = self.settings.late > 0.0 and self._random.random() < self.settings.late
        if late:
            self.faults["late"] += 1
        seen = self._see(_LATE if late else 0)
        return Happening(seen.ravel().copy(), float(reward), Outcome(outcome))

    def _look(self) -> None:
        """Put all cars that count, the nearest, into the state. A car keeps its slot as long as it is among them."""
        near = {car.name: car for car in sorted(self._crowd.cars(), key=self._distance)[: self.task.cars]}
        newcomers = [name for name in near if name not in self._slots]
        cars = self._cars()
        own = self._car
        cars[0, : STEER + 1] = own.x, own.y, math.cos(own.heading), math.sin(own.heading), own.speed, own.wheels
        for slot, name in enumerate(self._slots):
            if name not in near:
                name = self._slots[slot] = newcomers.pop(0) if newcomers else ""
                cars[slot + 1, X] = math.nan
            if name:
                _note(cars[slot + 1], near[name])
            else:
                self._nobody(cars[slot + 1])

    def _distance(self, car: Car) -> float:
        return math.hypot(car.x - self._car.x, car.y - self._car.y)

    def _nobody(self, car: np.ndarray) -> None:
        """Where there are fewer cars than the task has: one that stands at the farthest end of all roads."""
        lanes = [lane for lane in self.task.road_map().network.lanes if not lane.links]
        end = max((lane.middle[-2:] for lane in lanes), key=lambda ends: math.dist(ends[1], (self._car.x, self._car.y)))
        along = (end[1] - end[0]) / math.dist(*end)
        car[: STEER + 1] = *(end[1] - 10.0 * along), *along, 0.0, 0.0

    def _truth(self) -> np.ndarray:
        """What could be seen now without noise; shape (cars + 1, SEEN)."""
        return self._cars()[:, :SEEN].copy()

    def _see(self, ticks_ago: int) -> np.ndarray:
        """What is seen of a moment, with noise."""
        truth, names = self._views[max(0, len(self._views) - 1 - ticks_ago)]
        seen, before = truth.copy(), self._seen
        seen[:, [X, Y]] += self._random.normal(0.0, PLACE_NOISE, (len(seen), 2))
        heading = np.arctan2(truth[:, SIN], truth[:, COS]) + self._random.normal(0.0, HEADING_NOISE, len(seen))
        seen[:, COS], seen[:, SIN] = np.cos(heading), np.sin(heading)
        seen[:, SPEED] += self._random.normal(0.0, SPEED_NOISE, len(seen))
        seen[0, STEER] += self._random.normal(0.0, WHEELS_NOISE)
        for i in range(1, len(seen)):  # others' wheels are hidden: how they steer shows in how they turn
            seen[i, STEER] = 0.0
            if names[i - 1] == self._seen_names[i - 1] and seen[i, SPEED] > _ROLLING:
                turned = math.atan2(
                    before[i, COS] * seen[i, SIN] - before[i, SIN] * seen[i, COS],
                    before[i, COS] * seen[i, COS] + before[i, SIN] * seen[i, SIN],
                )
                steer = math.atan(WHEEL_BASE * turned / (seen[i, SPEED] * DURATION))
                seen[i, STEER] = min(MOST_STEER, max(-MOST_STEER, steer))
        self._seen, self._seen_names = seen, names
        return seen

    def _cars(self) -> np.ndarray:
        """The cars of the state; shape (cars + 1, CAR)."""
        return self.state[: CAR * (self.task.cars + 1)].reshape(-1, CAR)


@kernel
def _locate(task, cars, random):
    """Where other cars have their intentions, note lanes that they may be on: SUMO's routes are not of this kind."""
    cars, random = borrow((cars, random), task)
    for i in range(1, len(cars)):
        cars[i, TRACK], cars[i, ARC] = draw_lane(
            task.roads(), task.lanes, cars[i, X], cars[i, Y], cars[i, COS], cars[i, SIN], random
        )


@kernel
def _judge(task, context, state, slow):
    """Reward and outcome of the true state, by the task's rules."""
    context, state = borrow((context, state), task)
    return task.judge(task.roads(), context, state, slow)


def _note(place: np.ndarray, car: Car) -> None:
    place[X], place[Y], place[COS], place[SIN] = car.x, car.y, math.cos(car.heading), math.sin(car.heading)
    place[SPEED], place[STEER] = car.speed, 0.0
