"""What a training measures of itself: an evaluation under way, and means and rates between reports."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from magic_pomdp.running.episode import EpisodeRecord
from magic_pomdp.running.statistics import mean, standard_error


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

    def report(self) -> dict[str, Any]:
        """The result, as JSON."""
        records = list(self.records.values())
        returns = [record.total_return for record in records]
        return {
            "minutes": self.minutes,
            "updates": self.updates,
            "episodes": len(records),
            "plan_steps": self.plan_steps,
            "concurrent": self.concurrent,
            "return_mean": mean(returns),
            "return_stderr": standard_error(returns),
            "success_rate": mean([record.outcome == "success" for record in records]),
        }


class Meter:
    """Means and rates since the last report."""

    def __init__(self) -> None:
        self.since, self.plans = 0.0, 0
        self._sums: dict[str, float] = {}
        self._updates = 0

    def add(self, measured: dict[str, float]) -> None:
        self._updates += 1
        for name, value in measured.items():
            self._sums[name] = self._sums.get(name, 0.0) + value

    def read(self, now: float) -> dict[str, float]:
        """The means and rates; they begin anew."""
        passed = max(now - self.since, 1e-9)
        report = {"updates_per_second": self._updates / passed, "plans_per_second": self.plans / passed}
        report |= {name: total / self._updates for name, total in self._sums.items()}
        self.since, self.plans, self._updates, self._sums = now, 0, 0, {}
        return report
