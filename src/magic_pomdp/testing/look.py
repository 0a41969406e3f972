"""Whether what a task says of its look can be drawn."""

from collections.abc import Callable, Iterator
from typing import Any

from magic_pomdp.core.scene import Scene, plain_scene, plain_shapes
from magic_pomdp.core.task import Task
from magic_pomdp.testing.finding import Broken, Finding, attempt
from magic_pomdp.testing.plain import Record

SHAPES = "Give shapes of finite numbers: Circle, Polygon, Line, Text, rectangle(…) or box(…) of magic_pomdp.scene"


def check_look(task: Task, record: Record) -> Iterator[Finding]:
    """Whether `scene` and `sprites` give shapes, and name numbers that a state has."""
    scene = attempt("scene", task.scene, record.contexts[0].copy())
    if scene is None:
        return
    if not isinstance(scene, Scene):
        raise Broken(
            "scene", f"it returned {scene!r}", "a Scene, or None", "Write `return mp.scene.Scene(view=…, shapes=[…])`"
        )
    _check_drawable("scene", plain_scene, scene)
    left, bottom, right, top = scene.view
    if not (left < right and bottom < top):
        yield Finding("scene", f"its view is {scene.view}", "left, bottom, right, top", "Put them into this order")
    tracks = [(track.x, track.y) for track in (*scene.particles, *scene.trails)]
    for pair in [*tracks, *([scene.robot] if scene.robot else [])]:
        if not all(0 <= number < task.state_size for number in pair):
            seen = f"it takes the numbers {tuple(pair)} of a state for a place"
            advice = "Name the two indices of a state that are the coordinates"
            yield Finding("scene", seen, f"two numbers from 0 to {task.state_size - 1}", advice)
    for handle in scene.handles:
        size = task.context_size if handle.of == "context" else task.state_size
        if not all(number is None or 0 <= number < size for number in (handle.x, handle.y)):
            seen = f"the handle {handle.name!r} is at the numbers {(handle.x, handle.y)}"
            whose = "the context" if handle.of == "context" else "a state"
            advice = f"Name the indices of {whose} that are its coordinates"
            yield Finding("scene", seen, f"numbers from 0 to {size - 1} of {whose}, or None", advice)
    for row in (0, -1):
        arguments = record.contexts[row].copy(), record.moved[row].copy(), record.states[:10].copy()
        shapes = attempt("sprites", task.sprites, *arguments)
        _check_drawable("sprites", plain_shapes, shapes)


def _check_drawable(name: str, make_plain: Callable[[Any], object], drawn: Any) -> None:
    try:
        make_plain(drawn)
    except (TypeError, ValueError, AttributeError) as error:
        raise Broken(name, f"it gave what cannot be drawn ({error})", "shapes", SHAPES) from error
