"""Everything that reads what comes from outside, as the fuzzer needs it."""

import json
from functools import cache
from pathlib import Path

import numpy as np
from fuzz import Reader

from magic_pomdp.core.randomness import new_stream
from magic_pomdp.core.registry import make
from magic_pomdp.core.scene import Scene
from magic_pomdp.running.commands import read_command

_COMMANDS = (
    *({"kind": kind} for kind in ("play", "pause", "step", "new")),
    {"kind": "pace", "pace": 4.0},
    {"kind": "plan", "planner": "macro-despot", "seconds": 0.1, "macro_length": 6},
    {"kind": "plan", "planner": "despot", "seconds": 0.1, "macro_length": None},
    {"kind": "move", "handle": 0, "x": 1.0, "y": 0.5},
)


@cache
def _scene() -> Scene | None:
    task = make("light-dark")
    context = np.zeros(task.context_size)
    task.draw_context(new_stream(0), context)
    return task.scene(context)


def _try_message(content: bytes, folder: Path) -> None:
    """A page sends texts; what the network makes of one that is no UTF-8 never gets here."""
    read_command(content.decode(errors="replace"), _scene())


READERS = {
    reader.name: reader
    for reader in (
        Reader("messages", 30, lambda: [json.dumps(command).encode() for command in _COMMANDS], _try_message),
    )
}
"""By name."""
