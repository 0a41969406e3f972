"""Does what some tables need, piece by piece, and finds what is done already."""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from magic_pomdp.core.extras import install_command
from magic_pomdp.core.reading import Damaged
from magic_pomdp.core.registry import make
from magic_pomdp.core.saving import make_folder
from magic_pomdp.core.task import Task
from magic_pomdp.learning.question import read_question
from magic_pomdp.learning.settings import SETTINGS, complete
from magic_pomdp.magic.model import read_model
from magic_pomdp.planners.plan import Budget
from magic_pomdp.reproducing.costs import Times, time_words
from magic_pomdp.reproducing.episodes import EpisodeFile
from magic_pomdp.reproducing.plan import Row, Scenes, Table, Training, Work, all_work
from magic_pomdp.results.base import Stored
from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.files import as_stored, read_if_there, write
from magic_pomdp.results.recording import Recording, load_recording, save_recording
from magic_pomdp.results.training import Curves
from magic_pomdp.running.comparing import differences, is_of_same_code
from magic_pomdp.running.episode import EpisodeRecord
from magic_pomdp.running.evaluating import MakeWorld, describe, evaluate
from magic_pomdp.running.factory import PlannerFactory
from magic_pomdp.running.where import cores_at_hand, present_cluster
from magic_pomdp.running.workers import JobFailed
from magic_pomdp.running.world import SimulatedWorld

if TYPE_CHECKING:
    from magic_pomdp.learning.at_once import TrainingJob
    from magic_pomdp.learning.watching import Watch as TrainingWatch

SITUATIONS = 4
"""Episodes that are recorded for a picture."""
BEST = "best.safetensors"
"""The file of a training's best generator."""
_CURVE = "curve.json"
"""The file of a training that is written when it is over."""
_TIMES = "times.json"
_UNFINISHED = ".episodes"
_SIMULATED: MakeWorld = SimulatedWorld


class Watch:
    """Is told of everything that is done. This one is silent."""

    def say(self, sentence: str) -> None:
        """Something that happened once."""

    def training(self, folder: Path, title: str) -> "AbstractContextManager[TrainingWatch]":
        """What watches the training in a folder."""
        from magic_pomdp.learning.watching import MetricsFile

        return MetricsFile(folder)

    def episodes(self, episodes: int) -> AbstractContextManager[Callable[[EpisodeRecord], None]]:
        """What is called with each episode."""
        return nullcontext(lambda record: None)

    def save(self, path: Path, result: Stored) -> None:
        """What saves results."""
        write(path, result)


@dataclass
class Found:
    """What is there of some tables, by the names of the pieces of work."""

    evaluations: dict[str, Evaluation] = field(default_factory=dict)
    curves: dict[str, Curves] = field(default_factory=dict)
    recordings: dict[str, Recording] = field(default_factory=dict)
    todo: list[Work] = field(default_factory=list)
    """What can be done, in order."""
    missing: dict[str, str] = field(default_factory=dict)
    """Why the others cannot be done here."""

    def add(self, piece: Work, result: Stored) -> None:
        """Keep the result of a piece of work."""
        match result:
            case Evaluation():
                self.evaluations[piece.name] = result
            case Curves():
                self.curves[piece.name] = result
            case Recording():
                self.recordings[piece.name] = result


@dataclass(frozen=True)
class Workshop:
    """A folder with results, and how to make more."""

    folder: Path
    workers: int | None = None
    """Processes that run episodes (default: one for every core)."""

    def times(self) -> Times:
        """What has been measured here."""
        return Times(self.folder / _TIMES, cores_at_hand() if self.workers is None else self.workers)

    def look(self, tables: Sequence[Table]) -> Found:
        """What is there, what is to be done, and what cannot be done here."""
        found = Found()
        for piece in all_work(tuple(tables)):
            result = self._stored(piece)
            if result is not None:
                found.add(piece, result)
            elif reason := _unable(piece):
                found.missing[piece.name] = reason
            else:
                found.todo.append(piece)
        return found

    def work(self, found: Found, watch: Watch | None = None) -> bool:
        """Do what is to be done, as long as nobody interrupts; whether all of it went well. What cannot be done is
        told, and the rest goes on."""
        watch, times, well = watch or Watch(), self.times(), True
        count = len(found.todo)
        for name in found.evaluations:  # of a process that was killed when its evaluation had just been saved
            (self.folder / "rows" / f"{name}{_UNFINISHED}").unlink(missing_ok=True)
        if present_cluster() is not None:
            self._train_at_once([piece for piece in found.todo if isinstance(piece, Training)], watch)
        while found.todo:
            piece = found.todo[0]
            left = time_words(times.left(found.todo))
            watch.say(f"{count - len(found.todo) + 1} of {count}: {_words(piece)} (about {left} left in all)")
            if reason := next((found.missing[one.name] for one in _needed(piece) if one.name in found.missing), ""):
                found.missing[piece.name] = reason
                found.todo.pop(0)
                continue
            started = time.monotonic()
            try:
                found.add(piece, self._make(piece, watch))
                times.add(piece, time.monotonic() - started)
            except (JobFailed, ValueError) as error:
                found.missing[piece.name] = str(error)
                watch.say(f"{_words(piece)} is left out: {error}")
                well = False
            found.todo.pop(0)
        return well

    # ------------------------------------------------------------------------------------------------- what is there

    def _stored(self, piece: Work) -> Stored | None:
        """The result of a piece of work, if it is there and would come out again."""
        try:
            match piece:
                case Row():
                    return self._stored_evaluation(piece)
                case Training():
                    return self._stored_curves(piece)
                case Scenes():
                    return self._stored_recording(piece)
        except Damaged:
            return None

    def _stored_evaluation(self, row: Row) -> Evaluation | None:
        found = read_if_there(self._path(row), Evaluation)
        untrained = row.training is not None and self._stored(row.training) is None
        if found is None or not found.follows_from_records or untrained:
            return None
        numbers = [record.episode for record in found.records]
        if not _answers(row, found.task, found.planner, found.seed, numbers, row.episodes):
            return None
        try:
            task, factory, world = self.question(row)
            asked = describe(task, factory, row.seed, make_world=world)
        except ValueError:  # it cannot be asked here, but somewhere else it was
            return found if _unable(row) and found.complete else None
        return found if not differences(found, asked, row.episodes) and is_of_same_code(found, asked) else None

    def _stored_curves(self, training: Training) -> Curves | None:
        folder = self._path(training)
        found = read_if_there(folder / _CURVE, Curves)
        if found is None or not (folder / BEST).is_file() or not (folder / SETTINGS).is_file():
            return None
        read_model(folder / BEST)
        question, asked = read_question(folder / SETTINGS), training.settings
        stored = complete(question.settings)
        as_long = all(stored[end] == getattr(asked, end) for end in ("minutes", "updates"))
        same_task = found.task == question.task == training.task and _includes(
            question.task_parameters, training.parameters
        )
        return found if as_long and same_task and not asked.differences(stored) else None

    def _stored_recording(self, scenes: Scenes) -> Recording | None:
        path = self._path(scenes)
        if not path.exists():
            return None
        found = load_recording(path)
        its, numbers = found.planner, [episode.episode for episode in found.episodes]
        if not _answers(scenes.row, found.task.name, its.name, found.seed, numbers, SITUATIONS):
            return None
        try:
            task, factory, world = self.question(scenes.row)
            asked = describe(task, factory, scenes.row.seed, make_world=world)
        except ValueError:
            return found if _unable(scenes) else None
        asked = as_stored(asked)
        same_planner = (its.budget, its.settings) == (asked.budget, asked.settings)
        known = found.task.parameters, found.world, found.software
        return found if same_planner and known == (asked.task_parameters, asked.world, asked.software) else None

    def _path(self, piece: Work) -> Path:
        match piece:
            case Row():
                return self.folder / "rows" / f"{piece.name}.json"
            case Training():
                return self.folder / "trainings" / piece.name
            case Scenes():
                return self.folder / "scenes" / f"{piece.name}.record.gz"

    # ------------------------------------------------------------------------------------------------ what is made

    def question(self, row: Row) -> tuple[Task, PlannerFactory, MakeWorld]:
        """Task, planner and world of an evaluation; a ValueError says what is missing for it."""
        parameters, world = dict(row.parameters), _SIMULATED
        if row.transferred:
            fitted, world = _other_world(row.task)
            parameters = {**fitted, **parameters}
        settings = dict(row.settings)
        if row.training is not None:
            settings["model"] = str(self._path(row.training) / BEST)
        task, factory = make(row.task, **parameters), PlannerFactory(row.planner, row.budget, settings)
        if row.haste != 1.0:
            seconds = factory.budget_for(task).seconds
            assert seconds is not None  # a row has a budget of its own, or makes haste
            factory = dataclasses.replace(factory, budget=Budget(seconds=row.haste * seconds))
        return task, factory, world

    def _make(self, piece: Work, watch: Watch) -> Stored:
        match piece:
            case Row():
                return self._evaluate(piece, watch)
            case Training():
                return self._train(piece, watch)
            case Scenes():
                return self._record(piece, watch)

    def _evaluate(self, row: Row, watch: Watch) -> Evaluation:
        task, factory, world = self.question(row)
        path = self._path(row)
        make_folder(path.parent)
        asked = describe(task, factory, row.seed, make_world=world)
        unfinished = EpisodeFile(path.with_suffix(_UNFINISHED), asked, row.episodes)
        known = unfinished.read()
        with watch.episodes(row.episodes) as advance, unfinished.begin(known) as keep:
            for record in known:
                advance(record)

            def progress(record: EpisodeRecord) -> None:
                keep(record)
                advance(record)

            found = evaluate(task, factory, row.episodes, row.seed, self.workers, progress, world=world, known=known)
            watch.save(path, found)
        return found

    def _train(self, training: Training, watch: Watch) -> Curves:
        from magic_pomdp.learning.curves import read_curves
        from magic_pomdp.learning.learner import Diverged
        from magic_pomdp.learning.training import train

        job = self._training_job(training)
        folder = make_folder(job.folder)
        resume = (folder / SETTINGS).is_file()
        try:
            with watch.training(folder, job.title) as watch_training:
                trained = train(job.task, job.settings, folder, resume, watch_training, job.place)
        except Diverged as error:
            raise ValueError(str(error)) from None
        if trained.stopped_by == "interrupt":
            raise KeyboardInterrupt
        if trained.model is None:
            raise ValueError(f"The training {training.name} was over before its warm-up: it needs more time.")
        found = read_curves([folder])
        watch.save(folder / _CURVE, found)
        return found

    def _training_job(self, training: Training) -> "TrainingJob":
        from magic_pomdp.learning.at_once import TrainingJob

        workers = self.workers if training.settings.workers is None else training.settings.workers
        return TrainingJob(
            task=make(training.task, **training.parameters),
            settings=dataclasses.replace(training.settings, workers=workers),
            folder=self._path(training),
            title=f"{training.task}, {training.label}",
            place=training.task,
        )

    def _train_at_once(self, trainings: Sequence[Training], watch: Watch) -> None:
        """Do trainings at the same time, each on a machine of a cluster. Their turn finds them finished."""
        from magic_pomdp.learning.at_once import train_at_once

        jobs = [self._training_job(training) for training in trainings]
        for workers in dict.fromkeys(job.settings.workers for job in jobs):
            of_a_size = [job for job in jobs if job.settings.workers == workers]
            train_at_once(of_a_size, lambda job: watch.say(f"Trained {job.title}."))

    def _record(self, scenes: Scenes, watch: Watch) -> Recording:
        from magic_pomdp.running.recording import record_episodes

        task, factory, world = self.question(scenes.row)
        path = self._path(scenes)
        make_folder(path.parent)
        with watch.episodes(SITUATIONS) as advance:
            found = record_episodes(
                task, factory, SITUATIONS, scenes.row.seed, workers=self.workers, on_progress=advance, world=world
            )
        save_recording(path, found)
        return found


def _other_world(task: str) -> tuple[Mapping[str, Any], MakeWorld]:
    """The parameters of a task that suit its other world, and that world; a ValueError says what to install."""
    from magic_pomdp.transfer.identifying import shipped_identification
    from magic_pomdp.transfer.registry import find_other_world

    entry, fitted = find_other_world(task), shipped_identification(task)
    values = {} if fitted is None else fitted.values()
    return {**entry.assumed, **values}, entry.factory(identified="" if fitted is None else "what ships")


def _answers(row: Row, task: str, planner: str, seed: int, numbers: list[int], count: int) -> bool:
    """Whether results are of a row's task, planner and episodes, of which there should be so many."""
    return (task, planner, seed, numbers) == (row.task, row.planner, row.seed, list(range(count)))


def _includes(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    return all(name in stored and stored[name] == value for name, value in asked.items())


def _unable(piece: Work) -> str:
    """Why something cannot be done here, with what to install; "" if it can."""
    needed = [*_needed(piece), piece]
    if any(isinstance(one, Training) for one in needed) and find_spec("torch") is None:
        return f"Learning needs torch: {install_command('learn')}."
    row = piece.row if isinstance(piece, Scenes) else piece
    if isinstance(row, Row) and row.transferred:
        try:
            _other_world(row.task)
        except ValueError as error:
            return str(error)
    return ""


def _needed(piece: Work) -> list[Work]:
    """What must be done before it."""
    row = piece.row if isinstance(piece, Scenes) else piece
    return [row.training] if isinstance(row, Row) and row.training is not None else []


def _words(piece: Work) -> str:
    """A piece of work, for a person."""
    match piece:
        case Training():
            return f"training {piece.name}"
        case Row():
            return f"evaluating {piece.name}"
        case Scenes():
            return f"recording {piece.row.name}"
