"""Symmetries of a task: what is learned from a plan holds for its mirror image, too."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from magic_pomdp.core.learning_hints import Mirror
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.learning.replay import Experience
from magic_pomdp.macros.lengths import LearnedLengths
from magic_pomdp.macros.spaces import MacroSpace
from magic_pomdp.magic.shape import GeneratorShape


def check_mirrors(task: Task, shape: GeneratorShape, space: MacroSpace) -> tuple[Mirror, ...]:
    """The task's mirrors, or a ValueError that says which of their numbers are too many or too few."""
    mirrors = tuple(task.mirrors())
    if isinstance(space, LearnedLengths):  # a mirror image is as long
        mirrors = tuple(mirror._replace(parameter_signs=(*mirror.parameter_signs, 1.0)) for mirror in mirrors)
    for mirror in mirrors:
        for name, count in (
            ("particle_signs", shape.particle_features), ("particle_shifts", shape.particle_features),
            ("context_signs", shape.context_features), ("context_shifts", shape.context_features),
            ("parameter_signs", shape.size),
        ):  # fmt: skip
            given = getattr(mirror, name)
            if len(given) != count and not (name.endswith("shifts") and len(given) == 1):
                raise ValueError(
                    f"The {name} of a mirror of {task_name(task)} must be {count} numbers, not {len(given)}."
                )
    return mirrors


def reflected(experience: Experience, mirrors: Sequence[Mirror], turned: np.ndarray) -> Experience:
    """Experience as it would be with some of its plans in mirrors: `turned`, bool (mirrors, plans), tells which."""
    for mirror, some in zip(mirrors, turned, strict=True):
        experience = replace(
            experience,
            particles=_reflect(experience.particles, some, mirror.particle_signs, mirror.particle_shifts),
            context=_reflect(experience.context, some, mirror.context_signs, mirror.context_shifts),
            parameters=_reflect(experience.parameters, some, mirror.parameter_signs),
        )
    return experience


def _reflect(
    numbers: np.ndarray, turned: np.ndarray, signs: Sequence[float], shifts: Sequence[float] = (0.0,)
) -> np.ndarray:
    """Numbers (plans, …, size) with those of some plans reflected."""
    where = turned.reshape(-1, *[1] * (numbers.ndim - 1))
    return np.where(where, np.asarray(signs, np.float32) * numbers + np.asarray(shifts, np.float32), numbers)
