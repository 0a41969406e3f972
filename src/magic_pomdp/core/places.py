"""Things at a place in somebody's code: `my_module:Thing` or `my_file.py:Thing`.

The folder that a command is run in is not where Python looks for modules, so nothing that lies there is run unasked.
When a user names a file, or a module that only that folder has, its folder is added to Python's path: for good, so that
the module finds its neighbours whenever it asks for them, and workers find it; but last, so that no module in it takes
the place of an installed library. Nor of one that could be installed: if a library is missing that this program looks
for, and the folder has a module of its name, the folder is refused.
"""

import difflib
import importlib
import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

OPTIONAL_LIBRARIES = (
    "PIL",
    "gymnasium",
    "imageio_ffmpeg",
    "matplotlib",
    "optuna",
    "ray",
    "tensorboard",
    "torch",
    "websockets",
)
"""What the extras install: it may be missing, and this program looks whether it is there."""


def find_place(place: str, kind: str) -> Any:
    """What stands at a place, or a ValueError that says why there is nothing. `kind` is what messages call it."""
    module_name, _, name = place.rpartition(":")
    module = _find_file(Path(module_name)) if module_name.endswith(".py") else _find_module(module_name)
    found = getattr(module, name, None)
    if found is None:
        classes = [key for key, value in vars(module).items() if isinstance(value, type)]
        raise ValueError(f"{module_name} has no {kind} {name!r}{nearest(name, classes)}.")
    return found


def nearest(word: str, words: Iterable[str]) -> str:
    """` (did you mean 'tiger'?)` for a word close to a known one, else nothing."""
    close = difflib.get_close_matches(word, list(words), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _look_in(folder: Path) -> None:
    """Let modules be found in a folder, for good, but after all others."""
    if str(folder) in sys.path:
        return
    for library in OPTIONAL_LIBRARIES:
        if find_spec(library) is None and _has_module(folder, library):
            raise ValueError(
                f"{folder} has a module named {library!r}, which would be taken for the library of that name: "
                "give it another name."
            )
    sys.path.append(str(folder))


def _has_module(folder: Path, name: str) -> bool:
    return PathFinder.find_spec(name, [str(folder)]) is not None


def _find_module(name: str) -> ModuleType:
    first, here = name.partition(".")[0], Path.cwd()
    if find_spec(first) is None:
        if not _has_module(here, first):
            raise ValueError(f"There is no module {name!r} in this folder or on Python's path.")
        _look_in(here)
    return _import(name)


def _find_file(path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    _look_in(path.parent)
    module = _import(path.stem)
    if module.__file__ is None or Path(module.__file__).resolve() != path:
        raise ValueError(
            f"Python already knows another module named {path.stem!r}: give {path.name} a name of its own."
        )
    return module


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise ValueError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error
