"""Compiled code on disk, each file under a seal: what is damaged is compiled anew, and never run.

Numba keeps an index of each kernel (`.nbi`) and a file of each of its compiled versions (`.nbc`), and takes what it
reads for what it wrote: one flipped bit may end the process. Here each file begins with a digest of its content, and
says what it holds the code of. A file that is not whole, or holds something else (two processes that began at the same
time may have written to the same one), counts as absent: the kernel is compiled, and the file written again. A file
that cannot be written is not kept. Sealed files have names of their own, so nobody else takes them for numba's.
"""

import hashlib
import io
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher

from magic_pomdp.core.parts import connect

_SEAL = b"magic-pomdp: compiled code\n"
_HEAD = len(_SEAL) + hashlib.sha256().digest_size

_folders: set[Path] = set()
"""Where the kernels of this process are kept."""


def keep(function: Any) -> Any:
    """Let what numba compiles of a function be kept on disk. With the JIT off, it is ordinary Python and stays so."""
    if isinstance(function, Dispatcher):
        function._cache = _SealedCache(function.py_func)  # type: ignore[attr-defined]
    return function


def kept_files() -> list[Path]:
    """All files with compiled code, in the folders of the kernels that this process has imported."""
    return sorted(path for folder in _folders for path in folder.glob("*.sealed*.nb[ic]"))


def is_whole(path: Path) -> bool:
    """Whether a file with compiled code is as it was written."""
    try:
        return _unsealed(path.read_bytes()) is not None
    except OSError:
        return False


def _sealed(content: bytes) -> bytes:
    return _SEAL + hashlib.sha256(content).digest() + content


def _unsealed(content: bytes) -> bytes | None:
    """What was sealed; None if it is not that any more."""
    inner = content[_HEAD:]
    return inner if content == _sealed(inner) else None


class _SealedFiles(IndexDataCacheFile):
    """The files of one kernel. Each has two parts: the versions of numba and of the kernel's own file, and what numba
    wants to keep, with the key under which it asks for it."""

    def __init__(self, cache_path: str, filename_base: str, source_stamp: Any) -> None:
        super().__init__(cache_path, f"{filename_base}.sealed", source_stamp)

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        name = self._load_index().get(key)
        found, data = (name and self._read(self._data_path(name))) or (None, None)
        return data if found == key else None

    def _load_index(self) -> dict[Any, str]:
        return self._read(self._index_path) or {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, overloads)

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> Any:
        try:
            content = io.BytesIO(_unsealed(Path(path).read_bytes()) or b"")
            if pickle.load(content) == (self._version, self._source_stamp):
                return pickle.load(content)
        except Exception:  # there is no file, or nothing in it that can be used here: it is compiled anew
            return None

    def _write(self, path: str, value: Any) -> None:
        content = self._dump((self._version, self._source_stamp)) + self._dump(value)
        with self._open_for_write(path) as file:  # a temporary one, which then takes the other's place
            file.write(_sealed(content))


class _SealedCache(FunctionCache):
    """What numba asks for compiled code of one kernel."""

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _SealedFiles(self.cache_path, self._impl.filename_base, stamp)
        _folders.add(Path(self.cache_path))

    def save_overload(self, sig: Any, data: Any) -> None:
        connect(data)
        with suppress(OSError):  # a full disk costs the next process the time to compile, and this one nothing
            super().save_overload(sig, data)
