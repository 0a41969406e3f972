"""Variations of macro-actions: others that are nearly the same, made in the space that the macro-actions come from."""

from dataclasses import dataclass

import numpy as np

from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.task import Task
from magic_pomdp.macros.lengths import space_of_lengths
from magic_pomdp.macros.spaces import MacroSpace, place

_SAME = 1e-9
"""How much the numbers of two macro-actions may differ that are the same."""
_FIXED = -1
"""The row of a macro-action that does not come from the space."""


@dataclass(frozen=True, eq=False)
class Variations:
    """How a macro-action set can be varied: the space, and the parameters in it that its macro-actions have."""

    space: MacroSpace
    parameters: np.ndarray
    """Shape (count, size)."""
    rows: np.ndarray
    """For each macro-action of the set, which row of the parameters is its; −1 if it has none, and stays as it is."""

    @classmethod
    def of_parameters(cls, space: MacroSpace, parameters: np.ndarray, macro_actions: MacroActions) -> "Variations":
        """Of what the space has made of parameters: macro-actions that are always there come last, and stay as they
        are."""
        rows = np.arange(len(macro_actions))
        return cls(space, parameters, np.where(rows < len(parameters), rows, _FIXED))

    @classmethod
    def of_set(cls, task: Task, macro_actions: MacroActions) -> "Variations":
        """Of a handcrafted set: those of its macro-actions from which learning would set out."""
        lengths = tuple(sorted(set(macro_actions.lengths.tolist()), reverse=True))
        space = space_of_lengths(task, lengths[0], lengths if len(lengths) > 1 else ())
        known = space.decode(space.start)
        rows = [
            next((row for row in range(space.count) if _same(known, row, sequence[:length])), _FIXED)
            for sequence, length in zip(macro_actions.actions, macro_actions.lengths, strict=True)
        ]
        return cls(space, space.start, np.array(rows))

    def around(self, chosen: np.ndarray, noise: np.ndarray) -> MacroActions:
        """Variations of the macro-actions with these numbers: noise, shape (len(chosen), size), is added to their
        parameters."""
        varied = place(self.parameters[self.rows[chosen]] + noise, self.space.kind)
        count, each = len(varied), self.space.count
        padded = np.concatenate([varied, np.repeat(varied[:1], -count % each, axis=0)])
        decoded = [self.space.decode(block) for block in padded.reshape(-1, each, self.space.size)]
        actions = np.concatenate([block.actions[:each, : self.space.length] for block in decoded])
        lengths = np.concatenate([block.lengths[:each] for block in decoded])
        return MacroActions(actions[:count], lengths[:count])


def _same(known: MacroActions, row: int, sequence: np.ndarray) -> bool:
    length = known.lengths[row]
    return length == len(sequence) and bool(np.abs(known.actions[row, :length] - sequence).max() < _SAME)
