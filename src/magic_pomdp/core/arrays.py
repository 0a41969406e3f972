"""Arrays that come from outside, as kernels take them, or a sentence that says what is wrong."""

from collections.abc import Mapping

import numpy as np

from magic_pomdp.core.macro_actions import plain_array
from magic_pomdp.core.task import Task, task_name


def check_vector(values: np.ndarray, size: int, what: str) -> np.ndarray:
    """`values` as float64 of shape (size,), or a ValueError that says what is wrong."""
    try:
        vector = plain_array(values)
    except (TypeError, ValueError):
        raise ValueError(f"The {what} must be an array of {size} numbers, not {values!r}.") from None
    if vector.shape != (size,):
        raise ValueError(f"The {what} must have shape ({size},), but has shape {vector.shape}.")
    if not np.isfinite(vector).all():
        raise ValueError(f"The {what} contains NaN or infinity: {vector.tolist()}.")
    return vector


def check_particles(task: Task, particles: np.ndarray) -> np.ndarray:
    """`particles` as float64 of shape (n, state_size), or a ValueError that says what is wrong."""
    particles = plain_array(particles)
    if particles.ndim != 2 or particles.shape[1] != task.state_size:
        raise ValueError(
            f"A belief of {task_name(task)} is an array (particles, {task.state_size}), but this one has shape "
            f"{particles.shape}."
        )
    if len(particles) == 0:
        raise ValueError("The belief has no particles: give at least one.")
    if np.isfinite(particles.sum()):  # then all of them are, and this is ten times as fast to tell
        return particles
    bad = ~np.isfinite(particles).all(axis=1)
    if bad.any():
        raise ValueError(f"The belief contains NaN or infinity in {bad.sum()} of its {len(particles)} particles.")
    return particles


def stored_length(arrays: Mapping[str, np.ndarray], name: str) -> int:
    """Rows of an array; none if it has none, or is missing."""
    return len(arrays[name]) if name in arrays and arrays[name].ndim > 0 else 0


def check_stored(
    arrays: Mapping[str, np.ndarray], name: str, kind: type, shape: tuple[int, ...], missing: bool = False
) -> None:
    """A ValueError unless there is such an array of finite numbers; rows of NaN stand for what may be `missing`."""
    array = arrays.get(name)
    if array is None or array.dtype != kind or array.shape != shape:
        found = "missing" if array is None else f"{array.dtype} of shape {array.shape}"
        raise ValueError(f"The stored belief's {name} must be {np.dtype(kind)} of shape {shape}, but is {found}.")
    rows = array.reshape(-1, shape[-1]) if missing else array
    wrong = ~np.isfinite(rows)
    if missing:
        wrong &= ~np.isnan(rows).all(axis=1, keepdims=True)
    if wrong.any():
        raise ValueError(f"The stored belief's {name} contains NaN or infinity.")
