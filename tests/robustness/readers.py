"""Everything that reads what comes from outside, as the fuzzer needs it."""

import json
import random
import tempfile
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
from fuzz import Reader
from maps import try_map, valid_map
from mutations import Damage, damaged_bytes, damaged_json, damaged_lines, damaged_xml
from reproduce_cases import damaged_order, sealed_damage, try_episodes, try_tables, valid_episodes, valid_tables
from results_cases import (
    show_recording,
    show_result,
    try_recording,
    try_result,
    valid_recordings,
    valid_results,
)
from robot_cases import damaged_robot, try_robot, valid_robots
from small_results import an_evaluation
from training_cases import parts, signed, try_model, try_training, valid_model, valid_training
from transfer_cases import (
    damaged_trials,
    in_trials,
    try_identification,
    try_trials,
    valid_identifications,
    valid_trials,
)

from magic_pomdp import Budget
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.core.registry import make
from magic_pomdp.core.scene import Scene
from magic_pomdp.running.commands import read_command
from magic_pomdp.running.factory import PlannerFactory
from magic_pomdp.running.tuning import tune

_COMMANDS = (
    *({"kind": kind} for kind in ("play", "pause", "step", "new")),
    {"kind": "pace", "pace": 4.0},
    {"kind": "plan", "planner": "macro-despot", "seconds": 0.1, "macro_length": 6},
    {"kind": "plan", "planner": "despot", "seconds": 0.1, "macro_length": None},
    {"kind": "move", "handle": 0, "x": 1.0, "y": 0.5},
)


def _messages() -> list[bytes]:
    return [json.dumps(command).encode() for command in _COMMANDS]


@cache
def _scene() -> Scene | None:
    task = make("light-dark")
    context = np.zeros(task.context_size)
    task.draw_context(new_stream(0), context)
    return task.scene(context)


def _try_message(content: bytes, folder: Path) -> None:
    """A page sends texts; what the network makes of one that is no UTF-8 never gets here."""
    read_command(content.decode(errors="replace"), _scene())


def _damaged_card(content: bytes, chance: random.Random) -> bytes:
    """A model or a checkpoint that tells something else, with a fingerprint that is right."""
    arrays, about = parts(content)
    if chance.random() < 0.2:
        name = chance.choice(list(arrays))
        arrays[name] = chance.choice(
            (arrays[name] * np.inf, arrays[name].reshape(-1)[:0], arrays[name].astype("f8"), arrays[name].T)
        )
    return signed(arrays, damaged_json(about.encode(), chance).decode())


# A training is a folder. As content it is one of its files behind the file's name; the others are as they should be.
# So are the results of `reproduce`.


def _trainings() -> list[bytes]:
    return [name.encode() + b"\n" + content for name, content in valid_training().items()]


def _try_training(content: bytes, folder: Path) -> None:
    name, _, file = content.partition(b"\n")
    try_training({**valid_training(), name.decode(): file}, folder)


def _in_folder(content: bytes, chance: random.Random) -> bytes:
    name, _, file = content.partition(b"\n")
    fitting: dict[bytes, Damage] = {b"json": damaged_json, b"jsonl": damaged_lines, b"safetensors": _damaged_card}
    fitting[b"gz"] = damaged_json
    damage = chance.choice((damaged_bytes, fitting[name.rpartition(b".")[2]]))
    return name + b"\n" + damage(file, chance)


# A search for settings, in which episodes cost nothing.


def _search(path: Path, trials: int) -> None:
    with mock.patch("magic_pomdp.running.tuning.evaluate", return_value=an_evaluation()):
        tune(make("tiger"), PlannerFactory("despot", Budget(steps=500)), path, trials, episodes=1, workers=0)


@cache
def _searches() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        _search(Path(folder) / "tuning.journal", 2)
        return [(Path(folder) / "tuning.journal").read_bytes()]


def _try_search(content: bytes, folder: Path) -> None:
    """Go on with a search. What was whole of it stays as it was."""
    path = folder / "tuning.journal"
    path.write_bytes(content)
    _search(path, 3)
    assert path.read_bytes().startswith(content[: content.rfind(b"\n") + 1])


READERS = {
    reader.name: reader
    for reader in (
        Reader("messages", 600, _messages, _try_message),
        Reader("results", 220, lambda: list(valid_results().values()), try_result),
        Reader("recordings", 130, lambda: list(valid_recordings().values()), try_recording),
        Reader("models", 30, lambda: [valid_model()], try_model, (damaged_bytes, _damaged_card)),
        Reader("trainings", 5, _trainings, _try_training, (_in_folder,)),
        Reader("maps", 5, lambda: [valid_map()], try_map, (damaged_bytes, damaged_xml, damaged_xml)),
        Reader("searches", 5, _searches, _try_search, (damaged_bytes, damaged_lines)),
        Reader("robots", 5, valid_robots, try_robot, (damaged_bytes, damaged_robot, damaged_robot)),
        Reader("identifications", 5, valid_identifications, try_identification),
        Reader("trials", 5, valid_trials, try_trials, (in_trials(damaged_bytes), damaged_trials, damaged_trials)),
        Reader(
            *("episodes", 100, valid_episodes, try_episodes),
            (damaged_bytes, damaged_bytes, damaged_order, sealed_damage),
        ),
        Reader("tables", 5, valid_tables, try_tables, (_in_folder,)),
        Reader("reports", 2, lambda: list(valid_results().values()), show_result, (damaged_json,)),
        Reader("replays", 1, lambda: list(valid_recordings().values()), show_recording, (damaged_json,)),
    )
}
"""By name."""
