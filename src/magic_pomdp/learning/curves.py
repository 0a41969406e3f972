"""Learning curves of several trainings, to be seen side by side."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from magic_pomdp.learning.settings import CHANGEABLE, SETTINGS, complete
from magic_pomdp.learning.watching import METRICS, read_metrics

POINT = ("minutes", "updates", "return_mean", "return_stderr", "success_rate", "episodes", "plan_steps")
"""What is kept of an evaluation."""


@dataclass(frozen=True)
class Curve:
    """The evaluations of one training."""

    label: str
    """What tells this training from the others; trainings that count as one kind may share it."""
    points: tuple[dict[str, Any], ...]
    """Each evaluation on the way, the first first."""


@dataclass(frozen=True)
class Curves:
    """Learning curves for one task."""

    task: str
    curves: tuple[Curve, ...]
    handcrafted: float | None = None
    """What the handcrafted macro-actions return, for comparison."""

    def to_json(self) -> dict[str, Any]:
        """All points."""
        curves = [{"label": curve.label, "points": list(curve.points)} for curve in self.curves]
        return {"task": self.task, "handcrafted": self.handcrafted, "curves": curves}


def read_curves(folders: Sequence[Path], handcrafted: float | None = None) -> Curves:
    """The learning curves of trainings for one task, labelled with the settings in which they differ."""
    if not folders:
        raise ValueError("Name at least one folder of a training.")
    known = [_known(folder) for folder in folders]
    tasks = list(dict.fromkeys(about["task"] for about in known))
    if len(tasks) > 1:
        raise ValueError(f"These trainings are for several tasks ({', '.join(tasks)}): draw one task at a time.")
    labels = _labels(folders, [_facts(about) for about in known])
    curves = [Curve(label, tuple(_points(folder))) for label, folder in zip(labels, folders, strict=True)]
    return Curves(tasks[0], tuple(curves), handcrafted)


def ablation_curves(task: str, results: Sequence[dict[str, Any]], handcrafted: float) -> Curves:
    """The learning curves of an ablation's trainings; the seeds of a variant share its label."""
    several = len({result["critic"] for result in results}) > 1
    curves = []
    for result in results:
        parts = [result["conditioning"], f"{result['critic']} critic" if several else "", result.get("change", "")]
        label = ", ".join(part for part in parts if part)
        curves.append(Curve(label, tuple(result["curve"])))
    return Curves(task, tuple(curves), handcrafted)


def shorten(points: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """The points of a curve, with what belongs to them."""
    return tuple({name: point[name] for name in POINT} for point in points)


def _known(folder: Path) -> dict[str, Any]:
    """What was asked of the training in a folder."""
    try:
        about = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        about["task"], about["task_parameters"], about["settings"]["seed"], about["space"]["length"]
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(f"There is no training in {folder}: name the folder that `train` has filled.") from None
    return about


def _facts(about: dict[str, Any]) -> dict[str, Any]:
    """What may tell a training from another, by name."""
    settings = {name: value for name, value in complete(about["settings"]).items() if name not in CHANGEABLE}
    return {**settings, **about["task_parameters"], "macro_length": about["space"]["length"]}


def _labels(folders: Sequence[Path], facts: Sequence[dict[str, Any]]) -> list[str]:
    names = dict.fromkeys(name for some in facts for name in some)
    different = [name for name in names if any(some.get(name) != facts[0].get(name) for some in facts)]
    labels = [", ".join(f"{name.replace('_', ' ')} {some.get(name)}" for name in different) for some in facts]
    return labels if len(set(labels)) == len(labels) else [folder.resolve().name for folder in folders]


def _points(folder: Path) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = []
    try:
        lines = read_metrics(folder)
    except OSError:
        raise ValueError(f"The training in {folder} has no {METRICS}, so there is nothing to draw.") from None
    for line in lines:
        if line.get("event") == "evaluation" and not line.get("final") and all(name in line for name in POINT):
            # a training that was killed has evaluated again what came after its last checkpoint
            points = [point for point in points if point["updates"] < line["updates"]]
            points.append(line)
    if not points:
        raise ValueError(f"The training in {folder} has not been evaluated yet, so there is nothing to draw.")
    return list(shorten(points))
