"""The learner: critic, generator and α, and one update of all three."""

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from magic_pomdp.core.learning_hints import Mirror
from magic_pomdp.core.randomness import stream_key
from magic_pomdp.learning.descent import Descent
from magic_pomdp.learning.mirroring import reflected
from magic_pomdp.learning.networks import FlatCritic, GeneratorNetwork, Normaliser, SetCritic
from magic_pomdp.learning.objectives import (
    LOG_ALPHA_RANGE,
    alpha_objective,
    free_entropy,
    generator_objective,
    negative_log_likelihood,
)
from magic_pomdp.learning.replay import Experience, Replay
from magic_pomdp.learning.settings import TrainSettings
from magic_pomdp.magic.shape import GeneratorShape
from magic_pomdp.results.metrics import Measured

_BEGINNING, _UPDATE = range(2)
"""What a random number of the learner is for."""
_LARGEST_LOG_ALPHA = 700.0
"""In size: α is a finite number."""
_LARGEST_GRADIENT = 1.0
"""Gradients of critic and generator are shortened to this norm."""


class Diverged(Exception):
    """A loss, a gradient or a value is NaN or infinite. The text is one sentence for a person."""


class Learner:
    """Networks, optimisers and α. All chance follows from the seed and the number of the update."""

    def __init__(
        self, shape: GeneratorShape, start: np.ndarray, settings: TrainSettings, mirrors: Sequence[Mirror] = ()
    ) -> None:
        self.shape, self.settings, self.mirrors = shape, settings, mirrors
        self.updates = 0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_seed(settings.seed, _BEGINNING))
            self.normaliser = Normaliser(shape)
            self.generator = GeneratorNetwork(shape, start if settings.start == "handcrafted" else None, settings.std)
            self.critic = (SetCritic if settings.critic == "set" else FlatCritic)(shape, settings.critic_width)
        self.log_alpha = torch.tensor(math.log(settings.alpha))
        self.value_scale = torch.tensor([0.0, 1.0])  # centre and standard deviation of values
        self.target_entropy = float(free_entropy(torch.tensor(settings.std)))
        self._descents = {
            "critic": Descent(self.critic.parameters(), settings.critic_rate),
            "generator": Descent(self.generator.parameters(), settings.generator_rate),
            "alpha": Descent([self.log_alpha], settings.alpha_rate),
        }

    def fit_scales(self, experience: Experience) -> None:
        """Measure the scale of inputs and values, once, before the first update."""
        self.normaliser.fit(experience)
        centre, scale = float(experience.value.mean()), float(experience.value.std())
        self.value_scale = torch.tensor([centre, max(scale, 1e-3 * abs(centre), 1e-6)])

    def update(self, replay: Replay) -> Measured:
        """Learn from a batch; what was measured on the way. Raises Diverged before anything is spoilt."""
        random = torch.Generator().manual_seed(_seed(self.settings.seed, _UPDATE, self.updates))
        rows = torch.randint(len(replay), (self.settings.batch,), generator=random).numpy()
        turned = torch.rand(len(self.mirrors), len(rows), generator=random).numpy() < 0.5
        batch = reflected(replay.rows(rows), self.mirrors, turned)
        inputs = self.normaliser(torch.from_numpy(batch.particles), torch.from_numpy(batch.context))
        centre, scale = self.value_scale
        value = (torch.from_numpy(batch.value) - centre) / scale
        values = (torch.from_numpy(batch.values) - centre) / scale
        floor = (torch.from_numpy(batch.floor) - centre) / scale

        known = self.critic.describe(inputs)
        judged = self.critic(known, torch.from_numpy(batch.parameters), floor)
        critic_loss = negative_log_likelihood(judged.value, judged.value_std, value)
        if judged.values is not None:
            critic_loss = critic_loss + negative_log_likelihood(judged.values, judged.values_std, values)
        self._descend("critic", critic_loss)

        parameters, std = self.generator.sample(inputs, random)
        entropy, alpha = free_entropy(std), math.exp(self.log_alpha.item())
        with self._descents["critic"].frozen():  # what is known was described one update ago, at half the cost
            expected = self.critic(known.detach(), parameters, floor).value
        self._descend("generator", generator_objective(expected, entropy, alpha))

        mean_entropy = float(entropy.mean().item())
        of_alpha = alpha_objective(self.log_alpha, mean_entropy, self.target_entropy)
        self._step("alpha", of_alpha, torch.tensor([mean_entropy - self.target_entropy]))
        self.log_alpha.clamp_(*LOG_ALPHA_RANGE)
        self.updates += 1
        return Measured(
            critic_loss=critic_loss.item(),
            critic_error=float((judged.value - value).abs().mean().item() * scale),
            expected_value=float(expected.mean().item() * scale + centre),
            entropy=mean_entropy,
            std=float(std.mean().item()),
            alpha=alpha,
        )

    def _descend(self, name: str, objective: Tensor) -> None:
        self._step(name, objective, self._descents[name].gradient(objective))

    def _step(self, name: str, objective: Tensor, gradient: Tensor) -> None:
        """One step down an objective whose gradient is known."""
        length = torch.linalg.vector_norm(gradient).item()
        if not (math.isfinite(objective.item()) and math.isfinite(length)):
            raise Diverged(
                f"The {name}'s objective is {objective.item()}, and its gradient {length}, in update {self.updates}."
            )
        self._descents[name].step(gradient / max(1.0, length / _LARGEST_GRADIENT))

    # --------------------------------------------------------------------------------------------------- in and out

    def generator_arrays(self) -> dict[str, np.ndarray]:
        """The arrays that `GeneratorShape.layout` names."""
        named = {f"normaliser.{name}": value for name, value in self.normaliser.state_dict().items()}
        named |= self.generator.state_dict()
        return {name: value.detach().numpy().copy() for name, value in named.items()}

    def generator_vector(self) -> np.ndarray:
        """The generator as the vector of weights that `Generator` runs."""
        return self.shape.pack(self.generator_arrays())

    def state(self) -> dict[str, np.ndarray]:
        """Everything that changes during training, by name."""
        tensors: dict[str, Tensor] = {"log_alpha": self.log_alpha, "value_scale": self.value_scale}
        for part in ("normaliser", "generator", "critic"):
            module: nn.Module = getattr(self, part)
            tensors |= {f"{part}.{name}": value for name, value in module.state_dict().items()}
        for name, descent in self._descents.items():
            tensors |= {f"optimiser.{name}.{path}": value for path, value in descent.state().items()}
        return {name: tensor.detach().numpy() for name, tensor in tensors.items()}

    def state_shapes(self, names: Collection[str]) -> dict[str, tuple[int, ...]]:
        """The shapes of what a checkpoint that has arrays of these names keeps of a learner like this one. What an
        optimiser knows of a weight is there as a whole, or not at all: some weights are never used."""
        shapes = {name: array.shape for name, array in self.state().items() if not name.startswith("optimiser.")}
        for optimiser, descent in self._descents.items():
            for i, weight in enumerate(descent.weights):
                moments = {"step": (), "exp_avg": weight.shape, "exp_avg_sq": weight.shape}
                named = {f"optimiser.{optimiser}.{i}.{key}": tuple(shape) for key, shape in moments.items()}
                shapes |= named if named.keys() & set(names) else {}
        return shapes

    def cannot_restore(self, arrays: Mapping[str, np.ndarray]) -> str:
        """Why nothing could be learned from there on, "" if it could: numbers that are divided by, or whose root is
        taken, must allow that."""
        for name in (*self.shape.divisors(), *(name for name in arrays if name.endswith(".step"))):
            if arrays[name].min(initial=1.0) <= 0.0:
                return f"the array {name} must be positive"
        for name in arrays:
            if name.endswith(".exp_avg_sq") and arrays[name].min(initial=0.0) < 0.0:
                return f"the array {name} must not be negative"
        if arrays["value_scale"][1] <= 0.0:
            return f"the scale of values is {arrays['value_scale'][1]}"
        if abs(arrays["log_alpha"]) > _LARGEST_LOG_ALPHA:
            return f"log α is {arrays['log_alpha']}"
        return ""

    def restore(self, arrays: Mapping[str, np.ndarray], updates: int) -> None:
        """Be as the learner was whose `state` this is, and which had made so many updates."""
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        self.value_scale = tensors["value_scale"]
        self.log_alpha.copy_(tensors["log_alpha"])
        for part in ("normaliser", "generator", "critic"):
            getattr(self, part).load_state_dict(_below(tensors, f"{part}."))
        for name, descent in self._descents.items():
            descent.restore(_below(tensors, f"optimiser.{name}."))
        self.updates = updates


def _below(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _seed(*path: int) -> int:
    return int(stream_key(*path)) & 0x7FFFFFFFFFFFFFFF
