"""A check in a process of its own. A function that never returns, or that ends the process, is named."""

import math
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NamedTuple

import numba

from magic_pomdp.core.task import Task
from magic_pomdp.running.workers import JobFailed, describe_error, follow_parent, start_process, start_server
from magic_pomdp.testing import check_task, finding, tell_nobody
from magic_pomdp.testing.finding import Finding

_NEWS = 1.0
"""Seconds after which a check that goes on calling the same function says so."""


class _Stage(NamedTuple):
    """The message that a stage of the check begins."""

    what: str
    number: int
    of: int


def check_task_apart(
    task: Task, longest: float = math.inf, tell: Callable[[str, int, int], None] = tell_nobody
) -> list[Finding]:
    """`check_task` in another process. There numba looks at the indices of all arrays, those of helper functions, too.
    No call may last `longest` seconds, nor what the checks themselves grant it."""
    start_server()
    process, messages = start_process(_check, task)
    name, patience = "the task", finding.COMPILED_PATIENCE
    try:
        while messages.poll(patience):
            message = messages.recv()
            if isinstance(message, list):
                return message
            if isinstance(message, str):
                raise JobFailed(f"The check itself failed with {message}.")
            if isinstance(message, _Stage):
                tell(*message)
                continue
            name, patience = message[0], min(message[1], longest)
        seen = f"it has not returned for {patience:.0f} s"
        return [Finding(name, seen, "that every call ends", "Look for a loop whose end is never reached")]
    except EOFError:
        process.join()
        code = process.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        advice = "Look for recursion without an end, and for code that does not go through Python or numba"
        return [Finding(name, f"it ended the process ({how})", "that it returns", advice)]
    finally:
        process.kill()
        process.join()
        messages.close()


def _check(to_parent: Connection, task: Task) -> None:
    """The other process's life: say which function is called, and at last what was found."""
    follow_parent()
    numba.config.BOUNDSCHECK = 1
    said, when = "", 0.0

    def say(name: str, patience: float) -> None:
        nonlocal said, when
        now = time.monotonic()
        if name != said or now > when + _NEWS:
            to_parent.send((name, patience))
            said, when = name, now

    finding.on_call = say
    try:
        to_parent.send(check_task(task, lambda *stage: to_parent.send(_Stage(*stage))))
    except Exception as error:
        to_parent.send(describe_error(error))
