"""What a training is asked to do, which must be the same for it to be resumed."""

import shlex
from pathlib import Path
from typing import Any

import msgspec

from magic_pomdp import __version__
from magic_pomdp.core.parameters import derived_digest, parameter_fields, parameter_values
from magic_pomdp.core.reading import in_short, read_json
from magic_pomdp.core.registry import make, task_names
from magic_pomdp.core.saving import save_bytes
from magic_pomdp.core.settings import SettingValue, default_of, settings_of
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.learning.settings import TrainSettings, complete
from magic_pomdp.macros.spaces import MacroSpace, SpaceDescription
from magic_pomdp.magic.model import ModelCard
from magic_pomdp.magic.shape import GeneratorShape
from magic_pomdp.results.base import Plain


class TrainingQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What a training is asked to do."""

    task: str
    task_parameters: dict[str, Plain]
    space: SpaceDescription
    """The macro-action space to fill."""
    shape: GeneratorShape
    settings: dict[str, SettingValue]
    software: str = msgspec.field(name="version", default=__version__)
    """The version of magic-pomdp that trains."""
    derived: str = ""
    """A fingerprint of what the task has read from files or derived otherwise; "" if nothing, or if it is not known."""
    command: str = ""
    """What trains the same elsewhere; "" if that is not known."""

    @staticmethod
    def of(
        task: Task, settings: TrainSettings, space: MacroSpace, shape: GeneratorShape, place: str = ""
    ) -> "TrainingQuestion":
        """The question of a training; `place` is that of `train_command`."""
        return TrainingQuestion(
            task=task_name(task),
            task_parameters=parameter_values(task),
            space=space.describe(),
            shape=shape,
            settings=settings.values(),
            derived=derived_digest(task),
            command=train_command(task, settings, place),
        )

    def check_goes_on(self, stored: "TrainingQuestion", task: Task, settings: TrainSettings, folder: Path) -> None:
        """A ValueError if the training that is stored in a folder is no beginning of this one."""
        for what, known, mine in (
            ("task", stored.task, self.task),
            ("task's parameters", _as_known_now(task, stored.task_parameters), self.task_parameters),
            ("macro-action space", stored.space, self.space),
        ):
            if known != mine:
                raise ValueError(
                    f"The training in {folder} has another {what} ({in_short(str(known), 600)}): resume it with that, "
                    "or choose another folder."
                )
        if stored.derived and stored.derived != self.derived:
            raise ValueError(
                f"The training in {folder} was begun with another content of a file that the task's parameters name: "
                "resume it with that, or choose another folder."
            )
        different = settings.differences(stored.settings)
        if different:
            values = ", ".join(f"{name} {complete(stored.settings)[name]}" for name in different)
            raise ValueError(
                f"The training in {folder} was begun with {in_short(values, 600)}: resume it with the same."
            )


def read_question(path: Path) -> TrainingQuestion:
    """What was asked of a training, from the file that tells it; a ValueError if that cannot be read."""
    return read_json(path, TrainingQuestion)


def write_question(path: Path, question: TrainingQuestion) -> None:
    """Write what is asked of a training, in one step."""
    save_bytes(path, msgspec.json.format(msgspec.json.encode(question), indent=2) + b"\n")


def train_command(task: Task, settings: TrainSettings, place: str = "") -> str:
    """The command that trains the same, from the beginning and in a folder of its own. `place` is what commands call
    the task (default: its name if they know it, else its module and class)."""
    kind = type(task)
    if not place:
        place = task.name if task.name in task_names() else f"{kind.__module__}:{kind.__qualname__}"
    words = ["magic-pomdp", "train", place]
    parameters = parameter_values(task)
    for item in parameter_fields(task):
        if parameters[item.name] != item.default:
            words += ["--set", f"{item.name}={parameters[item.name]}"]
    for name, value in settings.values().items():
        option = name.replace("_", "-")
        if value == default_of(TrainSettings, name):
            continue
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        else:
            words += [f"--{option}", str(value)]
    return shlex.join(words)


def command_today(card: ModelCard) -> str:
    """What trains like a model with the options and defaults of today; "" if its task cannot be made any more."""
    if card.task not in task_names():
        return ""
    task = make(card.task)
    now, then = parameter_values(task), _as_known_now(task, card.task_parameters)
    try:
        task = make(card.task, **{name: str(value) for name, value in then.items() if value != now[name]})
    except ValueError:
        return ""
    if parameter_values(task) != then:
        return ""
    known = settings_of(TrainSettings)
    settings = {name: value for name, value in complete(card.settings).items() if name in known}
    length = card.space["length"]
    assert isinstance(length, int)
    return train_command(task, TrainSettings(**{**settings, "macro_length": length}))  # type: ignore[arg-type]


def _as_known_now(task: Task, stored: dict[str, Plain]) -> dict[str, Plain]:
    """Parameters that are stored: those that the task has got since then are at their defaults, and what is none
    (checkpoints once kept what a task derives from its parameters, too) does not matter."""
    defaults: dict[str, Any] = {item.name: item.default for item in parameter_fields(task)}
    return {name: stored.get(name, default) for name, default in defaults.items()}
