"""Networks made by SUMO's own tools, read by us and by SUMO's own reader; and files that are none."""

import gzip
import math
import shutil
import subprocess
import sys
import sysconfig
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import shapely

from magic_pomdp import make
from magic_pomdp.core.parameters import derived_digest
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.running.evaluating import describe
from magic_pomdp.running.factory import PlannerFactory
from magic_pomdp.tasks.crowd_driving.building import load_map
from magic_pomdp.tasks.crowd_driving.gamma import CAR, COS, X
from magic_pomdp.tasks.crowd_driving.layout import AREA, CARS_FROM, ROAD_END
from magic_pomdp.tasks.crowd_driving.roads import (
    FIRST_ROUTE,
    LENGTH,
    ROUTES,
    SPAWN,
    advance,
    draw_place,
    inside,
    place_on,
)
from magic_pomdp.tasks.crowd_driving.sumo import read_sumo

NODES = """<nodes>
    <node id="middle" x="0" y="0"/> <node id="north" x="5" y="300"/> <node id="east" x="280" y="-10"/>
    <node id="south" x="0" y="-250"/> <node id="west" x="-320" y="30"/>
</nodes>"""
EDGES = """<edges>
    <edge id="in-n" from="north" to="middle" numLanes="3" width="3.5"/>
    <edge id="out-n" from="middle" to="north" numLanes="2"/>
    <edge id="in-e" from="east" to="middle" numLanes="2"/>
    <edge id="out-e" from="middle" to="east" numLanes="2"/>
    <edge id="in-s" from="south" to="middle" numLanes="1"/>
    <edge id="out-s" from="middle" to="south" numLanes="2"><lane index="0" allow="pedestrian" width="2"/></edge>
    <edge id="out-w" from="middle" to="west" numLanes="2" shape="0,0 -100,0 -320,30"/>
</edges>"""


STREET_MAP = """<osm version="0.6">
    <node id="1" lat="9.0100" lon="38.7600" version="1"/> <node id="2" lat="9.0130" lon="38.7601" version="1"/>
    <node id="3" lat="9.0101" lon="38.7640" version="1"/> <node id="4" lat="9.0075" lon="38.7590" version="1"/>
    <node id="5" lat="9.0099" lon="38.7560" version="1"/>
    <way id="10" version="1"><nd ref="2"/><nd ref="1"/><nd ref="4"/><tag k="highway" v="primary"/>
        <tag k="lanes" v="4"/><tag k="name" v="Ras"/></way>
    <way id="11" version="1"><nd ref="5"/><nd ref="1"/><nd ref="3"/><tag k="highway" v="secondary"/></way>
    <way id="12" version="1"><nd ref="5"/><nd ref="2"/><tag k="highway" v="footway"/></way>
</osm>"""


def run_tool(tool: str, *options: object) -> None:
    """Run one of the programs that the Python package eclipse-sumo installs."""
    program = shutil.which(tool, path=sysconfig.get_path("scripts")) or shutil.which(tool)
    if program is None:
        pytest.skip(f"SUMO's {tool} is missing: pip install eclipse-sumo")
    subprocess.run([program, *map(str, options)], check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A crossing of different roads, also without internal lanes; a grid; one at random; one from OpenStreetMap."""
    folder = tmp_path_factory.mktemp("sumo")
    (folder / "nodes.xml").write_text(NODES)
    (folder / "edges.xml").write_text(EDGES)
    plain = ("-n", folder / "nodes.xml", "-e", folder / "edges.xml")
    run_tool("netconvert", *plain, "--offset.x", 1000, "--offset.y", 2000, "-o", folder / "crossing.net.xml")
    run_tool("netconvert", *plain, "--no-internal-links", "-o", folder / "bare.net.xml")
    run_tool("netconvert", *plain, "-o", folder / "zipped.net.xml.gz")
    run_tool("netgenerate", "--grid", "--grid.length", 120, "-L", 2, "-o", folder / "grid.net.xml")
    run_tool("netgenerate", "--rand", "--rand.iterations", 40, "--seed", 3, "-o", folder / "random.net.xml")
    (folder / "street.osm").write_text(STREET_MAP)
    run_tool("netconvert", "--osm-files", folder / "street.osm", "-o", folder / "street.net.xml")
    return folder


@pytest.fixture(scope="module")
def sumolib(folder):
    """SUMO's own reader of networks, which comes with its programs."""
    sumo = pytest.importorskip("sumo")
    sys.path.append(str(Path(sumo.SUMO_HOME) / "tools"))
    yield pytest.importorskip("sumolib")
    sys.path.pop()


@pytest.mark.parametrize("name", ["crossing", "grid", "random", "street"])
def test_lanes_and_connections_are_those_that_sumo_reads(name, folder, sumolib):
    ours = read_sumo(folder / f"{name}.net.xml")
    theirs = sumolib.net.readNet(str(folder / f"{name}.net.xml"), withInternal=True)
    edges = theirs.getEdges(withInternal=True)
    lanes = [lane for edge in edges for lane in edge.getLanes() if lane.allows("passenger")]
    assert {lane.name for lane in ours.lanes} == {lane.getID() for lane in lanes}
    by_name = {lane.name: lane for lane in ours.lanes}
    for lane in lanes:
        mine = by_name[lane.getID()]
        np.testing.assert_allclose(mine.middle, [point[:2] for point in lane.getShape()])
        assert (mine.width, mine.edge, mine.internal) == (lane.getWidth(), lane.getEdge().getID(), mine.name[0] == ":")
        linked = [link.getViaLaneID() or link.getToLane().getID() for link in lane.getOutgoing()]
        assert sorted(ours.lanes[link].name for link in mine.links) == sorted(linked)


def test_links_are_in_the_order_of_the_file(folder):
    network = read_sumo(folder / "grid.net.xml")
    text = (folder / "grid.net.xml").read_text()
    for lane in network.lanes:
        vias = [f'via="{network.lanes[link].name}"' for link in lane.links if network.lanes[link].internal]
        places = [text.index(via) for via in vias]
        assert places == sorted(places)


def test_coordinates_are_those_of_the_file(folder):
    """Netconvert moved the crossing to (1000, 2000); its north is where y grows, and traffic keeps right."""
    network = read_sumo(folder / "crossing.net.xml")
    middles = {lane.name: lane.middle for lane in network.lanes}
    inward = middles["in-n_0"]
    np.testing.assert_allclose(inward[0], [1005.0, 2300.0], atol=15.0)
    assert inward[-1][1] < inward[0][1]
    assert inward[0][0] < middles["out-n_0"][-1][0]
    assert middles["in-n_1"][0][0] > inward[0][0]
    assert {lane.width for lane in network.lanes if lane.edge == "in-n"} == {3.5}


def test_only_lanes_for_cars_are_used(folder):
    network = read_sumo(folder / "crossing.net.xml")
    assert [lane.name for lane in network.lanes if lane.edge == "out-s"] == ["out-s_1"]


def test_junctions_know_their_lanes(folder):
    network = read_sumo(folder / "crossing.net.xml")
    junction = next(junction for junction in network.junctions if junction.name == "middle")
    assert {network.lanes[lane].edge for lane in junction.arriving} == {"in-n", "in-e", "in-s"}
    internal = {number for number, lane in enumerate(network.lanes) if lane.name.startswith(":middle_")}
    assert set(junction.inside) == internal
    assert shapely.Polygon(junction.shape).contains(shapely.Point(1000.0, 2000.0))


def test_turnarounds_can_be_left_out(folder):
    def turns_back(network):
        routes = [route for lane in network.edge_lanes("A1B1") for route in network.routes(lane, 50.0)]
        return any(network.lanes[lane].edge == "B1A1" for route in routes for lane in route)

    everything, without = (read_sumo(folder / "grid.net.xml", turnarounds) for turnarounds in (True, False))
    assert turns_back(everything)
    assert not turns_back(without)
    linked = {link for lane in without.lanes for link in lane.links}
    assert all(number in linked for number, lane in enumerate(without.lanes) if lane.internal)


def test_a_zipped_network_and_one_that_begins_with_an_empty_line_are_read(folder, tmp_path):
    zipped = read_sumo(folder / "zipped.net.xml.gz")
    (tmp_path / "late.net.xml").write_bytes(b"\n" + gzip.decompress((folder / "zipped.net.xml.gz").read_bytes()))
    late = read_sumo(tmp_path / "late.net.xml")
    assert [lane.name for lane in zipped.lanes] == [lane.name for lane in late.lanes]


def test_connections_without_internal_lanes_become_straight_ways(folder):
    network = read_sumo(folder / "bare.net.xml")
    for lane in network.lanes:
        for link in lane.links:
            assert math.dist(lane.middle[-1], network.lanes[link].middle[0]) < 0.5
    assert any(lane.internal for lane in network.lanes)


@pytest.mark.parametrize("name", ["crossing", "grid", "random", "bare", "street"])
def test_any_network_becomes_a_map_to_drive_on(name, folder):
    """Cars start on it, have routes, and every way of the ego is 180 m long and inside the drivable area."""
    road_map = load_map(folder / f"{name}.net.xml")
    roads, random = road_map.tables, new_stream(1)
    assert road_map.entries >= 2
    assert len(road_map.scene.exits) >= 2
    everything = sum(1 << area for area in range(len(road_map.scene.areas)))
    for k in range(100):
        track, arc = draw_place(roads, k % road_map.entries, random)
        places = []
        for _ in range(180):
            before = track, arc
            track, arc = advance(roads, track, arc, 1.0, random)
            assert (track, arc) != before
            places.append(place_on(roads, track, arc))
            assert inside(roads, *places[-1], everything)
        assert max(math.dist(*pair) for pair in pairwise(places)) < 1.6  # no leaps, but for small gaps between lanes
        lane, arc = draw_place(roads, SPAWN, random)
        assert 1 <= roads.tracks[lane, ROUTES] <= 64
        first = int(roads.tracks[lane, FIRST_ROUTE])
        for route in range(first, first + int(roads.tracks[lane, ROUTES])):
            assert roads.tracks[route, LENGTH] > arc + 130.0  # more than another car drives in an episode


@pytest.mark.parametrize("name", ["crossing", "grid", "random", "bare", "street"])
def test_corners_are_cut_by_little(name, folder):
    road_map = load_map(folder / f"{name}.net.xml")
    for number, lane in enumerate(road_map.network.lanes):
        headings = np.unwrap(np.arctan2(*np.diff(lane.middle, axis=0).T[::-1]))
        line = shapely.LineString(lane.middle)
        for arc in np.linspace(0.5, lane.length - 0.5, 20 if lane.length > 1.0 else 0):
            place, exact = place_on(road_map.tables, number, arc), line.interpolate(arc)
            sharpest = abs(np.diff(headings)).max(initial=0.0)
            assert math.dist(place, (exact.x, exact.y)) <= 0.25 * math.sin(0.5 * sharpest) + 0.005


def test_the_path_stays_in_its_areas_where_there_are_many_ways_and_some_lead_back(folder):
    """Blocks so small that there are more ways than routes, and that one can drive round one of them."""
    run_tool("netgenerate", "--grid", "--grid.number", 7, "--grid.length", 45, "-L", 2, "-o", folder / "dense.net.xml")
    task = make("crowd-driving", cars=0, map=str(folder / "dense.net.xml"))
    for seed in range(80):
        context = np.zeros(task.context_size)
        task.draw_context(new_stream(seed), context)
        path = context[task.path_from() :].reshape(-1, 2)
        assert context[ROAD_END] == len(path)
        assert all(inside(task.roads(), *point, int(context[AREA])) for point in path)


def test_a_junction_can_be_chosen(folder):
    road_map = make("crowd-driving", map=str(folder / "grid.net.xml"), junction="A0").road_map()
    west, south, east, north = road_map.scene.spawn_box
    assert west < 0.0 < east
    assert south < 0.0 < north
    with pytest.raises(ValueError, match=r"The road network grid.net.xml has no junction 'Z9'\."):
        load_map(folder / "grid.net.xml", junction="Z9")


# ------------------------------------------------------------------------------------------------- files that are none

EDGE = '<edge id="{0}" from="{1}" to="{2}"><lane id="{0}_0" index="0" shape="{3}"/></edge>'
ROADS = EDGE.format("a", "A", "J", "0,0 50,0") + EDGE.format("b", "J", "B", "60,0 100,0")
JUNCTION = '<junction id="J" type="priority" x="55" y="0" incLanes="a_0" intLanes="" shape="50,-2 60,-2 60,2 50,2"/>'
CONNECTION = '<connection from="a" to="b" fromLane="0" toLane="0"/>'
BOMB = '<!DOCTYPE net [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'

BAD_FILES = {
    "not XML": ("street names", "not a SUMO network, for it is not well-formed XML"),
    "nothing": ("", "not a SUMO network, for it is not well-formed XML"),
    "cut off": (f"<net>{ROADS}", "not a SUMO network, for it is not well-formed XML"),
    "another kind of file": ("<routes/>", "its outermost element is <routes>, not <net>"),
    "entities": (f"{BOMB}<net>&b;</net>", "it declares a document type"),
    "no lanes": ("<net><location netOffset='0,0'/></net>", "has no lane that cars may use"),
    "footpaths only": (
        "<net><edge id='a' from='A' to='B'><lane id='a_0' allow='pedestrian' shape='0,0 1,0'/></edge></net>",
        "has no lane that cars may use",
    ),
    "an unconnected junction": (
        f"<net>{ROADS}{JUNCTION}</net>",
        "roads meet at junction J, but no connection leads through it",
    ),
    "a connection to nowhere": (
        f"<net>{ROADS}{JUNCTION}{CONNECTION.replace(chr(34) + 'b' + chr(34), chr(34) + 'c' + chr(34))}</net>",
        "a connection names lane c_0, which does not exist",
    ),
    "a connection without lanes": ("<net>" + ROADS + "<connection from='a' to='b'/></net>", "lacks its fromLane"),
    "a lane without a shape": ("<net><edge id='a'><lane id='a_0'/></edge></net>", "<lane> lacks its shape"),
    "a shape of words": ("<net><edge id='a'><lane id='a_0' shape='x,y z,w'/></edge></net>", "lane a_0 is no number"),
    "a single point": ("<net><edge id='a'><lane id='a_0' shape='1,2'/></edge></net>", "lane a_0 has no usable shape"),
    "an infinite shape": ("<net><edge id='a'><lane id='a_0' shape='1,2 inf,3'/></edge></net>", "no usable shape"),
    "a junction without a name": (f"<net>{ROADS}<junction type='priority'/></net>", "<junction> lacks its id"),
    "a junction of words": ("<net><junction id='J' shape='x,y z,w'/></net>", "the shape of junction J is no number"),
    "an infinite junction": ("<net><junction id='J' shape='1,2 inf,3 3,4'/></net>", "junction J has no usable shape"),
    "an unknown encoding": (
        "<?xml version='1.0' encoding='street'?><net/>",
        "XML: unknown encoding: street",
    ),
    "a road without a junction": (f"<net>{ROADS}</net>", "has no junction that one can drive through"),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_what_is_no_network_gets_its_sentence(kind, tmp_path):
    contents, sentence = BAD_FILES[kind]
    (tmp_path / "map.net.xml").write_text(contents)
    with pytest.raises(ValueError, match=sentence) as refusal:
        load_map(tmp_path / "map.net.xml")
    assert "map.net.xml" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_missing_file_gets_its_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"There is no file .*none\.net\.xml\."):
        load_map(tmp_path / "none.net.xml")


def test_a_damaged_gzip_gets_its_sentence(tmp_path):
    zipped = bytearray(gzip.compress(b"<net/>" * 100))
    zipped[10] = 0xFF
    (tmp_path / "map.net.xml.gz").write_bytes(zipped)
    with pytest.raises(ValueError, match=r"^\S*map\.net\.xml\.gz is damaged: it [^\n]*\.$"):
        load_map(tmp_path / "map.net.xml.gz")


def test_the_smallest_network_will_do(tmp_path):
    (tmp_path / "map.net.xml").write_text(f"<net>{ROADS}{JUNCTION}{CONNECTION}</net>")
    road_map = load_map(tmp_path / "map.net.xml")
    assert (road_map.entries, len(road_map.scene.exits)) == (1, 1)


def test_an_unconnected_junction_matters_only_if_it_is_the_one_to_cross(tmp_path):
    elsewhere = EDGE.format("c", "C", "K", "0,90 50,90") + EDGE.format("d", "K", "D", "60,90 100,90")
    junction = JUNCTION.replace('"J"', '"K"').replace("a_0", "c_0").replace("-2", "88").replace(",2", ",92")
    (tmp_path / "map.net.xml").write_text(f"<net>{ROADS}{elsewhere}{JUNCTION}{junction}{CONNECTION}</net>")
    assert load_map(tmp_path / "map.net.xml").entries == 1
    with pytest.raises(ValueError, match="roads meet at junction K, but no connection leads through it"):
        load_map(tmp_path / "map.net.xml", junction="K")


def test_roads_too_narrow_for_the_robot_are_refused(tmp_path):
    narrow = ROADS.replace("shape=", 'width="1.8" shape=')
    (tmp_path / "map.net.xml").write_text(f"<net>{narrow}{JUNCTION}{CONNECTION}</net>")
    with pytest.raises(
        ValueError, match=r"map.net.xml cannot be driven on: .* its car, which is 2.0 m wide, is off the"
    ):
        make("crowd-driving", map=str(tmp_path / "map.net.xml"))
    make("crowd-driving", map=str(tmp_path / "map.net.xml"), variant="reference")


def test_cars_start_where_no_lane_leads_to_the_middle(tmp_path):
    """The junction's area reaches far back beside the only road, which leads away from the middle of it all."""
    far_back = JUNCTION.replace("50,-2 60,-2 60,2 50,2", "-300,-20 -290,-20 -290,-10 -300,-10")
    (tmp_path / "map.net.xml").write_text(f"<net>{ROADS}{far_back}{CONNECTION}</net>")
    task = make("crowd-driving", cars=2, map=str(tmp_path / "map.net.xml"))
    context = np.zeros(task.context_size)
    task.draw_context(new_stream(1), context)
    cars = context[CARS_FROM : task.path_from()].reshape(-1, CAR)
    assert (cars[1:, COS] > 0.99).all()
    assert (cars[1:, X] > task.middle_x).all()


def test_results_are_of_a_map_by_its_content(tmp_path):
    """What evaluations, trainings and ablations are asked for tells maps of one name apart, and not by what was done
    with the task so far."""
    path, factory = tmp_path / "map.net.xml", PlannerFactory("pomcpow")
    path.write_text(f"<net>{ROADS}{JUNCTION}{CONNECTION}</net>")
    task = make("crowd-driving", cars=2, map=str(path))
    code, derived = describe(task, factory, 0).code, derived_digest(task)
    task.orders[:] = 1.0  # room to work in
    assert (describe(task, factory, 0).code, derived_digest(task)) == (code, derived)
    (tmp_path / "same.net.xml").write_text(f"<net>{ROADS}{JUNCTION}{CONNECTION}</net>")
    assert derived_digest(make("crowd-driving", cars=2, map=str(tmp_path / "same.net.xml"))) == derived
    path.write_text(f"<net>{ROADS}{JUNCTION}{CONNECTION}</net>".replace("100,0", "120,0"))
    other = make("crowd-driving", cars=2, map=str(path))
    assert derived_digest(other) != derived
    assert describe(other, factory, 0).code != code
    assert describe(other, factory, 0).task_parameters == describe(task, factory, 0).task_parameters
