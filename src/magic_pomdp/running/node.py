"""A worker on a machine of a cluster: it stays, is prepared for a kind of job, and then does one job after the other.

Only bytes, texts and numbers pass between it and whoever has the jobs, and no exception does. So nothing has to be
understood on the way, and a machine with other software can still say so.
"""

import os
import pickle
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from hashlib import sha256
from pathlib import Path
from platform import python_version
from typing import Any

from filelock import FileLock

from magic_pomdp.core.machine import become_worker, collect_seldom
from magic_pomdp.running.parcel import Parcel, private_folder, unpack
from magic_pomdp.running.workers import DONE, FAILED, READY, describe_error

OTHER_SOFTWARE, NOT_FOUND = "other software", "not found"
"""Beside the messages of other workers: what is wrong with the machine."""
Message = tuple[Any, Any]
"""What it says, and what comes with it."""


@cache
def software() -> dict[str, str]:
    """What must be the same everywhere, or results may differ."""
    import numba
    import numpy

    from magic_pomdp import __version__

    folder = Path(__file__).parents[1]
    code = sha256(b"".join(path.read_bytes() for path in sorted(folder.rglob("*.py")))).hexdigest()[:8]
    return {
        "magic-pomdp": f"{__version__} of code {code}",
        "numba": numba.__version__,
        "numpy": numpy.__version__,
        "Python": python_version(),
    }


class NodeWorker:
    """What runs there."""

    def __init__(self) -> None:
        become_worker()
        collect_seldom()
        import magic_pomdp.running.preload  # noqa: F401

        self._folder = tempfile.TemporaryDirectory(prefix="magic-pomdp-")
        self._changing = Path(self._folder.name)
        """The file that changes."""
        self._function: Callable[[Any], Any] | None = None

    def prepare(self, expected: dict[str, str], parcel: bytes, path: str, changing: bytes | None) -> Message:
        """Make the function that does the jobs. If there is a file that changes, it has a path there, and a content."""
        if (found := software()) != expected:
            return OTHER_SOFTWARE, found
        self._function = None  # what it holds is not needed any more
        try:
            if changing is not None:
                handle, name = tempfile.mkstemp(dir=self._folder.name)
                os.close(handle)
                self._changing = Path(name)
                self._changing.write_bytes(changing)
            received: Parcel = pickle.loads(parcel)
            make_function = unpack(received, None if changing is None else (path, str(self._changing)))
        except Exception as error:
            return NOT_FOUND, describe_error(error)
        try:
            self._function = _first_alone(make_function, sha256(parcel + repr(found).encode()).hexdigest()[:16])
        except Exception as error:
            return FAILED, describe_error(error)
        return READY, None

    def do(self, job: bytes, changing: bytes | None) -> Message:
        """Do a job; before it, write the file that changes, if there is something new."""
        assert self._function is not None
        try:
            if changing is not None:
                with self._changing.open("rb+") as file:  # in place: it is mapped into memory
                    file.write(changing)
            return DONE, pickle.dumps(self._function(pickle.loads(job)))
        except Exception as error:
            return FAILED, describe_error(error)


def _first_alone(make_function: Callable[[], Callable[[Any], Any]], name: str) -> Callable[[Any], Any]:
    """Make the function. The first worker on a machine compiles what there is to compile, while the others wait; they
    then load it, all at the same time."""
    done = private_folder() / f"compiled-{name}"
    with nullcontext() if done.exists() else FileLock(f"{done}.lock"):
        if not done.exists():
            function = make_function()
            done.touch()
            return function
    return make_function()
