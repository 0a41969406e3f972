"""Several trainings at the same time, on a cluster: each on one machine, the learner and its workers side by side.

What a training has in its folder goes there with it, and what it leaves comes back when it is over. Whoever then calls
`train` for that folder, with `resume`, finds it finished.
"""

import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from magic_pomdp.core.saving import make_folder, save_bytes
from magic_pomdp.core.task import Task
from magic_pomdp.learning.settings import SETTINGS, TrainSettings
from magic_pomdp.learning.training import train
from magic_pomdp.learning.watching import CurvePicture, Everyone, MetricsFile
from magic_pomdp.running.where import present_cluster

Files = dict[str, bytes]
"""A folder's content, by name."""


@dataclass(frozen=True)
class TrainingJob:
    """A training that is not finished."""

    task: Task
    settings: TrainSettings
    folder: Path
    title: str
    place: str = ""
    """That of `train`."""
    files: Files = field(default_factory=dict)
    """What the folder holds."""


def train_at_once(trainings: Sequence[TrainingJob], on_end: Callable[[TrainingJob], None] = lambda job: None) -> None:
    """Do trainings at the same time, if there is a cluster; `on_end` is called with each when its folder is complete.
    Without a cluster nothing happens. One that is interrupted has to begin anew."""
    cluster = present_cluster()
    if cluster is None or not trainings:
        return
    asked = trainings[0].settings.workers
    cores = cluster.cores_of_machine if asked is None else asked + 1
    workers = max(1, cores - 1) if asked is None else asked
    prepared = tuple(
        dataclasses.replace(
            training,
            settings=dataclasses.replace(training.settings, workers=workers),
            files=_read(training.folder),
        )
        for training in trainings
    )
    jobs, count = range(len(prepared)), max(1, cluster.cores // cores)
    with closing(
        cluster.poll_jobs(_Trainings(prepared), jobs, count, "Training", lambda: None, None, cores)
    ) as results:
        for result in results:
            assert result is not None  # they wait for ever
            number, files = result
            training = trainings[number]
            for name, content in files.items():
                save_bytes(make_folder(training.folder) / name, content)
            on_end(training)


@dataclass(frozen=True)
class _Trainings:
    """What is sent to a machine; called there, it gives the function that does a training by its number."""

    trainings: tuple[TrainingJob, ...]

    def __call__(self) -> Callable[[int], Files]:
        return lambda number: _train(self.trainings[number])


def _train(job: TrainingJob) -> Files:
    with tempfile.TemporaryDirectory(prefix="magic-pomdp-") as name:
        folder = Path(name)
        for file, content in job.files.items():
            (folder / file).write_bytes(content)
        with Everyone(MetricsFile(folder), CurvePicture(folder, job.title)) as watch:
            train(job.task, job.settings, folder, (folder / SETTINGS).is_file(), watch, job.place)
        return _read(folder)


def _read(folder: Path) -> Files:
    """What a training has written there; locks and what it maps into memory, whose names begin with a dot, are not
    meant."""
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return {path.name: path.read_bytes() for path in files if path.is_file() and not path.name.startswith(".")}
