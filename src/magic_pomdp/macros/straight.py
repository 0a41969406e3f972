"""Straight lines: the handcrafted macro-actions of the tasks that move in the plane."""

import numpy as np


def directions(headings: np.ndarray) -> np.ndarray:
    """Unit vectors of headings in radians: shape (…) → (…, 2)."""
    return np.stack([np.cos(headings), np.sin(headings)], axis=-1)


def compass(count: int = 8) -> np.ndarray:
    """Unit vectors of `count` evenly spread headings, the first along x; shape (count, 2)."""
    return directions(np.arange(count) * (2.0 * np.pi / count))
