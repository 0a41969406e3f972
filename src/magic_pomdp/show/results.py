"""Stored results: which kind a file holds, and all that some files and folders hold together."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from magic_pomdp.learning.curves import Curve, Curves, ablation_curves, read_curves
from magic_pomdp.learning.settings import SETTINGS
from magic_pomdp.learning.watching import METRICS
from magic_pomdp.running.recording import Recording, load_recording

NUMBERS = ("return_mean", "return_stderr", "discounted_return_mean", "discounted_return_stderr", "success_rate")
EVALUATION = ("task", "planner", "budget", "episodes", "seed", "settings", *NUMBERS)
"""What every stored evaluation has."""
SAME = ("task", "planner", "macro_length", "budget", "episodes", "seed", "settings", "task_parameters", "version")
"""Two evaluations that agree in these are one."""
GZIP = b"\x1f\x8b"
ABLATION = "ablation.json"
"""What `ablate` calls what its trainings add up to."""


@dataclass
class Results:
    """What was found, kind by kind."""

    evaluations: list[dict[str, Any]] = field(default_factory=list)
    curves: list[Curves] = field(default_factory=list)
    ablations: list[dict[str, Any]] = field(default_factory=list)
    benches: list[dict[str, Any]] = field(default_factory=list)
    recordings: list[Recording] = field(default_factory=list)

    def __len__(self) -> int:
        found = len(self.evaluations) + len(self.curves) + len(self.ablations)
        return found + len(self.benches) + len(self.recordings)

    def tasks(self) -> list[str]:
        """The tasks that there are figures of, in the order in which they came."""
        found = [one["task"] for one in self.evaluations]
        found += [one.task for one in self.curves] + [one["task"] for one in self.ablations]
        return list(dict.fromkeys(found))

    def add_evaluation(self, found: dict[str, Any]) -> None:
        """Keep an evaluation, unless it is there already: a comparison holds what its folder's files hold."""
        same = [{name: one.get(name) for name in SAME} for one in self.evaluations]
        if {name: found.get(name) for name in SAME} not in same:
            self.evaluations.append({name: value for name, value in found.items() if name != "records"})


def read_results(paths: Sequence[Path]) -> Results:
    """All results in files and in folders (and their folders); a ValueError says which file holds none."""
    results = Results()
    for path in paths:
        if not path.exists():
            raise ValueError(f"There is no file or folder {path}.")
        if not path.is_dir():
            _add_file(results, path)
        elif not _add_folder(results, path):
            raise ValueError(f"The folder {path} holds no results: name one that `magic-pomdp` has filled.")
    if not len(results):
        raise ValueError("Name at least one file or folder of results.")
    return results


def _add_folder(results: Results, folder: Path) -> int:
    """A training is its learning curve, an ablation what it adds up to. Files of other kinds are passed over; gives
    the number of those that were not."""
    if (folder / SETTINGS).is_file() and (folder / METRICS).is_file():
        results.curves.append(read_curves([folder]))
        return 1
    if (folder / ABLATION).is_file():
        _add_file(results, folder / ABLATION)
        return 1
    count = 0
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            count += _add_folder(results, path)
        elif path.suffix == ".json" and _kind(content := _read_json(path)) is not None:
            _add(results, path, content)
            count += 1
        elif path.name.endswith(".record.gz"):
            results.recordings.append(load_recording(path))
            count += 1
    return count


def _add_file(results: Results, path: Path) -> None:
    try:
        with path.open("rb") as file:
            packed = file.read(2) == GZIP
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}).") from None
    if packed:
        results.recordings.append(load_recording(path))
    else:
        _add(results, path, _read_json(path))


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is not JSON, nor a recording, or is damaged.") from None


def _kind(content: Any) -> str | None:
    """Which kind of result a file's JSON is; None if it is none of ours."""
    if not isinstance(content, dict):
        return None
    return next((kind for kind, names in _NAMES.items() if names <= content.keys()), None)


_NAMES: dict[str, set[str]] = {
    "comparison": {"task", "evaluations"},
    "ablation": {"task", "rows", "trainings", "handcrafted"},
    "curves": {"task", "curves", "handcrafted"},
    "bench": {"processor", "measurements", "version"},
    "evaluation": set(EVALUATION),
}


def _add(results: Results, path: Path, content: Any) -> None:
    kind = _kind(content)
    if kind is None:
        raise ValueError(
            f"{path} holds no result of magic-pomdp: evaluate, compare, curves, ablate and bench make some."
        )
    try:
        _ADDERS[kind](results, content)
    except (KeyError, TypeError, AttributeError, IndexError):
        raise ValueError(f"{path} is a result of magic-pomdp ({kind}), but parts of it are missing.") from None


def _add_evaluation(results: Results, content: dict[str, Any]) -> None:
    numbers = [content[name] for name in (*NUMBERS, "episodes", "seed")]
    if not all(isinstance(number, int | float) for number in numbers) or not isinstance(content["settings"], dict):
        raise TypeError("not the numbers of an evaluation")
    results.add_evaluation(content)


def _add_comparison(results: Results, content: dict[str, Any]) -> None:
    for cell in content["evaluations"]:
        if not set(EVALUATION) <= cell.keys():
            raise KeyError("an evaluation")
        _add_evaluation(results, cell)


def _add_curves(results: Results, content: dict[str, Any]) -> None:
    curves = []
    for curve in content["curves"]:
        for point in curve["points"]:
            float(point["minutes"]), float(point["return_mean"]), float(point["return_stderr"])
        curves.append(Curve(str(curve["label"]), tuple(curve["points"])))
    results.curves.append(Curves(content["task"], tuple(curves), content["handcrafted"]))


def _add_ablation(results: Results, content: dict[str, Any]) -> None:
    for row in content["rows"]:
        (
            row["conditioning"],
            row["critic"],
            float(row["return_mean"]),
            float(row["return_stderr"]),
            row["by_seed"].items(),
        )
        float(row["success_rate"]), float(row["minutes"]), float(row["updates"])
    results.ablations.append(content)
    start = float(content["handcrafted"]["return_mean"])
    results.curves.append(ablation_curves(content["task"], content["trainings"], start))


def _add_bench(results: Results, content: dict[str, Any]) -> None:
    for one in content["measurements"]:
        # older files have no median
        str(one["name"]), float(one["value"]), float(one.get("median", 0.0)), str(one["unit"]), float(one["ratio"])
    results.benches.append(content)


_ADDERS: dict[str, Callable[[Results, dict[str, Any]], None]] = {
    "comparison": _add_comparison,
    "ablation": _add_ablation,
    "curves": _add_curves,
    "bench": _add_bench,
    "evaluation": _add_evaluation,
}
