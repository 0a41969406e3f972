"""Results as tables for the terminal."""

from collections.abc import Callable, Sequence

from rich.table import Column

from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.identification import Identification
from magic_pomdp.results.speed import Bench
from magic_pomdp.results.training import Ablation, AblationRow
from magic_pomdp.results.tuning import Tuning
from magic_pomdp.running.difference import Difference
from magic_pomdp.show.columns import shown_columns
from magic_pomdp.show.naming import variant_words
from magic_pomdp.show.published import PAPER, published, published_task
from magic_pomdp.show.terminal import PlainTable, plain_text
from magic_pomdp.show.words import budget_words, gain_words, label_of, lengths_words, mean_words, number_words


def comparison_table(title: str, evaluations: Sequence[Evaluation], caption: str = "") -> PlainTable:
    """One row an evaluation, with the published mean return beside ours."""
    columns = shown_columns("comparison", evaluations)
    heads = [Column(column.title) for column in columns]
    for head, column in list(zip(heads, columns, strict=True))[:2]:  # their cells are not broken, their titles may be
        parts = [*column.title.split(), *(column.text(one) for one in evaluations)]
        head.width = max(map(len, parts))
    table = PlainTable(*heads, title=title, caption=caption)
    for one in evaluations:
        table.add_texts(*(column.text(one) for column in columns))
    return table


def evaluation_table(evaluation: Evaluation) -> PlainTable:
    """All that is known of one planner in one task."""
    title = f"{evaluation.task}: {_who(evaluation, 'length ')} a plan"
    table = PlainTable(show_header=False, title=title if evaluation.complete else f"{title} (interrupted)")
    for column in shown_columns("single", [evaluation]):
        table.add_texts(column.title, column.text(evaluation))
    return table


def difference_table(first: Evaluation, others: Sequence[tuple[Evaluation, Difference]]) -> PlainTable:
    """One row an evaluation that another one is compared with."""
    everyone = [first, *(other for other, _ in others)]
    title = f"{first.task}, seed {first.seed}: lead of {_who_among(first, everyone)} over"
    figures = ("lead", "in s.e.", "episodes", "returns", "succeed alone")
    table = PlainTable(Column("", overflow="fold"), *(Column(name, no_wrap=True) for name in figures), title=title)
    for other, found in others:
        code = "other code" if other.code and first.code and other.code != first.code else ""
        table.add_texts(
            ", ".join(part for part in (_who_among(other, everyone), code) if part),
            mean_words(found.mean, found.stderr, 1 if found.stderr >= 1.0 else 2),
            number_words(found.standard_errors, 1),
            str(found.episodes),
            plain_text(number_words(found.first, 1), f"and {number_words(found.second, 1)}"),
            f"{found.only_first} and {found.only_second}",
        )
    return table


def _who_among(evaluation: Evaluation, everyone: Sequence[Evaluation]) -> str:
    """A planner, its length and its budget, and in what else it differs from others of that planner."""
    return ", ".join(part for part in (_who(evaluation), variant_words(evaluation, everyone)) if part)


def tuning_table(tuning: Tuning, rows: int = 10) -> PlainTable:
    """The best settings that a search has found."""
    names = list(tuning.best)
    table = PlainTable("return", *names, title=f"{tuning.planner}: the best of {len(tuning.trials)} trials")
    for trial in tuning.trials[:rows]:
        values = [f"{trial.settings[name]:.4g}" for name in names]
        table.add_texts(mean_words(trial.return_mean, trial.return_stderr, 1), *values)
    return table


def ablation_table(ablation: Ablation) -> PlainTable:
    """One row a variant of learning, with the paper's mean return beside ours. The rungs of a ladder have what each
    gains, and no more than fits beside it."""
    start = ablation.handcrafted
    title = f"{ablation.task}: {start.episodes} episodes, seed {start.seed}, {budget_words(start.budget)} a plan"
    columns: dict[str, Callable[[AblationRow], str]] = {
        "told, critic": lambda row: row.name,
        "return": lambda row: mean_words(row.return_mean, row.return_stderr, 1),
        "gain": gain_words,
        "success": lambda row: f"{row.success_rate:.1%}",
        "by seed": lambda row: ", ".join(number_words(value, 1) for value in row.by_seed.values()),
        "minutes": lambda row: f"{row.minutes:.1f}",
        "updates": lambda row: f"{row.updates:,.0f}",
        PAPER: lambda row: _published_words(ablation.task, row),
    }
    ladder = any(row.rung for row in ablation.rows)
    several = any(len(row.by_seed) > 1 for row in ablation.rows)
    left_out = {"minutes", *(() if several else ("by seed",))} if ladder else {"gain"}
    shown = {name: text for name, text in columns.items() if name not in left_out}
    names = ["rung" if ladder and name == "told, critic" else name for name in shown]
    table = PlainTable(*(Column(name, no_wrap=name in ("return", "gain")) for name in names), title=title)
    for row in ablation.rows:
        table.add_texts(*(text(row) for text in shown.values()))
    others = published(ablation.task, start.planner)
    of_start = {
        "told, critic": "handcrafted",
        "return": mean_words(start.return_mean, start.return_stderr, 1),
        "success": f"{start.success_rate:.1%}",
        PAPER: "" if others is None else number_words(others.paper.mean, 1),
    }
    table.add_texts(*(of_start.get(name, "") for name in shown))
    return table


def _published_words(task: str, row: AblationRow) -> str:
    paper = published_task(task).conditionings.get(row.conditioning) if row.in_paper else None
    return "" if paper is None else number_words(paper, 1)


def identification_table(found: Identification) -> PlainTable:
    """One row a parameter: the model's, and what the trials tell."""
    title = f"{found.task} fitted to {found.trials} trials: {found.world}"
    table = PlainTable("parameter", "model", "fitted", "what it is", title=title)
    for one in found.parameters:
        table.add_texts(one.name, f"{one.model:.4g}", f"{one.value:.4g} ± {one.stderr:.2g}", one.about)
    for what, value in found.measured.items():
        table.add_texts(what, "", f"{value:.4g}", "measured")
    return table


def bench_table(bench: Bench) -> PlainTable:
    """One row a measurement."""
    caption = f"best and median of {bench.repeats} repeats; ratio: against 64-bit hashing"
    table = PlainTable("measured", "best", "median", "ratio", title=bench.processor, caption=caption)
    for one in bench.measurements:
        figures = [
            "–" if figure is None else f"{figure:,.0f} {one.unit}" if figure >= 1000 else f"{figure:.3g} {one.unit}"
            for figure in (one.value, one.median)
        ]
        table.add_texts(one.name, *figures, f"{one.ratio:.3g}")
    return table


def _who(evaluation: Evaluation, before_length: str = "") -> str:
    """A planner, its length and its budget."""
    length = f", {before_length}{lengths_words(evaluation)}" if evaluation.macro_length else ""
    budget = "" if evaluation.budget is None else f", {budget_words(evaluation.budget)}"
    return f"{label_of(evaluation)}{length}{budget}"
