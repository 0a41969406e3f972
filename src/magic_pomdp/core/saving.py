"""Results on disk: whole or not at all."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import FileLock


def check_writable(path: Path) -> Path:
    """The file that a result can be saved to, or a ValueError that says why not. An existing file stays as it is."""
    try:
        path = path.resolve()
        if path.is_dir():
            raise ValueError(f"{path} is a folder: name a file in it.")
        if not path.parent.is_dir():
            raise ValueError(f"There is no folder {path.parent} to save {path.name} in: make it first.")
        if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
            raise ValueError(f"{path} cannot be overwritten: choose another file.")
        _temporary(path).touch()
        _temporary(path).unlink()
    except OSError as error:
        raise ValueError(f"Nothing can be saved as {path} ({error.strerror}): choose another place.") from None
    return path


def make_folder(folder: Path) -> Path:
    """The folder, made if there is none yet, or a ValueError that says why it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"The folder {folder} cannot be made ({error.strerror}): name another place.") from None
    return folder


@contextmanager
def claimed(place: Path) -> "Iterator[FileLock]":
    """A folder or a file for this process alone, until it ends in whatever way; a ValueError if another one has it.
    Gives the lock, which who has it may take again."""
    from filelock import FileLock, Timeout  # takes longer to import than all else here

    folder = place.is_dir()
    lock = FileLock(place / ".lock" if folder else place.with_name(f".{place.name}.lock"))
    try:
        lock.acquire(timeout=0.0)
    except Timeout:
        where, what = ("in", "folder") if folder else ("on", "file")
        raise ValueError(
            f"Another process is at work {where} {place}: wait for it, or choose another {what}."
        ) from None
    try:
        yield lock
    finally:
        lock.release()


def save_bytes(path: Path, content: bytes) -> None:
    """Write a file in one step: whoever reads it sees the old content or the new, never half."""
    with in_one_step(path) as temporary, temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def in_one_step(path: Path) -> Iterator[Path]:
    """Gives a file to write to, which takes the place of `path` at the end, or is gone if something goes wrong. What
    processes that were killed have left of the same file goes, too."""
    temporary = _temporary(path)
    with naming(path):
        for other in path.parent.glob(f".{escape(path.name)}.*.part"):
            if not _is_running(other.name.split(".")[-2]):
                other.unlink(missing_ok=True)
        try:
            yield temporary
            temporary.replace(path)
        finally:
            with suppress(OSError):  # of a folder that has gone
                temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """An OSError tells which file it is about: on its own, it does not if what fails is the writing."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


def save_elsewhere(name: str, save: Callable[[Path], object]) -> Path | None:
    """Save what cannot be where it should: as a file in a new folder among the temporary files or, if there is no room
    either, in the home folder. Where it is; None if there is room nowhere."""
    for find in (tempfile.gettempdir, Path.home):
        with suppress(OSError, RuntimeError):  # RuntimeError: of somebody without a home
            folder = Path(tempfile.mkdtemp(prefix="magic-pomdp-", dir=find()))
            try:
                save(folder / name)
                return folder / name
            except OSError:
                folder.rmdir()
    return None


def _is_running(process: str) -> bool:
    """Whether there is such a process, as far as this system tells."""
    if os.name != "posix":  # elsewhere a signal of 0 ends it
        return True
    with suppress(PermissionError):
        try:
            os.kill(int(process), 0)
        except (ValueError, ProcessLookupError):
            return False
    return True


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")
