"""What a training measures of itself: an evaluation under way, and means and rates between reports."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from magic_pomdp.core.statistics import mean, standard_error
from magic_pomdp.results.metrics import EvaluationReport, Measured
from magic_pomdp.running.episode import EpisodeRecord


@dataclass
class RunningEvaluation:
    """An evaluation under way."""

    purpose: int
    """What its episodes are for."""
    episodes: int
    """Episodes to run."""
    plan_steps: int
    """Budget of a plan."""
    concurrent: bool
    """Whether each macro-action is planned while the one before it is carried out."""
    arrays: dict[str, np.ndarray]
    """The generator that is evaluated."""
    updates: int
    """Updates that had made it."""
    minutes: float
    """When it was taken."""
    begun: int = 0
    """Episodes begun."""
    records: dict[int, EpisodeRecord] = dataclasses.field(default_factory=dict)
    """Episodes finished, by their numbers."""

    @property
    def progress(self) -> str:
        """How far it is, for a person."""
        return f"{len(self.records)} of {self.episodes} episodes"

    @property
    def returns(self) -> tuple[float, ...]:
        """What the finished episodes returned, in the order of their numbers."""
        return tuple(self.records[number].total_return for number in sorted(self.records))

    def report(self, baseline: Sequence[float] = ()) -> EvaluationReport:
        """The result, beside what the handcrafted set returned in the same episodes, if that is known. Whether it is
        the best, or the final one, is for others to know."""
        records, returns = list(self.records.values()), self.returns
        leads = [mine - its for mine, its in zip(returns, baseline, strict=True)] if baseline else []
        return EvaluationReport(
            minutes=self.minutes,
            updates=self.updates,
            episodes=len(records),
            plan_steps=self.plan_steps,
            concurrent=self.concurrent,
            return_mean=mean(returns),
            return_stderr=standard_error(returns),
            success_rate=mean([record.outcome == "success" for record in records]),
            lead=mean(leads) if leads else None,
            lead_stderr=standard_error(leads) if leads else None,
        )


class Reading(NamedTuple):
    """What a meter shows."""

    updates_per_second: float
    plans_per_second: float
    measured: Measured | None
    """The mean over all updates; None if there were none."""


class Meter:
    """Means and rates since the last report."""

    def __init__(self) -> None:
        self.since, self.plans = 0.0, 0
        self._measured: list[Measured] = []

    def add(self, measured: Measured) -> None:
        """Count an update."""
        self._measured.append(measured)

    def read(self, now: float) -> Reading:
        """The means and rates; they begin anew."""
        passed, measured = max(now - self.since, 1e-9), self._measured
        means = {name: mean([getattr(one, name) for one in measured]) for name in Measured.__struct_fields__}
        reading = Reading(len(measured) / passed, self.plans / passed, Measured(**means) if measured else None)
        self.since, self.plans, self._measured = now, 0, []
        return reading
