"""Road networks of SUMO: reading `.net.xml` files, as netconvert, netgenerate and netedit write them."""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree

import numpy as np

from magic_pomdp.core.reading import Damaged, in_short, printable, read_content
from magic_pomdp.tasks.crowd_driving.network import Junction, Lane, RoadNetwork, shown

_DEFAULT_WIDTH = 3.2
"""Width of a lane for which the file gives none."""
_GAP = 0.5
"""Lanes that connect across more metres than this, without an internal lane, get one: a straight line."""

MOST_BYTES = 64 * 2**20
"""A file may hold so much XML, unpacked."""
_MOST_ELEMENTS = 1_000_000
"""It may have so many lanes, connections and junctions,"""
_MOST_POINTS = 1_000_000
"""these so many points,"""
_MOST_LETTERS = 1_000_000
"""an attribute so many letters,"""
_MOST_INSIDE = 1_000_000
"""junctions so many lanes inside, counted for each of them,"""
_DEEPEST = 20
"""and elements so many others around them."""
_FARTHEST = 1e8
"""Coordinates may be so large, in metres: more than twice around the earth."""
_CUT = "cut a part of it out: netconvert --sumo-net-file FILE --keep-edges.in-boundary WEST,SOUTH,EAST,NORTH -o PART"
"""What to do with a network that is too large."""


def read_sumo(path: str | Path, turnarounds: bool = True) -> RoadNetwork:
    """The lanes of a SUMO network that cars may use, in the file's own coordinates (its offset is part of them).

    Without turnarounds, connections that turn back into the same road are left out."""
    path = Path(path)
    return parse_sumo(read_content(path, MOST_BYTES), printable(path.name), turnarounds)


def parse_sumo(content: bytes, file: str, turnarounds: bool = True) -> RoadNetwork:
    """The same, of what a file holds. Messages call it `file`."""
    contents = _Contents(file)
    parser = ElementTree.XMLParser(target=contents)
    try:
        parser.feed(content.lstrip())  # some files begin with an empty line, which XML forbids and nobody misses
        parser.close()
    except Damaged:
        raise
    except (LookupError, ValueError, ElementTree.ParseError) as error:  # of encodings that nobody knows, too
        reason = in_short(str(error))
        raise Damaged(f"{file} is not a SUMO network, for it is not well-formed XML: {reason}.") from None
    if not contents.lanes:
        raise Damaged(f"The road network {file} has no lane that cars may use.")
    return contents.network(turnarounds)


@dataclass
class _LaneElement:
    edge: str
    internal: bool
    middle: np.ndarray
    width: float
    links: dict[str, bool] = field(default_factory=dict)
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
        self.elements = self.points = 0
        """How many there were."""
        self.edge: dict[str, str] = {}
        self.ends: dict[str, tuple[str, str]] = {}
        """From and to which junction each normal edge leads."""
        self.lanes: dict[str, _LaneElement] = {}
        self.forbidden: set[str] = set()
        """Lanes of the file that are not for cars."""
        self.connections: list[dict[str, str]] = []
        self.junctions: dict[str, _JunctionElement] = {}

    def refuse(self, reason: str) -> NoReturn:
        raise Damaged(f"{self.file} is not a usable SUMO network: {reason}.")

    # ------------------------------------------------------------------------------------ what the parser calls

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        self.refuse("it declares a document type, and so possibly entities, which a network never needs")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth == 1 and tag != "net":
            self.refuse(f"its outermost element is <{shown(tag)}>, not <net>")
        if self.depth > _DEEPEST:
            self.refuse(f"its elements are nested more than {_DEEPEST} deep")
        if tag not in ("edge", "lane", "connection", "junction"):
            return
        self.elements += 1
        if self.elements > _MOST_ELEMENTS:
            self.refuse(f"it has more than {_MOST_ELEMENTS:,} lanes, connections and junctions; {_CUT}")
        for name, value in attributes.items():
            if len(value) > _MOST_LETTERS:
                self.refuse(f"the {shown(name)} of an element <{tag}> has more than {_MOST_LETTERS:,} letters")
        try:
            if tag == "edge":
                self.add_edge(attributes)
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

    def add_edge(self, attributes: dict[str, str]) -> None:
        self.edge = attributes
        if "from" in attributes:
            if attributes["id"] in self.ends:
                self.refuse(f"two roads are called {shown(attributes['id'])}")
            self.ends[attributes["id"]] = attributes["from"], attributes["to"]

    def add_lane(self, attributes: dict[str, str]) -> None:
        name, function = attributes["id"], self.edge.get("function", "normal")
        if name in self.lanes or name in self.forbidden:
            self.refuse(f"two lanes are called {shown(name)}")
        if function in ("crossing", "walkingarea") or not _for_cars(attributes):
            self.forbidden.add(name)
            return
        middle = self.shape(f"lane {shown(name)}", attributes["shape"])
        try:
            width = float(attributes.get("width", _DEFAULT_WIDTH))
        except ValueError:
            self.refuse(f"the width of lane {shown(name)} is no number")
        if len(middle) < 2 or not 0.0 < width < 1000.0:
            self.refuse(f"lane {shown(name)} has no usable shape or width")
        self.lanes[name] = _LaneElement(self.edge["id"], function == "internal", middle, width)

    def add_junction(self, attributes: dict[str, str]) -> None:
        name = attributes["id"]
        if name in self.junctions:
            self.refuse(f"two junctions are called {shown(name)}")
        shape = self.shape(f"junction {shown(name)}", attributes.get("shape", ""))
        self.junctions[name] = _JunctionElement(name, shape, attributes.get("incLanes", "").split())

    def shape(self, owner: str, text: str) -> np.ndarray:
        try:
            shape = _points(text)
        except ValueError:
            self.refuse(f"the shape of {owner} is no number")
        if not np.isfinite(shape).all():
            self.refuse(f"{owner} has no usable shape")
        if abs(shape).max(initial=0.0) > _FARTHEST:
            self.refuse(f"{owner} reaches farther than {_FARTHEST:g} m from the origin")
        self.points += len(shape)
        if self.points > _MOST_POINTS:
            self.refuse(f"its lanes and junctions have more than {_MOST_POINTS:,} points; {_CUT}")
        return shape

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
                links=tuple(numbers[link] for link, turnaround in lane.links.items() if turnarounds or not turnaround),
                internal=lane.internal,
                width=lane.width,
            )
            for name, lane in self.lanes.items()
        )
        junctions, inside_all = [], 0
        for junction in self.junctions.values():
            arriving = tuple(numbers[name] for name in dict.fromkeys(junction.arriving) if name in numbers)
            arriving = tuple(lane for lane in arriving if not lanes[lane].internal)
            inside, connected = _inside(lanes, arriving), junction.name not in unconnected
            inside_all += len(inside)
            if inside_all > _MOST_INSIDE:
                self.refuse(f"its junctions have more than {_MOST_INSIDE:,} lanes inside; {_CUT}")
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
                self.refuse(f"a connection names lane {shown(name)}, which does not exist")
        turnaround = connection.get("dir") == "t"
        lane, end, begin = self.lanes[start], self.lanes[start].middle[-1], self.lanes[via].middle[0]
        if via == target and not lane.internal and np.hypot(*(begin - end)) > _GAP:
            via = f":{start}-{target}_0"
            middle = np.array([end, begin])
            made = _LaneElement(via[:-2], True, middle, lane.width, {target: turnaround})
            self.lanes.setdefault(via, made)  # a connection may stand there twice
        lane.links[via] = turnaround

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
            before, after = {self.ends[edge][0] for edge in into}, {self.ends[edge][1] for edge in leaving[name]}
            through = before and after and len(before | after) > 1  # and not only back to where one came from
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
