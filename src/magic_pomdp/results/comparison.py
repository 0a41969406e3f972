"""What planners reach on one task with several budgets."""

from typing import Annotated

import msgspec

from magic_pomdp.planners.plan import Budget
from magic_pomdp.results.base import Name, Stored
from magic_pomdp.results.evaluation import Evaluation


class Comparison(Stored, frozen=True, kw_only=True, tag="comparison"):
    """Evaluations on the same episodes of a task, planner by planner, budget by budget."""

    task: Name
    evaluations: Annotated[tuple[Evaluation, ...], msgspec.Meta(min_length=1)]

    def __post_init__(self) -> None:
        for one in self.evaluations:
            if one.task != self.task:
                raise ValueError(f"evaluations must all be of {self.task}, not of {one.task}")

    def at(self, budget: Budget) -> list[Evaluation]:
        """The evaluations with a budget."""
        return [one for one in self.evaluations if one.budget == budget]

    def without_records(self) -> "Comparison":
        """All of it but the single episodes, which have their own files."""
        return msgspec.structs.replace(self, evaluations=tuple(one.without_records() for one in self.evaluations))
