import os
import signal
import sys

import pytest

from magic_pomdp import cli
from magic_pomdp.core.machine import collect_seldom
from magic_pomdp.planners import macro_despot

collect_seldom()
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it, as all that it starts


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    """Each of pytest's workers has others beside it."""
    monkeypatch.setattr(macro_despot, "default_threads", lambda: 1)


def pytest_collection_modifyitems(items):
    """Each of the workers, to whom the list is dealt out in equal parts, begins with its share of the slow tests.
    Neighbours go to the same worker: they often need the same kernels, and two workers would both compile them."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    slow = [item for item in items if item.get_closest_marker("slow")]
    others = [item for item in items if not item.get_closest_marker("slow")]
    items[:] = [item for worker in range(workers) for some in (slow, others) for item in share(some, worker, workers)]


def share(items, worker, workers):
    """One worker's share of a list: as many neighbours as the others get."""
    size = -(-len(items) // workers)
    return items[worker * size : (worker + 1) * size]


@pytest.fixture
def jit():
    """For what only compiled code does."""
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        pytest.skip("NUMBA_DISABLE_JIT=1")


@pytest.fixture
def jit_is_off():
    """For what can only be looked into in ordinary Python."""
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        pytest.skip("in the run with NUMBA_DISABLE_JIT=1")


@pytest.fixture
def run(monkeypatch, capfd, tmp_path):
    """Run a command in this process, in an empty folder: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def run_command(*arguments):
        monkeypatch.setattr(sys, "argv", ["magic-pomdp", *map(str, arguments)])
        try:
            code = cli.main()
        except SystemExit as end:
            code = end.code
        return code, *capfd.readouterr()

    return run_command
