"""What it costs to run episodes on a Ray cluster instead of in worker processes.

python benchmarks/scaling.py start|overhead|nodes [--json FILE]

`start`: what passes until workers are ready, how much is sent, and what a job costs in which nothing happens.
`overhead`: the same episodes locally and on Ray, in turns. `nodes`: jobs a second against nodes, all on this machine;
these jobs wait, for a machine has too few cores to let several nodes compute.

Times are told in seconds of the clock, and of processors: those of this process and of all that it has started, Ray's
own included. On a busy machine only the latter compare.
"""

import argparse
import json
import os
import platform
import statistics
import time
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import numba
import ray
from ray.cluster_utils import Cluster

from magic_pomdp import Budget, evaluate, make
from magic_pomdp.running import PlannerFactory, on_ray
from magic_pomdp.running.doctor import cpu_name
from magic_pomdp.running.parcel import pack
from magic_pomdp.running.workers import run_jobs

SEED = 1000
NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
EMPTY_JOBS = 1000
WAITING_SECONDS = 0.1
"""Of a job that waits."""


def processor_seconds():
    """What this process and its descendants have used so far, those that have ended included."""
    parents, used = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)] = int(fields[1])
            used[int(entry.name)] = sum(int(field) for field in fields[11:15])
    family = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(used[process] for process in family) / os.sysconf("SC_CLK_TCK")


@contextmanager
def timed(found, name):
    """Add what a block takes to what was found."""
    clock, used = time.perf_counter(), processor_seconds()
    yield
    taken = {"clock": time.perf_counter() - clock, "processors": processor_seconds() - used}
    found.setdefault(name, []).append({what: round(value, 4) for what, value in taken.items()})


def medians(found):
    """Of each kind of time."""
    return {
        name: {what: statistics.median(one[what] for one in times) for what in ("clock", "processors")}
        for name, times in found.items()
    }


@dataclass(frozen=True)
class Waiting:
    """Jobs in which nothing happens for a while."""

    seconds: float

    def __call__(self):
        return lambda job: time.sleep(self.seconds)


def run_all(seconds, jobs, workers, found, name):
    """Time such jobs, once all workers are ready."""
    with closing(run_jobs(Waiting(seconds), range(jobs + 10 * workers), workers)) as results:
        for _ in range(10 * workers):
            next(results)
        with timed(found, name):
            for _ in results:
                pass


def start(options):
    """Connect, get workers ready, and do little."""
    task, factory, found = make(options.task), planner(options), {}
    evaluate(task, factory, 1, SEED, 1)  # now all is compiled
    for _ in range(options.repeats):
        with timed(found, "one episode, local workers"):
            evaluate(task, factory, 1, SEED, 1)
        run_all(0.0, EMPTY_JOBS, 1, found, f"{EMPTY_JOBS} empty jobs, local workers")
        with timed(found, "connect"):
            place = on_ray(options.address)
            place.__enter__()
        for name in ("one episode, new worker", "one episode, the same worker"):
            with timed(found, name):
                evaluate(task, factory, 1, SEED, 1)
        run_all(0.0, EMPTY_JOBS, 1, found, f"{EMPTY_JOBS} empty jobs")
        began = processor_seconds()
        time.sleep(10.0)
        found.setdefault("10 s of idling", []).append({"clock": 10.0, "processors": processor_seconds() - began})
        place.__exit__(None, None, None)
    return {"bytes sent": len(pack((task, factory)).content), **medians(found)}


def run_episodes(task, factory, count, seed, workers, found, name):
    """Time so many episodes, from the moment at which the first ones are finished; the plans in them."""
    plans = []
    with ExitStack() as stack:

        def note(record):
            plans.append(record.result.plans)
            if len(plans) == workers:
                stack.enter_context(timed(found, name))

        evaluate(task, factory, count + workers, seed, workers, note)
    return sum(plans[workers:])


def overhead(options):
    """Blocks of episodes, locally and on Ray in turns, so that neither has the quieter hours."""
    task, factory = make(options.task), planner(options)
    count, found, plans = options.episodes // options.blocks, {}, {"local": 0, "ray": 0}
    for block in range(options.blocks):
        for name in ("local", "ray") if block % 2 == 0 else ("ray", "local"):
            with on_ray(options.address) if name == "ray" else nullcontext():
                plans[name] += run_episodes(task, factory, count, SEED + block, options.workers, found, name)
            print(name, found[name][-1], flush=True)
    total = {
        name: {what: sum(one[what] for one in times) for what in ("clock", "processors")}
        for name, times in found.items()
    }
    more = {what: total["ray"][what] / total["local"][what] - 1.0 for what in ("clock", "processors")}
    more["clock, of a plan"] = total["ray"]["clock"] / plans["ray"] / (total["local"]["clock"] / plans["local"]) - 1.0
    return {"overhead": more, "total": total, "plans": plans, "blocks": found}


def nodes(options):
    """Jobs a second, with as many workers as nodes."""
    lean = {"include_dashboard": False, "include_log_monitor": False, "no_monitor": True}
    cluster = Cluster(True, head_node_args={**NODE, **lean})
    for _ in range(max(options.counts) - 1):
        cluster.add_node(**NODE)
    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
    result = []
    for count in options.counts:
        found = {}
        with on_ray():
            run_all(WAITING_SECONDS, 100 * count, count, found, "ray")
        seconds = found["ray"][0]["clock"]
        result.append({"nodes": count, "jobs a second": 100 * count / seconds, "at most": count / WAITING_SECONDS})
        print(result[-1], flush=True)
    ray.shutdown()
    cluster.shutdown()
    return result


def planner(options):
    """Who plans, with which budget."""
    budget = Budget(seconds=options.seconds) if options.steps is None else Budget(steps=options.steps)
    return PlannerFactory(options.planner, budget)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["start", "overhead", "nodes"])
    parser.add_argument("--task", default="light-dark")
    parser.add_argument("--planner", default="macro-despot")
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--address", help="a cluster that runs; otherwise one is started here")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    result = {
        "machine": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "numba": numba.__version__,
        "ray": ray.__version__,
        "asked": {name: value for name, value in vars(options).items() if name not in ("json", "address")},
        "seed": SEED,
        "found": {"start": start, "overhead": overhead, "nodes": nodes}[options.what](options),
    }
    text = json.dumps(result, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
