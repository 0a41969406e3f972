"""What a table is made of: numbers, the evaluations that they come from, and the trainings that these need."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from magic_pomdp.core.settings import SettingValue
from magic_pomdp.learning.settings import TrainSettings
from magic_pomdp.planners.plan import Budget
from magic_pomdp.reproducing.measures import Measure, Number
from magic_pomdp.results.base import Plain

Parameters = Mapping[str, Plain]


@dataclass(frozen=True)
class Training:
    """A generator that is trained first."""

    label: str
    """What tells it from the other trainings for the task, in a few words."""
    task: str
    settings: TrainSettings
    parameters: Parameters = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its folder."""
        return _file_name(self.task, self.label)


@dataclass(frozen=True)
class Row:
    """An evaluation of a planner in a task, or in the task's other world."""

    task: str
    planner: str
    episodes: int
    seed: int
    settings: Mapping[str, SettingValue] = field(default_factory=dict)
    """Of the planner, where they are other than the task advises."""
    parameters: Parameters = field(default_factory=dict)
    budget: Budget | None = None
    """Of a plan; None for the time that the task has for it."""
    haste: float = 1.0
    """The share of that time which a plan gets."""
    training: Training | None = None
    """What makes the generator, if none that ships is meant."""
    transferred: bool = False
    """Whether it happens in the task's other world."""

    @property
    def name(self) -> str:
        """Its file, named after all that was asked for."""
        parts = [self.task, *(str(value) for value in self.parameters.values())]
        parts += ["transfer"] if self.transferred else []
        parts += [self.planner, *(f"{name}={value}" for name, value in self.settings.items())]
        parts += [self.training.label] if self.training else []
        parts += [str(self.budget)] if self.budget else []
        parts += [f"haste={self.haste:g}"] if self.haste != 1.0 else []
        return _file_name(*parts, f"seed{self.seed}", f"{self.episodes}episodes")


@dataclass(frozen=True)
class Scenes:
    """Recorded episodes from which a picture of macro-actions in several situations is made."""

    title: str
    row: Row
    """Whose planner, on whose episodes."""

    @property
    def name(self) -> str:
        """Its file."""
        return f"scenes_{self.row.name}"


Work = Training | Row | Scenes
"""What takes time."""


@dataclass(frozen=True)
class Figure:
    """A number of a table."""

    row: Row
    measure: Measure
    paper: Number | None = None
    """The same in the paper, if it is there."""


@dataclass(frozen=True)
class Line:
    """Numbers side by side."""

    name: str
    figures: tuple[Figure | None, ...]
    """One for each column; None where there is none."""


@dataclass(frozen=True)
class Grid:
    """A table of numbers."""

    title: str
    columns: tuple[str, ...]
    """The first is that of the lines' names."""
    lines: tuple[Line, ...]
    note: str = ""


@dataclass(frozen=True)
class LearningCurve:
    """A training's curve beside what planners return that learn nothing."""

    title: str
    training: Training
    baselines: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """One of the paper's tables or figures."""

    name: str
    """What commands call it."""
    title: str
    grids: tuple[Grid, ...] = ()
    curves: tuple[LearningCurve, ...] = ()
    scenes: tuple[Scenes, ...] = ()

    def work(self) -> Iterator[Work]:
        """All that must be done for it, each piece after those that it needs; some come more than once."""
        figures = [figure for grid in self.grids for line in grid.lines for figure in line.figures]
        rows = [figure.row for figure in figures if figure is not None]
        for curve in self.curves:
            rows += curve.baselines
            yield curve.training
        for row in rows:
            if row.training is not None:
                yield row.training
            yield row
        for scenes in self.scenes:
            if scenes.row.training is not None:
                yield scenes.row.training
            yield scenes


def all_work(tables: tuple[Table, ...]) -> list[Work]:
    """All that must be done for some tables, each piece once."""
    return list({piece.name: piece for table in tables for piece in table.work()}.values())


def _file_name(*parts: str) -> str:
    return re.sub(r"[^\w.=-]", "-", "_".join(parts))
