"""Adam on all weights of a network at once: they lie behind each other in one vector.

A network has two dozen tensors, and for most of them a step would take longer to begin than to do.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

_MEMORY, _MEMORY_OF_SQUARES = 0.9, 0.999
"""Of a moment, what is left of it in the next step: Adam's β."""
_SMALLEST = 1e-8
"""Added to what a step is divided by."""


class Descent:
    """Adam. The weights that it is made for share one vector from then on."""

    def __init__(self, weights: Iterable[Tensor], rate: float) -> None:
        self.weights, self.rate = list(weights), rate
        self._steps = 0
        self._vector = _joined(self.weights)
        self._moment, self._moment_of_squares = torch.zeros_like(self._vector), torch.zeros_like(self._vector)
        for weight, part in zip(self.weights, self._parts(self._vector), strict=True):
            weight.data = part

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """What is computed meanwhile has no gradients by these weights."""
        for weight in self.weights:
            weight.requires_grad_(False)
        yield
        for weight in self.weights:
            weight.requires_grad_(True)

    def gradient(self, objective: Tensor) -> Tensor:
        """Of an objective by the vector. No other gradients are computed."""
        return _joined(torch.autograd.grad(objective, self.weights))

    def step(self, gradient: Tensor) -> None:
        """One step against a gradient."""
        self._steps += 1
        self._moment.lerp_(gradient, 1.0 - _MEMORY)
        self._moment_of_squares.lerp_(gradient.square(), 1.0 - _MEMORY_OF_SQUARES)
        size = self._moment_of_squares.sqrt().div_((1.0 - _MEMORY_OF_SQUARES**self._steps) ** 0.5).add_(_SMALLEST)
        self._vector.addcdiv_(self._moment, size, value=-self.rate / (1.0 - _MEMORY**self._steps))

    def state(self) -> dict[str, Tensor]:
        """What it remembers, by the number of a weight and the name that torch's Adam has for it: nothing before the
        first step."""
        if self._steps == 0:
            return {}
        named: dict[str, Tensor] = {}
        moments = zip(self._parts(self._moment), self._parts(self._moment_of_squares), strict=True)
        for i, (moment, of_squares) in enumerate(moments):
            named |= {f"{i}.step": torch.tensor(float(self._steps))}
            named |= {f"{i}.exp_avg": moment, f"{i}.exp_avg_sq": of_squares}
        return named

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Remember what the one did whose `state` this is. A weight that is missing there has had no gradient yet."""
        self._steps = max((int(moment) for name, moment in state.items() if name.endswith(".step")), default=0)
        for name, vector in (("exp_avg", self._moment), ("exp_avg_sq", self._moment_of_squares)):
            for i, part in enumerate(self._parts(vector)):
                part.copy_(state.get(f"{i}.{name}", torch.zeros(())))

    def _parts(self, vector: Tensor) -> list[Tensor]:
        """The part of each weight in a vector of all."""
        parts = torch.split(vector, [weight.numel() for weight in self.weights])
        return [part.view(weight.shape) for part, weight in zip(parts, self.weights, strict=True)]


def _joined(tensors: Iterable[Tensor]) -> Tensor:
    return torch.cat([tensor.detach().flatten() for tensor in tensors])
