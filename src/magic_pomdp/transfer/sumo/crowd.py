"""SUMO's own drivers at the junction, and the robot's car among them."""

import math
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from magic_pomdp.tasks.crowd_driving.building import RoadMap
from magic_pomdp.tasks.crowd_driving.gamma import FRONT, REAR, SIDE
from magic_pomdp.tasks.crowd_driving.network import Junction, RoadNetwork
from magic_pomdp.tasks.crowd_driving.traffic import CLEARANCE, TRAFFIC_ACCELERATION, TRAFFIC_SPEED
from magic_pomdp.transfer.sumo.network_file import check_network, write_network

TICK = 0.1
"""Seconds of one step of SUMO."""
_APPROACH, _DEPARTURE = 70.0, 150.0
"""Other cars come from so many metres before the junction, and leave so many behind it."""
_SETTLING = 45.0
"""Seconds of traffic before an episode begins."""
_ROBOT = "robot"
_DRIVER = f"""<routes><vType id="driver" length="{REAR + FRONT:.3f}" width="{2.0 * SIDE:.3f}" minGap="1.0"
maxSpeed="{1.25 * TRAFFIC_SPEED}" accel="{TRAFFIC_ACCELERATION}" decel="4.0" emergencyDecel="7.0" tau="0.8" sigma="0.5"
speedFactor="normc(1.0,0.12,0.7,1.25)" latAlignment="center" minGapLat="0.4" lcPushy="0.3" lcImpatience="0.5"
jmIgnoreFoeProb="1.0" jmIgnoreFoeSpeed="20.0" jmTimegapMinor="0.3" jmIgnoreKeepClearTime="0"/></routes>"""
"""They heed whoever is in the junction, but give way to nobody who is not there yet. In size, speed and acceleration
they are the model's cars; how they follow, change lanes and swerve is SUMO's."""
_OPTIONS = {
    "step-length": TICK, "lateral-resolution": 0.8, "collision.action": "none", "time-to-teleport": -1,
    "ignore-junction-blocker": 1.5, "max-depart-delay": 1, "no-step-log": "true", "no-warnings": "true",
    "duration-log.disable": "true", "xml-validation": "never",
}  # fmt: skip


class _Way(NamedTuple):
    """A way through the junction, from a lane to a road."""

    route: str
    lane: str
    start: float
    end: float
    roads: tuple[str, ...]


class Car(NamedTuple):
    """What is true of a car: its reference point near the rear axle, heading in radians, and speed."""

    name: str
    x: float
    y: float
    heading: float
    speed: float


class Crowd:
    """One simulation of SUMO. There is one in a process at a time: one that begins closes the one before."""

    _present: "Crowd | None" = None

    def __init__(self, road_map: RoadMap, network_file: str, per_second: float) -> None:
        """Of a map, which SUMO reads from a file (our own map, if none is named), with so many cars a second."""
        self._folder = tempfile.TemporaryDirectory(prefix="magic-pomdp-sumo-")
        folder = Path(self._folder.name)
        given = check_network(Path(network_file)) if network_file else None
        self._roads = str(given or write_network(road_map.network, TRAFFIC_SPEED, folder))
        self._drivers = folder / "drivers.rou.xml"
        self._drivers.write_text(_DRIVER, encoding="utf-8")
        junction = _junction_of(road_map)
        self._ways = _ways_through(road_map.network, junction)
        self._per_second = per_second
        self._sumo: Any = _libsumo()
        self._random = np.random.default_rng(0)
        self._added = 0

    def begin(self, seed: int, x: float, y: float, heading: float) -> None:
        """Let traffic build up; then the robot's car stands at a place, of which the others are clear."""
        self._random, self._added = np.random.default_rng(seed), 0
        options = [text for name, value in _OPTIONS.items() for text in (f"--{name}", str(value))]
        files = ["--net-file", self._roads, "--route-files", str(self._drivers)]
        if self._sumo.isLoaded():
            self._sumo.close()
        Crowd._present = self
        self._sumo.start(["sumo", *files, *options, "--seed", str(seed % 2**31)])
        for way in self._ways:
            self._sumo.route.add(way.route, way.roads)
        for _ in range(round(_SETTLING / TICK)):
            self._tick()
        for car in self.cars():
            if max(abs(car.x - x), abs(car.y - y)) < CLEARANCE:
                self.remove(car.name)
        way = self._ways[0]
        self._sumo.vehicle.add(_ROBOT, way.route, "driver", departPos="0", departSpeed="0")
        self._sumo.vehicle.setSpeedMode(_ROBOT, 0)
        self._sumo.vehicle.setLaneChangeMode(_ROBOT, 0)
        self.move(x, y, heading, 0.0)

    def move(self, x: float, y: float, heading: float, speed: float) -> None:
        """Put the robot's car to where its own physics has it, and let the others drive for a tick."""
        front_x, front_y = x + FRONT * math.cos(heading), y + FRONT * math.sin(heading)
        degrees = (90.0 - math.degrees(heading)) % 360.0
        self._sumo.vehicle.moveToXY(_ROBOT, "", -1, front_x, front_y, degrees, 2)
        self._sumo.vehicle.setSpeed(_ROBOT, max(0.0, speed))
        self._tick()

    def cars(self) -> list[Car]:
        """All other cars."""
        found = []
        for name in self._sumo.vehicle.getIDList():
            if name != _ROBOT:
                x, y = self._sumo.vehicle.getPosition(name)
                heading = math.radians(90.0 - self._sumo.vehicle.getAngle(name))
                x, y = x - FRONT * math.cos(heading), y - FRONT * math.sin(heading)
                found.append(Car(name, x, y, heading, self._sumo.vehicle.getSpeed(name)))
        return found

    def remove(self, name: str) -> None:
        """A car vanishes."""
        self._sumo.vehicle.remove(name)

    def _tick(self) -> None:
        if Crowd._present is not self:
            raise ValueError("Another world has begun in this process, and SUMO runs one at a time: begin anew.")
        if self._random.random() < self._per_second * TICK:
            way = self._ways[self._random.integers(len(self._ways))]
            self._added += 1
            self._sumo.vehicle.add(
                f"car{self._added}", way.route, "driver", departLane=way.lane, departPos=f"{way.start:.2f}",
                departSpeed="avg", arrivalPos=f"{way.end:.2f}",
            )  # fmt: skip
        self._sumo.simulationStep()


def _libsumo() -> ModuleType:
    import libsumo  # type: ignore[import-untyped]

    module: ModuleType = libsumo
    return module


def _junction_of(road_map: RoadMap) -> Junction:
    """The junction that the robot crosses: the one from which the scene's exits lead."""
    network, exits = road_map.network, set(road_map.scene.exit_roads)

    def led_to(junction: Junction) -> int:
        onward = (link for lane in (*junction.arriving, *junction.inside) for link in network.lanes[lane].links)
        return len(exits.intersection(network.lanes[link].edge for link in onward))

    return max(network.junctions, key=led_to)


def _ways_through(network: RoadNetwork, junction: Junction) -> list[_Way]:
    """Every way through a junction, from some metres before it to some behind it."""
    found: list[_Way] = []
    for number in junction.arriving:
        for target in sorted(_beyond(network, number)):
            before, start, lane = _backwards(network, number)
            roads, length = [network.lanes[target].edge], network.lanes[target].length
            while length < _DEPARTURE and network.lanes[target].links:
                target = min(_beyond(network, target))
                roads.append(network.lanes[target].edge)
                length += network.lanes[target].length
            end = network.lanes[target].length - max(0.0, length - _DEPARTURE) - 1.0
            found.append(_Way(f"way{len(found)}", lane, start, end, (*before, *roads)))
    return found


def _beyond(network: RoadNetwork, lane: int) -> set[int]:
    """The lanes of roads that can be reached from the end of a lane."""
    found, waiting = set(), list(network.lanes[lane].links)
    while waiting:
        link = waiting.pop()
        if network.lanes[link].internal:
            waiting += network.lanes[link].links
        else:
            found.add(link)
    return found


def _backwards(network: RoadNetwork, lane: int) -> tuple[list[str], float, str]:
    """Roads that lead to the end of a lane from some metres before it; where on the first of them, and which lane."""
    roads, length = [network.lanes[lane].edge], network.lanes[lane].length
    while length < _APPROACH:
        before = [
            number
            for number, other in enumerate(network.lanes)
            if not other.internal and other.edge not in roads and lane in _beyond(network, number)
        ]
        if not before:
            break
        lane = before[0]
        roads.insert(0, network.lanes[lane].edge)
        length += network.lanes[lane].length
    return roads, max(0.0, length - _APPROACH) + 0.1, network.lanes[lane].name.rpartition("_")[2]
