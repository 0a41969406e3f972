import numpy as np
import pytest

from magic_pomdp.macros import StairSpace, directions
from magic_pomdp.macros.stairs import stairs


def test_stairs_are_moves_along_the_axes():
    space = StairSpace(20)
    decoded = space.decode(np.random.default_rng(0).normal(size=(8, 6)))
    assert decoded.lengths.tolist() == [20] * 8
    assert (np.abs(decoded.actions).sum(axis=2) == 1.0).all()
    assert (np.abs(decoded.actions).max(axis=2) == 1.0).all()


@pytest.mark.parametrize("turn", [0.0, 0.3, 1.2, 2.0, 3.6, 5.0])
def test_stairs_stay_near_the_curve(turn):
    headings = directions(np.linspace(turn, turn + 1.5, 40))[None]
    wanted = np.cumsum(headings / np.abs(headings).sum(axis=2, keepdims=True), axis=1)
    assert np.abs(np.cumsum(stairs(headings), axis=1) - wanted).max() <= 1.0


def test_lines_along_the_axes_stay_and_diagonals_alternate():
    east, north_east = stairs(np.array([[[1.0, 0.0]] * 4, [[0.6, 0.6]] * 4]))
    assert east.tolist() == [[1.0, 0.0]] * 4
    assert north_east.tolist() == [[1.0, 0.0], [0.0, 1.0]] * 2


def test_a_space_of_stairs_is_another_than_that_of_its_curves():
    space = StairSpace(3, 4, extra=(((0.0, -1.0),) * 5,))
    decoded = space.decode(space.start)
    assert decoded.lengths.tolist() == [3, 3, 3, 3, 5]
    assert decoded.actions[:, 0].tolist() == [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [0.0, -1.0]]
    assert space.describe() == {"space": "stairs", "count": 4, "size": 6, "length": 3}
