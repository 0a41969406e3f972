"""Road networks of SUMO: reading `.net.xml` files, as netconvert, netgenerate and netedit write them."""

import gzip
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree

import numpy as np

from magic_pomdp.tasks.crowd_driving.network import Junction, Lane, RoadNetwork

_DEFAULT_WIDTH = 3.2
"""Width of a lane for which the file gives none."""
_GAP = 0.5
"""Lanes that connect across more metres than this, without an internal lane, get one: a straight line."""


def read_sumo(path: str | Path, turnarounds: bool = True) -> RoadNetwork:
    """The lanes of a SUMO network that cars may use, in the file's own coordinates (its offset is part of them).

    Without turnarounds, connections that turn back into the same road are left out."""
    path = Path(path)
    contents = _Contents(path.name)
    parser = ElementTree.XMLParser(target=contents)
    try:
        # Some files begin with an empty line, which XML forbids and nobody misses.
        parser.feed((gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).lstrip())
        parser.close()
    except (OSError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"The road network {path.name} cannot be read: {reason}.") from None
    except (EOFError, LookupError, ElementTree.ParseError) as error:  # LookupError: an encoding that nobody knows
        raise ValueError(f"{path.name} is not a SUMO network, for it is not well-formed XML: {error}.") from None
    if not contents.lanes:
        raise ValueError(f"The road network {path.name} has no lane that cars may use.")
    return contents.network(turnarounds)


@dataclass
class _LaneElement:
    edge: str
    internal: bool
    middle: np.ndarray
    width: float
    links: list[tuple[str, bool]] = field(default_factory=list)
    """Names of lanes that go on from here, and whether that is a turnaround."""


@dataclass
class _JunctionElement:
    name: str
    shape: np.ndarray
    arriving: list[str]
    """Names of lanes."""


class _Contents:
    """Receives what the XML parser meets, and keeps what a road network needs."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.depth = 0
        self.edge: dict[str, str] = {}
        self.ends: dict[str, tuple[str, str]] = {}
        """From and to which junction each normal edge leads."""
        self.lanes: dict[str, _LaneElement] = {}
        self.forbidden: set[str] = set()
        """Lanes of the file that are not for cars."""
        self.connections: list[dict[str, str]] = []
        self.junctions: list[_JunctionElement] = []

    def refuse(self, reason: str) -> NoReturn:
        raise ValueError(f"{self.file} is not a usable SUMO network: {reason}.")

    # ------------------------------------------------------------------------------------ what the parser calls

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        self.refuse("it declares a document type, and so possibly entities, which a network never needs")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth == 1 and tag != "net":
            self.refuse(f"its outermost element is <{tag}>, not <net>")
        try:
            if tag == "edge":
                self.edge = attributes
                if "from" in attributes:
                    self.ends[attributes["id"]] = attributes["from"], attributes["to"]
            elif tag == "lane" and self.depth == 3:
                self.add_lane(attributes)
            elif tag == "connection":
                self.connections.append(attributes)
            elif tag == "junction" and attributes.get("type") != "internal":
                self.add_junction(attributes)
        except KeyError as error:
            self.refuse(f"an element <{tag}> lacks its {error.args[0]}")

    def end(self, tag: str) -> None:
        self.depth -= 1

    def close(self) -> None:
        pass

    # ------------------------------------------------------------------------------------------------- building

    def add_lane(self, attributes: dict[str, str]) -> None:
        name, function = attributes["id"], self.edge.get("function", "normal")
        if function in ("crossing", "walkingarea") or not _for_cars(attributes):
            self.forbidden.add(name)
            return
        try:
            middle, width = _points(attributes["shape"]), float(attributes.get("width", _DEFAULT_WIDTH))
        except ValueError:
            self.refuse(f"the shape or the width of lane {name} is no number")
        if len(middle) < 2 or not (np.isfinite(middle).all() and 0.0 < width < 1000.0):
            self.refuse(f"lane {name} has no usable shape or width")
        self.lanes[name] = _LaneElement(self.edge["id"], function == "internal", middle, width)

    def add_junction(self, attributes: dict[str, str]) -> None:
        name = attributes["id"]
        try:
            shape = _points(attributes.get("shape", ""))
        except ValueError:
            self.refuse(f"the shape of junction {name} is no number")
        if not np.isfinite(shape).all():
            self.refuse(f"junction {name} has no usable shape")
        self.junctions.append(_JunctionElement(name, shape, attributes.get("incLanes", "").split()))

    def network(self, turnarounds: bool) -> RoadNetwork:
        for connection in self.connections:
            self.add_connection(connection)
        unconnected = self.unconnected()
        numbers = {name: number for number, name in enumerate(self.lanes)}
        lanes = tuple(
            Lane(
                name=name,
                edge=lane.edge,
                middle=lane.middle,
                links=tuple(numbers[link] for link, turnaround in lane.links if turnarounds or not turnaround),
                internal=lane.internal,
                width=lane.width,
            )
            for name, lane in self.lanes.items()
        )
        junctions = []
        for junction in self.junctions:
            arriving = tuple(numbers[name] for name in junction.arriving if name in numbers)
            arriving = tuple(lane for lane in arriving if not lanes[lane].internal)
            inside, connected = _inside(lanes, arriving), junction.name not in unconnected
            junctions.append(Junction(junction.name, junction.shape, arriving, inside, connected))
        roads = tuple(number for number, lane in enumerate(lanes) if not lane.internal)
        return RoadNetwork(lanes, tuple(junctions)).part(sorted({*roads, *_inside(lanes, roads)}))

    def add_connection(self, connection: dict[str, str]) -> None:
        """Links run from a lane to the internal lane that the connection leads over, if it does over one."""
        try:
            start = f"{connection['from']}_{connection['fromLane']}"
            target = f"{connection['to']}_{connection['toLane']}"
        except KeyError as error:
            self.refuse(f"an element <connection> lacks its {error.args[0]}")
        via = connection.get("via", target)
        for name in (start, target, via):
            if name in self.forbidden:
                return
            if name not in self.lanes:
                self.refuse(f"a connection names lane {name}, which does not exist")
        turnaround = connection.get("dir") == "t"
        lane, end, begin = self.lanes[start], self.lanes[start].middle[-1], self.lanes[via].middle[0]
        if via == target and not lane.internal and np.hypot(*(begin - end)) > _GAP:
            via = f":{start}-{target}_0"
            middle = np.array([end, begin])
            self.lanes[via] = _LaneElement(via[:-2], True, middle, lane.width, [(target, turnaround)])
        lane.links.append((via, turnaround))

    def unconnected(self) -> set[str]:
        """The junctions at which roads meet, but no connection leads through."""
        leading_on = {lane.edge for lane in self.lanes.values() if lane.links}
        usable = {lane.edge for lane in self.lanes.values()}
        arriving, leaving = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
        for edge in usable.intersection(self.ends):
            start, end = self.ends[edge]
            leaving[start].append(edge)
            arriving[end].append(edge)
        found = set()
        for name, into in arriving.items():
            through = any(self.ends[before][0] != self.ends[after][1] for before in into for after in leaving[name])
            if through and not leading_on.intersection(into):
                found.add(name)
        return found


def _for_cars(attributes: dict[str, str]) -> bool:
    allowed, refused = attributes.get("allow", "all").split(), attributes.get("disallow", "").split()
    return bool({"all", "passenger"}.intersection(allowed)) and not {"all", "passenger"}.intersection(refused)


def _points(text: str) -> np.ndarray:
    """Places written as "x,y x,y" or "x,y,z x,y,z"; shape (points, 2)."""
    places = [[float(number) for number in place.split(",")] for place in text.split()]
    if any(len(place) < 2 for place in places):
        raise ValueError
    return np.array([place[:2] for place in places]).reshape(-1, 2)


def _inside(lanes: tuple[Lane, ...], arriving: tuple[int, ...]) -> tuple[int, ...]:
    """The internal lanes that lead on from some lanes, one after another."""
    found: dict[int, None] = {}
    waiting = [link for lane in arriving for link in lanes[lane].links]
    while waiting:
        lane = waiting.pop()
        if lanes[lane].internal and lane not in found:
            found[lane] = None
            waiting += lanes[lane].links
    return tuple(found)
