"""Functions that become a part of kernels, compiled for that alone.

Numba makes machine code of every function that a kernel calls, and optimises it, with all that it calls in turn, before
it does the same for the kernel itself: what lies eight calls deep is optimised eight times. A *part* is only
translated. It is optimised once, with the kernel that it becomes a part of. If Python calls it, it is compiled as any
other function.
"""

from functools import cached_property
from typing import Any

from numba import config, njit, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher


def part(**options: Any) -> Any:
    """Decorates a part; takes the options of numba's `njit`."""
    options = {"nopython": True, "boundscheck": None, "error_model": "numpy", **options}

    def decorate(function: Any) -> Any:
        if config.DISABLE_JIT:
            return function
        return _Part(py_func=function, targetoptions=options, pipeline_class=_PartCompiler)

    return decorate


class _Part(CPUDispatcher):
    """What numba knows of a part."""

    def __call__(self, *arguments: Any) -> Any:
        return self._whole(*arguments)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """One version for all whole numbers, known or not when this is compiled, and however short."""
        return super().get_call_template(tuple(map(_widened, args)), {name: _widened(kws[name]) for name in kws})

    @cached_property
    def _whole(self) -> Any:
        return njit(error_model="numpy")(self.py_func)


def _widened(kind: types.Type) -> types.Type:
    kind = types.unliteral(kind)
    short = isinstance(kind, types.Integer) and kind.signed and kind.bitwidth < types.int64.bitwidth
    return types.int64 if short else kind


class _PartLibrary(JITCodeLibrary):
    """The code of a part: neither optimised nor made ready to run."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _PartCompiler(Compiler):
    """Numba's compiler, without its last steps."""

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, locals: Any
    ):
        flags = flags.copy()
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        library = _PartLibrary(targetctx.codegen(), "part of a kernel")
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)

    def compile_extra(self, func: Any) -> Any:
        result = super().compile_extra(func)
        name: Any = {}.__getitem__  # numba knows a function by what Python would call; this is nobody else's
        result.target_context.insert_user_function(name, result.fndesc, [result.library])
        return result._replace(entry_point=name)


def connect(kernel: Any) -> None:
    """Let the parts of a compiled kernel find the Python objects that they use, such as what they raise."""
    for environment in kernel._find_referenced_environments():
        kernel.library.codegen.set_env(environment.env_name, environment)
