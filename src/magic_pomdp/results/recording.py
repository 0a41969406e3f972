"""Episodes as they were lived: what was true, believed, considered and done. docs/recordings.md has the file's format.

T is the number of primitive steps of an episode, so it has T + 1 frames; S, A and O are the sizes of state, action and
observation; M is the number of macro-actions in a plan's set, L the longest of them.
"""

import base64
import gzip
import json
import math
from collections.abc import Sized
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from magic_pomdp.core.reading import MOST_VALUES, Damaged, convert, plain_json, read_content
from magic_pomdp.core.saving import save_bytes
from magic_pomdp.core.scene import Scene, Shape
from magic_pomdp.planners.plan import Budget
from magic_pomdp.planners.registry import planner_label
from magic_pomdp.results.base import FORMAT, Plain, Scalar, Stored
from magic_pomdp.results.evaluation import Ending

_Name = Annotated[str, msgspec.Meta(min_length=1)]


class TaskInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The task of a recording."""

    name: _Name
    discount: float
    parameters: dict[str, Plain] = {}


class PlannerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The planner of a recording."""

    name: _Name
    label: str
    """The planner as it is written."""
    macro_length: int | None = None
    """Longest macro-action of the planner's set; None for a planner without one."""
    budget: Budget | None = None
    """Of each plan; None for a planner without one."""
    settings: dict[str, Scalar] = {}


class TreeTop(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The top of a search tree, in columns with one entry for each node and branch; parents come first."""

    parent: tuple[int, ...]
    """The entry above; −1 for the root."""
    macro: tuple[int, ...]
    """−1 for a node, which is a belief; else the macro-action of a branch."""
    value: tuple[float | None, ...]
    """Expected from there on, discounted to there."""
    upper: tuple[float | None, ...]
    """Upper bound of that, if the planner has bounds."""
    share: tuple[float, ...]
    """Of the root's scenarios or simulations."""
    size: tuple[int, ...]
    """Branches of a node, observations of a branch, in the whole tree."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            _check_count(name, getattr(self, name), len(self.parent), "entries, as parent has")


class RecordedPlan(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A plan, and what it was chosen from."""

    time: int
    """The first step at which it is carried out; a planner that plans while the robot acts has made it one plan
    earlier."""
    choice: int
    """Which macro-action was chosen."""
    value: float
    """Of the best policy found."""
    lower: float | None
    """Lower bound at the root."""
    upper: float | None
    """Upper bound at the root."""
    trials: int
    nodes: int
    depth: int
    steps: int
    seconds: float
    stopped_by: str
    values: np.ndarray | None
    """Shape (M,): what each macro-action is expected to earn."""
    uppers: np.ndarray | None
    """Shape (M,): upper bounds of that."""
    macro_actions: np.ndarray
    """Shape (M, L, A): the set."""
    lengths: np.ndarray
    """Shape (M,): how much of each counts."""
    paths: np.ndarray | None = None
    """Shape (M, L + 1, 2): where each would lead the robot; None if the task does not say where that is."""
    tree: TreeTop | None = None
    """None from a planner that keeps no tree."""

    def __post_init__(self) -> None:
        count = len(self.macro_actions)
        if not 0 <= self.choice < count:
            raise ValueError(f"choice must be one of {count} macro-actions, not {self.choice}")
        _check_count("lengths", self.lengths, count, "entries, one for each macro-action")


class RecordedEpisode(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """An episode, frame by frame."""

    episode: int
    """The episode's number: with the seed, it determines every random number."""
    total_return: float = msgspec.field(name="return")
    """Sum of all rewards."""
    discounted_return: float
    """Sum of all rewards, each discounted to the beginning."""
    steps: int
    """Primitive steps."""
    outcome: Ending
    """How it ended; "unfinished" after the task's max_steps."""
    belief_error: float | None
    """Mean over the steps of the distance between particles and the true state, before each action; None if that is not
    known."""
    belief_error_final: float | None
    """The same, before the last action only."""
    recoveries: int
    """Times the belief had lost track and was drawn anew from the past."""
    ignored: int
    """Observations that the belief had to ignore."""
    statistics: dict[str, float] = {}
    """What the task itself tells of it."""
    context: np.ndarray
    scene: Scene | None
    """None if the task does not say what it looks like."""
    states: np.ndarray
    """Shape (T + 1, S): the truth; NaN in a world that does not tell."""
    particles: np.ndarray
    """Shape (T + 1, P, S): the belief, thinned evenly to P particles."""
    sprites: tuple[tuple[Shape, ...], ...]
    """For each frame, the shapes that move."""
    plan_of_frame: tuple[int, ...]
    """For each frame, which of the plans is being carried out."""
    rewards: tuple[float, ...]
    """Of each step."""
    actions: np.ndarray
    """Shape (T, A)."""
    observations: np.ndarray
    """Shape (T, O)."""
    belief_errors: tuple[float | None, ...]
    """For each frame, the mean distance of particles to the true state, if that is known."""
    belief_spreads: tuple[float, ...]
    """For each frame, the mean distance of particles from each other."""
    plans: tuple[RecordedPlan, ...]

    def __post_init__(self) -> None:
        frames = len(self.states)
        for name in ("particles", "sprites", "plan_of_frame", "belief_errors", "belief_spreads"):
            _check_count(name, getattr(self, name), frames, "entries, one for each of the states")
        for name in ("rewards", "actions", "observations"):
            _check_count(name, getattr(self, name), frames - 1, "entries, one for each step between states")
        if self.particles.ndim != 3:
            raise ValueError(f"particles must have 3 dimensions, not {self.particles.ndim}")
        for number in self.plan_of_frame:
            if not 0 <= number < len(self.plans):
                raise ValueError(f"plan_of_frame must name one of {len(self.plans)} plans, not {number}")


class Recording(Stored, frozen=True, kw_only=True, tag="recording", eq=False):
    """Recorded episodes of one planner in one task."""

    task: TaskInfo
    planner: PlannerInfo
    seed: int
    """Of all episodes."""
    episodes: tuple[RecordedEpisode, ...]
    """By their numbers."""


def _check_count(name: str, items: Sized, count: int, what: str) -> None:
    """A ValueError if there are more or fewer; msgspec adds where in a file that is."""
    if len(items) != count:
        raise ValueError(f"{name} must have {count} {what}, not {len(items)}")


# -------------------------------------------------------------------------------------------------------------- files


def save_recording(path: Path, recording: Recording) -> None:
    """Write a recording in one step."""
    save_bytes(path, pack(recording))


def load_recording(path: Path) -> Recording:
    """Read a recording, or a ValueError that says why it is none."""
    plain = plain_json(read_content(path), str(path))
    if not is_recording(plain):
        raise ValueError(f"{path} is not a recording: `magic-pomdp record` makes one.")
    return to_recording(plain, path)


def is_recording(plain: Any) -> bool:
    """Whether plain data say that they are a recording."""
    return isinstance(plain, dict) and (plain.get("kind"), plain.get("format")) in _MARKS


def to_recording(plain: dict[str, Any], path: Path) -> Recording:
    """The recording that a file holds as plain data; a ValueError if that is damaged, or newer than is known."""
    version = plain.get("version")
    if not isinstance(version, int) or version > FORMAT:
        raise ValueError(
            f"{path} is a recording of version {version}, newer than this program knows ({FORMAT}): update magic-pomdp."
        )
    recording = convert(_upgraded(plain) if version == 1 else plain, Recording, str(path), _from_json)
    if not recording.episodes:
        raise Damaged(f"{path} is a recording, but has no episode.")
    return recording


_MARKS = [("recording", None), (None, "magic-pomdp recording")]
"""The `kind` of a recording and, before there were kinds, its `format`."""
_OF_EPISODES = {field.encode_name for field in msgspec.structs.fields(RecordedEpisode)} - {"statistics"}
"""What version 1 has of every episode, too."""


def _upgraded(plain: dict[str, Any]) -> dict[str, Any]:
    """A recording of version 1, which knows no labels of planners, and has what the task tells of an episode among all
    else. What is not as it should be stays so, for the reader to refuse."""

    def episode(old: Any) -> Any:
        if not isinstance(old, dict):
            return old
        return {**old, "statistics": {name: old[name] for name in old if name not in _OF_EPISODES}}

    upgraded = {**plain, "kind": "recording", "version": FORMAT}
    if isinstance(planner := plain.get("planner"), dict):
        upgraded["planner"] = {"label": planner_label(planner.get("name", "")), **planner}
    if isinstance(episodes := plain.get("episodes"), list):
        upgraded["episodes"] = [episode(old) for old in episodes]
    return upgraded


# --------------------------------------------------------------------------------------------------------- as JSON

_DTYPES = ("<f8", "<f4", "<i8", "<u2")
"""Kinds of numbers that an array in a file, or on a page, can have."""


def pack(content: Any) -> bytes:
    """A recording, or any data with arrays, as bytes: gzip of `to_text`. The same content gives the same bytes."""
    return gzip.compress(to_text(content).encode(), compresslevel=6, mtime=0)


def to_text(content: Any) -> str:
    """The JSON of data with arrays, each of which is {"dtype", "shape", "data": base64}; refuses NaN and infinity."""
    plain = msgspec.to_builtins(content, enc_hook=_to_json)
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _to_json(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        little = value.astype(value.dtype.newbyteorder("<"))
        if little.dtype.str in _DTYPES:
            data = base64.b64encode(little.tobytes()).decode()
            return {"dtype": little.dtype.str, "shape": list(value.shape), "data": data}
        raise TypeError(f"An array of {value.dtype} has no place in a recording.")
    raise TypeError(f"{type(value).__name__} has no place in a recording.")


def _from_json(kind: type, value: Any) -> np.ndarray:
    """An array; there is nothing else that msgspec does not know."""
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data"} or value["dtype"] not in _DTYPES:
        raise ValueError(f"Expected an array, with its dtype ({', '.join(_DTYPES)}), shape and data")
    data, shape = value["data"], value["shape"]
    if not isinstance(data, str) or not isinstance(shape, list) or not all(type(one) is int for one in shape):
        raise ValueError("Expected an array whose data are a text and whose shape is whole numbers")
    try:
        numbers = np.frombuffer(base64.b64decode(data, validate=True), dtype=value["dtype"])
    except ValueError:
        raise ValueError("Expected an array whose data are base64") from None
    if any(length < 0 for length in shape) or math.prod(shape) != len(numbers) or max(shape, default=0) > MOST_VALUES:
        raise ValueError("Expected an array whose data fill its shape")
    return numbers.reshape(shape)
