"""Learning curves of several trainings, to be seen side by side."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from magic_pomdp.core.reading import in_short, read_json
from magic_pomdp.core.statistics import mean
from magic_pomdp.learning.settings import CHANGEABLE, SETTINGS, complete
from magic_pomdp.results.base import Plain, Scalar
from magic_pomdp.results.metrics import METRICS, EvaluationReport, read_metrics
from magic_pomdp.results.training import Curve, CurvePoint, Curves


def read_curves(folders: Sequence[Path], handcrafted: float | None = None) -> Curves:
    """The learning curves of trainings for one task, labelled with the settings in which they differ. What the
    handcrafted set returns is, if nobody says so, what the trainings have measured."""
    if not folders:
        raise ValueError("Name at least one folder of a training.")
    asked = [_asked(folder) for folder in folders]
    tasks = list(dict.fromkeys(one.task for one in asked))
    if len(tasks) > 1:
        names = in_short(", ".join(map(in_short, tasks)), 600)
        raise ValueError(f"These trainings are for several tasks ({names}): draw one task at a time.")
    labels = _labels(folders, [one.facts() for one in asked])
    if handcrafted is None:
        known = [value for folder in folders for value in _of_set_to_beat(folder)]
        handcrafted = mean(known) if known else None
    curves = [Curve(label=label, points=_points(folder)) for label, folder in zip(labels, folders, strict=True)]
    return Curves(task=tasks[0], curves=tuple(curves), handcrafted=handcrafted)


def _of_set_to_beat(folder: Path) -> list[float]:
    """What the handcrafted set returned in the episodes of a training's evaluations, if that is known."""
    lines = read_metrics(folder) if (folder / METRICS).exists() else []
    reports = [line for line in lines if isinstance(line, EvaluationReport) and not line.final]
    return [report.return_mean - report.lead for report in reports if report.lead is not None][:1]


class _Space(msgspec.Struct):
    length: int


class _Asked(msgspec.Struct):
    """What was asked of a training, as far as it can tell it from others."""

    task: str
    task_parameters: dict[str, Plain]
    settings: dict[str, Scalar]
    space: _Space

    def facts(self) -> dict[str, Plain]:
        """What may tell it from another, by name."""
        settings = {name: value for name, value in complete(self.settings).items() if name not in CHANGEABLE}
        return {**settings, **self.task_parameters, "macro_length": self.space.length}


def _asked(folder: Path) -> _Asked:
    if not (folder / SETTINGS).is_file():
        raise ValueError(f"There is no training in {folder}: name the folder that `train` has filled.")
    return read_json(folder / SETTINGS, _Asked)


def _labels(folders: Sequence[Path], facts: Sequence[dict[str, Plain]]) -> list[str]:
    names = dict.fromkeys(name for some in facts for name in some)
    different = [name for name in names if any(some.get(name) != facts[0].get(name) for some in facts)]
    labels = [", ".join(f"{name.replace('_', ' ')} {some.get(name)}" for name in different) for some in facts]
    return labels if len(set(labels)) == len(labels) else [folder.resolve().name for folder in folders]


def _points(folder: Path) -> tuple[CurvePoint, ...]:
    if not (folder / METRICS).exists():
        raise ValueError(f"The training in {folder} has no {METRICS}, so there is nothing to draw.")
    points: list[CurvePoint] = []
    for line in read_metrics(folder):
        if isinstance(line, EvaluationReport) and not line.final:
            while points and points[-1].updates >= line.updates:
                points.pop()  # a training that was killed has evaluated again what came after its last checkpoint
            points.append(line.point())
    if not points:
        raise ValueError(f"The training in {folder} has not been evaluated yet, so there is nothing to draw.")
    return tuple(points)
