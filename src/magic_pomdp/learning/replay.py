"""What was experienced lately, in arrays of a fixed size."""

from dataclasses import dataclass

import numpy as np

from magic_pomdp.magic.shape import GeneratorShape


@dataclass(frozen=True)
class Experience:
    """Plans in a row, float32: what the networks saw, the parameters that were chosen, and what the planner made of
    them."""

    particles: np.ndarray
    """(plans, particles, particle_features)."""
    context: np.ndarray
    """(plans, context_features)."""
    parameters: np.ndarray
    """(plans, count, size)."""
    value: np.ndarray
    """(plans,): the search's value of the set."""
    values: np.ndarray
    """(plans, count): the search's value of each macro-action that the parameters are of."""
    floor: np.ndarray
    """(plans,): the search's value of the best macro-action that is there whatever the parameters; −∞ if none is."""

    def __len__(self) -> int:
        return len(self.value)

    @staticmethod
    def shapes(shape: GeneratorShape) -> dict[str, tuple[int, ...]]:
        """The shape of one plan's part of each array."""
        return {
            "particles": (shape.particles, shape.particle_features),
            "context": (shape.context_features,),
            "parameters": (shape.count, shape.size),
            "value": (),
            "values": (shape.count,),
            "floor": (),
        }


class Replay:
    """A ring of the newest plans: a full one forgets the oldest."""

    def __init__(self, shape: GeneratorShape, capacity: int) -> None:
        self.capacity = capacity
        self.added = 0
        """Plans ever added."""
        self.arrays = {name: np.zeros((capacity, *size), np.float32) for name, size in Experience.shapes(shape).items()}

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, experience: Experience) -> None:
        """Keep all plans of an experience, in order."""
        rows = (self.added + np.arange(len(experience))) % self.capacity
        for name, array in self.arrays.items():
            array[rows] = getattr(experience, name)
        self.added += len(experience)

    def rows(self, indices: np.ndarray) -> Experience:
        """The plans at some rows."""
        return Experience(**{name: array[indices] for name, array in self.arrays.items()})

    def all(self) -> Experience:
        """Every plan that is kept."""
        return Experience(**{name: array[: len(self)] for name, array in self.arrays.items()})

    def state(self) -> dict[str, np.ndarray]:
        """What a checkpoint keeps of it."""
        return {f"replay.{name}": array[: len(self)] for name, array in self.arrays.items()}

    def state_shapes(self, added: int) -> dict[str, tuple[int, ...]]:
        """The shapes of what a checkpoint keeps of a replay that has added so many."""
        count = min(added, self.capacity)
        return {f"replay.{name}": (count, *array.shape[1:]) for name, array in self.arrays.items()}

    def restore(self, arrays: dict[str, np.ndarray], added: int) -> None:
        """Be as the replay was whose `state` this is, and which had added so many."""
        count = min(added, self.capacity)
        for name, array in self.arrays.items():
            array[:count] = arrays[f"replay.{name}"]
        self.added = added
