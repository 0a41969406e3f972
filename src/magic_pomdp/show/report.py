"""Stored results as one page that needs nothing else: tables, plots, replays, settings and versions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from magic_pomdp import __version__
from magic_pomdp.core.saving import save_bytes
from magic_pomdp.planners.registry import planner_names
from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.speed import Bench
from magic_pomdp.results.training import Ablation
from magic_pomdp.show.columns import shown_columns
from magic_pomdp.show.naming import variant_words
from magic_pomdp.show.pages import render_page
from magic_pomdp.show.plots import plot_anytime, plot_learning, plot_returns
from magic_pomdp.show.plotting import Plot, to_svg
from magic_pomdp.show.published import PAPER, published, published_sentence, published_task
from magic_pomdp.show.replay import REPLAY_SCRIPTS, pack_for_page
from magic_pomdp.show.results import Results
from magic_pomdp.show.words import budget_words, gain_words, label_of, mean_words, number_words

_MOST_ROWS = 200
"""Evaluations that a plot can show; there is a table of them all."""
_NOTE = (
    "Return: the plain sum of an episode's rewards, mean ± standard error, which does not hold failures that were not "
    "seen. Discounted: the same, each reward discounted to the beginning. Length: primitive steps of the longest "
    "macro-action, or all lengths of a set. Steps: primitive steps of an episode. Depth: how many primitive steps "
    "ahead a search still compared macro-actions, in the mean of all plans; what begins there leads further, and it is "
    "no measure of quality. Plan time: 99 of 100 plans took no longer."
)


@dataclass(frozen=True)
class Cell:
    text: str
    kind: str = ""
    """"best", "others" (what is no result of ours), or nothing special."""


@dataclass(frozen=True)
class TableRow:
    name: str
    cells: Sequence[Cell]
    variant: str = ""


@dataclass(frozen=True)
class PageTable:
    title: str
    columns: Sequence[str]
    """The first is that of the rows' names."""
    rows: Sequence[TableRow]
    note: str


@dataclass(frozen=True)
class Picture:
    title: str
    picture: str
    """As SVG."""


@dataclass(frozen=True)
class Part:
    """What is known of a task."""

    title: str
    table: PageTable | None
    plots: Sequence[Picture]
    ablations: Sequence[PageTable]


@dataclass(frozen=True)
class SettingsList:
    """All that a result depends on."""

    title: str
    values: Sequence[tuple[str, Any]]


def write_report(path: Path, results: Results, title: str = "", verdict: str = "") -> None:
    """Write the page. The default title has the tasks' names; a verdict says in a sentence what it all comes to."""
    save_bytes(path, report_page(results, title, verdict).encode())


def report_page(results: Results, title: str = "", verdict: str = "") -> str:
    """The page as text."""
    names = list(dict.fromkeys([*results.tasks(), *(one.task.name for one in results.recordings)]))
    return render_page(
        "report.html",
        title or ("Report: " + ", ".join(names) if names else "Report"),
        [*(REPLAY_SCRIPTS if results.recordings else []), "report.js"],
        pack_for_page(results.recordings) if results.recordings else "",
        summary=_summary(results),
        verdict=verdict,
        parts=[_part(task, results) for task in results.tasks()],
        benches=[_bench_table(bench) for bench in results.benches],
        settings=list(_settings(results)),
    )


def _summary(results: Results) -> str:
    counts = {
        "evaluation": len(results.evaluations),
        "learning curve": sum(len(curves.curves) for curves in results.curves),
        "ablation": len(results.ablations),
        "speed measurement": len(results.benches),
        "recording": len(results.recordings),
    }
    found = [f"{count} {name}{'s' if count > 1 else ''}" for name, count in counts.items() if count]
    return ", ".join(found) + f". Made by magic-pomdp {__version__}."


# ------------------------------------------------------------------------------------------------------------- a task


def _part(task: str, results: Results) -> Part:
    evaluations = sorted((one for one in results.evaluations if one.task == task), key=_order)
    plots: list[Plot | None] = [plot_returns(evaluations)] if 1 < len(evaluations) <= _MOST_ROWS else []
    plots += plot_anytime(evaluations, shortest=2, with_published=False)
    plots += [plot_learning(curves) for curves in results.curves if curves.task == task]
    return Part(
        task,
        _evaluation_table(task, evaluations) if evaluations else None,
        [Picture(plot.title, to_svg(plot)) for plot in plots if plot is not None],
        [_ablation_table(one) for one in results.ablations if one.task == task],
    )


def _order(one: Evaluation) -> tuple[Any, ...]:
    """Planners as the program lists them, the largest budget first."""
    names = planner_names()
    place = names.index(one.planner) if one.planner in names else len(names)
    spent = 0.0 if one.budget is None else one.budget.seconds or one.budget.steps or 0.0
    return place, one.planner, -spent, one.seed


def _evaluation_table(task: str, evaluations: Sequence[Evaluation]) -> PageTable:
    """Ours, with standard errors, and what others have published for the same planner in the same task."""
    columns = shown_columns("report", evaluations)
    best = {id(column): max(map(column.rank, evaluations)) for column in columns if column.rank is not None}
    rows = []
    for one in evaluations:
        cells = []
        for column in columns:
            is_best = column.rank is not None and column.rank(one) == best[id(column)]
            cells.append(Cell(column.text(one), "others" if column.of_others else "best" if is_best else ""))
        rows.append(TableRow(label_of(one), cells, variant_words(one, evaluations)))
    note = _NOTE
    if any(column.of_others for column in columns):
        note += f" {published_sentence(task)}"
    return PageTable("Mean return", ["planner", *(column.title for column in columns)], rows, note)


def _ablation_table(ablation: Ablation) -> PageTable:
    """One row a variant of learning, and one for what learning sets out from."""
    ladder = any(row.rung for row in ablation.rows)
    first = ["rung", "gain"] if ladder else ["the generator is told", "critic"]
    columns = [*first, "return", "success", "by seed", "minutes", "updates", PAPER]
    known, rows = published_task(ablation.task).conditionings, []
    for row in ablation.rows:
        cells = [
            gain_words(row) if ladder else row.critic,
            mean_words(row.return_mean, row.return_stderr, 1),
            f"{row.success_rate:.1%}",
            ", ".join(f"{seed}: {number_words(value, 1)}" for seed, value in row.by_seed.items()),
            number_words(row.minutes, 1),
            number_words(row.updates, 0),
        ]
        paper = known.get(row.conditioning) if row.in_paper else None
        name = row.rung or ", ".join(filter(None, (row.conditioning, row.change)))
        rows.append(TableRow(name, _with_paper(cells, paper)))
    start = ablation.handcrafted
    others = published(ablation.task, start.planner)
    cells = ["–", mean_words(start.return_mean, start.return_stderr, 1), f"{start.success_rate:.1%}", "", "", ""]
    rows.append(TableRow("handcrafted set", _with_paper(cells, None if others is None else others.paper.mean)))
    note = f"{start.episodes} episodes of seed {start.seed}, {budget_words(start.budget)} a plan."
    return PageTable("What of the learning matters", columns, rows, note)


def _with_paper(cells: Iterable[str], paper: float | None) -> list[Cell]:
    return [*map(Cell, cells), Cell("" if paper is None else number_words(paper, 1), "others")]


# --------------------------------------------------------------------------------------------------------------- rest


def _bench_table(bench: Bench) -> PageTable:
    rows = []
    for one in bench.measurements:
        figures = [
            "–" if figure is None else f"{number_words(figure, 0 if figure >= 1000 else 3)} {one.unit}"
            for figure in (one.value, one.median)
        ]
        rows.append(TableRow(one.name, [Cell(text) for text in (*figures, f"{one.ratio:.3g}")]))
    about = [bench.processor, bench.python and f"python {bench.python}", bench.numba and f"numba {bench.numba}"]
    note = f"{', '.join(filter(None, about))}, magic-pomdp {bench.software}. Ratio: against 64-bit hashing."
    return PageTable("", ["measured", "best", "median", "ratio"], rows, note)


def _settings(results: Results) -> Iterable[SettingsList]:
    tasks = results.tasks()
    for one in sorted(results.evaluations, key=lambda one: (tasks.index(one.task), *_order(one))):
        title = f"{one.task}: {label_of(one)}, {budget_words(one.budget)} a plan"
        yield settings_of(title, one.episodes, one.seed, one.software, one.settings, one.task_parameters)
    for recording in results.recordings:
        planner, task = recording.planner, recording.task
        title = f"{task.name}: recording of {planner.label}, {budget_words(planner.budget)} a plan"
        about = len(recording.episodes), recording.seed, recording.software
        yield settings_of(title, *about, planner.settings, task.parameters)
    for ablation in results.ablations:
        start = ablation.handcrafted
        yield settings_of(f"{ablation.task}: ablation", start.episodes, start.seed, ablation.software, start.settings)


def settings_of(title: str, episodes: int, seed: int, version: str, *known: Mapping[str, Any]) -> SettingsList:
    values: list[tuple[str, Any]] = [("episodes", episodes), ("seed", seed), ("version", version)]
    values += [(name.replace("_", " "), value) for some in known for name, value in some.items()]
    return SettingsList(title, values)
