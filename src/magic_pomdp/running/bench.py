"""How fast it runs here: the numbers that matter, each also against a fixed piece of work timed beside it.

Whatever else a machine does can only slow a measurement down, so the best of several repeats is the figure, and their
median tells how quiet the machine was. Machines differ, too: so every measurement is taken in turns with a calibration
kernel, a chain of 64-bit hashes. The `ratio` of a speed is its speed over the hashes per second; that of a time is the
number of hashes that fit into it. Ratios can be compared where speeds cannot.
"""

import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import metadata

import numpy as np
from numba import njit

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.compiling import kernel
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import mix, new_stream
from magic_pomdp.core.task import Task
from magic_pomdp.core.views import borrow
from magic_pomdp.macros import decode_bezier
from magic_pomdp.planners.plan import Budget
from magic_pomdp.results.speed import Bench, Measurement
from magic_pomdp.running.doctor import cpu_name
from magic_pomdp.running.factory import PlannerFactory, able_planners
from magic_pomdp.running.world import draw_beginning
from magic_pomdp.tasks.light_dark import LightDark, X
from magic_pomdp.tasks.puck_push import BOT_X, PuckPush

_REPEATS = 15
"""Times that each thing is measured."""
_CALIBRATION_HASHES = 4_000_000
_SIMULATED_STEPS = 1_000_000
_SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}


Probe = Callable[[], tuple[float, ...]]
"""Gives a number for each name of a measurement."""


@dataclass(frozen=True)
class _Thing:
    """What is measured together."""

    names: tuple[str, ...]
    unit: str
    prepare: Callable[[], Probe]


def run_bench(seconds: float = 0.2, on_progress: Callable[[str, int, int], None] | None = None) -> Bench:
    """Measure everything, with searches of so many seconds. `on_progress` is called before each thing with its name,
    its number, from 1, and how many there are."""
    things = _things(Budget(seconds=seconds))
    measurements: list[Measurement] = []
    for number, thing in enumerate(things, start=1):
        if on_progress is not None:
            on_progress(thing.names[0], number, len(things))
        measurements += _measure(thing)
    return Bench(
        processor=cpu_name(),
        python=platform.python_version(),
        numba=metadata.version("numba"),
        repeats=_REPEATS,
        measurements=tuple(measurements),
    )


def _things(budget: Budget) -> list[_Thing]:
    task, puck = LightDark(), PuckPush()
    searches = []
    for place in (task, puck):
        for name in able_planners(place):
            factory = PlannerFactory(name, budget=budget)
            names = tuple(f"{what} in {factory.label}, {place.name}" for what in ("steps", "nodes", "trials"))
            searches.append(_Thing(names, "/s", partial(_planner, place, factory)))
    update = "belief update in"
    return [
        _Thing(("steps in the bare simulator",), "/s", partial(_simulator, task)),
        *searches,
        _Thing((f"{update} the dark, 10,000 particles",), "ms", partial(_belief_in_strip, task, lit=False)),
        _Thing((f"{update} the light, 10,000 particles",), "ms", partial(_belief_in_strip, task, lit=True)),
        _Thing((f"{update} Puck-Push, 10,000 particles",), "ms", partial(_belief_on_board, puck)),
        _Thing(("decoding 8 curves of length 8",), "µs", lambda: _decoding),
        _Thing(("import magic_pomdp, from the shell",), "s", lambda: partial(_command, "-c", "import magic_pomdp")),
        _Thing(("evaluate, from the shell through one plan",), "s", lambda: _evaluation),
    ]


def _measure(thing: _Thing) -> Iterator[Measurement]:
    """Run a probe in turns with the calibration."""
    probe, unit = thing.prepare(), thing.unit
    probe()  # compiles or loads what it needs
    hashes, values = [], []
    for _ in range(_REPEATS):
        hashes.append(hashes_per_second())
        values.append(probe())
    for name, column in zip(thing.names, zip(*values, strict=True), strict=True):
        value = max(column) if unit == "/s" else min(column)
        ratio = value / max(hashes) if unit == "/s" else value * _SECONDS[unit] * max(hashes)
        median = statistics.median(column)
        yield Measurement(name=name, value=value, median=median, unit=unit, ratio=ratio)


def hashes_per_second() -> float:
    """How fast the calibration kernel is now."""
    _hash_chain(np.uint64(1), 1)
    started = time.perf_counter()
    _hash_chain(np.uint64(1), _CALIBRATION_HASHES)
    return _CALIBRATION_HASHES / (time.perf_counter() - started)


def _simulator(task: Task) -> Probe:
    context, start = draw_beginning(task, new_stream(0))
    state, observation, random = start.copy(), np.zeros(task.observation_size), new_stream(0)

    def probe() -> tuple[float, ...]:
        started = time.perf_counter()
        _run_simulator(task, context, start, state, task.actions()[:-1], observation, random, _SIMULATED_STEPS)
        return (_SIMULATED_STEPS / (time.perf_counter() - started),)

    return probe


def _planner(task: Task, factory: PlannerFactory) -> Probe:
    planner = factory(task)
    context, _ = draw_beginning(task, new_stream(0))
    belief = Belief.initial(task, context)

    def probe() -> tuple[float, ...]:
        plan = planner.plan(belief, context)
        seconds = max(plan.seconds, 1e-9)
        return plan.steps / seconds, plan.nodes / seconds, plan.trials / seconds

    return probe


def _belief_in_strip(task: Task, lit: bool) -> Probe:
    """One step along Light-Dark's strip of light, or beside it."""
    context = np.array([3.0, 0.0, 0.0, -3.0, 0.0])
    particles = Belief.initial(task, context, 10_000).particles
    if lit:
        particles[:, X] *= 0.0
    observation = np.array([1.0, 0.0, 0.0]) if lit else np.zeros(3)
    return _belief_update(Belief(task, context, particles), np.array([0.0, 1.0]), observation)


def _belief_on_board(task: Task) -> Probe:
    """One step of Puck-Push that pushes the puck, and shows it."""
    context = np.array([1000.0, 299.0])
    belief = Belief.initial(task, context, 10_000)
    belief.particles[:, BOT_X] += 70.0
    return _belief_update(belief, np.array([1.0, 0.0]), np.array([470.0, 299.0, 1.0, 524.0, 299.0]))


def _belief_update(belief: Belief, action: np.ndarray, observation: np.ndarray) -> Probe:
    particles, count = belief.particles.copy(), 20

    def probe() -> tuple[float, ...]:
        seconds = 0.0
        for _ in range(count):
            belief.particles[:] = particles  # so that every update has the same to do
            started = time.perf_counter()
            belief.update(action, observation)
            seconds += time.perf_counter() - started
        return (1e3 * seconds / count,)

    return probe


def _decoding() -> tuple[float, ...]:
    parameters = np.sin(np.arange(48.0)).reshape(8, 6)
    count = 100
    started = time.perf_counter()
    for _ in range(count):
        decode_bezier(parameters, 8)
    return (1e6 * (time.perf_counter() - started) / count,)


def _command(*arguments: str) -> tuple[float, ...]:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-P", *arguments], check=True, capture_output=True)
    return (time.perf_counter() - started,)


def _evaluation() -> tuple[float, ...]:
    with tempfile.TemporaryDirectory() as folder:
        options = ("--episodes", "1", "--steps", "1", "--set", "max_steps=1", "--json", f"{folder}/result.json")
        return _command("-m", "magic_pomdp", "evaluate", "light-dark", *options)


@njit
def _hash_chain(value, count):
    for _ in range(count):
        value = mix(value)
    return value


@kernel
def _run_simulator(task, context, start, state, actions, observation, random, count):
    """Step through the actions in turn, from the start again whenever the episode ends."""
    context, start, state, actions = borrow((context, start, state, actions), task)
    observation, random = borrow((observation, random), task)
    for i in range(count):
        _, outcome = task.step(context, state, actions[i % len(actions)], random, observation)
        if outcome != Outcome.RUNNING:
            for j in range(len(state)):
                state[j] = start[j]
