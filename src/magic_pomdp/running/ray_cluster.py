"""Jobs on a Ray cluster. What is decided here is decided as for worker processes; only who works is somewhere else.

A worker is an actor with a core of its own. It stays for as many evaluations as there are, and so does what it has
compiled. One that dies, alone or with its machine, is replaced, and its job done again: a job counts when its result
has come, and one worker has it at a time. Ray's own retries are not used.
"""

import os
import pickle
import socket
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from magic_pomdp.core.extras import install_command
from magic_pomdp.core.machine import available_cores
from magic_pomdp.core.reading import in_short
from magic_pomdp.running.node import NOT_FOUND, OTHER_SOFTWARE, NodeWorker, software
from magic_pomdp.running.parcel import Parcel, pack
from magic_pomdp.running.workers import ATTEMPTS, DIED, DONE, HINT, READY, JobFailed, failure_sentence

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anybody
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # nor is the user told what will change in Ray

import ray
import ray.exceptions

_OLDEST = (2, 60)
"""Version of Ray."""
_ANY = "auto"
"""Instead of an address: the cluster to which this machine belongs."""
_CONNECT_SECONDS = 5.0
"""How long somebody may take to answer at an address."""
_STORE_BYTES = 2**28
"""For what workers share on this machine, if Ray is started here for one command."""


@contextmanager
def connected(address: str | None) -> Iterator["RayCluster"]:
    """The cluster of `where.on_ray`, as long as the block lasts. Who is connected to a cluster stays with it."""
    address = address or os.environ.get("RAY_ADDRESS") or _ANY
    if address != _ANY:
        _check_address(address)
    before = ray.is_initialized()
    if not before:
        _connect(address)
    cluster = RayCluster()
    try:
        yield cluster
    finally:
        cluster.close()
        if not before:
            ray.shutdown()


def _connect(address: str) -> None:
    version = tuple(int(part) for part in ray.__version__.split(".")[:2])
    if version < _OLDEST:
        raise ValueError(f"Ray {ray.__version__} is too old: {install_command('ray')}.")
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": True}
    try:
        if address == _ANY:
            _join_or_start(quiet)
        else:
            ray.init(address, **quiet)
    except (ConnectionError, RuntimeError) as error:
        raise ValueError(f"The cluster at {address} cannot be used: {_first_sentence(error)}") from None
    except Exception as error:  # Ray has no class of its own for a start that takes too long
        raise ValueError(f"Ray cannot be started on this machine: {_first_sentence(error)}") from None


def _join_or_start(quiet: dict[str, Any]) -> None:
    """The cluster of which `ray start` has made this machine a part, else one of this machine alone. (Ray's "auto"
    would be any cluster here, also one that another command has started, and ends.)"""
    alone = {"num_cpus": available_cores(), "include_dashboard": False, "object_store_memory": _STORE_BYTES, **quiet}
    try:
        ray.init(**alone)
    except ValueError:  # there is a cluster already, which has its own settings
        try:
            ray.init(**quiet)
        except ConnectionError:  # not any more
            ray.init("local", **alone)


def _check_address(address: str) -> None:
    """A ValueError at once, where Ray would try for a minute."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        raise ValueError(f"The address of a cluster is written HOST:PORT, such as 10.0.0.1:6379, not {address!r}.")
    try:
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError):
        raise ValueError(
            f"Nothing answers at {address}: start a cluster there with `ray start --head`, or name the right address."
        ) from None


def _first_sentence(error: Exception) -> str:
    return in_short(" ".join(str(error).split()), 300)


class _Worker:
    """The caller's side of one actor."""

    def __init__(self, actor: Any, kind: tuple[str, int]) -> None:
        self.actor, self.kind = actor, kind
        self.ready = False
        self.job: Any = None
        self.seen = 0
        """The version of the file that changes that it has got."""

    def stop(self) -> None:
        ray.kill(self.actor)


class RayCluster:
    """The cluster to which this process is connected."""

    def __init__(self) -> None:
        self.idle: list[_Worker] = []
        self._actor_class: Any = ray.remote(max_restarts=0, scheduling_strategy="SPREAD")(NodeWorker)

    @property
    def cores(self) -> int:
        """How many workers can run at the same time."""
        return max(1, int(ray.cluster_resources().get("CPU", 1)))

    @property
    def cores_of_machine(self) -> int:
        """Of the smallest machine that has any."""
        counts = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
        return min((count for count in counts if count > 0), default=1)

    def poll_jobs(
        self,
        make_function: Callable[[], Callable[[Any], Any]],
        jobs: Iterable[Any],
        workers: int,
        kind: str,
        patience: Callable[[], float | None],
        changing: Path | None,
        cores: int = 1,
    ) -> Generator[tuple[Any, Any] | None, None, None]:
        """As `workers.poll_jobs`; a worker has so many cores of a machine."""
        try:
            parcel = pack(make_function, changing)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(f"This cannot be sent to a cluster ({error}).") from None
        return _Run(self, parcel, jobs, kind, changing, cores).results(workers, patience)

    def worker(self, modules: str, cores: int) -> _Worker:
        """An idle worker that has loaded these modules, and has so many cores; else a new one."""
        for worker in self.idle:
            if worker.kind == (modules, cores):
                self.idle.remove(worker)
                worker.ready, worker.seen = False, 0
                return worker
        while self.idle:  # their cores are needed
            self.idle.pop().stop()
        return _Worker(self._actor_class.options(num_cpus=cores).remote(), (modules, cores))

    def close(self) -> None:
        """Let all workers go."""
        while self.idle:
            self.idle.pop().stop()


class _Run:
    """Jobs of one kind."""

    def __init__(
        self, cluster: RayCluster, parcel: Parcel, jobs: Iterable[Any], kind: str, changing: Path | None, cores: int
    ) -> None:
        self.cluster, self.modules, self.kind, self.changing = cluster, parcel.modules, kind, changing
        self.cores = cores
        self.jobs = iter(jobs)
        self.waiting: deque[Any] = deque()
        """Jobs that are to be done next: the first ones, and those whose worker has died."""
        self.calls: dict[Any, _Worker] = {}
        """The workers that are at work, by what they have promised."""
        self.deaths: Counter[Any] = Counter()
        """Workers that a job has ended."""
        self.failed_starts = 0
        """In a row: nothing else was heard of any worker."""
        self._parcel = ray.put(pickle.dumps(parcel))
        self._content, self._version, self._sent = b"", 0, None

    def results(
        self, count: int, patience: Callable[[], float | None]
    ) -> Generator[tuple[Any, Any] | None, None, None]:
        """Jobs and their results, by so many workers."""
        try:
            self.waiting.extend(islice(self.jobs, count))
            for _ in range(len(self.waiting)):
                self._start()
            while self.waiting or any(worker.ready for worker in self.calls.values()):
                finished, _ = ray.wait(list(self.calls), timeout=patience())
                if not finished:
                    yield None
                for call in finished:
                    worker = self.calls.pop(call)
                    job, (message, value) = worker.job, _answer(call)
                    if message == DIED:
                        self._replace(worker, value)
                        continue
                    if message not in (READY, DONE):
                        raise _trouble(worker, self.kind, message, value)
                    self.failed_starts, worker.ready = 0, True
                    self._give_work(worker)
                    if message == DONE:
                        yield job, pickle.loads(value)
        finally:
            for worker in self.calls.values():
                worker.stop()

    def _replace(self, worker: _Worker, death: "_Death") -> None:
        """Somebody else does the job. It is given up if it has ended several workers: it may be to blame."""
        worker.stop()
        counts = not death.with_machine
        if worker.ready:
            self.waiting.append(worker.job)
            self.deaths[worker.job] += counts
        else:
            self.failed_starts += counts
        if ATTEMPTS in (self.deaths[worker.job], self.failed_starts):
            raise JobFailed(_death_sentence(worker, self.kind, death))
        self._start()

    def _start(self) -> None:
        """Let one more worker prepare itself."""
        worker = self.cluster.worker(self.modules, self.cores)
        worker.seen = self._publish()
        path = os.path.abspath(self.changing) if self.changing else ""
        call = worker.actor.prepare.remote(software(), self._parcel, path, self._sent)
        self.calls[call] = worker

    def _give_work(self, worker: _Worker) -> None:
        """The next job, or leave to go."""
        if self.waiting:
            worker.job = self.waiting.popleft()
        else:
            worker.job = next(self.jobs, None)
        if worker.job is None:
            self.cluster.idle.append(worker)
            return
        version = self._publish()
        news = None if worker.seen == version else self._sent
        worker.seen = version
        self.calls[worker.actor.do.remote(pickle.dumps(worker.job), news)] = worker

    def _publish(self) -> int:
        """The version of the file that changes, which is there for all workers then."""
        if self.changing is not None and (content := self.changing.read_bytes()) != self._content:
            self._content, self._version, self._sent = content, self._version + 1, ray.put(content)
        return self._version


class _Death(NamedTuple):
    """Of a worker."""

    with_machine: bool
    """Whether its machine has died, which is no fault of the job."""
    why: str


def _answer(call: Any) -> tuple[Any, Any]:
    """The message that has come, or that its worker has died."""
    try:
        message: tuple[Any, Any] = ray.get(call)
        return message
    except ray.exceptions.RayError as error:
        why = _first_sentence(error)
        if "No module named 'magic_pomdp" in str(error):
            return NOT_FOUND, "there is no magic_pomdp, or an old one"
        return DIED, _Death("node has died" in str(error), why)


def _trouble(worker: _Worker, kind: str, message: Any, value: Any) -> Exception:
    """What to raise when a worker tells that something is wrong."""
    if message == OTHER_SOFTWARE:
        mine = software()
        name = next(name for name in mine if value.get(name) != mine[name])
        return ValueError(
            f"A machine of the cluster has {name} {value.get(name)}, and this one {mine[name]}: results might differ, "
            "so install the same there."
        )
    if message == NOT_FOUND:
        return ValueError(
            f"What the jobs need cannot be loaded on a machine of the cluster ({value}): install it there."
        )
    return JobFailed(failure_sentence(worker, kind, value))


def _death_sentence(worker: _Worker, kind: str, death: _Death) -> str:
    if worker.ready:
        return f"{kind} {worker.job} has ended its worker {ATTEMPTS} times ({HINT})."
    return f"Nothing could start: {ATTEMPTS} workers have ended before their first job ({death.why})."
