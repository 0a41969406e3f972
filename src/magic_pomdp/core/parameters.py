"""Parameters of a class as run-time values: what makes `MyTask(noise=0.2)` work without compiling again."""

import dataclasses
import inspect
from functools import cached_property
from typing import Any, dataclass_transform

import numpy as np

from magic_pomdp.core import compiling


@dataclass_transform(frozen_default=True)
class Parametrised:
    """A class whose annotated attributes are parameters, and whose methods compiled code can call. Each class that is
    derived from it becomes a frozen dataclass."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        inherited = {name: kind for base in cls.__mro__[:0:-1] for name, kind in inspect.get_annotations(base).items()}
        for name in vars(cls).keys() & inherited.keys() - cls.__annotations__.keys():
            cls.__annotations__[name] = inherited[name]  # a new default for an inherited parameter needs no annotation
        dataclasses.dataclass(frozen=True, eq=False)(cls)
        compiling.declare(cls)

    def __post_init__(self) -> None:
        """Refuse parameters that are not of their kind. A class with more to check calls this first."""
        for name, kind in compiling.parameter_kinds(type(self)).items():  # type: ignore[arg-type]  # it is hashable
            value: Any = getattr(self, name)
            if isinstance(value, np.generic):
                object.__setattr__(self, name, value := value.item())
            if not isinstance(value, compiling.ACCEPTED[kind]):
                raise ValueError(
                    f"The parameter {name} of {type(self).__name__} must be of kind {kind.__name__}, not {value!r}."
                )
            if not np.isfinite(np.asarray(value, dtype=np.float64)).all():
                raise ValueError(f"The parameter {name} of {type(self).__name__} must be finite, not {value}.")

    @cached_property
    def _numba_type_(self) -> compiling.TaskType:
        return compiling.task_type(self)  # numba asks at every call, and arrays among the parameters are slow to tell

    @property
    def _address_(self) -> int:
        """Where compiled code finds the parameters. They are written there once, however many threads ask."""
        found = self.__dict__.get("_words_")
        if found is None:
            words = compiling.parameter_words(self)
            found = self.__dict__.setdefault("_words_", (words, words.ctypes.data))
        address: int = found[1]
        return address

    def __getstate__(self) -> dict[str, Any]:
        """A copy, and another process, finds these for itself."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_numba_type_", "_words_")}


def parameter_fields(kind: Any) -> list[dataclasses.Field[Any]]:
    """The parameters that can be given to a class, or to that of an object."""
    return [item for item in dataclasses.fields(kind) if item.init]


def derived_digest(thing: Parametrised) -> str:
    """A fingerprint of what an object has derived from its parameters, such as tables of a file that one of them names;
    "" if there is nothing. A field that is only room to work in is no part of it: it is declared with compare=False."""
    derived = [item.name for item in dataclasses.fields(thing) if item.compare and not item.init]  # type: ignore[arg-type]
    return compiling.digest_of(getattr(thing, name) for name in derived) if derived else ""


def parameter_values(thing: Parametrised) -> dict[str, Any]:
    """An object's parameters by name, as plain data."""
    values = {item.name: getattr(thing, item.name) for item in parameter_fields(thing)}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}
