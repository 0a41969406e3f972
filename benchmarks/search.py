"""How a search's speed changes with what it is given, and how well plans keep their time.

python benchmarks/search.py growth|deadlines [--json FILE]

Speeds are primitive steps a second, medians of several plans. Each also stands as a ratio to the calibration kernel of
`magic-pomdp bench`, timed in turns with the plans: machines differ, and one machine differs from hour to hour.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time

import numpy as np

from magic_pomdp import Belief, Budget, MacroActions, MacroDespot, make
from magic_pomdp.planners import MacroDespotSettings
from magic_pomdp.running import PlannerFactory, SimulatedWorld, able_planners
from magic_pomdp.running.bench import hashes_per_second

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


def deadlines():
    """By task, planner and budget: by how many milliseconds plans are late, from the call to the return."""
    for name in ("light-dark", "puck-push", "crowd-driving"):
        task = make(name)
        beliefs = beginnings(task, 5)
        planners = {name: PlannerFactory(name)(task) for name in able_planners(task)}
        length = MacroDespotSettings.advised(task).macro_length
        planners[f"{MANY} macro-actions"] = MacroDespot(task, random_set(task, MANY, length))
        for label, planner in planners.items():
            planner.plan(beliefs[0], budget=Budget(seconds=0.05))
            for seconds, count in BUDGETS:
                late = []
                for i in range(count):
                    began = time.perf_counter()
                    planner.plan(beliefs[i % len(beliefs)], budget=Budget(seconds=seconds), seed=i)
                    late.append(1e3 * (time.perf_counter() - began - seconds))
                p50, p99 = np.percentile(late, (50, 99)).tolist()
                yield (
                    name,
                    label,
                    seconds,
                    {"plans": count, "late_ms_p50": p50, "late_ms_p99": p99, "machine_late_ms_p99": idle()},
                )


def idle(count=300, seconds=0.001):
    """How late a loop is that only looks at the clock, in milliseconds, p99: what the machine itself costs."""
    late = []
    for _ in range(count):
        end = time.perf_counter() + seconds
        while (now := time.perf_counter()) < end:
            pass
        late.append(1e3 * (now - end))
    return float(np.percentile(late, 99))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("growth", "deadlines"))
    parser.add_argument("--json", metavar="FILE", help="where to save what was found")
    arguments = parser.parse_args()
    rows = []
    for task, what, value, figures in {"growth": growth, "deadlines": deadlines}[arguments.what]():
        rows.append({"task": task, "what": what, "value": value, **figures})
        text = "  ".join(f"{key} {figure:,.4g}" for key, figure in figures.items())
        print(f"{task:14} {what:18} {value:>9}  {text}", flush=True)
    if arguments.json:
        found = {"processor": platform.processor(), "cores": os.cpu_count(), "python": sys.version.split()[0]}
        with open(arguments.json, "w") as file:
            json.dump({**found, "seed": SEED, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
