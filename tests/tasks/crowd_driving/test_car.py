"""How cars move and touch, against plain formulas, statistics and shapely."""

import math

import numpy as np
import pytest
import shapely
from scipy import stats

from magic_pomdp.core.randomness import new_stream
from magic_pomdp.tasks.crowd_driving import car as driving
from magic_pomdp.tasks.crowd_driving.gamma import CAR, FRONT, REAR, SIDE

pytestmark = pytest.mark.jit_off


def make_car(x=3.0, y=-2.0, heading=0.7, speed=2.0):
    return np.array([x, y, math.cos(heading), math.sin(heading), speed, 0.0, 0.0, 0.0])


def simulated(car, target, acceleration, steer, reference):
    """The same drive in ten thousand small pieces."""
    x, y, heading, speed = car[0], car[1], math.atan2(car[3], car[2]), car[4]
    bend = (math.atan if reference else math.tan)(steer) / driving.WHEEL_BASE
    piece = driving.DURATION / 10_000
    for _ in range(10_000):
        change = max(-acceleration * piece, min(acceleration * piece, target - speed))
        driven = (speed + 0.5 * change) * piece
        x += driven * math.cos(heading + 0.5 * driven * bend)
        y += driven * math.sin(heading + 0.5 * driven * bend)
        heading += driven * bend
        speed += change
    return x, y, math.cos(heading), math.sin(heading), speed


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize(
    ("speed", "target", "steer"),
    [(0.0, 6.0, 0.0), (5.9, 6.0, 0.26), (6.0, 0.0, -0.26), (-0.1, 3.0, 0.1), (4.0, 4.0, 0.00005), (6.0, 6.0, 1.2)],
)
def test_a_drive(speed, target, steer, reference):
    car = make_car(speed=speed)
    found = driving.expected_move(car, 0, target, 3.0, steer, reference)
    np.testing.assert_allclose(found, simulated(car, target, 3.0, steer, reference), atol=2e-5)


@pytest.mark.parametrize("angle", np.linspace(-0.5, 0.5, 21))
def test_series_are_functions(angle):
    assert driving.sine_over(angle) * angle == pytest.approx(math.sin(angle), abs=1e-9)
    assert driving.versine_over(angle) * angle == pytest.approx(1.0 - math.cos(angle), abs=1e-9)
    assert driving.tangent_of(angle) == pytest.approx(math.tan(angle), abs=1e-9)
    assert driving.arc_tangent(angle) == pytest.approx(math.atan(angle), abs=1e-9)


@pytest.mark.parametrize(
    ("velocity", "degrees"),
    [
        ((1.0, 0.0), 0.0),
        ((1.0, math.tan(math.radians(4.0))), 6.0),
        ((1.0, -math.tan(math.radians(9.0))), -13.5),
        ((1.0, math.tan(math.radians(10.5))), 15.0),
        ((1.0, -1.0), -15.0),
        ((-1.0, 0.1), 15.0),
        ((-1.0, -0.1), -15.0),
        ((0.0, 0.0), 0.0),
    ],
)
def test_steering_follows_a_velocity(velocity, degrees):
    assert math.degrees(driving.steer_towards(1.0, 0.0, *velocity)) == pytest.approx(degrees, abs=1e-6)


def test_noise():
    random, moved = new_stream(0), np.tile(make_car(), (3000, 1))
    for row in moved:
        driving.move(row, 0, 4.0, 2.0, 0.1, False, random)
    x, y, cos, sin, speed = driving.expected_move(make_car(), 0, 4.0, 2.0, 0.1, False)
    turn = np.arctan2(cos * moved[:, 3] - sin * moved[:, 2], cos * moved[:, 2] + sin * moved[:, 3])
    for off in ((moved[:, 0] - x) / 0.1, (moved[:, 1] - y) / 0.1, (moved[:, 4] - speed) / 0.1, turn / 0.02):
        assert stats.kstest(off, "norm").pvalue > 1e-4
    np.testing.assert_allclose(np.hypot(moved[:, 2], moved[:, 3]), 1.0, atol=1e-12)
    assert (moved[:, 5] == 0.1).all()
    density = driving.log_density(make_car(), 0, 4.0, 2.0, 0.1, False, moved[0], 0)
    off = [moved[0, 0] - x, moved[0, 1] - y, moved[0, 4] - speed, turn[0]]
    assert density == pytest.approx(stats.norm.logpdf(off, 0.0, [0.1, 0.1, 0.1, 0.02]).sum())


def body(car):
    along, across = car[2:4], np.array([-car[3], car[2]])
    corners = [(-REAR, -SIDE), (FRONT, -SIDE), (FRONT, SIDE), (-REAR, SIDE)]
    return shapely.Polygon([car[:2] + x * along + y * across for x, y in corners])


def test_bodies_touch():
    random, met = np.random.default_rng(0), 0
    for _ in range(300):
        two = [make_car(*random.uniform(-3.0, 3.0, 2), random.uniform(-4.0, 4.0)) for _ in range(2)]
        shapes, cars = [body(car) for car in two], np.concatenate(two)
        touching = shapes[0].intersects(shapes[1])
        corner_inside = any(
            a.intersects(shapely.Point(p)) for a, b in (shapes, shapes[::-1]) for p in b.exterior.coords
        )
        assert driving.bodies_touch(cars, 0, CAR, False) == touching
        assert driving.bodies_touch(cars, 0, CAR, True) == corner_inside
        met += touching
    assert 30 < met < 270


def test_a_cross_is_missed_by_corners():
    cars = np.concatenate([make_car(0.0, 0.0, 0.0), make_car(1.4, -1.4, 0.5 * math.pi)])
    assert driving.bodies_touch(cars, 0, CAR, False)
    assert not driving.bodies_touch(cars, 0, CAR, True)
