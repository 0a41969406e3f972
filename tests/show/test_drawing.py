import time

import numpy as np
import pytest

from magic_pomdp.scene import Circle, Line, Polygon, Scene, Text, Track, box, rectangle

pytest.importorskip("matplotlib")
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from magic_pomdp.show.drawing import _between, draw_frame, palette


def test_a_frame_holds_every_shape():
    axes = Figure().subplots()
    shapes = [rectangle(0, 0, 4, 1), Line([(0, 0), (4, 4)], "goal", dashed=True), Text(1, 1, "here")]
    scene = Scene((0, 0, 4, 4), shapes, particles=[Track(0, 1)], trails=[Track(0, 1, "#123456")])
    states = np.array([[1.0, 1.0], [2.0, 3.0]])
    draw_frame(axes, scene, [Circle(1, 2, 0.5), box(2, 3, np.pi / 2, 2, 1)], states, states, theme="light")
    assert axes.get_xlim() == (0, 4)
    car = axes.patches[-1].get_xy()[:4]
    assert car == pytest.approx(np.array([[2.5, 2.0], [2.5, 4.0], [1.5, 4.0], [1.5, 2.0]]))  # it looks up
    assert [line.get_color() for line in axes.lines] == [palette("light")["goal"], "#123456"]
    assert [text.get_text() for text in axes.texts] == ["here"]
    assert len(axes.collections[0].get_offsets()) == 2


def pixels(*shapes):
    """A picture of 100 by 100 of a view from -1 to 1."""
    figure = Figure(figsize=(1, 1), dpi=100)
    axes = figure.add_axes((0, 0, 1, 1))
    nobody = np.zeros((1, 2))
    draw_frame(axes, Scene((-1, -1, 1, 1), shapes), (), nobody, nobody)
    axes.axis("off")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(int)


@pytest.mark.parametrize("place", [(0.0, 3e4), (2.2e4, 2.2e4), (-3e4, 0.3), (0.0, 2.9e4), (0.0, 3.1e4), (0.0, 0.0)])
def test_of_a_vast_circle_one_sees_an_edge(place):
    side = np.linspace(-0.99, 0.99, 100)
    within = 3e4 - np.hypot(side[None, :] - place[0], side[::-1, None] - place[1])  # metres from the edge
    painted = (pixels(Circle(*place, 3e4)) != pixels()).any(axis=2)
    assert painted[within > 0.03].all()
    assert not painted[within < -0.03].any()
    painted = (pixels(Circle(*place, 3e4, filled=False)) != pixels()).any(axis=2)
    assert painted[abs(within) < 0.01].all()
    assert not painted[abs(within) > 0.06].any()


@pytest.mark.parametrize("shape", [Circle(0, 0, 1e99), Circle(1e99, 0, 1e99), Circle(0, 5e15, 1e16, filled=False)])
def test_a_circle_of_any_size_is_drawn_at_once(shape):
    started = time.process_time()
    pixels(shape)
    assert time.process_time() < started + 2.0


def test_a_dashed_line_of_hardly_any_width_is_drawn_at_once():
    lines = [Line([(-1, -1), (1, 1)], "goal", width, dashed=True) for width in (0.0, 1e-320, 1e-9)]
    assert (pixels(*lines) == pixels()).all()


def test_both_themes_know_the_same_roles():
    assert palette("light").keys() == palette("dark").keys()


def test_shapes_move_between_two_steps():
    assert _between(Circle(0, 2, 1), Circle(4, 4, 3), 0.25) == Circle(1.0, 2.5, 1.5)
    assert _between(Text(0, 0, "a"), Text(2, 4, "a"), 0.5) == Text(1.0, 2.0, "a")
    assert _between(Line([(0, 0), (2, 2)]), Line([(2, 0), (2, 4)]), 0.5) == Line([(1.0, 0.0), (2.0, 3.0)])
    turned = _between(box(0, 0, 3.0, 4, 2), box(2, 2, -3.0, 4, 2), 0.5)
    assert (turned.x, turned.y, abs(turned.heading)) == pytest.approx((1.0, 1.0, np.pi))  # the short way round
    still = Polygon([(0, 0), (1, 1)])
    assert _between(still, Polygon([(0, 0)]), 0.5).points == still.points


def test_shapes_that_are_not_the_same_thing_do_not_mix():
    circle = Circle(0, 0, 1, "robot")
    for other in (Circle(1, 1, 1, "other"), Text(1, 1, "x", "robot")):
        assert _between(circle, other, 0.5) is circle
    assert _between(circle, Circle(1, 1, 1, "robot"), 0.0) is circle
