"""Options of commands that run many jobs: where."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Literal

from magic_pomdp.cli.options import default


@dataclass(frozen=True)
class Where:
    """Where episodes run."""

    on: Literal["local", "ray"] = "local"
    """In worker processes of this machine, or on a Ray cluster."""
    address: Annotated[str | None, default("HOST:PORT", "that to which this machine belongs, else itself")] = None
    """The head of the Ray cluster."""

    @contextmanager
    def jobs(self) -> Iterator[None]:
        """While this lasts, all jobs run there."""
        if self.on == "local":
            if self.address is not None:
                raise ValueError("An address is that of a cluster: say --on ray, too.")
            yield
            return
        from magic_pomdp.running.where import on_ray

        with on_ray(self.address):
            yield
