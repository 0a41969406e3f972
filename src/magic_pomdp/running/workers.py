"""Many jobs in worker processes. A worker that dies is replaced and its job done again: it costs time, never a job.

Workers are forked from a server process that has imported numba and the planner once, so that they start in
milliseconds, share memory, and inherit nothing from the caller (neither threads nor open files). `start_server` lets
these imports begin while the caller is still busy with its own.
"""

import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import connection, forkserver, resource_tracker
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from magic_pomdp.core.machine import collect_seldom
from magic_pomdp.running.where import present_cluster

_Job = TypeVar("_Job", bound=Hashable)
_Result = TypeVar("_Result")

ATTEMPTS = 3
"""A job that has ended so many workers is given up."""
_SOON = 0.3
"""Seconds after which the system knows of a death that a closed connection has told."""
PRELOADED = ["magic_pomdp.running.preload"]
HINT = "`magic-pomdp check` looks for mistakes in a task; to see where, use `--workers 0` and set NUMBA_DISABLE_JIT=1"
CRASH_HINT = "`magic-pomdp check` looks for mistakes in a task; `--debug` names an index that is out of bounds"

_CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, getattr(signal, "SIGBUS", None)}
"""How a process ends that has written where it should not."""

_TOO_LONG = "AF_UNIX path too long"
"""How Python calls it; there is no number for it."""

READY, DONE, FAILED, DIED = range(4)
"""What a worker's message says."""

_context: Any = multiprocessing.get_context(
    "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
)


class JobFailed(Exception):
    """A job raised an exception, or ended its worker time after time. The text is one sentence for a person."""


def start_server() -> None:
    """Begin the imports that all workers share, without waiting for them."""
    if _context.get_start_method() == "forkserver":
        _context.set_forkserver_preload(PRELOADED)
        with _starting():
            forkserver.ensure_running()


def run_jobs(
    make_function: Callable[[], Callable[[_Job], _Result]],
    jobs: Iterable[_Job],
    workers: int,
    kind: str = "Job",
) -> Generator[tuple[_Job, _Result], None, None]:
    """Yield (job, result) for every job, in the order in which they are finished.

    Each worker calls `make_function` once (it must be picklable) and then its result for one job after the other.
    With 0 workers everything happens in this process. `kind` is what messages call a job.
    """
    return cast(Generator[tuple[_Job, _Result], None, None], poll_jobs(make_function, jobs, workers, kind))


def poll_jobs(
    make_function: Callable[[], Callable[[_Job], _Result]],
    jobs: Iterable[_Job],
    workers: int,
    kind: str = "Job",
    patience: Callable[[], float | None] = lambda: None,
    changing: Path | None = None,
) -> Generator[tuple[_Job, _Result] | None, None, None]:
    """Like `run_jobs`, but yield None, too, whenever no result has come for as many seconds as `patience` says (None:
    for ever): so the caller can do other things between results. A job is taken from `jobs` when a worker is free.

    `changing` is a file that the caller goes on writing to, in place, for workers to map into memory: on a cluster each
    gets it anew with a job."""
    if workers < 0:
        raise ValueError(f"The number of workers must be at least 0, not {workers}.")
    if workers == 0:
        return _run_here(make_function, jobs, kind)
    cluster = present_cluster()
    if cluster is not None:
        return cluster.poll_jobs(make_function, jobs, workers, kind, patience, changing)
    try:
        payload = pickle.dumps(make_function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(f"This cannot be sent to worker processes ({error}): use 0 workers.") from None
    return _run_in_workers(payload, jobs, workers, kind, patience)


def _run_here(
    make_function: Callable[[], Callable[[Any], Any]], jobs: Iterable[Any], kind: str
) -> Generator[tuple[Any, Any], None, None]:
    try:
        function = make_function()
    except Exception as error:
        raise JobFailed(f"Nothing could start because of {describe_error(error)}.") from error
    for job in jobs:
        try:
            result = function(job)
        except Exception as error:
            raise JobFailed(f"{kind} {job} failed with {describe_error(error)}.") from error
        yield job, result


def _run_in_workers(
    payload: bytes, jobs: Iterable[Any], count: int, kind: str, patience: Callable[[], float | None]
) -> Generator[tuple[Any, Any] | None, None, None]:
    start_server()
    waiting = iter(jobs)
    deaths: Counter[Any] = Counter()
    failed_starts = 0  # in a row: nothing else was heard of any worker
    workers: dict[Any, _Worker] = {}
    try:
        _add_workers(workers, 1, payload, waiting)  # it compiles what there is to compile; the others then load it
        while workers:
            all_ready = connection.wait(list(workers), patience())
            if not all_ready:
                yield None
            for ready in all_ready:
                worker, job = workers[ready], workers[ready].job
                message, value = worker.receive()
                if message != DIED:
                    failed_starts = 0
                if message == READY and count > 0:
                    _add_workers(workers, count - 1, payload, waiting)
                    count = 0
                elif message == DONE:
                    following = next(waiting, None)
                    if following is None:
                        workers.pop(ready).stop()
                    else:
                        worker.give(following)
                    yield job, value
                elif message == FAILED:
                    raise JobFailed(failure_sentence(worker, kind, value))
                elif message == DIED:
                    workers.pop(ready).stop()
                    if worker.ready:
                        deaths[job] += 1
                    else:  # that was not the job's fault
                        failed_starts += 1
                    if ATTEMPTS in (deaths[job], failed_starts):
                        raise JobFailed(_death_sentence(worker, kind))
                    worker = _Worker(payload, job)
                    workers[worker.connection] = worker
    finally:
        for worker in workers.values():
            worker.stop()


def _add_workers(workers: "dict[Any, _Worker]", count: int, payload: bytes, jobs: Iterator[Any]) -> None:
    for _, job in zip(range(count), jobs, strict=False):
        worker = _Worker(payload, job)
        workers[worker.connection] = worker


def start_process(target: Callable[..., None], *args: Any) -> tuple[Any, connection.Connection]:
    """A process that runs target(connection, *args), and our end of the connection. It should begin with
    `follow_parent`."""
    near_end, far_end = _context.Pipe()
    process = _context.Process(target=target, args=(far_end, *args), daemon=True)
    with _starting():
        for _ in range(ATTEMPTS):
            try:
                process.start()
                break
            except (EOFError, ConnectionError):  # the server has died; there is another one once the system knows
                time.sleep(_SOON)
        else:
            raise JobFailed("The process that starts the workers ends before it has started one.")
    far_end.close()  # the process's is now the only one, so that its death ends the connection
    return process, near_end


def follow_parent() -> None:
    """In a process of its own: leave Ctrl-C to the parent, and end when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


class AtWork(Protocol):
    """What is known of a worker."""

    ready: bool
    """Whether it has made its function."""
    job: Any
    """What it has been given last."""


class _Worker:
    """The caller's side of one worker process, which always has a job."""

    def __init__(self, payload: bytes, job: Any) -> None:
        self.process, self.connection = start_process(_serve, payload)
        self.ready = False
        self.give(job)

    def give(self, job: Any) -> None:
        self.job = job
        with suppress(OSError):  # of a worker that has died: this is seen when its answer is awaited
            self.connection.send(job)

    def receive(self) -> tuple[int, Any]:
        """Its next message and what comes with it."""
        try:
            message, value = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(timeout=1.0)
            return DIED, None
        self.ready = self.ready or message == READY
        return message, value

    def stop(self) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.connection.close()


def _serve(to_parent: connection.Connection, payload: bytes) -> None:
    """A worker's life."""
    follow_parent()
    collect_seldom()
    with suppress(EOFError, OSError):  # the parent has gone
        try:
            function = pickle.loads(payload)()
        except Exception as error:
            to_parent.send((FAILED, describe_error(error)))
            return
        to_parent.send((READY, None))
        while True:
            job = to_parent.recv()
            try:
                to_parent.send((DONE, function(job)))
            except Exception as error:
                to_parent.send((FAILED, describe_error(error)))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextmanager
def _starting() -> Iterator[None]:
    """Around the start of a process. What is too long there is the name of a socket, which lies among the temporary
    files."""
    with _present_folder_left_out(), _interrupts_blocked():
        try:
            yield
        except OSError as error:
            if _TOO_LONG not in str(error):
                raise
            raise ValueError(
                f"The folder for temporary files has too long a path for worker processes: {tempfile.gettempdir()}. "
                "Set TMPDIR to a folder with a shorter one, such as /tmp."
            ) from None


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Hold Ctrl-C back while a process starts; the new process inherits this, and is never interrupted itself."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it would be started before the process, and then let Ctrl-C pass
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _present_folder_left_out() -> Iterator[None]:
    """Let a new Python not look for libraries in the present folder, as it would first. (Workers are then told where
    the caller looks.)"""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        del os.environ["PYTHONSAFEPATH"]
        if before is not None:
            os.environ["PYTHONSAFEPATH"] = before


def describe_error(error: Exception) -> str:
    """An exception in one line; the first lines of numba's only say in which pass it failed."""
    lines = [line.strip() for line in str(error).splitlines() if not line.startswith("Failed in nopython mode")]
    return f"{type(error).__name__}: {' '.join(lines[:1])}".rstrip(" :.")


def failure_sentence(worker: AtWork, kind: str, error: str) -> str:
    """What to say of a worker that has failed with an error."""
    if worker.ready:
        return f"{kind} {worker.job} failed with {error} ({HINT})."
    return f"Nothing could start because of {error} ({HINT})."


def _death_sentence(worker: _Worker, kind: str) -> str:
    code = worker.process.exitcode or 0
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    hint = CRASH_HINT if -code in _CRASHES else HINT
    if worker.ready:
        return f"{kind} {worker.job} has ended its worker process {ATTEMPTS} times ({how}; {hint})."
    if code < 0:
        return f"Nothing could start: {ATTEMPTS} worker processes have ended in their first plan ({how}; {hint})."
    return (
        f"The workers end before they have started ({how}): a script that uses workers must do so under "
        '`if __name__ == "__main__":`.'
    )
