"""A set of macro-actions: what a planner chooses among."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import numpy.typing as npt


def plain_array(values: npt.ArrayLike, dtype: type = np.float64) -> np.ndarray:
    """An array of the one kind that kernels are compiled for: contiguous and writeable; a copy if need be."""
    return np.require(values, dtype, ["C_CONTIGUOUS", "ALIGNED", "WRITEABLE"])


@dataclass(frozen=True, eq=False)
class MacroActions:
    """Open-loop sequences of primitive actions, each of its own length."""

    actions: np.ndarray
    """float64 (count, longest, action_size); entries beyond a macro-action's length are unused."""
    lengths: np.ndarray
    """int64 (count,), each between 1 and `longest`."""
    first_only: int = 0
    """So many of them, the first of the set, are only for the first choice of a plan; what may follow is the rest."""

    def __post_init__(self) -> None:
        actions, lengths = plain_array(self.actions), plain_array(self.lengths, np.int64)
        object.__setattr__(self, "actions", actions)
        object.__setattr__(self, "lengths", lengths)
        if actions.ndim != 3:
            raise ValueError(
                f"A macro-action set is an array (count, length, action_size), but this one has shape {actions.shape}."
            )
        if actions.shape[0] == 0:
            raise ValueError("The macro-action set is empty: give at least one macro-action.")
        if lengths.shape != (actions.shape[0],):
            raise ValueError(
                f"{actions.shape[0]} macro-actions need as many lengths, but `lengths` has shape {lengths.shape}."
            )
        if lengths.min() < 1 or lengths.max() > actions.shape[1]:
            raise ValueError(
                f"Every macro-action's length must be between 1 and {actions.shape[1]}, "
                f"but the lengths are {lengths.tolist()}."
            )
        if not isinstance(self.first_only, Integral) or not 0 <= self.first_only < actions.shape[0]:
            raise ValueError(
                f"Of {actions.shape[0]} macro-actions, 0 to {actions.shape[0] - 1} can be for the first choice alone, "
                f"not {self.first_only}."
            )
        object.__setattr__(self, "first_only", int(self.first_only))
        used = np.arange(actions.shape[1]) < lengths[:, None]
        if not np.isfinite(actions[used]).all():
            raise ValueError("The macro-action set contains NaN or infinity: every primitive action must be finite.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MacroActions):
            return NotImplemented
        same = np.array_equal(self.actions, other.actions) and np.array_equal(self.lengths, other.lengths)
        return same and self.first_only == other.first_only

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.lengths)

    @staticmethod
    def repeat(actions: np.ndarray, length: int) -> "MacroActions":
        """One macro-action for every primitive action: the action, `length` times; actions (count, action_size)."""
        if length < 1:
            raise ValueError(f"A macro-action has at least length 1, not {length}.")
        actions = np.asarray(actions, dtype=np.float64)
        if actions.ndim != 2:
            raise ValueError(f"Actions are an array (count, action_size), but these have shape {actions.shape}.")
        return MacroActions(np.repeat(actions[:, None, :], length, axis=1), np.full(len(actions), length))

    @staticmethod
    def union(sets: "Sequence[MacroActions]") -> "MacroActions":
        """All macro-actions of several sets, in order; those that are there already are left out."""
        sequences: dict[bytes, np.ndarray] = {}
        for each in sets:
            for actions, length in zip(each.actions, each.lengths, strict=True):
                sequences.setdefault(actions[:length].tobytes(), actions[:length])
        longest = max(map(len, sequences.values()))
        padded = np.zeros((len(sequences), longest, sets[0].actions.shape[2]))
        for row, sequence in zip(padded, sequences.values(), strict=True):
            row[: len(sequence)] = sequence
        return MacroActions(padded, np.array([len(sequence) for sequence in sequences.values()]))

    def before(self, others: "MacroActions") -> "MacroActions":
        """These for the first choice of a plan alone, and then those of another set as they are there."""
        longest = max(self.actions.shape[1], others.actions.shape[1])
        actions = np.zeros((len(self) + len(others), longest, others.actions.shape[2]))
        actions[: len(self), : self.actions.shape[1]] = self.actions
        actions[len(self) :, : others.actions.shape[1]] = others.actions
        return MacroActions(actions, np.concatenate([self.lengths, others.lengths]), len(self) + others.first_only)

    def add(self, sequence: np.ndarray) -> "MacroActions":
        """This set and one more macro-action, of any length; sequence (length, action_size)."""
        sequence = np.atleast_2d(np.asarray(sequence, dtype=np.float64))
        longest = max(self.actions.shape[1], len(sequence))
        actions = np.zeros((len(self) + 1, longest, self.actions.shape[2]))
        actions[:-1, : self.actions.shape[1]] = self.actions
        actions[-1, : len(sequence)] = sequence
        return MacroActions(actions, np.append(self.lengths, len(sequence)), self.first_only)
