"""What critic, generator and α descend on: each a small function of tensors, to be minimised."""

import math

import torch
from torch import Tensor

LOG_ALPHA_RANGE = (-12.0, 4.0)
"""log α stays in here."""


def negative_log_likelihood(mean: Tensor, std: Tensor, target: Tensor) -> Tensor:
    """−ln N(target; mean, std²), averaged over all elements."""
    return (0.5 * ((target - mean) / std) ** 2 + torch.log(std)).mean() + 0.5 * math.log(2.0 * math.pi)


def free_entropy(std: Tensor) -> Tensor:
    """Entropy of the normal distribution behind each parameter, *before* it is normalised or clipped.

    It rises and falls with the entropy of the parameters themselves, which has no closed form."""
    return torch.log(std) + 0.5 * math.log(2.0 * math.pi * math.e)


def generator_objective(value: Tensor, entropy: Tensor, alpha: float) -> Tensor:
    """−(the critic's mean + α · entropy), averaged over the batch: value (batch,), entropy (batch, count)."""
    return -(value.mean() + alpha * entropy.mean())


def alpha_objective(log_alpha: Tensor, entropy: float, target: float) -> Tensor:
    """Falls with α where the entropy exceeds its target, and rises where it misses it: the dual of the constraint."""
    return log_alpha * (entropy - target)
