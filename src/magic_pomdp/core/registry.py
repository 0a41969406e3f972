"""Tasks by name: the ones that ship, and a user's own as `module:Class` or `file.py:Class`."""

import dataclasses
import difflib
import importlib
import sys
import typing
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from magic_pomdp.core.task import Task

SHIPPED = {
    "crowd-driving": "magic_pomdp.tasks.crowd_driving.task:CrowdDriving",
    "light-dark": "magic_pomdp.tasks.light_dark:LightDark",
    "puck-push": "magic_pomdp.tasks.puck_push:PuckPush",
    "tiger": "magic_pomdp.tasks.tiger:Tiger",
    "vdp-tag": "magic_pomdp.tasks.vdp_tag:VdpTag",
}
"""The tasks that come with the package, by the name the command line knows them by."""


def make_task(name: str, **parameters: Any) -> Task:
    """The task of a name (`light-dark`) or a place (`my_module:MyTask`, `my_file.py:MyTask`), with some parameters
    set; text such as "0.2" is turned into the parameter's own kind."""
    task_class = find_task(name)
    known = typing.get_type_hints(task_class)
    names = [field.name for field in dataclasses.fields(task_class) if field.init]  # type: ignore[arg-type]
    for parameter, value in parameters.items():
        if parameter not in names:
            raise ValueError(
                f"{task_class.__name__} has no parameter {parameter!r}{nearest(parameter, names)}; "
                f"it has {', '.join(names)}."
            )
        if isinstance(value, str):
            parameters[parameter] = _convert(parameter, value, known[parameter])
    return task_class(**parameters)


def find_task(name: str) -> type[Task]:
    """The class that a task's name or place stands for."""
    place = SHIPPED.get(name, name)
    if ":" not in place:
        raise ValueError(
            f"There is no task {name!r}{nearest(name, SHIPPED)}; a task of your own is written my_module:MyTask "
            f"or my_file.py:MyTask."
        )
    module_name, _, class_name = place.rpartition(":")
    module = _import_file(Path(module_name)) if module_name.endswith(".py") else _import_module(module_name)
    found = getattr(module, class_name, None)
    if found is None:
        classes = [key for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, Task)]
        raise ValueError(f"{module_name} has no class {class_name!r}{nearest(class_name, classes)}.")
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise ValueError(f"{place} is not a task: it must be a class derived from magic_pomdp.Task.")
    return found


def nearest(word: str, words: Iterable[str]) -> str:
    """` (did you mean 'tiger'?)` for a word close to a known one, else nothing."""
    close = difflib.get_close_matches(word, list(words), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _import_module(name: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")  # a user's module lies in the folder the command is run from
    if find_spec(name.partition(".")[0]) is None:
        raise ValueError(f"There is no module {name!r} in this folder or on Python's path.")
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise ValueError(f"{name} cannot be imported: {type(error).__name__}: {error}.") from error


def _import_file(path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # it stays, so that the file finds its neighbours and workers find the file
    module = _import_module(path.stem)
    if module.__file__ is None or Path(module.__file__).resolve() != path:
        raise ValueError(
            f"Python already knows another module named {path.stem!r}: give {path.name} a name of its own."
        )
    return module


def _convert(name: str, text: str, kind: type) -> Any:
    try:
        if kind is bool:
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        return kind(text)
    except (KeyError, ValueError, TypeError):
        raise ValueError(
            f"The parameter {name} must be of kind {getattr(kind, '__name__', kind)}, not {text!r}."
        ) from None
