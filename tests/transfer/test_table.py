"""Puck-Push on a table in MuJoCo under a camera: what is seen, what moves how, and what goes wrong."""

import math
import re

import numpy as np
import pytest

from magic_pomdp import Outcome, evaluate, make, run_episode
from magic_pomdp.core.extras import install_command
from magic_pomdp.planners import Budget
from magic_pomdp.running import PlannerFactory
from magic_pomdp.running.recording import record_episodes
from magic_pomdp.tasks.puck_push import PUCK_X, SEEN, SEEN_BOT_X, SEEN_PUCK_X
from magic_pomdp.transfer import find_other_world
from magic_pomdp.transfer.table.entry import TABLE, TableSettings

pytestmark = pytest.mark.usefixtures("table_parts")

TASK = make("puck-push", max_steps=6)
EAST, NORTH = np.array([1.0, 0.0]), np.array([0.0, 1.0])
QUICK = PlannerFactory("macro-despot", Budget(steps=300), {"scenarios": 10})


@pytest.fixture(scope="module")
def rig():
    from magic_pomdp.transfer.table.rig import Rig

    return Rig(friction=1.0)


def look(rig, robot, heading, puck, seed=0):
    """What is seen with robot and puck somewhere, and the true state."""
    random = np.random.default_rng(seed)
    frame, seen = rig.begin(np.array([*robot, *puck]), np.array([1100.0, 299.0]), heading, random)
    return frame, seen


@pytest.mark.parametrize("seed", range(4))
def test_robot_heading_and_puck_are_seen_from_a_camera_that_hangs_askew(rig, seed):
    random = np.random.default_rng(seed)
    robot, heading = random.uniform((100, 100), (500, 500)), float(random.uniform(-3, 3))
    puck = random.uniform((950, 80), (1200, 520))
    _, seen = look(rig, robot, heading, puck, seed)
    np.testing.assert_allclose(seen.robot, robot, atol=3.0)
    np.testing.assert_allclose(seen.puck, puck, atol=3.0)
    assert abs(math.remainder(seen.heading - heading, 2 * math.pi)) < 0.1


@pytest.mark.parametrize("x", [590.0, 645.0, 700.0, 800.0, 900.0])
def test_a_puck_on_a_strip_is_nowhere_in_the_image(rig, x):
    """Frames with and without the puck on a strip differ by noise alone, before any noise by nothing."""
    _, seen = look(rig, (300.0, 299.0), 0.0, (x, 250.0))
    assert seen.robot is not None
    assert seen.puck is None
    with_puck = rig.camera._render().copy()
    rig.table.place("puck", 645.0, 400.0, 0.0)
    np.testing.assert_array_equal(rig.camera._render(), with_puck)


@pytest.mark.parametrize("off", [8.0, 12.0, 16.0, 20.0])
def test_a_puck_that_a_strip_cuts_off_is_seen_where_it_is(rig, off):
    for x in (574.0 - off, 716.0 + off, 774.0 - off, 916.0 + off):
        _, seen = look(rig, (300.0, 299.0), 0.0, (x, 250.0))
        np.testing.assert_allclose(seen.puck, (x, 250.0), atol=3.0)


def test_a_puck_off_the_strips_is_seen_beside_the_robot(rig):
    for angle in np.linspace(0.0, 2 * math.pi, 5, endpoint=False):
        puck = 1075.0 + 54.5 * math.cos(angle), 299.0 + 54.5 * math.sin(angle)
        _, seen = look(rig, (1075.0, 299.0), 0.5, puck)
        np.testing.assert_allclose(seen.puck, puck, atol=5.0)


def test_a_pushed_puck_slides_round_the_robot(rig):
    """Nobody has told MuJoCo so. Its angle grows, on the side where it lies."""
    for side in (-1.0, 1.0):
        random = np.random.default_rng(3)
        puck = 200.0 + 57.0 * math.cos(0.15), 299.0 + side * 57.0 * math.sin(0.15)
        rig.begin(np.array([200.0, 299.0, *puck]), np.array([1100.0, 299.0]), 0.0, random)
        rig.turn(EAST, random)
        rig.drive(EAST, 1.0)
        angles = []
        for _ in range(3):
            rig.drive(EAST, 0.4)
            x, y, puck_x, puck_y = rig.table.positions()
            angles.append(side * math.atan2(puck_y - y, puck_x - x))
        assert 0.1 < angles[0] < angles[1] < angles[2]
        assert math.hypot(puck_x - x, puck_y - y) == pytest.approx(54.0, abs=0.5)


def test_an_action_turns_on_the_spot_and_drives(rig):
    from magic_pomdp.transfer.table.world import TableWorld

    world = TableWorld(make("puck-push"), TableSettings())
    beginning = world.begin(1, 0)
    assert beginning.observation[SEEN] == 1.0
    before = world.state.copy()
    happened = world.act(NORTH)
    moved = world.state[:2] - before[:2]
    assert abs(moved[0]) < 12.0
    assert 85.0 < moved[1] < 105.0
    np.testing.assert_allclose(happened.observation[SEEN_BOT_X : SEEN_BOT_X + 2], world.state[:2], atol=6.0)
    np.testing.assert_allclose(happened.observation[SEEN_PUCK_X:], world.state[PUCK_X : PUCK_X + 2], atol=6.0)
    assert happened.outcome == Outcome.RUNNING
    assert world.picture[:2] == b"\xff\xd8"
    again = TableWorld(make("puck-push"), TableSettings())
    again.begin(1, 0)
    np.testing.assert_array_equal(again.act(NORTH).observation, happened.observation)


@pytest.mark.parametrize("fault", ["dropped", "frozen", "moved"])
def test_an_episode_goes_on_when_something_goes_wrong(fault):
    from magic_pomdp.transfer.table.world import TableWorld

    world = TableWorld(TASK, TableSettings(**{fault: 0.5}))
    record = run_episode(TASK, QUICK(TASK), seed=2, world=world)
    assert record.steps == TASK.max_steps
    assert 1 <= record.result.statistics[fault] < TASK.max_steps
    assert record.result.belief_error_final < 100.0


def test_a_robot_moved_by_hand_is_found_again():
    from magic_pomdp.transfer.table.world import TableWorld

    world = TableWorld(TASK, TableSettings())
    world.begin(0, 0)
    world._move_by_hand()
    happened = world.act(NORTH)
    np.testing.assert_allclose(happened.observation[:2], world.state[:2], atol=6.0)


def test_evaluation_and_recording_say_which_world_it_was():
    world = TABLE.factory(TableSettings(friction=2.0), "a file")
    found = evaluate(TASK, QUICK, episodes=1, workers=0, world=world)
    assert (found.world, found.identified) == (TABLE.label, "a file")
    assert found.world_settings["friction"] == 2.0
    recording = record_episodes(TASK, QUICK, episodes=1, workers=0, world=TABLE.factory())
    assert recording.world == TABLE.label
    pictures = recording.episodes[0].pictures
    assert len(pictures) == recording.episodes[0].steps + 1
    assert all(picture[:2] == b"\xff\xd8" for picture in pictures)


def test_bad_images_are_told_in_a_sentence(rig):
    from magic_pomdp.transfer.table.perception import MarksNotFound, Perception, decode

    perception = Perception(38.0, 16.0)
    with pytest.raises(ValueError, match=r"^The camera's image must be 640 × 480 pixels in colour, not 320 × 240\.$"):
        perception.see(np.zeros((240, 320, 3), np.uint8))
    with pytest.raises(ValueError, match=r"^What the camera has sent is no image\.$"):
        decode(b"nothing")
    with pytest.raises(
        MarksNotFound, match=r"^The camera does not see the red mark at the table's lower left corner\.$"
    ):
        perception.calibrate(np.full((480, 640, 3), 128, np.uint8))
    seen = rig.perception.see(np.full((480, 640, 3), 128, np.uint8))
    assert (seen.robot, seen.heading, seen.puck) == (None, None, None)


def test_what_is_missing_is_told_in_a_sentence(monkeypatch):
    from magic_pomdp.transfer.table import rendering

    rendering.missing_part.cache_clear()
    try:
        monkeypatch.setattr(rendering, "find_spec", lambda name: None)
        sentence = f"A table under a camera needs mujoco: {install_command('transfer')}."
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            find_other_world("puck-push").factory()
        monkeypatch.undo()
        rendering.missing_part.cache_clear()
        monkeypatch.setattr("mujoco.Renderer", lambda *about: (_ for _ in ()).throw(RuntimeError("no display")))
        with pytest.raises(
            ValueError, match=r"^The camera needs OpenGL without a screen.*libosmesa6\); MUJOCO_GL is .*\."
        ):
            find_other_world("puck-push").factory()
    finally:
        rendering.missing_part.cache_clear()


def test_no_other_task_has_this_world():
    with pytest.raises(ValueError, match="world for puck-push alone"):
        TABLE.factory()(make("tiger"))
