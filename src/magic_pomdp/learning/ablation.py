"""What of the learning matters: the same training with parts left out or changed, evaluated on the same episodes."""

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from magic_pomdp.core.parameters import derived_digest
from magic_pomdp.core.places import nearest
from magic_pomdp.core.randomness import check_seed
from magic_pomdp.core.reading import convert, in_short, read_json
from magic_pomdp.core.saving import check_writable, make_folder, save_bytes
from magic_pomdp.core.settings import SettingValue, setting_kinds, settings_of
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.learning.at_once import TrainingJob, train_at_once
from magic_pomdp.learning.recipes import Rung
from magic_pomdp.learning.settings import SETTINGS, TrainSettings, complete
from magic_pomdp.learning.training import train
from magic_pomdp.learning.watching import MetricsFile, Watch
from magic_pomdp.magic.planner import MAGIC
from magic_pomdp.magic.shape import Conditioning
from magic_pomdp.planners.macro_despot import MACRO_DESPOT
from magic_pomdp.planners.plan import Budget
from magic_pomdp.results.base import Count, Plain, Stored
from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.files import read_if_there, write
from magic_pomdp.results.training import ABLATION_FILE, Ablation, AblationTraining
from magic_pomdp.running.episode import EpisodeRecord
from magic_pomdp.running.evaluating import describe, evaluate
from magic_pomdp.running.factory import PlannerFactory
from magic_pomdp.running.where import present_cluster

CONDITIONINGS: tuple[Conditioning, ...] = get_args(Conditioning)
_QUESTION, _RESULT, _HANDCRAFTED = "question.json", "result.json", "handcrafted.json"
"""Files of an ablation: what is asked, the result of a training (in its folder), of the handcrafted set, and all."""
_MOST_SEEDS = 1_000
"""Trainings of a variant."""
_START = "the handcrafted set"
"""What messages call it."""
_FREE = {"macro_length", "seed", "conditioning", "critic", "workers", "checkpoint_minutes", "keep"}
"""Settings of a training that are no part of the question: what is compared, known otherwise, or does not matter."""
_WORDS: dict[type, dict[str, bool | None]] = {bool: {"True": True, "False": False}, NoneType: {"None": None}}
"""Values of settings that are no numbers, by their kind."""

_Kind = TypeVar("_Kind", bound=Stored)


@dataclass(frozen=True)
class Variant:
    """One way to train."""

    settings: TrainSettings
    change: str = ""
    """Another setting that is changed, as name=value; "" for none."""
    rung: str = ""
    """Of a ladder; "" if there is none."""

    def __str__(self) -> str:
        return f"{self.rung or ', '.join(self._parts(' critic'))}, seed {self.settings.seed}"

    @property
    def folder(self) -> str:
        """Where its training is kept, below the ablation's folder."""
        return "_".join([*([self.rung.replace(" ", "-")] if self.rung else self._parts()), f"seed{self.settings.seed}"])

    def about(self) -> dict[str, Any]:
        """What results tell of it."""
        shown = {name: getattr(self.settings, name) for name in ("conditioning", "critic", "seed")}
        return {**shown, "change": self.change, "rung": self.rung}

    def _parts(self, critic: str = "") -> list[str]:
        parts = (self.settings.conditioning, self.settings.critic + critic, self.change)
        return [part for part in parts if part]


def parse_change(change: str) -> tuple[str, SettingValue]:
    """A setting and its new value, of name=value; a ValueError says what is wrong with it."""
    name, sign, text = change.partition("=")
    if not sign:
        raise ValueError(f"A setting is changed as name=value, not {change!r}.")
    kinds = setting_kinds(TrainSettings)
    known = [field for field in kinds if field not in _FREE]
    if name not in known:
        raise ValueError(f"There is no setting {name!r} to compare like this{nearest(name, known)}.")
    for one in _alternatives(kinds[name]):
        if one == text:
            return name, text
        if isinstance(one, type):
            with suppress(ValueError, KeyError):
                return name, _WORDS[one][text] if one in _WORDS else one(text)
    raise ValueError(f"The setting {name} cannot be {text!r}.")


def _alternatives(kind: Any) -> tuple[Any, ...]:
    """The kinds of values that a setting can have; words stand for themselves."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(one for part in get_args(kind) for one in _alternatives(part)) or (kind,)


class AblationQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: all that determines the result of a variant."""

    task: str
    task_parameters: dict[str, Plain]
    budget: Budget | None
    """Of a plan in the evaluations."""
    settings: dict[str, SettingValue]
    """Of the planner with the handcrafted set."""
    episodes: Count
    """Of an evaluation."""
    evaluation_seed: int
    training: dict[str, SettingValue]
    """The settings that all trainings share."""
    ladder: dict[str, dict[str, SettingValue]] = {}
    """By the names of a ladder's rungs, the settings that are other than those that all share."""
    derived: str = ""
    """A fingerprint of what the task has read from files or derived otherwise; "" if nothing, or if it is not known."""

    def facts(self) -> dict[str, object]:
        """All of it by name, each setting for itself."""
        shared = {name: getattr(self, name) for name in ("task", "task_parameters", "budget", "episodes", "ladder")}
        return {**shared, "evaluation_seed": self.evaluation_seed, **self.settings, **self.training}


class AblationInterrupted(KeyboardInterrupt):
    """Ctrl-C during a training, which has been saved."""


class AblationWatch:
    """Is told of everything that an ablation does. This one keeps metrics and results, and is silent."""

    def say(self, sentence: str) -> None:
        """Something that happened once."""

    def training(self, folder: Path, title: str) -> AbstractContextManager[Watch]:
        """What watches the training in a folder."""
        return MetricsFile(folder)

    def save(self, path: Path, result: Stored) -> None:
        """What saves the results."""
        write(path, result)

    def evaluation(self, episodes: int) -> AbstractContextManager[Callable[[EpisodeRecord], None]]:
        """What is called with each episode of an evaluation."""
        return nullcontext(lambda record: None)


def ablate(
    task: Task,
    settings: TrainSettings,
    folder: Path,
    conditionings: Sequence[str] = CONDITIONINGS,
    critics: Sequence[str] = ("set",),
    seeds: int = 1,
    episodes: int = 100,
    budget: Budget | None = None,
    evaluation_seed: int = 0,
    watch: AblationWatch | None = None,
    place: str = "",
    changes: Sequence[str] = (),
    rungs: Sequence[Rung] = (),
) -> Ablation:
    """Train every variant with the same settings, `seeds` times from the settings' seed on, and evaluate the best
    generator of each, and the handcrafted set, on the same episodes (budget: the task's own). Each of `changes`,
    name=value, makes another variant of every conditioning and critic, with that setting changed. `rungs`, those of a
    `ladder`, are compared instead of all these. `place` is that of `train`.

    Everything is kept in the folder. What is finished there is not run again and a training that was stopped goes on,
    so the same call, or one with more variants or seeds, does what is missing; a call that asks something else is
    refused. Ctrl-C during a training saves it and raises AblationInterrupted.
    """
    watch = watch or AblationWatch()
    variants = _variants(settings, conditionings, critics, changes, rungs, seeds)
    handcrafted = PlannerFactory(MACRO_DESPOT.name, budget, {"macro_length": settings.length_in(task)})
    _check_question(folder, _question(task, settings, rungs, handcrafted, episodes, evaluation_seed))

    def judge(name: str, factory: PlannerFactory) -> Evaluation:
        watch.say(f"Evaluating {name} in {episodes} episodes.")
        with watch.evaluation(episodes) as advance:
            workers = settings.workers if present_cluster() is None else None  # on a cluster, they are a training's
            return evaluate(task, factory, episodes, evaluation_seed, workers, advance)

    def train_and_judge(variant: Variant, its_folder: Path, title: str) -> AblationTraining:
        watch.say(f"Training {title}.")
        resume = (its_folder / SETTINGS).is_file()
        with watch.training(make_folder(its_folder), title) as watch_training:
            trained = train(task, variant.settings, its_folder, resume, watch_training, place)
        if trained.stopped_by == "interrupt":
            raise AblationInterrupted(f"The training of {variant} was interrupted.")
        if trained.model is None:
            raise ValueError(f"The training of {variant} was over before its warm-up: give it more time.")
        return AblationTraining(
            **variant.about(),
            minutes=trained.minutes,
            updates=trained.updates,
            plans=trained.plans,
            curve=tuple(report.point() for report in trained.curve),
            evaluation=judge(str(variant), PlannerFactory(MAGIC.name, budget, {"model": str(trained.model)})),
        )

    def is_asked(evaluation: Evaluation) -> bool:
        met = [record.episode for record in evaluation.records]
        return (evaluation.task, evaluation.seed, met) == (task_name(task), evaluation_seed, list(range(episodes)))

    def stored_or_made(
        name: str, path: Path, kind: type[_Kind], fits: Callable[[_Kind], bool], make: Callable[[], _Kind]
    ) -> _Kind:
        found = read_if_there(path, kind)
        if found is None:
            watch.save(path, found := make())
        elif fits(found):
            watch.say(f"Found the result of {name} in {path}.")
        else:
            raise ValueError(f"{path} is no result of {name} as asked here: remove it, or choose another folder.")
        return found

    of_handcrafted = stored_or_made(
        _START, folder / _HANDCRAFTED, Evaluation, is_asked, lambda: judge(_START, handcrafted)
    )
    missing = [variant for variant in variants if not (folder / variant.folder / _RESULT).exists()]
    train_at_once(
        [
            TrainingJob(task, variant.settings, folder / variant.folder, f"{task_name(task)}, {variant}", place)
            for variant in missing
        ],
        lambda job: watch.say(f"Trained {job.title}."),
    )
    trainings = []
    for number, variant in enumerate(variants, start=1):
        its_folder, title = folder / variant.folder, f"{task_name(task)}, {variant} ({number} of {len(variants)})"
        make = partial(train_and_judge, variant, its_folder, title)
        fits = partial(_is_of, variant, is_asked)
        trainings.append(stored_or_made(str(variant), its_folder / _RESULT, AblationTraining, fits, make))
    ablation = Ablation.of(task_name(task), of_handcrafted, tuple(trainings))
    watch.save(folder / ABLATION_FILE, ablation)
    return ablation


def _is_of(variant: Variant, is_asked: Callable[[Evaluation], bool], found: AblationTraining) -> bool:
    mine = all(getattr(found, name) == value for name, value in variant.about().items())
    return mine and is_asked(found.evaluation)


def _variants(
    settings: TrainSettings,
    conditionings: Sequence[str],
    critics: Sequence[str],
    changes: Sequence[str],
    rungs: Sequence[Rung],
    seeds: int,
) -> list[Variant]:
    """Seed by seed, so that an ablation that is stopped early has compared something."""
    if seeds < 1:
        raise ValueError(f"The number of seeds must be at least 1, not {seeds}.")
    if seeds > _MOST_SEEDS:
        raise ValueError(f"The number of seeds must be at most {_MOST_SEEDS}, not {seeds}.")
    for what, given in (("conditioning", conditionings), ("critic", critics)):
        if not given:
            raise ValueError(f"An ablation needs at least one {what}.")
    known: dict[str, dict[str, Any]] = {"": {}}
    for name, value in map(parse_change, changes):
        if value != getattr(settings, name):
            known[f"{name}={value}"] = {name: value}
    all_seeds = range(settings.seed, settings.seed + seeds)
    if rungs:
        return [
            Variant(dataclasses.replace(settings, seed=seed, **rung.changes), rung=rung.name)  # type: ignore[arg-type]
            for seed in all_seeds
            for rung in rungs
        ]
    compared = partial(dataclasses.replace, settings)
    return [
        Variant(compared(conditioning=conditioning, critic=critic, seed=seed, **changed), change)
        for seed in all_seeds
        for critic in dict.fromkeys(critics)
        for conditioning in dict.fromkeys(conditionings)
        for change, changed in known.items()
    ]


def _question(
    task: Task,
    settings: TrainSettings,
    rungs: Sequence[Rung],
    handcrafted: PlannerFactory,
    episodes: int,
    evaluation_seed: int,
) -> AblationQuestion:
    if episodes < 1:
        raise ValueError(f"The number of episodes must be at least 1, not {episodes}.")
    check_seed(evaluation_seed, "seed of the evaluation")
    about = describe(task, handcrafted, evaluation_seed)
    return AblationQuestion(
        task=about.task,
        task_parameters=about.task_parameters,
        budget=about.budget,
        settings=about.settings,
        episodes=episodes,
        evaluation_seed=evaluation_seed,
        training={name: value for name, value in settings.values().items() if name not in _FREE},
        ladder={rung.name: dict(rung.changes) for rung in rungs},
        derived=derived_digest(task),
    )


def _check_question(folder: Path, asked: AblationQuestion) -> None:
    """Keep what is asked, or refuse if the folder is about something else."""
    path = make_folder(folder) / _QUESTION
    if not path.exists():
        content = msgspec.json.format(msgspec.json.encode(asked), indent=2) + b"\n"
        save_bytes(check_writable(path), content)
        return
    try:
        known = _read_question(path)
    except ValueError as error:
        raise ValueError(f"{error} Choose another folder.") from None
    facts, known_facts = asked.facts(), known.facts()
    different = [name for name in facts if facts[name] != known_facts.get(name)]
    if different:
        values = ", ".join(f"{name.replace('_', ' ')} {known_facts.get(name)}" for name in different)
        raise ValueError(
            f"The ablation in {folder} was begun with {in_short(values, 600)}: ask the same, or choose another folder."
        )
    if known.derived and known.derived != asked.derived:
        raise ValueError(
            f"The ablation in {folder} was begun with another content of a file that the task's parameters name: ask "
            "the same, or choose another folder."
        )


def _read_question(path: Path) -> AblationQuestion:
    plain = read_json(path, dict[str, Any])
    if "training" not in plain:  # of software 0.1.0: the settings of trainings, and the length, lie beside the others
        known = settings_of(TrainSettings)
        plain["training"] = {name: value for name, value in plain.items() if name in known}
        if isinstance(settings := plain.get("settings"), dict):
            plain["settings"] = {**settings, "macro_length": plain.get("macro_length")}
    found = convert(plain, AblationQuestion, str(path))
    shared = {name: value for name, value in complete(found.training).items() if name not in _FREE}
    return msgspec.structs.replace(found, training=shared)
