"""The time, for compiled code: a search that looks at the clock itself can keep a deadline."""

import time

import llvmlite.ir as ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

FOREVER = 2**63 - 1
"""A deadline that never comes."""
_CLOCK = getattr(time, "CLOCK_MONOTONIC", None)
"""None on systems without it: there a search looks at the clock between its slices alone."""


def now() -> int:
    """Nanoseconds of a clock that never goes back; 0 where the system has none that compiled code can read."""
    return 0 if _CLOCK is None else time.clock_gettime_ns(_CLOCK)


def deadline_after(seconds: float) -> int:
    """The time that comes so many seconds from now."""
    return min(FOREVER, now() + int(min(seconds, 1e9) * 1e9))


def is_late(deadline: int) -> bool:
    """Whether a deadline has passed."""
    return deadline != FOREVER and now() >= deadline


@intrinsic
def _read_clock(typingctx):
    def codegen(context, builder, signature, arguments):
        word = ir.IntType(64)
        reading = cgutils.alloca_once(builder, ir.ArrayType(word, 2))  # seconds and nanoseconds
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), reading.type])
        function = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
        builder.call(function, [ir.Constant(ir.IntType(32), _CLOCK), reading])
        seconds, rest = (builder.load(cgutils.gep_inbounds(builder, reading, 0, i)) for i in range(2))
        return builder.add(builder.mul(seconds, ir.Constant(word, 10**9)), rest)

    return types.int64(), codegen


@overload(now)
def _now():
    return (lambda: 0) if _CLOCK is None else (lambda: _read_clock())


@overload(is_late)
def _is_late(deadline):
    return lambda deadline: deadline != FOREVER and now() >= deadline
