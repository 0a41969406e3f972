"""Arrays begin where cache lines do, and asking for a row ahead changes nothing."""

import numpy as np
import pytest
from numba import config, njit

from magic_pomdp.core.memory import CACHE_LINE, aligned_empty, prefetch
from magic_pomdp.core.views import borrow

pytestmark = pytest.mark.jit_off

PAIR = np.dtype((np.record, np.dtype([("number", "i4"), ("values", "f8", (3,))], align=True)))


@pytest.mark.parametrize("kind", [np.float64, np.int32, PAIR])
@pytest.mark.parametrize("shape", [(1,), (1000,), (7, 3)])
def test_an_aligned_array_is_one_of_its_shape_at_a_cache_line(kind, shape):
    array = aligned_empty(shape, kind)
    assert (array.shape, array.dtype) == (shape, np.dtype(kind))
    assert array.ctypes.data % CACHE_LINE == 0
    assert array.flags.c_contiguous
    assert array.flags.writeable


@njit
def read_ahead(rows, index):
    view = borrow(rows)
    prefetch(view, index)
    prefetch(view, -(10**12))  # nobody has to check
    return view[index, 1]


def test_asking_for_a_row_changes_nothing():
    rows = np.arange(12.0).reshape(4, 3)
    assert read_ahead(rows, 2) == 7.0
    np.testing.assert_array_equal(rows, np.arange(12.0).reshape(4, 3))


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is no compiled code")
def test_a_row_is_asked_for():
    read_ahead(np.zeros((4, 3)), 1)
    assert any("prefetch" in text for text in read_ahead.inspect_asm().values())
