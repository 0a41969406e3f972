"""Maps for a fuzzer: one that is fine, and what becomes of others."""

from pathlib import Path

from magic_pomdp import make

_ARMS = {"n": (0, 1), "e": (1, 0), "s": (0, -1), "w": (-1, 0)}
"""Where the roads of the junction come from."""
_NEAR, _FAR, _ASIDE = 8.0, 80.0, 1.6
"""Metres from the middle of the junction to the near and the far end of its roads, and from a road's middle to that of
a lane."""


def valid_map() -> bytes:
    """A small SUMO network: four roads with a lane each way meet at a junction; one may turn right or go straight on.
    A short road with a bend goes on from each."""
    edges, connections = [], []
    for arm, (x, y) in _ARMS.items():
        into = [_place(x, y, metres, -_ASIDE) for metres in (_FAR, _NEAR)]
        out = [_place(x, y, metres, _ASIDE) for metres in (_NEAR, _FAR)]
        bend = [out[-1], _place(x, y, _FAR + 10, _ASIDE), _place(x, y, _FAR + 40, _ASIDE + 5)]
        edges += [_edge(f"in-{arm}", f"far-{arm}", "J", into), _edge(f"out-{arm}", "J", f"far-{arm}", out)]
        edges.append(_edge(f"on-{arm}", f"far-{arm}", f"end-{arm}", bend))
        connections.append(f'<connection from="out-{arm}" to="on-{arm}" fromLane="0" toLane="0" dir="s"/>')
    arms = list(_ARMS)
    for number, arm in enumerate(arms):
        for turn, direction in ((1, "r"), (2, "s")):
            to = arms[number - turn]
            ends = [_place(*_ARMS[arm], _NEAR, -_ASIDE), _place(*_ARMS[to], _NEAR, _ASIDE)]
            via = f":J_{len(connections)}"
            edges.insert(0, f'<edge id="{via}" function="internal">{_lane(via, ends)}</edge>')
            link = f'fromLane="0" toLane="0" dir="{direction}"'
            connections.append(f'<connection from="in-{arm}" to="out-{to}" via="{via}_0" {link}/>')
            connections.append(f'<connection from="{via}" to="out-{to}" {link}/>')
    corners = _shape([(-_NEAR, -_NEAR), (_NEAR, -_NEAR), (_NEAR, _NEAR), (-_NEAR, _NEAR)])
    arriving = " ".join(f"in-{arm}_0" for arm in arms)
    junction = f'<junction id="J" type="priority" x="0" y="0" incLanes="{arriving}" shape="{corners}"/>'
    return "\n".join(['<net version="1.9">', *edges, junction, *connections, "</net>"]).encode()


def try_map(content: bytes, folder: Path) -> None:
    """Make a task of a map; a ValueError means that it is refused."""
    path = folder / "map.net.xml"
    path.write_bytes(content)
    make("crowd-driving", map=str(path))


def _place(x: float, y: float, metres: float, aside: float) -> tuple[float, float]:
    """So far out from the middle in a direction, and to the right of it."""
    return metres * x + aside * y, metres * y - aside * x


def _shape(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in points)


def _lane(edge: str, points: list[tuple[float, float]]) -> str:
    return f'<lane id="{edge}_0" index="0" speed="13.9" width="3.2" shape="{_shape(points)}"/>'


def _edge(name: str, start: str, end: str, points: list[tuple[float, float]]) -> str:
    return f'<edge id="{name}" from="{start}" to="{end}" priority="1">{_lane(name, points)}</edge>'
