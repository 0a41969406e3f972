"""What a training has reached, and the folder in which it is kept."""

import dataclasses
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from magic_pomdp import __version__
from magic_pomdp.core.task import Task
from magic_pomdp.learning.checkpoint import load_arrays, load_checkpoint, save_checkpoint
from magic_pomdp.learning.generator import GeneratorShape
from magic_pomdp.learning.learner import Learner
from magic_pomdp.learning.mirroring import check_mirrors
from magic_pomdp.learning.model import MODEL, save_model, task_name
from magic_pomdp.learning.replay import Replay
from magic_pomdp.learning.settings import SETTINGS, TrainSettings, complete
from magic_pomdp.running.saving import check_writable, make_folder, save_json

BEST = "best.safetensors"
"""The file of a training's best generator so far."""


def check_folder(folder: Path, resume: bool) -> None:
    """Make a folder for a training, or find the one to resume; a ValueError says why it cannot be used."""
    known = (folder / SETTINGS).is_file()
    if known and not resume:
        raise ValueError(f"{folder} already holds a training: add --resume, or choose another folder.")
    if resume and not known:
        raise ValueError(f"There is no training in {folder} to resume: check the folder, or leave out --resume.")
    check_writable(make_folder(folder) / SETTINGS)


class TrainingState:
    """Learner, replay, counters, evaluations: everything that a checkpoint keeps, and how it is kept."""

    def __init__(self, task: Task, settings: TrainSettings, folder: Path, command: str) -> None:
        self.task, self.settings, self.folder, self.command = task, settings, folder, command
        self.space = task.macro_space(settings.macro_length or task.macro_length)
        self.shape = GeneratorShape.for_task(
            task,
            self.space,
            particles=settings.particles,
            encoder=settings.encoder_width,
            trunk=(settings.generator_width, settings.generator_width),
            conditioning=settings.conditioning,
            std_range=(settings.std_min, settings.std_max),
        )
        mirrored = settings.mirror and settings.conditioning != "belief"  # a context that is hidden has no image
        mirrors = check_mirrors(task, self.shape) if mirrored else ()
        self.learner = Learner(self.shape, self.space.start, settings, mirrors)
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
        """Whether there is enough experience to learn from."""
        self.saved_at = 0.0
        """Seconds of training at the last checkpoint."""
        self._before = 0.0  # seconds of training before this process
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """Time spent on training so far, that before a resume included."""
        return self._before + time.monotonic() - self._started

    @property
    def curve(self) -> list[dict[str, Any]]:
        """The evaluations on the way, without the final one of the best generator."""
        return [point for point in self.history if not point["final"]]

    @property
    def concluded(self) -> bool:
        """Whether the best generator has had its final evaluation."""
        return bool(self.history) and self.history[-1]["final"]

    def open(self, resume: bool, say: Callable[[str], None]) -> None:
        """Make the folder ready; go on from its newest checkpoint if told to."""
        for half_written in self.folder.glob(".*.part"):  # by a training that was killed
            half_written.unlink(missing_ok=True)
        if resume:
            self._restore(say)
        save_json(self.folder / SETTINGS, self._identity() | {"command": self.command})
        self.saved_at = self.seconds

    def keep(self, report: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Keep an evaluation of a generator, and the generator if it is the best."""
        self.history.append(report)
        if report["best"]:
            self.best, self.best_arrays = report, arrays
        if report["best"] or report["final"]:
            save_model(self.folder / BEST, self.shape, arrays, self._card(report))

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
        self.saved_at = self.seconds

    def _restore(self, say: Callable[[str], None]) -> None:
        found = load_checkpoint(self.folder, say)
        try:
            if found is None:
                self._check_same(json.loads((self.folder / SETTINGS).read_text(encoding="utf-8")))
                say(f"There is no checkpoint in {self.folder}: the training starts from the beginning.")
            else:
                self._go_on(*found)
                say(
                    f"Resumed after {self.learner.updates:,} updates, {self.replay.added:,} plans and "
                    f"{self.seconds / 60:.1f} minutes."
                )
        except (KeyError, TypeError, RuntimeError, json.JSONDecodeError, UnicodeDecodeError):
            raise ValueError(
                f"The training in {self.folder} was begun by another version of magic-pomdp, or is damaged: choose "
                "another folder."
            ) from None
        if not (self.folder / BEST).is_file() and not self.history:
            return
        try:
            self.best_arrays, model = load_arrays(self.folder / BEST, MODEL)
            self.best = {**model["card"]["chosen_by"], **{key: model["card"][key] for key in ("updates", "minutes")}}
        except ValueError as error:
            say(f"{error} The next evaluation makes a new one.")

    def _go_on(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Be where a checkpoint was written."""
        self._check_same(about)
        self.learner.restore(arrays, about["updates"])
        self.replay.restore(arrays, about["plans"])
        self.episodes, self.warmed_up = about["episodes"], about["warmed_up"]
        self.history, self._before, self._started = about["history"], about["seconds"], time.monotonic()

    def _check_same(self, about: dict[str, Any]) -> None:
        mine = self._identity()
        about = {**about, "task_parameters": _as_known_now(self.task, about["task_parameters"])}
        for name, what in (("task", "task"), ("task_parameters", "task's parameters"), ("space", "macro-action space")):
            if about[name] != mine[name]:
                raise ValueError(
                    f"The training in {self.folder} has another {what} ({about[name]}): resume it with that, or choose "
                    "another folder."
                )
        different = self.settings.differences(about["settings"])
        if different:
            values = ", ".join(f"{name} {complete(about['settings'])[name]}" for name in different)
            raise ValueError(f"The training in {self.folder} was begun with {values}: resume it with the same.")

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
        known = ("return_mean", "return_stderr", "success_rate", "episodes", "plan_steps", "concurrent")
        return {
            **{name: value for name, value in self._identity().items() if name != "shape"},
            "command": _that_repeats(self.command),
            "seed": self.settings.seed,
            "minutes": self.best["minutes"],
            "updates": self.best["updates"],
            "plans": self.replay.added,
            "score": {name: score[name] for name in known if name in score},  # older trainings do not tell all
            "chosen_by": {name: self.best[name] for name in known if name in self.best},
        }


def _that_repeats(command: str) -> str:
    """A command to train the same elsewhere: without the folder of this training, and from the beginning."""
    return re.sub(r" --(no-)?resume| --out[ =]('[^']*'|\S+)", "", command)


def _parameters(task: Task) -> dict[str, Any]:
    values = {item.name: getattr(task, item.name) for item in _settable(task)}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def _as_known_now(task: Task, stored: dict[str, Any]) -> dict[str, Any]:
    """Parameters that a checkpoint keeps: those that the task has got since then are at their defaults, and what is
    none (checkpoints once kept what a task derives from its parameters, too) does not matter."""
    return {item.name: stored.get(item.name, item.default) for item in _settable(task)}


def _settable(task: Task) -> list[dataclasses.Field]:
    return [item for item in dataclasses.fields(task) if item.init]  # type: ignore[arg-type]
