"""Trained generators as files: a model is one safetensors file of a generator's arrays, with its card inside."""

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from magic_pomdp import __version__
from magic_pomdp.core.registry import nearest
from magic_pomdp.core.task import Task
from magic_pomdp.learning.checkpoint import load_arrays, save_arrays
from magic_pomdp.learning.generator import Generator, GeneratorShape
from magic_pomdp.macros.spaces import MacroSpace

MODEL = "model"
SHIPPED = Path(__file__).parents[1] / "models"
"""Where the models are that come with the package."""


@dataclass(frozen=True)
class Model:
    """A trained generator and what is known about it."""

    name: str
    """Where it came from: the name of a model that ships, or a file's."""
    shape: GeneratorShape
    weights: np.ndarray
    card: dict[str, Any]
    """How it was trained (task, macro length, command, seed, minutes, updates, version) and what it scored."""

    @property
    def label(self) -> str:
        """What results call it: where it came from, in short, and a fingerprint of its weights. A file that was trained
        further has another one."""
        place = "/".join(Path(self.name.removesuffix(".safetensors")).parts[-2:])
        return f"{place} {hashlib.blake2b(self.weights.tobytes(), digest_size=4).hexdigest()}"

    @property
    def task(self) -> str:
        return self.card["task"]

    @property
    def macro_length(self) -> int:
        return self.card["space"]["length"]

    def generator(self) -> Generator:
        """The generator, ready to run."""
        return Generator(self.shape, self.weights)

    def space_for(self, task: Task, length: int | None = None) -> MacroSpace:
        """The macro-action space of a task that this model fills, or a ValueError that says why it does not fit."""
        if self.task != task_name(task):
            raise ValueError(f"The model {self.name} was trained for {self.task}, not for {task_name(task)}.")
        if length not in (None, self.macro_length):
            raise ValueError(
                f"The model {self.name} makes macro-actions of length {self.macro_length}, not {length}: leave the "
                "length out, or train another model."
            )
        space = task.macro_space(self.macro_length)
        if space.describe() != self.card["space"]:
            raise ValueError(
                f"The model {self.name} fills the macro-action space {_words(self.card['space'])}, but that of "
                f"{self.task} is {_words(space.describe())}."
            )
        seen = (self.shape.particle_features, self.shape.context_features)
        if seen != (task.particle_features_size, task.context_features_size):
            raise ValueError(
                f"The model {self.name} was trained with {seen[0]} features of a particle and {seen[1]} of the "
                f"context, but {self.task} now has {task.particle_features_size} and {task.context_features_size}."
            )
        return space


def task_name(task: Task) -> str:
    """What cards call a task."""
    return task.name or type(task).__name__


def save_model(path: Path, shape: GeneratorShape, arrays: Mapping[str, np.ndarray], card: dict[str, Any]) -> None:
    """Write a model: the arrays that the shape's layout names, and the card."""
    named = {name: np.asarray(arrays[name], np.float32) for name in shape.layout()}
    save_arrays(path, MODEL, named, {"shape": dataclasses.asdict(shape), "card": {**card, "version": __version__}})


def load_model(model: str | Path) -> Model:
    """A model by the name of one that ships, or by its file."""
    path = Path(model)
    shipped = SHIPPED / f"{model}.safetensors"
    if not path.suffix and not path.is_file():
        if not shipped.is_file():
            names = [known.stem for known in shipped_models()]
            there = f"there are {', '.join(names)}" if names else "none ships yet"
            raise ValueError(
                f"There is no model {str(model)!r}{nearest(str(model), names)}: {there}; one of your own is named by "
                "its file, such as run/best.safetensors."
            )
        path = shipped
    arrays, about = load_arrays(path, MODEL)
    try:
        fields = about["shape"]
        fields |= {name: tuple(fields[name]) for name in ("trunk", "std_range")}
        shape, card = GeneratorShape(**fields), about["card"]
        card["task"], card["space"]["length"], card["score"]["return_mean"]
        return Model(path.stem if path.parent == SHIPPED else str(path), shape, shape.pack(arrays), card)
    except (KeyError, TypeError) as error:
        raise ValueError(f"The model {path} was made by another version of magic-pomdp ({error}).") from None


def shipped_models() -> list[Path]:
    """The files of all models that come with the package."""
    return sorted(SHIPPED.glob("*.safetensors"))


def find_model(task: Task, model: str | Path | None = None, length: int | None = None) -> Model:
    """A model by name or file; without either the one that ships for a task, the best of the macro length asked for."""
    if model is not None:
        return load_model(model)
    models = [load_model(path) for path in shipped_models()]
    fitting = [model for model in models if model.task == task_name(task) and length in (None, model.macro_length)]
    if not fitting:
        wanted = task_name(task) + (f" with macro length {length}" if length else "")
        raise ValueError(
            f"No trained generator ships for {wanted}: make one with `magic-pomdp train`, and name its file as the "
            "model."
        )
    return max(fitting, key=lambda model: model.card["score"]["return_mean"])


def _words(space: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in space.items())
