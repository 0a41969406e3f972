"""Words that several threads read and write: each operation on one is done whole, and what was written before it is
seen by who reads it. With the JIT off there is one thread, and these are ordinary reads and writes.

Words are elements of int64 arrays, or of views of them.
"""

import platform

import llvmlite.ir as ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

_PAUSE = "llvm.x86.sse2.pause" if platform.machine() in ("x86_64", "AMD64") else None
"""The processor's instruction for who waits in a loop; others than this one have no need of it."""


def load(words, index):
    """A word."""
    return words[index]


def store(words, index, value):
    """Write a word."""
    words[index] = value


def add(words, index, value):
    """Add to a word."""
    words[index] += value


def swap(words, index, expected, value):
    """Write a word if it is as expected; whether it was."""
    if words[index] != expected:
        return False
    words[index] = value
    return True


def pause():
    """What to do in a loop that waits for another thread."""


def _address(context, builder, view, words, index):
    source = cgutils.create_struct_proxy(view)(context, builder, value=words)
    return builder.gep(source.data, [index])


@intrinsic
def _load(typingctx, words, index):
    def codegen(context, builder, signature, arguments):
        return builder.load_atomic(_address(context, builder, words, *arguments), "seq_cst", 8)

    return types.int64(words, types.intp), codegen


@intrinsic
def _store(typingctx, words, index, value):
    def codegen(context, builder, signature, arguments):
        builder.store_atomic(arguments[2], _address(context, builder, words, *arguments[:2]), "release", 8)
        return context.get_dummy_value()

    return types.none(words, types.intp, types.int64), codegen


@intrinsic
def _add(typingctx, words, index, value):
    def codegen(context, builder, signature, arguments):
        builder.atomic_rmw("add", _address(context, builder, words, *arguments[:2]), arguments[2], "seq_cst")
        return context.get_dummy_value()

    return types.none(words, types.intp, types.int64), codegen


@intrinsic
def _swap(typingctx, words, index, expected, value):
    def codegen(context, builder, signature, arguments):
        place = _address(context, builder, words, *arguments[:2])
        found = builder.cmpxchg(place, arguments[2], arguments[3], "acq_rel", "acquire")
        return builder.extract_value(found, 1)

    return types.boolean(words, types.intp, types.int64, types.int64), codegen


@intrinsic
def _pause(typingctx):
    def codegen(context, builder, signature, arguments):
        if _PAUSE is not None:
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, _PAUSE), [])
        return context.get_dummy_value()

    return types.none(), codegen


@overload(load)
def _overload_load(words, index):
    return lambda words, index: _load(words, index)


@overload(store)
def _overload_store(words, index, value):
    return lambda words, index, value: _store(words, index, value)


@overload(add)
def _overload_add(words, index, value):
    return lambda words, index, value: _add(words, index, value)


@overload(swap)
def _overload_swap(words, index, expected, value):
    return lambda words, index, expected, value: _swap(words, index, expected, value)


@overload(pause)
def _overload_pause():
    return lambda: _pause()
