"""A car whose wheels take time to turn, and other drivers who surprise."""

import math

import numpy as np
import pytest

from magic_pomdp import Belief, make
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.random import new_stream
from magic_pomdp.running.world import SimulatedWorld
from magic_pomdp.tasks.crowd_driving.car import DURATION, STEER, turn_wheels
from magic_pomdp.tasks.crowd_driving.gamma import CAR, COS, SIN, SPEED, X, Y
from magic_pomdp.tasks.crowd_driving.layout import ARC, SEEN, TRACK
from magic_pomdp.tasks.crowd_driving.roads import draw_lane, heading_on, place_on


@pytest.mark.jit_off
@pytest.mark.parametrize("rate", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("delay", [0.0, 0.08, 0.2])
@pytest.mark.parametrize("start", [-0.2, 0.1])
def test_wheels_turn_as_in_small_steps(rate, delay, start):
    before, wanted, fine, angle, total = 0.15, -0.25, 20_000, start, 0.0
    for k in range(fine):
        target = before if k * DURATION / fine < delay else wanted
        most = (rate if rate > 0.0 else math.inf) * DURATION / fine
        angle += min(most, max(-most, target - angle))
        total += angle / fine
    mean, end = turn_wheels(start, before, wanted, rate, delay)
    assert mean == pytest.approx(total, abs=1e-4)
    assert end == pytest.approx(angle, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("acceleration", 0.0),
        ("steering_rate", -1.0),
        ("steering_delay", 0.3),
        ("steering_delay", -0.1),
        ("surprise", 1.0),
    ],
)
def test_what_makes_no_sense_is_refused(name, value):
    with pytest.raises(ValueError, match=f"Crowd-Driving's {name} must"):
        make("crowd-driving", **{name: value})


@pytest.mark.jit_off
def test_a_slow_car_steers_late():
    quick, late = make("crowd-driving", cars=0), make("crowd-driving", cars=0, steering_rate=0.8, steering_delay=0.08)
    assert late.state_size == quick.state_size + 1
    headings = []
    for task in (quick, late):
        context, state = np.zeros(task.context_size), np.zeros(task.state_size)
        task.draw_context(new_stream(0), context)
        task.draw_state(context, new_stream(0), state)
        state[SPEED], before = 6.0, math.atan2(state[SIN], state[COS])
        observation = np.zeros(task.observation_size)
        for time in range(2):
            task.step(context, state, np.array([6.0, 0.2]), new_stream(time), observation)
        headings.append(math.remainder(math.atan2(state[SIN], state[COS]) - before, 2.0 * math.pi))
        assert observation[STEER] == state[STEER]
    assert state[STEER] == pytest.approx(0.2)
    assert state[-2] == 0.2
    mean = (0.2 - 0.5 * 0.2 / 0.8 * 0.2 / 0.4) - 0.2 * 0.08 / 0.4  # of the wheels in both steps
    assert headings[1] - headings[0] == pytest.approx(2.4 * (math.tan(mean) - math.tan(0.2)) / 2.5106, abs=0.01)


@pytest.mark.jit_off
def test_a_car_is_on_a_lane_that_fits():
    task = make("crowd-driving", cars=0)
    roads, random = task.road_map().tables, new_stream(0)
    for lane in range(0, task.lanes, 7):
        x, y = place_on(roads, lane, 9.0)
        cos, sin = heading_on(roads, lane, 9.0)
        for _ in range(3):
            found, arc = draw_lane(roads, task.lanes, x - 0.4 * sin, y + 0.4 * cos, cos, sin, random)
            assert math.dist(place_on(roads, found, arc), (x, y)) < 3.0
            along = heading_on(roads, found, arc)
            assert along[0] * cos + along[1] * sin > 0.7


def drive_on(task, steps, change):
    """The belief after some steps among drivers who never change their minds; `change` alters what is seen."""
    world = SimulatedWorld(make("crowd-driving", cars=task.cars))
    belief = Belief.initial(task, world.begin(0, 1).context)
    for step in range(steps):
        happened = world.act(np.array([2.0, 0.0]))
        assert happened.outcome == Outcome.RUNNING
        seen = happened.observation.copy()
        change(step, seen.reshape(-1, SEEN))
        belief.update(np.array([2.0, 0.0]), seen)
    return belief


def test_a_belief_follows_a_slot_whose_car_is_another():
    task = make("crowd-driving", cars=4, surprise=0.1)
    roads = task.road_map().tables
    lane = int(roads.places[0, 1])

    def jump(step, cars):
        if step == 3:
            cars[2, [X, Y]] = place_on(roads, lane, 5.0)
            cars[2, [COS, SIN]] = heading_on(roads, lane, 5.0)

    belief = drive_on(task, 4, jump)
    assert belief.ignored == belief.recoveries == 0
    for particle in belief.particles[::20]:
        car = particle[2 * CAR :]
        assert math.dist(place_on(roads, int(car[TRACK]), car[ARC]), car[[X, Y]]) < 4.0


def test_a_belief_sees_who_waits():
    """A driver who stands for a second is not expected to drive off at once; one who drives is expected to go on."""
    task = make("crowd-driving", cars=4, surprise=0.1)
    place = {}

    def stand(step, cars):
        place.setdefault("there", cars[1, :SPEED].copy())
        cars[1, :SPEED], cars[1, SPEED] = place["there"], 0.0

    belief = drive_on(task, 6, stand)
    waits = belief.particles[:, CAR + TRACK] % 1.0 > 0.9
    drives = belief.particles[:, 2 * CAR + TRACK] % 1.0 < 0.5
    assert waits.mean() > 0.8
    assert drives.mean() > 0.8


def test_what_looks_like_a_failure_is_none_if_the_episode_goes_on():
    task = make("crowd-driving", cars=4, surprise=0.1)

    def overlap(step, cars):
        if step == 2:
            cars[1, :SPEED] = cars[0, :SPEED]

    belief = drive_on(task, 4, overlap)
    assert belief.ignored == belief.recoveries == 0
    assert (belief.particles[:, -1] == Outcome.RUNNING).all()
