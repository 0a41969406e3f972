"""How compiled code meets memory: arrays that begin where a cache line does, and rows that are asked for ahead.

A large tree is not in the cache. Whoever walks down it waits a hundred nanoseconds for each row that tells where the
next one is, unless it has asked for it before and had something else to do meanwhile.
"""

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from magic_pomdp.core.views import ViewType

CACHE_LINE = 64
"""Bytes that come from memory together."""

_READ, _KEEP, _DATA = 0, 3, 1


def aligned_empty(shape: tuple[int, ...], kind: np.dtype | type = np.float64) -> np.ndarray:
    """An array of which nothing is set, that begins where a cache line does. Its memory is only reserved: the system
    hands it out as it is first touched."""
    dtype = np.dtype(kind)
    size = math.prod(shape) * dtype.itemsize
    room = np.empty(size + CACHE_LINE, np.uint8)
    first = -room.ctypes.data % CACHE_LINE
    return room[first : first + size].view(dtype).reshape(shape)


def prefetch(rows, index):
    """Ask for a row of a view, which is going to be read: nobody waits for it. Any index will do."""


@intrinsic
def _prefetch(typingctx, view, index):
    def codegen(context, builder, signature, arguments):
        source = cgutils.create_struct_proxy(view)(context, builder, value=arguments[0])
        row = arguments[1]
        for size in cgutils.unpack_tuple(builder, source.shape)[1:]:
            row = builder.mul(row, size)
        address = builder.bitcast(builder.gep(source.data, [row]), cgutils.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
        builder.call(ask, [address, *(ir.Constant(number, how) for how in (_READ, _KEEP, _DATA))])
        return context.get_dummy_value()

    return types.none(view, types.intp), codegen


@overload(prefetch, inline="never")
def _prefetch_row(rows, index):
    if isinstance(rows, ViewType) and isinstance(index, types.Integer):
        return lambda rows, index: _prefetch(rows, index)
    return None
