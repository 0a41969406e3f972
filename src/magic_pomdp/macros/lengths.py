"""Macro-actions of learned lengths, in any space: the shapes come from the space, and one more number of each
macro-action tells how much of its shape is used."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.task import Task
from magic_pomdp.macros.spaces import Kind, MacroSpace, SpaceDescription, check_length


@dataclass(frozen=True)
class LearnedLengths:
    """The macro-actions of a space once for each of some lengths to set out from; every one of them is free to become
    longer, up to the length of the space, or shorter, down to a single action.

    The last parameter of a macro-action is its length, from −1 for one action to 1 for all of them. It grows by
    factors: from 1 to 2 is as far as from 8 to 16. A shorter macro-action is the beginning of a longer one.
    """

    shapes: MacroSpace
    lengths: tuple[int, ...]
    """Of the handcrafted macro-actions, from which learning sets out."""

    def __post_init__(self) -> None:
        if not self.lengths:
            raise ValueError("Learned lengths need at least one length to set out from.")
        for length in self.lengths:
            check_length(length)
            if length > self.shapes.length:
                raise ValueError(f"A macro-action of length {length} is longer than the longest, {self.shapes.length}.")

    @property
    def kind(self) -> Kind:
        return "box" if self.shapes.kind == "box" else "sphere and length"

    @property
    def count(self) -> int:
        return self.shapes.count * len(self.lengths)

    @property
    def size(self) -> int:
        return self.shapes.size + 1

    @property
    def length(self) -> int:
        return self.shapes.length

    @cached_property
    def start(self) -> np.ndarray:
        numbers = [length_number(length, self.length) for length in self.lengths]
        blocks = [np.column_stack([self.shapes.start, np.full(self.shapes.count, number)]) for number in numbers]
        return np.concatenate(blocks)

    def decode(self, parameters: np.ndarray) -> MacroActions:
        parameters = np.asarray(parameters, dtype=np.float64)
        if parameters.shape != (self.count, self.size):
            raise ValueError(
                f"The parameters of learned lengths have shape ({self.count}, {self.size}), not {parameters.shape}."
            )
        each = self.shapes.count
        blocks = [self.shapes.decode(shapes) for shapes in parameters[:, :-1].reshape(-1, each, self.size - 1)]
        always = blocks[0]
        used = np.rint(self.length ** (0.5 + 0.5 * parameters[:, -1].clip(-1.0, 1.0))).astype(np.int64)
        own = np.concatenate([block.lengths[:each] for block in blocks])
        return MacroActions(
            np.concatenate([*(block.actions[:each] for block in blocks), always.actions[each:]]),
            np.concatenate([np.minimum(used, own), always.lengths[each:]]),
            self.count if always.first_only else 0,
        )

    def describe(self) -> SpaceDescription:
        own: SpaceDescription = {
            "count": self.count,
            "size": self.size,
            "lengths": [float(length) for length in self.lengths],
        }
        return {**self.shapes.describe(), **own}


def space_of_lengths(task: Task, longest: int, lengths: tuple[int, ...]) -> MacroSpace:
    """A task's macro-action space with lengths to learn, which set out from some; without any, of a fixed length."""
    space = task.macro_space(longest)
    return LearnedLengths(space, lengths) if lengths else space


def length_number(length: int, longest: int) -> float:
    """The parameter that stands for a length."""
    return 2.0 * math.log(length) / math.log(longest) - 1.0 if longest > 1 else 1.0
