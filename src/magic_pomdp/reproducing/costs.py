"""How long something takes: at first as it took elsewhere, then as this machine is seen to be slower or faster."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from typing import Annotated

import msgspec

from magic_pomdp.core.reading import read_json
from magic_pomdp.core.saving import save_bytes
from magic_pomdp.reproducing.plan import Row, Scenes, Training, Work

_USUAL_LENGTH = {"magic": 4, "macro-despot": 4}
"""Of macro-actions, where nobody sets it; those of other planners are primitive actions."""
_START = 2.0
"""Seconds that pass before the first episode."""
_LONGEST = 1e10
"""Seconds that no piece of work takes: some centuries."""
_SITUATIONS = 4
"""Episodes that a picture shows."""


class _Cost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the episodes of a task take, on one core."""

    steps: float
    """Primitive steps of an episode."""
    step_seconds: float
    """Time of a step without the plans: world and belief."""
    speed: float
    """Primitive steps that a search makes in a second."""


@cache
def _stored() -> dict[str, _Cost]:
    return read_json(Path(__file__).parent / "costs.json", dict[str, _Cost])


_UNKNOWN = _Cost(steps=50.0, step_seconds=0.005, speed=1e6)
"""Of a task that nobody has measured."""


class _Taken(msgspec.Struct, frozen=True):
    """What a piece of work took."""

    kind: str
    expected: Annotated[float, msgspec.Meta(ge=_START, le=_LONGEST)]
    """Seconds."""
    measured: Annotated[float, msgspec.Meta(ge=0.0, le=_LONGEST)]
    """Seconds."""


@dataclass
class Times:
    """What the pieces of work took that were done in a folder, in a file there."""

    path: Path
    workers: int
    taken: dict[str, _Taken] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path.exists():
            try:
                self.taken = read_json(self.path, dict[str, _Taken])
            except ValueError:  # it only makes estimates better, and is written anew
                self.taken = {}

    @property
    def measured(self) -> int:
        """Number of pieces that were measured here."""
        return len(self.taken)

    def add(self, piece: Work, seconds: float) -> None:
        """Keep what a piece has taken."""
        self.taken[piece.name] = _Taken(_kind(piece), expected_seconds(piece, self.workers), seconds)
        save_bytes(self.path, msgspec.json.format(msgspec.json.encode(self.taken), indent=1) + b"\n")

    def left(self, pieces: list[Work]) -> float:
        """Seconds that some pieces are going to take."""
        return sum(self.estimate(piece) for piece in pieces)

    def estimate(self, piece: Work) -> float:
        """Seconds that a piece is going to take: what is expected, times what its like took more than expected; the
        median of that, since the first one compiles. One that took as long as expected counts in any case."""
        ratios = [one.measured / one.expected for one in self.taken.values() if one.kind == _kind(piece)]
        return median([1.0, *ratios]) * expected_seconds(piece, self.workers)


def expected_seconds(piece: Work, workers: int) -> float:
    """What a piece takes where nothing has been measured yet."""
    workers = max(1, workers)
    match piece:
        case Row():
            return _START + piece.episodes * _episode(piece) / min(workers, piece.episodes)
        case Scenes():
            return _START + _SITUATIONS * _episode(piece.row) / min(workers, _SITUATIONS)
        case Training():
            return _training(piece, workers)


def _training(piece: Training, workers: int) -> float:
    """Learning, and, before and after it, evaluations."""
    settings, cost = piece.settings, _cost(piece.task)
    length = settings.macro_length or 1
    plan = settings.training_budget / cost.speed + length * cost.step_seconds
    episode = cost.steps / length * settings.evaluation_budget / cost.speed + cost.steps * cost.step_seconds
    learning = (
        60.0 * settings.minutes
        if settings.minutes is not None
        else (settings.warmup + (settings.updates or 0)) * plan / workers
    )
    return 2.0 * _START + learning + 4.0 * settings.most_evaluated * episode / workers


def _episode(row: Row) -> float:
    """Seconds of one core."""
    cost = _cost(row.task, row.transferred)
    set_length = row.settings.get("macro_length")
    if row.training is not None:
        set_length = row.training.settings.macro_length
    length = set_length if isinstance(set_length, int) else _USUAL_LENGTH.get(row.planner, 1)
    if row.budget is None:
        plan = row.haste * (0.1 if row.task != "crowd-driving" else 0.2 * length - 0.1)
    elif row.budget.steps is not None:
        plan = row.budget.steps / cost.speed
    else:
        plan = row.budget.seconds or 0.0
    return cost.steps / length * plan + cost.steps * cost.step_seconds


def _cost(task: str, elsewhere: bool = False) -> _Cost:
    return _stored().get(f"{task} elsewhere" if elsewhere else task, _UNKNOWN)


def _kind(piece: Work) -> str:
    """Pieces of one kind are slower or faster than expected alike."""
    match piece:
        case Training():
            return f"training {piece.task} {'minutes' if piece.settings.minutes else 'updates'}"
        case Row():
            return f"row {piece.task} {piece.transferred} {'steps' if piece.budget else 'time'}"
        case Scenes():
            return f"scenes {piece.row.task} {piece.row.transferred}"


def time_words(seconds: float) -> str:
    """A time as it is said."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
