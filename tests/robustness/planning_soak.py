"""Planning for an hour in one process: does memory stay flat, is no file left open?

python tests/robustness/planning_soak.py --minutes 60 --json FILE

Every planner runs episodes in turn, each with new luck: plans of 0.05 s, and the belief updated after every step. After
the first minutes (`--settle`), in which arrays reach their size, nothing may grow.
"""

import argparse
import json
import os
import sys
import time
from itertools import count, cycle
from pathlib import Path

from magic_pomdp import Budget, make
from magic_pomdp.core.saving import check_writable, save_bytes
from magic_pomdp.running import Episode, PlannerFactory
from magic_pomdp.running.evaluating import warm_up

PLANNED = (
    ("light-dark", "macro-despot"),
    ("light-dark", "magic"),
    ("light-dark", "pomcpow"),
    ("crowd-driving", "macro-despot"),
)
"""Tasks and planners that take turns."""
BUDGET = Budget(seconds=0.05)
LARGEST_PLAN = Budget(seconds=3.0)
"""Of the first plan. A planner reserves room for its tree once, and the system counts a page of it when it is first
used: after a tree that is far larger than all others, what still grows is no tree."""
SAMPLE_SECONDS = 10.0
MOST_GROWTH = 5.0
"""MB that memory may be larger at any time after the first minutes than it was then."""


def memory_mb():
    """Memory of this process that is in use."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) / 1024.0


def open_files():
    """Descriptors of this process; the one that lists them is closed again."""
    return len(os.listdir("/proc/self/fd")) - 1


class Samples:
    """Memory and open files every ten seconds."""

    def __init__(self):
        self.began = self._last = time.monotonic()
        self.rows = []

    @property
    def seconds(self):
        return time.monotonic() - self.began

    def keep_up(self, work):
        """Take a sample, if it is time to."""
        if time.monotonic() - self._last >= SAMPLE_SECONDS:
            self._last = time.monotonic()
            self.rows.append({"seconds": self.seconds, "memory_mb": memory_mb(), "open_files": open_files(), **work})


def plan_for(minutes):
    """Run episodes for some minutes, every planner in turn."""
    tasks = {name: make(name) for name, _ in PLANNED}
    planners = [(tasks[task], PlannerFactory(planner, BUDGET)(tasks[task])) for task, planner in PLANNED]
    for task, planner in planners:
        warm_up(task, planner)  # what is to be compiled counts for no minute
        episode = Episode(task, planner)
        planner.plan(episode.belief, episode.context, budget=LARGEST_PLAN)
    samples, work = Samples(), {"episodes": 0, "plans": 0, "belief_updates": 0}
    for number, (task, planner) in zip(count(), cycle(planners)):
        episode = Episode(task, planner, seed=number, episode=number)
        while not episode.over:
            work["plans"] += episode.needs_plan
            episode.prepare()
            episode.act()
            work["belief_updates"] += not episode.over
            samples.keep_up(work)
            if samples.seconds >= 60.0 * minutes:
                return samples.rows
        work["episodes"] += 1


def summary(rows, settle_minutes):
    """What the samples show: the state when all has settled, and the largest that came after it."""
    settled = [row for row in rows if row["seconds"] >= 60.0 * settle_minutes]
    first, last = settled[0], settled[-1]
    largest = max(row["memory_mb"] for row in settled)
    files = max(row["open_files"] for row in settled)
    growth = largest - first["memory_mb"]
    return {
        "minutes": last["seconds"] / 60.0,
        "episodes": last["episodes"],
        "plans": last["plans"],
        "belief_updates": last["belief_updates"],
        "settled_after_minutes": first["seconds"] / 60.0,
        "memory_settled_mb": first["memory_mb"],
        "memory_largest_after_mb": largest,
        "memory_end_mb": last["memory_mb"],
        "growth_mb": growth,
        "open_files_settled": first["open_files"],
        "open_files_largest_after": files,
        "flat": growth <= MOST_GROWTH and files <= first["open_files"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long (60)")
    parser.add_argument("--settle", type=float, default=5.0, help="minutes after which nothing may grow (5)")
    parser.add_argument("--json", type=Path, required=True, help="where the result goes")
    options = parser.parse_args()
    if options.minutes < options.settle + 1.0:
        parser.error(f"it must go on for at least a minute longer than {options.settle:g} minutes")
    path = check_writable(options.json)
    rows = plan_for(options.minutes)
    found = summary(rows, options.settle)
    about = {"planned": PLANNED, "plan_seconds": BUDGET.seconds, "most_growth_mb": MOST_GROWTH}
    save_bytes(path, (json.dumps({**about, **found, "samples": rows}, indent=1) + "\n").encode())
    print(
        f"{found['minutes']:.0f} minutes, {found['episodes']:,} episodes, {found['plans']:,} plans: memory "
        f"{found['memory_settled_mb']:.1f} MB after {found['settled_after_minutes']:.0f} minutes, at most "
        f"{found['growth_mb']:+.1f} MB later; open files {found['open_files_settled']}, at most "
        f"{found['open_files_largest_after']} later: {'flat' if found['flat'] else 'NOT FLAT'}."
    )
    return 0 if found["flat"] else 1


if __name__ == "__main__":
    sys.exit(main())
