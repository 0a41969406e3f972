"""What passes between a live page and the session behind it: commands of a person, and reports of what happens."""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np

from magic_pomdp.core.reading import place_and_reason
from magic_pomdp.core.scene import Scene, Shape
from magic_pomdp.planners.plan import Budget
from magic_pomdp.planners.registry import planner_names

LIMITS: dict[str, tuple[float, float]] = {"seconds": (0.001, 10.0), "macro_length": (1, 60), "pace": (0.1, 1000.0)}
"""Smallest and largest of what a command may ask for."""
LONGEST_MESSAGE = 1000
"""Bytes of a command."""

# ------------------------------------------------------------------------------------------------------------ commands


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """What a person wants."""


class Play(Command, frozen=True, tag="play"):
    """Run on."""


class Pause(Command, frozen=True, tag="pause"):
    """Stand still."""


class OneStep(Command, frozen=True, tag="step"):
    """Go on by one step."""


class NewEpisode(Command, frozen=True, tag="new"):
    """Begin anew."""


class ChangePace(Command, frozen=True, tag="pace"):
    """Run at another pace."""

    pace: float
    """Primitive steps a second."""

    def __post_init__(self) -> None:
        _check_limits("pace", self.pace)


class ChangePlanner(Command, frozen=True, tag="plan"):
    """Plan in another way."""

    planner: str
    seconds: float
    """Budget of a plan."""
    macro_length: int | None
    """None: what the task advises."""

    def __post_init__(self) -> None:
        if self.planner not in planner_names():
            raise ValueError(f"The planner is one of {', '.join(planner_names())}.")
        _check_limits("seconds", self.seconds)
        if self.macro_length is not None:
            _check_limits("macro_length", self.macro_length)


class Move(Command, frozen=True, tag="move"):
    """Put something elsewhere."""

    handle: int
    """Which thing, by its place among the scene's handles."""
    x: float
    y: float


class Watchers(Command, frozen=True, tag="watch"):
    """How many people look on; this one comes from the server itself."""

    count: int


PersonsCommand = Play | Pause | OneStep | NewEpisode | ChangePace | ChangePlanner | Move
"""What a page may send."""
_KINDS = [kind.__struct_config__.tag for kind in PersonsCommand.__args__]


def read_command(text: str | bytes, scene: Scene | None) -> PersonsCommand:
    """A message of the page as a command, or a ValueError that says why it is none."""
    if not isinstance(text, str) or len(text) > LONGEST_MESSAGE:
        raise ValueError("A message is a short text.")
    try:
        message: Any = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        raise ValueError("A message is a JSON object.") from None
    if not isinstance(message, dict) or message.get("kind") not in _KINDS:
        raise ValueError(f"A message has a kind: {', '.join(_KINDS)}.")
    try:
        command: PersonsCommand = msgspec.convert(message, PersonsCommand)
    except msgspec.ValidationError as error:
        if error.__cause__ is not None:
            raise ValueError(str(error.__cause__)) from None
        raise ValueError(f"A message of the kind {message['kind']} is wrong at {place_and_reason(error)}") from None
    if isinstance(command, Move):
        _check_place(command, scene)
    return command


def _check_place(move: Move, scene: Scene | None) -> None:
    if scene is None or not scene.handles:
        raise ValueError("Nothing can be moved in this task.")
    left, bottom, right, top = scene.view
    _check_number("handle", move.handle, 0, len(scene.handles) - 1)
    _check_number("x", move.x, left, right)
    _check_number("y", move.y, bottom, top)


def _check_limits(name: str, value: float) -> None:
    _check_number(name, value, *LIMITS[name])


def _check_number(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} is a number from {low:g} to {high:g}.")


# ------------------------------------------------------------------------------------------------ commands on their way


def newest(commands: Iterable[Command]) -> list[Command]:
    """The commands that count: of several of one kind the last, and of the moves the last of each thing."""
    found: dict[tuple[type[Command], int | None], Command] = {}
    for command in commands:
        key = type(command), command.handle if isinstance(command, Move) else None
        found.pop(key, None)
        found[key] = command
    return list(found.values())


class Mailbox:
    """Commands on their way to a session. It is sent all that wait at once, and no more until it has obeyed: so there
    are never many, however fast they come, and a new one never waits behind old ones."""

    def __init__(self, send: Callable[[list[Command]], None]) -> None:
        self._send = send
        self._changing = threading.Lock()
        self._waiting: list[Command] = []
        self._is_busy = False

    def put(self, command: Command) -> None:
        """Send a command as soon as the session is free."""
        with self._changing:
            self._waiting = newest([*self._waiting, command])
            if not self._is_busy:
                self._send_waiting()

    def obeyed(self) -> None:
        """The session has done what it was sent."""
        with self._changing:
            self._is_busy = False
            if self._waiting:
                self._send_waiting()

    def _send_waiting(self) -> None:
        commands, self._waiting, self._is_busy = self._waiting, [], True
        with suppress(OSError):  # its process has died: whoever started it sees to that
            self._send(commands)


# ------------------------------------------------------------------------------------------------------------- reports


class LiveEpisode(msgspec.Struct, frozen=True, kw_only=True):
    """Which episode runs."""

    number: int
    seed: int


class LivePlanner(msgspec.Struct, frozen=True, kw_only=True):
    """Who plans, and how."""

    name: str
    label: str
    macro_length: int
    budget: Budget


class LiveSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is set."""

    planner: LivePlanner
    playing: bool
    pace: float
    preparing: str | None
    """The planner that is being compiled."""


class Cloud(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Particles as points."""

    role: str
    points: np.ndarray
    """x and y of one after the other."""


class LiveFrame(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A moment, as the page shows it."""

    step: int
    max_steps: int
    total_return: float = msgspec.field(name="return")
    reward: float
    observation: np.ndarray | None
    outcome: str | None
    """None while the episode runs."""
    clouds: tuple[Cloud, ...]
    sprites: tuple[Shape, ...]
    handles: tuple[tuple[float | None, float | None], ...]
    """Where the things are that can be moved."""


class LiveRow(msgspec.Struct, frozen=True, kw_only=True):
    """What charts show of a step."""

    total_return: float = msgspec.field(name="return")
    spread: float
    error: float
    trails: tuple[tuple[float, float], ...]
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    seconds: float | None = None
    """Of the plan; None before there is one."""
    budget: float | None = None
    """Seconds of a plan."""
