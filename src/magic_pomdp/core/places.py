"""Things at a place in somebody's code: `my_module:Thing` or `my_file.py:Thing`."""

import difflib
import importlib
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any


def find_place(place: str, kind: str) -> Any:
    """What stands at a place, or a ValueError that says why there is nothing. `kind` is what messages call it."""
    module_name, _, name = place.rpartition(":")
    module = _import_file(Path(module_name)) if module_name.endswith(".py") else _import_module(module_name)
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
    """Let modules be found in a folder, for good, so that they find their neighbours and workers find them; but last,
    so that none takes the place of a library."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _import_module(name: str) -> ModuleType:
    _look_in(Path.cwd())  # a user's module lies in the folder the command is run from
    if find_spec(name.partition(".")[0]) is None:
        raise ValueError(f"There is no module {name!r} in this folder or on Python's path.")
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise ValueError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error


def _import_file(path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    _look_in(path.parent)
    module = _import_module(path.stem)
    if module.__file__ is None or Path(module.__file__).resolve() != path:
        raise ValueError(
            f"Python already knows another module named {path.stem!r}: give {path.name} a name of its own."
        )
    return module
