"""The paper's tables again, as a page and as Markdown, the paper's numbers beside ours."""

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from magic_pomdp import __version__
from magic_pomdp.core.saving import save_bytes
from magic_pomdp.reproducing.doing import Found
from magic_pomdp.reproducing.measures import CLEAR, Measure, Number, standard_errors
from magic_pomdp.reproducing.plan import Figure, Grid, LearningCurve, Line, Table, all_work
from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.show.pages import render_page
from magic_pomdp.show.picture import draw_situations, save_as
from magic_pomdp.show.plotting import Level, Plot, Series, plot_curves, to_svg
from magic_pomdp.show.published import PAPER, published_learned
from magic_pomdp.show.report import Cell, PageTable, Part, Picture, TableRow, settings_of
from magic_pomdp.show.words import budget_words, label_of, mean_words, number_words

PAGE, MARKDOWN = "reproduction.html", "reproduction.md"
"""Files that are written."""
_ABOVE, _BELOW = "▲", "▼"
_NOT_YET = "not yet"


@dataclass(frozen=True)
class _Section:
    """What is shown of a table."""

    title: str
    tables: Sequence[PageTable]
    plots: Sequence[Picture]
    files: Sequence[tuple[str, Path]]
    """The same as files."""


def write_reproduction(folder: Path, tables: Sequence[Table], found: Found, effort: str) -> tuple[Path, Path]:
    """Write the page, the Markdown file and the pictures into a folder; gives the first two."""
    title, words = f"The paper's tables again ({effort})", _legend()
    sections = [_section(table, found, folder) for table in tables]
    parts = [Part(one.title, None, one.plots, one.tables) for one in sections]
    provenance = _provenance(tables, found)
    page = render_page(
        "report.html",
        title,
        ["report.js"],
        summary=" ".join(words),
        verdict="",
        parts=[*parts, Part("Every evaluation", provenance, [], [])],
        benches=[],
        settings=[
            settings_of(name, one.episodes, one.seed, one.software, one.settings, one.task_parameters)
            for name, one in found.evaluations.items()
        ],
    )
    places = folder / PAGE, folder / MARKDOWN
    save_bytes(places[0], page.encode())
    save_bytes(places[1], "\n".join(_markdown(title, words, sections, provenance)).encode())
    return places


def _legend() -> list[str]:
    return [
        f"In brackets: the {PAPER}'s number (Lee, Cai, Hsu, RSS 2021); no bracket: it has none.",
        f"{_ABOVE} or {_BELOW}: ours lies above or below it by more than {CLEAR:g} standard errors of the difference.",
        f"Where the {PAPER} tells no error, ours alone counts; below 20 episodes there is no mark.",
        "Of 300 numbers that are the same, about one gets a mark by luck.",
        f"Made by magic-pomdp {__version__}.",
    ]


# ------------------------------------------------------------------------------------------------------------ sections


def _section(table: Table, found: Found, folder: Path) -> _Section:
    plots = [plot for curve in table.curves if (plot := _plot(curve, found)) is not None]
    pictures, files = [Picture(plot.title, to_svg(plot)) for plot in plots], []
    for plot in plots:
        files.append((plot.title, folder / f"{table.name}-{plot.title}.png"))
        save_as(plot.titled(), files[-1][1])
    for scenes in table.scenes:
        if scenes.name in found.recordings:
            path = folder / f"{table.name}-{scenes.title.replace(' ', '-')}.png"
            draw_situations(found.recordings[scenes.name], path)
            pictures.append(Picture(scenes.title, _image(scenes.title, path)))
            files.append((scenes.title, path))
    title = table.title if table.curves or table.scenes else f"{_called(table)}: {table.title}"
    tables = [_table(grid, found) for grid in table.grids]
    missing = _missing(table, found)
    return _Section(title, [*tables, *missing], pictures, files)


def _image(title: str, path: Path) -> str:
    """A picture as a part of a page."""
    content = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{escape(title)}" src="data:image/png;base64,{content}">'


def _called(table: Table) -> str:
    return f"Table {table.name}" if table.name.isupper() else f"The {table.name}'s table"


def _table(grid: Grid, found: Found) -> PageTable:
    rows = [TableRow(line.name, [_cell(figure, found) for figure in line.figures]) for line in grid.lines]
    return PageTable(grid.title, grid.columns, rows, f"{grid.note} {_asked(grid.lines, found)}".strip())


def _cell(figure: Figure | None, found: Found) -> Cell:
    if figure is None:
        return Cell("")
    paper = "" if figure.paper is None else f" ({_words(figure.paper, figure.measure)})"
    one = found.evaluations.get(figure.row.name)
    if one is None:
        return Cell(("missing" if figure.row.name in found.missing else _NOT_YET) + paper, "others")
    ours = figure.measure.of(one)
    if ours is None:
        return Cell(f"–{paper}")
    off = None if figure.paper is None else standard_errors(ours, figure.paper, one.episodes)
    mark = "" if off is None or abs(off) <= CLEAR else f" {_ABOVE if off > 0.0 else _BELOW}"
    return Cell(_words(ours, figure.measure) + mark + paper)


def _words(number: Number, measure: Measure) -> str:
    if measure.percent:
        return f"{100.0 * number.mean:.1f} %"
    if number.stderr is None:
        return number_words(number.mean, measure.digits)
    return mean_words(number.mean, number.stderr, measure.digits)


def _asked(lines: Iterable[Line], found: Found) -> str:
    """On which episodes, and with which budgets, the numbers of a table were reached."""
    names = dict.fromkeys(figure.row.name for line in lines for figure in line.figures if figure is not None)
    asked: dict[str, dict[str, float]] = {}
    for one in (found.evaluations[name] for name in names if name in found.evaluations):
        episodes = f"{one.episodes:,} episodes of seed {one.seed}"
        spent = 0.0 if one.budget is None else one.budget.seconds or one.budget.steps or 0.0
        asked.setdefault(f"{one.task}: {episodes}", {})[budget_words(one.budget)] = spent
    parts = [f"{who}, {_range(sorted(budgets, key=budgets.__getitem__))} a plan" for who, budgets in asked.items()]
    return "; ".join(parts) + "." if parts else ""


def _range(budgets: Sequence[str]) -> str:
    return " or ".join(budgets) if len(budgets) < 3 else f"{budgets[0]} to {budgets[-1]}"


def _missing(table: Table, found: Found) -> list[PageTable]:
    """Why something is missing."""
    names = [piece.name for piece in all_work((table,)) if piece.name in found.missing]
    rows = [TableRow(name, [Cell(found.missing[name])]) for name in names]
    return [PageTable("Missing", ["what", "why"], rows, "")] if rows else []


def _plot(curve: LearningCurve, found: Found) -> Plot | None:
    """Return against updates: what the paper's curves show."""
    known = found.curves.get(curve.training.name)
    if known is None:
        return None
    points = tuple((point.updates, point.return_mean, point.return_stderr) for point in known.curves[0].points)
    ones = [found.evaluations[row.name] for row in curve.baselines if row.name in found.evaluations]
    levels = [Level(label_of(one), one.return_mean) for one in ones]
    learned = published_learned(curve.training.task)
    if learned is not None:
        levels.append(Level(f"the {PAPER}'s {learned[0]}", learned[1]))
    return plot_curves(curve.title, "updates", "mean return", [Series("MAGIC, learned here", points)], levels)


def _provenance(tables: Sequence[Table], found: Found) -> PageTable:
    columns = ["file", "return", "success", "episodes", "seed", "a plan", "version"]
    names = [piece.name for piece in all_work(tuple(tables)) if piece.name in found.evaluations]
    rows = [TableRow(_short(name), [Cell(text) for text in _facts(found.evaluations[name])]) for name in names]
    note = "Each is a file of the folder rows, whose name tells seed and episodes as well."
    return PageTable("", columns, rows, note)


def _short(name: str) -> str:
    """The name of a row without what other columns tell."""
    return re.sub(r"_haste=[\d.]+|_seed\d+_\d+episodes", "", name)


def _facts(one: Evaluation) -> list[str]:
    return [
        mean_words(one.return_mean, one.return_stderr, 1),
        f"{one.success_rate:.1%}",
        f"{one.episodes:,}",
        str(one.seed),
        budget_words(one.budget),
        one.software,
    ]


# ------------------------------------------------------------------------------------------------------------- Markdown


def _markdown(title: str, words: Sequence[str], sections: Sequence[_Section], last: PageTable) -> Iterator[str]:
    yield f"# {title}\n"
    yield "\n".join(words) + "\n"
    for section in sections:
        yield f"## {section.title}\n"
        for table in section.tables:
            yield from _markdown_table(table)
        for name, path in section.files:
            yield f"![{name}]({path.name})\n"
    yield "## Every evaluation\n"
    yield from _markdown_table(last)


def _markdown_table(table: PageTable) -> Iterator[str]:
    if table.title:
        yield f"**{table.title}**\n"
    yield _markdown_line(table.columns)
    yield "|" + "---|" * len(table.columns)
    for row in table.rows:
        yield _markdown_line([row.name, *(cell.text for cell in row.cells)])
    yield f"\n{table.note}\n" if table.note else ""


def _markdown_line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
