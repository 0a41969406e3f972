"""Stairs: curves in the plane for a robot that moves along the two axes only."""

from dataclasses import dataclass, replace

import numpy as np

from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.macros.spaces import BezierSpace, SpaceDescription


def stairs(headings: np.ndarray) -> np.ndarray:
    """Moves along the axes that stay as near as they can to where some headings lead: of each heading there is one unit
    vector along an axis; both of shape (count, length, 2). Zero vectors are taken for a heading along x."""
    sizes = np.abs(headings).sum(axis=2, keepdims=True)
    wanted = np.cumsum(np.where(sizes > 0.0, headings / np.where(sizes > 0.0, sizes, 1.0), (1.0, 0.0)), axis=1)
    moves, done, rows = np.zeros(headings.shape), np.zeros((len(headings), 2)), np.arange(len(headings))
    for i in range(headings.shape[1]):
        missing = wanted[:, i] - done
        axis = (np.abs(missing[:, 1]) > np.abs(missing[:, 0]) + 1e-9).astype(int)  # the first of equals
        moves[rows, i, axis] = np.where(missing[rows, axis] < 0.0, -1.0, 1.0)
        done += moves[:, i]
    return moves


@dataclass(frozen=True)
class StairSpace(BezierSpace):
    """Curves in the plane, each cut into stairs: unit vectors along the axes are the moves of a macro-action."""

    def decode(self, parameters: np.ndarray) -> MacroActions:
        curves = super().decode(parameters)
        return replace(curves, actions=stairs(curves.actions))

    def describe(self) -> SpaceDescription:
        return {**super().describe(), "space": "stairs"}
