"""Where jobs run: in worker processes of this machine or, inside `jobs_on`, on a cluster. Nobody else needs to know."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from magic_pomdp.core.extras import install_command
from magic_pomdp.core.machine import available_cores


class Cluster(Protocol):
    """Workers that are not this machine's own processes."""

    @property
    def cores(self) -> int:
        """How many workers can run at the same time."""

    @property
    def cores_of_machine(self) -> int:
        """Of the smallest machine."""

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
        """As `workers.poll_jobs`, with at least one worker, each of which has so many cores of a machine."""


_present: Cluster | None = None


def present_cluster() -> Cluster | None:
    """Where jobs run now; None for this machine's worker processes."""
    return _present


@contextmanager
def jobs_on(cluster: Cluster) -> Iterator[None]:
    """Let all jobs of this process run on a cluster for a while."""
    global _present
    before, _present = _present, cluster
    try:
        yield
    finally:
        _present = before


@contextmanager
def on_ray(address: str | None = None) -> Iterator[None]:
    """Let all jobs of this process run on a Ray cluster for a while: evaluations, comparisons, searches for settings,
    and the workers of trainings. `address` is that of the cluster's head, HOST:PORT. Without one it is the cluster to
    which this machine belongs or, if there is none, one of this machine alone, which ends with the block."""
    if find_spec("ray") is None:
        raise ValueError(f"A cluster needs ray: {install_command('ray')}.")
    from magic_pomdp.running.ray_cluster import connected  # so late, for nobody else needs it

    with connected(address) as cluster, jobs_on(cluster):
        yield


def cores_at_hand() -> int:
    """How many workers can run at the same time, where jobs run now."""
    return available_cores() if _present is None else _present.cores
