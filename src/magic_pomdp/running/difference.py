"""Which of two planners is better: stored evaluations compared episode by episode."""

import math
from dataclasses import dataclass

from magic_pomdp.core.statistics import mean, standard_error
from magic_pomdp.results.base import Plain
from magic_pomdp.results.evaluation import Evaluation


@dataclass(frozen=True)
class Difference:
    """What one evaluation returns more than another on the episodes of both."""

    episodes: int
    """That both have run."""
    first: float
    """The first one's mean return on these."""
    second: float
    """The second one's."""
    mean: float
    """Of the differences, episode by episode."""
    stderr: float
    """Standard error of that."""
    only_first: int
    """Episodes in which only the first one succeeded."""
    only_second: int
    """Episodes in which only the second one did."""

    @property
    def standard_errors(self) -> float:
        """The mean difference in units of its standard error; infinite if all episodes differ alike."""
        if self.stderr == 0.0:
            return math.copysign(math.inf, self.mean) if self.mean != 0.0 else 0.0
        return self.mean / self.stderr


_SAME_NAME = " A subclass that only plans better in the same task keeps its name."


def difference(first: Evaluation, second: Evaluation) -> Difference:
    """Compare two evaluations on the episodes that both have run; a ValueError if they have none in common."""
    shared = first.task_parameters.keys() & second.task_parameters.keys()  # an older result may lack a parameter
    asked: list[tuple[str, Plain, Plain]] = [("task", first.task, second.task), ("seed", first.seed, second.seed)]
    asked += [(name, first.task_parameters[name], second.task_parameters[name]) for name in sorted(shared)]
    for name, known, other in asked:
        if known != other:
            raise ValueError(
                f"The evaluations have another {name.replace('_', ' ')} each ({known} and {other}), so their episodes "
                f"do not compare.{_SAME_NAME if name == 'task' else ''}"
            )
    mine, others = ({record.episode: record for record in found.records} for found in (first, second))
    both = sorted(mine.keys() & others.keys())
    if len(both) < 2:
        raise ValueError(f"The evaluations have {len(both)} episodes in common, and at least two are needed.")
    returns = [(mine[episode].total_return, others[episode].total_return) for episode in both]
    succeeded = [(mine[episode].outcome == "success", others[episode].outcome == "success") for episode in both]
    off = [a - b for a, b in returns]
    return Difference(
        episodes=len(both),
        first=mean([a for a, _ in returns]),
        second=mean([b for _, b in returns]),
        mean=mean(off),
        stderr=standard_error(off),
        only_first=succeeded.count((True, False)),
        only_second=succeeded.count((False, True)),
    )
