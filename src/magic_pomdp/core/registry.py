"""The tasks by name: those that ship, those of other packages, and a user's own."""

import importlib
import typing
from importlib.metadata import entry_points
from typing import Any, TypeVar

from magic_pomdp.core.parameters import parameter_fields
from magic_pomdp.core.places import find_place, nearest
from magic_pomdp.core.task import Task

_SHIPPED = {
    "crowd-driving": "magic_pomdp.tasks.crowd_driving.task:CrowdDriving",
    "laser-tag": "magic_pomdp.tasks.laser_tag:LaserTag",
    "light-dark": "magic_pomdp.tasks.light_dark:LightDark",
    "light-dark-1d": "magic_pomdp.tasks.light_dark_1d:LightDark1D",
    "maze": "magic_pomdp.tasks.maze:Maze",
    "navigation": "magic_pomdp.tasks.navigation:Navigation",
    "puck-push": "magic_pomdp.tasks.puck_push:PuckPush",
    "rock-sample": "magic_pomdp.tasks.rock_sample:RockSample",
    "sub-hunt": "magic_pomdp.tasks.sub_hunt:SubHunt",
    "tag": "magic_pomdp.tasks.tag:Tag",
    "tiger": "magic_pomdp.tasks.tiger:Tiger",
    "vdp-tag": "magic_pomdp.tasks.vdp_tag:VdpTag",
}
"""Where the tasks that come with the package are, by the name the command line knows them by."""
_GROUP = "magic_pomdp.tasks"
"""The entry points by which other packages add theirs."""

_registered: dict[str, type[Task]] = {}
"""What this process has been told of."""

_Class = TypeVar("_Class", bound=type[Task])


def register_task(task_class: _Class) -> _Class:
    """Decorates a task's class: it can then be made by its name, wherever its module is imported."""
    if not task_class.name:
        raise ValueError(f"{task_class.__name__} has no name to be known by: write `name = …` in the class.")
    known = _registered.get(task_class.name)
    if task_class.name in _SHIPPED or (known and known.__qualname__ != task_class.__qualname__):
        raise ValueError(f"There is a task {task_class.name!r} already: choose another name.")
    _registered[task_class.name] = task_class
    return task_class


def task_names() -> list[str]:
    """All tasks that have a name here."""
    others = [point.name for point in entry_points(group=_GROUP)]
    return list(dict.fromkeys([*_SHIPPED, *others, *_registered]))


def make(name: str, **parameters: Any) -> Task:
    """The task of a name (`light-dark`) or a place (`my_module:MyTask`, `my_file.py:MyTask`), with some parameters
    set; text such as "0.2" is turned into the parameter's own kind."""
    task_class = find_task(name)
    known = typing.get_type_hints(task_class)
    names = [field.name for field in parameter_fields(task_class)]
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
    if name in _registered:
        return _registered[name]
    if name in _SHIPPED:
        module, _, class_name = _SHIPPED[name].partition(":")
        return _checked(getattr(importlib.import_module(module), class_name), name)
    for point in entry_points(group=_GROUP, name=name):
        return _checked(find_place(point.value, "class"), name)
    if ":" not in name:
        raise ValueError(
            f"There is no task {name!r}{nearest(name, task_names())}; a task of your own is written my_module:MyTask "
            f"or my_file.py:MyTask."
        )
    return _checked(find_place(name, "class"), name)


def _checked(found: Any, place: str) -> type[Task]:
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise ValueError(f"{place} is not a task: it must be a class derived from magic_pomdp.Task.")
    return found


def _convert(name: str, text: str, kind: type) -> Any:
    try:
        if kind is bool:
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        return kind(text)
    except (KeyError, ValueError, TypeError):
        raise ValueError(
            f"The parameter {name} must be of kind {getattr(kind, '__name__', kind)}, not {text!r}."
        ) from None
