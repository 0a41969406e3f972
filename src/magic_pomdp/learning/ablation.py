"""What of the learning matters: the same training with parts left out or changed, evaluated on the same episodes."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import numpy as np

from magic_pomdp import __version__
from magic_pomdp.core.registry import nearest
from magic_pomdp.core.task import Task
from magic_pomdp.learning.curves import Curves, ablation_curves, shorten
from magic_pomdp.learning.model import task_name
from magic_pomdp.learning.settings import SETTINGS, Conditioning, CriticKind, TrainSettings, complete
from magic_pomdp.learning.trainer import train
from magic_pomdp.learning.watching import MetricsFile, Watch
from magic_pomdp.planners.plan import Budget
from magic_pomdp.running.episode import EpisodeRecord
from magic_pomdp.running.evaluate import PlannerChoice, describe, evaluate
from magic_pomdp.running.saving import check_writable, make_folder, save_json
from magic_pomdp.running.statistics import mean, standard_error

PUBLISHED: dict[str, dict[str, float]] = {
    "light-dark": {"belief+context": 54.1, "belief": -51.2, "context": 35.1, "none": 43.9},
    "puck-push": {"belief+context": 87.9, "belief": 82.5, "context": 66.2, "none": 64.3},
}
"""Mean returns in the paper (Lee, Cai, Hsu 2021) by task and conditioning, each with its best macro length."""
CONDITIONINGS: tuple[Conditioning, ...] = get_args(Conditioning)
QUESTION, RESULT, HANDCRAFTED, ABLATION = "question.json", "result.json", "handcrafted.json", "ablation.json"
"""Files of an ablation: what is asked, the result of a training (in its folder), of the handcrafted set, and all."""
START = "the handcrafted set"
"""What messages call it."""
FREE = {"macro_length", "seed", "conditioning", "critic", "workers", "checkpoint_minutes", "keep"}
"""Settings of a training that are no part of the question: what is compared, known otherwise, or does not matter."""


WORDS: dict[type, dict[str, bool | None]] = {bool: {"True": True, "False": False}, NoneType: {"None": None}}
"""Values of settings that are no numbers, by their kind."""


@dataclass(frozen=True)
class Variant:
    """One way to train."""

    conditioning: Conditioning
    critic: CriticKind
    change: str
    """Another setting that is changed, as name=value; "" for none."""
    seed: int

    def __str__(self) -> str:
        return f"{self.conditioning}, {self.critic} critic, {self.change + ', ' if self.change else ''}seed {self.seed}"

    @property
    def folder(self) -> str:
        """Where its training is kept, below the ablation's folder."""
        parts = (self.conditioning, self.critic, self.change, f"seed{self.seed}")
        return "_".join(part for part in parts if part)

    def settings(self, shared: TrainSettings) -> TrainSettings:
        """What to train it with, of the settings that all variants share."""
        changed: dict[str, Any] = dict([parse_change(self.change)]) if self.change else {}
        changed |= {"conditioning": self.conditioning, "critic": self.critic, "seed": self.seed}
        return dataclasses.replace(shared, **changed)


def parse_change(change: str) -> tuple[str, Any]:
    """A setting and its new value, of name=value; a ValueError says what is wrong with it."""
    name, sign, text = change.partition("=")
    if not sign:
        raise ValueError(f"A setting is changed as name=value, not {change!r}.")
    kinds = get_type_hints(TrainSettings)
    known = [field for field in kinds if field not in FREE]
    if name not in known:
        raise ValueError(f"There is no setting {name!r} to compare like this{nearest(name, known)}.")
    kind = kinds[name]
    for one in get_args(kind) or (kind,):
        with suppress(ValueError, KeyError):
            return name, WORDS[one][text] if one in WORDS else one(text)
    raise ValueError(f"The setting {name} cannot be {text!r}.")


@dataclass(frozen=True)
class Ablation:
    """What the variants of a training reach. `results` are in JSON, one a training."""

    task: str
    handcrafted: dict[str, Any]
    """The evaluation of the set that learning sets out from."""
    results: tuple[dict[str, Any], ...]

    def rows(self) -> list[dict[str, Any]]:
        """One row a conditioning, critic and change, over all seeds, with the paper's return beside ours.

        All trainings meet the same episodes, so the standard error is that of the episodes' means over the seeds; how
        much a training's own luck matters is seen from `by_seed`.
        """
        groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        for result in self.results:
            change = result.get("change", "")  # older results know of none
            groups.setdefault((result["conditioning"], result["critic"], change), []).append(result)
        rows = []
        for (conditioning, critic, change), results in groups.items():
            found = [result["evaluation"] for result in results]
            returns = np.array([[record["return"] for record in one["records"]] for one in found])
            rows.append(
                {
                    "conditioning": conditioning,
                    "critic": critic,
                    "change": change,
                    "return_mean": float(returns.mean()),
                    "return_stderr": standard_error(list(returns.mean(axis=0))),
                    "success_rate": mean([one["success_rate"] for one in found]),
                    "by_seed": {str(one["seed"]): one["evaluation"]["return_mean"] for one in results},
                    "minutes": mean([result["minutes"] for result in results]),
                    "updates": mean([result["updates"] for result in results]),
                    "plans": mean([result["plans"] for result in results]),
                    "published": None if change else PUBLISHED.get(self.task, {}).get(conditioning),
                }
            )
        return rows

    def curves(self) -> Curves:
        """The learning curves."""
        return ablation_curves(self.task, self.results, self.handcrafted["return_mean"])

    def to_json(self) -> dict[str, Any]:
        """All of it but the single episodes, which have their own files."""
        results = [{**result, "evaluation": _without_records(result["evaluation"])} for result in self.results]
        return {
            "task": self.task,
            "rows": self.rows(),
            "handcrafted": _without_records(self.handcrafted),
            "trainings": results,
            "version": __version__,
        }


class AblationInterrupted(KeyboardInterrupt):
    """Ctrl-C during a training, which has been saved."""


class AblationWatch:
    """Is told of everything that an ablation does. This one keeps the metrics of trainings, and is silent."""

    def say(self, sentence: str) -> None:
        """Something that happened once."""

    def training(self, folder: Path, title: str) -> AbstractContextManager[Watch]:
        """What watches the training in a folder."""
        return MetricsFile(folder)

    def evaluation(self, episodes: int) -> AbstractContextManager[Callable[[EpisodeRecord], None]]:
        """What is called with each episode of an evaluation."""
        return nullcontext(lambda record: None)


def ablate(
    task: Task,
    settings: TrainSettings,
    folder: Path,
    conditionings: Sequence[Conditioning] = CONDITIONINGS,
    critics: Sequence[CriticKind] = ("set",),
    seeds: int = 1,
    episodes: int = 100,
    budget: Budget | None = None,
    evaluation_seed: int = 0,
    watch: AblationWatch | None = None,
    command: str = "",
    changes: Sequence[str] = (),
) -> Ablation:
    """Train every variant with the same settings, `seeds` times from the settings' seed on, and evaluate the best
    generator of each, and the handcrafted set, on the same episodes (budget: the task's own). Each of `changes`,
    name=value, makes another variant of every conditioning and critic, with that setting changed.

    Everything is kept in the folder. What is finished there is not run again and a training that was stopped goes on,
    so the same call, or one with more variants or seeds, does what is missing; a call that asks something else is
    refused. Ctrl-C during a training saves it and raises AblationInterrupted.
    """
    watch = watch or AblationWatch()
    variants = _variants(settings, conditionings, critics, changes, seeds)
    length = settings.macro_length or task.macro_length
    handcrafted = PlannerChoice("macro-despot", length, budget)
    _check_question(folder, _question(task, settings, handcrafted, episodes, evaluation_seed))

    def judge(name: str, choice: PlannerChoice) -> dict[str, Any]:
        watch.say(f"Evaluating {name} in {episodes} episodes.")
        with watch.evaluation(episodes) as advance:
            return evaluate(task, choice, episodes, evaluation_seed, settings.workers, advance).to_json()

    def train_and_judge(variant: Variant, place: Path, title: str) -> dict[str, Any]:
        watch.say(f"Training {title}.")
        resume = (place / SETTINGS).is_file()
        with watch.training(make_folder(place), title) as watch_training:
            trained = train(task, variant.settings(settings), place, resume, watch_training, command)
        if trained.stopped_by == "interrupt":
            raise AblationInterrupted(f"The training of {variant} was interrupted.")
        if trained.model is None:
            raise ValueError(f"The training of {variant} was over before its warm-up: give it more time.")
        choice = dataclasses.replace(handcrafted, name="magic", model=str(trained.model))
        return {
            **dataclasses.asdict(variant),
            "minutes": trained.minutes,
            "updates": trained.updates,
            "plans": trained.plans,
            "curve": list(shorten(trained.curve)),
            "evaluation": judge(str(variant), choice),
        }

    def stored_or_made(name: str, path: Path, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        found = _stored(path)
        if found is None:
            save_json(path, found := make())
        else:
            watch.say(f"Found the result of {name} in {path}.")
        return found

    of_handcrafted = stored_or_made(START, folder / HANDCRAFTED, lambda: judge(START, handcrafted))
    results = []
    for number, variant in enumerate(variants, start=1):
        place, title = folder / variant.folder, f"{task_name(task)}, {variant} ({number} of {len(variants)})"
        make = partial(train_and_judge, variant, place, title)
        results.append(stored_or_made(str(variant), place / RESULT, make))
    ablation = Ablation(task_name(task), of_handcrafted, tuple(results))
    save_json(folder / ABLATION, ablation.to_json())
    return ablation


def _variants(
    settings: TrainSettings,
    conditionings: Sequence[Conditioning],
    critics: Sequence[CriticKind],
    changes: Sequence[str],
    seeds: int,
) -> list[Variant]:
    """Seed by seed, so that an ablation that is stopped early has compared something."""
    if seeds < 1:
        raise ValueError(f"The number of seeds must be at least 1, not {seeds}.")
    for what, given, kind in (("conditioning", conditionings, Conditioning), ("critic", critics, CriticKind)):
        if not given:
            raise ValueError(f"An ablation needs at least one {what}.")
        for one in given:
            if one not in get_args(kind):
                raise ValueError(f"The setting {what} is one of {', '.join(get_args(kind))}: {one!r}.")
    changed = [parse_change(change) for change in changes]
    words = ["", *(f"{name}={value}" for name, value in changed if value != getattr(settings, name))]
    variants = [
        Variant(conditioning, critic, change, seed)
        for seed in range(settings.seed, settings.seed + seeds)
        for critic in dict.fromkeys(critics)
        for conditioning in dict.fromkeys(conditionings)
        for change in dict.fromkeys(words)
    ]
    for variant in variants:
        variant.settings(settings)  # a change that makes no sense is refused before anything is trained
    return variants


def _question(
    task: Task, settings: TrainSettings, choice: PlannerChoice, episodes: int, evaluation_seed: int
) -> dict[str, Any]:
    """What is asked, as JSON: all that determines the result of a variant."""
    if episodes < 1:
        raise ValueError(f"The number of episodes must be at least 1, not {episodes}.")
    if evaluation_seed < 0:
        raise ValueError(f"The seed of the evaluation must be at least 0, not {evaluation_seed}.")
    about = describe(task, choice, evaluation_seed).to_json()
    asked = {name: about[name] for name in ("task", "task_parameters", "budget", "settings")}
    asked |= {"macro_length": choice.macro_length, "episodes": episodes, "evaluation_seed": evaluation_seed}
    asked |= {name: value for name, value in settings.to_json().items() if name not in FREE}
    return json.loads(json.dumps(asked))


def _check_question(folder: Path, asked: dict[str, Any]) -> None:
    """Keep what is asked, or refuse if the folder is about something else."""
    path = make_folder(folder) / QUESTION
    if not path.exists():
        save_json(check_writable(path), asked)
        return
    known = _stored(path)
    if known is None:
        raise ValueError(f"{path} cannot be read: choose another folder.")
    known = complete(known)
    different = [name for name in asked if asked[name] != known.get(name)]
    if different:
        values = ", ".join(f"{name.replace('_', ' ')} {known.get(name)}" for name in different)
        raise ValueError(f"The ablation in {folder} was begun with {values}: ask the same, or choose another folder.")


def _stored(path: Path) -> dict[str, Any] | None:
    """What a file of JSON holds; None if there is none, or none that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _without_records(evaluation: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in evaluation.items() if name != "records"}
