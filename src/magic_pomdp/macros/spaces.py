"""Macro-action spaces: how a generator's parameters Φ become a macro-action set.

A space has `count` macro-actions of `size` parameters each. On a *sphere* the parameters of a macro-action form a unit
vector; in a *box* each of them lies in [−1, 1]; in *sphere and length* all but the last form a unit vector, and the
last lies in [−1, 1]. `start` is the handcrafted set, from which learning sets out.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.macros.bezier import decode_bezier
from magic_pomdp.macros.straight import compass, directions

Kind = Literal["sphere", "box", "sphere and length"]
"""Where the parameters of a macro-action lie: on the unit sphere, in [−1, 1] each, or the last one alone in there."""
MOST_LENGTH = 10_000
"""A macro-action has so many primitive actions at most."""
_LISTED_START = 0.25
"""How far from the middle the parameters of listed actions begin: near enough that learning soon tries others."""
SpaceDescription = dict[str, str | int | float | list[float]]
"""What tells a space from others, as plain data."""


class MacroSpace(Protocol):
    """What learning needs to know of a task's macro-actions."""

    @property
    def kind(self) -> Kind:
        """Where the parameters of a macro-action lie."""

    @property
    def count(self) -> int:
        """Macro-actions that have parameters; the set may hold others, which come after them."""

    @property
    def size(self) -> int:
        """Parameters of a macro-action."""

    @property
    def length(self) -> int:
        """Primitive actions of a macro-action, or of the longest."""

    @property
    def start(self) -> np.ndarray:
        """The parameters of the handcrafted macro-actions; shape (count, size)."""

    def decode(self, parameters: np.ndarray) -> MacroActions:
        """The macro-action set of parameters of shape (count, size)."""

    def describe(self) -> SpaceDescription:
        """What tells this space from others: a generator fits all spaces of the same description."""


@dataclass(frozen=True)
class BezierSpace:
    """Curves in the plane, each cut into unit vectors that are the headings of a macro-action."""

    length: int
    curves: int = 8
    extra: tuple[tuple[tuple[float, ...], ...], ...] = ()
    """Macro-actions that are always in the set, whatever the parameters: sequences of actions."""

    kind: Kind = "sphere"
    size: int = 6

    def __post_init__(self) -> None:
        check_length(self.length)
        if self.curves < 1:
            raise ValueError(f"A space of Bezier curves needs at least one curve, not {self.curves}.")

    @property
    def count(self) -> int:
        return self.curves

    @cached_property
    def start(self) -> np.ndarray:
        """Straight lines in evenly spread directions, their control points evenly spaced."""
        spread = np.repeat([1.0 / 3.0, 2.0 / 3.0, 1.0], 2)
        lines = np.tile(compass(self.curves), 3) * spread
        units: np.ndarray = lines / np.linalg.norm(lines, axis=1, keepdims=True)
        return units

    def decode(self, parameters: np.ndarray) -> MacroActions:
        return _with_extra(directions(decode_bezier(parameters, self.length)), self.extra)

    def describe(self) -> SpaceDescription:
        return {"space": "bezier", "count": self.count, "size": self.size, "length": self.length}


@dataclass(frozen=True)
class HeldActionSpace:
    """One primitive action a macro-action, held for its whole length: each number of it between a least and a most."""

    length: int
    least: tuple[float, ...]
    most: tuple[float, ...]
    handcrafted: tuple[tuple[float, ...], ...]
    """Actions to set out from, one for every macro-action."""
    extra: tuple[tuple[tuple[float, ...], ...], ...] = ()
    """Macro-actions that are always in the set, whatever the parameters: sequences of actions."""
    first_only: bool = False
    """Whether the learned macro-actions are for the first choice of a plan alone, and those that are always there for
    all that follows: what is fitted to the belief now need not fit what will be believed then."""

    kind: Kind = "box"

    def __post_init__(self) -> None:
        check_length(self.length)
        sizes = {len(self.least), len(self.most), *map(len, self.handcrafted)}
        if len(sizes) != 1 or not self.handcrafted:
            raise ValueError("A space of held actions needs at least one action, and limits for each number of it.")
        if not all(least <= most for least, most in zip(self.least, self.most, strict=True)):
            raise ValueError(f"The limits of a held action are the wrong way round: {self.least} to {self.most}.")
        if self.first_only and not self.extra:
            raise ValueError("Where what is learned is for the first choice alone, give an extra for what follows.")

    @classmethod
    def of_actions(cls, actions: np.ndarray, length: int) -> "HeldActionSpace":
        """All actions in the range that these span; shape (count, action_size)."""
        rows = [tuple(map(float, action)) for action in actions]
        least, most = np.min(actions, axis=0), np.max(actions, axis=0)
        return cls(length, tuple(map(float, least)), tuple(map(float, most)), tuple(rows))

    @property
    def count(self) -> int:
        return len(self.handcrafted)

    @property
    def size(self) -> int:
        return len(self.least)

    @cached_property
    def start(self) -> np.ndarray:
        middle, half = self._range
        parameters: np.ndarray = (np.array(self.handcrafted) - middle) / np.where(half > 0.0, half, 1.0)
        return parameters.clip(-1.0, 1.0)

    def decode(self, parameters: np.ndarray) -> MacroActions:
        parameters = np.asarray(parameters, dtype=np.float64)
        if parameters.shape != (self.count, self.size):
            raise ValueError(
                f"The parameters of held actions have shape ({self.count}, {self.size}), not {parameters.shape}."
            )
        middle, half = self._range
        actions = middle + half * np.clip(parameters, -1.0, 1.0)
        held = _with_extra(np.repeat(actions[:, None, :], self.length, axis=1), self.extra)
        return replace(held, first_only=self.count if self.first_only else 0)

    def describe(self) -> SpaceDescription:
        size = {"count": self.count, "size": self.size, "length": self.length}
        return {"space": "held action", **size, "least": list(self.least), "most": list(self.most)}

    @cached_property
    def _range(self) -> tuple[np.ndarray, np.ndarray]:
        least, most = np.array(self.least), np.array(self.most)
        return 0.5 * (least + most), 0.5 * (most - least)


@dataclass(frozen=True)
class ListedActionSpace:
    """Sequences of listed actions, and of no others: for each step a macro-action has a parameter for every action of
    the list, and takes the one whose parameter is the largest."""

    length: int
    listed: tuple[tuple[float, ...], ...]

    kind: Kind = "box"

    def __post_init__(self) -> None:
        check_length(self.length)
        if len({len(action) for action in self.listed}) != 1:
            raise ValueError("A space of listed actions needs at least one action, and as many numbers for each.")

    @classmethod
    def of_actions(cls, actions: np.ndarray, length: int) -> "ListedActionSpace":
        """These actions, shape (count, action_size)."""
        return cls(length, tuple(tuple(map(float, action)) for action in actions))

    @property
    def count(self) -> int:
        return len(self.listed)

    @property
    def size(self) -> int:
        return self.length * len(self.listed)

    @cached_property
    def start(self) -> np.ndarray:
        """Each action of the list, held."""
        return np.tile(np.where(np.eye(self.count, dtype=bool), _LISTED_START, -_LISTED_START), self.length)

    def decode(self, parameters: np.ndarray) -> MacroActions:
        parameters = np.asarray(parameters, dtype=np.float64)
        if parameters.shape != (self.count, self.size):
            raise ValueError(
                f"The parameters of listed actions have shape ({self.count}, {self.size}), not {parameters.shape}."
            )
        chosen = parameters.reshape(self.count, self.length, self.count).argmax(axis=2)
        return MacroActions(np.array(self.listed)[chosen], np.full(self.count, self.length))

    def describe(self) -> SpaceDescription:
        size = {"count": self.count, "size": self.size, "length": self.length}
        return {"space": "listed action", **size, "actions": [number for action in self.listed for number in action]}


def place(parameters: np.ndarray, kind: Kind) -> np.ndarray:
    """Bring free numbers to where parameters lie: normalise a sphere's, clip a box's; shape (…, size)."""
    if kind == "sphere and length":
        parts = place(parameters[..., :-1], "sphere"), place(parameters[..., -1:], "box")
        return np.concatenate(parts, axis=-1)
    if kind == "box":
        return np.asarray(np.clip(parameters, -1.0, 1.0))
    return np.asarray(parameters / np.maximum(np.linalg.norm(parameters, axis=-1, keepdims=True), 1e-9))


def spread_out(normal: np.ndarray, kind: Kind) -> np.ndarray:
    """Parameters anywhere, evenly spread over where they lie, from standard normal numbers; shape (…, size)."""
    within = normal.copy()
    box = {"sphere": normal.shape[-1], "sphere and length": normal.shape[-1] - 1, "box": 0}[kind]
    for index in np.ndindex(*normal.shape):
        if index[-1] >= box:  # by its own distribution, a number is as likely anywhere
            within[index] = math.erf(normal[index] / math.sqrt(2.0))
    return place(within, kind)


def check_length(length: int) -> None:
    """Refuse a macro-action without actions, and one for which there would be no room."""
    if length < 1:
        raise ValueError(f"A macro-action has at least length 1, not {length}.")
    if length > MOST_LENGTH:
        raise ValueError(f"A macro-action has at most length {MOST_LENGTH:,}, not {length}.")


def _with_extra(actions: np.ndarray, extra: tuple[tuple[tuple[float, ...], ...], ...]) -> MacroActions:
    """The set of learned macro-actions (count, length, action_size) and of those that are always there."""
    count, length, size = actions.shape
    longest = max([length, *map(len, extra)])
    padded = np.zeros((count + len(extra), longest, size))
    padded[:count, :length] = actions
    for i, sequence in enumerate(extra):
        padded[count + i, : len(sequence)] = sequence
    return MacroActions(padded, np.array([length] * count + [len(sequence) for sequence in extra]))
