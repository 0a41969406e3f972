import os
import signal

import pytest

from magic_pomdp.core.machine import collect_seldom
from magic_pomdp.planners import macro_despot

collect_seldom()
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it, as all that it starts


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    """Each of pytest's workers has others beside it."""
    monkeypatch.setattr(macro_despot, "default_threads", lambda: 1)


def pytest_collection_modifyitems(items):
    """Each of the workers, to whom the list is dealt out in equal parts, begins with its share of the slow tests."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    slow = [item for item in items if item.get_closest_marker("slow")]
    others = [item for item in items if not item.get_closest_marker("slow")]
    part = -(-len(others) // workers)
    items[:] = [
        item
        for worker in range(workers)
        for item in (*slow[worker::workers], *others[worker * part : (worker + 1) * part])
    ]


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
