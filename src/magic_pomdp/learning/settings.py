"""Everything that can be set about a training."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, get_args

from magic_pomdp.running.workers import available_cores

Conditioning = Literal["belief+context", "belief", "context", "none"]
"""What a generator is told."""
CriticKind = Literal["set", "flat"]
"""How a critic sees macro-actions."""
SETTINGS = "settings.json"
"""The file of a training that tells what was asked for."""


@dataclass(frozen=True)
class LearnOptions:
    """How to learn: what all trainings of a comparison share."""

    macro_length: int | None = None
    """Length of the macro-actions. None: the task's own."""
    minutes: float | None = 60.0
    """Stop after so many minutes of training, those before a resume included."""
    updates: int | None = None
    """Stop after so many updates."""
    patience: int | None = None
    """Stop after so many evaluations without a better one."""
    workers: int | None = None
    """Processes that run episodes. None: one for every core but the learner's. 0 runs everything in one process, in
    lockstep: then the same seed gives the same weights."""

    plan_steps: int = 300_000
    """Budget of a plan during training, in primitive steps."""
    warmup: int = 2_000
    """Plans with noisy handcrafted macro-actions before the first update."""
    warmup_std: float = 0.35
    """Standard deviation of that noise."""
    updates_per_plan: float = 1.0
    """Updates for every plan made, at most; in lockstep exactly."""
    replay: int = 100_000
    """Newest plans that are kept to learn from."""
    batch: int = 128
    """Plans in an update."""
    mirror: bool = True
    """Learn from mirror images of plans as well, if the task tells what these look like."""

    particles: int = 32
    """Particles of a belief that the networks look at."""
    encoder_width: int = 64
    """Width of the layer that every particle passes."""
    generator_width: int = 256
    """Width of the generator's two layers behind."""
    critic_width: int = 128
    """Width of the critic's layers."""
    critic_rate: float = 1e-3
    """Learning rate of the critic."""
    generator_rate: float = 3e-4
    """Learning rate of the generator."""
    alpha: float = 0.02
    """α, the weight of entropy at the beginning, where values are measured in their standard deviations."""
    alpha_rate: float = 1e-3
    """Learning rate of log α."""
    std: float = 0.1
    """Standard deviation of sampled parameters to begin with, and the one that α aims at."""
    std_min: float = 0.04
    """The least that the generator can choose."""
    std_max: float = 0.25
    """The most that the generator can choose."""

    evaluate_minutes: float = 3.0
    """Time between evaluations with the mean parameters."""
    evaluation_episodes: int = 100
    """Episodes of an evaluation."""
    evaluation_steps: int = 1_000_000
    """Budget of a plan during an evaluation, in primitive steps."""
    checkpoint_minutes: float = 2.0
    """Time between checkpoints."""
    keep: int = 3
    """Checkpoints to keep, the newest."""


@dataclass(frozen=True)
class TrainOptions(LearnOptions):
    """How to train."""

    seed: int = 0
    """What all chance follows from, 0 or more."""
    conditioning: Conditioning = "belief+context"
    """What the generator is told. The critic always sees both."""
    critic: CriticKind = "set"
    """The critic judges each macro-action and the set of them, or, as in the paper, all parameters at once."""

    def check(self) -> "TrainSettings":
        """The same as settings to train with, or a ValueError that says which of them makes no sense."""
        return TrainSettings(**dataclasses.asdict(self))


@dataclass(frozen=True)
class TrainSettings(TrainOptions):
    """All that can be set about a training. What makes no sense is refused."""

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise ValueError(f"The setting {name} must be at least {least}, not {value}.")
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and not 0.0 < value < float("inf"):
                raise ValueError(f"The setting {name} must be positive, not {value}.")
        if not self.std_min <= self.std <= self.std_max:
            raise ValueError(f"The setting std must lie between std_min {self.std_min} and std_max {self.std_max}.")
        if self.std_min == self.std_max:
            raise ValueError("The settings std_min and std_max must differ.")
        for name, kind in (("critic", CriticKind), ("conditioning", Conditioning)):
            if getattr(self, name) not in get_args(kind):
                raise ValueError(f"The setting {name} is one of {', '.join(get_args(kind))}: {getattr(self, name)!r}.")
        if self.warmup > self.replay:
            raise ValueError(f"The warm-up of {self.warmup} plans does not fit into a replay of {self.replay}.")
        if self.minutes is None and self.updates is None and self.patience is None:
            raise ValueError("A training needs an end: set minutes, updates or patience.")

    @property
    def worker_count(self) -> int:
        """Worker processes: as set, or one for every core but the learner's."""
        return max(1, available_cores() - 1) if self.workers is None else self.workers

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def differences(self, other: dict[str, Any]) -> list[str]:
        """Names of the settings in which a training of these settings would not be a continuation of the other."""
        mine, other = self.to_json(), complete(other)
        return [name for name in mine if name not in CHANGEABLE and mine[name] != other[name]]


def complete(stored: dict[str, Any]) -> dict[str, Any]:
    """Stored settings of a training or a comparison, with those that are newer than it as they were in effect then."""
    return dataclasses.asdict(TrainOptions(mirror=False)) | stored


CHANGEABLE = {
    "minutes", "updates", "patience", "workers", "evaluate_minutes", "evaluation_episodes", "evaluation_steps",
    "checkpoint_minutes", "keep",
}  # fmt: skip
"""What a resumed training may set anew: when it stops and what is seen of it, but not how it learns."""

_LEAST = {
    "macro_length": 1, "seed": 0, "updates": 1, "patience": 1, "workers": 0, "plan_steps": 1, "warmup": 2,
    "replay": 2, "batch": 1, "particles": 2, "encoder_width": 1, "generator_width": 1, "critic_width": 1,
    "evaluation_episodes": 1, "evaluation_steps": 1, "keep": 1,
}  # fmt: skip
_POSITIVE = (
    "minutes", "warmup_std", "updates_per_plan", "critic_rate", "generator_rate", "alpha", "alpha_rate", "std",
    "std_min", "std_max", "evaluate_minutes", "checkpoint_minutes",
)  # fmt: skip
