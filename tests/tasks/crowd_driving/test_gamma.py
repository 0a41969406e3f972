"""The traffic model against brute force, and against reference outputs where they are at hand."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from magic_pomdp.core.views import borrow
from magic_pomdp.tasks.crowd_driving import gamma


@njit
def run(cars, wishes, reference, room, slots, velocities, planes):
    cars, room, slots = borrow(cars), borrow(room), borrow(slots)
    count = len(wishes)
    gamma.find_neighbours(cars, count, room, slots)
    for i in range(count):
        velocities[i, 0], velocities[i, 1], planes[i] = gamma.choose_velocity(
            cars, count, i, wishes[i, 0], wishes[i, 1], reference, room, slots
        )


def velocities_of(positions, headings, speeds, wishes, reference):
    count = len(positions)
    cars = np.zeros((count, gamma.CAR))
    cars[:, :2], cars[:, 2], cars[:, 3], cars[:, 4] = positions, np.cos(headings), np.sin(headings), speeds
    velocities, planes = np.zeros((count, 2)), np.zeros(count, np.int64)
    room, slots = gamma.new_room(count)
    run(cars.ravel(), np.ascontiguousarray(wishes), reference, room, slots, velocities, planes)
    return velocities, planes, cars


def test_agrees_with_reference_outputs():
    folder = os.environ.get("MAGIC_POMDP_VECTORS")
    if folder is None:
        pytest.skip("MAGIC_POMDP_VECTORS does not name a folder with reference outputs")
    good = total = 0
    for scene in json.loads(Path(folder, "gamma.json").read_text())["scenes"]:
        values = {name: np.array([car[name] for car in scene]) for name in scene[0]}
        velocities, planes, _ = velocities_of(
            values["pos"], values["heading_rad"], values["speed"], values["pref_vel"], True
        )
        sound = values["well_conditioned"]
        close = np.hypot(*(velocities - values["new_vel"]).T) < 0.01
        good += (close & (planes == values["num_halfplanes"]))[sound].sum()
        total += sound.sum()
    assert total > 300
    assert good >= 0.99 * total
