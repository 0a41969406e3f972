import math

import msgspec
import numpy as np
import pytest

from magic_pomdp.core.randomness import new_stream
from magic_pomdp.core.registry import _SHIPPED, make
from magic_pomdp.core.scene import (
    Circle,
    Handle,
    Line,
    Polygon,
    Scene,
    Shape,
    Text,
    Track,
    box,
    plain_scene,
    plain_shapes,
    rectangle,
    six_digits,
)
from magic_pomdp.running.world import draw_beginning


@pytest.mark.parametrize("name", _SHIPPED)
def test_what_ships_has_a_look(name):
    task = make(name)
    context, state = draw_beginning(task, new_stream(0))
    scene = task.scene(context)
    plain = plain_scene(scene)
    left, bottom, right, top = plain.view
    assert left < right and bottom < top  # noqa: PT018
    for track in [*plain.particles, *plain.trails]:
        assert 0 <= track.x < task.state_size
        assert 0 <= track.y < task.state_size
    sprites = plain_shapes(task.sprites(context, state, np.tile(state, (5, 1))))
    assert sprites
    shapes = tuple[Shape, ...]
    assert msgspec.json.decode(msgspec.json.encode(sprites), type=shapes) == sprites == plain_shapes(sprites)


def test_shapes_are_plain_data():
    shapes = [
        Circle(np.float64(1), 2, 3.00000001),
        rectangle(0, 1, 2, 3),
        box(5, 6, 0.5, 4, 2, filled=False),
        Line(np.array([[0, 1]]), dashed=np.bool_(True)),
        Text(0, 0, "x"),
    ]
    circle, flat, car, line, text = msgspec.to_builtins(plain_shapes(shapes))
    assert circle == {"kind": "circle", "x": 1.0, "y": 2, "radius": 3.0, "role": "obstacle", "filled": True}
    assert flat["points"] == [(0, 1), (2, 1), (2, 3), (0, 3)]
    assert (car["kind"], car["heading"], car["points"][2], car["filled"]) == ("polygon", 0.5, (2.0, 1.0), False)
    assert (line["kind"], line["points"], line["width"], line["dashed"]) == ("line", [(0.0, 1.0)], 2.0, True)
    assert (text["kind"], text["text"]) == ("text", "x")


def test_a_scene_is_plain_data():
    view = 0, 0, np.float32(1), 2.0000000001
    scene = Scene(
        view, [Polygon([(0, 0)])], robot=(np.int64(0), 1), trails=[Track(0, 1)], handles=[Handle("a", 1, None)]
    )
    plain = plain_scene(scene)
    assert (plain.view, plain.robot, plain.trails[0].role) == ((0.0, 0.0, 1.0, 2.0), (0, 1), "belief")
    assert msgspec.json.decode(msgspec.json.encode(plain), type=Scene) == plain
    assert six_digits(1234567.8) == 1234570.0


@pytest.mark.parametrize(("shape", "sentence"), [
    (Circle(0.0, math.nan, 1.0), "There is no place for the number nan"),
    (Circle(0.0, math.inf, 1.0), "There is no place for the number inf"),
    (Circle(0.0, None, 1.0), "Expected `float`, got `null`"),
    (Polygon([(1, 2, 3)]), "Expected `array` of length 2, got 3"),
    (Track(0, 1), "missing required field `kind`"),
    ("circle", "Expected `object`, got `str`"),
    (object(), "neither a shape nor a number"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_refused(shape, sentence):
    with pytest.raises(ValueError, match=sentence):
        plain_shapes([shape])
