"""Tasks as numba types: a task's methods compile into whatever kernel calls them, and stay compiled on disk.

Functions passed as arguments, or closed over, would defeat numba's disk cache. So the *type* of a task is what selects
its methods. The type is identified by the task class and a digest of every source file whose code can end up in a
kernel; parameters travel as plain run-time numbers. A later process finds the compiled kernel under the same type;
an edited file gives another digest, and therefore fresh code. With NUMBA_DISABLE_JIT=1 nothing here is used: methods
are then called as ordinary Python.
"""

import hashlib
import inspect
import sys
import typing
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import njit, typeof, types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.core.imputils import impl_ret_borrowed
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

    def __init__(self, identity: str, digest: str, fields: tuple[tuple[str, types.Type], ...]) -> None:
        self.identity, self.digest, self.fields = identity, digest, fields
        super().__init__(name=f"Task({identity}, {digest}, {fields})")

    @property
    def task_class(self) -> type:
        return _classes[self.identity, self.digest]


def task_type(task: Any) -> TaskType:
    """The numba type of a task object: its class, the digest of its code, and its parameters' types."""
    cls: Any = type(task)
    arrays = tuple((name, typeof(getattr(task, name))) for name in _array_fields(cls))
    return _make_type(cls, arrays)


@cache
def _make_type(cls: type, arrays: tuple[tuple[str, types.Type], ...]) -> TaskType:
    identity, digest = f"{cls.__module__}.{cls.__qualname__}", code_digest(cls)
    _classes[identity, digest] = cls
    scalars = tuple((name, _SCALARS[kind]) for name, kind in parameter_kinds(cls).items() if kind in _SCALARS)
    return TaskType(identity, digest, scalars + arrays)


@cache
def parameter_kinds(cls: Any) -> dict[str, type]:
    """The parameters that compiled code knows, by name: float, int, bool or np.ndarray."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls) if hints[field.name] in ACCEPTED}


@cache
def _array_fields(cls: type) -> tuple[str, ...]:
    return tuple(name for name, kind in parameter_kinds(cls).items() if kind is np.ndarray)


# ------------------------------------------------------------------------------------------------ digest of the code


@cache
def code_digest(cls: type) -> str:
    """A fingerprint of all code and constants that compiling the methods of `cls` can pull in."""
    sources: dict[str, bytes] = {}
    for folder in ("core", "planners"):
        for path in (Path(__file__).parents[1] / folder).glob("*.py"):
            sources[str(path)] = path.read_bytes()
    for base in cls.__mro__:
        for name, value in vars(base).items():
            if isinstance(value, FunctionType):
                _collect(value, sources)
            elif isinstance(value, (int, float)):
                sources[f"{base.__qualname__}.{name}"] = repr(value).encode()
    digest = hashlib.sha256()
    for name in sorted(sources):
        digest.update(Path(name).name.encode() + b"\0" + sources[name] + b"\0")
    return digest.hexdigest()[:16]


def _collect(function: FunctionType, sources: dict[str, bytes]) -> None:
    """Add the source of a function's module, and of everything the function refers to, to `sources`."""
    module = sys.modules.get(function.__module__)
    path = getattr(module, "__file__", None)
    label = path or f"{function.__module__}.{function.__qualname__}"
    marker = f"{label}:{function.__qualname__}"
    if marker in sources:
        return
    sources[marker] = b""
    if path and Path(path).exists():
        sources.setdefault(path, Path(path).read_bytes())
    else:  # typed at a prompt or in a notebook: the code itself is all there is
        sources[label] = function.__code__.co_code + repr(function.__code__.co_consts).encode()
    used = inspect.getclosurevars(function)
    for name, value in {**used.globals, **used.nonlocals}.items():
        if isinstance(value, Dispatcher):
            value = value.py_func
        if isinstance(value, FunctionType):
            _collect(value, sources)
        elif isinstance(value, ModuleType):
            for attribute in function.__code__.co_names:
                member = getattr(value, attribute, None)
                if isinstance(member, Dispatcher):
                    _collect(member.py_func, sources)
                elif isinstance(member, (int, float)):
                    sources[f"{label}:{name}.{attribute}"] = repr(member).encode()
        elif isinstance(value, np.ndarray):
            sources[f"{label}:{name}"] = value.tobytes()
        else:
            sources[f"{label}:{name}"] = repr(value).encode()


# -------------------------------------------------------------------------------------------- how numba sees a task


def declare(cls: type) -> None:
    """Make the methods of a task class callable in compiled code."""
    for name, value in vars(cls).items():
        if isinstance(value, FunctionType) and not name.startswith("__") and name not in _declared_methods:
            _declared_methods.add(name)
            _declare_method(name)


def _declare_method(name: str) -> None:
    @lower_builtin((TaskType, name), TaskType, types.VarArg(types.Any))
    def call_method(context, builder, signature, arguments):
        method = _compiled_method(signature.args[0], name)
        signature = method.get_call_type(context.typing_context, signature.args, {})
        call = context.get_function(method, signature)
        context.add_linking_libs(getattr(call, "libs", ()))
        return call(builder, arguments)


@cache
def _dispatcher(task_type: TaskType, name: str) -> Dispatcher:
    return njit(error_model="numpy", forceinline=True)(getattr(task_type.task_class, name))


def _compiled_method(task_type: TaskType, name: str) -> types.Dispatcher:
    return types.Dispatcher(_dispatcher(task_type, name))


@register_model(TaskType)
class _TaskModel(models.StructModel):
    def __init__(self, manager, task_type: TaskType) -> None:
        super().__init__(manager, task_type, list(task_type.fields))


@unbox(TaskType)
def _unbox_task(task_type: TaskType, task, c) -> NativeValue:
    struct = cgutils.create_struct_proxy(task_type)(c.context, c.builder)
    failed = cgutils.false_bit
    for name, field_type in task_type.fields:
        value = c.pyapi.object_getattr_string(task, name)
        native = c.unbox(field_type, value)
        setattr(struct, name, native.value)
        failed = c.builder.or_(failed, native.is_error)
        c.pyapi.decref(value)
    return NativeValue(struct._getvalue(), is_error=failed)


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
    for name, field_type in task_type.fields:
        if name == attribute:
            struct = cgutils.create_struct_proxy(task_type)(context, builder, value=task)
            return impl_ret_borrowed(context, builder, field_type, getattr(struct, name))
    constant = getattr(task_type.task_class, attribute)
    return context.get_constant(_SCALARS[type(constant)], constant)
