"""A live page under attack: malformed messages, and connections that are opened and never used.

    python tests/robustness/live_page.py --json FILE [--messages 10000] [--connections 1000] [--descriptors 1024]

The page must live on, and plans of 0.1 s must take 0.11 s at most (99 of 100) before and after. Everything stays on
this machine: the only address is 127.0.0.1.
"""

import argparse
import json
import multiprocessing
import random
import resource
import socket
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from magic_pomdp import Budget, __version__, make
from magic_pomdp.core.scene import Handle, Scene
from magic_pomdp.running import PlannerFactory
from magic_pomdp.running.commands import read_command
from magic_pomdp.show.live import LiveServer

SECONDS = 0.1
"""Of a plan."""
LONGEST = 0.11
"""What 99 of 100 plans may take."""
PATIENCE = 120.0
"""Seconds for the page to answer; the first time, the planner is compiled."""

_spawning = multiprocessing.get_context("spawn")


# ---------------------------------------------------------------------------------------------------------- the page


@dataclass(frozen=True)
class Page:
    """A live page that is served by a process of its own."""

    url: str
    server: int
    """Number of the process that serves it."""
    planner: int
    """Number of the process that plans."""

    @property
    def port(self) -> int:
        """Where it is."""
        return int(self.url.partition("//")[2].partition("/")[0].partition(":")[2])

    def fetch(self) -> bool:
        """Whether the page can be fetched."""
        with suppress(OSError), urllib.request.urlopen(self.url, timeout=PATIENCE) as answer:
            return answer.status == 200 and b"LivePanel" in answer.read()
        return False


@contextmanager
def served(descriptors: int | None = None) -> Iterator[Page]:
    """A live page of light-dark, whose server may have so many open files at once."""
    here, there = _spawning.Pipe()
    process = _spawning.Process(target=_serve, args=(there, descriptors))
    process.start()
    try:
        there.close()
        yield Page(*here.recv())
        here.send("end")
        process.join(PATIENCE)
    finally:
        process.kill()
        process.join()


def _serve(connection: Connection, descriptors: int | None) -> None:
    if descriptors is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    server = LiveServer(make("light-dark"), PlannerFactory("macro-despot", Budget(seconds=SECONDS)), port=0)

    def close() -> None:
        with suppress(EOFError):
            connection.recv()
        server.close()

    threading.Thread(target=close).start()
    connection.send((server.url, multiprocessing.current_process().pid, server._process.pid))
    server.run()


class Tab:
    """A tab of the page. It takes in what it is told in a thread of its own, and keeps the seconds of plans that used
    nearly all of their time (a second look may need less than its share, others had nothing left to search); one that
    plays begins the next episode whenever one is over."""

    def __init__(self, page: Page, plays: bool = False) -> None:
        own, query = page.url.split("/?")
        address = f"ws://127.0.0.1:{page.port}/live?{query}"
        self._connecting = connect(address, origin=own, max_size=None, open_timeout=PATIENCE)
        self.connection = self._connecting.__enter__()
        self.seconds: list[float] = []
        self.plans = self.episodes = self.answers = 0
        self._changed = threading.Condition()
        self._ended = False
        threading.Thread(target=self._take_in, args=(plays,), daemon=True).start()

    def __enter__(self) -> "Tab":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the page."""
        self._connecting.__exit__(None, None, None)

    def _take_in(self, plays: bool) -> None:
        try:
            with suppress(ConnectionClosed):
                if plays:
                    self.connection.send('{"kind": "pace", "pace": 1000}')
                    self.connection.send('{"kind": "play"}')
                for number, message in enumerate(self.connection):
                    news = json.loads(message)
                    with self._changed:
                        if "plan" in news:
                            self.plans += 1
                            if number and news["plan"]["seconds"] >= 0.9 * SECONDS:  # the first is of before
                                self.seconds.append(news["plan"]["seconds"])
                        self.episodes += "episode" in news
                        self.answers += bool(news.get("trouble"))
                        self._changed.notify_all()
                    if plays and news.get("frame", {}).get("outcome"):
                        self.connection.send('{"kind": "play"}')
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def wait_for(self, enough: Callable[["Tab"], bool], seconds: float) -> bool:
        """Wait until the tab has been told enough, or its connection has ended; whether it was enough."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or enough(self), seconds)
            return enough(self)


def is_alive(page: Page) -> bool:
    """Whether the page can be fetched, and a tab connects and is told of a plan."""
    try:
        with Tab(page) as tab:
            return page.fetch() and tab.wait_for(lambda tab: tab.plans > 0, PATIENCE)
    except (OSError, ConnectionClosed):
        return False


def measure(page: Page, plans: int) -> list[float]:
    """Seconds of so many plans."""
    with Tab(page, plays=True) as tab:
        tab.wait_for(lambda tab: len(tab.seconds) >= plans, PATIENCE + 10 * plans * SECONDS)
        return tab.seconds


# ------------------------------------------------------------------------------------------------ malformed messages

GOOD: list[dict[str, Any]] = [
    {"kind": "play"},
    {"kind": "new"},
    {"kind": "pace", "pace": 4.0},
    {"kind": "plan", "planner": "macro-despot", "seconds": 0.1, "macro_length": 6},
    {"kind": "move", "handle": 1, "x": -1.0, "y": 2.5},
]
STRANGE: list[Any] = [
    None, True, -1, 0.5, 61, 10**400, 1e308, float("nan"), float("inf"), "", "1", "é\u0000\u202e", "../..", [], {},
    {"kind": "play"}, "x" * 600,
]  # fmt: skip
WIDE = Scene((-1e9, -1e9, 1e9, 1e9), handles=tuple(Handle("any", 0, 1) for _ in range(100)))


def malformed(luck: random.Random) -> bytes:
    """A good message with something changed in its structure or its bytes, so that it is no command any more."""
    while True:
        message = _change_structure(luck) if luck.random() < 0.5 else _change_bytes(luck)
        try:
            read_command(message.decode(), WIDE)
        except ValueError:
            return message


def _change_structure(luck: random.Random) -> bytes:
    message: Any = dict(luck.choice(GOOD))
    for _ in range(luck.randint(1, 3)):
        name = luck.choice([*message, "kind", "x", "another"])
        if luck.random() < 0.3:
            message.pop(name, None)
        else:
            message[name] = luck.choice([*STRANGE, dict(message)])
    if luck.random() < 0.1:
        message = [message] * luck.randint(1, 60)
    return json.dumps(message, ensure_ascii=luck.random() < 0.5).encode()


def _change_bytes(luck: random.Random) -> bytes:
    message = bytearray(json.dumps(luck.choice(GOOD)).encode())
    for _ in range(luck.randint(1, 4)):
        place = luck.randrange(len(message) + 1)
        some = bytes(luck.randrange(128 if luck.random() < 0.99 else 256) for _ in range(luck.randint(1, 8)))
        match luck.randrange(4):
            case 0:
                message[place:place] = some
            case 1:
                message[place : place + len(some)] = some
            case 2:
                del message[place : place + len(some)]
            case 3:
                message[place:place] = message[place:] * (100 if luck.random() < 0.02 else luck.randint(1, 3))
    return bytes(message)


def send_malformed(page: Page, messages: int, seed: int) -> dict[str, int]:
    """Send malformed messages through a tab, and through a new one when that is closed; how many there were."""
    luck, tab = random.Random(seed), Tab(page)
    counts = {"sent": 0, "answered": 0, "closed": 0}
    deadline = time.monotonic() + PATIENCE + 0.1 * messages
    while counts["sent"] < messages and time.monotonic() < deadline:
        counts["sent"] += 1
        answers = tab.answers
        with suppress(ConnectionClosed):
            tab.connection.send(malformed(luck), text=luck.random() < 0.95)
        if tab.wait_for(lambda tab, before=answers: tab.answers > before, PATIENCE):
            counts["answered"] += 1
        else:
            counts["closed"] += 1
            tab.close()
            tab = Tab(page)
    tab.close()
    return counts


# ---------------------------------------------------------------------------------------------- half-open connections


@contextmanager
def half_open(page: Page, connections: int) -> Iterator[int]:
    """Connections from another process, which say nothing or break off in the middle; how many were made."""
    here, there = _spawning.Pipe()
    process = _spawning.Process(target=_hold, args=(there, page.port, connections), daemon=True)
    process.start()
    try:
        there.close()
        yield here.recv()
    finally:
        process.kill()
        process.join()


def _hold(connection: Connection, port: int, connections: int) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held = []
    for number in range(connections):
        with suppress(OSError):
            one = socket.create_connection(("127.0.0.1", port), timeout=10.0)
            held.append(one)
            if number % 2:
                one.sendall(b"GET / HTTP/1.1\r\nHost: loc")
    connection.send(len(held))
    with suppress(EOFError):
        connection.recv()


# ---------------------------------------------------------------------------------------------------------- the test


def attack(messages: int, connections: int, descriptors: int, plans: int, seed: int) -> dict[str, Any]:
    """What it did to a page, as plain data."""
    result: dict[str, Any] = {"version": __version__, "seed": seed, "descriptors": descriptors, "plan_seconds": SECONDS}
    begun = time.monotonic()
    with served(descriptors) as page:
        alive = {"before": is_alive(page)}
        seconds = {"before": measure(page, plans)}
        with Tab(page, plays=True) as watching:
            result["messages"] = send_malformed(page, messages, seed)
            alive["after messages"] = is_alive(page)
            with half_open(page, connections) as made:
                result["half_open"] = made
                alive["during connections"] = is_alive(page)
            seconds["during"] = watching.seconds
        alive["after"] = is_alive(page)
        seconds["after"] = measure(page, plans)
        result["open_files_after"] = len(list(Path(f"/proc/{page.server}/fd").iterdir()))
    result["alive"] = alive
    result["plans"] = {
        name: {"count": len(some), "p50": _quantile(some, 0.5), "p99": _quantile(some, 0.99)}
        for name, some in seconds.items()
    }
    result["seconds"] = round(time.monotonic() - begun, 1)
    result["passed"] = (
        all(alive.values())
        and (result["messages"]["sent"], result["half_open"]) == (messages, connections)
        and all((result["plans"][when]["p99"] or 1.0) <= LONGEST for when in ("before", "after"))
    )
    return result


def _quantile(values: list[float], share: float) -> float | None:
    return round(float(np.quantile(values, share)), 5) if values else None


def show(result: dict[str, Any]) -> None:
    """Print a small table."""
    print(f"{'plans':10}{'count':>8}{'p50':>10}{'p99':>10}")
    for name, row in result["plans"].items():
        print(f"{name:10}{row['count']:8}{row['p50'] or 0:9.4f}s{row['p99'] or 0:9.4f}s")
    sent, answered, closed = result["messages"].values()
    print(f"{sent} malformed messages: {answered} answered with a sentence, {closed} connections closed.")
    print(f"{result['half_open']} half-open connections at {result['descriptors']} descriptors.")
    print("Alive: " + ", ".join(f"{when} {'yes' if so else 'NO'}" for when, so in result["alive"].items()) + ".")
    print("Passed." if result["passed"] else f"NOT passed (p99 must be at most {LONGEST} s before and after).")


def main() -> int:
    """Run the test as the command line says, and keep its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="where to save the result")
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--descriptors", type=int, default=1024)
    parser.add_argument("--plans", type=int, default=300, help="to be measured before, and after")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    result = attack(options.messages, options.connections, options.descriptors, options.plans, options.seed)
    options.json.write_text(json.dumps(result, indent=2) + "\n")
    show(result)
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
