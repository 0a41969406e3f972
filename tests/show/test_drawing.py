import numpy as np
import pytest

from magic_pomdp import Circle, Line, Scene, Text, Track, box, rectangle

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

from magic_pomdp.show.drawing import draw_frame, palette


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


def test_both_themes_know_the_same_roles():
    assert palette("light").keys() == palette("dark").keys()
