"""Is this machine fit for planning at native speed?"""

import os
import platform
import shlex
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import numba

from magic_pomdp import __version__
from magic_pomdp.core.belief import Belief
from magic_pomdp.core.caching import is_whole, kept_files
from magic_pomdp.core.extras import install_command
from magic_pomdp.core.machine import available_cores
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.core.registry import make, task_names
from magic_pomdp.planners.macro_despot import MacroDespot
from magic_pomdp.planners.plan import Budget
from magic_pomdp.planners.trials import extend
from magic_pomdp.running.evaluating import warm_up
from magic_pomdp.running.factory import PlannerFactory, able_planners
from magic_pomdp.running.world import draw_beginning

OPTIONAL = {
    "matplotlib": ("drawing", "show"),
    "websockets": ("play", "show"),
    "imageio_ffmpeg": ("video", "show"),
    "torch": ("learning", "learn"),
    "optuna": ("tune", "tune"),
    "gymnasium": ("magic_pomdp.gym", "gym"),
    "ray": ("a cluster", "ray"),
}
"""Packages that only some parts need: which, and the extra that brings them."""
ROOM = 1_000_000
"""Bytes that the compile cache should at least have room for."""


@dataclass(frozen=True)
class Check:
    """One thing looked at."""

    what: str
    found: str
    advice: str = ""
    """What to do about it; empty if nothing is wrong."""


def examine() -> list[Check]:
    """Look at all that planning depends on; it plans once in Light-Dark to see whether compiled code is at hand."""
    jit_off = bool(numba.config.DISABLE_JIT)
    checks = [
        Check("Python", platform.python_version()),
        Check("magic-pomdp", __version__),
        *(Check(name, metadata.version(name)) for name in ("numba", "llvmlite", "numpy")),
        *(_optional(name, use, extra) for name, (use, extra) in OPTIONAL.items()),
        *_worlds(),
        Check("processor", cpu_name()),
        Check("cores available", str(available_cores())),
        Check(
            "NUMBA_DISABLE_JIT",
            "set: nothing is compiled" if jit_off else "not set",
            "Unset NUMBA_DISABLE_JIT: it is for debugging, and planning is hundreds of times slower."
            if jit_off
            else "",
        ),
    ]
    return checks if jit_off else [*checks, _cache_folder(), _compiled_code(), _first_plan()]


def planners_to_compile() -> list[tuple[str, str]]:
    """All tasks that have a name, each with every planner that can plan there."""
    if numba.config.DISABLE_JIT:
        raise ValueError("With NUMBA_DISABLE_JIT set nothing is compiled: unset it first.")
    return [(name, planner) for name in task_names() for planner in able_planners(make(name))]


def warm(task_name: str, planner: str) -> None:
    """Have a planner compiled for a task, and kept for later processes."""
    task = make(task_name)
    warm_up(task, PlannerFactory(planner)(task), plans_ahead=True)


def cpu_name() -> str:
    """The processor's name, as well as the system knows it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _optional(name: str, use: str, extra: str) -> Check:
    if find_spec(name) is None:
        return Check(name, f"not installed (only {use} needs it: {install_command(extra)})")
    return Check(name, metadata.version(name))


def _worlds() -> list[Check]:
    """Whether all is there that other worlds than the tasks' own simulators need."""
    from magic_pomdp.transfer.registry import find_other_world, other_worlds

    worlds = [find_other_world(name) for name in other_worlds()]
    return [Check(f"transfer {world.task}", world.missing() or f"{world.label}: all is there") for world in worlds]


def _cache_folder() -> Check:
    folder = Path(extend.stats.cache_path)
    probe = folder / f".probe.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(bytes(ROOM))
    except OSError as error:
        return Check(
            "compile cache",
            f"{folder}: not writable ({error.strerror})",
            "Set NUMBA_CACHE_DIR to a folder with room that you can write to, or every process compiles for itself.",
        )
    finally:
        with suppress(OSError):
            probe.unlink()
    return Check("compile cache", f"{folder}: writable")


def _compiled_code() -> Check:
    """Whether the files of the compile cache are as they were written."""
    import magic_pomdp.running.preload  # with `testing`, these are all modules that keep compiled code
    import magic_pomdp.testing  # noqa: F401

    files = kept_files()
    size = sum(path.stat().st_size for path in files if path.exists()) / 1e6
    damaged = [path for path in files if not is_whole(path)]
    found = f"{len(files)} files, {size:.1f} MB, {len(damaged) or 'none'} damaged"
    if not damaged:
        return Check("compiled code", found)
    return Check(
        "compiled code",
        found,
        "Damaged files of the compile cache are not used: what is needed of them is compiled anew, and written over "
        f"them. To be rid of them now: {shlex.join(['rm', *map(str, damaged)])}",
    )


def _first_plan() -> Check:
    started = time.perf_counter()
    task = make("light-dark")
    context, _ = draw_beginning(task, new_stream(0))
    MacroDespot(task).plan(Belief.initial(task, context, 100), context, budget=Budget(steps=1))
    seconds = time.perf_counter() - started
    if extend.stats.cache_hits:
        return Check("planner for Light-Dark", f"loaded from the cache in {seconds:.1f} s")
    return Check("planner for Light-Dark", f"compiled now, in {seconds:.1f} s; the next process loads it")
