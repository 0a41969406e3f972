"""What another machine needs for a kind of job: a pickled object, and the files that it depends on.

These are the files of one's own modules (all that are loaded, and not installed) and those that a text or a path in the
object names, such as a model or a map. On the other machine they lie below one folder, where they lie here, and the
folder that is ours at present has its copy there. So relative names hold, and absolute ones are changed on the way.
"""

import hashlib
import io
import os
import pickle
import re
import runpy
import site
import sys
import sysconfig
import tempfile
import types
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from magic_pomdp.core.reading import in_short

MOST_BYTES = 500 * 2**20
"""Of all files together."""
_PLACE = re.compile(r"(.+\.py)(:\w+)")
"""A class in a file, as people write it."""
_LIBRARIES = re.compile(r"[/\\](site|dist)-packages[/\\]")
"""Folders of libraries, wherever they are."""
_SCRIPT = "__main__"
"""The module that Python was started with."""


class _Named(NamedTuple):
    """An absolute path in the object."""

    path: str
    rest: str
    """What stands behind it, such as the name of a class."""
    is_path: bool
    """Whether it was a Path, and not text."""


@dataclass(frozen=True)
class Parcel:
    """An object on its way."""

    content: bytes
    """Pickled."""
    named: tuple[_Named, ...]
    """The absolute paths in it, which its pickle tells by their number."""
    files: dict[str, bytes]
    """What goes with it, by absolute path."""
    folders: tuple[str, ...]
    """Where its modules are looked for."""
    present: str
    """The folder in which it was packed."""
    script: str
    """The file of the script that it needs; "" if none."""
    modules: str
    """A fingerprint of the modules: a process that has loaded others cannot use this."""

    @cached_property
    def digest(self) -> str:
        """A fingerprint of all files, and where they lie."""
        return _digest(self.files)


def pack(thing: Any, changing: Path | None = None) -> Parcel:
    """Pack an object. Of a file that changes all the time only the path is packed: `unpack` is told where it is."""
    packer = _Packer(buffer := io.BytesIO())
    packer.dump(thing)
    modules = own_modules()
    script = getattr(sys.modules[_SCRIPT], "__file__", None) if _SCRIPT.encode() in buffer.getvalue() else None
    sources = {path for path, _ in modules.values()} | ({os.path.abspath(script)} if script else set())
    left_out = {os.path.abspath(changing)} if changing else set()
    files = _read((packer.files | sources) - left_out)
    folders = {folder for _, folder in modules.values()}
    return Parcel(
        content=buffer.getvalue(),
        named=tuple(packer.named),
        files=files,
        folders=tuple(folder for folder in dict.fromkeys(map(os.path.abspath, sys.path)) if folder in folders),
        present=os.getcwd(),
        script=os.path.abspath(script) if script else "",
        modules=_digest({path: files[path] for path in sources}),
    )


def unpack(parcel: Parcel, changing: tuple[str, str] | None = None) -> Any:
    """The object, in a process that is there for its sake: its present folder and Python's path are changed. `changing`
    is the path of the file that changes, and where it is here."""
    root = _lay_out(parcel)
    for folder in parcel.folders:
        if (copy := str(_below(root, folder))) not in sys.path:
            sys.path.append(copy)
    present = _below(root, parcel.present)
    present.mkdir(parents=True, exist_ok=True)
    os.chdir(present)
    if parcel.script:
        _load_script(str(_below(root, parcel.script)))
    elsewhere = {name.path: str(_below(root, name.path)) for name in parcel.named} | dict(
        [changing] if changing else []
    )
    return _Unpacker(parcel, elsewhere).load()


def own_modules() -> dict[str, tuple[str, str]]:
    """The modules that are loaded and not installed, by name: the file of each, and the folder where it is found."""
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not file or name in (_SCRIPT, "__mp_main__") or _is_installed(file):
            continue
        path, parts = Path(os.path.abspath(file)), name.split(".")
        is_package = path.stem == "__init__"
        if (path.parent.name if is_package else path.name.partition(".")[0]) == parts[-1] and path.is_file():
            found[name] = str(path), str(path.parents[len(parts) - 1 + is_package])
    return found


def _is_installed(file: str) -> bool:
    """Whether a module's file came with Python, with this package, or with a library."""
    return os.path.abspath(file).startswith(_homes()) or bool(_LIBRARIES.search(file))


@cache
def _homes() -> tuple[str, ...]:
    """Folders of what is installed."""
    python = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    homes = (*python, site.getusersitepackages(), str(Path(__file__).parents[1]))
    return tuple(os.path.join(os.path.abspath(home), "") for home in homes)


class _Packer(pickle.Pickler):
    """Notes which files the values name. An absolute path is told by its number, for its text would be asked about,
    too."""

    def __init__(self, buffer: io.BytesIO) -> None:
        super().__init__(buffer)
        self.files: set[str] = set()
        self.named: list[_Named] = []

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, (str, Path)) or len(text := str(value)) > 4096:
            return None
        path, rest = found.groups() if (found := _PLACE.fullmatch(text)) else (text, "")
        if not os.path.isfile(path):
            return None
        self.files.add(os.path.abspath(path))
        if not os.path.isabs(path):
            return None
        self.named.append(_Named(os.path.abspath(path), rest, isinstance(value, Path)))
        return len(self.named) - 1


class _Unpacker(pickle.Unpickler):
    """Puts the paths in that hold here."""

    def __init__(self, parcel: Parcel, elsewhere: dict[str, str]) -> None:
        super().__init__(io.BytesIO(parcel.content))
        self.named, self.elsewhere = parcel.named, elsewhere

    def persistent_load(self, number: Any) -> str | Path:
        path, rest, is_path = self.named[number]
        text = self.elsewhere[path] + rest
        return Path(text) if is_path else text


def _read(paths: set[str]) -> dict[str, bytes]:
    size = sum(os.path.getsize(path) for path in paths)
    if size > MOST_BYTES:
        largest = max(paths, key=os.path.getsize)
        raise ValueError(
            f"The files to be sent are too large, {size / 2**20:,.0f} MB together: the largest is {in_short(largest)}."
        )
    return {path: Path(path).read_bytes() for path in sorted(paths)}


def _digest(files: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path}\0{len(files[path])}\0".encode() + files[path])
    return digest.hexdigest()[:16]


def _lay_out(parcel: Parcel) -> Path:
    """The folder below which the files lie. It stays, so that what is compiled of them is compiled once; its name tells
    its content, and it is there whole or not at all."""
    home = private_folder()
    root = home / parcel.digest
    if not root.is_dir():
        with tempfile.TemporaryDirectory(dir=home) as new:
            for path, content in parcel.files.items():
                copy = _below(Path(new, "files"), path)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)
            Path(new, "files").mkdir(exist_ok=True)
            try:
                Path(new, "files").rename(root)
            except OSError:
                if not root.is_dir():  # else another worker was faster
                    raise
    return root


def private_folder() -> Path:
    """A folder of this user's among the temporary files, in which nobody else can write."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir(), f"magic-pomdp-{user}").resolve()
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.stat()
    if hasattr(os, "getuid") and (about.st_uid != user or about.st_mode & 0o022):
        return Path(tempfile.mkdtemp(prefix="magic-pomdp-")).resolve()
    return folder


def _below(root: Path, path: str) -> Path:
    """Where an absolute path of another machine is below a folder."""
    return root.joinpath(*Path(path).parts[1:])


def _load_script(path: str) -> None:
    """Load the file of a script as Python's own worker processes do: what is for the main process alone is left out."""
    if getattr(sys.modules.get("__mp_main__"), "__file__", None) != path:
        module = types.ModuleType("__mp_main__")
        module.__dict__.update(runpy.run_path(path, run_name="__mp_main__"))
        module.__file__ = path
        sys.modules[_SCRIPT] = sys.modules["__mp_main__"] = module
