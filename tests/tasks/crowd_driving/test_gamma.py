"""The traffic model against brute force, and against reference outputs where they are at hand."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy.spatial import ConvexHull

from magic_pomdp.core.views import borrow
from magic_pomdp.tasks.crowd_driving import gamma
from magic_pomdp.tasks.crowd_driving.neighbours import FEW, find_neighbours

RANDOM_PAIRS = 40


@njit
def run(cars, wishes, reference, room, slots, velocities, planes):
    cars, room, slots = borrow(cars), borrow(room), borrow(slots)
    count = len(wishes)
    find_neighbours(cars, count, room, slots)
    for i in range(count):
        velocities[i, 0], velocities[i, 1], planes[i] = gamma.choose_velocity(
            cars, count, i, wishes[i, 0], wishes[i, 1], reference, room, slots
        )


def make_cars(positions, headings, speeds):
    cars = np.zeros((len(positions), gamma.CAR))
    cars[:, :2], cars[:, 2], cars[:, 3], cars[:, 4] = positions, np.cos(headings), np.sin(headings), speeds
    return cars


def velocities_of(positions, headings, speeds, wishes, reference):
    count = len(positions)
    velocities, planes = np.zeros((count, 2)), np.zeros(count, np.int64)
    room, slots = gamma.new_room(count)
    cars = make_cars(positions, headings, speeds).ravel()
    run(cars, np.ascontiguousarray(wishes), reference, room, slots, velocities, planes)
    return velocities, planes


def test_agrees_with_reference_outputs():
    folder = os.environ.get("MAGIC_POMDP_VECTORS")
    if folder is None:
        pytest.skip("MAGIC_POMDP_VECTORS does not name a folder with reference outputs")
    good = total = 0
    for scene in json.loads(Path(folder, "gamma.json").read_text())["scenes"]:
        values = {name: np.array([car[name] for car in scene]) for name in scene[0]}
        velocities, planes = velocities_of(
            values["pos"], values["heading_rad"], values["speed"], values["pref_vel"], True
        )
        sound = values["well_conditioned"]
        close = np.hypot(*(velocities - values["new_vel"]).T) < 0.01
        good += (close & (planes == values["num_halfplanes"]))[sound].sum()
        total += sound.sum()
    assert total > 300
    assert good >= 0.99 * total


# --------------------------------------------------------------------------------------------------------- half-planes


def box(car):
    """Corners of the box that others keep out of."""
    along, across = car[2:4], np.array([-car[3], car[2]])
    front, rear, side = gamma.FRONT + 2.0, gamma.REAR + 0.1, gamma.SIDE + 0.5
    return np.array([car[:2] + x * along + y * across for x in (-rear, front) for y in (-side, side)])


def difference(mine, other):
    """The convex hull of all differences of the boxes' points, counter-clockwise."""
    points = (box(other)[:, None] - box(mine)[None]).reshape(-1, 2)
    return points[ConvexHull(points).vertices]


def contains(polygon, point):
    edges, to_point = np.roll(polygon, -1, axis=0) - polygon, point - polygon
    return (edges[:, 0] * to_point[:, 1] - edges[:, 1] * to_point[:, 0] >= 0.0).all()


def leads_to_collision(polygon, velocity):
    return any(contains(polygon, velocity * time) for time in np.linspace(1e-3, gamma.HORIZON, 4000))


def border_distance(polygon, velocity):
    """To the velocity obstacle's border, by sampling: all velocities that just touch within the horizon."""
    t = np.linspace(0.0, 1.0, 300)[:, None]
    sides = np.concatenate([a + t * (b - a) for a, b in zip(polygon, np.roll(polygon, -1, axis=0), strict=True)])
    caps = np.array([side for side in sides if not contains(polygon, 0.999 * side)]) / gamma.HORIZON
    middle = polygon.mean(axis=0)
    angles = np.arctan2(middle[0] * sides[:, 1] - middle[1] * sides[:, 0], sides @ middle)
    rays = [sides[pick] for pick in (angles.argmin(), angles.argmax())]
    far = np.linspace(1.0 / gamma.HORIZON, 20.0, 20000)[:, None]
    border = np.concatenate([caps, *(far * ray for ray in rays)])
    return np.hypot(*(border - velocity).T).min()


def pairs(seed, apart):
    random = np.random.default_rng(seed)
    for _ in range(RANDOM_PAIRS):
        bearing = random.uniform(0.0, 2.0 * np.pi)
        place = random.uniform(*apart) * np.array([np.cos(bearing), np.sin(bearing)])
        yield make_cars(np.array([[0.0, 0.0], place]), random.uniform(-np.pi, np.pi, 2), random.uniform(-0.2, 6.0, 2))


def half_plane(cars, reference=False):
    room, _ = gamma.new_room(2)
    found = gamma.half_plane(cars.ravel(), 0, gamma.CAR, reference, room, 0)
    return found, room[:2], room[2:4]


def test_half_planes_share_the_way_out_of_the_velocity_obstacle():
    seen = 0
    for cars in pairs(0, (4.0, 9.0)):
        polygon = difference(*cars)
        if contains(polygon, np.zeros(2)):
            continue
        seen += 1
        found, point, normal = half_plane(cars)
        own = cars[0, 4] * cars[0, 2:4]
        closing = own - cars[1, 4] * cars[1, 2:4]
        assert found == 1
        assert np.hypot(*normal) == pytest.approx(1.0)
        off = 2.0 * (point - own)
        assert np.hypot(*off) == pytest.approx(border_distance(polygon, closing), abs=0.02)
        if np.hypot(*off) > 0.02:
            colliding = leads_to_collision(polygon, closing)
            assert (normal @ off > 0.0) == colliding  # on the other side of the way out, or of the way in
    assert seen > 10


def test_overlapping_boxes_permit_no_velocity_against_the_shortest_way_out():
    seen = 0
    for cars in pairs(1, (0.5, 4.0)):
        polygon = difference(*cars)
        if not contains(polygon, np.zeros(2)):
            continue
        seen += 1
        found, point, normal = half_plane(cars)
        edges = np.roll(polygon, -1, axis=0) - polygon
        outward = np.stack([edges[:, 1], -edges[:, 0]], axis=1) / np.hypot(*edges.T)[:, None]
        distances = (polygon * outward).sum(axis=1)
        assert found == 1
        assert (point == 0.0).all()
        np.testing.assert_allclose(normal, outward[distances.argmin()], atol=1e-6)
    assert seen > 10


# ----------------------------------------------------------------------------------------------------- linear programs


def test_the_nearest_permitted_velocity():
    """Against a dense grid."""
    random, feasible = np.random.default_rng(2), 0
    step = 0.05
    grid = np.stack(np.meshgrid(np.arange(-10, 10, step), np.arange(-10, 10, step)), axis=-1).reshape(-1, 2)
    grid = grid[np.hypot(*grid.T) <= gamma.MOST_SPEED]
    for _ in range(60):
        count = random.integers(1, 6)
        angles = random.uniform(0.0, 2.0 * np.pi, count)
        normals = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        points, wish = random.uniform(-4.0, 4.0, (count, 2)), random.uniform(-4.0, 4.0, 2)
        room, _ = gamma.new_room(2)
        room[: 4 * count] = np.hstack([points, normals]).ravel()
        found = np.array(gamma.nearest_permitted(*wish, count, np.concatenate([room, np.zeros(64)]), 0))
        assert np.hypot(*found) <= gamma.MOST_SPEED + 1e-9
        lack = ((points[:, None] - grid) * normals[:, None]).sum(axis=2).max(axis=0)
        if (lack < -0.1).any():
            feasible += 1
            assert ((found - points) * normals).sum(axis=1).min() > -1e-9
            best = np.hypot(*(grid[lack <= 0.0] - wish).T).min()
            assert np.hypot(*(found - wish)) <= best + 1e-9
    assert feasible > 20


def test_without_neighbours_a_car_has_its_way():
    wish = np.array([[3.0, 1.0], [1.0, -2.0]])
    velocities, planes = velocities_of(np.array([[0.0, 0.0], [20.0, 0.0]]), np.zeros(2), np.ones(2), wish, False)
    np.testing.assert_array_equal(velocities, wish)
    assert (planes == 0).all()


@given(st.integers(0, 10_000), st.integers(2, 12), st.booleans())
@settings(deadline=None, max_examples=60)
def test_no_velocity_is_faster_than_allowed(seed, count, reference):
    """However crowded: cars may overlap, or stand in the very same place."""
    random = np.random.default_rng(seed)
    positions = random.choice([0.0, 1.0, 10.0]) * random.uniform(-1.0, 1.0, (count, 2))
    headings, speeds = random.uniform(-np.pi, np.pi, count), random.uniform(0.0, 4.0, count)
    wishes = random.uniform(-2.8, 2.8, (count, 2))
    velocities, planes = velocities_of(positions, headings, speeds, wishes, reference)
    assert np.isfinite(velocities).all()
    assert np.hypot(*velocities.T).max() <= gamma.MOST_SPEED + 1e-6
    assert (velocities[planes == 0] == wishes[planes == 0]).all()


@given(st.integers(0, 10_000), st.floats(-np.pi, np.pi))
@settings(deadline=None, max_examples=60)
def test_half_planes_turn_with_the_world(seed, turn):
    """Two cars, seen from elsewhere: as many half-planes, and the same velocities but turned."""
    random = np.random.default_rng(seed)
    positions, headings = random.uniform(-4.0, 4.0, (2, 2)), random.uniform(-np.pi, np.pi, 2)
    speeds, wishes = random.uniform(0.5, 4.0, 2), random.uniform(-2.8, 2.8, (2, 2))
    turned = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    here, planes = velocities_of(positions, headings, speeds, wishes, False)
    there, other_planes = velocities_of(positions @ turned + 50.0, headings + turn, speeds, wishes @ turned, False)
    np.testing.assert_array_equal(planes, other_planes)
    np.testing.assert_allclose(here @ turned, there, atol=1e-5)


# ---------------------------------------------------------------------------------------------------------- neighbours


@pytest.mark.parametrize("count", [1, 2, FEW, FEW + 1, 200])
@pytest.mark.parametrize("width", [0.0, 60.0, 1000.0])
def test_neighbours(count, width):
    random = np.random.default_rng(count)
    cars = make_cars(random.uniform(0.0, 1.0, (count, 2)) * (width, 60.0), np.zeros(count), np.zeros(count))
    room, slots = gamma.new_room(count)
    find_neighbours(cars.ravel(), count, room, slots)
    distances = np.hypot(*(cars[:, None, :2] - cars[None, :, :2]).transpose(2, 0, 1))
    np.fill_diagonal(distances, np.inf)
    for i in range(count):
        expected = [j for j in np.argsort(distances[i]) if distances[i, j] < gamma.REACH][: gamma.NEIGHBOURS]
        first = count + gamma.NEIGHBOURS * i
        assert slots[first : first + slots[i]].tolist() == expected
