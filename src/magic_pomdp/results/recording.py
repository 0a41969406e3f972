"""Episodes as they were lived: what was true, believed, considered and done. docs/recordings.md has the file's format.

T is the number of primitive steps of an episode, so it has T + 1 frames; S, A and O are the sizes of state, action and
observation; M is the number of macro-actions in a plan's set, L the longest of them.
"""

import base64
import gzip
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from magic_pomdp.core.randomness import check_seed
from magic_pomdp.core.reading import (
    LARGEST,
    MOST_VALUES,
    beyond_limits,
    check_amount,
    convert,
    plain_json,
    read_content,
)
from magic_pomdp.core.saving import save_bytes
from magic_pomdp.core.scene import Scene, Shape, Track
from magic_pomdp.planners.plan import Budget
from magic_pomdp.planners.registry import planner_label
from magic_pomdp.results.base import (
    FORMAT,
    Amount,
    Count,
    Label,
    Name,
    Plain,
    Positive,
    Scalar,
    Share,
    Stored,
    check_counts,
)
from magic_pomdp.results.evaluation import Ending

_BelowRoot = Annotated[int, msgspec.Meta(ge=-1, le=2**53)]
_Whole, _Real = "i", "f"
"""Kinds of numbers in arrays, as numpy calls them."""


class TaskInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The task of a recording."""

    name: Name
    discount: Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]
    parameters: dict[str, Plain] = {}


class PlannerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The planner of a recording."""

    name: Name
    label: Label
    """The planner as it is written."""
    macro_length: Positive | None = None
    """Longest macro-action of the planner's set; None for a planner without one."""
    budget: Budget | None = None
    """Of each plan; None for a planner without one."""
    settings: dict[str, Scalar] = {}


class TreeTop(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The top of a search tree, in columns with one entry for each node and branch; parents come first."""

    parent: tuple[_BelowRoot, ...]
    """The entry above; −1 for the root."""
    macro: tuple[_BelowRoot, ...]
    """−1 for a node, which is a belief; else the macro-action of a branch."""
    value: tuple[float | None, ...]
    """Expected from there on, discounted to there."""
    upper: tuple[float | None, ...]
    """Upper bound of that, if the planner has bounds."""
    share: tuple[Share, ...]
    """Of the root's scenarios or simulations."""
    size: tuple[Count, ...]
    """Branches of a node, observations of a branch, in the whole tree."""

    def __post_init__(self) -> None:
        columns = {name: getattr(self, name) for name in self.__struct_fields__}
        check_counts(columns, len(self.parent), "entries, as parent has")
        if (self.parent[:1], self.macro[:1]) != ((-1,), (-1,)):
            raise ValueError("the first entry of a tree must be its root, whose parent and macro are -1")
        for entry, parent in enumerate(self.parent[1:], start=1):
            if not 0 <= parent < entry:
                raise ValueError(f"parent of entry {entry} must be an earlier entry, not {parent}")
            if (self.macro[entry] < 0) == (self.macro[parent] < 0):
                raise ValueError(f"parent of entry {entry} must be a node if that is a branch, and a branch otherwise")


class RecordedPlan(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A plan, and what it was chosen from."""

    time: Count
    """The first step at which it is carried out; a planner that plans while the robot acts has made it one plan
    earlier."""
    choice: Count
    """Which macro-action was chosen."""
    value: float
    """Of the best policy found."""
    lower: float | None
    """Lower bound at the root."""
    upper: float | None
    """Upper bound at the root."""
    trials: Count
    nodes: Count
    depth: Count
    steps: Count
    seconds: Amount
    stopped_by: Label
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
        count, longest, _ = _check_array("macro_actions", self.macro_actions, _Real, None, None, None)
        _check_array("lengths", self.lengths, _Whole, count)
        if not (count and longest and ((self.lengths >= 1) & (self.lengths <= longest)).all()):
            raise ValueError(f"lengths must lie between 1 and {longest}, the length of macro_actions")
        if not 0 <= self.choice < count:
            raise ValueError(f"choice must be one of {count} macro-actions, not {self.choice}")
        for name, numbers, *shape in (
            ("values", self.values, count),
            ("uppers", self.uppers, count),
            ("paths", self.paths, count, longest + 1, 2),
        ):
            if numbers is not None:
                _check_array(name, numbers, _Real, *shape)
                _check_finite(name, numbers)
        tree = self.tree
        if tree is not None and any(m >= count for m, above in zip(tree.macro, tree.parent, strict=True) if above == 0):
            raise ValueError(f"macro of the tree's first branches must be one of {count} macro-actions")


class RecordedEpisode(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """An episode, frame by frame."""

    episode: Count
    """The episode's number: with the seed, it determines every random number."""
    total_return: float = msgspec.field(name="return")
    """Sum of all rewards."""
    discounted_return: float
    """Sum of all rewards, each discounted to the beginning."""
    steps: Count
    """Primitive steps."""
    outcome: Ending
    """How it ended; "unfinished" after the task's max_steps."""
    belief_error: Amount | None
    """Mean over the steps of the distance between particles and the true state, before each action; None if that is not
    known."""
    belief_error_final: Amount | None
    """The same, before the last action only."""
    recoveries: Count
    """Times the belief had lost track and was drawn anew from the past."""
    ignored: Count
    """Observations that the belief had to ignore."""
    statistics: dict[str, float] = {}
    """What the task itself tells of it."""
    context: np.ndarray
    """Shape (C,)."""
    scene: Scene | None
    """None if the task does not say what it looks like."""
    states: np.ndarray
    """Shape (T + 1, S): the truth; NaN in a world that does not tell."""
    particles: np.ndarray
    """Shape (T + 1, P, S): the belief, thinned evenly to P particles."""
    sprites: tuple[tuple[Shape, ...], ...]
    """For each frame, the shapes that move."""
    plan_of_frame: tuple[Count, ...]
    """For each frame, which of the plans is being carried out."""
    rewards: tuple[float, ...]
    """Of each step."""
    actions: np.ndarray
    """Shape (T, A)."""
    observations: np.ndarray
    """Shape (T, O)."""
    belief_errors: tuple[Amount | None, ...]
    """For each frame, the mean distance of particles to the true state, if that is known."""
    belief_spreads: tuple[Amount, ...]
    """For each frame, the mean distance of particles from each other."""
    plans: tuple[RecordedPlan, ...]
    pictures: tuple[bytes, ...] = ()
    """For each frame, what the world's camera saw, as a JPEG; nothing in a world without a camera."""

    def __post_init__(self) -> None:
        frames, size = _check_array("states", self.states, _Real, None, None)
        by_frame = ("particles", "sprites", "plan_of_frame", "belief_errors", "belief_spreads")
        check_counts({name: getattr(self, name) for name in by_frame}, frames, "entries, one for each of the states")
        if self.pictures:
            check_counts({"pictures": self.pictures}, frames, "entries, one for each of the states")
        by_step = {name: getattr(self, name) for name in ("rewards", "actions", "observations")}
        check_counts(by_step, frames - 1, "entries, one for each step between states")
        if not 1 <= self.steps == frames - 1:
            raise ValueError(f"steps must be 1 or more, and {frames - 1} as there are rewards, not {self.steps}")
        _, particles, _ = _check_array("particles", self.particles, _Real, frames, None, size)
        if particles < 1:
            raise ValueError("particles must have at least one for each of the states")
        _, action_size = _check_array("actions", self.actions, _Real, frames - 1, None)
        _check_array("observations", self.observations, _Real, frames - 1, None)
        (context_size,) = _check_array("context", self.context, _Real, None)
        if self.scene is not None:
            self.scene.check_numbers(size, context_size)
            _check_finite("particles", self.particles[:, :, _numbers_of(self.scene.particles)])
            trails = self.states[:, _numbers_of(self.scene.trails)]
            _check_finite("states", trails[~np.isnan(trails)])
        for number, plan in enumerate(self.plans):
            _check_array(f"macro_actions of plan {number}", plan.macro_actions, _Real, None, None, action_size)
        for frame, number in enumerate(self.plan_of_frame):
            if not 0 <= number < len(self.plans):
                raise ValueError(f"plan_of_frame must name one of {len(self.plans)} plans, not {number}")
            if frame < self.plans[number].time:
                raise ValueError(f"plan_of_frame {frame} must name a plan whose time has come, not {number}")


class Recording(Stored, frozen=True, kw_only=True, tag="recording", eq=False):
    """Recorded episodes of one planner in one task."""

    task: TaskInfo
    planner: PlannerInfo
    world: Label = ""
    """In which world they happened; "" in the task's own simulator, or in one without a name."""
    seed: int
    """Of all episodes."""
    episodes: Annotated[tuple[RecordedEpisode, ...], msgspec.Meta(min_length=1)]
    """By their numbers."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if len({one.episode for one in self.episodes}) < len(self.episodes):
            raise ValueError("An episode comes twice in the recording.")


def _numbers_of(tracks: Sequence[Track]) -> list[int]:
    return [number for track in tracks for number in (track.x, track.y)]


def _check_array(name: str, array: np.ndarray, kind: str, *shape: int | None) -> tuple[int, ...]:
    """The array's shape; a ValueError if it is none of a kind and a shape in which None stands for any length."""
    if array.dtype.kind != kind:
        raise ValueError(f"{name} must hold {'whole numbers' if kind == _Whole else 'floats'}, not {array.dtype}")
    if array.ndim != len(shape):
        raise ValueError(f"{name} must have {len(shape)} dimensions, not {array.ndim}")
    if any(wanted not in (None, found) for wanted, found in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"{name} must be of shape ({wanted}), not {array.shape}")
    return array.shape


def _check_finite(name: str, numbers: np.ndarray) -> None:
    """A ValueError if there are numbers that cannot be drawn."""
    if not float(np.abs(numbers).max(initial=0.0)) <= LARGEST:  # nor is NaN
        raise ValueError(f"{name} must be finite numbers below {LARGEST:g} where they are shown")


# -------------------------------------------------------------------------------------------------------------- files


def save_recording(path: Path, recording: Recording) -> None:
    """Write a recording in one step. What could not be read again is refused."""
    save_bytes(path, _packed(file_content(recording, f"{path} is not written: it")))


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
    version = plain.get("version", FORMAT)
    if type(version) is int and version > FORMAT:
        raise ValueError(
            f"{path} is a recording of version {version}, newer than this program knows ({FORMAT}): update magic-pomdp."
        )
    return convert(_upgraded(plain) if plain.get("kind") is None else plain, Recording, str(path), _from_json)


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
    if isinstance(planner := plain.get("planner"), dict) and isinstance(name := planner.get("name"), str):
        upgraded["planner"] = {"label": planner_label(name), **planner}
    if isinstance(episodes := plain.get("episodes"), list):
        upgraded["episodes"] = [episode(old) for old in episodes]
    return upgraded


# --------------------------------------------------------------------------------------------------------- as JSON

_DTYPES = ("<f8", "<f4", "<i8", "<u2")
"""Kinds of numbers that an array in a file, or on a page, can have."""


def pack(content: Any) -> bytes:
    """A recording, or any data with arrays, as bytes: gzip of `to_text`. The same content gives the same bytes."""
    return _packed(to_text(content).encode())


def _packed(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=6, mtime=0)


def to_text(content: Any) -> str:
    """The JSON of data with arrays, each of which is {"dtype", "shape", "data": base64}; refuses NaN and infinity."""
    return _text(msgspec.to_builtins(content, enc_hook=_to_json))


def file_content(recorded: Recording | RecordedEpisode, source: str) -> bytes:
    """The JSON of a recording, or of an episode, as a file holds it; a ValueError if that could not be read again.
    Messages call it `source`."""
    plain = msgspec.to_builtins(recorded, enc_hook=_to_json)
    found = beyond_limits(plain)
    if found is not None:
        raise ValueError(f"{source} is out of limits at {found[0]}: expected {found[1]}.")
    content = _text(plain).encode()
    check_amount(content, source)
    return content


def _text(plain: Any) -> str:
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
