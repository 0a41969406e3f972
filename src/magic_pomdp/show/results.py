"""Stored results: all that some files and folders hold together."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from magic_pomdp.learning.curves import read_curves
from magic_pomdp.learning.settings import SETTINGS
from magic_pomdp.results.comparison import Comparison
from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.files import Result, read, read_if_result
from magic_pomdp.results.metrics import METRICS
from magic_pomdp.results.recording import Recording
from magic_pomdp.results.speed import Bench
from magic_pomdp.results.training import ABLATION_FILE, Ablation, AblationTraining, Curve, Curves

_SAME = (
    *("task", "planner", "macro_length", "budget", "concurrent", "episodes", "seed", "settings", "task_parameters"),
    *("world", "world_settings", "identified", "software"),
)
"""Two evaluations that agree in these are one."""
_DEEPEST = 20
"""Folders may lie in each other so deeply."""
_MOST_PLACES = 20_000
"""Files that may be results, and folders, that are looked into."""


@dataclass
class Results:
    """What was found, kind by kind."""

    evaluations: list[Evaluation] = field(default_factory=list)
    """Without their records."""
    curves: list[Curves] = field(default_factory=list)
    ablations: list[Ablation] = field(default_factory=list)
    benches: list[Bench] = field(default_factory=list)
    recordings: list[Recording] = field(default_factory=list)

    def __len__(self) -> int:
        found = len(self.evaluations) + len(self.curves) + len(self.ablations)
        return found + len(self.benches) + len(self.recordings)

    def tasks(self) -> list[str]:
        """The tasks that there are figures of, in the order in which they came."""
        found = [one.task for one in self.evaluations]
        found += [one.task for one in self.curves] + [one.task for one in self.ablations]
        return list(dict.fromkeys(found))

    def add(self, result: Result) -> None:
        """Keep a result, and what it holds."""
        match result:
            case Evaluation():
                self._add_evaluation(result)
            case Comparison():
                for one in result.evaluations:
                    self._add_evaluation(one)
            case Curves():
                self.curves.append(result)
            case Ablation():
                self.ablations.append(result)
                self.curves.append(result.curves())
            case AblationTraining():
                self._add_evaluation(result.evaluation)
                curve = Curve(label="", points=result.curve)
                self.curves.append(Curves(task=result.evaluation.task, curves=(curve,)))
            case Bench():
                self.benches.append(result)
            case Recording():
                self.recordings.append(result)

    def _add_evaluation(self, found: Evaluation) -> None:
        """Keep an evaluation, unless it is there already: a comparison holds what its folder's files hold."""
        if not any(all(getattr(one, name) == getattr(found, name) for name in _SAME) for one in self.evaluations):
            self.evaluations.append(found.without_records())


def read_results(paths: Sequence[Path]) -> Results:
    """All results in files and in folders (and their folders); a ValueError says which file holds none."""
    results = Results()
    for path in paths:
        if not os.path.exists(path):
            raise ValueError(f"There is no file or folder {path}.")
        if not path.is_dir():
            results.add(read(path))
        elif not _add_folder(results, path, set(), _DEEPEST):
            raise ValueError(f"The folder {path} holds no results: name one that `magic-pomdp` has filled.")
    if not len(results):
        raise ValueError("Name at least one file or folder of results.")
    return results


def _add_folder(results: Results, folder: Path, seen: set[tuple[int, int]], deeper: int) -> int:
    """A training is its learning curve, an ablation what it adds up to. Files of other kinds are passed over, and what
    was `seen` before, under whatever name; gives the number of those that were not."""
    if (folder / SETTINGS).is_file() and (folder / METRICS).is_file():
        results.add(read_curves([folder]))
        return 1
    if (folder / ABLATION_FILE).is_file():
        results.add(read(folder / ABLATION_FILE))
        return 1
    count = 0
    for path in _inside(folder):
        is_folder = path.is_dir()
        if not is_folder and not path.name.endswith((".json", ".record.gz")):
            continue
        if is_folder and deeper == 0:
            raise ValueError(f"The folder {path} lies too deep: name one that is nearer to the results.")
        try:
            about = path.stat()
        except OSError:  # a link that leads nowhere
            continue
        if (about.st_dev, about.st_ino) in seen:
            continue
        seen.add((about.st_dev, about.st_ino))
        if len(seen) > _MOST_PLACES:
            raise ValueError(f"There are more than {_MOST_PLACES:,} files and folders in {folder}: name fewer.")
        if is_folder:
            count += _add_folder(results, path, seen, deeper - 1)
        elif (found := read_if_result(path)) is not None:
            results.add(found)
            count += 1
    return count


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise ValueError(f"The folder {folder} cannot be read ({error.strerror}).") from None
