"""Crowd-Driving's rules, its belief, and planning while driving."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magic_pomdp import Belief, Budget, MacroActions, MacroDespot, make, run_episode
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.scene import Line, Polygon, plain_shapes
from magic_pomdp.magic import MagicPlanner
from magic_pomdp.planners.despot_settings import DespotSettings, MacroDespotSettings
from magic_pomdp.random import new_stream
from magic_pomdp.running.world import SimulatedWorld
from magic_pomdp.tasks.crowd_driving.advice import SEARCH_DEPTH
from magic_pomdp.tasks.crowd_driving.gamma import CAR, COS, FRONT, SIN, SPEED, X, Y
from magic_pomdp.tasks.crowd_driving.layout import ARC, AREA, PROGRESS, ROAD_END, SEEN, STEPS, TRACK
from magic_pomdp.tasks.crowd_driving.path import leaves_areas, points_passed
from magic_pomdp.tasks.crowd_driving.roads import place_on

CARS = 5
GO = np.array([6.0, 0.0])
VARIANTS = pytest.mark.parametrize("variant", ["default", "reference"])
QUICK = MacroDespotSettings(scenarios=5, default_policy="random", tree_nodes=2000, macro_length=3)


def small(**parameters):
    return make("crowd-driving", **{"cars": CARS, **parameters})


def astuple(macro_actions):
    return macro_actions.actions, macro_actions.lengths


def begin(task, seed=0):
    context, state = np.full(task.context_size, np.nan), np.full(task.state_size, np.nan)
    random = new_stream(seed)
    task.draw_context(random, context)
    task.draw_state(context, random, state)
    return context, state


def step(task, context, state, action=GO, seed=0):
    observation = np.full(task.observation_size, np.nan)
    reward, outcome = task.step(context, state, action, new_stream(seed), observation)
    return reward, outcome, observation


@pytest.mark.jit_off
@VARIANTS
def test_starts(variant):
    task = small(variant=variant)
    off_road = 0
    for seed in range(5):
        context, state = begin(task, seed)
        cars = state[:-1].reshape(-1, CAR)
        path = context[task.path_from() :].reshape(-1, 2)
        assert np.isfinite(state).all()
        assert np.isfinite(context).all()
        np.testing.assert_array_equal(cars[0, :2], path[0])
        np.testing.assert_allclose(np.hypot(cars[:, COS], cars[:, SIN]), 1.0)
        assert np.hypot(*np.diff(path, axis=0).T).max() < 0.1001
        apart = np.abs(cars[:, None, :2] - cars[None, :, :2]).max(axis=2) + 99.0 * np.eye(CARS + 1)
        assert apart.min() > 7.0
        towards = np.array([task.middle_x, task.middle_y]) - cars[1:, :2]
        assert ((towards * cars[1:, 2:4]).sum(axis=1) >= 0.0).all()
        off_road += task.leaves(task.roads(), context, state)
        for car in cars[1:]:
            at = place_on(task.road_map().tables, int(car[TRACK]), car[ARC])
            assert math.dist(at, car[:2]) < 0.5
    assert variant == "reference" or off_road == 0


@pytest.mark.jit_off
def test_a_free_drive_earns_its_metres():
    task = small(cars=0)
    context, state = begin(task)
    reward, outcome, _ = step(task, context, state)
    assert outcome == Outcome.RUNNING
    assert reward == pytest.approx(0.1 * state[PROGRESS] + task.slow_reward)  # it began standing
    state[SPEED], before = 6.0, state[PROGRESS]
    reward, outcome, observation = step(task, context, state)
    assert reward == pytest.approx(0.1 * (state[PROGRESS] - before))
    assert 0.8 < reward < 1.6
    np.testing.assert_array_equal(observation, state[:SEEN])


@pytest.mark.jit_off
def test_ends():
    task = small()
    context, start = begin(task)
    collision = start.copy()
    collision[CAR : CAR + 4] = start[:4]
    collision[CAR : CAR + 2] += 2.0 * start[COS : SIN + 1]
    beside = start.copy()
    beside[X : Y + 1] += 500.0
    backwards = start.copy()
    backwards[COS : SIN + 1] *= -1.0
    late = start.copy()
    late[STEPS] = task.max_steps - 1
    failures = [(state, Outcome.FAILURE) for state in (collision, beside, backwards)]
    for state, outcome in (*failures, (late, Outcome.SUCCESS)):
        reward, found, _ = step(task, context, state)
        assert found == outcome
        assert (reward == -100.0) == (outcome == Outcome.FAILURE)
        again = state.copy()
        assert step(task, context, again)[:2] == (0.0, outcome)
        np.testing.assert_array_equal(again, state)
        assert task.upper_bound(context, state) == 0.0


@given(st.integers(0, 10_000), st.tuples(st.floats(0.0, 6.0), st.floats(-0.26, 0.26)), st.sampled_from([0, 1, CARS]))
@settings(deadline=None, max_examples=20)
def test_states_stay_sound(seed, action, cars):
    task = small(cars=cars)
    context, state = begin(task, seed)
    for time in range(10):
        progress, bound = state[PROGRESS], task.upper_bound(context, state)
        reward, outcome, observation = step(task, context, state, np.array(action), seed + time)
        blocks = state[:-1].reshape(-1, CAR)
        assert np.isfinite(state).all()
        assert np.isfinite(observation).all()
        assert reward <= bound
        assert progress <= state[PROGRESS] <= task.path_points - 2
        np.testing.assert_allclose(np.hypot(blocks[:, COS], blocks[:, SIN]), 1.0, atol=1e-6)
        assert (blocks[:, SPEED] > -1.0).all()
        assert (blocks[:, SPEED] < 7.0).all()
        assert (blocks[1:, TRACK] < len(task.road_map().tables.tracks)).all()
        if outcome != Outcome.RUNNING:
            break


@VARIANTS
def test_what_it_looks_like(variant):
    task = small(variant=variant)
    context, state = begin(task, 1)
    particles = np.array([begin(task, 1)[1] for _ in range(3)])
    scene = task.scene(context)
    left, bottom, right, top = scene.view
    path = context[task.path_from() :].reshape(-1, 2)
    assert ((path > (left, bottom)) & (path < (right, top))).all()
    assert len(plain_shapes(scene.shapes)) > 20
    sprites = task.sprites(context, state, particles)
    bodies = [shape for shape in sprites if isinstance(shape, Polygon) and shape.role in ("robot", "other")]
    assert [body.role for body in bodies] == ["robot"] + ["other"] * CARS
    ways = [shape for shape in sprites if isinstance(shape, Line)]
    assert len(ways) == 3 * CARS
    for body, way in zip(bodies[1:], ways[::3], strict=True):
        assert math.dist((body.x, body.y), way.points[0]) < 4.0  # it begins at the car's front
    assert len(task.sprites(context, state, particles[:1])) == len(sprites)


@pytest.mark.jit_off
@VARIANTS
def test_an_observation_fixes_all_but_intentions(variant):
    task = small(variant=variant)
    context, state = begin(task, 3)
    before = state.copy()
    _, _, observation = step(task, context, state)
    value, _, outcome = task.condition(context, before, GO, new_stream(9), observation, np.zeros(task.observation_size))
    assert outcome == Outcome.RUNNING
    assert math.isfinite(value)
    seen = np.arange(task.state_size - 1) % CAR < SEEN
    np.testing.assert_array_equal(before[:-1][seen], state[:-1][seen])
    assert before[PROGRESS] == state[PROGRESS]
    assert task.log_likelihood(context, before, GO, observation) == 0.0
    observation[-1] += 0.1
    assert task.log_likelihood(context, before, GO, observation) == -math.inf


def test_the_belief_finds_out_where_cars_go():
    """Standing still, among cars that draw their routes."""
    task = make("crowd-driving")
    tracks = slice(CAR + TRACK, -1, CAR)
    before, after = [], []
    for seed in range(10):
        world = SimulatedWorld(task)
        belief = Belief.initial(task, world.begin(seed, 0).context, 200, seed)
        before.append((belief.particles[:, tracks] == world.state[tracks]).mean())
        for _ in range(100):
            observation, _, outcome = world.act(np.zeros(2))
            if outcome != Outcome.RUNNING:
                break
            belief.update(np.zeros(2), observation)
        assert belief.recoveries == belief.ignored == 0
        after.append((belief.particles[:, tracks] == world.state[tracks]).mean())
    assert np.mean(before) < 0.95
    assert np.mean(after) > 0.97


@VARIANTS
def test_upper_bound_of_a_fast_robot_is_not_beaten(variant):
    task = small(cars=0, variant=variant)
    for seed in range(5):
        context, state = begin(task, seed)
        state[SPEED] = 6.0
        bound, total = task.upper_bound(context, state), 0.0
        for time in range(150):
            at = context[task.path_from() + 2 * min(int(state[PROGRESS]) + 40, task.path_points - 1) :][:2]
            off = at - state[:2]
            angle = math.atan2(state[COS] * off[1] - state[SIN] * off[0], state[COS] * off[0] + state[SIN] * off[1])
            reward, outcome, _ = step(task, context, state, np.array([6.0, np.clip(angle, -0.26, 0.26)]), 100 + time)
            total += task.discount**time * reward
            if outcome != Outcome.RUNNING:
                break
        assert total <= bound


@pytest.mark.jit_off
def test_features_do_not_depend_on_where_in_the_world_it_happens():
    task = small()
    context, state = begin(task)
    features, known = np.full(task.particle_features_size, np.nan), np.full(task.context_features_size, np.nan)
    task.particle_features(context, state, features)
    task.context_features(context, known)
    assert np.abs(features).max() < 20.0
    assert np.abs(known).max() < 3.0
    own = features[4:8]
    np.testing.assert_allclose(own, [0.0, 0.0, 1.0, 0.0], atol=1e-6)  # it stands on its path, headed along it


@pytest.mark.jit_off
def test_handcrafted_macro_actions_straighten_and_learned_ones_hold_their_steering():
    task = small()
    space, handcrafted = task.macro_space(3), task.macro_actions(3)
    learned = space.decode(space.start)
    assert (space.count, space.size, len(learned), len(handcrafted)) == (2, 2, 9, 7)
    assert (learned.first_only, handcrafted.first_only) == (2, 0)
    assert (handcrafted.actions[:, 2, 1] == 0.0).all()
    np.testing.assert_array_equal(learned.actions[:, 2], learned.actions[:, 0])
    other = space.decode(-space.start)
    np.testing.assert_array_equal(other.actions[2:], learned.actions[2:])  # for everyday use, whatever is learned
    np.testing.assert_allclose(other.actions[2:5, 0], handcrafted.actions[:3, 0], atol=1e-12)


def test_the_generator_that_ships_serves_both_variants():
    task = make("crowd-driving")
    context, state = begin(task)
    planner = MagicPlanner(task)
    macro_actions = planner.generate(np.array([state]), context)
    assert macro_actions.actions.shape == (9, 3, 2)
    assert (np.abs(macro_actions.actions) <= [6.0, math.radians(15.001)]).all()
    assert planner.source.model.space_for(make("crowd-driving", variant="reference")) == planner.source.space
    with pytest.raises(ValueError, match="features of a particle"):
        planner.source.model.space_for(small())


@pytest.mark.jit_off
@VARIANTS
def test_the_guide_looks_at_nothing_hidden(variant):
    task = small(variant=variant)
    macro_actions = task.macro_actions(3)
    for seed in range(3):
        context, state = begin(task, seed)
        for time in range(20):
            wish, choice = task.drive(context, state), task.guide(context, state, *astuple(macro_actions))
            assert 0.0 <= wish[0] <= 6.0
            assert abs(wish[1]) <= math.radians(15.001)
            assert 0 <= choice < len(macro_actions)
            others = state.copy()
            others[:-1].reshape(-1, CAR)[1:, [TRACK, ARC]] = 1e9  # no such route
            assert task.drive(context, others) == wish
            assert task.guide(context, others, *astuple(macro_actions)) == choice
            step(task, context, state, macro_actions.actions[choice, 0], time)


def test_the_guide_stops_for_a_car_in_the_way_and_not_for_one_beside_it():
    task = small(cars=1)
    context, state = begin(task)
    state[SPEED] = 6.0
    ahead, aside = state[COS : SIN + 1], np.array([-state[SIN], state[COS]])
    speeds = []
    for metres, beside in ((5.0, 0.0), (9.0, 0.0), (30.0, 0.0), (9.0, 4.0), (-8.0, 0.0)):
        state[CAR : CAR + 2] = state[:2] + metres * ahead + beside * aside
        state[CAR + COS : CAR + SPEED + 1] = *ahead, 0.0
        speeds.append(task.drive(context, state)[0])
    assert speeds[0] < 2.0 < speeds[1] < 5.5
    assert speeds[2:] == pytest.approx([6.0] * 3, abs=0.02)
    state[CAR : CAR + 2] = state[:2] + 9.0 * ahead
    state[CAR + SPEED] = 4.0  # it drives on
    assert speeds[1] < task.drive(context, state)[0]


def test_the_guide_does_not_leave_the_road_at_its_end():
    task = small(cars=0)
    context, state = begin(task)
    context[ROAD_END] = 100.0
    state[SPEED] = 6.0
    assert task.drive(context, state)[0] == pytest.approx(3.3)  # 10 m in 30 s: no faster than it must
    state[PROGRESS] = 60.0
    assert task.drive(context, state)[0] < 1.0


def test_a_road_that_ends_too_early_will_cost_stalls_or_a_failure():
    task = small(cars=0)
    context, state = begin(task)
    assert task.value_beyond(context, state) == 0.0
    context[ROAD_END] = 100.0
    later = task.discount**SEARCH_DEPTH  # what the search will discount it by
    assert later * task.value_beyond(context, state) == pytest.approx(0.9 * task.failure_reward)
    state[STEPS] = task.max_steps - 15
    lasting = (10.0 - FRONT - 2.0) / (3.3 * 0.2)
    assert later * task.value_beyond(context, state) == pytest.approx(task.slow_reward * (15 - lasting))


@VARIANTS
def test_guided_drives_earn_more_than_full_speed(variant):
    task = make("crowd-driving", variant=variant)
    macro_actions = task.macro_actions(3)
    guided, straight = [], []
    for seed in range(20):
        for returns, always in ((guided, None), (straight, 1)):
            world = SimulatedWorld(task)
            context = world.begin(seed, 0).context
            total, outcome = 0.0, Outcome.RUNNING
            while outcome == Outcome.RUNNING:
                choice = task.guide(context, world.state, *astuple(macro_actions)) if always is None else always
                for action in macro_actions.actions[choice]:
                    if outcome == Outcome.RUNNING:
                        _, reward, outcome = world.act(action)
                        total += reward
            returns.append(total)
    assert np.mean(guided) > np.mean(straight) + 40.0


def test_a_path_ends_where_the_road_does():
    task = small(cars=0)
    context, _ = begin(task)
    path = context[task.path_from() :].reshape(-1, 2)
    path[101:] = path[100]
    assert leaves_areas(task.roads(), path.ravel(), int(context[AREA])) == 101
    x, y = path[100]
    assert points_passed(context[task.path_from() :], 90, task.path_points - 2, x, y) == 100


def test_keys():
    task, coarse, one = small(reference_keys=True), small(), small(key_cell=0.0)
    context, state = begin(task)
    _, _, observation = step(task, context, state)
    same_lane = observation.copy()
    same_lane[SEEN : SEEN + 2] = observation[:2] + np.array([9.9, 0.1])
    just_past = same_lane.copy()
    just_past[SEEN : SEEN + 2] += (0.2, -0.2)
    assert coarse.observation_key(same_lane) == coarse.observation_key(just_past)
    moved = observation + 0.3
    assert task.observation_key(observation) != task.observation_key(moved)
    assert coarse.observation_key(observation) == coarse.observation_key(moved)  # all of them, so no two of them
    assert one.observation_key(observation) == one.observation_key(np.zeros_like(observation))


@pytest.mark.parametrize("plans_ahead", [False, True])
def test_episodes_are_deterministic(plans_ahead):
    task = small(max_steps=12)
    planner = MacroDespot(task, settings=QUICK, budget=Budget(steps=300))
    first, again = (run_episode(task, planner, seed=1, plans_ahead=plans_ahead).result for _ in range(2))
    assert first == again
    assert 0.0 <= first.statistics["stall_rate"] <= 1.0
    assert first.statistics["distance"] >= 0.0


def test_planning_while_driving_begins_with_standing_still():
    task = small(max_steps=9)
    planner = MacroDespot(task, settings=QUICK, budget=Budget(steps=200))
    moments = []
    run_episode(task, planner, seed=2, watch=moments.append, plans_ahead=True)
    assert moments[0].plan.choice == -1
    assert moments[0].plan.macro_action.tolist() == [[0.0, 0.0]]
    assert all(moment.plan.choice >= 0 for moment in moments[1:])
    assert task.plan_seconds(3) == pytest.approx(0.5)


@VARIANTS
def test_only_the_published_program_stands_still_for_a_whole_macro_action(variant):
    task = small(variant=variant)
    assert [task.steps_without_plan(length) for length in (1, 3)] == ([1, 3] if variant == "reference" else [1, 1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cars": -1}, "negative"),
        ({"variant": "other"}, "variant"),
        ({"key_cell": -1.0}, "key_cell"),
        ({"slow_reward": 1.0}, "slow_reward"),
        ({"discount": 1.0}, "discount"),
        ({"map": "nowhere.net.xml"}, "nowhere"),
        ({"junction": "A0"}, "junction is 'A0' without a map"),
    ],
)
def test_impossible_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        small(**parameters)


@pytest.mark.parametrize("length", [1, 3])
def test_a_search_is_bounded_by_what_its_last_macro_action_can_earn_beyond_the_depth(length):
    """On the empty road at full speed, what a search finds stays below the upper bound it has set out with."""
    task = small(cars=0)
    context, state = begin(task)
    state[SPEED] = 6.0
    planner = MacroDespot(task, MacroActions.repeat(GO[None], length), DespotSettings(scenarios=5, search_depth=4))
    plan = planner.plan(state[None], context, budget=Budget(steps=1))
    within = task.bound_within(context, state, 4 + length - 1)
    steps = length * -(-4 // length)
    assert plan.value > 0.8 * 1.2 * steps * 0.98**steps
    assert plan.value < plan.upper <= within
