"""What tables tell of an evaluation: numbers with their standard errors."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from magic_pomdp.core.statistics import mean, standard_error
from magic_pomdp.results.evaluation import Evaluation

CLEAR = 3.0
"""Standard errors by which a difference is told from luck: of 300 numbers that are the same, about one is not."""
_FEWEST = 20
"""Episodes below which a standard error tells too little."""


class Number(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mean, and its standard error if that is known."""

    mean: float
    stderr: float | None = None


@dataclass(frozen=True)
class Measure:
    """One thing that can be told of every evaluation."""

    name: str
    """What the published figures call it."""
    title: str
    of: Callable[[Evaluation], Number | None]
    """None if the evaluation does not tell."""
    digits: int = 1
    percent: bool = False


def standard_errors(ours: Number, paper: Number, episodes: int) -> float | None:
    """How far ours lies above the paper's, in standard errors of the difference; where the paper tells none, ours alone
    counts. None if there are too few episodes to tell."""
    spread = math.hypot(ours.stderr or 0.0, paper.stderr or 0.0)
    if episodes < _FEWEST or ours.stderr is None or spread == 0.0:
        return None
    return (ours.mean - paper.mean) / spread


def _return(one: Evaluation) -> Number:
    return Number(one.return_mean, one.return_stderr)


def _success(one: Evaluation) -> Number:
    """Its error is that of one more success and one more failure, since no share of some episodes is certain."""
    count = one.episodes
    share = (one.success_rate * count + 1.0) / (count + 2.0)
    return Number(one.success_rate, math.sqrt(share * (1.0 - share) / (count + 3.0)))


def _steps(one: Evaluation) -> Number | None:
    found = [float(record.steps) for record in one.records if record.outcome == "success"]
    return _of(found) if found else None


def _tracking(one: Evaluation) -> Number | None:
    found = [record.belief_error_least for record in one.records if record.belief_error_least is not None]
    return _of(found) if found else None


def _depth(one: Evaluation) -> Number:
    return Number(one.search_depth_max_mean)


def _own(name: str) -> Callable[[Evaluation], Number | None]:
    """What the task itself tells."""

    def of(one: Evaluation) -> Number | None:
        found = one.statistics.get(name)
        return None if found is None else Number(found.mean, found.stderr)

    return of


def _of(values: Sequence[float]) -> Number:
    return Number(mean(values), standard_error(values) if len(values) > 1 else None)


RETURN = Measure("return", "return", _return)
SUCCESS = Measure("success", "success", _success, percent=True)
STEPS = Measure("steps", "steps of successful episodes", _steps)
TRACKING = Measure("tracking", "least tracking error", _tracking, digits=3)
DEPTH = Measure("depth", "search depth", _depth)
DISTANCE = Measure("distance", "distance, m", _own("distance"))
STALL = Measure("stall_rate", "stall rate", _own("stall_rate"), digits=3)
