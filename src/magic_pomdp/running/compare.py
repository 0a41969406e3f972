"""Every planner on one task, on the same episodes, with several budgets."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from magic_pomdp import __version__
from magic_pomdp.core.task import Task
from magic_pomdp.planners.plan import Budget
from magic_pomdp.running.episode import EpisodeRecord
from magic_pomdp.running.evaluate import PLANNERS, PlannerChoice, describe, evaluate
from magic_pomdp.running.saving import save_json

BUDGETS = tuple(Budget(seconds=seconds) for seconds in (0.001, 0.005, 0.025, 0.1, 1.0))
"""From one decision in a millisecond to one in a second."""

PUBLISHED: dict[str, dict[str, tuple[float, float]]] = {
    "light-dark": {"magic": (54.1, 1.0), "macro-despot": (-30.9, 1.0), "despot": (-96.1, 1.0), "pomcpow": (-90.7, 0.5)},
    "puck-push": {"magic": (87.9, 1.0), "macro-despot": (34.0, 2.0), "despot": (53.0, 2.0), "pomcpow": (-94.1, 1.0)},
    "crowd-driving": {
        "magic": (58.6, 2.0), "macro-despot": (13.1, 2.0), "despot": (14.8, 2.0), "pomcpow": (-44.7, 1.0)
    },
}  # fmt: skip
"""Mean returns in the paper (Lee, Cai, Hsu 2021) and their standard errors, by task and planner; 0.1 s a plan, and in
Crowd-Driving, whose variant `reference` they compare with, 0.1 s less than a macro-action takes."""
SUCCESSOR: dict[str, dict[str, float]] = {
    "light-dark": {"magic": 78.3}, "puck-push": {"magic": 92.5}, "crowd-driving": {"magic": 65.6}
}  # fmt: skip
"""Mean returns of RMAG, MAGIC's successor (IROS 2023), in the place of MAGIC's."""


@dataclass(frozen=True)
class Comparison:
    """What planners reach on one task. `cells` are evaluations in JSON, planner by planner, budget by budget."""

    task: str
    cells: tuple[dict[str, Any], ...]

    def at(self, budget: Budget) -> list[dict[str, Any]]:
        """The evaluations with a budget."""
        return [cell for cell in self.cells if Budget(**cell["budget"]) == budget]

    def by_planner(self) -> dict[str, list[dict[str, Any]]]:
        """The evaluations of each planner, the smallest budget first."""
        found: dict[str, list[dict[str, Any]]] = {}
        for cell in sorted(self.cells, key=lambda cell: next(iter(cell["budget"].values()))):
            found.setdefault(cell["planner"], []).append(cell)
        return {planner: found[planner] for planner in dict.fromkeys(cell["planner"] for cell in self.cells)}

    def to_json(self) -> dict[str, Any]:
        """All of it but the single episodes, which have their own files."""
        rows = [{name: value for name, value in cell.items() if name != "records"} for cell in self.cells]
        return {
            "task": self.task,
            "published": {
                planner: {"return_mean": mean, "return_stderr": error}
                for planner, (mean, error) in PUBLISHED.get(self.task, {}).items()
            },
            "evaluations": rows,
            "version": __version__,
        }


def compare(
    task: Task,
    folder: Path,
    planners: Sequence[PlannerChoice],
    budgets: Sequence[Budget] = BUDGETS,
    episodes: int = 100,
    seed: int = 0,
    workers: int | None = None,
    on_cell: Callable[[PlannerChoice, bool], None] | None = None,
    on_progress: Callable[[EpisodeRecord], None] | None = None,
) -> Comparison:
    """Evaluate each planner with each budget, on the same episodes.

    Each evaluation is saved in the folder as soon as it is finished, and not run again if it is there already: a
    comparison that was interrupted goes on where it stopped. One that asks something else of the same planner and
    budget is refused. `on_cell` is called with each planner before its evaluation, and with whether that was found in
    the folder.
    """
    if not planners or not budgets:
        raise ValueError("A comparison needs at least one planner and one budget.")
    choices = [dataclasses.replace(planner, budget=budget) for planner in planners for budget in budgets]
    paths = [folder / f"{choice.name}_{choice.budget}.json" for choice in choices]
    stored = [
        _stored(path, {**describe(task, choice, seed).to_json(), "episodes": episodes, "complete": True})
        for path, choice in zip(paths, choices, strict=True)
    ]
    cells = []
    for choice, path, cell in zip(choices, paths, stored, strict=True):
        if on_cell is not None:
            on_cell(choice, cell is not None)
        if cell is None:
            cell = evaluate(task, choice, episodes, seed, workers, on_progress).to_json()
            save_json(path, cell)
        cells.append(cell)
    comparison = Comparison(task.name or type(task).__name__, tuple(cells))
    save_json(folder / "comparison.json", comparison.to_json())
    return comparison


def able_planners(task: Task) -> tuple[str, ...]:
    """The planners that can plan in a task: all, but MAGIC only if a trained generator for the task ships."""
    able = []
    for name in PLANNERS:
        try:
            PlannerChoice(name).length(task)
        except ValueError:
            continue
        able.append(name)
    return tuple(able)


def choose_planners(names: Sequence[str], macro_length: int | None = None) -> list[PlannerChoice]:
    """Planners by name; the length is for those that take handcrafted macro-actions."""
    return [PlannerChoice(name, macro_length if name == "macro-despot" else None) for name in dict.fromkeys(names)]


ASKED = ("task", "planner", "macro_length", "budget", "episodes", "seed", "complete", "settings", "task_parameters")
"""What makes two evaluations the same one."""
MADE_BY = ("version", "code")
"""What must be the same, too, for the one to stand for the other, since tasks and planners change."""


def _stored(path: Path, asked: dict[str, Any]) -> dict[str, Any] | None:
    """The evaluation that a file holds; None if there is none, or one by other code. A ValueError if it is not the one
    that is asked for."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict):
        return None
    different = []
    for name in ASKED:
        known, wanted = found.get(name), json.loads(json.dumps(asked[name]))
        if isinstance(known, dict) and isinstance(wanted, dict):
            different += [f"{key} {known.get(key)}" for key in known | wanted if known.get(key) != wanted.get(key)]
        elif known != wanted:
            different.append(f"{name.replace('_', ' ')} {known}")
    if different:
        raise ValueError(f"{path} was made with {', '.join(different)}: ask the same, or choose another folder.")
    return found if all(found.get(name) == asked[name] for name in MADE_BY) else None
