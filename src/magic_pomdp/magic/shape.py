"""The shape of a generator: all that determines its arrays. Who trains it and who runs it know it by its `layout`."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from magic_pomdp.core.task import Task, task_name
from magic_pomdp.macros.spaces import Kind, MacroSpace

MOST_WEIGHTS = 2**24
"""A generator may have so many weights, about a hundred times as many as those that ship."""
MOST_PARTICLES = 2_000
"""It may look at so many: the time that it takes grows with their square."""
MOST_LAYERS = 16
"""Its trunk may have so many."""
LARGEST_STD = 1_000.0
"""A sampled parameter may have so large a standard deviation."""

InputKind = Literal["relative", "plain"]
"""How networks see a belief and a context: on the scale of all beliefs, particles also relative to their mean, and
beside them its mean and spread; or, as in the paper, nothing but the numbers as they are."""
Conditioning = Literal["belief+context", "belief", "context", "none"]
"""What a generator is told."""


@dataclass(frozen=True)
class GeneratorShape:
    """All that determines the arrays of a generator."""

    particle_features: int
    """Numbers that describe a particle."""
    context_features: int
    """Numbers that describe the context."""
    count: int
    """Macro-actions that it fills with parameters."""
    size: int
    """Parameters of each."""
    kind: Kind
    """Where the parameters of a macro-action lie."""
    particles: int = 32
    """Particles of a belief that it looks at."""
    encoder: int = 64
    """Width of the layer that every particle passes."""
    trunk: tuple[int, ...] = (256, 256)
    """Widths of the layers behind."""
    conditioning: Conditioning = "belief+context"
    """What it is told."""
    std_range: tuple[float, float] = (0.04, 0.25)
    """Between these lies the standard deviation of a sampled parameter (before it is normalised or clipped)."""
    members: int = 0
    """Things of a kind that the features of a particle end with."""
    member_features: int = 0
    """Numbers of each."""
    inputs: InputKind = "relative"
    """How it sees them."""

    def __post_init__(self) -> None:
        if self.conditioning not in get_args(Conditioning):
            raise ValueError(
                f"A generator cannot be conditioned on {self.conditioning!r}, only on one of "
                f"{', '.join(get_args(Conditioning))}."
            )
        if self.inputs not in get_args(InputKind):
            raise ValueError(f"A generator's inputs are one of {', '.join(get_args(InputKind))}: {self.inputs!r}.")
        if self.kind not in get_args(Kind):
            raise ValueError(f"The parameters of a generator lie in one of {', '.join(get_args(Kind))}: {self.kind!r}.")
        for name in ("particles", "count", "size"):
            if getattr(self, name) < 1:
                raise ValueError(f"A generator's {name} must be at least 1, not {getattr(self, name)}.")
        if self.particles > MOST_PARTICLES:
            raise ValueError(f"A generator looks at {MOST_PARTICLES:,} particles at most, not {self.particles}.")
        if min(self.particle_features, self.context_features) < 0:
            raise ValueError(
                f"A particle's {self.particle_features} and the context's {self.context_features} features must be at "
                "least 0."
            )
        if min(self.members, self.member_features, self.own_features) < 0 or (
            self.members > 0 and self.member_features == 0
        ):
            raise ValueError(
                f"{self.members} members with {self.member_features} features each do not fit into a particle's "
                f"{self.particle_features}."
            )
        if not self.trunk or min(self.encoder, *self.trunk) < 1:
            raise ValueError("A generator's encoder and trunk need at least one layer each, of width at least 1.")
        if not 0.0 < self.std_range[0] <= self.std_range[1] <= LARGEST_STD:
            raise ValueError(
                f"The range of standard deviations must be positive, in order and up to {LARGEST_STD:g}, not "
                f"{self.std_range}."
            )
        if len(self.trunk) > MOST_LAYERS:
            raise ValueError(f"A generator's trunk has {MOST_LAYERS} layers at most, not {len(self.trunk)}.")
        if self.encoder + self.member_features + self.weight_count > MOST_WEIGHTS:
            raise ValueError(f"A generator has {MOST_WEIGHTS:,} weights at most, and this one would have more.")

    @classmethod
    def for_task(cls, task: Task, space: MacroSpace, **sizes: Any) -> "GeneratorShape":
        """The shape that fits a task and a macro-action space."""
        inputs = sizes.get("inputs", cls.inputs)
        members, each = task.particle_members if plain_numbers(task, inputs) is None else (0, 0)
        seen = feature_sizes(task, inputs)
        return cls(*seen, space.count, space.size, space.kind, members=members, member_features=each, **sizes)

    @property
    def sphere_size(self) -> int:
        """Of the parameters of a macro-action, how many form a unit vector; those come first."""
        return {"sphere": self.size, "sphere and length": self.size - 1, "box": 0}[self.kind]

    @property
    def relative(self) -> bool:
        """Whether it sees particles relative to their belief's mean, and what its mean and spread are."""
        return self.inputs == "relative"

    @property
    def sees_belief(self) -> bool:
        return self.conditioning in ("belief+context", "belief")

    @property
    def sees_context(self) -> bool:
        return self.conditioning in ("belief+context", "context")

    @property
    def own_features(self) -> int:
        """Numbers of a particle that do not belong to a member."""
        return self.particle_features - self.members * self.member_features

    @property
    def member_width(self) -> int:
        """Width of the two layers that every member passes."""
        return self.encoder if self.members > 0 else 0

    @property
    def encoder_inputs(self) -> int:
        """Every particle twice: on the scale of all beliefs, and relative to this belief's mean, or once as it is; then
        the mean and the largest over its members."""
        return (2 if self.relative else 1) * self.own_features + 2 * self.member_width

    @property
    def summary(self) -> int:
        """Numbers that describe a belief to the trunk: the pooled layer; mean, spread and its logarithm; members."""
        return self.encoder + (3 * self.own_features if self.relative else 0) + 2 * self.member_width

    @property
    def trunk_inputs(self) -> int:
        """What the trunk sees; a constant 1 if it is told nothing."""
        told = self.sees_belief * self.summary + self.sees_context * self.context_features
        return max(1, told)

    @property
    def outputs(self) -> int:
        """The mean of every parameter, and one standard deviation a macro-action."""
        return self.count * self.size + self.count

    def layout(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of all arrays, in the order in which the vector of weights holds them."""
        arrays: dict[str, tuple[int, ...]] = {
            "normaliser.centre": (self.own_features,),
            "normaliser.scale": (self.own_features,),
            "normaliser.spread": (self.own_features,),
            "normaliser.context_centre": (self.context_features,),
            "normaliser.context_scale": (self.context_features,),
        }
        if self.members > 0:
            arrays |= {f"normaliser.member_{name}": (self.member_features,) for name in ("centre", "scale")}
        if self.sees_belief and self.members > 0:
            for name, before in (("first", self.member_features), ("second", self.member_width)):
                arrays |= {f"encoder.{name}.weight": (self.member_width, before)}
                arrays |= {f"encoder.{name}.bias": (self.member_width,)}
        if self.sees_belief:
            arrays |= {"encoder.weight": (self.encoder, self.encoder_inputs), "encoder.bias": (self.encoder,)}
        before = self.trunk_inputs
        for i, width in enumerate(self.trunk):
            arrays |= {f"trunk.{i}.weight": (width, before), f"trunk.{i}.bias": (width,)}
            arrays |= {f"norm.{i}.weight": (width,), f"norm.{i}.bias": (width,)}
            before = width
        return arrays | {"head.weight": (self.outputs, before), "head.bias": (self.outputs,)}

    def divisors(self) -> list[str]:
        """Names of the arrays that inputs are divided by, and which are positive therefore."""
        names = ("scale", "spread", "context_scale", *(("member_scale",) if self.members > 0 else ()))
        return [f"normaliser.{name}" for name in names]

    def pack(self, arrays: dict[str, np.ndarray]) -> np.ndarray:
        """The vector of weights of arrays by name. Matrices (out, in) lie in it by inputs, as the kernel reads them."""
        parts = []
        for name, shape in self.layout().items():
            if name not in arrays or arrays[name].shape != shape:
                found = arrays[name].shape if name in arrays else "missing"
                raise ValueError(f"The generator's {name} must have shape {shape}, but is {found}.")
            parts.append(np.ascontiguousarray(arrays[name].T, dtype=np.float32).ravel())
        return np.concatenate(parts)

    @property
    def weight_count(self) -> int:
        """Length of the vector of weights."""
        return sum(math.prod(shape) for shape in self.layout().values())


def plain_numbers(task: Task, inputs: InputKind) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Which numbers of the task's state and context networks see; None if they see the features that it fills."""
    if inputs == "relative" or task.plain_features is None:
        return None
    of_state, of_context = task.plain_features
    if not (set(of_state) <= set(range(task.state_size)) and set(of_context) <= set(range(task.context_size))):
        raise ValueError(
            f"plain_features of {task_name(task)} must name numbers of a state, 0 to {task.state_size - 1}, and of "
            f"the context, 0 to {task.context_size - 1}, but is {task.plain_features}."
        )
    return of_state, of_context


def feature_sizes(task: Task, inputs: InputKind) -> tuple[int, int]:
    """How many numbers networks see of a particle, and how many of the context."""
    numbers = plain_numbers(task, inputs)
    if numbers is not None:
        return len(numbers[0]), len(numbers[1])
    return int(task.particle_features_size), int(task.context_features_size)
