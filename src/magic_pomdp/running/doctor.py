"""Is this machine fit for planning at native speed?"""

import os
import platform
import time
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import numba

from magic_pomdp import __version__
from magic_pomdp.core.belief import Belief
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.core.registry import make
from magic_pomdp.planners.macro_despot import MacroDespot, extend
from magic_pomdp.planners.plan import Budget
from magic_pomdp.running.workers import available_cores
from magic_pomdp.running.world import draw_beginning

OPTIONAL = {"matplotlib": "drawing", "torch": "learning"}
"""Packages that only some parts need."""


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
        *(_optional(name, use) for name, use in OPTIONAL.items()),
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
    return checks if jit_off else [*checks, _cache_folder(), _first_plan()]


def cpu_name() -> str:
    """The processor's name, as well as the system knows it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _optional(name: str, use: str) -> Check:
    if find_spec(name) is None:
        return Check(name, f"not installed (only {use} needs it)")
    return Check(name, metadata.version(name))


def _cache_folder() -> Check:
    folder = Path(extend.stats.cache_path)
    probe = folder / f".probe.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        return Check(
            "compile cache",
            f"{folder}: not writable ({error.strerror})",
            "Set NUMBA_CACHE_DIR to a folder you can write to, or every process compiles for itself.",
        )
    return Check("compile cache", f"{folder}: writable")


def _first_plan() -> Check:
    started = time.perf_counter()
    task = make("light-dark")
    context, _ = draw_beginning(task, new_stream(0))
    MacroDespot(task).plan(Belief.initial(task, context, 100), context, budget=Budget(steps=1))
    seconds = time.perf_counter() - started
    if extend.stats.cache_hits:
        return Check("planner for Light-Dark", f"loaded from the cache in {seconds:.1f} s")
    return Check("planner for Light-Dark", f"compiled now, in {seconds:.1f} s; the next process loads it")
