"""What this package asks of the machine, and of Python on it."""

import gc
import os
import sys
from contextlib import suppress
from multiprocessing import parent_process

_ALLOCATIONS = 50_000
"""After which the collector looks for garbage, instead of Python's 700."""

_is_worker = False
"""Whether this process has been told that it is one."""


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def become_worker() -> None:
    """This process is one of several that share the machine, though it is no child of Python's."""
    global _is_worker
    _is_worker = True


def is_worker() -> bool:
    """Whether this process has others beside it, so that one core is its share."""
    return _is_worker or parent_process() is not None


def collect_seldom() -> None:
    """For processes that are this package's own. To compile makes millions of objects and little garbage: part of
    the time would go into looking for it."""
    gc.set_threshold(_ALLOCATIONS, 20, 20)


def reuse_freed_memory() -> None:
    """Ask the C library to keep freed memory: getting it back takes a tenth of an update's time."""
    if sys.platform == "linux":
        import ctypes  # so late, for nobody else needs it

        with suppress(OSError, AttributeError):
            library, mmap_threshold, trim_threshold = ctypes.CDLL(None), -3, -1
            library.mallopt(mmap_threshold, 1 << 25)
            library.mallopt(trim_threshold, 1 << 28)
