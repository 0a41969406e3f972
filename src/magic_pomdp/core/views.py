"""Arrays without reference counts, for compiled code.

A numba array counts its references atomically whenever a row of it is taken; in a loop that steps a state in a few
nanoseconds this costs more than the step. A *view* is the bare pointer and shape. Kernels `borrow` their arrays on
entry (the caller keeps them alive) and hand views to the task's functions. There `state[i]`, `state[a:b]`,
`len(state)`, `state[i] = x` and `state[a:b] = x` work as with arrays. With the JIT off, `borrow` gives the arrays.

An index beyond the end is not noticed: it reads or writes whatever lies there. Views that are borrowed for a *checked*
task (`compiling.checked`) look at every index first, and raise an IndexError. They are of another type, so the code of
the one build is never taken for the other's.
"""

import math
import operator

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import (
    intrinsic,
    lower_builtin,
    models,
    overload,
    register_model,
)

from magic_pomdp.core.compiling import TaskType, compiled_call, inlined, word_count


class ViewType(types.Type):
    """A C-contiguous array of `ndim` dimensions that somebody else keeps alive."""

    def __init__(self, dtype: types.Type, ndim: int, checked: bool = False) -> None:
        self.dtype, self.ndim, self.checked = dtype, ndim, checked
        super().__init__(name=f"{'Checked' if checked else ''}View({dtype}, {ndim})")


@register_model(ViewType)
class _ViewModel(models.StructModel):
    def __init__(self, manager, view: ViewType) -> None:
        members = [("data", types.CPointer(view.dtype)), ("shape", types.UniTuple(types.intp, view.ndim))]
        super().__init__(manager, view, members)


def borrow(value, task=None):
    """A view of an array, or a tuple of views of a tuple of arrays; anything else comes back unchanged. A kernel names
    the task whose functions it calls: if that is checked, so are the views."""
    return value


@infer_global(borrow)
class _Borrow(AbstractTemplate):
    key = borrow

    def generic(self, arguments, keywords):
        if keywords or len(arguments) not in (1, 2):
            return None
        source, checked = arguments[0], isinstance(arguments[-1], TaskType) and arguments[-1].checked
        return signature(_view_type(source, checked), *arguments)


@lower_builtin(borrow, types.Any)
@lower_builtin(borrow, types.Any, types.Any)
def _lower_borrow(context, builder, signature, arguments):
    return _lower_view(context, builder, signature.args[0], signature.return_type, arguments[0])


def _view_type(source: types.Type, checked: bool) -> types.Type:
    if isinstance(source, types.Array):
        if source.layout != "C":
            raise TypingError("Only C-contiguous arrays can be borrowed: use np.ascontiguousarray first.")
        return ViewType(source.dtype, source.ndim, checked)
    if isinstance(source, types.BaseTuple):
        members = [_view_type(member, checked) for member in source.types]
        return types.BaseTuple.from_types(members, getattr(source, "instance_class", None))
    return source


def _lower_view(context, builder, source: types.Type, target: types.Type, value):
    if isinstance(source, types.Array):
        array = context.make_array(source)(context, builder, value)
        view = cgutils.create_struct_proxy(target)(context, builder)
        view.data, view.shape = array.data, array.shape
        return view._getvalue()
    if isinstance(source, types.BaseTuple):
        members = zip(source.types, target.types, cgutils.unpack_tuple(builder, value), strict=True)
        return context.make_tuple(builder, target, [_lower_view(context, builder, *member) for member in members])
    return value


def _pointer(context, builder, view_type: ViewType, view, indices):
    """Where the element, or the row, at some leading indices begins."""
    shape = cgutils.unpack_tuple(builder, view.shape)
    zero = context.get_constant(types.intp, 0)
    indices = list(indices) + [zero] * (view_type.ndim - len(indices))
    return cgutils.get_item_pointer2(context, builder, view.data, shape, None, "C", indices)


def _unpack_indices(context, builder, view_type: ViewType, view, index_type, index):
    """The leading indices of an element or a row; those of a checked view lie within it."""
    if isinstance(index_type, types.BaseTuple):
        members = list(zip(index_type.types, cgutils.unpack_tuple(builder, index), strict=True))
    else:
        members = [(index_type, index)]
    indices = [context.cast(builder, value, kind, types.intp) for kind, value in members]
    sizes = cgutils.unpack_tuple(builder, view.shape)[: len(indices)]
    if not view_type.checked:
        if _wraps(index_type):
            negative = builder.icmp_signed("<", indices[0], context.get_constant(types.intp, 0))
            indices = [builder.select(negative, builder.add(indices[0], sizes[0]), indices[0])]
        return indices
    wraps = context.get_constant(types.boolean, _wraps(index_type))
    axes = [context.get_constant(types.intp, axis) for axis in range(len(indices))]
    check = compiled_call(context, types.Dispatcher(_within), (types.intp, types.intp, types.intp, types.boolean))
    return [check(builder, (*one, wraps)) for one in zip(indices, sizes, axes, strict=True)]


class OutOfBounds(IndexError):
    """A checked view has no such index. Python makes the text: in compiled code it would take minutes to compile."""

    def __init__(self, index: int, axis: int, size: int) -> None:
        super().__init__(f"index {index} is out of bounds for axis {axis} with size {size}")


@njit
def _within(index, size, axis, wraps):
    """An index of a checked view, counted from the beginning."""
    found = index + size if wraps and index < 0 else index
    if found < 0 or found >= size:
        raise OutOfBounds(index, axis, size)
    return found


def _wraps(index: types.Type) -> bool:
    """Whether an index may count from the end. Those of several dimensions may not."""
    return isinstance(index, types.Integer) and index.signed


def _index_count(index: types.Type) -> int:
    return len(index) if isinstance(index, types.BaseTuple) else 1


def _is_place(view: types.Type, index: types.Type) -> bool:
    """Whether this is a view, and an index of an element or a row of it."""
    members = index.types if isinstance(index, types.BaseTuple) else (index,)
    return (
        isinstance(view, ViewType)
        and all(isinstance(member, types.Integer) for member in members)
        and len(members) <= view.ndim
    )


# These three are used so often that numba's usual way, a compiled function for each kind of view and index, would be a
# good part of the time to compile.


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, arguments, keywords):
        view, index = arguments
        if not _is_place(view, index):
            return None
        rest = view.ndim - _index_count(index)
        found = view.dtype if rest == 0 else ViewType(view.dtype, rest, view.checked)
        return signature(found, view, types.unliteral(index))


@lower_builtin(operator.getitem, ViewType, types.Integer)
@lower_builtin(operator.getitem, ViewType, types.BaseTuple)
def _lower_getitem(context, builder, signature, arguments):
    (view, index), found = signature.args, signature.return_type
    source = cgutils.create_struct_proxy(view)(context, builder, value=arguments[0])
    indices = _unpack_indices(context, builder, view, source, index, arguments[1])
    pointer = _pointer(context, builder, view, source, indices)
    if not isinstance(found, ViewType) or found.ndim == view.ndim:
        return context.unpack_value(builder, view.dtype, pointer)
    row = cgutils.create_struct_proxy(found)(context, builder)
    row.data = pointer
    row.shape = cgutils.pack_array(builder, cgutils.unpack_tuple(builder, source.shape)[-found.ndim :])
    return row._getvalue()


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, arguments, keywords):
        view, index, value = arguments
        if not _is_place(view, index) or _index_count(index) < view.ndim:
            return None
        if not self.context.can_convert(value, view.dtype):
            return None
        return signature(types.none, view, types.unliteral(index), view.dtype)


@lower_builtin(operator.setitem, ViewType, types.Integer, types.Any)
@lower_builtin(operator.setitem, ViewType, types.BaseTuple, types.Any)
def _lower_setitem(context, builder, signature, arguments):
    view, index, _ = signature.args
    target = cgutils.create_struct_proxy(view)(context, builder, value=arguments[0])
    indices = _unpack_indices(context, builder, view, target, index, arguments[1])
    context.pack_value(builder, view.dtype, arguments[2], _pointer(context, builder, view, target, indices))
    return context.get_dummy_value()


@infer_global(len)
class _Length(AbstractTemplate):
    def generic(self, arguments, keywords):
        (view,) = arguments
        return signature(types.intp, view) if isinstance(view, ViewType) else None


@lower_builtin(len, ViewType)
def _lower_length(context, builder, signature, arguments):
    source = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=arguments[0])
    return cgutils.unpack_tuple(builder, source.shape)[0]


@intrinsic
def _slice(typingctx, view, start, stop):
    def codegen(context, builder, signature, arguments):
        source = cgutils.create_struct_proxy(view)(context, builder, value=arguments[0])
        part = cgutils.create_struct_proxy(view)(context, builder)
        part.data = _pointer(context, builder, view, source, [arguments[1]])
        rest = cgutils.unpack_tuple(builder, source.shape)[1:]
        part.shape = cgutils.pack_array(builder, [builder.sub(arguments[2], arguments[1]), *rest])
        return part._getvalue()

    return view(view, types.intp, types.intp), codegen


@overload(operator.getitem)
def _view_slice(view, index):
    if not (isinstance(view, ViewType) and isinstance(index, types.SliceType)):
        return None
    if index.has_step:
        raise TypingError("A slice of a task's array cannot have a step: write a loop instead.")

    def get_slice(view, index):
        start, stop, _ = index.indices(len(view))
        return _slice(view, start, max(start, stop))

    return get_slice


@overload(operator.setitem)
def _view_fill(view, index, value):
    if not (isinstance(view, ViewType) and view.ndim == 1 and isinstance(index, types.SliceType)):
        return None
    if not isinstance(value, types.Number):
        return None

    def fill(view, index, value):
        start, stop, step = index.indices(len(view))
        for i in range(start, stop, step):
            view[i] = value

    return fill


# ---------------------------------------------------------------------------------------------- rows in registers

MOST_REGISTERS = 16
"""Numbers of a row that may be kept in registers; a longer one would not fit."""
LANES = 64
"""Rows that are worked on side by side."""
CACHE_LINE = 64
"""Bytes; what begins with one is read and written fastest."""


def local_state(task, room):
    """A state to work on, filled by nobody yet. Compiled code keeps a short one in registers, if all functions that it
    is passed to become part of it; `room` is where a longer one is kept. It ends with the function that asks for it."""
    return room


def local_observation(task, room):
    """The same for an observation. What nobody reads of it is not even computed."""
    return room


def local_stream(task, room):
    """The same for a random stream."""
    return room


def local_action(task, room):
    """The same for an action."""
    return room


def local_noise(task, room):
    """The same for what chance decides in a step."""
    return room


def local_context(task, context):
    """A copy of a context, if it is short, where nobody else knows it."""
    return context


def local_lanes(task, room):
    """The same for many states, each number of all of them side by side. They are in memory that nobody else knows, so
    whatever is done with one number can be done with many at a time."""
    return room


def local_lanes_noise(task, room):
    """The same for what chance decides in as many steps."""
    return room


def local_numbers(task, room):
    """The same for one number of each."""
    return room


def local_task(task):
    """The same task, with its parameters in registers, or in memory that nobody else knows: so they can be read before
    it is known whether they are needed, once for all lanes."""
    return task


@infer_global(local_task)
class _LocalTask(AbstractTemplate):
    key = local_task

    def generic(self, arguments, keywords):
        return signature(*arguments, *arguments)


@lower_builtin(local_task, TaskType)
def _lower_local_task(context, builder, signature, arguments):
    word, count = ir.IntType(64), sum(word_count(kind) for _, kind in signature.return_type.fields)
    copied = builder.bitcast(cgutils.alloca_once(builder, ir.ArrayType(word, count)), word.as_pointer())
    for i in range(count):
        place = [ir.Constant(word, i)]
        builder.store(builder.load(builder.gep(arguments[0], place)), builder.gep(copied, place))
    return copied


def _keep_in_registers(function, size_of, most=MOST_REGISTERS):
    @infer_global(function)
    class Local(AbstractTemplate):
        key = function

        def generic(self, arguments, keywords):
            return signature(arguments[1], *arguments)

    @lower_builtin(function, TaskType, ViewType)
    def lower_local(context, builder, signature, arguments):
        task, room = signature.args
        size = size_of(task.task_class)  # of some tasks it is known only when they are made
        if not isinstance(size, int) or size > most:
            return arguments[1]
        shape, number = (size, LANES)[: room.ndim], context.get_value_type(room.dtype)
        numbers = cgutils.alloca_once(builder, ir.ArrayType(number, math.prod(shape)))
        numbers.align = CACHE_LINE
        view = cgutils.create_struct_proxy(room)(context, builder)
        view.data = builder.bitcast(numbers, number.as_pointer())
        view.shape = cgutils.pack_array(builder, [context.get_constant(types.intp, one) for one in shape])
        return view._getvalue()


_keep_in_registers(local_state, lambda task_class: task_class.state_size)
_keep_in_registers(local_observation, lambda task_class: task_class.observation_size)
_keep_in_registers(local_stream, lambda task_class: 1)
_keep_in_registers(local_action, lambda task_class: task_class.action_size)
_keep_in_registers(local_noise, lambda task_class: task_class.noise_size)
_keep_in_registers(local_context, lambda task_class: task_class.context_size)
_keep_in_registers(local_lanes, lambda task_class: task_class.state_size)
_keep_in_registers(local_lanes_noise, lambda task_class: task_class.noise_size)
_keep_in_registers(local_numbers, lambda task_class: LANES, LANES)


@inlined
def copy_numbers(size, source, target):
    """Copy the first numbers of a row. It takes no loop if the size is known where this is compiled."""
    for i in range(size):
        target[i] = source[i]
