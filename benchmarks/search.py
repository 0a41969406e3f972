"""How a search's speed changes with what it is given, and how well plans keep their time.

python benchmarks/search.py growth|deadlines [--threads 1] [--json FILE]

Speeds are primitive steps a second, medians of several plans. Each also stands as a ratio to the calibration kernel of
`magic-pomdp bench`, timed in turns with the plans: machines differ, and one machine differs from hour to hour.
"""

import argparse
import json
import os
import platform
import statistics
import time
from functools import partial

import numpy as np

from magic_pomdp import Belief, Budget, MacroActions, MacroDespot, make
from magic_pomdp.core.settings import settings_of
from magic_pomdp.planners import MacroDespotSettings
from magic_pomdp.planners.registry import find_planner
from magic_pomdp.running import PlannerFactory, SimulatedWorld, able_planners
from magic_pomdp.running.bench import hashes_per_second
from magic_pomdp.running.doctor import cpu_name

REPEATS = 7
SEED = 1000
STEPS = {"light-dark": 3_000_000, "puck-push": 400_000, "crowd-driving": 40_000}
"""Of one plan that is timed."""
CURVES = {
    "scenarios": (5, 20, 100, 500),
    "macro-actions": (8, 32, 100, 200),
    "length": (1, 2, 4, 8, 16),
    "threads": (1, 2, 4),
}
CARS = (5, 10, 20, 40)
PARTICLES = (1_000, 10_000, 100_000, 1_000_000)
BUDGETS = ((0.001, 500), (0.01, 300), (0.1, 100))
"""Seconds of a plan, and how many of them."""
MANY = 200
"""Macro-actions of a large set."""


def beginnings(task, count, particles=1_000):
    """Beliefs at the beginning of some episodes."""
    world = SimulatedWorld(task)
    return [Belief.initial(task, world.begin(seed=SEED, episode=i).context, particles) for i in range(count)]


def random_set(task, count, length):
    """So many macro-actions of random primitive actions."""
    actions = task.actions()
    chosen = np.random.default_rng(SEED).integers(len(actions), size=(count, length))
    return MacroActions(actions[chosen], np.full(count, length))


def speed(task, macro_actions=None, **settings):
    """Primitive steps of a plan a second, and their ratio to the calibration kernel."""
    chosen = MacroDespotSettings.advised(task, **{"threads": 1, **settings})
    planner, belief = MacroDespot(task, macro_actions, chosen), beginnings(task, 1)[0]
    planner.plan(belief, budget=Budget(steps=1))
    rates, hashes = [], []
    for seed in range(REPEATS):
        hashes.append(hashes_per_second())
        plan = planner.plan(belief, budget=Budget(steps=STEPS[task.name]), seed=seed)
        rates.append(plan.steps / plan.seconds)
    return {"steps_per_second": statistics.median(rates), "ratio": statistics.median(rates) / max(hashes)}


def first_decision(task, macro_actions):
    """Milliseconds until the first trial is done, without a deadline."""
    planner = MacroDespot(task, macro_actions, MacroDespotSettings.advised(task, threads=1))
    belief = beginnings(task, 1)[0]
    plans = [planner.plan(belief, budget=Budget(steps=1), seed=seed) for seed in range(REPEATS + 1)]
    return {"first_decision_ms": 1e3 * statistics.median(plan.seconds for plan in plans[1:])}


def belief_update(task, count):
    """Milliseconds of a belief update, and of a plan of one step, with so many particles."""
    (belief,), planner = beginnings(task, 1, count), MacroDespot(task)
    action, nothing, times = task.actions()[0], np.zeros(task.observation_size), []
    for _ in range(REPEATS + 1):
        began = time.perf_counter()
        belief.update(action, nothing)
        times.append(time.perf_counter() - began)
    plans = [planner.plan(belief, budget=Budget(steps=1)).seconds for _ in range(REPEATS + 1)]
    return {"update_ms": 1e3 * statistics.median(times[1:]), "first_trial_ms": 1e3 * statistics.median(plans[1:])}


def growth():
    """All curves: what grows, in which task, from which value to which figures."""
    for name in ("light-dark", "puck-push", "crowd-driving"):
        task = make(name)
        length = MacroDespotSettings.advised(task).macro_length
        for value in CURVES["scenarios"]:
            yield name, "scenarios", value, speed(task, scenarios=value)
        for value in CURVES["macro-actions"]:
            some = random_set(task, value, length)
            yield name, "macro-actions", value, {**speed(task, some), **first_decision(task, some)}
        for value in CURVES["length"]:
            yield name, "length", value, speed(task, random_set(task, 8, value))
        for value in CURVES["threads"]:
            yield name, "threads", value, speed(task, threads=value)
    for value in CARS:
        yield "crowd-driving", "cars", value, speed(make("crowd-driving", cars=value))
    for value in PARTICLES:
        yield "light-dark", "particles", value, belief_update(make("light-dark"), value)


def deadlines(threads):
    """By task, planner and budget: by how many milliseconds plans are late, from the call to the return."""
    for name in ("light-dark", "puck-push", "crowd-driving"):
        task = make(name)
        beliefs = beginnings(task, 5)
        planners = {name: planner_with(name, task, threads) for name in able_planners(task)}
        settings = MacroDespotSettings.advised(task, threads=threads)
        planners[f"{MANY} macro-actions"] = MacroDespot(task, random_set(task, MANY, settings.macro_length), settings)
        for label, planner in planners.items():
            planner.plan(beliefs[0], budget=Budget(seconds=0.05))
            for seconds, count in BUDGETS:
                late, machine = [], []  # each by the clock on the wall, and by the processor's
                for i in range(count):
                    belief = beliefs[i % len(beliefs)]
                    late.append(
                        lateness(seconds, partial(planner.plan, belief, budget=Budget(seconds=seconds), seed=i))
                    )
                    machine.append(lateness(seconds, partial(watch_the_clock, seconds)))
                p50, p99 = np.percentile(late, (50, 99), axis=0)
                figures = {"plans": count, "late_ms_p50": p50[0], "late_ms_p99": p99[0], "own_late_ms_p99": p99[1]}
                yield name, label, seconds, {**figures, "machine_late_ms_p99": np.percentile(machine, 99, axis=0)[0]}


def lateness(seconds, work):
    """By how many milliseconds work takes longer than it should, and by how many of this thread's own: while the
    machine gives the core to somebody else, only the first grows."""
    began, began_own = time.perf_counter(), time.thread_time()
    work()
    return 1e3 * (time.perf_counter() - began - seconds), 1e3 * (time.thread_time() - began_own - seconds)


def watch_the_clock(seconds):
    """Do nothing but look at the clock, in turns with the plans: what is late here, the machine has done."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def planner_with(name, task, threads):
    """A planner of so many threads, if it can have several."""
    has_threads = "threads" in settings_of(find_planner(name).settings)
    return PlannerFactory(name, overrides={"threads": threads} if has_threads else {})(task)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("growth", "deadlines"))
    parser.add_argument("--threads", type=int, default=1, help="of a planner with deadlines (default: 1)")
    parser.add_argument("--json", metavar="FILE", help="where to save what was found")
    arguments = parser.parse_args()
    rows = []
    found = growth() if arguments.what == "growth" else deadlines(arguments.threads)
    for task, what, value, figures in found:
        rows.append({"task": task, "what": what, "value": value, **figures})
        text = "  ".join(f"{key} {figure:,.4g}" for key, figure in figures.items())
        print(f"{task:14} {what:18} {value:>9}  {text}", flush=True)
    if arguments.json:
        machine = {"processor": cpu_name(), "cores": os.cpu_count(), "python": platform.python_version()}
        threads = {} if arguments.what == "growth" else {"threads": arguments.threads}
        with open(arguments.json, "w") as file:
            json.dump({**machine, **threads, "seed": SEED, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
