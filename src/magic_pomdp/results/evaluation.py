"""What the episodes of one planner in one task add up to."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from magic_pomdp.core.randomness import check_seed
from magic_pomdp.core.statistics import mean, percentile, standard_error
from magic_pomdp.planners.plan import Budget
from magic_pomdp.results.base import (
    Amount,
    Count,
    Label,
    Name,
    Plain,
    Positive,
    Scalar,
    Share,
    Stored,
    check_counts,
)

if TYPE_CHECKING:
    from magic_pomdp.running.episode import EpisodeRecord

Ending = Literal["success", "failure", "unfinished"]
"""How an episode ends."""
_ROUNDING = 1e-6
"""Shares may add up to so much more or less than 1."""


class EpisodeResult(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of an episode: all that does not depend on the machine's speed."""

    episode: Count
    """The episode's number: with the seed, it determines every random number."""
    total_return: float = msgspec.field(name="return")
    """Sum of all rewards."""
    discounted_return: float
    """Sum of all rewards, each discounted to the beginning."""
    steps: Count
    """Primitive steps."""
    outcome: Ending
    """How it ended; "unfinished" after the task's max_steps."""
    belief_error: Amount | None
    """Mean over the steps of the distance between particles and the true state, before each action; None if nobody
    knows the true state."""
    belief_error_final: Amount | None
    """The same, before the last action only."""
    belief_error_least: Amount | None = None
    """The same, before the action for which it was least; None in older results, too."""
    recoveries: Count
    """Times the belief had lost track and was drawn anew from the past."""
    ignored: Count
    """Observations that the belief had to ignore."""
    plans: Count
    """Plans that were made."""
    statistics: dict[str, float] = msgspec.field(default_factory=dict)
    """What the task itself tells of it."""


class Mean(msgspec.Struct, frozen=True, kw_only=True):
    """A mean and its standard error."""

    mean: float
    stderr: Amount


class Question(Stored, frozen=True, kw_only=True):
    """What an evaluation asks: which planner, in which task, on which episodes."""

    task: Name
    planner: Name
    """The planner's name."""
    label: Label = ""
    """The planner as it is written; "" if that is not known."""
    macro_length: Positive | None = None
    """Longest macro-action of the planner's set; None for a planner without one."""
    budget: Budget | None
    """Of each plan; None for a planner without one."""
    concurrent: bool = False
    """Whether each macro-action was planned while the one before it was carried out."""
    seed: int
    settings: dict[str, Scalar]
    """The planner's."""
    task_parameters: dict[str, Plain] = msgspec.field(default_factory=dict)
    code: Label = ""
    """A fingerprint of the code of task, planners and belief, and of what the task has read from files or derived
    otherwise; "" if that is not known."""
    world: Label = ""
    """In which world it happened; "" in the task's own simulator, or in one without a name."""
    world_settings: dict[str, Scalar] = msgspec.field(default_factory=dict)
    identified: Label = ""
    """Which parameters that were fitted to that world the task has; "" if none."""

    def __post_init__(self) -> None:
        check_seed(self.seed)


class Evaluation(Question, frozen=True, kw_only=True, tag="evaluation"):
    """The episodes of one planner in one task: what they add up to, and, unless they were left out, every one."""

    episodes: Count
    """How many there were."""
    complete: bool = True
    """False if it was interrupted before all episodes were finished."""
    return_mean: float
    return_stderr: Amount
    discounted_return_mean: float
    discounted_return_stderr: Amount
    success_rate: Share
    failure_rate: Share
    unfinished_rate: Share
    steps_mean: Amount
    """Primitive steps of an episode."""
    plan_steps_mean: Amount
    """Primitive steps that a plan has simulated."""
    plan_steps_per_second: Amount
    plan_seconds_p50: Amount
    """Median time of a plan."""
    plan_seconds_p99: Amount
    """Time that 99 % of the plans took at most."""
    search_depth_mean: Amount
    """How many primitive steps ahead a search still compared macro-actions: the mean of all plans' `depth`."""
    search_depth_max_mean: Amount
    """The same of the deepest plan of each episode, in the mean of all episodes."""
    nodes_mean: Amount
    """Belief nodes of a plan."""
    plans_cut_short: Count
    """Plans whose search ended early because its memory was full."""
    belief_error_mean: Amount | None
    """None if nobody knows the true states."""
    recoveries: Count
    """Times the belief had lost track and was drawn anew from the past."""
    ignored: Count
    """Observations that the belief had to ignore."""
    statistics: dict[str, Mean] = msgspec.field(default_factory=dict)
    """What the task itself tells of its episodes."""
    records: tuple[EpisodeResult, ...] = ()
    """By the episodes' numbers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        shares = self.success_rate + self.failure_rate + self.unfinished_rate
        if self.episodes > 0 and abs(shares - 1.0) > _ROUNDING:
            raise ValueError(f"success_rate, failure_rate and unfinished_rate must add up to 1, not to {shares:g}")
        if self.records:
            check_counts({"records": self.records}, self.episodes, "entries, one for each of the episodes")
        if len({record.episode for record in self.records}) < len(self.records):
            raise ValueError("An episode comes twice in the records.")

    @property
    def follows_from_records(self) -> bool:
        """Whether its figures are those that its episodes add up to, as far as these tell."""
        figures = _figures(self.records)
        return all(_same(getattr(self, name), value) for name, value in figures.items())

    def without_records(self) -> "Evaluation":
        """What the episodes add up to, without the single ones."""
        return msgspec.structs.replace(self, records=())

    def __repr__(self) -> str:
        return (
            f"<{self.planner} on {self.task}: {self.episodes} episodes, return {self.return_mean:.2f} ± "
            f"{self.return_stderr:.2f}, success {self.success_rate:.1%}>"
        )


def add_up(asked: Question, records: "Sequence[EpisodeRecord]", complete: bool) -> Evaluation:
    """What episodes add up to. With a budget in steps, only `plan_seconds_*` and `plan_steps_per_second` depend on
    speed."""
    results = [record.result for record in records]
    seconds = [plan for record in records for plan in record.plan_seconds]
    simulated = [plan for record in records for plan in record.plan_steps]
    return Evaluation(
        **{name: getattr(asked, name) for name in Question.__struct_fields__},
        **_figures(results),
        complete=complete,
        plan_steps_mean=mean(simulated),
        plan_steps_per_second=sum(simulated) / max(sum(seconds), 1e-9),
        plan_seconds_p50=percentile(seconds, 50),
        plan_seconds_p99=percentile(seconds, 99),
        search_depth_mean=mean([plan for record in records for plan in record.plan_depths]),
        search_depth_max_mean=mean([max(record.plan_depths, default=0) for record in records]),
        nodes_mean=mean([plan for record in records for plan in record.plan_nodes]),
        plans_cut_short=sum(record.plans_cut_short for record in records),
        statistics=_statistics(records),
        records=tuple(results),
    )


def _figures(results: Sequence[EpisodeResult]) -> dict[str, Any]:
    """What follows from what is stored of the episodes."""
    returns = [result.total_return for result in results]
    discounted_returns = [result.discounted_return for result in results]
    errors = [result.belief_error for result in results if result.belief_error is not None]

    def share(outcome: str) -> float:
        return mean([result.outcome == outcome for result in results])

    return {
        "episodes": len(results),
        "return_mean": mean(returns),
        "return_stderr": standard_error(returns),
        "discounted_return_mean": mean(discounted_returns),
        "discounted_return_stderr": standard_error(discounted_returns),
        "success_rate": share("success"),
        "failure_rate": share("failure"),
        "unfinished_rate": share("unfinished"),
        "steps_mean": mean([result.steps for result in results]),
        "belief_error_mean": mean(errors) if errors else None,
        "recoveries": sum(result.recoveries for result in results),
        "ignored": sum(result.ignored for result in results),
    }


def _same(one: float | None, other: float | None) -> bool:
    """Whether two figures are the same but for what another machine rounds otherwise."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_ROUNDING, abs_tol=_ROUNDING)


def _statistics(records: "Sequence[EpisodeRecord]") -> dict[str, Mean]:
    """What the task itself tells of its episodes; of those of which it does. What it tells of every step is a mean over
    the steps of all episodes."""
    found: dict[str, Mean] = {}
    for name in dict.fromkeys(name for record in records for name in record.result.statistics):
        told = [record for record in records if name in record.result.statistics]
        values = [record.result.statistics[name] for record in told]
        weights = [record.steps if name in record.step_statistics else 1 for record in told]
        found[name] = Mean(mean=mean(values, weights), stderr=standard_error(values, weights))
    return found
