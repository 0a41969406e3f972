"""Options of commands, made from the declarations of settings."""

import argparse
import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin

import tyro

from magic_pomdp.core.settings import Setting, Settings, SettingValue, default_of, setting_kinds, settings_of
from magic_pomdp.planners.registry import DEFAULT_PLANNER, find_planner, planner_names, shipped_planners

if TYPE_CHECKING:
    from magic_pomdp.running.factory import PlannerFactory

_Base = TypeVar("_Base")


def default(metavar: str, meaning: str) -> Any:
    """How --help shows an option whose default depends on others."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint=f"(default: {meaning})")


class DeclaredOptions:
    """Options that follow from the declarations of settings; only the command that needs them looks at these."""

    @classmethod
    def declared(cls, arguments: list[str]) -> type[Self]:
        """The class with all options, for a command line."""
        raise NotImplementedError


@dataclass(frozen=True)
class PlannerOptions(DeclaredOptions):
    """Who plans, and how. Each planner has options of its own: --planner NAME --help shows them."""

    planner: str = DEFAULT_PLANNER
    seconds: Annotated[float | None, default("FLOAT", "the task's own, mostly 0.1")] = None
    """Budget of a plan in seconds."""
    steps: Annotated[int | None, default("INT", "none")] = None
    """Budget of a plan in primitive steps instead: it gives the same result in every run. A first trial is always
    made."""
    _named: ClassVar[frozenset[str]] = frozenset()
    """Settings that the command line names: those without a value were set to none."""

    @classmethod
    def declared(cls, arguments: list[str]) -> type[Self]:
        usual: Any = next(item.default for item in dataclasses.fields(cls) if item.name == "planner")
        entry = find_planner(named_option(arguments, "planner") or usual or planner_names()[0])
        names = settings_of(entry.settings)
        for name in names.keys() & {item.name for item in dataclasses.fields(cls)}:
            raise ValueError(clash_sentence(name, entry.name))
        who = f"Who plans: {', '.join(planner_names())}, or of your own my_module:MyPlanner or my_file.py:MyPlanner."
        shown = () if usual else (default("NAME", "the first that can, if any is needed"),)
        fields = [("planner", Annotated[str, tyro.conf.arg(metavar="NAME", help=who), *shown], usual)]
        made = with_options(cls, [*fields, *_fields(entry.settings, advised=True)])
        made._named = frozenset(
            name
            for name in names
            if any(named_option(arguments, written) is not None for written in (name, name.replace("_", "-")))
        )
        return made

    def overrides(self) -> dict[str, SettingValue]:
        """The settings that were given."""
        own = {item.name for item in dataclasses.fields(PlannerOptions)}
        given = {item.name: getattr(self, item.name) for item in dataclasses.fields(self) if item.name not in own}
        return {name: value for name, value in given.items() if value is not None or name in self._named}

    def factory(self, planner: str = "") -> "PlannerFactory":
        """What makes the planner that was asked for, or another one with the same settings."""
        from magic_pomdp.planners.plan import Budget
        from magic_pomdp.running.factory import PlannerFactory

        budget = None if self.seconds is None and self.steps is None else Budget(self.seconds, self.steps)
        return PlannerFactory(planner or self.planner, budget, self.overrides())


@dataclass(frozen=True)
class FirstPlannerOptions(PlannerOptions):
    """Who plans, and how: by default the first planner that there is."""

    planner: str = shipped_planners()[0]


@dataclass(frozen=True)
class AnyPlannerOptions(PlannerOptions):
    """Who plans, and how: by default nobody in particular."""

    planner: str = ""


def clash_sentence(name: str, owner: str) -> str:
    """What to say of a setting that cannot be an option."""
    return f"The setting {name} of {owner} has the name of an option of the command: call it otherwise."


def named_option(arguments: list[str], name: str) -> str | None:
    """The value that a command line gives to an option; None if it gives none."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument(f"--{name}", dest="value", nargs="?")
    try:
        value: str | None = parser.parse_known_args(arguments)[0].value
    except argparse.ArgumentError:
        return None
    return value


def given_options(arguments: list[str], names: Iterable[str]) -> frozenset[str]:
    """Those of some options that a command line names, also where they are switches: --name, or --no-name."""
    words = {argument.partition("=")[0].replace("_", "-") for argument in arguments}
    return frozenset(name for name in names if words & {f"--{sign}{name.replace('_', '-')}" for sign in ("", "no-")})


def with_options(base: type[_Base], fields: list[tuple[str, Any, Any]]) -> type[_Base]:
    """A dataclass with more options: names, types and defaults."""
    about = {"__doc__": base.__doc__}
    return dataclasses.make_dataclass(base.__name__, fields, bases=(base,), frozen=True, namespace=about)


def options_of(kind: type[Settings], without: Iterable[str] = ()) -> list[tuple[str, Any, Any]]:
    """The settings of a class as options with their own defaults: names, types and defaults."""
    return [field for field in _fields(kind, advised=False) if field[0] not in without]


def _fields(kind: type[Settings], advised: bool) -> list[tuple[str, Any, Any]]:
    """Names, types and defaults of options. What a task may advise has no default here."""
    found: list[tuple[str, Any, Any]] = []
    for name, declared in settings_of(kind).items():
        type_hint, usual = setting_kinds(kind)[name], default_of(kind, name)
        if advised:
            hint = declared.default_words or f"the task's advice, else {_plain(usual)}"
            shown = default(_metavar(type_hint), hint)
            found.append((name, Annotated[type_hint | None, shown, tyro.conf.arg(help=declared.help)], None))
        else:
            found.append((name, Annotated[type_hint, *_shown(type_hint, declared)], usual))
    return found


def _shown(kind: Any, declared: Setting) -> tuple[Any, ...]:
    words = (default(_metavar(kind), declared.default_words),) if declared.default_words else ()
    return (*words, tyro.conf.arg(help=declared.help))


def _metavar(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "{" + ",".join(map(str, get_args(kind))) + "}"
    if get_origin(kind) in (Union, UnionType):
        return "|".join(_metavar(one) for one in get_args(kind) if one is not NoneType)
    return "TEXT" if kind is str else str(kind.__name__).upper()


def _plain(value: SettingValue) -> str:
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
