"""The junction of Crowd-Driving as a network that SUMO can load."""

import os
import subprocess
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from magic_pomdp.core.reading import in_short, printable
from magic_pomdp.tasks.crowd_driving.network import Lane, RoadNetwork

_NETCONVERT = ("--no-turnarounds", "true", "--offset.disable-normalization", "true", "--no-warnings", "true")
_SECONDS = 60.0
"""A program of SUMO may take so long."""


def write_network(network: RoadNetwork, speed: float, folder: Path) -> Path:
    """Write a network whose roads are whole (our own map's are) to a folder, by way of SUMO's netconvert: lanes and
    ways through the junction have the very shapes that the task's cars follow. `speed` is the limit everywhere."""
    nodes, edges, ways = (ElementTree.Element(name) for name in ("nodes", "edges", "connections"))
    roads = defaultdict[str, list[Lane]](list)
    for lane in network.lanes:
        if not lane.internal:
            roads[lane.edge].append(lane)
    names = _Nodes(network)
    for name, place in names.places().items():
        shape = next((junction.shape for junction in network.junctions if junction.name == name), None)
        node = _add(nodes, "node", id=name, x=_number(place[0]), y=_number(place[1]), type="priority", keepClear="0")
        if shape is not None:
            node.set("shape", _line(shape))
    for road, lanes in roads.items():
        start, end = names.of(road, "start"), names.of(road, "end")
        edge = _add(
            edges, "edge", id=road, to=end, numLanes=str(len(lanes)), speed=_number(speed), priority="1",
            spreadType="center", shape=_line(np.mean([lane.middle for lane in lanes], axis=0)), **{"from": start},
        )  # fmt: skip
        for index, lane in enumerate(lanes):
            _add(edge, "lane", index=str(index), width=_number(lane.width), shape=_line(lane.middle))
    for lane in network.lanes:
        for link in () if lane.internal else lane.links:
            via = network.lanes[link]
            target = network.lanes[via.links[0]] if via.internal else via
            way = _add(
                ways, "connection", to=target.edge, fromLane=_index(lane), toLane=_index(target), keepClear="0",
                **{"from": lane.edge},
            )  # fmt: skip
            if via.internal:
                way.set("shape", _line(via.middle))
    for name, root in (("nod", nodes), ("edg", edges), ("con", ways)):
        ElementTree.ElementTree(root).write(folder / f"roads.{name}.xml", encoding="utf-8", xml_declaration=True)
    return _convert(folder)


class _Nodes:
    """Where roads meet: ends of roads and starts of those that follow them are one."""

    def __init__(self, network: RoadNetwork) -> None:
        self._same: dict[tuple[str, str], tuple[str, str]] = {}
        self._network = network
        self._named: dict[tuple[str, str], str] = {}
        for lane in network.lanes:
            for link in () if lane.internal else lane.links:
                via = network.lanes[link]
                target = network.lanes[via.links[0]] if via.internal else via
                self._same[self._root((target.edge, "start"))] = self._root((lane.edge, "end"))
        for junction in network.junctions:
            self._named[self._root((network.lanes[junction.arriving[0]].edge, "end"))] = junction.name

    def _root(self, end: tuple[str, str]) -> tuple[str, str]:
        while end in self._same and self._same[end] != end:
            end = self._same[end]
        return end

    def of(self, road: str, end: str) -> str:
        """The name of the node at the start or end of a road."""
        root = self._root((road, end))
        return self._named.get(root, "-".join(root))

    def places(self) -> dict[str, np.ndarray]:
        """Where each node is."""
        found = defaultdict[str, list[np.ndarray]](list)
        for lane in self._network.lanes:
            if not lane.internal:
                found[self.of(lane.edge, "start")].append(lane.middle[0])
                found[self.of(lane.edge, "end")].append(lane.middle[-1])
        return {name: np.mean(points, axis=0) for name, points in found.items()}


def check_network(path: Path) -> Path:
    """A file that SUMO can load; a ValueError says why it cannot. (Another process tries: in this one, SUMO would not
    survive some of the errors.)"""
    _run("sumo", f"SUMO cannot load {printable(path.name)}", f"--net-file={path}", "--end=0", "--no-step-log=true")
    return path


def _convert(folder: Path) -> Path:
    network = folder / "roads.net.xml"
    inputs = [f"--{kind}-files={folder / f'roads.{kind[:3]}.xml'}" for kind in ("node", "edge", "connection")]
    _run("netconvert", "SUMO cannot write the junction", *inputs, f"--output-file={network}", *_NETCONVERT)
    return network


def _run(program: str, trouble: str, *arguments: str) -> None:
    """Run a program of SUMO."""
    import sumo  # type: ignore[import-untyped]

    done = subprocess.run(
        [Path(sumo.SUMO_HOME, "bin", program), *arguments],
        capture_output=True, text=True, timeout=_SECONDS, check=False,
        env={**os.environ, "SUMO_HOME": str(sumo.SUMO_HOME)},
    )  # fmt: skip
    if done.returncode != 0:
        raise ValueError(f"{trouble}: {in_short(' '.join(done.stderr.split())).rstrip('.')}.")


def _add(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, attributes)


def _index(lane: Lane) -> str:
    return lane.name.rpartition("_")[2]


def _line(points: np.ndarray) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(value: float) -> str:
    return f"{value:.3f}"
