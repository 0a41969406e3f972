"""A live page that plays one episode after the other for a long time: does it use more and more?

    python tests/robustness/live_soak.py --json FILE [--minutes 60]

One tab watches and begins the next episode whenever one is over; another one comes and goes. After the first five
minutes memory must stay flat within 5 MB, and no file handle may be gained, in the server's process and in the
planner's. It needs Linux, whose /proc tells both.
"""

import argparse
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from live_page import PATIENCE, SECONDS, Page, Tab, served

from magic_pomdp import __version__

EVERY = 10.0
"""Seconds between two samples."""
SETTLING = 300.0
"""Seconds after which memory must be flat."""
GROWTH_MB = 5.0
LONGEST_PLAN = 5.0
"""Seconds of one plan at the beginning."""
COMING_BACK = 3.0
"""Seconds for which the second tab stays."""


def soak(minutes: float) -> dict[str, Any]:
    """What it did to a page, as plain data."""
    samples: dict[str, list[tuple[float, float, int]]] = {"server": [], "planner": []}
    ended = threading.Event()
    with served() as page, Tab(page, plays=True) as watching:
        watching.wait_for(lambda tab: tab.plans > 0, PATIENCE)
        _fill_the_tree(watching)
        second = threading.Thread(target=_come_and_go, args=(page, ended))
        second.start()
        begun = time.monotonic()
        while time.monotonic() < begun + 60.0 * minutes:
            for name, process in (("server", page.server), ("planner", page.planner)):
                samples[name].append((time.monotonic() - begun, _memory(process), _open_files(process)))
            time.sleep(EVERY)
        ended.set()
        second.join()
        result = {
            "version": __version__,
            "minutes": minutes,
            "episodes": watching.episodes,
            "plans": watching.plans,
            **{name: summarise(some) for name, some in samples.items()},
        }
    result["passed"] = all(
        result[name]["growth_mb"] <= GROWTH_MB and result[name]["open_files"]["gained"] <= 0 for name in samples
    )
    return result


def _fill_the_tree(tab: Tab) -> None:
    """Let one plan be far longer than all others. A planner reserves room for its tree once, and the system counts a
    page of it when it is first used: what grows after that is no tree."""
    for seconds in (LONGEST_PLAN, SECONDS):
        tab.connection.send(
            json.dumps({"kind": "plan", "planner": "macro-despot", "seconds": seconds, "macro_length": None})
        )
        tab.wait_for(lambda tab, least=0.9 * seconds: max(tab.seconds, default=0.0) >= least, PATIENCE)


def summarise(samples: list[tuple[float, float, int]]) -> dict[str, Any]:
    """Memory and open files of a process over time. A run that is too short to settle counts from its middle."""
    settled = min(SETTLING, samples[-1][0] / 2)
    memory = [(when, some) for when, some, _ in samples if when >= settled]
    files = [some for when, _, some in samples if when >= settled]
    most = max(some for _, some in memory)
    third = max(1, len(files) // 3)
    return {
        "settled_after_seconds": round(settled),
        "memory_mb": {"first": samples[0][1], "settled": memory[0][1], "most": most, "last": memory[-1][1]},
        "growth_mb": round(most - memory[0][1], 2),
        # tabs come and go: the most of the last third are compared with the most of the first
        "open_files": {
            "first": files[0],
            "last": files[-1],
            "most": max(files),
            "gained": max(files[-third:]) - max(files[:third]),
        },
        "each_minute": [(round(when), some, count) for when, some, count in samples[:: round(60.0 / EVERY)]],
    }


def _come_and_go(page: Page, ended: threading.Event) -> None:
    while not ended.is_set():
        with Tab(page):
            ended.wait(COMING_BACK)


def _memory(process: int) -> float:
    """Resident memory in MB."""
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    return round(next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024, 2)


def _open_files(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def show(result: dict[str, Any]) -> None:
    """Print a small table."""
    print(f"{result['minutes']:g} minutes, {result['episodes']} episodes, {result['plans']} plans")
    print(f"{'process':10}{'MB settled':>12}{'most':>9}{'growth':>9}{'open files':>12}{'most':>6}{'gained':>8}")
    for name in ("server", "planner"):
        some = result[name]
        memory, files = some["memory_mb"], some["open_files"]
        print(
            f"{name:10}{memory['settled']:12.1f}{memory['most']:9.1f}{some['growth_mb']:9.2f}"
            f"{files['first']:12}{files['most']:6}{files['gained']:8}"
        )
    print("Passed." if result["passed"] else f"NOT passed (at most {GROWTH_MB:g} MB and no open file more).")


def main() -> int:
    """Run the test as the command line says, and keep its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="where to save the result")
    parser.add_argument("--minutes", type=float, default=60.0)
    options = parser.parse_args()
    result = soak(options.minutes)
    options.json.write_text(json.dumps(result, indent=2) + "\n")
    show(result)
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
