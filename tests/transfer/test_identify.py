"""From trials to parameters: the fit finds what made the trials, and files that are wrong are told in a sentence."""

import math

import numpy as np
import pytest

from magic_pomdp import make
from magic_pomdp.results import Identification, read_as, write
from magic_pomdp.transfer import (
    find_other_world,
    identify,
    other_worlds,
    read_trials,
    shipped_identification,
    write_trials,
)
from magic_pomdp.transfer.identifying import fit_trials
from magic_pomdp.transfer.table.entry import TABLE
from magic_pomdp.transfer.trials import Trials

TASK = make("puck-push")


def made_up(count=60, creep=0.015, creep_noise=0.002, speed=47.0, speed_noise=2.0, turn=0.03, noise=1.0, seed=0):
    """Pushes as the task's own formula has them, seen with noise."""
    random, rows = np.random.default_rng(seed), []
    for trial in range(count):
        asked = random.uniform(-math.pi, math.pi)
        angle = asked + random.choice((-1, 1)) * random.uniform(0.1, 1.2)
        robot = np.array([300.0, 300.0])
        puck = robot + 57.0 * np.array([math.cos(angle), math.sin(angle)])
        for step in range(2):
            heading = asked + turn * random.standard_normal()
            ahead = np.array([math.cos(heading), math.sin(heading)])
            rate, pace = creep + creep_noise * random.standard_normal(), speed + speed_noise * random.standard_normal()
            start, lay = robot, puck
            for frame in range(0 if step == 0 else 1, 6):
                robot = start + pace * 2.0 * frame / 5 * ahead
                puck = pushed(lay, start, ahead, pace * 2.0 * frame / 5, rate)
                seen = np.concatenate([robot, puck]) + noise * random.standard_normal(4)
                rows.append([trial, 2.0 * (step + frame / 5), math.cos(asked), math.sin(asked), *seen])
    return Trials(TABLE.columns, np.array(rows))


def pushed(puck, start, ahead, driven, creep):
    """Where a puck is, after a robot has driven so far."""
    along, left = (puck - start) @ ahead, np.array([-ahead[1], ahead[0]])
    aside = (puck - start) @ left
    if abs(aside) >= 54.0 or along < 0.0:
        return puck
    angle = math.asin(aside / 54.0)
    contact = along - 54.0 * math.cos(angle)
    if driven < contact:
        return puck
    far = min(driven - contact, math.log(0.5 * math.pi / abs(angle)) / creep)
    angle *= math.exp(creep * far)
    return start + (contact + far + 54.0 * math.cos(angle)) * ahead + 54.0 * math.sin(angle) * left


def test_the_fit_finds_what_made_the_pushes():
    found = {one.name: one for one in TABLE.fit(TASK, made_up())}
    for name, true in (("creep", 0.015), ("creep_noise", 0.002), ("speed", 47.0), ("speed_noise", 2.0)):
        assert abs(found[name].value - true) < 4.0 * found[name].stderr, name
        assert found[name].stderr < 0.25 * true, name
        assert found[name].model == getattr(TASK, name)
    assert found["heading_noise"].value == pytest.approx(0.03, rel=0.3)
    assert found["bot_noise"].value == found["puck_noise"].value == pytest.approx(1.0, rel=0.25)


def test_pucks_that_are_lost_at_the_robots_side_tell_the_creep_as_well():
    trials = made_up(creep=0.012, creep_noise=0.0)
    lost = [trial for trial in trials.each() if np.hypot(*(trial[-1, 3:5] - trial[-1, 5:7])) > 60.0]
    rows = np.concatenate([np.column_stack([np.full(len(one), i), one]) for i, one in enumerate(lost)])
    found = {one.name: one for one in TABLE.fit(TASK, Trials(TABLE.columns, rows))}
    assert len(lost) > 20
    assert abs(found["creep"].value - 0.012) < 4.0 * found["creep"].stderr < 0.001


def test_trials_survive_a_file_and_what_is_not_seen_is_empty(tmp_path):
    trials = made_up(count=3)
    trials.rows[4, -2:] = np.nan
    path = tmp_path / "pushes.csv"
    write_trials(path, trials)
    again = read_trials(path, TABLE.columns)
    np.testing.assert_allclose(again.rows, trials.rows, rtol=1e-5)
    assert ",,\n" not in path.read_text().splitlines()[0]
    assert path.read_text().splitlines()[5].endswith(",,")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\n1,2\n", "must begin with a line of these columns: trial,time,heading_x"),
        (",".join(TABLE.columns) + "\n", "holds no trials"),
        (",".join(TABLE.columns) + "\n1,2\n", "Line 2 of .* must have 8 numbers, not 2"),
        (",".join(TABLE.columns) + "\n" + "x" + ",0" * 7 + "\n", "Line 2 of .* holds something that is no number"),
        (",".join(TABLE.columns) + "\n" + "inf" + ",0" * 7 + "\n", "hold no number beyond 1e\\+09"),
        (",".join(TABLE.columns) + "\n" + "1" + ",1e99" * 7 + "\n", "Line 2 of .* hold no number beyond 1e\\+09"),
    ],
)
def test_a_wrong_file_of_trials_is_told_in_a_sentence(tmp_path, text, sentence):
    path = tmp_path / "pushes.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        read_trials(path, TABLE.columns)


def test_trials_that_tell_too_little_are_refused():
    few = made_up(count=1)
    with pytest.raises(ValueError, match="at least 3 steps of 2 s each, and show 2"):
        TABLE.fit(TASK, few)
    far = made_up(count=5)
    far.rows[7, 4] = -1e300
    with pytest.raises(ValueError, match=r"must not exceed 1e\+06 s and mm, and one is 1e\+300"):
        TABLE.fit(TASK, far)
    blurred = made_up(count=5, noise=15.0)
    with pytest.raises(ValueError, match="At least 3 steps must tell the creep well enough, and 0 do"):
        TABLE.fit(TASK, blurred)
    unseen = made_up(count=5)
    unseen.rows[:, -2:] = np.nan
    with pytest.raises(ValueError, match="At least 3 steps must show the puck sliding round the robot, and 0 do"):
        TABLE.fit(TASK, unseen)
    standing = made_up(count=5, speed=0.0, speed_noise=0.0, noise=0.0)
    with pytest.raises(ValueError, match="At least 3 steps must show the puck sliding round the robot, and 0 do"):
        TABLE.fit(TASK, standing)


@pytest.mark.parametrize("column", ["heading_x", "heading_y", "robot_x", "robot_y", "puck_x", "puck_y"])
def test_half_of_a_pair_is_as_good_as_nothing(column):
    trials = made_up()
    trials.rows[33, TABLE.columns.index(column)] = np.nan
    assert all(math.isfinite(one.value) and math.isfinite(one.stderr) for one in TABLE.fit(TASK, trials))


def test_an_identification_survives_a_file_and_makes_a_task(tmp_path):
    found = fit_trials(TABLE, TASK, made_up())
    write(tmp_path / "found.json", found)
    again = read_as(tmp_path / "found.json", Identification)
    assert again == found
    assert make("puck-push", **again.values()).creep == found.values()["creep"]
    assert (again.trials, again.seed) == (60, None)


def test_what_ships_fits_its_task():
    for name in other_worlds():
        shipped = shipped_identification(name)
        if shipped is not None:
            assert shipped.task == name
            assert shipped.world == find_other_world(name).label
            make(name, **shipped.values())


def test_there_is_no_other_world_for_most_tasks():
    with pytest.raises(ValueError, match="There is no other world for 'tiger': there is one for crowd"):
        find_other_world("tiger")


@pytest.mark.usefixtures("table_parts")
def test_pushes_on_the_table_tell_a_creep():
    done = []
    found, trials = identify("puck-push", trials=3, seed=5, on_progress=done.append)
    assert done == [1, 2, 3]
    assert len(trials.each()) == found.trials == 3
    assert 0.010 < found.values()["creep"] < 0.018
    assert found.measured["camera and perception, ms a frame"] > 0.0
    with pytest.raises(ValueError, match=r"The number of trials must lie in \[1, 10000\], not 0"):
        identify("puck-push", trials=0)
