"""Functions that only ever become a part of a kernel, compiled for that alone.

Numba makes machine code of every function that a kernel calls, and optimises it, with all that it calls in turn, before
it does the same for the kernel itself: what lies eight calls deep is optimised eight times. A *part* is only
translated. It is optimised once, with the kernel that it becomes a part of, and cannot be called from Python.
"""

from typing import Any

from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


def part(**options: Any) -> Any:
    """Decorates a part; takes the options of numba's `njit`."""
    return njit(error_model="numpy", pipeline_class=_PartCompiler, **options)


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
        name: Any = {}.__getitem__  # numba knows a function by what Python would call; this is unique, and would refuse
        result.target_context.insert_user_function(name, result.fndesc, [result.library])
        return result._replace(entry_point=name)


def connect(kernel: Any) -> None:
    """Let the parts of a compiled kernel find the Python objects that they use, such as what they raise."""
    for environment in kernel._find_referenced_environments():
        kernel.library.codegen.set_env(environment.env_name, environment)
