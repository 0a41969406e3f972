"""What a training has reached, and the folder in which it is kept."""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from magic_pomdp.core.reading import Damaged
from magic_pomdp.core.saving import check_writable, make_folder
from magic_pomdp.core.settings import SettingValue
from magic_pomdp.core.task import Task
from magic_pomdp.learning.checkpoint import CheckpointFile, load_checkpoint, save_checkpoint
from magic_pomdp.learning.learner import Learner
from magic_pomdp.learning.mirroring import check_mirrors
from magic_pomdp.learning.question import TrainingQuestion, read_question, write_question
from magic_pomdp.learning.replay import Replay
from magic_pomdp.learning.settings import SETTINGS, TrainSettings
from magic_pomdp.macros.lengths import space_of_lengths
from magic_pomdp.magic.arrays import check_arrays
from magic_pomdp.magic.model import ModelCard, Score, read_model, save_model
from magic_pomdp.magic.shape import GeneratorShape
from magic_pomdp.results.metrics import EvaluationReport

BEST = "best.safetensors"
"""The file of a training's best generator so far."""


def check_folder(folder: Path, resume: bool) -> None:
    """Make a folder for a training, or find the one to resume; a ValueError says why it cannot be used."""
    known = (folder / SETTINGS).is_file()
    if known and not resume:
        raise ValueError(f"{folder} already holds a training: add --resume, or choose another folder.")
    if resume and not known:
        raise ValueError(f"There is no training in {folder} to resume: check the folder, or leave out --resume.")
    for name in (SETTINGS, BEST):
        check_writable(make_folder(folder) / name)


class TrainingState:
    """Learner, replay, counters, evaluations: everything that a checkpoint keeps, and how it is kept."""

    def __init__(self, task: Task, settings: TrainSettings, folder: Path, place: str = "") -> None:
        self.task, self.settings, self.folder = task, settings, folder
        self.space = space_of_lengths(task, settings.length_in(task), settings.lengths_in(task))
        self.shape = GeneratorShape.for_task(
            task,
            self.space,
            particles=settings.particles,
            encoder=settings.encoder_width,
            trunk=(settings.generator_width, settings.generator_width),
            conditioning=settings.conditioning,
            std_range=(settings.std_min, settings.std_max),
            inputs=settings.inputs,
        )
        self.question = TrainingQuestion.of(task, settings, self.space, self.shape, place)
        mirrors = check_mirrors(task, self.shape, self.space) if settings.mirrored else ()
        self.learner = Learner(self.shape, self.space.start, settings, mirrors)
        self.replay = Replay(self.shape, settings.replay)
        self.episodes = 0
        """Training episodes begun."""
        self.history: list[EvaluationReport] = []
        """Every evaluation."""
        self.baselines: dict[str, tuple[float, ...]] = {}
        """What the handcrafted set returned in the episodes of an evaluation, by the name of its purpose."""
        self.best: EvaluationReport | None = None
        """The best evaluation."""
        self.best_arrays: dict[str, np.ndarray] = {}
        """The generator that it was of."""
        self.warmed_up = False
        """Whether there is enough experience to learn from."""
        self.warmup = settings.warmup
        """Plans of the warm-up."""
        self.saved_at = 0.0
        """Seconds of training at the last checkpoint."""
        self._before = 0.0  # seconds of training before this process
        self._started: float | None = None

    @property
    def seconds(self) -> float:
        """Time spent on training so far, that before a resume included."""
        return self._before + (0.0 if self._started is None else time.monotonic() - self._started)

    def start_clock(self) -> None:
        """Count the time from now on, if that is not done yet: compiling is no training."""
        if self._started is None:
            self._started = time.monotonic()

    @property
    def curve(self) -> list[EvaluationReport]:
        """The evaluations on the way, without the final one of the best generator."""
        return [report for report in self.history if not report.final]

    @property
    def concluded(self) -> bool:
        """Whether the best generator has had its final evaluation."""
        return bool(self.history) and self.history[-1].final

    def open(self, resume: bool, say: Callable[[str], None]) -> None:
        """Make the folder ready; go on from its newest checkpoint if told to."""
        for half_written in self.folder.glob(".*.part"):  # by a training that was killed
            half_written.unlink(missing_ok=True)
        if resume:
            self._restore(say)
        write_question(self.folder / SETTINGS, self.question)
        self.saved_at = self.seconds

    def keep(self, report: EvaluationReport, arrays: dict[str, np.ndarray]) -> None:
        """Keep an evaluation of a generator, and the generator if it is the best."""
        self.history.append(report)
        if report.best:
            self.best, self.best_arrays = report, arrays
        if report.best or report.final:
            save_model(self.folder / BEST, self.shape, arrays, self._card(report))

    def save(self) -> None:
        """Write a checkpoint."""
        about = CheckpointFile(
            **msgspec.structs.asdict(self.question),
            updates=self.learner.updates,
            plans=self.replay.added,
            episodes=self.episodes,
            seconds=self.seconds,
            warmed_up=self.warmed_up,
            history=tuple(self.history),
            warmup=self.warmup,
            baselines=self.baselines,
        )
        save_checkpoint(self.folder, self.learner.state() | self.replay.state(), about, self.settings.keep)
        self.saved_at = self.seconds

    def _restore(self, say: Callable[[str], None]) -> None:
        found = load_checkpoint(self.folder, say, self._check_checkpoint)
        if found is None:
            self._check_same(self._stored_question())
            say(f"There is no checkpoint in {self.folder}: the training starts from the beginning.")
        else:
            self._go_on(*found)
            say(
                f"Resumed after {self.learner.updates:,} updates, {self.replay.added:,} plans and "
                f"{self.seconds / 60:.1f} minutes."
            )
        if not (self.folder / BEST).is_file() and not self.history:
            return
        try:
            self._restore_best()
        except ValueError as error:
            say(f"{error} The next evaluation makes a new one.")

    def _stored_question(self) -> TrainingQuestion:
        try:
            return read_question(self.folder / SETTINGS)
        except Damaged as error:
            raise ValueError(
                f"{error} The training in {self.folder} was begun by another version of magic-pomdp, or is damaged: "
                "choose another folder."
            ) from None

    def _restore_best(self) -> None:
        arrays, model = read_model(self.folder / BEST)
        if model.shape != self.shape:
            raise ValueError(f"{self.folder / BEST} is of another training.")
        card = model.card
        known = [report.minutes for report in self.curve if report.updates == card.updates]
        minutes = card.minutes if card.minutes is not None else known[-1] if known else self.seconds / 60.0
        self.best_arrays = arrays
        self.best = EvaluationReport(
            **msgspec.structs.asdict(card.chosen_by), updates=card.updates, minutes=minutes, best=True
        )

    def _check_checkpoint(self, path: Path, arrays: dict[str, np.ndarray], about: CheckpointFile) -> None:
        """A ValueError if a checkpoint is of another training, and a `Damaged` if none can go on from it."""
        self._check_same(about)
        warmup = self._warmup(about)
        earned = self.settings.updates_earned(about.plans, warmup)
        if about.warmed_up != (about.plans >= warmup) or about.updates > earned:
            raise Damaged(
                f"{path} is damaged: {about.updates} updates after {about.plans} plans cannot be, with a warm-up of "
                f"{warmup}."
            )
        shapes = self.learner.state_shapes(arrays.keys()) | self.replay.state_shapes(about.plans)
        check_arrays(path, arrays, shapes, unlimited=("replay.floor",))
        problem = self.learner.cannot_restore(arrays)
        if problem:
            raise Damaged(f"{path} is damaged: {problem}.")

    def _go_on(self, arrays: dict[str, np.ndarray], about: CheckpointFile) -> None:
        """Be where a checkpoint was written."""
        self.learner.restore(arrays, about.updates)
        self.replay.restore(arrays, about.plans)
        self.episodes, self.warmed_up = about.episodes, about.warmed_up
        self.warmup = self._warmup(about)
        if _evaluation_budget(about) in (None, self.settings.evaluation_budget):
            self.baselines = dict(about.baselines)
        self.history, self._before = list(about.history), about.seconds

    def _warmup(self, about: CheckpointFile) -> int:
        return min(self.settings.warmup, about.warmup or self.settings.warmup)

    def _check_same(self, stored: TrainingQuestion) -> None:
        self.question.check_goes_on(stored, self.task, self.settings, self.folder)

    def _card(self, report: EvaluationReport) -> ModelCard:
        assert self.best is not None
        asked = self.question
        return ModelCard(
            task=asked.task,
            task_parameters=asked.task_parameters,
            space=asked.space,
            settings=asked.settings,
            software=asked.software,
            command=asked.command,
            seed=self.settings.seed,
            minutes=None if self.settings.counted else self.best.minutes,
            updates=self.best.updates,
            plans=self.replay.added,
            score=_score(report),
            chosen_by=_score(self.best),
        )


def _evaluation_budget(about: CheckpointFile) -> SettingValue:
    """Primitive steps of a plan in the evaluations before a checkpoint; None if that is not known."""
    return about.settings.get("evaluation_steps") or about.settings.get("plan_steps")


def _score(report: EvaluationReport) -> Score:
    return Score(**{name: getattr(report, name) for name in Score.__struct_fields__})
