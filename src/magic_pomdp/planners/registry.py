"""The planners by name: those that ship, those of other packages, and a user's own.

A planner is one entry. The command line, evaluation, comparison, pages, reports and the search for settings all ask
here, and know no planner by themselves.
"""

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, TypeVar

from magic_pomdp.core.places import find_place, nearest
from magic_pomdp.planners.settings import PlannerSettings

if TYPE_CHECKING:
    from magic_pomdp.core.task import Task
    from magic_pomdp.planners.plan import Budget, Planner

_SHIPPED = {
    "magic": "magic_pomdp.magic.planner:MAGIC",
    "macro-despot": "magic_pomdp.planners.macro_despot:MACRO_DESPOT",
    "despot": "magic_pomdp.planners.macro_despot:DESPOT",
    "pomcpow": "magic_pomdp.planners.pomcpow:POMCPOW",
}
"""Where the planners that come with the package are, in the order in which tables show them."""
DEFAULT_PLANNER = "macro-despot"
"""Who plans when nobody says otherwise."""
_GROUP = "magic_pomdp.planners"
"""The entry points by which other packages add theirs."""


@dataclass(frozen=True)
class PlannerEntry:
    """A planner, as everybody else knows it."""

    name: str
    """What commands and results call it."""
    label: str
    """How people write it."""
    settings: type[PlannerSettings]
    """What can be set about it; the declarations also tell what a search for better settings may try."""
    build: "Callable[[Task, Any, Budget], Planner]"
    """Makes it for a task, with settings of its kind and a budget."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\w[\w.-]*", self.name):
            raise ValueError(
                f"A planner cannot be called {self.name!r}, since files are named after it: use letters, digits, _, . "
                "and -."
            )


_registered: dict[str, PlannerEntry] = {}
"""What this process has been told of."""

Built = TypeVar("Built", bound=Callable[..., Any])


def register_planner(
    name: str, label: str = "", settings: type[PlannerSettings] = PlannerSettings
) -> Callable[[Built], Built]:
    """Decorates a class, or a function, that makes a planner when it is called with a task, settings and a budget. The
    planner then has a name, wherever its module is imported."""

    def register(build: Built) -> Built:
        entry = PlannerEntry(name, label or name, settings, build)
        known = _registered.get(name)
        if name in _SHIPPED or (known and known.build.__qualname__ != build.__qualname__):
            raise ValueError(f"There is a planner {name!r} already: choose another name.")
        _registered[name] = entry
        build.planner_entry = entry  # type: ignore[attr-defined]
        return build

    return register


def shipped_planners() -> tuple[str, ...]:
    """The planners that come with the package."""
    return tuple(_SHIPPED)


def planner_names() -> list[str]:
    """All planners that have a name here."""
    others = [point.name for point in entry_points(group=_GROUP)]
    return list(dict.fromkeys([*_SHIPPED, *others, *_registered]))


def find_planner(name: str) -> PlannerEntry:
    """The planner of a name, or at a place (`my_module:MyPlanner`, `my_file.py:MyPlanner`)."""
    if name in _registered:
        return _registered[name]
    if name in _SHIPPED:
        module, _, attribute = _SHIPPED[name].partition(":")
        return _entry(getattr(importlib.import_module(module), attribute), name)
    for point in entry_points(group=_GROUP, name=name):
        return _entry(find_place(point.value, "planner"), name)
    if ":" in name:
        return _entry(find_place(name, "planner"), name)
    known = planner_names()
    raise ValueError(
        f"There is no planner {name!r}{nearest(name, known)}; there are {', '.join(known)}, and one of your own is "
        "written my_module:MyPlanner or my_file.py:MyPlanner."
    )


def planner_label(name: str) -> str:
    """How people write a planner of a name; the name itself if nobody here knows it. Names may come from files that
    nobody trusts, so nothing is imported from a place that a name tells."""
    try:
        return find_planner(name).label if name in planner_names() else name
    except ValueError:  # of a package that cannot be imported
        return name


def _entry(found: Any, name: str) -> PlannerEntry:
    entry = found if isinstance(found, PlannerEntry) else getattr(found, "planner_entry", None)
    if not isinstance(entry, PlannerEntry) or found not in (entry, entry.build):  # a subclass inherits the attribute
        raise ValueError(f"{name} is not a planner: decorate it with magic_pomdp.planners.register_planner.")
    return entry
