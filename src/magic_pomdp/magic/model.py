"""Trained generators as files: a model is one safetensors file of a generator's arrays, with its card inside."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from magic_pomdp import __version__
from magic_pomdp.core.places import nearest
from magic_pomdp.core.randomness import check_seed
from magic_pomdp.core.reading import Damaged, in_short
from magic_pomdp.core.settings import SettingValue
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.macros.lengths import space_of_lengths
from magic_pomdp.macros.spaces import MacroSpace, SpaceDescription, check_length
from magic_pomdp.magic.arrays import check_arrays, load_arrays, save_arrays
from magic_pomdp.magic.shape import MOST_WEIGHTS, GeneratorShape, feature_sizes
from magic_pomdp.planners.settings import CannotPlan
from magic_pomdp.results.base import Amount, Count, Plain, Share

SEARCHING = ("default_policy", "scenarios", "search_depth", "discount", "second_look", "refine")
"""Settings of the search that a training may set otherwise than the task advises; its model's card tells them."""
_FORMAT = 2
"""Of the files that are written; those of software 0.1.0 tell none."""
_MOST_BYTES = 4 * MOST_WEIGHTS + 2**20
"""Of a file: all weights, and a card."""
_FOLDER = Path(__file__).parents[1] / "models"
"""Where the models are that come with the package."""


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """What a generator returned in an evaluation."""

    return_mean: float
    return_stderr: Amount
    success_rate: Share
    episodes: Count
    plan_steps: Count
    """Budget of a plan, in primitive steps."""
    concurrent: bool = False
    """Whether each macro-action was planned while the one before it was carried out."""


class ModelCard(msgspec.Struct, frozen=True, kw_only=True):
    """How a generator was trained, and what it scored."""

    task: str
    task_parameters: dict[str, Plain]
    space: SpaceDescription
    """The macro-action space that it fills."""
    settings: dict[str, SettingValue]
    """Of the training."""
    software: str = msgspec.field(name="version", default=__version__)
    """The version of magic-pomdp that trained it."""
    command: str
    seed: int
    minutes: Amount | None
    """Of training; None where nothing but counters decides: then the same seed gives the same file."""
    updates: Count
    plans: Count
    score: Score
    """In episodes that had no part in choosing it, if there were any."""
    chosen_by: Score
    """The evaluation by which it was chosen."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        length = self.space.get("length")
        if not isinstance(length, int):
            raise ValueError("the macro-action space has no length")
        check_length(length)


class ModelFile(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="model"):
    """What a model's file tells beside its arrays."""

    version: int = 1
    """Of the format; what older files do not tell."""
    shape: GeneratorShape
    card: ModelCard


@dataclass(frozen=True)
class Model:
    """A trained generator and what is known about it."""

    name: str
    """Where it came from: the name of a model that ships, or a file's."""
    shape: GeneratorShape
    weights: np.ndarray
    card: ModelCard

    @property
    def label(self) -> str:
        """What results call it: where it came from, in short, and a fingerprint of its weights. A file that was trained
        further has another one."""
        place = "/".join(Path(self.name.removesuffix(".safetensors")).parts[-2:])
        return f"{place} {hashlib.blake2b(self.weights.tobytes(), digest_size=4).hexdigest()}"

    @property
    def searching(self) -> dict[str, SettingValue]:
        """How it was trained to be searched with, where that is not as the task advises: settings by name."""
        known = self.card.settings
        return {name: known[name] for name in SEARCHING if known.get(name) is not None}

    @property
    def macro_length(self) -> int:
        """Length of the macro-actions that it makes."""
        return int(self.card.space["length"])  # type: ignore[arg-type]

    def space_for(self, task: Task) -> MacroSpace:
        """The macro-action space of a task that this model fills, or a ValueError that says why it does not fit."""
        if self.card.task != task_name(task):
            known = in_short(self.card.task)
            raise ValueError(f"The model {self.name} was trained for {known}, not for {task_name(task)}.")
        lengths = self.card.space.get("lengths", [])
        assert isinstance(lengths, list)
        space = space_of_lengths(task, self.macro_length, tuple(int(length) for length in lengths))
        if space.describe() != self.card.space:
            raise ValueError(
                f"The model {self.name} fills the macro-action space {_words(self.card.space)}, but that of "
                f"{self.card.task} is {_words(space.describe())}."
            )
        made = (self.shape.count, self.shape.size, self.shape.kind)
        if made != (space.count, space.size, space.kind):
            raise ValueError(
                f"The model {self.name} makes {made[0]} × {made[1]} parameters in a {made[2]}, but {self.card.task} "
                f"needs {space.count} × {space.size} in a {space.kind}."
            )
        seen = (self.shape.particle_features, self.shape.context_features)
        there = feature_sizes(task, self.shape.inputs)
        if seen != there:
            raise ValueError(
                f"The model {self.name} was trained with {seen[0]} features of a particle and {seen[1]} of the "
                f"context, but {self.card.task} now has {there[0]} and {there[1]}."
            )
        return space


def save_model(path: Path, shape: GeneratorShape, arrays: Mapping[str, np.ndarray], card: ModelCard) -> None:
    """Write a model: the arrays that the shape's layout names, and the card."""
    named = {name: np.asarray(arrays[name], np.float32) for name in shape.layout()}
    save_arrays(path, named, ModelFile(version=_FORMAT, shape=shape, card=card))


def load_model(model: str | Path) -> Model:
    """A model by the name of one that ships, or by its file."""
    path = Path(model)
    shipped = _FOLDER / f"{model}.safetensors"
    if not path.suffix and not path.is_file():
        if not shipped.is_file():
            names = [known.stem for known in shipped_models()]
            there = f"there are {', '.join(names)}" if names else "none ships yet"
            raise ValueError(
                f"There is no model {str(model)!r}{nearest(str(model), names)}: {there}; one of your own is named by "
                "its file, such as run/best.safetensors."
            )
        path = shipped
    arrays, about = read_model(path)
    name = path.stem if path.parent == _FOLDER else str(path)
    return Model(name, about.shape, about.shape.pack(arrays), about.card)


def read_model(path: Path) -> tuple[dict[str, np.ndarray], ModelFile]:
    """The arrays of a model's file and what it tells of them, or a ValueError that says why it cannot be used."""
    arrays, about = load_arrays(path, ModelFile, _MOST_BYTES)
    if about.version > _FORMAT:
        raise ValueError(
            f"The model {path} is of format {about.version}, and this version reads formats up to {_FORMAT}: update "
            "magic-pomdp."
        )
    check_arrays(path, arrays, about.shape.layout())
    for name in about.shape.divisors():
        if arrays[name].min(initial=1.0) <= 0.0:
            raise Damaged(f"{path} is damaged: the array {name} must be positive.")
    return arrays, about


def shipped_models() -> list[Path]:
    """The files of all models that come with the package."""
    return sorted(_FOLDER.glob("*.safetensors"))


def find_model(task: Task, model: str | Path = "") -> Model:
    """A model by name or file; without either the best one that ships for a task."""
    if model:
        return load_model(model)
    fitting = [known for known in map(_shipped, shipped_models()) if known.card.task == task_name(task)]
    if not fitting:
        raise CannotPlan(
            f"No trained generator ships for {task_name(task)}: make one with `magic-pomdp train`, and name its file "
            "as the model."
        )
    return max(fitting, key=lambda model: model.card.score.return_mean)


@cache
def _shipped(path: Path) -> Model:
    """A model that comes with the package, and so does not change."""
    return load_model(path)


def _words(space: SpaceDescription) -> str:
    return in_short(", ".join(in_short(f"{name} {value}", 60) for name, value in space.items()), 600)
