"""Maps that are well-formed but make no sense, or are far too large: each gets its sentence, soon and for little."""

import gzip
import pickle
import resource
import signal
import time
from pathlib import Path

import pytest

from magic_pomdp import make
from magic_pomdp.tasks.crowd_driving.building import load_map
from magic_pomdp.tasks.crowd_driving.roads import inside
from magic_pomdp.tasks.crowd_driving.sumo import MOST_BYTES, read_sumo

EDGE = '<edge id="{0}" from="{1}" to="{2}"><lane id="{0}_0" index="0" shape="{3}"/></edge>'
ROADS = EDGE.format("a", "A", "J", "0,0 50,0") + EDGE.format("b", "J", "B", "60,0 100,0")
JUNCTION = '<junction id="J" type="priority" x="55" y="0" incLanes="a_0" intLanes="" shape="50,-2 60,-2 60,2 50,2"/>'
CONNECTION = '<connection from="a" to="b" fromLane="0" toLane="0"/>'
INTERNAL = '<edge id=":J_{0}" function="internal"><lane id=":J_{0}_0" index="0" shape="{1}"/></edge>'
VIA = '<connection from="{0}" to="b" via="{1}_0" fromLane="0" toLane="0"/>'
WHOLE = ROADS + JUNCTION + CONNECTION

BAD_MAPS = {
    "a lane of no length that leads to itself": (
        INTERNAL.format(0, "50,0 50,0") + WHOLE + VIA.format("a", ":J_0") + VIA.format(":J_0", ":J_0"),
        "lane :J_0_0 is part of a ring of lanes that are no longer than 1 m",
    ),
    "a ring of short lanes": (
        INTERNAL.format(0, "50,0 50.25,0")
        + INTERNAL.format(1, "50.25,0 50,0")
        + WHOLE
        + VIA.format("a", ":J_0")
        + VIA.format(":J_0", ":J_1")
        + VIA.format(":J_1", ":J_0"),
        "is part of a ring of lanes",
    ),
    "very many very short lanes": (
        "".join(INTERNAL.format(k, f"{50 + k / 1000},0 {50 + (k + 1) / 1000},0") for k in range(1100))
        + WHOLE.replace(CONNECTION, "")
        + VIA.format("a", ":J_0")
        + "".join(VIA.format(f":J_{k}", f":J_{k + 1}") for k in range(1099)),
        r"1,000 lanes on from lane \S+, one has not come [\d.]+ m far",
    ),
    "a lane to and fro": (
        WHOLE.replace("0,0 50,0", " ".join(f"{40 + k % 2 / 2},0" for k in range(9)) + " 50,0"),
        "the road that begins with lane a_0 turns back on itself at once",
    ),
    "a point far away": (WHOLE.replace("100,0", "1e7,0"), "add up to more than 5,000 km; split its long roads"),
    "an area far away": (
        WHOLE.replace("50,-2 60,-2 60,2 50,2", "50,-2 60,-2 60,2 50,2 30000,9000 -29000,-9000"),
        "is not a usable SUMO network: the roads around its junction reach 59.0 km from west to east and",
    ),
    "a junction far from its lanes": (
        WHOLE.replace("50,-2 60,-2 60,2 50,2", "5000,-2 5010,-2 5010,2 5000,2"),
        "the corners of junction J lie more than 450 m from its lanes",
    ),
    "a junction without an area": (
        INTERNAL.format(0, "50,0 60,0").replace("_0_0", "_9_0")
        + ROADS.replace("60,0 100", "50,0 100")
        + JUNCTION.replace("50,-2 60,-2 60,2 50,2", "50,0 55,0 60,0")
        + CONNECTION,
        "junction J has no area",
    ),
    "more roads than bits": (
        ROADS
        + "".join(EDGE.format(f"c{k}", "J", f"C{k}", f"60,0 100,{k}") for k in range(31))
        + JUNCTION
        + "".join(CONNECTION.replace('to="b"', f'to="c{k}"') for k in range(31)),
        "a junction may have 30 roads at most, but this one has 31",
    ),
    "huge coordinates": (WHOLE.replace("100,0", "1e300,0"), r"lane b_0 reaches farther than 1e\+08 m"),
    "a number that is none": (WHOLE.replace("100,0", "nan,0"), "lane b_0 has no usable shape"),
    "a width of less than nothing": (WHOLE.replace("shape=", 'width="-3" shape=', 1), "no usable shape or width"),
    "a width of words": (WHOLE.replace("shape=", 'width="wide" shape=', 1), "the width of lane a_0 is no number"),
    "a lane twice": (ROADS + EDGE.format("c", "A", "J", "0,5 50,5").replace("c_0", "a_0"), "two lanes are called a_0"),
    "a road twice": (ROADS + '<edge id="a" from="A" to="J"/>', "two roads are called a"),
    "a junction twice": (WHOLE + JUNCTION, "two junctions are called J"),
    "a lane of very many points": (
        WHOLE.replace("0,0 50,0", " ".join(f"{k / 20},{k % 2}" for k in range(1000)) + " 50,0"),
        "3 lanes of 1,005 points, up to 1,001 each",
    ),
    "a lane like a scribble": (
        WHOLE.replace("0,0 50,0", " ".join(f"{k * k % 97},{k**3 % 89}" for k in range(400)) + " 50,0"),
        "lane a_0 crosses itself more than 50 times",
    ),
    "deep nesting": ("<a>" * 30 + "</a>" * 30, "its elements are nested more than 20 deep"),
    "a very long shape": (WHOLE.replace("100,0", "100,0 " * 200_000), "has more than 1,000,000 letters"),
    "terminal escapes": (WHOLE.replace('id="b_0"', 'id="b&#x9b;31m"'), "names lane b_0, which does not exist"),
    "an unprintable name": (ROADS.replace("a_0", "&#x9b;31m", 1).replace("0,0 50,0", "0,0"), r"lane \\x9b31m has no"),
}


@pytest.fixture(autouse=True)
def soon_and_for_little():
    """What takes too long, or too much memory, ends in an error."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, limits[1]))
    signal.alarm(20)
    yield
    signal.alarm(0)
    resource.setrlimit(resource.RLIMIT_AS, limits)


@pytest.mark.parametrize("kind", BAD_MAPS)
def test_a_map_that_makes_no_sense_gets_its_sentence(kind, tmp_path):
    content, sentence = BAD_MAPS[kind]
    (tmp_path / "map.net.xml").write_text(f"<net>{content}</net>")
    with pytest.raises(ValueError, match=sentence) as refusal:
        make("crowd-driving", map=str(tmp_path / "map.net.xml"))
    assert str(refusal.value).startswith(("map.net.xml ", "The road network map.net.xml "))
    assert str(refusal.value).isprintable()


def test_a_long_road_takes_little_time(tmp_path):
    (tmp_path / "map.net.xml").write_text(f"<net>{WHOLE.replace('100,0', '100,25000')}</net>")
    started = time.process_time()
    road_map = load_map(tmp_path / "map.net.xml")
    assert time.process_time() < started + 2.0
    beyond = 1 << road_map.scene.exit_area(0)
    assert inside(road_map.tables, 99.9, 24_900.0, beyond)
    assert not inside(road_map.tables, 109.9, 24_900.0, beyond)


def test_what_is_packed_is_unpacked_within_limits(tmp_path):
    path = tmp_path / "map.net.xml.gz"
    path.write_bytes(gzip.compress(b"<net>" + b" " * (MOST_BYTES + 1)))
    with pytest.raises(ValueError, match=r"map\.net\.xml\.gz holds more than the 67,108,864 bytes that are read\."):
        load_map(path)


@pytest.mark.parametrize("encoding", ["gb2312", "idna", "base64", "utf-7"])
def test_an_encoding_that_xml_cannot_have_gets_its_sentence(encoding, tmp_path):
    (tmp_path / "map.net.xml").write_text(f"<?xml version='1.0' encoding='{encoding}'?><net>{WHOLE}</net>")
    with pytest.raises(ValueError, match=r"map\.net\.xml is not a SUMO network, for it is not well-formed XML"):
        load_map(tmp_path / "map.net.xml")


def test_bytes_that_are_no_text_get_their_sentence(tmp_path):
    (tmp_path / "map.net.xml").write_bytes(f"<net>{WHOLE}</net>".encode().replace(b'"a"', b'"\xe4"'))
    with pytest.raises(ValueError, match=r"map\.net\.xml is not a SUMO network, for it is not well-formed XML"):
        load_map(tmp_path / "map.net.xml")


def test_a_lane_of_no_length_may_stand_between_others(tmp_path):
    """SUMO itself writes some."""
    content = INTERNAL.format(0, "50,0 50,0") + INTERNAL.format(1, "50,0 60,0") + ROADS + JUNCTION
    content += VIA.format("a", ":J_0") + VIA.format(":J_0", ":J_1") + CONNECTION.replace('"a"', '":J_1"')
    (tmp_path / "map.net.xml").write_text(f"<net>{content}</net>")
    assert load_map(tmp_path / "map.net.xml").entries == 1


def test_a_connection_may_stand_there_twice(tmp_path):
    (tmp_path / "once.net.xml").write_text(f"<net>{WHOLE}</net>")
    (tmp_path / "twice.net.xml").write_text(f"<net>{WHOLE}{CONNECTION}</net>")
    once, twice = (read_sumo(tmp_path / f"{name}.net.xml") for name in ("once", "twice"))
    assert [lane.links for lane in once.lanes] == [lane.links for lane in twice.lanes]


def test_a_file_that_has_changed_is_another_map(tmp_path):
    path = tmp_path / "map.net.xml"
    path.write_text(f"<net>{WHOLE}</net>")
    before = make("crowd-driving", map=str(path))
    assert make("crowd-driving", map=str(path)).road_map() is before.road_map()
    path.write_text(f"<net>{WHOLE}</net>".replace("100,0", "120,0"))
    assert make("crowd-driving", map=str(path)).road_map() is not before.road_map()
    kept = pickle.loads(pickle.dumps(before)).road_map()  # as a worker process has it
    assert [lane.length for lane in kept.network.lanes] == [lane.length for lane in before.road_map().network.lanes]
