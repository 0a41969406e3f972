"""Crowd-Driving in SUMO: the world, its faults, and what can go wrong with it."""

import math
import re

import numpy as np
import pytest

from magic_pomdp import Belief, Outcome, make
from magic_pomdp.core.extras import install_command
from magic_pomdp.tasks.crowd_driving.gamma import CAR, COS, SIN, SPEED, X, Y
from magic_pomdp.tasks.crowd_driving.layout import CARS_FROM, PROGRESS, SEEN, STEPS, TRACK
from magic_pomdp.tasks.crowd_driving.sumo import read_sumo
from magic_pomdp.transfer.registry import find_other_world
from magic_pomdp.transfer.sumo import entry

CARS = 6
CAREFUL = np.array([3.5, 0.0])


@pytest.fixture(autouse=True)
def _sumo():
    if sentence := entry.missing():
        pytest.skip(sentence)


@pytest.fixture(scope="module")
def task():
    return make("crowd-driving", cars=CARS, surprise=0.1, steering_rate=0.8, steering_delay=0.08)


def world_of(task, **settings):
    return find_other_world("crowd-driving").factory(entry.SumoSettings(**settings))(task)


def test_the_network_has_the_lanes_of_the_task(tmp_path, task):
    from magic_pomdp.transfer.sumo.network_file import write_network

    ours = task.road_map().network
    theirs = read_sumo(write_network(ours, 4.0, tmp_path))
    for lane in ours.lanes:
        best = min(theirs.lanes, key=lambda other, lane=lane: abs(other.line.hausdorff_distance(lane.line)))
        assert best.line.hausdorff_distance(lane.line) < 7.0  # where lanes fork, SUMO makes a junction of some metres
    assert len([lane for lane in theirs.lanes if lane.name.startswith(":meskel")]) == 25


def test_an_episode_begins_and_goes_on(task):
    world = world_of(task)
    context = world.begin(seed=0, episode=1).context
    cars = context[CARS_FROM : task.path_from()].reshape(-1, CAR)
    assert cars[0, SPEED] == 0.0
    assert (np.abs(cars[1:, :2] - cars[0, :2]).max(axis=1) > 6.5).all()  # the start is clear
    assert (cars[1:, SPEED] > 1.0).any()  # traffic flows already
    assert (cars[:, TRACK] < len(task.road_map().tables.tracks)).all()
    belief = Belief.initial(task, context)
    for _ in range(5):
        happened = world.act(CAREFUL)
        belief.update(CAREFUL, happened.observation)
    seen = happened.observation.reshape(-1, SEEN)
    truth = world.state[: CAR * (CARS + 1)].reshape(-1, CAR)
    assert happened.outcome == Outcome.RUNNING
    assert truth[0, STEPS] == 5.0
    assert truth[0, PROGRESS] > 5.0
    np.testing.assert_allclose(seen[:, [X, Y]], truth[:, [X, Y]], atol=0.3)
    np.testing.assert_allclose(np.hypot(seen[:, COS], seen[:, SIN]), 1.0)
    assert (seen[:, [X, Y]] != truth[:, [X, Y]]).all()  # there is noise
    assert belief.ignored == belief.recoveries == 0


def test_episodes_repeat(task):
    world, found = world_of(task), []
    for _ in range(2):
        world.begin(seed=3, episode=2)
        found.append([world.act(CAREFUL).observation for _ in range(4)])
    np.testing.assert_array_equal(*found)


def test_a_second_world_closes_the_first(task):
    first, second = world_of(task), world_of(task)
    first.begin(0, 0)
    second.begin(0, 0)
    with pytest.raises(ValueError, match="Another world has begun in this process"):
        first.act(CAREFUL)
    second.act(CAREFUL)
    first.begin(0, 0)
    first.act(CAREFUL)


@pytest.mark.parametrize("fault", ["vanish", "late"])
def test_faults_are_survived(task, fault):
    world = world_of(task, **{fault: 0.5})
    belief = Belief.initial(task, world.begin(seed=0, episode=1).context)
    for _ in range(8):
        happened = world.act(CAREFUL)
        assert np.isfinite(happened.observation).all()
        belief.update(CAREFUL, happened.observation)
    np.testing.assert_allclose(belief.particles[:, [X, Y]], happened.observation[None, [X, Y]].repeat(500, 0))
    assert (belief.particles[:, STEPS] == 8.0).all()
    assert belief.ignored == 0
    assert 1 <= world.faults[fault] <= 8


def test_a_slot_keeps_its_car(task):
    """Until others are nearer."""
    world, changes = world_of(task), 0
    world.begin(seed=0, episode=3)
    for _ in range(60):
        before, places = list(world._slots), world.state.copy()
        world.act(CAREFUL)
        for slot, (old, new) in enumerate(zip(before, world._slots, strict=True), start=1):
            moved = math.dist(world.state[CAR * slot :][:2], places[CAR * slot :][:2])
            assert (moved < 2.0) or old != new
            changes += old != new
    assert changes > 0


def test_fewer_cars_than_the_task_has(task):
    world = world_of(task, cars_per_second=0.0)
    world.begin(0, 0)
    observation = world.act(CAREFUL).observation.reshape(-1, SEEN)
    assert (np.hypot(*(observation[1:, :2] - observation[0, :2]).T) > 100.0).all()


def test_missing_parts_are_named(monkeypatch):
    monkeypatch.setattr(entry, "find_spec", lambda module: None if module == "libsumo" else object())
    with pytest.raises(ValueError, match=re.escape(f"needs libsumo: {install_command('transfer')}.") + "$"):
        find_other_world("crowd-driving").factory()


def test_a_map_that_sumo_cannot_load(tmp_path):
    from magic_pomdp.transfer.sumo.network_file import check_network

    (tmp_path / "torn.net.xml").write_text("<net><edge id='a'>")
    with pytest.raises(ValueError, match=re.escape("SUMO cannot load torn.net.xml: ")):
        check_network(tmp_path / "torn.net.xml")


def test_a_map_without_the_junction(tmp_path, task):
    from magic_pomdp.transfer.sumo.network_file import write_network

    path = write_network(task.road_map().network, 4.0, tmp_path)
    with pytest.raises(ValueError, match=r"has no junction 'elsewhere'\.$"):
        make("crowd-driving", map=str(path), junction="elsewhere")
    world = world_of(make("crowd-driving", cars=3, surprise=0.1, map=str(path)))
    world.begin(0, 0)
    assert world.act(CAREFUL).outcome == Outcome.RUNNING


@pytest.mark.parametrize("observation", [np.zeros(3), np.full(SEEN * (CARS + 1), np.nan)])
def test_impossible_observations(task, observation):
    belief = Belief.initial(task, world_of(task).begin(0, 0).context)
    with pytest.raises(ValueError, match=r"The observation (must have shape|contains NaN)"):
        belief.update(CAREFUL, observation)


# ------------------------------------------------------------------------------------------------------- the own car


def test_the_car_turns_late_and_slides():
    from magic_pomdp.transfer.sumo.ego_car import STEERING_DELAY, STEERING_RATE, EgoCar

    car = EgoCar(1.0, 2.0, 0.5)
    assert (car.x, car.y) == pytest.approx((1.0, 2.0))
    car.drive(6.0, 0.0, 4.0)
    assert car.speed == pytest.approx(6.0, abs=0.05)
    car.drive(6.0, 0.2, STEERING_DELAY)
    assert car.wheels == pytest.approx(0.0)
    car.drive(6.0, 0.2, 0.1)
    assert 0.5 * 0.1 * STEERING_RATE < car.wheels <= 0.1 * STEERING_RATE + 1e-9
    car.drive(6.0, 0.2, 2.0)
    before = car.heading
    car.drive(6.0, 0.2, 0.2)
    rolling = 0.2 * 6.0 * math.tan(car.wheels) / 2.5106
    assert 0.9 * rolling < car.heading - before < 0.995 * rolling  # tyres slip
    car.drive(0.0, 0.0, 5.0)
    assert car.speed == 0.0


def test_identification_finds_the_car(tmp_path):
    from magic_pomdp.transfer import identify, read_trials, write_trials
    from magic_pomdp.transfer.identifying import fit_trials

    found, trials = identify("crowd-driving", trials=4, seed=1)
    values, errors = found.values(), {one.name: one.stderr for one in found.parameters}
    assert values["steering_rate"] == pytest.approx(0.8, abs=0.03)
    assert values["steering_delay"] == pytest.approx(0.08, abs=0.01)
    assert values["acceleration"] == pytest.approx(2.7, abs=0.25)
    assert 0.0 < errors["steering_delay"] < 0.01
    make("crowd-driving", **values)
    write_trials(tmp_path / "drives.csv", trials)
    again = read_trials(tmp_path / "drives.csv", trials.columns)
    world = find_other_world("crowd-driving")
    assert fit_trials(world, make("crowd-driving"), again).values() == pytest.approx(values, abs=1e-3)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda rows: rows[:2], "at least three rows"),
        (lambda rows: np.where(np.arange(8) == 6, np.nan, rows), "must tell both commands"),
        (lambda rows: np.where(np.arange(8) == 2, 0.1, rows), "must change the speed"),
    ],
)
def test_drives_that_tell_nothing(spoil, sentence):
    from magic_pomdp.transfer.sumo.test_drive import drive_around, fit_car
    from magic_pomdp.transfer.trials import Trials

    trials = drive_around(1, 0, lambda finished: None)
    with pytest.raises(ValueError, match=sentence):
        fit_car(Trials(trials.columns, spoil(trials.rows)))
