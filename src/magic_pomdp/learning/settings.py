"""Everything that can be set about a training."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from magic_pomdp.core.randomness import check_seed
from magic_pomdp.core.settings import Settings, SettingValue, setting, settings_of
from magic_pomdp.core.task import Task
from magic_pomdp.macros.spaces import MOST_LENGTH
from magic_pomdp.magic.model import SEARCHING
from magic_pomdp.magic.shape import MOST_PARTICLES, Conditioning, InputKind
from magic_pomdp.planners.despot_settings import DespotSettings, MacroDespotSettings
from magic_pomdp.running.where import cores_at_hand

CriticKind = Literal["set", "flat"]
"""How a critic sees macro-actions."""
Start = Literal["handcrafted", "random"]
"""Where learning sets out from."""
SETTINGS = "settings.json"
"""The file of a training that tells what was asked for."""
_WARMUP_SHARE = 0.3
"""Of the minutes: after so many learning begins with what there is, if that is a batch."""
_WIDEST = 4_096
"""Layer of a network."""
_PLAN_STEPS = 300_000
"""Primitive steps of a plan in training, where they do not follow the clock."""
_ROOM_TO_GROW = 4
"""Where lengths are learned, the longest macro-action is at least so long: what sets out short may become longer."""
_WARMUP = 2_000
"""Plans before the first update, if nobody says otherwise and there is time for them."""
_EVALUATE_UPDATES = 1_000
"""Updates between evaluations, where nothing follows the clock."""
_EVALUATE_MINUTES = 3.0
"""Between evaluations, at most."""
_EPISODES = 100
"""Of an evaluation, at most."""


def _changeable(default: SettingValue, help: str, **about: Any) -> Any:
    """Declare a setting that a resumed training may set anew: when it stops and what is seen of it, but not how it
    learns."""
    declared = setting(default, help, **about)
    return dataclasses.field(default=default, metadata={**declared.metadata, "changeable": True})


def _searching(name: str) -> Any:
    """Declare a setting of the search, in training and for whoever plans with what was trained."""
    words = "what the task advises"
    declared = dataclasses.replace(settings_of(DespotSettings)[name], default_words=words, tuned=None)
    return dataclasses.field(default=None, metadata={"setting": declared})


@dataclass(frozen=True)
class TrainSettings(Settings):
    """All that can be set about a training."""

    macro_length: int | None = setting(
        None,
        "Length of the longest macro-actions.",
        at_least=1,
        at_most=MOST_LENGTH,
        default_words="that of the longest to set out from; where lengths are learned that of the longest handcrafted "
        "one, and at least 4",
    )
    handcrafted: str | None = setting(
        None,
        "Lengths of the set to beat, the handcrafted one that learning is compared with, such as 16,6,2.",
        default_words="what the task advises or, if it advises none, those of the best set that is found",
    )
    lengths: str | None = setting(
        None,
        "Lengths of the starting set, the handcrafted macro-actions from which learning sets out, such as 16,6,2: so "
        "many times as many are learned.",
        default_words="the middle one of the set to beat",
    )
    learn_lengths: bool = setting(
        True, "Learn the length of each macro-action as well; else all are as long as the longest."
    )
    minutes: float | None = _changeable(
        25.0, "Stop after so many minutes of training, those before a resume included.", above=0.0
    )
    updates: int | None = _changeable(None, "Stop after so many updates.", at_least=1, default_words="never")
    patience: int | None = _changeable(
        None, "Stop after so many evaluations without a better one.", at_least=1, default_words="never"
    )
    workers: int | None = _changeable(
        None,
        "Processes that run episodes. 0 runs everything in one process, in lockstep: then the same seed gives the same "
        "weights and, if the number of updates ends the training, the same file.",
        at_least=0,
        at_most=1_000,
        default_words="one for every core but the learner's",
    )

    plan_steps: int | None = setting(
        None,
        "Budget of a plan during training, in primitive steps.",
        at_least=1,
        at_most=10**12,
        default_words="what fits into a fortieth of the time that a plan has in the end, or more if that expands "
        "fewer than 20 nodes",
    )
    start: Start = setting(
        "handcrafted", "Learning sets out from the handcrafted macro-actions or, as in the paper, from random ones."
    )
    warmup: int = setting(
        _WARMUP,
        "Plans before the first update, with noisy handcrafted macro-actions, or with random ones.",
        at_least=2,
        default_words=f"{_WARMUP:,}, or what is there after three tenths of the minutes",
    )
    warmup_std: float = setting(0.35, "Standard deviation of that noise.", above=0.0)
    updates_per_plan: float = setting(1.0, "Updates for every plan made, at most; in lockstep exactly.", above=0.0)
    replay: int = setting(100_000, "Newest plans that are kept to learn from.", at_least=2, at_most=10**8)
    batch: int = setting(128, "Plans in an update.", at_least=1, at_most=10**5)
    mirror: bool = setting(True, "Learn from mirror images of plans as well, if the task tells what these look like.")

    inputs: InputKind = setting(
        "relative",
        "The networks see each particle on the scale of all beliefs and relative to its own belief, and what that "
        "belief's mean and spread are or, as in the paper, plain numbers alone. Those have no mirror images.",
    )
    particles: int = setting(32, "Particles of a belief that the networks look at.", at_least=2, at_most=MOST_PARTICLES)
    encoder_width: int = setting(64, "Width of the layer that every particle passes.", at_least=1, at_most=_WIDEST)
    generator_width: int = setting(256, "Width of the generator's two layers behind.", at_least=1, at_most=_WIDEST)
    critic_width: int = setting(128, "Width of the critic's layers.", at_least=1, at_most=_WIDEST)
    critic_rate: float = setting(1e-3, "Learning rate of the critic.", above=0.0)
    generator_rate: float = setting(3e-4, "Learning rate of the generator.", above=0.0)
    alpha: float = setting(
        0.02,
        "α, the weight of entropy at the beginning, where values are measured in their standard deviations.",
        above=0.0,
    )
    alpha_rate: float = setting(1e-3, "Learning rate of log α.", above=0.0)
    std: float = setting(
        0.1, "Standard deviation of sampled parameters to begin with, and the one that α aims at.", above=0.0
    )
    std_min: float = setting(0.04, "The least that the generator can choose.", above=0.0)
    std_max: float = setting(0.25, "The most that the generator can choose.", above=0.0)

    default_policy: Literal["guided", "greedy", "random"] | None = _searching("default_policy")
    scenarios: int | None = _searching("scenarios")
    search_depth: int | None = _searching("search_depth")
    discount: float | None = _searching("discount")
    second_look: int | None = _searching("second_look")
    refine: float | None = _searching("refine")

    evaluate_minutes: float | None = _changeable(
        None,
        "Time between evaluations with the mean parameters.",
        above=0.0,
        default_words=f"{_EVALUATE_MINUTES:g}, or an eighth of all minutes if that is less",
    )
    evaluate_updates: int | None = _changeable(
        None,
        "Updates between them instead.",
        at_least=1,
        default_words=f"{_EVALUATE_UPDATES} with --workers 0 and --updates, so that nothing follows the clock; else "
        "minutes count",
    )
    evaluation_episodes: int | None = _changeable(
        None,
        "Episodes of an evaluation.",
        at_least=1,
        default_words=f"{_EPISODES}, or as many as fit into a tenth of the minutes, but at least 20",
    )
    evaluation_steps: int | None = _changeable(
        None,
        "Budget of a plan during an evaluation, in primitive steps.",
        at_least=1,
        at_most=10**12,
        default_words="four times as many as in training if those are chosen, else as many",
    )
    checkpoint_minutes: float = _changeable(2.0, "Time between checkpoints.", above=0.0)
    keep: int = _changeable(3, "Checkpoints to keep, the newest.", at_least=1)

    seed: int = setting(0, "What all chance follows from, 0 or more.", at_least=0)
    conditioning: Conditioning = setting("belief+context", "What the generator is told. The critic always sees both.")
    critic: CriticKind = setting(
        "set", "The critic judges each macro-action and the set of them, or, as in the paper, all parameters at once."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seed(self.seed)
        for name, lengths in (("lengths", self.lengths), ("handcrafted", self.handcrafted)):
            if lengths is not None and not re.fullmatch(r"[1-9]\d{0,3}(,[1-9]\d{0,3})*", lengths):
                raise ValueError(f"The setting {name} is some lengths, such as 16,6,2, not {lengths!r}.")
        if not self.std_min <= self.std <= self.std_max:
            raise ValueError(f"The setting std must lie between std_min {self.std_min} and std_max {self.std_max}.")
        if self.std_min == self.std_max:
            raise ValueError("The settings std_min and std_max must differ.")
        if self.warmup > self.replay:
            raise ValueError(f"The warm-up of {self.warmup} plans does not fit into a replay of {self.replay}.")
        if self.minutes is None and self.updates is None and self.patience is None:
            raise ValueError("A training needs an end: set minutes, updates or patience.")

    def searching(self) -> dict[str, SettingValue]:
        """What is set about the search, by name; of what is missing here, the task advises it."""
        return {name: value for name, value in self.values().items() if name in SEARCHING and value is not None}

    @property
    def mirrored(self) -> bool:
        """Whether mirror images are learned from. A hidden context has none, and a task knows those of its own features
        only."""
        return self.mirror and self.conditioning != "belief" and self.inputs == "relative"

    @property
    def worker_count(self) -> int:
        """Worker processes: as set, or one for every core but the learner's."""
        return max(1, cores_at_hand() - 1) if self.workers is None else self.workers

    @property
    def training_budget(self) -> int:
        """Primitive steps of a plan in training."""
        return self.plan_steps or _PLAN_STEPS

    @property
    def evaluation_budget(self) -> int:
        """Primitive steps of a plan in an evaluation."""
        return self.evaluation_steps or self.training_budget

    @property
    def warmup_minutes(self) -> float | None:
        """When learning begins with what plans there are; None if it waits for all of the warm-up."""
        if self.minutes is None or self.counted or self.warmup != _WARMUP:
            return None
        return _WARMUP_SHARE * self.minutes

    @property
    def most_evaluated(self) -> int:
        """Episodes of an evaluation, if there is time for them."""
        return self.evaluation_episodes or _EPISODES

    @property
    def minutes_to_evaluation(self) -> float:
        """Time between evaluations, where minutes count."""
        if self.evaluate_minutes is not None:
            return self.evaluate_minutes
        return _EVALUATE_MINUTES if self.minutes is None else min(_EVALUATE_MINUTES, self.minutes / 8.0)

    def updates_earned(self, plans: int, warmup: int) -> int:
        """Updates that so many plans allow, of which those of the warm-up earn none."""
        return max(0, int(self.updates_per_plan * (plans - warmup + 1)))

    @property
    def counted(self) -> bool:
        """Whether nothing that decides the result follows the clock."""
        return self.workers == 0 and self.updates is not None

    @property
    def updates_to_evaluation(self) -> int | None:
        """Updates between evaluations; None if minutes count."""
        return self.evaluate_updates or (_EVALUATE_UPDATES if self.counted else None)

    def handcrafted_in(self, task: Task) -> tuple[int, ...]:
        """Lengths of the handcrafted set that learning is compared with, the longest first."""
        return MacroDespotSettings.advised(task).lengths if self.handcrafted is None else _sorted(self.handcrafted)

    def length_in(self, task: Task) -> int:
        """Length of the longest macro-actions to learn for a task."""
        if self.macro_length is not None:
            return self.macro_length
        longest = max(self._start(task))
        if self.learn_lengths:
            deepest = MacroDespotSettings.advised(task).search_depth
            longest = max(longest, *self.handcrafted_in(task), min(_ROOM_TO_GROW, deepest))
        return longest

    def lengths_in(self, task: Task) -> tuple[int, ...]:
        """Lengths from which learning sets out; none if it does not learn them, and where there is but one."""
        longest = self.length_in(task)
        if not self.learn_lengths or longest == 1:
            return ()
        return tuple(length for length in self._start(task) if length <= longest) or (longest,)

    def _start(self, task: Task) -> tuple[int, ...]:
        if self.lengths is not None:
            return _sorted(self.lengths)
        known = self.handcrafted_in(task)
        short = [length for length in known if self.macro_length is None or length <= self.macro_length]
        return (short[(len(short) - 1) // 2] if short else known[-1],)

    def differences(self, stored: Mapping[str, SettingValue]) -> list[str]:
        """Names of the settings in which a training of these settings would not be a continuation of the stored one."""
        mine, known = self.values(), complete(stored)
        decisive = (
            mine.keys() - CHANGEABLE - {"learn_lengths", "lengths", "handcrafted"}
        )  # the macro-action space tells that, and is compared, too
        return [name for name in mine if name in decisive and mine[name] != known[name]]


def _sorted(lengths: str) -> tuple[int, ...]:
    """Lengths as they are written, the longest first."""
    return tuple(sorted({int(length) for length in lengths.split(",")}, reverse=True))


def complete(stored: Mapping[str, SettingValue]) -> dict[str, SettingValue]:
    """Stored settings of a training or a comparison, with those that are newer than it as they were in effect then."""
    return {**TrainSettings(mirror=False, learn_lengths=False).values(), **stored}


CHANGEABLE = frozenset(item.name for item in dataclasses.fields(TrainSettings) if "changeable" in item.metadata)
"""The settings that a resumed training may set anew."""
