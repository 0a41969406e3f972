"""Results as tables for the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Column, Table

from magic_pomdp.planners.plan import Budget
from magic_pomdp.running.compare import PUBLISHED
from magic_pomdp.running.difference import Difference
from magic_pomdp.running.evaluate import Evaluation
from magic_pomdp.running.tune import Tuning

if TYPE_CHECKING:
    from magic_pomdp.learning.ablation import Ablation  # which needs torch


def comparison_table(title: str, evaluations: Sequence[dict[str, Any]]) -> Table:
    """One row an evaluation (as JSON), with the published mean return beside ours."""
    columns = ("planner, length", "return", "success", "steps", "depth", "99 % within", "paper")
    table = Table(*(Column(name, no_wrap=name in columns[:2]) for name in columns), title=title)
    for found in evaluations:
        row = (
            "{planner}, {macro_length}|{return_mean:.1f} ± {return_stderr:.1f}|{success_rate:.1%}|"
            "{steps_mean:.1f}|{search_depth_mean:.1f}|{plan_seconds_p99:.3f} s"
        )
        published = PUBLISHED.get(found["task"], {}).get(found["planner"])
        paper = "" if published is None else f"{published[0]:.1f} ± {published[1]:.1f}"
        table.add_row(*row.format_map(found).split("|"), paper)
    return table


def difference_table(first: dict[str, Any], others: Sequence[tuple[dict[str, Any], Difference]]) -> Table:
    """One row an evaluation that another one (all as JSON) is compared with."""
    title = f"{first['task']}, seed {first['seed']}: what {_who(first)} returns more than"
    columns = ("", "difference", "in s.e.", "episodes", "returns", "succeed alone")
    table = Table(*(Column(name, no_wrap=name in columns[:4]) for name in columns), title=title)
    for other, found in others:
        table.add_row(
            _who(other),
            f"{found.mean:.1f} ± {found.stderr:.1f}",
            f"{found.standard_errors:.1f}",
            str(found.episodes),
            f"{found.first:.1f} and {found.second:.1f}",
            f"{found.only_first} and {found.only_second}",
        )
    return table


def tuning_table(tuning: Tuning, rows: int = 10) -> Table:
    """The best settings that a search has found."""
    names = list(tuning.best)
    table = Table("return", *names, title=f"{tuning.planner}: the best of {len(tuning.trials)} trials")
    for trial in tuning.trials[:rows]:
        values = [f"{trial['settings'][name]:.4g}" for name in names]
        table.add_row(f"{trial['return_mean']:.1f} ± {trial['return_stderr']:.1f}", *values)
    return table


def ablation_table(ablation: "Ablation") -> Table:
    """One row a variant of learning, with the paper's mean return beside ours."""
    shared, handcrafted = ablation.results[0]["evaluation"], ablation.handcrafted
    allowed = _words(Budget(**shared["budget"]))
    title = f"{ablation.task}: {shared['episodes']} episodes, seed {shared['seed']}, {allowed} a plan"
    table = Table("told, critic", "return", "success", "by seed", "minutes", "updates", "paper", title=title)
    for row in ablation.rows():
        by_seed = ", ".join(f"{value:.1f}" for value in row["by_seed"].values())
        told = ", ".join(part for part in (row["conditioning"], row["critic"], row["change"]) if part)
        text = "{return_mean:.1f} ± {return_stderr:.1f}|{success_rate:.1%}"
        spent = "{minutes:.1f}|{updates:,.0f}".format_map(row)
        paper = "" if row["published"] is None else f"{row['published']:.1f}"
        table.add_row(told, *text.format_map(row).split("|"), by_seed, *spent.split("|"), paper)
    published = PUBLISHED.get(ablation.task, {}).get("macro-despot")
    text = "handcrafted|{return_mean:.1f} ± {return_stderr:.1f}|{success_rate:.1%}|||"
    table.add_row(*text.format_map(handcrafted).split("|"), "" if published is None else f"{published[0]:.1f}")
    return table


def evaluation_table(evaluation: Evaluation) -> Table:
    """All that is known of one planner in one task."""
    found, budget = evaluation.to_json(), evaluation.budget
    allowed = "" if budget is None else f", {_words(budget)}"
    length = "" if evaluation.macro_length is None else f", length {evaluation.macro_length}"
    title = f"{found['task']}: {found['planner']}{length}{allowed} a plan"
    table = Table(show_header=False, title=title if evaluation.complete else f"{title} (interrupted)")
    rows = {
        "episodes": "{episodes}, seed {seed}",
        "return": "{return_mean:.2f} ± {return_stderr:.2f}",
        "discounted return": "{discounted_return_mean:.2f} ± {discounted_return_stderr:.2f}",
        "successes": "{success_rate:.1%}; failures {failure_rate:.1%}, unfinished {unfinished_rate:.1%}",
        "steps of an episode": "{steps_mean:.1f}",
        "search depth": "{search_depth_mean:.1f} steps; deepest of an episode {search_depth_max_mean:.1f}",
        "nodes of a search": "{nodes_mean:,.0f}",
        "steps simulated": "{plan_steps_per_second:,.0f} a second",
        "time of a plan": "{plan_seconds_p50:.4f} s; 99 % within {plan_seconds_p99:.4f} s",
        "belief error": "{belief_error_mean:.3f}",
        "belief drawn anew": "{recoveries} times; observations ignored: {ignored}",
    }
    for name, text in rows.items():
        table.add_row(name, text.format_map(found))
    if budget and budget.steps and found["plan_steps_mean"] > 1.5 * budget.steps:
        table.add_row("over budget", f"a first trial is always made; it takes {found['plan_steps_mean']:,.0f} steps")
    if found["plans_cut_short"]:
        table.add_row("plans cut short", f"{found['plans_cut_short']}: the tree was full")
    return table


def _who(evaluation: dict[str, Any]) -> str:
    """A planner, its length and its budget."""
    length = evaluation.get("macro_length")
    budget = f", {_words(Budget(**evaluation['budget']))}" if evaluation["budget"] else ""
    return evaluation["planner"] + (f", {length}" if length else "") + budget


def _words(budget: Budget) -> str:
    return f"{budget.steps:,} steps" if budget.steps else f"{budget.seconds:g} s"
