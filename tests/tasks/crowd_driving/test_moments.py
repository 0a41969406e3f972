"""What a search keeps of its steps changes how fast it is, and nothing else."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magic_pomdp import Budget, MacroDespot, Outcome, make
from magic_pomdp.core.compiling import kernel
from magic_pomdp.core.views import borrow
from magic_pomdp.planners import MacroDespotSettings
from magic_pomdp.random import new_stream, seek, stream_key
from magic_pomdp.tasks.crowd_driving import gamma
from magic_pomdp.tasks.crowd_driving.car import bodies_touch
from magic_pomdp.tasks.crowd_driving.gamma import CAR, COS, SIN, SPEED, X, Y
from magic_pomdp.tasks.crowd_driving.moments import BEFORE, CROWDED, NOWHERE, WAYS, find_moment, room_for_moments
from magic_pomdp.tasks.crowd_driving.neighbours import FEW, find_neighbours, find_neighbours_of
from magic_pomdp.tasks.crowd_driving.traffic import TRAFFIC_SPEED

SCENARIOS, STEPS, LONGEST = 3, 12, 3
PLENTY = 2 * SCENARIOS * STEPS


def begin(task, seed):
    """A situation in the middle of traffic: everybody drives, and the robot is right before another car."""
    context, state = np.zeros(task.context_size), np.zeros(task.state_size)
    random = new_stream(seed)
    task.draw_context(random, context)
    task.draw_state(context, random, state)
    if task.cars > 0:
        state[: SIN + 1] = state[CAR : CAR + SIN + 1]
        state[X : Y + 1] += 6.0 * state[COS : SIN + 1]
    state[SPEED : CAR * (task.cars + 1) : CAR] = TRAFFIC_SPEED
    return context, state


@kernel
def wander(task, context, start, keys, picks, actions, random, observation, pool, times, trace):
    """Take random macro-actions from random states that were reached before, as a search does, whatever happens to the
    robot; `trace` is what all steps give. How many cars were simulated for it."""
    context, start, keys, picks, actions = borrow((context, start, keys, picks, actions), task)
    random, observation, pool, times, trace = borrow((random, observation, pool, times, trace), task)
    row, affected, size = 0, 0, len(start)
    for i in range(len(picks)):
        scenario, origin, target = picks[i, 0], picks[i, 1], picks[i, 2]
        state = pool[scenario, target]
        fresh = times[scenario, origin] >= STEPS
        times[scenario, target] = 0 if fresh else times[scenario, origin]
        for k in range(size):
            state[k] = start[k] if fresh else pool[scenario, origin, k]
        for _ in range(LONGEST):
            seek(random, keys[scenario], times[scenario, target])
            reward, outcome = task.step(context, state, actions[i], random, observation)
            times[scenario, target] += 1
            for k in range(size):
                trace[row, k] = state[k]
            trace[row, size], trace[row, size + 1] = reward, outcome
            row += 1
            state[size - 1] = Outcome.RUNNING
            flags = borrow(task.affected, task)
            for car in range(1, task.cars + 1):
                affected += flags[car]
    return affected


def wandered(task, seed, moves):
    """All that the steps of `wander` give in a situation that a seed tells, to the last bit, and what it returns."""
    context, start = begin(task, seed)
    chance = np.random.default_rng(seed)
    keys = np.array([stream_key(seed, number) for number in range(SCENARIOS)])
    picks = np.column_stack([chance.integers(0, top, moves) for top in (SCENARIOS, 4, 4)])
    actions = np.column_stack([chance.uniform(0.0, 6.0, moves), chance.uniform(-0.26, 0.26, moves)])
    pool, times = np.tile(start, (SCENARIOS, 4, 1)), np.zeros((SCENARIOS, 4), np.int64)
    trace = np.zeros((LONGEST * moves, task.state_size + 2))
    room = np.zeros(1, np.uint64), np.zeros(task.observation_size)
    simulated = wander(task, context, start, keys, picks, actions, *room, pool, times, trace)
    assert len(np.unique(trace[:, X])) > moves
    return trace.tobytes(), simulated


KINDS = [
    {},
    {"variant": "reference"},
    {"variant": "reference", "surprise": 0.2},
    {"cars": FEW + 10, "surprise": 0.05},
    {"cars": 1, "steering_delay": 0.1, "steering_rate": 0.5},
    {"cars": 0},
]


@pytest.mark.jit_off
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("moments", [1, PLENTY])
def test_steps_are_the_same(kind, moments):
    """Also where there are places for a few moments only, which then keep driving each other out."""
    task = make("crowd-driving", **kind)
    expected, simulated = wandered(task, 1, 20)
    found, simulated_now = wandered(task.for_search(moments), 1, 20)
    assert found == expected
    assert simulated_now < simulated or task.cars == 0


@given(st.integers(0, 10_000), st.sampled_from(KINDS), st.sampled_from([1, 20, PLENTY]))
@settings(deadline=None, max_examples=40)
@pytest.mark.usefixtures("jit")
def test_thousands_of_steps_are_the_same(seed, kind, moments):
    task = make("crowd-driving", **kind)
    assert wandered(task.for_search(moments), seed, 200)[0] == wandered(task, seed, 200)[0]


@pytest.mark.usefixtures("jit")
def test_most_cars_are_not_simulated_again():
    task = make("crowd-driving")
    _, simulated = wandered(task, 3, 500)
    _, simulated_now = wandered(task.for_search(PLENTY), 3, 500)
    assert simulated_now < 0.3 * simulated


@pytest.mark.usefixtures("jit")
def test_cars_that_draw_a_branch_shift_the_numbers_of_those_behind():
    """Some cars are before a fork, and whether they pass it depends on the robot: the numbers that the others meet then
    do, too, although nobody is near them."""
    task = make("crowd-driving", variant="reference", surprise=0.3)
    twin = task.for_search(PLENTY)
    for seed in range(20):
        assert wandered(twin, seed, 100)[0] == wandered(task, seed, 100)[0]


@pytest.mark.jit_off
@pytest.mark.parametrize("variant", ["default", "reference"])
@pytest.mark.parametrize("length", [1, 3])
def test_plans_are_the_same(variant, length):
    task = make("crowd-driving", variant=variant, cars=6)
    forgetful = copy.copy(task)
    object.__setattr__(forgetful, "for_search", lambda moments: task)
    context, _ = begin(task, 5)
    belief = np.array([begin(task, 5)[1] for _ in range(3)])
    plans = []
    for one in (task, forgetful):
        choice = MacroDespotSettings(scenarios=4, search_depth=9, macro_length=length, tree_nodes=2_000, threads=1)
        planner = MacroDespot(one, settings=choice)
        for seed in range(2):
            plan = planner.plan(belief, context, budget=Budget(steps=400), seed=seed)
            plans.append((plan.steps, plan.value, plan.upper, plan.values.tolist(), plan.macro_action.tolist()))
    assert plans[:2] == plans[2:]


@pytest.mark.usefixtures("jit")
def test_plans_of_several_threads_are_the_same():
    task = make("crowd-driving")
    context, _ = begin(task, 6)
    belief = np.array([begin(task, 6)[1] for _ in range(3)])
    plans = []
    for threads in (1, 2):
        choice = MacroDespotSettings.advised(task, threads=threads)
        plan = MacroDespot(task, settings=choice).plan(belief, context, budget=Budget(steps=40_000), seed=1)
        plans.append((plan.steps, plan.value, plan.upper, plan.values.tolist(), plan.macro_action.tolist()))
    assert plans[0] == plans[1]


# -------------------------------------------------------------------------------------------------------- their places


@pytest.mark.jit_off
def test_a_moment_keeps_its_place_until_others_need_it():
    room = room_for_moments(1, 2)
    streams = [np.uint64(stream) for stream in range(1, WAYS + 2)]
    places = [find_moment(room.streams, room.turns, stream) for stream in streams[:WAYS]]
    assert sorted(places) == list(range(NOWHERE + 1, NOWHERE + 1 + WAYS))
    assert [find_moment(room.streams, room.turns, stream) for stream in streams[:WAYS]] == places
    assert find_moment(room.streams, room.turns, streams[WAYS]) == places[0]  # that of the one that came first
    assert find_moment(room.streams, room.turns, streams[0]) == places[1]


@pytest.mark.jit_off
def test_there_are_places_for_all_or_for_none():
    for moments in (1, 7, 100, 2_150):
        groups = len(room_for_moments(moments, 16).turns)
        assert CROWDED * groups >= moments
        assert len(room_for_moments(moments, 16).streams) == NOWHERE + 1 + WAYS * groups
    for moments, cars in ((0, 16), (10_000_000, 16), (2_150, 201)):
        room = room_for_moments(moments, cars)
        assert (len(room.turns), len(room.streams), len(room.moved)) == (0, 1, 1)
        assert find_moment(room.streams, room.turns, np.uint64(7)) == NOWHERE


@pytest.mark.jit_off
def test_a_copy_for_a_search_keeps_to_itself():
    task = make("crowd-driving", cars=2)
    twin = task.for_search(10)
    context, state = begin(task, 1)
    twin.step(context, state.copy(), np.zeros(2), new_stream(1), np.zeros(task.observation_size))
    assert (task.moved == 0.0).all()
    assert (twin.moved[NOWHERE] == 0.0).all()
    kept = twin.moved[twin.streams != 0]
    np.testing.assert_array_equal(kept[:, :, BEFORE].ravel(), state[: CAR * 3])


# ------------------------------------------------------------------------------------------------------- what is near


@given(st.integers(0, 10_000), st.integers(1, FEW + 10), st.floats(0.0, 1.0))
@settings(deadline=None, max_examples=50)
def test_neighbours_of_some_are_those_of_all(seed, count, share):
    chance = np.random.default_rng(seed)
    cars = np.zeros((count, CAR))
    cars[:, :2] = np.round(chance.uniform(0.0, 30.0, (count, 2)))  # some are just as far away as others
    wanted = (chance.uniform(size=count) < share).astype(np.int64)
    (room, slots), (some_room, some_slots) = gamma.new_room(count), gamma.new_room(count)
    find_neighbours(cars.ravel(), count, room, slots)
    find_neighbours_of(cars.ravel(), count, wanted, some_room, some_slots)
    for i in np.flatnonzero(wanted):
        squares = slice(gamma.NEIGHBOURS * i, gamma.NEIGHBOURS * i + slots[i])
        numbers = slice(count + squares.start, count + squares.stop)
        assert some_slots[i] == slots[i]
        np.testing.assert_array_equal(some_room[squares], room[squares])
        np.testing.assert_array_equal(some_slots[numbers], slots[numbers])


@pytest.mark.parametrize("variant", ["default", "reference"])
@given(st.floats(-9.0, 9.0), st.floats(-9.0, 9.0), st.floats(-3.2, 3.2), st.floats(-3.2, 3.2))
@settings(deadline=None, max_examples=100)
def test_who_is_clear_does_not_collide(variant, x, y, heading, other):
    task = make("crowd-driving", variant=variant, cars=1)
    state = np.zeros(task.state_size)
    for car, place, angle in ((0, (0.0, 0.0), heading), (CAR, (x, y), other)):
        state[car + X], state[car + Y], state[car + COS], state[car + SIN] = *place, np.cos(angle), np.sin(angle)
    assert task.collides(state) == bodies_touch(state, 0, CAR, task.reference)
