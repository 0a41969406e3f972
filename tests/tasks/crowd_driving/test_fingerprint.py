"""Traffic around a parked robot: nothing breaks, and it is like the published program's."""

import pytest

from magic_pomdp import make
from magic_pomdp.tasks.crowd_driving.fingerprint import traffic_fingerprint


@pytest.mark.slow
def test_traffic_flows():
    found = traffic_fingerprint(make("crowd-driving", variant="reference"), 40)
    assert found["broken_states"] == 0
    assert found["farthest_from_route"] < 20.0  # tight right turns are wider than the lane
    assert 3.6 < found["mean_speed"] < 4.0
    assert 105.0 < found["distance_per_car"] < 120.0
    assert 0.1 < found["half_planes_per_car_and_step"] < 0.4
    assert 0.0 < found["parked_robot_hit_rate"] < 0.3
    assert found["share_in_junction_at_step"]["150"] < 0.1
