"""What it costs to run episodes on a Ray cluster instead of in worker processes.

python benchmarks/scaling.py start|overhead|nodes [--json FILE]

`start`: seconds until the first episode begins, and what is sent. `overhead`: the same episodes locally and on Ray, in
turns; the time of each, and of each plan. `nodes`: episodes a second on clusters of one node and more, all on this
machine, each with one core.
"""

import argparse
import json
import os
import platform
import statistics
import time
from contextlib import closing, nullcontext

import numba
import ray
from ray.cluster_utils import Cluster

from magic_pomdp import Budget, evaluate, make
from magic_pomdp.running import PlannerFactory, on_ray
from magic_pomdp.running.doctor import cpu_name
from magic_pomdp.running.parcel import pack
from magic_pomdp.running.workers import run_jobs

SEED = 1000
STORE = 80 * 2**20
NODE = {"num_cpus": 1, "object_store_memory": STORE}


def timed(task, factory, episodes, seed, workers):
    """An evaluation: how long it took, from the call to the return, and what was done in it."""
    began = time.perf_counter()
    found = evaluate(task, factory, episodes, seed, workers)
    seconds = time.perf_counter() - began
    plans = sum(record.plans for record in found.records)
    return {"seconds": seconds, "plans": plans, "return": found.return_mean, "stderr": found.return_stderr}


def start(options):
    """Connect, get workers ready, and do nothing."""
    task, factory = make(options.task), planner(options)
    evaluate(task, factory, 1, SEED, 1)  # now all is compiled
    sent = len(pack((task, factory)).content)
    seconds = {"connect": [], "first workers": [], "the same workers again": []}
    for _ in range(options.repeats):
        began = time.perf_counter()
        with on_ray(options.address):
            seconds["connect"].append(time.perf_counter() - began)
            for name in ("first workers", "the same workers again"):
                began = time.perf_counter()
                evaluate(task, factory, 1, SEED, options.workers)
                seconds[name].append(time.perf_counter() - began)
    local = []
    for _ in range(options.repeats):
        began = time.perf_counter()
        evaluate(task, factory, 1, SEED, options.workers)
        local.append(time.perf_counter() - began)
    medians = {name: statistics.median(values) for name, values in {**seconds, "local workers": local}.items()}
    return {"bytes": sent, "empty job": empty_job(options), **medians}


def make_nothing():
    """A job in which nothing happens."""
    return lambda job: job


def empty_job(options):
    """Seconds of a job in which nothing happens, with one worker: locally and on Ray."""
    found = {}
    for name, place in (("local", nullcontext()), ("ray", on_ray(options.address))):
        with place, closing(run_jobs(make_nothing, range(1001), 1)) as results:
            next(results)
            began = time.perf_counter()
            for _ in results:
                pass
            found[name] = (time.perf_counter() - began) / 1000
    return found


def overhead(options):
    """Blocks of episodes, locally and on Ray in turns, so that neither has the quieter hours."""
    task, factory, blocks = make(options.task), planner(options), []
    with on_ray(options.address):
        evaluate(task, factory, options.workers, SEED, options.workers)  # what is timed are episodes, not the start
    evaluate(task, factory, options.workers, SEED, options.workers)
    count = options.episodes // options.blocks
    for block in range(options.blocks):
        order = ("local", "ray") if block % 2 == 0 else ("ray", "local")
        for name in order:
            with on_ray(options.address) if name == "ray" else nullcontext():
                if name == "ray":
                    evaluate(task, factory, options.workers, SEED, options.workers)
                found = timed(task, factory, count, SEED + 1 + block, options.workers)
            blocks.append({"where": name, "block": block, "episodes": count, **found})
            print(blocks[-1], flush=True)
    totals = {
        name: {what: sum(block[what] for block in blocks if block["where"] == name) for what in ("seconds", "plans")}
        for name in ("local", "ray")
    }
    per_plan = {name: total["seconds"] / total["plans"] for name, total in totals.items()}
    return {
        "overhead per episode": totals["ray"]["seconds"] / totals["local"]["seconds"] - 1.0,
        "overhead per plan": per_plan["ray"] / per_plan["local"] - 1.0,
        "blocks": blocks,
    }


def nodes(options):
    """Episodes a second, with as many workers as there are nodes."""
    task, factory, found = make(options.task), planner(options), []
    evaluate(task, factory, 1, SEED, 1)
    for count in options.counts:
        cluster = Cluster(True, head_node_args={**NODE, "include_dashboard": False})
        for _ in range(count - 1):
            cluster.add_node(**NODE)
        ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
        with on_ray():
            evaluate(task, factory, count, SEED, count)  # the workers are there
            found.append({"nodes": count, **timed(task, factory, options.episodes, SEED, count)})
        found[-1]["episodes a second"] = options.episodes / found[-1]["seconds"]
        print(found[-1], flush=True)
        ray.shutdown()
        cluster.shutdown()
    return found


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
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--address", help="a cluster that runs; otherwise one is started here")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    began = time.perf_counter()
    result = {
        "machine": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "numba": numba.__version__,
        "ray": ray.__version__,
        "asked": {name: value for name, value in vars(options).items() if name not in ("json", "address")},
        "seed": SEED,
        "found": {"start": start, "overhead": overhead, "nodes": nodes}[options.what](options),
        "took": time.perf_counter() - began,
    }
    text = json.dumps(result, indent=1)
    print(text)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
