"""Tasks as numba types: a task's methods compile into whatever kernel calls them, and stay compiled on disk.

Functions passed as arguments, or closed over, would defeat numba's disk cache. So the *type* of a task is what selects
its methods. The type is identified by the task class and a digest of all code and constants that can end up in a
kernel; parameters travel as plain run-time numbers. A later process finds the compiled kernel under the same type;
edited code gives another digest, and is therefore compiled afresh. (Numba itself looks only at a kernel's own file: so
kernels that take a task are cached, and the functions they call are not.) With NUMBA_DISABLE_JIT=1 nothing here is
used: methods are then called as ordinary Python.

The type also tells whether a task is *checked*: then every index of its arrays is looked at (`views.py`), which makes
it several times slower. Numba's own switch, NUMBA_BOUNDSCHECK=1, makes all tasks so; `checked` makes one.
"""

import copy
import enum
import hashlib
import inspect
import sys
import typing
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import config, njit, typeof, types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    unbox,
)
from numba.np import arrayobj

from magic_pomdp.core.caching import keep
from magic_pomdp.core.functions import FUNCTIONS
from magic_pomdp.core.parts import part

_Task = TypeVar("_Task")

compiled = part()
inlined = part(forceinline=True)
"""For what kernels call; a short function is faster as a copy."""


def kernel(function: Any) -> Any:
    """For what is called from Python: it stays compiled on disk."""
    return keep(njit(error_model="numpy")(function))


def search_kernel(function: Any) -> Any:
    """A kernel that may run for long: other threads of Python go on meanwhile. Its task must be nobody else's, for a
    task may have room to work in among its arrays (`own_copy`)."""
    return keep(njit(error_model="numpy", nogil=True)(function))


def own_copy(task: _Task) -> _Task:
    """The same task with arrays of its own."""
    twin = copy.copy(task)
    for name in _array_fields(type(task)):  # type: ignore[arg-type]  # it is hashable
        vars(twin)[name] = getattr(task, name).copy()
    return twin


ACCEPTED: dict[type, tuple[type, ...]] = {
    float: (int, float, np.floating),
    int: (int, np.integer),
    bool: (bool, np.bool_),
    np.ndarray: (np.ndarray,),
}
"""Kinds of parameters, and the values that each accepts."""

_SCALARS = {float: types.float64, int: types.int64, bool: types.boolean}

_classes: dict[tuple[str, str], type] = {}
"""Task classes by (identity, digest): how a type met in a kernel finds the methods to compile."""

_declared_methods: set[str] = set()


class TaskType(types.Type):
    """The numba type of a task. It holds names only, so that an index of the disk cache loads in any process."""

    def __init__(self, identity: str, digest: str, fields: tuple[tuple[str, types.Type], ...], checked: bool) -> None:
        self.identity, self.digest, self.fields, self.checked = identity, digest, fields, checked
        super().__init__(name=f"{'Checked' if checked else ''}Task({identity}, {digest}, {fields})")

    @property
    def task_class(self) -> type:
        return _classes[self.identity, self.digest]


def task_type(task: Any, checked: bool = False) -> TaskType:
    """The numba type of a task object: its class, the digest of its code, its parameters' types, and whether it is
    checked."""
    cls: Any = type(task)
    arrays = tuple((name, typeof(getattr(task, name))) for name in _array_fields(cls))
    return _make_type(cls, arrays, checked or bool(config.BOUNDSCHECK))


def checked(task: _Task) -> _Task:
    """The same task, but with every index of its arrays looked at in compiled code: one that is out of bounds raises
    an IndexError."""
    twin = copy.copy(task)
    vars(twin)["_numba_type_"] = task_type(task, checked=True)
    return twin


@cache
def _make_type(cls: type, arrays: tuple[tuple[str, types.Type], ...], checked: bool) -> TaskType:
    identity, digest = f"{_module_name(cls)}.{cls.__qualname__}", code_digest(cls)
    _classes[identity, digest] = cls
    scalars = tuple((name, _SCALARS[kind]) for name, kind in parameter_kinds(cls).items() if kind in _SCALARS)
    return TaskType(identity, digest, scalars + arrays, checked)


def _module_name(cls: type) -> str:
    """The module's name, the same in a script and in the workers that import the script."""
    if cls.__module__ in ("__main__", "__mp_main__"):
        return Path(getattr(sys.modules.get(cls.__module__), "__file__", None) or "prompt").stem
    return cls.__module__


@cache
def parameter_kinds(cls: Any) -> dict[str, type]:
    """The parameters that compiled code knows, by name: float, int, bool or np.ndarray."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls) if hints[field.name] in ACCEPTED}


@cache
def _array_fields(cls: type) -> tuple[str, ...]:
    return tuple(name for name, kind in parameter_kinds(cls).items() if kind is np.ndarray)


# ------------------------------------------------------------------------------------------------ digest of the code


def _read_package() -> bytes:
    folder = Path(__file__).parents[1]
    return b"".join(path.read_bytes() for part in ("core", "planners") for path in sorted((folder / part).glob("*.py")))


_PACKAGE = hashlib.sha256(_read_package()).digest()
"""Of the package's own code, as it was when it was imported."""


@cache
def code_digest(cls: type) -> str:
    """A fingerprint of all code and constants that compiling the functions of `cls` can pull in.

    It is taken from the code in memory, which is what will be compiled, and not from files, which may have changed.
    """
    digest = _Digest(cls)
    for name in FUNCTIONS:
        digest.add(getattr(cls, name, None))
    return digest.hash.hexdigest()[:16]


def digest_of(values: Iterable[Any]) -> str:
    """A fingerprint of values that compiled code may hold."""
    digest = _Digest(object, b"")
    for value in values:
        digest.add(value)
    return digest.hash.hexdigest()[:16]


class _Digest:
    """Walks through functions and what they refer to."""

    def __init__(self, cls: type, beginning: bytes = _PACKAGE) -> None:
        self.cls = cls
        self.hash = hashlib.sha256(beginning)
        self.seen: set[int] = set()

    def add(self, value: Any) -> None:
        """Take in a value that compiled code may hold: a function, a number, or a collection of them."""
        if isinstance(value, Dispatcher):
            value = value.py_func
        if isinstance(value, (FunctionType, type)):
            if id(value) in self.seen:
                return
            self.seen.add(id(value))
        if isinstance(value, FunctionType):
            self._add_function(value)
        elif isinstance(value, (bool, int, float, complex, str, bytes, np.generic, type(None))):
            self._text(f"{type(value).__name__} {value!r}")
        elif isinstance(value, np.ndarray):
            self._text(f"array {value.dtype} {value.shape}")
            self.hash.update(value.tobytes())
        elif isinstance(value, tuple):
            self._text(f"tuple {len(value)}")
            for member in value:
                self.add(member)
        elif isinstance(value, enum.EnumType):
            for name, member in value.__members__.items():
                self._text(name)
                self.add(member.value)
        else:
            self._text(type(value).__name__)  # nothing that numba would freeze into code

    def _add_function(self, function: FunctionType) -> None:
        names: list[str] = []
        self._add_code(function.__code__, names)
        self.add(function.__defaults__)
        for cell in function.__closure__ or ():
            self.add(cell.cell_contents)
        for name in names:
            self._text(name)
            if name in function.__globals__:
                self._add_global(function.__globals__[name], names)
            self.add(inspect.getattr_static(self.cls, name, None))  # it may stand for self.name

    def _add_global(self, value: Any, names: list[str]) -> None:
        if not isinstance(value, ModuleType):
            self.add(value)
        elif id(value) not in self.seen:
            self.seen.add(id(value))
            for name in names:  # of which some are looked up in the module
                if hasattr(value, name):
                    self._text(name)
                    self._add_global(getattr(value, name), names)
            self.seen.discard(id(value))

    def _add_code(self, code: CodeType, names: list[str]) -> None:
        names.extend(code.co_names)
        self.hash.update(code.co_code)
        self._text(f"{code.co_varnames} {code.co_freevars}")
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._add_code(constant, names)
            elif isinstance(constant, frozenset):
                self._text(repr(sorted(map(repr, constant))))
            else:
                self.add(constant)

    def _text(self, text: str) -> None:
        self.hash.update(text.encode() + b"\0")


# -------------------------------------------------------------------------------------------- how numba sees a task


def declare(cls: type) -> None:
    """Make the methods of a task class callable in compiled code."""
    for base in cls.__mro__:
        for name, value in vars(base).items():
            if isinstance(value, FunctionType) and not name.startswith("__") and name not in _declared_methods:
                _declared_methods.add(name)
                _declare_method(name)


def _declare_method(name: str) -> None:
    @lower_builtin((TaskType, name), TaskType, types.VarArg(types.Any))
    def call_method(context, builder, signature, arguments):
        return compiled_call(context, _compiled_method(signature.args[0], name), signature.args)(builder, arguments)


def compiled_call(context, function: types.Dispatcher, kinds: tuple[types.Type, ...]):
    """How code that is being lowered calls a compiled function with arguments of some types."""
    call = context.get_function(function, function.get_call_type(context.typing_context, kinds, {}))
    context.add_linking_libs(getattr(call, "libs", ()))
    return call


def not_inlined(function):
    """Marks a long function of a task: it is compiled once and called, not copied to every place that calls it. Short
    ones are faster as copies; a long one, copied to a dozen places, takes minutes to compile."""
    function.inlined = False
    return function


@cache
def _dispatcher(task_type: TaskType, name: str) -> Dispatcher:
    method = getattr(task_type.task_class, name)
    if task_type.checked:
        return part(boundscheck=True)(method)
    return part(forceinline=getattr(method, "inlined", True))(method)


def _compiled_method(task_type: TaskType, name: str) -> types.Dispatcher:
    return types.Dispatcher(_dispatcher(task_type, name))


def parameter_words(task: Any) -> np.ndarray:
    """A task's parameters as compiled code reads them: words of 64 bits, in the order of its type's fields. An array is
    where its data are and how they lie. It has no owner here, so compiled code counts no references to it, atomically,
    whenever it passes the task on; the task keeps it alive, and the caller of a kernel the task."""
    words: list[Any] = []
    for name, field_type in task._numba_type_.fields:
        value = getattr(task, name)
        if isinstance(field_type, types.Array):
            words += [np.int64(word) for word in (value.ctypes.data, *value.shape, *value.strides)]
        else:
            words.append(np.float64(value) if field_type == types.float64 else np.int64(value))
    return np.array([word.view(np.int64) for word in words], np.int64)


def word_count(field_type: types.Type) -> int:
    """Words that a parameter of some type takes."""
    return 1 + 2 * field_type.ndim if isinstance(field_type, types.Array) else 1


@register_model(TaskType)
class _TaskModel(models.PrimitiveModel):
    """In compiled code a task is the address of its parameters, which never change."""

    def __init__(self, manager, task_type: TaskType) -> None:
        super().__init__(manager, task_type, ir.IntType(64).as_pointer())


@unbox(TaskType)
def _unbox_task(task_type: TaskType, task, c) -> NativeValue:
    address = c.pyapi.object_getattr_string(task, "_address_")
    failed = cgutils.is_null(c.builder, address)
    words = cgutils.alloca_once_value(c.builder, ir.Constant(ir.IntType(64).as_pointer(), None))
    with c.builder.if_then(c.builder.not_(failed)):
        c.builder.store(c.builder.bitcast(c.pyapi.long_as_voidptr(address), words.type.pointee), words)
        c.pyapi.decref(address)
    return NativeValue(c.builder.load(words), is_error=failed)


@infer_getattr
class _TaskAttributes(AttributeTemplate):
    key = TaskType

    def generic_resolve(self, task_type: TaskType, attribute: str) -> types.Type | None:
        for name, field_type in task_type.fields:
            if name == attribute:
                return field_type
        value = getattr(task_type.task_class, attribute, None)
        if isinstance(value, FunctionType):
            return types.BoundFunction(_method_template(task_type, attribute), task_type)
        return _SCALARS.get(type(value))


def _method_template(task_type: TaskType, name: str) -> type[AbstractTemplate]:
    class MethodTemplate(AbstractTemplate):
        key = (TaskType, name)

        def generic(self, arguments, keywords):
            method = _compiled_method(task_type, name)
            return method.get_call_type(self.context, (task_type, *arguments), keywords).as_method()

    return MethodTemplate


@lower_getattr_generic(TaskType)
def _lower_attribute(context, builder, task_type: TaskType, task, attribute: str):
    place = 0
    for name, field_type in task_type.fields:
        if name == attribute:
            return _read_parameter(context, builder, task, place, field_type)
        place += word_count(field_type)
    constant = getattr(task_type.task_class, attribute)
    return context.get_constant(_SCALARS[type(constant)], constant)


def _read_parameter(context, builder, words, place: int, field_type: types.Type):
    if field_type == types.boolean:
        return builder.trunc(_read_word(builder, words, place, ir.IntType(64)), ir.IntType(1))
    if not isinstance(field_type, types.Array):
        return _read_word(builder, words, place, context.get_value_type(field_type))
    size, item = field_type.ndim, context.get_data_type(field_type.dtype)
    layout = [_read_word(builder, words, place + 1 + i, ir.IntType(64)) for i in range(2 * size)]
    array = context.make_array(field_type)(context, builder)
    arrayobj.populate_array(
        array,
        data=_read_word(builder, words, place, item.as_pointer()),
        shape=cgutils.pack_array(builder, layout[:size]),
        strides=cgutils.pack_array(builder, layout[size:]),
        itemsize=context.get_constant(types.intp, context.get_abi_sizeof(item)),
        meminfo=None,
    )
    return array._getvalue()


def _read_word(builder, words, place: int, kind):
    """One word, as a value of some kind. Nobody writes there, whatever else the code around does write."""
    pointer = builder.gep(words, [ir.Constant(ir.IntType(64), place)])
    value = builder.load(builder.bitcast(pointer, kind.as_pointer()))
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value
