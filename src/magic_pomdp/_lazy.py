"""Names that load on first use, so that importing the package is quick and pulls in nothing large."""

import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Any


def lazy_names(module: str, places: dict[str, Iterable[str]]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module whose names are defined elsewhere: places and what is taken from each."""
    where = {name: place for place, names in places.items() for name in names}

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        found = importlib.import_module(f"magic_pomdp.{where[name]}")
        value = found if where[name].rpartition(".")[2] == name else getattr(found, name)
        setattr(sys.modules[module], name, value)
        return value

    return get, lambda: sorted(where)
