"""What a task looks like, as data: shapes in the task's own coordinates, drawn alike on a page and in a picture.

A shape has a *role*, not a colour, so that it can be seen on light and on dark ground; a colour of one's own,
"#rrggbb", does as well. Shapes are drawn in their order, the first at the bottom.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec
import numpy as np

Role = Literal[
    "ground",
    "surface",
    "shade",
    "light",
    "goal",
    "danger",
    "obstacle",
    "robot",
    "object",
    "other",
    "belief",
    "path",
    "text",
]
"""What there is: the ground, a surface on it, a part that nobody sees, one that is lit, where to go, where not to, what
is in the way, the robot, what it deals with, other agents, what is believed, where one has been, and words."""

_Paint = Annotated[str, msgspec.Meta(pattern=rf"^({'|'.join(get_args(Role))}|#[0-9a-fA-F]{{6}})\Z")]
"""A role, or a colour of one's own."""
_Length = Annotated[float, msgspec.Meta(ge=0.0)]
_Index = Annotated[int, msgspec.Meta(ge=0)]
_Words = Annotated[str, msgspec.Meta(max_length=1000)]

Points = Sequence[tuple[float, float]]


class Circle(msgspec.Struct, frozen=True, tag_field="kind", tag="circle"):
    """Filled, or only its edge."""

    x: float
    """Where its middle is, from left to right."""
    y: float
    """Where its middle is, upwards."""
    radius: _Length
    """From the middle to the edge."""
    role: _Paint = "obstacle"
    """What it is, or a colour."""
    filled: bool = True
    """False for its edge alone."""


class Polygon(msgspec.Struct, frozen=True, tag_field="kind", tag="polygon"):
    """Corners as seen from (x, y), turned by a heading in radians. Filled, or only its edge."""

    points: Points
    """The corners."""
    role: _Paint = "obstacle"
    """What it is, or a colour."""
    filled: bool = True
    """False for its edge alone."""
    x: float = 0.0
    """Where the corners are seen from, from left to right."""
    y: float = 0.0
    """Where the corners are seen from, upwards."""
    heading: float = 0.0
    """Radians, from the first axis towards the second."""


class Line(msgspec.Struct, frozen=True, tag_field="kind", tag="line"):
    """From point to point, so many pixels wide."""

    points: Points
    """Where it leads."""
    role: _Paint = "obstacle"
    """What it is, or a colour."""
    width: _Length = 2.0
    """In pixels."""
    dashed: bool = False
    """Whether it has gaps."""


class Text(msgspec.Struct, frozen=True, tag_field="kind", tag="text"):
    """A word or two around a point."""

    x: float
    """Where its middle is, from left to right."""
    y: float
    """Where its middle is, upwards."""
    text: _Words
    """At most 1,000 letters."""
    role: _Paint = "text"
    """What it is, or a colour."""


Shape = Circle | Polygon | Line | Text


def rectangle(left: float, bottom: float, right: float, top: float, role: Role | str = "surface") -> Polygon:
    """A rectangle along the axes."""
    return Polygon(((left, bottom), (right, bottom), (right, top), (left, top)), role)


def box(
    x: float,
    y: float,
    heading: float,
    length: float,
    width: float,
    role: Role | str = "robot",
    filled: bool = True,
) -> Polygon:
    """A rectangle around a point, its length along a heading: a car, for instance."""
    a, b = 0.5 * length, 0.5 * width
    return Polygon(((-a, -b), (a, -b), (a, b), (-a, b)), role, filled, x, y, heading)


class Track(msgspec.Struct, frozen=True):
    """Two numbers of a state that are the coordinates of something."""

    x: _Index
    """The number that is its coordinate from left to right."""
    y: _Index
    """The number that is its coordinate upwards."""
    role: _Paint = "belief"
    """What it is, or a colour."""


class Handle(msgspec.Struct, frozen=True):
    """Something that a person may move on a live page."""

    name: _Words
    x: _Index | None
    """The number that is its coordinate from left to right; None if it cannot be moved so."""
    y: _Index | None
    """The number that is its coordinate upwards; None if it cannot be moved so."""
    of: Literal["context", "seen", "hidden"] = "context"
    """Whose numbers these are: the context's, or the state's. If they are the state's, the robot either sees where the
    thing is put, or only that it is taken away, and has to find it: it may then be anywhere in the scene's view."""
    radius: _Length = 0.0
    """How far from its place it can be taken hold of."""


class Scene(msgspec.Struct, frozen=True):
    """What stays the same during an episode, and which numbers of a state are places."""

    view: tuple[float, float, float, float]
    """Left, bottom, right and top of what is shown."""
    shapes: Sequence[Shape] = ()
    """What does not move."""
    robot: tuple[_Index, _Index] | None = None
    """Numbers of a state that say where the robot is: macro-actions are drawn as its ways."""
    particles: Sequence[Track] = ()
    """What to show of each particle."""
    trails: Sequence[Track] = ()
    """Whose true ways to show."""
    handles: Sequence[Handle] = ()
    """What a person may move on a live page."""

    def __post_init__(self) -> None:
        left, bottom, right, top = self.view
        if not (left < right and bottom < top):
            raise ValueError(f"The view of a scene is left, bottom, right and top in this order, not {self.view}.")

    def check_numbers(self, state_size: int, context_size: int) -> None:
        """A ValueError if it names a number that a state, or the context, does not have."""
        named = [("robot", number, state_size) for number in self.robot or ()]
        named += [("particles", number, state_size) for track in self.particles for number in (track.x, track.y)]
        named += [("trails", number, state_size) for track in self.trails for number in (track.x, track.y)]
        for handle in self.handles:
            size = context_size if handle.of == "context" else state_size
            named += [(f"handle {handle.name}", number, size) for number in (handle.x, handle.y) if number is not None]
        for what, number, size in named:
            if not 0 <= number < size:
                raise ValueError(f"The scene's {what} must name one of {size} numbers, not {number}.")


# ----------------------------------------------------------------------------------------------------- what is stored


def plain_scene(scene: Scene) -> Scene:
    """A scene as it is stored: ordinary numbers of six digits. A ValueError says what in it cannot be drawn."""
    return _plain(scene, Scene)


def plain_shapes(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """Shapes as they are stored: ordinary numbers of six digits. A ValueError says what cannot be drawn."""
    return _plain(list(shapes), tuple[Shape, ...])


def six_digits(number: float) -> float:
    """A number that is exact enough for any screen, and short in a file."""
    return float(f"{number:.6g}")


_Kind = TypeVar("_Kind")


def _plain(look: Any, kind: type[_Kind]) -> _Kind:
    return msgspec.convert(_rounded(msgspec.to_builtins(look, enc_hook=_without_numpy)), kind)


def _without_numpy(value: Any) -> Any:
    """What a task has computed, as ordinary numbers."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise ValueError(f"{value!r} is neither a shape nor a number.")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        raise ValueError(f"There is no place for the number {value}.")
    return six_digits(value)
