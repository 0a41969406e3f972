"""Checkpoints: everything that a training needs to go on.

Networks, optimisers, α, replay, counters, settings. All chance follows from the seed and these counters, so there is no
state of random generators to keep.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import numpy as np

from magic_pomdp.core.reading import Damaged
from magic_pomdp.learning.question import TrainingQuestion
from magic_pomdp.magic.arrays import load_arrays, save_arrays
from magic_pomdp.results.base import Amount, Count
from magic_pomdp.results.metrics import EvaluationReport

_FORMAT = 2
"""Of the files that are written."""
Check = Callable[[Path, dict[str, np.ndarray], "CheckpointFile"], None]
"""Refuses what a checkpoint holds."""


class CheckpointFile(TrainingQuestion, frozen=True, kw_only=True, tag_field="kind", tag="checkpoint"):
    """What a checkpoint tells beside its arrays."""

    format: int = 1
    """What files of software 0.1.0 do not tell."""
    updates: Count
    plans: Count
    episodes: Count
    """Training episodes begun."""
    seconds: Amount
    """Of training."""
    warmed_up: bool
    """Whether there was enough experience to learn from."""
    warmup: Count | None = None
    """Plans of the warm-up; None for as many as the settings tell."""
    history: tuple[EvaluationReport, ...]
    """Every evaluation."""
    baselines: dict[str, tuple[float, ...]] = msgspec.field(default_factory=dict)
    """What the handcrafted set returned in the episodes of an evaluation, by the name of its purpose."""


def save_checkpoint(folder: Path, arrays: Mapping[str, np.ndarray], about: CheckpointFile, keep: int) -> Path:
    """Write the checkpoint of a training, named after its updates; remove all but the newest few."""
    path = folder / f"checkpoint-{about.updates:09d}-{about.plans:09d}.safetensors"
    save_arrays(path, arrays, msgspec.structs.replace(about, format=_FORMAT))
    others = [other for other in checkpoints(folder) if other != path]  # damaged ones may have a higher number
    for old in others[keep - 1 :]:
        old.unlink(missing_ok=True)
    return path


def load_checkpoint(
    folder: Path, say: Callable[[str], None], check: Check = lambda path, arrays, about: None
) -> tuple[dict[str, np.ndarray], CheckpointFile] | None:
    """The newest checkpoint that can be read and that `check` does not find to be `Damaged`; `say` is told of the
    others. None if there is none."""
    paths = checkpoints(folder)
    for path in paths:
        try:
            arrays, about = _load(path)
            check(path, arrays, about)
        except Damaged as error:
            say(str(error) if path == paths[-1] else f"{error} The one before is used.")
        else:
            return arrays, about
    return None


def _load(path: Path) -> tuple[dict[str, np.ndarray], CheckpointFile]:
    try:
        arrays, about = load_arrays(path, CheckpointFile)
    except ValueError as error:
        raise Damaged(str(error)) from None
    if about.format > _FORMAT:
        raise ValueError(f"{path} was written by a later version of magic-pomdp: update it to go on.")
    return arrays, about


def checkpoints(folder: Path) -> list[Path]:
    """All checkpoints in a folder, the newest first."""
    return sorted(folder.glob("checkpoint-*.safetensors"), reverse=True)
