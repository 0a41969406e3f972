"""What a task looks like, as data: shapes in the task's own coordinates, drawn alike on a page and in a picture.

A shape has a *role*, not a colour, so that it can be seen on light and on dark ground; a colour of one's own,
"#rrggbb", does as well. Shapes are drawn in their order, the first at the bottom.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeVar

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

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Circle:
    """Filled, or only its edge."""

    x: float
    y: float
    radius: float
    role: Role | str = "obstacle"
    filled: bool = True


@dataclass(frozen=True)
class Polygon:
    """Corners as seen from (x, y), turned by a heading in radians. Filled, or only its edge."""

    points: Points
    role: Role | str = "obstacle"
    filled: bool = True
    x: float = 0.0
    y: float = 0.0
    heading: float = 0.0


@dataclass(frozen=True)
class Line:
    """From point to point, so many pixels wide."""

    points: Points
    role: Role | str = "obstacle"
    width: float = 2.0
    dashed: bool = False


@dataclass(frozen=True)
class Text:
    """A word or two around a point."""

    x: float
    y: float
    text: str
    role: Role | str = "text"


Shape = Circle | Polygon | Line | Text


def rectangle(left: float, bottom: float, right: float, top: float, role: Role | str = "surface") -> Polygon:
    """A rectangle along the axes."""
    return Polygon(((left, bottom), (right, bottom), (right, top), (left, top)), role)


def box(x: float, y: float, heading: float, length: float, width: float, role: Role | str = "robot") -> Polygon:
    """A rectangle around a point, its length along a heading: a car, for instance."""
    a, b = 0.5 * length, 0.5 * width
    return Polygon(((-a, -b), (a, -b), (a, b), (-a, b)), role, True, x, y, heading)


@dataclass(frozen=True)
class Track:
    """Two numbers of a state that are the coordinates of something."""

    x: int
    y: int
    role: Role | str = "belief"


@dataclass(frozen=True)
class Handle:
    """Something that a person may move on a live page."""

    name: str
    x: int | None
    """The number that is its coordinate from left to right; None if it cannot be moved so."""
    y: int | None
    """The number that is its coordinate upwards; None if it cannot be moved so."""
    of: Literal["context", "seen", "hidden"] = "context"
    """Whose numbers these are: the context's, or the state's. If they are the state's, the robot either sees where the
    thing is put, or only that it is taken away, and has to find it: it may then be anywhere in the scene's view."""
    radius: float = 0.0
    """How far from its place it can be taken hold of."""


@dataclass(frozen=True)
class Scene:
    """What stays the same during an episode, and which numbers of a state are places."""

    view: tuple[float, float, float, float]
    """Left, bottom, right and top of what is shown."""
    shapes: Sequence[Shape] = ()
    """What does not move."""
    robot: tuple[int, int] | None = None
    """Numbers of a state that say where the robot is: macro-actions are drawn as its ways."""
    particles: Sequence[Track] = ()
    """What to show of each particle."""
    trails: Sequence[Track] = field(default=())
    """Whose true ways to show."""
    handles: Sequence[Handle] = ()
    """What a person may move on a live page."""

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "view": [float(edge) for edge in self.view],
            "shapes": shapes_to_json(self.shapes),
            "robot": self.robot,
            "particles": [asdict(track) for track in self.particles],
            "trails": [asdict(track) for track in self.trails],
            "handles": [_rounded(asdict(handle)) for handle in self.handles],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Scene":
        """The scene that plain data describe, or a ValueError if they describe none."""
        try:
            left, bottom, right, top = map(float, data["view"])
            x_y = data.get("robot")
            return cls(
                (left, bottom, right, top),
                shapes_from_json(data["shapes"]),
                (int(x_y[0]), int(x_y[1])) if x_y else None,
                [_made(Track, track) for track in data["particles"]],
                [_made(Track, track) for track in data["trails"]],
                [_made(Handle, handle) for handle in data.get("handles", ())],
            )
        except (KeyError, TypeError, IndexError, AttributeError):
            raise ValueError("These data do not describe a scene.") from None


def shapes_to_json(shapes: Sequence[Shape]) -> list[dict[str, Any]]:
    """Shapes as plain data, each with its kind."""
    return [{"kind": type(shape).__name__.lower(), **_rounded(asdict(shape))} for shape in shapes]


def _rounded(value: Any) -> Any:
    """Numbers with six digits: enough for any screen, and short."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return float(f"{float(value):.6g}")


KINDS: dict[str, type[Shape]] = {kind.__name__.lower(): kind for kind in (Circle, Polygon, Line, Text)}


def shapes_from_json(shapes: Sequence[dict[str, Any]]) -> list[Shape]:
    """Shapes from plain data, or a ValueError if some are none."""
    try:
        return [_made(KINDS[shape["kind"]], shape) for shape in shapes]
    except (KeyError, TypeError, AttributeError):
        raise ValueError("These data do not describe shapes.") from None


Made = TypeVar("Made")


def _made(kind: type[Made], data: dict[str, Any]) -> Made:
    """A thing of a kind from its named parts; names that the kind does not know are left out."""
    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in data.items() if name in known})
