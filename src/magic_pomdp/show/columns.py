"""What tables show of an evaluation. A new column is one entry here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.show.published import PAPER, SUCCESSOR, published_beside, published_task
from magic_pomdp.show.words import budget_words, label_of, lengths_words, mean_words, number_words, score_words

TableKind = Literal["comparison", "single", "report"]
"""The terminal's table of several evaluations, its table of one, whose rows are columns, and that of the page."""
_COMPARISON: tuple[TableKind, ...] = ("comparison",)
_SINGLE: tuple[TableKind, ...] = ("single",)
_REPORT: tuple[TableKind, ...] = ("report",)


@dataclass(frozen=True)
class ResultColumn:
    """One thing to be told of each evaluation."""

    title: str
    text: Callable[[Evaluation], str]
    """"" if there is nothing to be told."""
    tables: tuple[TableKind, ...]
    rank: Callable[[Evaluation], float] | None = None
    """The more, the better, if there is a best one."""
    of_others: bool = False
    """Whether it is no result of ours."""


def shown_columns(table: TableKind, evaluations: Sequence[Evaluation]) -> list[ResultColumn]:
    """The columns of a table about some evaluations: those with a text for any of them."""
    columns = [column for column in (*_COLUMNS, *_own_statistics(evaluations)) if table in column.tables]
    return [column for column in columns if any(column.text(one) for one in evaluations)]


def _own_statistics(evaluations: Sequence[Evaluation]) -> list[ResultColumn]:
    """What the tasks themselves tell."""
    names = dict.fromkeys(name for one in evaluations for name in one.statistics)
    return [ResultColumn(name.replace("_", " "), _own_statistic(name), _SINGLE + _REPORT) for name in names]


def _own_statistic(name: str) -> Callable[[Evaluation], str]:
    def text(one: Evaluation) -> str:
        return mean_words(one.statistics[name].mean, one.statistics[name].stderr) if name in one.statistics else ""

    return text


def _planner_and_length(one: Evaluation) -> str:
    return ", ".join(part for part in (label_of(one), lengths_words(one)) if part)


def _world(one: Evaluation) -> str:
    return (
        one.world and f"{one.world}; {f'task fitted: {one.identified}' if one.identified else 'task not fitted to it'}"
    )


def _transferred(one: Evaluation) -> str:
    """What is published of a planner in another world than the task's simulator."""
    found = published_task(one.task).transfer.get(one.planner)
    if found is None:
        return ""
    return number_words(found.mean, 1) if found.stderr is None else mean_words(found.mean, found.stderr, 1)


def _paper(one: Evaluation) -> str:
    if one.world:
        return _transferred(one)
    found = published_beside(one)
    return "" if found is None else mean_words(found.paper.mean, found.paper.stderr, 1)


def _successor(one: Evaluation) -> str:
    found = None if one.world else published_beside(one)
    return "" if found is None or found.successor is None else number_words(found.successor, 1)


def _over_budget(one: Evaluation) -> str:
    if one.budget is None or not one.budget.steps or one.plan_steps_mean <= 1.5 * one.budget.steps:
        return ""
    return f"a first trial is always made; it takes {one.plan_steps_mean:,.0f} steps"


_COLUMNS = (
    ResultColumn("planner, longest macro-action", _planner_and_length, _COMPARISON),
    ResultColumn("world", _world, _SINGLE + _REPORT),
    ResultColumn("episodes", lambda one: f"{one.episodes}, seed {one.seed}", _SINGLE),
    ResultColumn(
        "return",
        lambda one: score_words(one.return_mean, one.return_stderr),
        _COMPARISON + _REPORT,
        rank=lambda one: one.return_mean,
    ),
    ResultColumn("return", lambda one: mean_words(one.return_mean, one.return_stderr, 2), _SINGLE),
    ResultColumn("success", lambda one: f"{one.success_rate:.1%}", _COMPARISON + _REPORT),
    ResultColumn(PAPER, _paper, _COMPARISON + _REPORT, of_others=True),
    ResultColumn("paper, out of its simulator", lambda one: one.world and _transferred(one), _SINGLE, of_others=True),
    ResultColumn(SUCCESSOR, _successor, _REPORT, of_others=True),
    ResultColumn(
        "discounted", lambda one: mean_words(one.discounted_return_mean, one.discounted_return_stderr, 1), _REPORT
    ),
    ResultColumn(
        "discounted return",
        lambda one: mean_words(one.discounted_return_mean, one.discounted_return_stderr, 2),
        _SINGLE,
    ),
    ResultColumn(
        "successes",
        lambda one: f"{one.success_rate:.1%}; failures {one.failure_rate:.1%}, unfinished {one.unfinished_rate:.1%}",
        _SINGLE,
    ),
    ResultColumn("length", lambda one: lengths_words(one) or "–", _REPORT),
    ResultColumn("budget a plan", lambda one: budget_words(one.budget), _REPORT),
    ResultColumn("episodes", lambda one: f"{one.episodes:,}{'' if one.complete else ', interrupted'}", _REPORT),
    ResultColumn("seed", lambda one: str(one.seed), _REPORT),
    ResultColumn("steps", lambda one: number_words(one.steps_mean, 1), _COMPARISON + _REPORT),
    ResultColumn("steps of an episode", lambda one: number_words(one.steps_mean, 1), _SINGLE),
    ResultColumn("depth", lambda one: number_words(one.search_depth_mean, 1), _COMPARISON + _REPORT),
    ResultColumn(
        "search depth",
        lambda one: f"{one.search_depth_mean:.1f} steps; deepest of an episode {one.search_depth_max_mean:.1f}",
        _SINGLE,
    ),
    ResultColumn("nodes of a search", lambda one: f"{one.nodes_mean:,.0f}", _SINGLE),
    ResultColumn("steps simulated", lambda one: f"{one.plan_steps_per_second:,.0f} a second", _SINGLE),
    ResultColumn("plan time, 99 % at most", lambda one: f"{one.plan_seconds_p99:.3f} s", _COMPARISON + _REPORT),
    ResultColumn(
        "time of a plan",
        lambda one: f"median {one.plan_seconds_p50:.4f} s; 99 % at most {one.plan_seconds_p99:.4f} s",
        _SINGLE,
    ),
    ResultColumn(
        "belief error",
        lambda one: "" if one.belief_error_mean is None else f"{one.belief_error_mean:.3f}",
        _SINGLE,
    ),
    ResultColumn(
        "belief drawn anew", lambda one: f"{one.recoveries} times; observations ignored: {one.ignored}", _SINGLE
    ),
    ResultColumn("over budget", _over_budget, _SINGLE),
    ResultColumn(
        "plans cut short",
        lambda one: f"{one.plans_cut_short}: the tree was full" if one.plans_cut_short else "",
        _SINGLE,
    ),
)
"""In the order in which they are shown."""
