import json

import numpy as np
import pytest

from magic_pomdp import Circle, Line, Polygon, Scene, Text, Track, box, make_task, new_stream, rectangle
from magic_pomdp.core.registry import SHIPPED
from magic_pomdp.core.scene import shapes_to_json
from magic_pomdp.running.episode import draw_beginning


@pytest.mark.parametrize("name", SHIPPED)
def test_what_ships_has_a_look(name):
    task = make_task(name)
    context, state = draw_beginning(task, new_stream(0))
    scene = task.scene(context)
    data = json.loads(json.dumps(scene.to_json()))
    left, bottom, right, top = data["view"]
    assert left < right and bottom < top  # noqa: PT018
    for track in [*data["particles"], *data["trails"]]:
        assert 0 <= track["x"] < task.state_size
        assert 0 <= track["y"] < task.state_size
    sprites = shapes_to_json(task.sprites(context, state, np.tile(state, (5, 1))))
    assert sprites
    assert json.loads(json.dumps(sprites, allow_nan=False)) == sprites


def test_shapes_are_plain_data():
    shapes = [
        Circle(np.float64(1), 2, 3.00000001),
        rectangle(0, 1, 2, 3),
        box(5, 6, 0.5, 4, 2),
        Line([(0, 1)]),
        Text(0, 0, "x"),
    ]
    circle, flat, car, line, text = shapes_to_json(shapes)
    assert circle == {"kind": "circle", "x": 1.0, "y": 2, "radius": 3.0, "role": "obstacle", "filled": True}
    assert flat["points"] == [[0, 1], [2, 1], [2, 3], [0, 3]]
    assert (car["kind"], car["heading"], car["points"][2]) == ("polygon", 0.5, [2.0, 1.0])
    assert (line["width"], line["dashed"], text["text"]) == (2.0, False, "x")
    assert Scene((0, 0, 1, 1), [Polygon([(0, 0)])], trails=[Track(0, 1)]).to_json()["trails"][0]["role"] == "belief"
