"""Settings: each is declared once, with its default, its meaning, its limits, and where to look for a better value.

The command line, the search for better settings, stored results and the docs all follow from these declarations.
"""

import dataclasses
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, Self, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from magic_pomdp.core.task import Task

SettingValue = bool | int | float | str | None
"""What a setting can be."""


@dataclass(frozen=True)
class Range:
    """Where a better value is looked for; whole numbers between whole limits."""

    low: float
    high: float
    logarithmic: bool = False


@dataclass(frozen=True)
class Setting:
    """The declaration of one setting."""

    help: str
    """What it means, in a sentence or two."""
    short: str | None = ""
    """What stands before its value in the name of a file of results, "" for its name or, if the value is a word, for
    nothing; None if something else tells it there."""
    default_words: str = ""
    """What its default means, if that is not plain."""
    at_least: float = -math.inf
    at_most: float = math.inf
    above: float = -math.inf
    """It must be larger than this."""
    tuned: Range | None = None
    """Where a search for better settings tries it; None: it is left as it is."""

    def check(self, name: str, kind: Any, value: Any) -> None:
        """A ValueError if a value makes no sense."""
        kinds = get_args(kind) if get_origin(kind) is not Literal and get_args(kind) else (kind,)
        if value is None and NoneType in kinds:
            return
        words = [word for one in kinds if get_origin(one) is Literal for word in get_args(one)]
        if words:
            if value not in words:
                raise ValueError(f"The setting {name} is one of {', '.join(words)}: {value!r}.")
        elif int in kinds or float in kinds:
            self._check_number(name, int in kinds, value)
        elif not isinstance(value, kinds):
            raise ValueError(f"The setting {name} cannot be {value!r}.")

    def _check_number(self, name: str, whole: bool, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, Integral if whole else Real):
            raise ValueError(f"The setting {name} must be a {'whole ' if whole else ''}number, not {value!r}.")
        try:
            number = float(value)
        except OverflowError:  # a whole number with hundreds of digits
            number = math.inf
        if not (self.at_least <= number <= self.at_most and number > self.above and math.isfinite(number)):
            raise ValueError(f"The setting {name} must {self._limits()}, not {value}.")

    def _limits(self) -> str:
        if math.isfinite(self.at_most):
            opening = f"({self.above:g}" if math.isfinite(self.above) else f"[{self.at_least:g}"
            return f"lie in {opening}, {self.at_most:.15g}]"
        if math.isfinite(self.above):
            return f"be a finite number above {self.above:g}"
        return "be a finite number" + (f" of at least {self.at_least:g}" if math.isfinite(self.at_least) else "")


def setting(default: SettingValue, help: str, **about: Any) -> Any:
    """Declare a setting of a `Settings` class: its default, what it means (`help`), and the other fields of `Setting`,
    such as `at_least`, `at_most`, `short` (its name in files) and `tuned` (a `Range` in which `tune` looks)."""
    return dataclasses.field(default=default, metadata={"setting": Setting(help, **about)})


@dataclass(frozen=True)
class Settings:
    """What can be set about something. Derive from it, with a `setting(…)` for each; what makes no sense is refused."""

    def __post_init__(self) -> None:
        kinds = setting_kinds(type(self))
        for name, declared in settings_of(type(self)).items():
            declared.check(name, kinds[name], getattr(self, name))

    @classmethod
    def advised(cls, task: "Task", **changes: SettingValue) -> Self:
        """What a task advises, some of it changed. Where the task has no advice of this kind but one of a relative,
        that counts for all that both have; else the defaults do."""
        advice = [given for given in task.advice if isinstance(given, Settings)]
        own = [given for given in advice if type(given) is cls]
        relatives = [given for given in advice if _related(type(given), cls)]
        known = settings_of(cls)
        values = {name: getattr(given, name) for given in (own or relatives)[:1] for name in settings_of(type(given))}
        for name in changes:
            if name not in known:
                raise ValueError(f"There is no setting {name} here: there are {', '.join(known)}.")
        return cls(**{name: value for name, value in values.items() if name in known} | changes)

    def values(self) -> dict[str, SettingValue]:
        """All settings by name."""
        return {name: getattr(self, name) for name in settings_of(type(self))}


def _related(one: type[Settings], other: type[Settings]) -> bool:
    """Whether two kinds of settings have a part in common."""
    shared = set(one.__mro__) & set(other.__mro__)
    return any(issubclass(kind, Settings) and settings_of(kind) for kind in shared)


def settings_of(kind: type[Settings]) -> Mapping[str, Setting]:
    """The settings of a class by name, as they are declared; a ValueError says what is wrong with its declaration."""
    found: dict[str, Any] = {item.name: item.metadata.get("setting") for item in dataclasses.fields(kind)}
    missing = [name for name in inspect.get_annotations(kind) if name not in found]
    if missing:
        raise ValueError(f"{kind.__name__} is no dataclass: write `@dataclass(frozen=True)` above it.")
    for name, declared in found.items():
        if declared is None:
            raise ValueError(f"The setting {name} of {kind.__name__} is not declared: write `{name} = setting(…)`.")
    return found


def setting_kinds(kind: type[Settings]) -> Mapping[str, Any]:
    """The type of each setting of a class, by name."""
    hints = get_type_hints(kind)
    return {name: hints[name] for name in settings_of(kind)}


def default_of(kind: type[Settings], name: str) -> SettingValue:
    """The default of a setting."""
    return next(item.default for item in dataclasses.fields(kind) if item.name == name)  # type: ignore[return-value]
