"""The paper's tables and figures (Lee, Cai, Hsu, RSS 2021): which rows of which numbers each is made of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_args

from magic_pomdp.core.places import nearest
from magic_pomdp.magic.shape import Conditioning
from magic_pomdp.planners.plan import Budget
from magic_pomdp.reproducing.efforts import CROWD_DRIVING, LIGHT_DARK, PUCK_PUSH, TASKS, Effort
from magic_pomdp.reproducing.measures import (
    DEPTH,
    DISTANCE,
    RETURN,
    STALL,
    STEPS,
    SUCCESS,
    TRACKING,
    Measure,
    Number,
)
from magic_pomdp.reproducing.plan import Figure, Grid, LearningCurve, Line, Parameters, Row, Scenes, Table, Training
from magic_pomdp.show.published import published, published_task

REFERENCE = {CROWD_DRIVING: {"variant": "reference"}}
"""The variants that behave as the published program does."""
LENGTHS = range(2, 9)
_BEST_LENGTH = {LIGHT_DARK: 8, PUCK_PUSH: 5, CROWD_DRIVING: 3}
"""Of the paper's MAGIC."""
_PAPER_STEPS: dict[str, Callable[[int], int]] = {
    LIGHT_DARK: lambda length: 800_000,
    PUCK_PUSH: lambda length: 100_000,
    CROWD_DRIVING: lambda length: round(28_000 * (0.2 * length - 0.1)),
}
"""Primitive steps that the published program simulates in the time of a plan, by the macro length."""
_WORDS = {"none": "nothing", "belief+context": "belief and context"}


@dataclass(frozen=True)
class _Who:
    """A planner, with what it needs."""

    label: str
    planner: str
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Other than the task's advice, by the task."""
    learned: bool = False
    """Whether its generator is trained here."""
    tasks: Sequence[str] = TASKS
    published: bool = True
    """Whether the paper has it."""


_PLANNERS = (
    _Who("MAGIC, as it ships", "magic"),
    _Who("MAGIC, learned here", "magic", learned=True),
    _Who("Macro-DESPOT, the paper's set", "macro-despot", {LIGHT_DARK: {"macro_length": 6, "shorter": "none"}}),
    _Who("Macro-DESPOT, our set", "macro-despot", tasks=(LIGHT_DARK,), published=False),
    _Who("DESPOT", "despot"),
    _Who("POMCPOW", "pomcpow"),
)
"""In the order of the lines."""
_SHIPPED = _PLANNERS[0]
_UNLEARNED = tuple(who for who in _PLANNERS if who.published and who.planner != "magic")
_VARIANTS: tuple[tuple[str, Parameters], ...] = (
    ("the variant that behaves as the published program", REFERENCE[CROWD_DRIVING]),
    ("the default variant", {}),
)


def paper_tables(effort: Effort) -> dict[str, Table]:
    """All tables, by their names."""
    made = (_one, _two, _three, _four, _five, _appendix, _curves, _pictures)
    return {table.name: table for table in (make(effort) for make in made)}


def choose_tables(names: Sequence[str], effort: Effort) -> tuple[Table, ...]:
    """The tables of some names, all if there are none; a ValueError if there is no such table."""
    known = paper_tables(effort)
    by_name = {name.lower(): table for name, table in known.items()}
    for name in names:
        if name.lower() not in by_name:
            raise ValueError(f"There is no table {name!r}{nearest(name, list(known))}; there are {', '.join(known)}.")
    chosen = {name.lower() for name in names} or set(by_name)
    return tuple(table for name, table in by_name.items() if name in chosen)


def learned(effort: Effort, task: str) -> Training:
    """The training of a generator that plans as the one that ships."""
    return Training("learned", task, effort.training(task), REFERENCE.get(task, {}))


def _row(effort: Effort, who: _Who, task: str, parameters: Parameters | None = None, transferred: bool = False) -> Row:
    return Row(
        task,
        who.planner,
        effort.transferred if transferred else effort.episodes[task],
        effort.seed,
        who.settings.get(task, {}),
        REFERENCE.get(task, {}) if parameters is None else parameters,
        haste=effort.haste,
        training=learned(effort, task) if who.learned else None,
        transferred=transferred,
    )


def _paper(who: _Who, task: str, measure: Measure) -> Number | None:
    found = published(task, who.planner) if who.published else None
    if found is None:
        return None
    if measure is RETURN:
        return Number(found.paper.mean, found.paper.stderr)
    return Number(found.figures[measure.name]) if measure.name in found.figures else None


def _one(effort: Effort) -> Table:
    lines = [
        Line(
            who.label,
            tuple(
                Figure(_row(effort, who, task), RETURN, _paper(who, task, RETURN)) if task in who.tasks else None
                for task in TASKS
            ),
        )
        for who in _PLANNERS
    ]
    title = "Mean return of all planners in all tasks"
    note = "Crowd-Driving: the variant that behaves as the published program. Our set: straight lines of three lengths."
    return Table("I", title, (Grid("", ("planner", *TASKS), tuple(lines), note),))


def _details(
    effort: Effort, title: str, task: str, measures: Sequence[Measure], parameters: Parameters, paper: bool = True
) -> Grid:
    """A line for each planner, with several numbers of the same evaluation."""
    lines = []
    for who in _PLANNERS:
        if task in who.tasks and not (who.learned and parameters != REFERENCE.get(task, {})):
            row = _row(effort, who, task, parameters)
            figures = [Figure(row, one, _paper(who, task, one) if paper else None) for one in measures]
            lines.append(Line(who.label, tuple(figures)))
    return Grid(title, ("planner", *(one.title for one in measures)), tuple(lines))


def _elsewhere(effort: Effort, title: str, task: str, measures: Sequence[Measure], note: str) -> Grid:
    """The same in the task's other world, where the paper tells returns alone."""
    lines = []
    for who in (_SHIPPED, *_UNLEARNED):
        known = published_task(task).transfer.get(who.planner)
        row = _row(effort, who, task, {}, transferred=True)
        paper = None if known is None else Number(known.mean, known.stderr)
        figures = [Figure(row, one, paper if one is RETURN else None) for one in measures]
        lines.append(Line(who.label, tuple(figures)))
    return Grid(title, ("planner", *(one.title for one in measures)), tuple(lines), note)


def _two(effort: Effort) -> Table:
    measures = (RETURN, SUCCESS, STEPS, TRACKING)
    return Table("II", "Light-Dark", (_details(effort, "", LIGHT_DARK, measures, {}),))


def _three(effort: Effort) -> Table:
    measures = (RETURN, DISTANCE, STALL, DEPTH)
    grids = [
        _details(effort, f"Crowd-Driving, {words}", CROWD_DRIVING, measures, parameters, paper=bool(parameters))
        for words, parameters in _VARIANTS
    ]
    note = "In brackets: the paper's, in SUMMIT, another simulator."
    grids.append(_elsewhere(effort, "Among SUMO's drivers", CROWD_DRIVING, measures, note))
    return Table("III", "Crowd-Driving", tuple(grids))


def _four(effort: Effort) -> Table:
    measures = (RETURN, SUCCESS, STEPS)
    simulated = _details(effort, "In the simulator", PUCK_PUSH, measures, {})
    note = "In brackets: the paper's, of a robot on a real table."
    return Table(
        "IV",
        "Puck-Push",
        (simulated, _elsewhere(effort, "On a table in MuJoCo, seen by a camera", PUCK_PUSH, measures, note)),
    )


def _cell(effort: Effort, task: str, conditioning: str, length: int, in_steps: bool) -> Row:
    """MAGIC with macro-actions of one length, and a generator that is told so much."""
    parameters = REFERENCE.get(task, {})
    training = Training(f"{conditioning}_L{length}", task, effort.cell(task, conditioning, length), parameters)
    episodes, budget = effort.timed_cells[task], None
    if in_steps:
        episodes, budget = effort.cells[task], Budget(steps=round(effort.haste * _PAPER_STEPS[task](length)))
    haste = 1.0 if in_steps else effort.haste
    return Row(task, "magic", episodes, effort.seed, {}, parameters, budget, haste, training)


def _five(effort: Effort) -> Table:
    lines = []
    for conditioning in get_args(Conditioning):
        figures = []
        for task in TASKS:
            paper = published_task(task).conditionings.get(conditioning)
            row = _cell(effort, task, conditioning, _BEST_LENGTH[task], in_steps=False)
            figures.append(Figure(row, RETURN, None if paper is None else Number(paper)))
        lines.append(Line(_WORDS.get(conditioning, conditioning), tuple(figures)))
    lengths = ", ".join(f"{length} in {task}" for task, length in _BEST_LENGTH.items())
    note = (
        f"Macro-actions of the length with which the paper's MAGIC is best ({lengths}); the paper's numbers are with "
        "the best length of each line. All trainings are short, and equally long."
    )
    title = "What the generator is told"
    return Table("V", title, (Grid("", ("it is told", *TASKS), tuple(lines), note),))


def _appendix(effort: Effort) -> Table:
    grids = []
    for task in TASKS:
        for in_steps, words in ((True, "the steps that the paper's program makes"), (False, "the task's own time")):
            cell = partial(_cell, effort, task, in_steps=in_steps)
            lines = []
            for length in LENGTHS:
                figures = []
                for conditioning in get_args(Conditioning):
                    known = published_task(task).lengths.get(conditioning, {})
                    paper = Number(known[length]) if length in known else None
                    figures.append(Figure(cell(conditioning, length), RETURN, paper))
                lines.append(Line(f"length {length}", tuple(figures)))
            columns = ("", *(_WORDS.get(conditioning, conditioning) for conditioning in get_args(Conditioning)))
            grids.append(Grid(f"{task}, a plan has {words}", columns, tuple(lines)))
    return Table("appendix", "What the generator is told, and the length of its macro-actions", tuple(grids))


def _curves(effort: Effort) -> Table:
    curves = [
        LearningCurve(task, learned(effort, task), tuple(_row(effort, who, task) for who in _UNLEARNED))
        for task in TASKS
    ]
    return Table("curves", "Learning curves (the paper's figure 5)", curves=tuple(curves))


def _pictures(effort: Effort) -> Table:
    scenes = [Scenes(task, _row(effort, _SHIPPED, task)) for task in TASKS]
    scenes.append(Scenes("puck-push on a table in MuJoCo", _row(effort, _SHIPPED, PUCK_PUSH, {}, transferred=True)))
    return Table(
        "pictures", "Learned macro-actions in four situations (the paper's figures 6 to 9)", scenes=tuple(scenes)
    )
