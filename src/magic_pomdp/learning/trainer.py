"""The trainer: workers run episodes, the learner learns from them, and every now and then the result is evaluated.

With worker processes the two go their own pace. Without (`workers=0`) they take turns: an episode, then the updates
that it has earned. All chance then follows from the seed and from counters, so a training can be repeated, or
interrupted and resumed, with the same weights to the last bit.
"""

import ctypes
import dataclasses
import math
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from magic_pomdp import __version__
from magic_pomdp.core.task import Task
from magic_pomdp.learning.checkpoint import load_arrays, load_checkpoint, save_checkpoint
from magic_pomdp.learning.collecting import (
    EVALUATED,
    EVALUATION,
    FINAL,
    LIVE,
    TRAINING,
    Board,
    Collected,
    Collecting,
    EpisodeJob,
)
from magic_pomdp.learning.generator import GeneratorShape
from magic_pomdp.learning.learner import Diverged, Learner
from magic_pomdp.learning.measuring import Meter, RunningEvaluation
from magic_pomdp.learning.model import MODEL, save_model, task_name
from magic_pomdp.learning.replay import Replay
from magic_pomdp.learning.settings import TrainSettings
from magic_pomdp.learning.watching import Watch
from magic_pomdp.running.saving import check_writable, save_json
from magic_pomdp.running.statistics import mean
from magic_pomdp.running.workers import poll_jobs

BEST, SETTINGS, BOARD = "best.safetensors", "settings.json", ".weights"
"""Files of a training: the best generator so far, what was asked for, and the weights that workers read."""
PUBLISH_UPDATES = 10
"""Updates after which workers get new weights."""
REPORT_SECONDS = 5.0
"""Time between reports."""
RECENT = 100
"""Episodes of which the recent return is the mean."""
IDLE_SECONDS = 0.2
"""How long to wait for an episode, when there is nothing else to do, before looking at the clock."""


@dataclass(frozen=True)
class Trained:
    """How a training has ended."""

    model: Path | None
    """The best generator; None if there has been no evaluation."""
    score: dict[str, Any] | None
    """What it returned, in episodes that had no part in choosing it if there was time for these."""
    updates: int
    plans: int
    minutes: float
    stopped_by: str
    """"minutes", "updates", "patience" or "interrupt"."""


def train(
    task: Task,
    settings: TrainSettings,
    folder: Path,
    resume: bool = False,
    watch: Watch | None = None,
    command: str = "",
) -> Trained:
    """Train a generator for a task; checkpoints, metrics and the best model go to a folder.

    `resume` goes on from the newest checkpoint there. Ctrl-C saves and ends the training; it is then `stopped_by`
    "interrupt". A loss, gradient or value that is not finite raises Diverged, after saving the state before it.
    """
    watch = watch or Watch()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    _reuse_freed_memory()
    trainer = Trainer(task, settings, folder, watch, command)
    try:
        trainer.prepare(resume)
        return trainer.run()
    finally:
        torch.set_num_threads(threads)
        (folder / BOARD).unlink(missing_ok=True)


def check_folder(folder: Path, resume: bool) -> None:
    """Make a folder for a training, or find the one to resume; a ValueError says why it cannot be used."""
    known = (folder / SETTINGS).is_file()
    if known and not resume:
        raise ValueError(f"{folder} already holds a training: add --resume, or choose another folder.")
    if resume and not known:
        raise ValueError(f"There is no training in {folder} to resume: check the folder, or leave out --resume.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"The folder {folder} cannot be made ({error.strerror}): name another place.") from None
    check_writable(folder / SETTINGS)


class Trainer:
    """The state of a training, and its loop."""

    def __init__(self, task: Task, settings: TrainSettings, folder: Path, watch: Watch, command: str) -> None:
        self.task, self.settings, self.folder, self.watch, self.command = task, settings, folder, watch, command
        length = settings.macro_length or task.macro_length
        self.space = task.macro_space(length)
        self.shape = GeneratorShape.for_task(
            task,
            self.space,
            particles=settings.particles,
            encoder=settings.encoder_width,
            trunk=(settings.generator_width, settings.generator_width),
            conditioning=settings.conditioning,
            std_range=(settings.std_min, settings.std_max),
        )
        self.learner = Learner(self.shape, self.space.start, settings)
        self.replay = Replay(self.shape, settings.replay)
        self.episodes = 0
        """Training episodes begun."""
        self.history: list[dict[str, Any]] = []
        """Every evaluation."""
        self.best: dict[str, Any] | None = None
        """The best evaluation."""
        self.best_arrays: dict[str, np.ndarray] = {}
        """The generator that it was of."""
        self.warmed_up = False
        self.lockstep = settings.worker_count == 0
        self._before = 0.0  # seconds of training before this process
        self._started = time.monotonic()
        self._saved_at = self._evaluated_at = 0.0
        self._interrupted = self._concluding = False
        self._evaluation: RunningEvaluation | None = None
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._meter = Meter()

    @property
    def seconds(self) -> float:
        """Time spent on training so far, that before a resume included."""
        return self._before + time.monotonic() - self._started

    # ------------------------------------------------------------------------------------------------ start and end

    def prepare(self, resume: bool) -> None:
        """Make the folder ready; go on from the newest checkpoint if told to."""
        check_folder(self.folder, resume)
        for half_written in self.folder.glob(".*.part"):  # by a training that was killed
            half_written.unlink(missing_ok=True)
        if resume:
            self._restore()
        save_json(self.folder / SETTINGS, self._identity() | {"command": self.command})
        self._board = Board(self.folder / BOARD, self.shape.weight_count, create=True)
        self._saved_at = self._evaluated_at = self.seconds
        self._meter.since = self.seconds
        if self.warmed_up:
            self._board.write(LIVE, self.learner.generator_vector())

    def run(self) -> Trained:
        """Train until the end."""
        with _interrupts_noted(self), closing(self._results()) as results:
            stopped_by = self._loop(results)
            self.save()
            if stopped_by != "interrupt" and self.warmed_up:
                self._conclude(results)
        return Trained(
            model=self.folder / BEST if (self.folder / BEST).is_file() else None,
            score=self.history[-1] if self.history and self.history[-1]["final"] else self.best,
            updates=self.learner.updates,
            plans=self.replay.added,
            minutes=self.seconds / 60.0,
            stopped_by=stopped_by,
        )

    def _loop(self, results: Iterator) -> str:
        while True:
            stopped_by = self._why_stop()
            if stopped_by:
                return stopped_by
            if self._owed() > 0:
                self._update()
            if self._owed() <= 0 or not self.lockstep:
                self._take(results)
            self._keep_up()

    def _why_stop(self) -> str | None:
        settings = self.settings
        if self._interrupted:
            return "interrupt"
        if settings.minutes is not None and self.seconds >= 60.0 * settings.minutes:
            return "minutes"
        if settings.updates is not None and self.learner.updates >= settings.updates:
            return "updates"
        if settings.patience is not None and self._evaluations_since_best() >= settings.patience:
            return "patience"
        return None

    def _evaluations_since_best(self) -> int:
        returns = [point["return_mean"] for point in self.history if not point["final"]]
        return len(returns) - 1 - returns.index(max(returns)) if returns else 0

    def _conclude(self, results: Iterator) -> None:
        """Evaluate the last generator, then the best one on episodes that had no part in choosing it."""
        self._concluding = True
        if self._evaluation is None and self._last_evaluated() < self.learner.updates:
            self._begin_evaluation(EVALUATION)
        if self._evaluation is not None or not self.history[-1]["final"]:
            self.watch.say("The training is over; its result is being evaluated.")
        while not self._interrupted:
            if self._evaluation is not None:
                self._take(results)
            elif self.history[-1]["final"]:
                return
            else:
                self._begin_evaluation(FINAL)

    def _last_evaluated(self) -> int:
        """Updates of the last generator that was evaluated."""
        return max((point["updates"] for point in self.history if not point["final"]), default=-1)

    # ---------------------------------------------------------------------------------------------------- learning

    def _owed(self) -> int:
        """Updates that the experience so far allows and that are still to be made."""
        if not self.warmed_up:
            return 0
        earned = self.settings.updates_per_plan * (self.replay.added - self.settings.warmup + 1)
        allowed = math.inf if self.settings.updates is None else self.settings.updates
        return int(min(earned, allowed)) - self.learner.updates

    def _update(self) -> None:
        try:
            measured = self.learner.update(self.replay)
        except Diverged:
            self.save()
            raise
        self._meter.add(measured)
        if not self.lockstep and self.learner.updates % PUBLISH_UPDATES == 0:
            self._board.write(LIVE, self.learner.generator_vector())

    def _take(self, results: Iterator) -> None:
        """Take the result of an episode, if there is one."""
        if self.lockstep and self.warmed_up:
            self._board.write(LIVE, self.learner.generator_vector())
        finished = next(results)
        if finished is None:
            return
        job, collected = finished
        if job.purpose == TRAINING:
            if not self._concluding:
                self._learn_from(job, collected)
        elif self._evaluation is not None and self._evaluation.purpose == job.purpose:
            self._evaluation.records[job.number] = collected.record
            if len(self._evaluation.records) == self._evaluation.episodes:
                self._finish_evaluation(self._evaluation)

    def _learn_from(self, job: EpisodeJob, collected: Collected) -> None:
        experience = collected.experience
        assert experience is not None
        if not (np.isfinite(experience.value).all() and np.isfinite(experience.values).all()):
            self.save()
            raise Diverged(f"The planner found a value that is not finite in episode {job}.")
        self.replay.add(experience)
        self._recent.append(collected.record.total_return)
        self._meter.plans += len(experience)
        if not self.warmed_up and self.replay.added >= self.settings.warmup:
            self.learner.fit_scales(self.replay.all())
            self.warmed_up = True
            self._evaluated_at = self.seconds
            self._board.write(LIVE, self.learner.generator_vector())
            self.watch.say(f"Warm-up over after {self.replay.added} plans; learning begins.")

    # ----------------------------------------------------------------------------------------------------- episodes

    def _results(self) -> Generator[tuple[EpisodeJob, Collected] | None, None, None]:
        settings = self.settings
        setup = Collecting(
            task=self.task,
            shape=self.shape,
            macro_length=self.space.length,
            board=(self.folder / BOARD).resolve(),
            seed=settings.seed,
            plan_steps=settings.plan_steps,
            evaluation_steps=settings.evaluation_steps,
            warmup_std=settings.warmup_std,
        )
        return poll_jobs(
            setup, self._jobs(), settings.worker_count, "Episode", lambda: 0.0 if self._busy() else IDLE_SECONDS
        )

    def _busy(self) -> bool:
        return self._owed() > 0 and not self._concluding

    def _jobs(self) -> Iterator[EpisodeJob]:
        while True:
            if self._evaluation is not None and self._evaluation.begun < self._evaluation.episodes:
                self._evaluation.begun += 1
                yield EpisodeJob(self._evaluation.purpose, self._evaluation.begun - 1)
            else:
                self.episodes += 1
                yield EpisodeJob(TRAINING, self.episodes - 1)

    def _begin_evaluation(self, purpose: int) -> None:
        arrays = self.best_arrays if purpose == FINAL else self.learner.generator_arrays()
        self._board.write(EVALUATED, self.shape.pack(arrays))
        self._evaluation = RunningEvaluation(
            purpose,
            self.settings.evaluation_episodes,
            self.settings.evaluation_steps,
            arrays,
            self.learner.updates,
            self.seconds / 60.0,
        )

    def _finish_evaluation(self, evaluation: RunningEvaluation) -> None:
        self._evaluation = None
        self._evaluated_at = self.seconds
        report = evaluation.report()
        if evaluation.purpose == FINAL:
            assert self.best is not None
            report |= {"best": False, "final": True, "updates": self.best["updates"], "minutes": self.best["minutes"]}
        else:
            better = self.best is None or report["return_mean"] > self.best["return_mean"]
            report |= {"best": better, "final": False}
            if better:
                self.best, self.best_arrays = report, evaluation.arrays
        self.history.append(report)
        if report["best"] or report["final"]:
            save_model(self.folder / BEST, self.shape, evaluation.arrays, self._card(report))
        self.watch.evaluated(report, [point for point in self.history if not point["final"]])
        self.save()

    # ------------------------------------------------------------------------------------------- reports and saving

    def _keep_up(self) -> None:
        """Report, save and evaluate when it is time to."""
        seconds, settings = self.seconds, self.settings
        if seconds - self._meter.since >= REPORT_SECONDS:
            self.watch.progress(self._report())
        if seconds - self._saved_at >= 60.0 * settings.checkpoint_minutes:
            self.save()
        due = self.warmed_up and seconds - self._evaluated_at >= 60.0 * settings.evaluate_minutes
        if due and self._evaluation is None and self.learner.updates > 0:
            self._begin_evaluation(EVALUATION)

    def _report(self) -> dict[str, Any]:
        seconds, limit = self.seconds, self.settings.minutes
        return {
            "minutes": seconds / 60.0,
            "minutes_left": None if limit is None else max(0.0, limit - seconds / 60.0),
            "updates": self.learner.updates,
            "plans": self.replay.added,
            "replay": len(self.replay),
            "episodes": self.episodes,
            "recent_return": mean(list(self._recent)),
            "best": None if self.best is None else self.best["return_mean"],
            **self._meter.read(seconds),
        }

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a training to be resumed, and what is good to know."""
        return {
            "task": task_name(self.task),
            "task_parameters": _parameters(self.task),
            "space": self.space.describe(),
            "shape": dataclasses.asdict(self.shape),
            "settings": self.settings.to_json(),
            "version": __version__,
        }

    def _card(self, score: dict[str, Any]) -> dict[str, Any]:
        assert self.best is not None
        known = ("return_mean", "return_stderr", "success_rate", "episodes", "plan_steps")
        return {
            **{name: value for name, value in self._identity().items() if name != "shape"},
            "command": self.command,
            "seed": self.settings.seed,
            "minutes": self.best["minutes"],
            "updates": self.best["updates"],
            "plans": self.replay.added,
            "score": {name: score[name] for name in known},
            "chosen_by": {name: self.best[name] for name in known},
        }

    def save(self) -> None:
        """Write a checkpoint."""
        about = self._identity() | {
            "updates": self.learner.updates,
            "plans": self.replay.added,
            "episodes": self.episodes,
            "seconds": self.seconds,
            "warmed_up": self.warmed_up,
            "history": self.history,
        }
        save_checkpoint(self.folder, self.learner.state() | self.replay.state(), about, self.settings.keep)
        self._saved_at = self.seconds

    def _restore(self) -> None:
        found = load_checkpoint(self.folder, self.watch.say)
        if found is None:
            self.watch.say(f"There is no checkpoint in {self.folder} yet: the training starts from the beginning.")
            return
        arrays, about = found
        self._check_same(about)
        self.learner.restore(arrays, about["updates"])
        self.replay.restore(arrays, about["plans"])
        self.episodes, self.warmed_up = about["episodes"], about["warmed_up"]
        self.history, self._before, self._started = about["history"], about["seconds"], time.monotonic()
        self.watch.say(
            f"Resumed after {about['updates']:,} updates, {about['plans']:,} plans and {about['seconds'] / 60:.1f} "
            "minutes."
        )
        try:
            self.best_arrays, model = load_arrays(self.folder / BEST, MODEL)
            self.best = {**model["card"]["chosen_by"], **{key: model["card"][key] for key in ("updates", "minutes")}}
        except ValueError as error:
            if self.history:
                self.watch.say(f"{error} The next evaluation makes a new one.")

    def _check_same(self, about: dict[str, Any]) -> None:
        mine = self._identity()
        for name, what in (("task", "task"), ("task_parameters", "task's parameters"), ("space", "macro-action space")):
            if about[name] != mine[name]:
                raise ValueError(
                    f"The training in {self.folder} has another {what} ({about[name]}): resume it with that, or choose "
                    "another folder."
                )
        different = self.settings.differences(about["settings"])
        if different:
            values = ", ".join(f"{name} {about['settings'][name]}" for name in different)
            raise ValueError(f"The training in {self.folder} was begun with {values}: resume it with the same.")


def _parameters(task: Task) -> dict[str, Any]:
    values = {item.name: getattr(task, item.name) for item in dataclasses.fields(task)}  # type: ignore[arg-type]
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}


@contextmanager
def _interrupts_noted(trainer: Trainer) -> Iterator[None]:
    """Ctrl-C, or a request to end, waits for the next pause between updates; a second one does not."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: Any) -> None:
        if trainer._interrupted:
            raise KeyboardInterrupt
        trainer._interrupted = True

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _reuse_freed_memory() -> None:
    """Ask the C library to keep freed memory: getting it back takes a tenth of an update's time."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            library, mmap_threshold, trim_threshold = ctypes.CDLL(None), -3, -1
            library.mallopt(mmap_threshold, 1 << 25)
            library.mallopt(trim_threshold, 1 << 28)
