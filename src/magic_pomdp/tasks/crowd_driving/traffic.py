"""The other cars of Crowd-Driving: where they start, where they want to go, and how they drive."""

import dataclasses
import math
from typing import Self

import numpy as np

from magic_pomdp.core.compiling import inlined, not_inlined, own_copy
from magic_pomdp.core.randomness import integer, uniform
from magic_pomdp.core.task import Task
from magic_pomdp.core.views import borrow
from magic_pomdp.tasks.crowd_driving import gamma
from magic_pomdp.tasks.crowd_driving.building import RoadMap, load_map
from magic_pomdp.tasks.crowd_driving.car import STEER, log_density, move, steer_towards
from magic_pomdp.tasks.crowd_driving.gamma import CAR, COS, SIN, SPEED, X, Y
from magic_pomdp.tasks.crowd_driving.layout import ARC, SEEN, TRACK
from magic_pomdp.tasks.crowd_driving.moments import (
    AFTER,
    NOWHERE,
    find_moment,
    note_changes,
    room_for_moments,
)
from magic_pomdp.tasks.crowd_driving.neighbours import find_neighbours_of, lay_out
from magic_pomdp.tasks.crowd_driving.roads import (
    FIRST_ROUTE,
    FIRST_SAMPLE,
    LENGTH,
    ROUTES,
    SPAWN,
    RoadTables,
    draw_lane,
    draw_place,
    follow,
    heading_on,
    place_on,
)

AIM_AHEAD = 5.0
"""A car drives towards the route point so far ahead."""
TRAFFIC_SPEED = 4.0
"""Also the preferred speed."""
TRAFFIC_ACCELERATION = 2.0
CLEARANCE = 7.0
"""Cars start no nearer to each other than this, in x or in y."""
DRAWS = 1000
"""Starts that are tried before the clearance is halved."""
HEADED_DRAWS = 10 * DRAWS
"""Starts that are tried before a car may head anywhere: on some maps no lane leads towards the middle."""
PARTED = 0.3
"""Lanes that begin at the same place have parted where they are farther apart than this."""

JUMP = 3.0
"""Who has moved farther than this in a step is another car."""
STEADY_MINDS = 0.75
"""Share of drivers who, as they change their mind, will go on as fast as they are."""
STRAYED = 4.0
"""Who is farther than this from the route that a belief gave him has another one, if there may be surprises."""
ANYHOW = -math.log(4.0 * 4.0 * 1.0 * 8.0)
"""ln of the density of a car that surprises: anywhere within 2 m of where it was expected, 0.5 radians and 4 m/s."""


@inlined
def surprised(density, surprise):
    """ln of a density, if there is a chance that it tells nothing."""
    expected, other = math.log(1.0 - surprise) + density, math.log(surprise) + ANYHOW
    most = max(expected, other)
    return most + math.log(math.exp(expected - most) + math.exp(other - most))


@inlined
def draw_pace(state, car, random):
    """A driver may want to go as fast as he does now, or at full speed."""
    now = min(max(state[car + SPEED] / TRAFFIC_SPEED, 0.001), 1.0) if uniform(random) < STEADY_MINDS else 1.0
    state[car + TRACK] = int(state[car + TRACK]) + (1.0 - now)


class Traffic(Task, abstract=True):
    """What the two variants of Crowd-Driving, and any other task among such cars, have in common. Cars are blocks of
    CAR numbers at the beginning of a state; the first of them is the robot's."""

    cars: int = 15
    """Other cars."""
    variant: str = "default"
    """`default`, or `reference`: as the published program behaves."""
    map: str = ""
    """A SUMO network (.net.xml) to drive in; without one, a junction like Meskel Square."""
    junction: str = ""
    """Which junction of the network the robot crosses, by its id; without one, that with most ways through it."""

    surprise: float = 0.0
    """How likely another driver is to change his mind in a step. With 0 nobody does, as published: all want to go at 4
    m/s, always. With more, he may instead keep the pace that he has, or wait, until he changes his mind again; and a
    belief does not cling to what it took his route for, or to this model where he does what it expects of nobody."""

    reference: bool = dataclasses.field(init=False, default=False, repr=False)
    """Whether the variant is `reference`."""
    lanes: int = dataclasses.field(init=False, default=0, repr=False)
    entries: int = dataclasses.field(init=False, default=0, repr=False)
    """How many there are of each in the map."""
    middle_x: float = dataclasses.field(init=False, default=0.0, repr=False)
    middle_y: float = dataclasses.field(init=False, default=0.0, repr=False)
    """The middle of the box in which other cars start."""
    tracks: np.ndarray = dataclasses.field(init=False, repr=False)
    samples: np.ndarray = dataclasses.field(init=False, repr=False)
    links: np.ndarray = dataclasses.field(init=False, repr=False)
    places: np.ndarray = dataclasses.field(init=False, repr=False)
    area_grid: np.ndarray = dataclasses.field(init=False, repr=False)
    area_cells: np.ndarray = dataclasses.field(init=False, repr=False)
    area_rows: np.ndarray = dataclasses.field(init=False, repr=False)
    area_edges: np.ndarray = dataclasses.field(init=False, repr=False)
    """The roads, as `RoadTables` has them."""
    room: np.ndarray = dataclasses.field(init=False, repr=False, compare=False)
    slots: np.ndarray = dataclasses.field(init=False, repr=False, compare=False)
    affected: np.ndarray = dataclasses.field(init=False, repr=False, compare=False)
    """Room to work in, which holds nothing between two calls: for GAMMA, and who is affected (`moments.py`)."""
    streams: np.ndarray = dataclasses.field(init=False, repr=False, compare=False)
    turns: np.ndarray = dataclasses.field(init=False, repr=False, compare=False)
    moved: np.ndarray = dataclasses.field(init=False, repr=False, compare=False)
    draws: np.ndarray = dataclasses.field(init=False, repr=False, compare=False)
    orders: np.ndarray = dataclasses.field(init=False, repr=False, compare=False)
    """Of the copies with which a search works, its moments, as `Moments` has them; of others, only NOWHERE."""

    def __post_init__(self) -> None:
        if self.cars < 0:
            raise ValueError(f"The number of other cars must not be negative, but is {self.cars}.")
        if not 0.0 <= self.surprise < 1.0:
            raise ValueError(f"Crowd-Driving's surprise must lie in [0, 1), but is {self.surprise}.")
        road_map = load_map(self.map or None, self.variant, self.junction or None)
        object.__setattr__(self, "_road_map", road_map)  # the file may change
        west, south, east, north = road_map.scene.spawn_box
        room, slots = gamma.new_room(self.cars + 1)
        derived = {
            "reference": self.variant == "reference",
            "lanes": len(road_map.network.lanes),
            "entries": road_map.entries,
            "middle_x": 0.5 * (west + east),
            "middle_y": 0.5 * (south + north),
            **road_map.tables._asdict(),
            "room": room,
            "slots": slots,
            "affected": np.zeros(self.cars + 1, np.int64),
        }
        for name, value in (derived | room_for_moments(0, self.cars + 1)._asdict()).items():
            object.__setattr__(self, name, value)
        super().__post_init__()

    def for_search(self, moments: int) -> Self:
        twin = own_copy(self)
        for name, value in room_for_moments(moments, self.cars + 1)._asdict().items():
            object.__setattr__(twin, name, value)
        return twin

    def road_map(self) -> RoadMap:
        """The roads and what is known of them; not for compiled code."""
        found: RoadMap = self._road_map  # type: ignore[attr-defined]  # no parameter, so it is not declared
        return found

    def roads(self):
        """The roads, for their look-ups."""
        return borrow(
            RoadTables(
                self.tracks, self.samples, self.links, self.places, self.area_grid, self.area_cells, self.area_rows,
                self.area_edges,
            ),
            self,
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------------------ the start

    @not_inlined
    def place_car(self, roads, cars, i, random):
        """Fill the i-th of some cars: standing somewhere on a lane, clear of those before it, headed for the middle."""
        clearance, draws, clear = CLEARANCE, 0, False
        lane, arc, x, y, cos, sin = 0, 0.0, 0.0, 0.0, 1.0, 0.0
        while not clear:
            draws += 1
            if draws % DRAWS == 0:
                clearance *= 0.5
            lane, arc = draw_place(roads, SPAWN, random)
            x, y = place_on(roads, lane, arc)
            cos, sin = heading_on(roads, lane, arc)
            headed = cos * (self.middle_x - x) + sin * (self.middle_y - y) >= 0.0
            clear = headed or draws > HEADED_DRAWS
            for j in range(i if clear else 0):
                clear = clear and max(abs(cars[CAR * j + X] - x), abs(cars[CAR * j + Y] - y)) > clearance
        car = CAR * i
        cars[car + X], cars[car + Y], cars[car + COS], cars[car + SIN] = x, y, cos, sin
        cars[car + SPEED] = cars[car + STEER] = 0.0
        cars[car + TRACK], cars[car + ARC] = lane, arc

    @not_inlined
    def draw_route(self, roads, lane, arc, random):
        """A route that fits a car at an arc length of a lane. Where lanes have not parted yet, of any of them."""
        x, y = place_on(roads, lane, arc)
        start = int(roads.tracks[lane, FIRST_SAMPLE])
        chosen, fitting = lane, 0
        for other in range(self.lanes):
            row = int(roads.tracks[other, FIRST_SAMPLE])
            gap = abs(roads.samples[row, 0] - roads.samples[start, 0]) + abs(
                roads.samples[row, 1] - roads.samples[start, 1]
            )
            if gap < PARTED and arc <= roads.tracks[other, LENGTH]:
                other_x, other_y = place_on(roads, other, arc)
                if abs(other_x - x) + abs(other_y - y) < PARTED:
                    routes = int(roads.tracks[other, ROUTES])
                    fitting += routes
                    if uniform(random) * fitting < routes:
                        chosen = int(roads.tracks[other, FIRST_ROUTE]) + integer(random, routes)
        return chosen

    # ------------------------------------------------------------------------------------------------------- the step

    @not_inlined
    def look_back(self, state, random):
        """The place of the moment that begins here; afterwards, who will not do what is kept there is affected."""
        count, affected = self.cars + 1, borrow(self.affected, self)
        place = find_moment(borrow(self.streams, self), borrow(self.turns, self), random[0])
        if place == NOWHERE:
            affected[:] = 1
        else:
            xs, ys = lay_out(state, count, borrow(self.room, self))
            note_changes(state, count, xs, ys, borrow(self.moved, self)[place], affected)
        return place

    def give_orders_to_all(self, roads, state):
        """Let GAMMA choose every other car's target speed and steering, NOWHERE. The number of half-planes."""
        affected = borrow(self.affected, self)
        affected[:] = 1
        return self.give_orders(roads, state, NOWHERE)

    @not_inlined
    def give_orders(self, roads, state, place):
        """Let GAMMA choose the target speed and steering of all affected cars. The number of half-planes."""
        count, total = self.cars + 1, 0
        room, slots, affected = borrow(self.room, self), borrow(self.slots, self), borrow(self.affected, self)
        orders = borrow(self.orders, self)[place]
        find_neighbours_of(state, count, affected, room, slots)
        for i in range(1, count):
            if affected[i] == 0:
                continue
            car = CAR * i
            track = int(state[car + TRACK])
            aim_x, aim_y = place_on(roads, track, state[car + ARC] + AIM_AHEAD)
            aim_x, aim_y = aim_x - state[car + X], aim_y - state[car + Y]
            pace = TRAFFIC_SPEED * (1.0 - (state[car + TRACK] - track))
            speed, x, y = pace, aim_x, aim_y
            if slots[i] > 0:
                scale = pace / max(math.sqrt(aim_x * aim_x + aim_y * aim_y), 1e-9)
                wish_x, wish_y = scale * aim_x, scale * aim_y
                x, y, planes = gamma.choose_velocity(state, count, i, wish_x, wish_y, self.reference, room, slots)
                if planes > 0:
                    speed = min(pace, math.sqrt(x * x + y * y))
                total += planes
            orders[i, 0], orders[i, 1] = speed, steer_towards(state[car + COS], state[car + SIN], x, y)
        return total

    def move_traffic(self, roads, state, random, place):
        """Move all other cars as they were ordered, with noise. Who is not affected, and meets the same random numbers
        (others may have drawn more of them, or fewer), comes to where he came."""
        moved, affected = borrow(self.moved, self)[place], borrow(self.affected, self)
        draws, orders = borrow(self.draws, self)[place], borrow(self.orders, self)[place]
        for i in range(1, self.cars + 1):
            car = CAR * i
            if affected[i] == 0 and draws[i] == random[0]:
                for k in range(CAR):
                    state[car + k] = moved[i, AFTER, k]
                random[0] = draws[i + 1]
                continue
            draws[i] = random[0]
            move(state, car, orders[i, 0], TRAFFIC_ACCELERATION, orders[i, 1], self.reference, random)
            self.pursue(roads, state, car, random)
            if self.surprise > 0.0 and uniform(random) < self.surprise:
                draw_pace(state, car, random)
            for k in range(CAR):
                moved[i, AFTER, k] = state[car + k]
        draws[self.cars + 1] = random[0]

    def see_traffic(self, roads, state, random, observation):
        """Move all other cars to where they were seen. How likely that was: the logarithm of the density."""
        orders = borrow(self.orders, self)[NOWHERE]
        value = 0.0
        for i in range(1, self.cars + 1):
            speed, steer, seen = orders[i, 0], orders[i, 1], SEEN * i
            off_x, off_y = observation[seen + X] - state[CAR * i + X], observation[seen + Y] - state[CAR * i + Y]
            other = off_x * off_x + off_y * off_y > JUMP * JUMP
            if not other:
                density = log_density(
                    state, CAR * i, speed, TRAFFIC_ACCELERATION, steer, self.reference, observation, seen
                )
                value += surprised(density, self.surprise) if self.surprise > 0.0 else density
            for k in range(SEEN):
                state[CAR * i + k] = observation[seen + k]
            if other or (self.surprise > 0.0 and self.needs_route(roads, state, CAR * i, random)):
                self.draw_intention(roads, state, CAR * i, random)
            else:
                self.pursue(roads, state, CAR * i, random)
        return value

    def needs_route(self, roads, state, car, random):
        """Whether a car is to be given another route: it has left the one it had, or has changed its mind."""
        x, y = place_on(roads, int(state[car + TRACK]), state[car + ARC])
        far = (x - state[car + X]) ** 2 + (y - state[car + Y]) ** 2 > STRAYED * STRAYED
        return far or uniform(random) < self.surprise

    @not_inlined
    def draw_intention(self, roads, state, car, random):
        """Give a car a route, or in the reference variant a lane, that fits its place and heading."""
        lane, arc = draw_lane(
            roads, self.lanes, state[car + X], state[car + Y], state[car + COS], state[car + SIN], random
        )
        routes = 0 if self.reference else int(roads.tracks[lane, ROUTES])
        if routes > 0:
            lane = int(roads.tracks[lane, FIRST_ROUTE]) + integer(random, routes)
        state[car + TRACK], state[car + ARC] = lane, arc
        if self.surprise > 0.0:
            draw_pace(state, car, random)

    def draw_intentions(self, roads, state, random):
        """Give all other cars routes that fit where they are; to begin with, everybody wants to go."""
        for i in range(1, self.cars + 1):
            self.draw_intention(roads, state, CAR * i, random)
            state[CAR * i + TRACK] = int(state[CAR * i + TRACK])

    def pursue(self, roads, state, car, random):
        """Another car's intention keeps up with it."""
        before = int(state[car + TRACK])
        track, arc = follow(roads, before, state[car + ARC], state[car + X], state[car + Y], random)
        state[car + TRACK], state[car + ARC] = track + (state[car + TRACK] - before), arc
