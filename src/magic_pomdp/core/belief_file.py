"""A belief on disk: what its arrays must be."""

from collections.abc import Mapping

import numpy as np

from magic_pomdp.core.arrays import check_stored, stored_length
from magic_pomdp.core.task import Task


def check_belief_arrays(task: Task, arrays: Mapping[str, np.ndarray]) -> None:
    """A ValueError that says what is wrong with the arrays of a stored belief."""
    length, count = stored_length(arrays, "actions"), stored_length(arrays, "contexts")
    particles = stored_length(arrays, "particles")
    before = particles if stored_length(arrays, "before_ignored") > 0 else 0
    check_stored(arrays, "particles", np.float64, (particles, task.state_size))
    check_stored(arrays, "before_ignored", np.float64, (before, task.state_size))
    check_stored(arrays, "surprise", np.float64, (1,))
    check_stored(arrays, "numbers", np.uint64, (6,))
    check_stored(arrays, "contexts", np.float64, (max(1, count), task.context_size))
    check_stored(arrays, "context_of", np.int64, (length,))
    check_stored(arrays, "was_ignored", np.bool_, (length,))
    check_stored(arrays, "actions", np.float64, (length, task.action_size))
    check_stored(arrays, "observations", np.float64, (length, task.observation_size), missing=True)
    check_stored(arrays, "first_observation", np.float64, (task.observation_size,), missing=True)
    check_stored(arrays, "context", np.float64, (task.context_size,))
    if not ((arrays["context_of"] >= 0) & (arrays["context_of"] < count)).all():
        raise ValueError("The stored belief was in contexts that are not stored.")
    if before > 0 and arrays["numbers"][-1] >= length:
        raise ValueError("The stored belief has ignored what is not in its past.")


def as_seen(observation: np.ndarray) -> np.ndarray | None:
    """An observation as it is stored; NaN is none."""
    return None if np.isnan(observation).all() else observation.copy()
