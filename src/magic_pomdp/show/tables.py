"""Results as tables for the terminal."""

from collections.abc import Sequence

from rich.table import Table

from magic_pomdp.running.evaluate import Evaluation


def comparison_table(title: str, evaluations: Sequence[Evaluation], published: dict[str, float]) -> Table:
    """One row a planner, with the published mean return beside ours."""
    table = Table("planner", "return", "success", "steps", "depth", "99 % within", "paper", title=title)
    for evaluation in evaluations:
        found = evaluation.to_json()
        row = (
            "{planner}, {macro_length}|{return_mean:.1f} ± {return_stderr:.1f}|{success_rate:.0%}|"
            "{steps_mean:.1f}|{search_depth_mean:.1f}|{plan_seconds_p99:.3f} s"
        )
        table.add_row(*row.format_map(found).split("|"), f"{published[evaluation.planner]}")
    return table


def evaluation_table(evaluation: Evaluation) -> Table:
    """All that is known of one planner in one task."""
    found, budget = evaluation.to_json(), evaluation.budget
    allowed = "" if budget is None else f", {budget.steps:,} steps" if budget.steps else f", {budget.seconds:g} s"
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
