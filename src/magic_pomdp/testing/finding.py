"""What a check reports."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLAIN_PATIENCE, COMPILED_PATIENCE = 60.0, 600.0
"""Seconds after which a call in plain Python, or one of a kernel with all that it compiles, is taken for endless."""


def _nobody_watches(name: str, patience: float) -> None:
    """Before each call: nothing."""


on_call: Callable[[str, float], None] = _nobody_watches
"""Told before a function of the user's is called: its name, and how long it may take. Who watches sets it."""


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, and what to do about it."""

    function: str
    """Where: the function, parameter or attribute."""
    seen: str
    """What was seen."""
    expected: str
    """What should have been seen."""
    advice: str
    """What to do."""

    def __str__(self) -> str:
        return f"{self.function}: {self.seen}. Expected: {self.expected}. {self.advice}."


class Broken(Exception):
    """Raised where a check cannot go on."""

    def __init__(self, function: str, seen: str, expected: str, advice: str) -> None:
        self.finding = Finding(function, seen, expected, advice)
        super().__init__(str(self.finding))


def out_of_bounds(name: str, error: IndexError) -> Broken:
    """What to raise where a function of the user's reaches beyond an array."""
    advice = "Index only below the declared sizes (state_size, observation_size, …), or enlarge them"
    return Broken(name, f"it raised IndexError: {error}", "no access beyond the end of an array", advice)


def attempt(name: str, function: Callable[..., Any], *arguments: Any, patience: float = PLAIN_PATIENCE) -> Any:
    """Call a function of the user's; whatever it raises becomes a finding."""
    on_call(name, patience)
    try:
        return function(*arguments)
    except Broken:
        raise
    except NotImplementedError as error:
        raise Broken(name, "it is missing", "an override in your class", "Write it") from error
    except IndexError as error:
        raise out_of_bounds(name, error) from error
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        advice = (
            "If it is mathematics, guard it: compiled code would go on silently with NaN or infinity. "
            "The log-likelihood of what is impossible is -math.inf"
        )
        raise Broken(name, f"it raised {type(error).__name__}: {error}", "no exception", advice) from error
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        seen = f"it raised {type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"
        raise Broken(name, seen, "no exception", "Correct it there") from error
