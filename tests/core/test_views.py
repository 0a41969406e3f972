"""Views in compiled code behave as arrays do in plain Python."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import config, njit

from magic_pomdp.core.compiling import checked
from magic_pomdp.core.views import borrow
from magic_pomdp.tasks.tiger import Tiger

pytestmark = pytest.mark.jit_off


@njit
def use_vector(vector):
    view = borrow(vector)
    view[0] = 7
    view[-1] += 1.5
    part = view[1:3]
    part[0] = -1.0
    return len(view), len(part), len(view[4:2]), view[-2], part[1], len(view[:]), len(view[-2:])


@njit
def fill_vector(vector):
    view = borrow(vector)
    view[:] = 1
    view[1:-1] = 2.5
    view[::4] = -1.0


@njit
def use_matrix(matrix):
    view = borrow(matrix)
    row = view[1]
    row[0] = 5.0
    view[0, 2] = 6.0
    return len(view), len(row), view[1, 0], view[-1][2]


class Pair(NamedTuple):
    numbers: np.ndarray
    flags: np.ndarray
    factor: float


@njit
def use_tuple(pair):
    view = borrow(pair)
    total = 0.0
    for i in range(len(view.numbers)):
        if view.flags[i]:
            total += view.factor * view.numbers[i]
            view.flags[i] = False
    return total


RECORD = np.dtype((np.record, np.dtype([("value", "f8"), ("count", "i4")], align=True)))


@njit
def use_records(records):
    record = borrow(records)[1]
    record.value += 2.5
    record.count = 3
    return record.value


def test_vector():
    vector = np.arange(5.0)
    assert use_vector(vector) == (5, 2, 0, 3.0, 2.0, 5, 2)
    np.testing.assert_array_equal(vector, [7.0, -1.0, 2.0, 3.0, 5.5])


def test_filling_a_part():
    vector = np.zeros(6)
    fill_vector(vector)
    np.testing.assert_array_equal(vector, [-1.0, 2.5, 2.5, 2.5, -1.0, 1.0])


def test_matrix():
    matrix = np.zeros((2, 3))
    assert use_matrix(matrix) == (2, 3, 5.0, 0.0)
    np.testing.assert_array_equal(matrix, [[0.0, 0.0, 6.0], [5.0, 0.0, 0.0]])


@njit
def part_of_a_cube(cube, first):
    part = borrow(cube)[first:]
    part[0, 1, 2] = -1.0
    return len(part), len(part[0]), len(part[0, 0]), part[0, 0, 1]


def test_slices_along_the_first_of_several_dimensions():
    cube = np.arange(24.0).reshape(3, 2, 4)
    assert part_of_a_cube(cube, 1) == (2, 2, 4, 9.0)
    assert cube[1, 1, 2] == -1.0


def test_tuple_of_arrays():
    flags = np.array([True, False, True])
    assert use_tuple(Pair(np.array([1, 2, 3]), flags, 0.5)) == 2.0
    assert not flags.any()


def test_records():
    records = np.zeros(2, RECORD)
    assert use_records(records) == 2.5
    assert records[1].count == 3


def test_slices_with_a_step_are_refused(jit):
    @njit
    def every_other(vector):
        return len(borrow(vector)[::2])

    with pytest.raises(Exception, match="cannot have a step"):
        every_other(np.zeros(4))


def test_only_contiguous_arrays_can_be_borrowed(jit):
    with pytest.raises(Exception, match="C-contiguous"):
        use_vector(np.arange(10.0)[::2])


@njit
def use_for(task, vector, matrix, index, column):
    vector, matrix = borrow((vector, matrix), task)
    vector[index] += 1.0
    matrix[1, column] = vector[index]
    return matrix[1][column] + vector[1:][0]


def test_a_checked_tasks_views_work_as_others_do():
    for task in (Tiger(), checked(Tiger())):
        vector, matrix = np.arange(3.0), np.zeros((2, 4))
        assert use_for(task, vector, matrix, -1, 3) == 4.0
        assert (vector[2], matrix[1, 3]) == (3.0, 3.0)


@pytest.mark.parametrize(
    ("index", "column", "message"),
    [
        (99, 0, "index 99 is out of bounds for axis 0 with size 3"),
        (-4, 0, "index -4 is out of bounds for axis 0 with size 3"),
        (0, 4, "index 4 is out of bounds for axis 1 with size 4"),
    ],
)
def test_a_checked_tasks_views_have_bounds(index, column, message):
    vector, matrix = np.zeros(3), np.zeros((2, 4))
    with pytest.raises(IndexError, match=message):
        use_for(checked(Tiger()), vector, matrix, index, column)
    assert not matrix.any()


def test_numbas_own_switch_makes_every_task_a_checked_one(jit, monkeypatch):
    assert not Tiger()._numba_type_.checked
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    assert Tiger()._numba_type_ == checked(Tiger())._numba_type_
    assert Tiger()._numba_type_.checked
