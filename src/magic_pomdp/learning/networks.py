"""Generator and critic as torch modules. `magic/generator.py` runs the trained generator without torch.

Both begin with a deep set: every particle passes the same layers, and the mean over particles describes the belief,
beside its mean, spread and log-spread. Members of a particle (cars, say) pass layers of their own first, and their mean
and largest describe them to the particle's layer. All inputs are normalised with statistics of the warm-up.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from magic_pomdp.learning.layers import Linear, mean_and_largest, pooled_layer
from magic_pomdp.learning.replay import Experience
from magic_pomdp.magic.generator import NORM_EPSILON, SMALLEST_SPREAD
from magic_pomdp.magic.shape import GeneratorShape

_SHARPNESS = 10.0
"""Of the soft maximum over macro-actions, for values measured in their standard deviations."""
_SMALLEST_STD = 0.01
"""Of a critic's prediction, in the same unit."""


class Inputs(NamedTuple):
    """Beliefs and contexts as networks see them."""

    each: Tensor
    """(batch, particles, 2 · own_features): every particle, absolute and relative to its belief's mean; of plain inputs
    the former alone."""
    belief: Tensor
    """(batch, 3 · own_features): mean, spread and log-spread; of plain inputs nothing."""
    context: Tensor
    """(batch, context_features)."""
    members: Tensor | None
    """(batch, particles, members, member_features), if particles have members."""


class Normaliser(nn.Module):
    """Brings features to a common scale. It learns nothing: `fit` measures once. Plain inputs it leaves alone."""

    centre: Tensor
    scale: Tensor
    spread: Tensor
    context_centre: Tensor
    context_scale: Tensor

    def __init__(self, shape: GeneratorShape) -> None:
        super().__init__()
        self.shape = shape
        for name in ("centre", "scale", "spread"):
            self.register_buffer(name, torch.full((shape.own_features,), float(name != "centre")))
        for name in ("member_centre", "member_scale") if shape.members > 0 else ():
            self.register_buffer(name, torch.full((shape.member_features,), float(name != "member_centre")))
        for name in ("context_centre", "context_scale"):
            self.register_buffer(name, torch.full((shape.context_features,), float(name != "context_centre")))

    def fit(self, experience: Experience) -> None:
        """Measure the features of some experience."""
        if not self.shape.relative:
            return
        own = experience.particles[..., : self.shape.own_features]
        means = own.mean(axis=1)
        deviations = own - means[:, None]
        fitted = {
            "centre": means.mean(axis=0),
            "scale": _usable(means.std(axis=0)),
            "spread": _usable(np.sqrt((deviations**2).mean(axis=(0, 1)))),
            "context_centre": experience.context.mean(axis=0),
            "context_scale": _usable(experience.context.std(axis=0)),
        }
        if self.shape.members > 0:
            members = experience.particles[..., self.shape.own_features :].reshape(-1, self.shape.member_features)
            fitted |= {"member_centre": members.mean(axis=0), "member_scale": _usable(members.std(axis=0))}
        for name, value in fitted.items():
            self.get_buffer(name).copy_(torch.from_numpy(value))

    def forward(self, particles: Tensor, context: Tensor) -> Inputs:
        """Of particles (batch, particles, particle_features) and context (batch, context_features)."""
        members = None
        if self.shape.members > 0:
            size = self.shape.members, self.shape.member_features
            members = particles[..., self.shape.own_features :].reshape(*particles.shape[:-1], *size)
            members = (members - self.get_buffer("member_centre")) / self.get_buffer("member_scale")
            particles = particles[..., : self.shape.own_features]
        if not self.shape.relative:
            return Inputs(particles, particles.new_zeros(len(particles), 0), context, members)
        mean = particles.mean(dim=1, keepdim=True)
        relative = (particles - mean) / self.spread
        spread = relative.square().mean(dim=1).sqrt()
        each = torch.cat([(particles - self.centre) / self.scale, relative], dim=-1)
        belief = torch.cat(
            [(mean.squeeze(1) - self.centre) / self.scale, spread, torch.log(spread + SMALLEST_SPREAD)], dim=-1
        )
        return Inputs(each, belief, (context - self.context_centre) / self.context_scale, members)


def _usable(scale: np.ndarray) -> np.ndarray:
    """A scale to divide by: 1 where a feature did not vary."""
    return np.where(scale > 1e-6, scale, 1.0).astype(np.float32)


class BeliefEncoder(Linear):
    """One layer with ReLU that every particle passes, and the mean over all of them; before that, two layers that every
    member of a particle passes, and the mean and the largest of them."""

    def __init__(self, shape: GeneratorShape) -> None:
        super().__init__(shape.encoder_inputs, shape.encoder)
        if shape.members > 0:
            self.first = Linear(shape.member_features, shape.member_width)
            self.second = Linear(shape.member_width, shape.member_width)

    def forward(self, inputs: Inputs) -> Tensor:  # type: ignore[override]
        """(batch, summary)."""
        if inputs.members is None:
            return torch.cat([pooled_layer(inputs.each, self.weight, self.bias), inputs.belief], dim=-1)
        each = functional.relu(self.second(functional.relu(self.first(inputs.members))))
        members = mean_and_largest(each)
        pooled = pooled_layer(torch.cat([inputs.each, members], dim=-1), self.weight, self.bias)
        return torch.cat([pooled, inputs.belief, members.mean(1)], dim=-1)


class GeneratorNetwork(nn.Module):
    """Mean and standard deviation of the parameters of every macro-action. It begins at the handcrafted ones, or, where
    there are none to start from, anywhere."""

    def __init__(self, shape: GeneratorShape, start: np.ndarray | None, std: float) -> None:
        super().__init__()
        self.shape = shape
        if shape.sees_belief:
            self.encoder = BeliefEncoder(shape)
        sizes = (shape.trunk_inputs, *shape.trunk)
        pairs = list(pairwise(sizes))
        self.trunk = nn.ModuleList(Linear(before, after) for before, after in pairs)
        self.norm = nn.ModuleList(nn.LayerNorm(after, eps=NORM_EPSILON) for _, after in pairs)
        self.head = Linear(sizes[-1], shape.outputs)
        low, high = (math.log(limit) for limit in shape.std_range)
        self._middle, self._half = 0.5 * (low + high), 0.5 * (high - low)
        relative = max(-0.9, min(0.9, (math.log(std) - self._middle) / self._half))
        means = shape.count * shape.size
        with torch.no_grad():  # where the bias rules at first
            self.head.weight[means:].mul_(0.1)
            self.head.bias[means:] = math.atanh(relative)
            if start is not None:
                self.head.weight[:means].mul_(0.1)
                self.head.bias[:means] = torch.from_numpy(start).reshape(-1)

    def forward(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """Means (batch, count, size), on the sphere already or still to be clipped, and stds (batch, count)."""
        shape = self.shape
        told = [self.encoder(inputs)] if shape.sees_belief else []
        told += [inputs.context] if shape.sees_context else []
        x = torch.cat(told, dim=-1) if told else inputs.context[:, :0]
        if x.shape[-1] == 0:
            x = x.new_ones(len(x), 1)
        for layer, norm in zip(self.trunk, self.norm, strict=True):
            x = functional.relu_(norm(layer(x)))
        x = self.head(x)
        mean = x[:, : shape.count * shape.size].reshape(-1, shape.count, shape.size)
        mean = self._on_sphere(mean)
        return mean, torch.exp(self._middle + self._half * torch.tanh(x[:, shape.count * shape.size :]))

    def sample(self, inputs: Inputs, random: torch.Generator) -> tuple[Tensor, Tensor]:
        """Parameters (batch, count, size) whose gradients reach the weights, and the stds behind them."""
        mean, std = self(inputs)
        free = mean + std[..., None] * torch.randn(mean.shape, generator=random)
        free, size = self._on_sphere(free), self.shape.sphere_size
        if size == self.shape.size:
            return free, std
        return torch.cat([free[..., :size], _into_box(free[..., size:])], dim=-1), std

    def _on_sphere(self, free: Tensor) -> Tensor:
        """Free numbers (batch, count, size), those of them normalised that form a unit vector."""
        size = self.shape.sphere_size
        if size == 0:
            return free
        if size == self.shape.size:
            return functional.normalize(free, dim=-1)
        return torch.cat([functional.normalize(free[..., :size], dim=-1), free[..., size:]], dim=-1)


class _IntoBox(torch.autograd.Function):
    """Clip to [−1, 1]. Gradients pass, but for those that would lead further out: a parameter at its limit stays there
    as long as that is best, and comes back at once when it is not."""

    @staticmethod
    def forward(ctx: Any, free: Tensor) -> Tensor:
        ctx.save_for_backward(free)
        return free.clamp(-1.0, 1.0)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (free,) = ctx.saved_tensors
        inwards: Tensor = (free.abs() <= 1.0) | (free * gradient > 0.0)
        return gradient * inwards


_into_box: Callable[[Tensor], Tensor] = _IntoBox.apply


class Judgement(NamedTuple):
    """What a critic predicts, each with a standard deviation, in units of the values' own standard deviation."""

    value: Tensor
    """(batch,): of the set."""
    value_std: Tensor
    values: Tensor | None
    """(batch, count): of each macro-action; None from a critic that does not tell them apart."""
    values_std: Tensor | None


class SetCritic(nn.Module):
    """Sees the macro-actions as a set: one network judges each of them for the belief and context at hand, and the set
    is worth the soft maximum of their values and a correction from all of them together. What is worth less than the
    macro-actions that are always there adds little to the soft maximum, so nothing is gained by copying those."""

    def __init__(self, shape: GeneratorShape, width: int) -> None:
        super().__init__()
        self.encoder = BeliefEncoder(shape)
        known = shape.summary + shape.context_features
        self.of_belief = Linear(known, width)  # the first layer in two parts: this one is the same for all
        self.of_parameters = Linear(shape.size, width, bias=False)
        self.embed = nn.Sequential(
            nn.LayerNorm(width), nn.ReLU(inplace=True), Linear(width, width), nn.LayerNorm(width),
            nn.ReLU(inplace=True),
        )  # fmt: skip
        self.judge = nn.Linear(width, 2)
        self.correct = trunk(2 * width + known, (width, width), 2)

    def describe(self, inputs: Inputs) -> Tensor:
        """Belief and context, before any macro-action is looked at."""
        return torch.cat([self.encoder(inputs), inputs.context], dim=-1)

    def forward(self, known: Tensor, parameters: Tensor, floor: Tensor) -> Judgement:
        """Judge parameters (batch, count, size) for what `describe` has made of belief and context, beside
        macro-actions that are always there, the best of which is worth `floor` (batch,)."""
        each = self.embed(self.of_belief(known)[:, None] + self.of_parameters(parameters))
        values, values_raw = self.judge(each).unbind(-1)
        correction, value_raw = self.correct(torch.cat([mean_and_largest(each), known], dim=-1)).unbind(-1)
        candidates = torch.cat([values, floor[:, None]], dim=1)
        value = torch.logsumexp(_SHARPNESS * candidates, dim=1) / _SHARPNESS + correction
        return Judgement(value, _std(value_raw), values, _std(values_raw))


class FlatCritic(nn.Module):
    """The paper's: all parameters at once, as one long vector."""

    def __init__(self, shape: GeneratorShape, width: int) -> None:
        super().__init__()
        self.encoder = BeliefEncoder(shape)
        known = shape.summary + shape.context_features
        self.judge = trunk(known + shape.count * shape.size, (2 * width, 2 * width, 2 * width), 2)

    def describe(self, inputs: Inputs) -> Tensor:
        return torch.cat([self.encoder(inputs), inputs.context], dim=-1)

    def forward(self, known: Tensor, parameters: Tensor, floor: Tensor) -> Judgement:
        value, raw = self.judge(torch.cat([known, parameters.flatten(1)], dim=-1)).unbind(-1)
        return Judgement(value, _std(raw), None, None)


def trunk(inputs: int, widths: tuple[int, ...], outputs: int) -> nn.Sequential:
    """Layers with layer normalisation, and a linear one at the end."""
    layers: list[nn.Module] = []
    for width in widths:
        layers += [Linear(inputs, width), nn.LayerNorm(width), nn.ReLU(inplace=True)]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))


def _std(raw: Tensor) -> Tensor:
    return functional.softplus(raw) + _SMALLEST_STD
