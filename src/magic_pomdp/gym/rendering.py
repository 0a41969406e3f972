"""A moment of a task as pixels."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from magic_pomdp.core.extras import install_command
from magic_pomdp.core.scene import plain_scene, plain_shapes
from magic_pomdp.core.task import Task

RENDERING: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}
"""What Gymnasium is told of it."""

_PIXELS, _DPI = 400, 100
"""Of a picture's longer side, and of an inch."""


def has_look(task: Task) -> bool:
    """Whether a task says what it looks like."""
    return type(task).scene is not Task.scene


def check_render_mode(task: Task, mode: str | None) -> str | None:
    """The mode, or a ValueError if there is no such picture of the task."""
    if mode is None:
        return None
    if mode != "rgb_array":
        raise ValueError(f"A task is rendered as 'rgb_array' or not at all, not as {mode!r}.")
    if not has_look(task):
        raise ValueError(f"{type(task).__name__} has no look: write scene(self, context).")
    if find_spec("matplotlib") is None:
        raise ValueError(f"Rendering needs the library matplotlib: install it with `{install_command('show')}`.")
    return mode


def picture(task: Task, context: np.ndarray, states: np.ndarray) -> np.ndarray:
    """The last of some states, and the way that led there; shape (height, width, 3). Nobody believes anything here, so
    no belief is drawn."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from magic_pomdp.show.drawing import draw_frame, palette

    scene = task.scene(context)
    assert scene is not None
    left, bottom, right, top = scene.view
    pair = 0.5 * _PIXELS / max(right - left, top - bottom)  # films need even numbers of pixels
    wide, high = 2 * round(pair * (right - left)), 2 * round(pair * (top - bottom))
    figure = Figure(figsize=(wide / _DPI, high / _DPI), dpi=_DPI)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    sprites = plain_shapes(task.sprites(context, states[-1], states[-1:]))
    shown = [shape for shape in sprites if shape.role != "belief"]
    figure.set_facecolor(palette("dark")["ground"])
    draw_frame(axes, plain_scene(scene), shown, states, states[:0])
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
