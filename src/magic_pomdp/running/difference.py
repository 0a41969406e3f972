"""Which of two planners is better: stored evaluations compared episode by episode."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from magic_pomdp.running.statistics import mean, standard_error

SAME = ("task", "seed")
"""What two evaluations must have in common for their episodes to begin alike, beside the task's parameters."""


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


def load_evaluation(path: Path) -> dict[str, Any]:
    """A stored evaluation with its episodes, or a ValueError that says why there is none."""
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        records = found["records"]
        whole = all(math.isfinite(record["return"]) and "outcome" in record for record in records)
        told = all(name in found for name in (*SAME, "planner", "budget"))
        needed = whole and told and isinstance(found["task_parameters"], dict)
        needed = needed and len({record["episode"] for record in records}) == len(records)
    except (ValueError, KeyError, TypeError):
        needed = False
    if not needed:
        raise ValueError(f"{path} does not hold an evaluation: name a file that `magic-pomdp evaluate` has saved.")
    return found


def difference(first: dict[str, Any], second: dict[str, Any]) -> Difference:
    """Compare two evaluations (as JSON) on the episodes that both have run; a ValueError if they have none in
    common."""
    known, others = ({**{name: found[name] for name in SAME}, **found["task_parameters"]} for found in (first, second))
    for name in known.keys() & others.keys():  # an older result may lack a parameter
        if known[name] != others[name]:
            raise ValueError(
                f"The evaluations have another {name.replace('_', ' ')} each ({known[name]} and {others[name]}), so "
                "their episodes do not compare."
            )
    one, other = ({record["episode"]: record for record in found["records"]} for found in (first, second))
    both = sorted(one.keys() & other.keys())
    if len(both) < 2:
        raise ValueError(f"The evaluations have {len(both)} episodes in common, and at least two are needed.")
    returns = [(one[episode]["return"], other[episode]["return"]) for episode in both]
    succeeded = [tuple(found[episode]["outcome"] == "success" for found in (one, other)) for episode in both]
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
