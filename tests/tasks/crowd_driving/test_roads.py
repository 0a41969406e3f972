"""Our map against its figures; look-ups against dense sampling and shapely."""

import math
from itertools import pairwise

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely.ops import substring

from magic_pomdp.core.randomness import new_stream
from magic_pomdp.tasks.crowd_driving.building import load_map
from magic_pomdp.tasks.crowd_driving.meskel import read_figures
from magic_pomdp.tasks.crowd_driving.roads import (
    BEYOND,
    FIRST_ROUTE,
    LENGTH,
    LINKS,
    ROUTES,
    SPAWN,
    advance,
    draw_place,
    follow,
    heading_on,
    inside,
    place_on,
)
from magic_pomdp.tasks.crowd_driving.scene import road_area

FIGURES = read_figures()
DEFAULT, REFERENCE = load_map(), load_map(variant="reference")
MAPS = pytest.mark.parametrize("road_map", [DEFAULT, REFERENCE], ids=["default", "reference"])
ROADS, NETWORK = DEFAULT.tables, DEFAULT.network
LANES = {lane.name: number for number, lane in enumerate(NETWORK.lanes)}
LINES = [shapely.LineString(lane.middle) for lane in NETWORK.lanes]
parts = st.floats(0.0, 1.0)


def count_ways(lane: int) -> int:
    """How many ways there are to drive from a lane to where the road ends."""
    links = NETWORK.lanes[lane].links
    return sum(count_ways(link) for link in links) if links else 1


def route_line(track: int) -> shapely.LineString:
    return shapely.LineString(NETWORK.polyline(DEFAULT.routes[track - len(NETWORK.lanes)])[0])


# ------------------------------------------------------------------------------------------------------ our map


def test_ways_through_the_junction_have_the_lengths_of_the_figures():
    for entry, entry_lane, exit, exit_lane, metres in FIGURES["movements"]["through"]:
        lane = NETWORK.lanes[LANES[f":{entry}_{entry_lane}-{exit}_{exit_lane}_0"]]
        assert lane.length == pytest.approx(metres, rel=0.04)


def test_links_are_in_the_order_of_the_figures():
    links = {lane.name: [NETWORK.lanes[link].name for link in lane.links] for lane in NETWORK.lanes}
    assert links["E0_2"] == [":E0_2-X2_2_0", ":E0_2-X2_3_0", ":E0_2-X1_2_0"]
    assert links[":E0_2-X1_2_0"] == ["X1_2"]
    assert links["E1far_0"] == ["E1_0", "E1-X0_0"]
    assert sum(len(links[NETWORK.lanes[lane].name]) > 1 for lane in NETWORK.junctions[0].arriving) == 7


def test_lanes_meet_where_they_are_linked_and_go_on_smoothly():
    for lane in NETWORK.lanes:
        for link in (NETWORK.lanes[number] for number in lane.links):
            np.testing.assert_allclose(lane.middle[-1], link.middle[0], atol=1e-9)
            before, after = lane.middle[-1] - lane.middle[-2], link.middle[1] - link.middle[0]
            cosine = before @ after / np.hypot(*before) / np.hypot(*after)
            assert cosine > math.cos(math.radians(12.0))


def test_areas_are_as_large_as_on_the_real_junction():
    """Square metres of the drivable areas, and metres of lanes on which the ego can start, on the real network."""
    areas = [area.area for area in REFERENCE.scene.areas]
    np.testing.assert_allclose(areas, [3630, 128, 153, 262, 422, 972, 1336, 1754, 2280], rtol=0.05)
    places = REFERENCE.tables.places
    starts = [places[places[:, 0] == entry, 3].sum() for entry in range(4)]
    np.testing.assert_allclose(starts, [28.8, 34.3, 61.5, 98.9], rtol=0.05)
    assert places[places[:, 0] == SPAWN, 3].sum() == pytest.approx(2177, rel=0.05)


def test_traffic_that_may_start_heads_for_the_middle_as_often_as_on_the_real_junction():
    random, heading_in = new_stream(5), 0
    for _ in range(2000):
        lane, arc = draw_place(ROADS, SPAWN, random)
        (x, y), (dx, dy) = place_on(ROADS, lane, arc), heading_on(ROADS, lane, arc)
        heading_in += dx * (400.0 - x) + dy * (450.0 - y) >= 0.0
    assert heading_in / 2000 == pytest.approx(1088 / 2177, abs=0.05)


def test_the_ego_leaves_by_the_exits_as_often_as_on_the_real_junction():
    random = new_stream(6)
    expected = ({"X1": 0.09, "X2": 0.71, "X3": 0.20}, {"X0": 0.17, "X2": 0.44, "X3": 0.39})
    expected += ({"X0": 0.63, "X1": 0.13, "X3": 0.25}, {"X0": 0.23, "X1": 0.33, "X2": 0.45})
    for entry, shares in enumerate(expected):
        ends = [advance(ROADS, *draw_place(ROADS, entry, random), 140.0, random)[0] for _ in range(500)]
        edges = [NETWORK.lanes[end].edge[:2] for end in ends]
        for exit, share in shares.items():
            assert edges.count(exit) / 500 == pytest.approx(share, abs=0.08)


def test_in_the_reference_variant_the_road_ends_where_the_real_one_does():
    """Metres from the mouth to where the first corner of a body leaves the drivable area, on the middle of the lane."""
    on_real_road = {("E2", "X1"): (117, 117), ("E1", "X0"): (117.5, 117.5), ("E3", "X0"): (122, 129)}
    on_real_road |= {("E0", "X3"): (131, 131), ("E2", "X0"): (138, 145)}
    for lane in NETWORK.junctions[0].arriving:
        for route in NETWORK.routes(lane, 260.0):
            ways = NETWORK.lanes[lane].edge, NETWORK.lanes[route[2]].edge
            entry, exit = (int(way[1]) for way in ways)
            mask = 1 | 1 << REFERENCE.scene.entry_area(entry) | 1 << REFERENCE.scene.exit_area(exit)
            line, driven = shapely.LineString(NETWORK.polyline(route)[0]), 0.0
            while stays_inside(line, NETWORK.lanes[lane].length + driven, mask):
                driven += 0.5
            shortest, longest = on_real_road.get(ways, (149, 193))
            assert shortest - 2.0 <= driven <= longest + 2.0


def stays_inside(line: shapely.LineString, arc: float, mask: int) -> bool:
    (x, y), (ahead_x, ahead_y) = (line.interpolate(at).coords[0] for at in (arc, arc + 0.1))
    dx, dy = 10.0 * (ahead_x - x), 10.0 * (ahead_y - y)
    corners = [(x + a * dx - b * dy, y + a * dy + b * dx) for a in (-0.53535, 3.2668) for b in (-0.98701, 0.98701)]
    return all(inside(REFERENCE.tables, *corner, mask) for corner in corners)


def test_traffic_keeps_right():
    for name, arm in FIGURES["entries"].items():
        lanes = [NETWORK.lanes[lane].middle for lane in NETWORK.edge_lanes(name)]
        ahead, left = lanes[0][-1] - lanes[0][0], lanes[1][-1] - lanes[0][-1]
        assert len(lanes) == arm["lanes"]
        assert ahead[0] * left[1] - ahead[1] * left[0] > 0.0  # lane 1 is to the left of lane 0
        exit_mouth = FIGURES["exits"][name.replace("E", "X")]["mouth"]
        across = np.array(exit_mouth) - arm["mouth"]
        assert ahead[0] * across[1] - ahead[1] * across[0] > 0.0  # who drives out is on the left of who drives in


def test_in_the_default_variant_every_way_is_long_enough_and_on_the_road():
    """180 m of driving, with a body of 4 m by 2 m around the middle of the lane, from any start."""
    body = 0.99
    for lane in (lane for entry in FIGURES["entries"] for lane in NETWORK.edge_lanes(entry)):
        starts = ROADS.places[(ROADS.places[:, 0] >= 0) & (ROADS.places[:, 1] == lane)]
        for route in NETWORK.routes(lane, 260.0):
            line = shapely.LineString(NETWORK.polyline(route)[0])
            entry = list(FIGURES["entries"]).index(NETWORK.lanes[lane].edge)
            exit = list(FIGURES["exits"]).index(NETWORK.lanes[route[2]].edge)
            drivable = DEFAULT.scene.junction | DEFAULT.scene.entries[entry] | DEFAULT.scene.exits[exit]
            assert line.length - starts[:, 2].max() > 180.0 + 10.0
            driven = substring(line, starts[:, 2].min() - 1.0, starts[:, 2].max() + 190.0)
            assert drivable.buffer(1e-6).covers(driven.buffer(body))


def test_no_start_of_the_default_variant_is_off_the_road():
    random = new_stream(3)
    for entry in range(DEFAULT.entries):
        for _ in range(100):
            lane, arc = draw_place(ROADS, entry, random)
            (x, y), (dx, dy) = place_on(ROADS, lane, arc), heading_on(ROADS, lane, arc)
            for along, aside in ((-0.54, -0.99), (-0.54, 0.99), (3.27, -0.99), (3.27, 0.99)):
                corner = x + along * dx - aside * dy, y + along * dy + aside * dx
                assert inside(ROADS, *corner, 1 | 1 << DEFAULT.scene.entry_area(entry))


# ---------------------------------------------------------------------------------------------------- look-ups


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(ROADS.tracks) - 1), parts)
def test_route_points_are_on_the_middle_of_their_lanes(track, part):
    line = LINES[track] if track < len(LINES) else route_line(track)
    arc = part * line.length
    assert ROADS.tracks[track, LENGTH] == pytest.approx(line.length)
    point = line.interpolate(arc)
    error = math.dist(place_on(ROADS, track, arc), (point.x, point.y))
    assert error < (0.02 if line.length - arc > 0.5 or ROADS.tracks[track, LINKS] else 0.5)
    ahead, behind = line.interpolate(min(arc + 1.0, line.length)), line.interpolate(min(arc, line.length - 1.0))
    direction = np.array([ahead.x - behind.x, ahead.y - behind.y])
    if arc + 1.0 < line.length:
        assert np.array(heading_on(ROADS, track, arc)) @ direction / np.hypot(*direction) > 0.999


@pytest.mark.jit_off
def test_a_lane_looks_ahead_along_its_first_links():
    lane = LANES["E0_2"]
    first = NETWORK.lanes[lane].links[0]
    for ahead in (0.5, 5.0, BEYOND):
        at = place_on(ROADS, lane, NETWORK.lanes[lane].length + ahead)
        assert math.dist(at, place_on(ROADS, first, ahead)) < 0.02


@pytest.mark.jit_off
def test_advancing_takes_every_branch_equally_often():
    lane, random = LANES["E0_2"], new_stream(1)
    counts = dict.fromkeys(NETWORK.lanes[lane].links, 0)
    for _ in range(900):
        track, arc = advance(ROADS, lane, NETWORK.lanes[lane].length - 0.25, 1.0, random)
        counts[track] += 1
        assert arc == pytest.approx(0.75)
    assert max(abs(count - 300) for count in counts.values()) < 60


@pytest.mark.jit_off
def test_advancing_crosses_lanes_and_stops_where_the_road_ends():
    random, start = new_stream(1), LANES["E3_0"]
    length = NETWORK.lanes[start].length
    through, exit = LANES[":E3_0-X2_0_0"], LANES["X2_0"]
    assert advance(ROADS, start, 10.0, 5.0, random) == (start, 15.0)
    track, arc = advance(ROADS, start, length - 1.0, 3.0 + NETWORK.lanes[through].length, random)
    assert (track, arc) == (exit, pytest.approx(2.0))
    assert advance(ROADS, exit, 10.0, 1000.0, random) == (exit, NETWORK.lanes[exit].length)


def test_routes_fit_their_lanes_and_are_all_there_are():
    spawning = {int(place[1]) for place in ROADS.places if place[0] == SPAWN}
    for lane in spawning:
        first, count = int(ROADS.tracks[lane, FIRST_ROUTE]), int(ROADS.tracks[lane, ROUTES])
        routes = [DEFAULT.routes[track - len(LINES)] for track in range(first, first + count)]
        assert routes
        assert len(set(routes)) == count
        for track, route in enumerate(routes, first):
            assert route[0] == lane
            assert ROADS.tracks[track, LINKS] == 0
            assert all(after in NETWORK.lanes[before].links for before, after in pairwise(route))
            assert not NETWORK.lanes[route[-1]].links  # on our map every route ends where the road does
            arc = 0.7 * NETWORK.lanes[lane].length
            assert math.dist(place_on(ROADS, track, arc), place_on(ROADS, lane, arc)) < 0.05
        assert count == count_ways(lane)


@pytest.mark.parametrize("kind", ["lanes", "routes"])
def test_a_followed_car_stays_on_its_way(kind):
    """A car that drives towards the point 5 m ahead stays near the route point that follows it, until the road ends."""
    random = new_stream(7)
    for _ in range(60):
        track, arc = draw_place(ROADS, SPAWN, random)
        if kind == "routes":
            track = int(ROADS.tracks[track, FIRST_ROUTE])
        x, y = place_on(ROADS, track, arc)
        for _ in range(150):
            target_x, target_y = place_on(ROADS, track, arc + 5.0)
            far = math.dist((x, y), (target_x, target_y))
            x, y = x + 0.8 * (target_x - x) / far, y + 0.8 * (target_y - y) / far
            track, arc = follow(ROADS, track, arc, x, y, random)
            assert math.dist((x, y), place_on(ROADS, track, arc)) < 3.0


@pytest.mark.jit_off
def test_following_steps_by_metres_as_long_as_the_next_point_is_not_farther():
    random, lane = new_stream(1), LANES["E3_0"]
    (x, y), (dx, dy) = place_on(ROADS, lane, 20.0), heading_on(ROADS, lane, 20.0)
    assert follow(ROADS, lane, 20.0, x + 0.49 * dx, y + 0.49 * dy, random) == (lane, 20.0)
    assert follow(ROADS, lane, 20.0, x + 0.51 * dx, y + 0.51 * dy, random) == (lane, 21.0)
    assert follow(ROADS, lane, 20.0, x + 7.4 * dx, y + 7.4 * dy, random) == (lane, 27.0)
    assert follow(ROADS, lane, 20.0, x - 9.0 * dx, y - 9.0 * dy, random) == (lane, 20.0)
    end = NETWORK.lanes[exit := LANES["X2_0"]].length
    x, y = place_on(ROADS, exit, end)
    assert follow(ROADS, exit, end - 10.5, x, y, random) == (exit, end - 0.5)


@MAPS
def test_inside_agrees_with_shapely(road_map):
    rng = np.random.default_rng(1)
    west, south, east, north = shapely.union_all(road_map.scene.areas).bounds
    around = rng.uniform((west - 3, south - 3), (east + 3, north + 3), (1500, 2))
    on_edges = [area.boundary.interpolate(u, normalized=True) for area in road_map.scene.areas for u in rng.random(150)]
    near_edges = shapely.get_coordinates(on_edges) + rng.normal(0.0, 0.1, (len(on_edges), 2))
    for x, y in np.vstack([around, near_edges, rng.uniform((370, 400), (450, 490), (500, 2))]):
        entry, exit = rng.integers(road_map.entries), rng.integers(len(road_map.scene.exits))
        areas = (0, road_map.scene.entry_area(entry), road_map.scene.exit_area(exit))
        expected = any(road_map.scene.areas[area].covers(shapely.Point(x, y)) for area in areas)
        assert inside(road_map.tables, x, y, sum(1 << area for area in areas)) == expected


def test_what_is_far_away_is_outside():
    for x, y in ((-1e6, 0.0), (1e6, 450.0), (400.0, -1e6), (400.0, 1e9)):
        assert not inside(ROADS, x, y, 1)


@pytest.mark.jit_off
def test_places_are_where_cars_may_start():
    random, road = new_stream(2), road_area(NETWORK)
    west, south, east, north = FIGURES["spawn_box"]
    for _ in range(50):
        x, y = place_on(ROADS, *draw_place(ROADS, SPAWN, random))
        assert west - 0.1 <= x <= east + 0.1
        assert south - 0.1 <= y <= north + 0.1
        assert road.covers(shapely.Point(x, y))
        for entry, start in enumerate(DEFAULT.scene.starts):
            assert start.distance(shapely.Point(place_on(ROADS, *draw_place(ROADS, entry, random)))) < 0.1


def test_tables_fit_compiled_code():
    for table in ROADS:
        assert table.flags.c_contiguous
        assert table.dtype in (np.float64, np.int64)
        assert np.isfinite(table).all()


def test_an_unknown_variant_is_refused():
    with pytest.raises(ValueError, match="variant must be one of default, reference, not 'other'"):
        load_map(variant="other")
