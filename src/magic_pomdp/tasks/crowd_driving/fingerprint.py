"""What traffic around a parked robot is like: speeds, half-planes, overlaps; and whether anything goes wrong."""

from typing import Any

import numpy as np

from magic_pomdp.core.compiling import compiled
from magic_pomdp.core.randomness import seek, stream_key
from magic_pomdp.core.views import borrow
from magic_pomdp.tasks.crowd_driving.car import DURATION, bodies_touch, move
from magic_pomdp.tasks.crowd_driving.gamma import CAR, SPEED, X, Y
from magic_pomdp.tasks.crowd_driving.layout import ARC, TRACK
from magic_pomdp.tasks.crowd_driving.moments import NOWHERE
from magic_pomdp.tasks.crowd_driving.roads import JUNCTION, inside, place_on
from magic_pomdp.tasks.crowd_driving.task import CrowdDriving

_ASTRAY = 1000.0
"""A car farther than this from its route has a broken state."""
_TIMES = (10, 25, 50, 75, 100, 150)
"""Steps at which the traffic is looked at."""
_EVERY = 5
"""Steps between two looks for overlapping bodies."""
_SPEED_SUM, _IN_JUNCTION = range(2)
_PLANES, _OVERLAPS, _FARTHEST, _BROKEN, _DRIVEN, _HITS = range(6)


def traffic_fingerprint(task: CrowdDriving, episodes: int, seed: int = 0) -> dict[str, Any]:
    """Run episodes, each of the task's max_steps, in which the robot's car stands at its start, whatever hits it."""
    context, state = np.zeros(task.context_size), np.zeros(task.state_size)
    by_time, totals = np.zeros((task.max_steps + 1, 2)), np.zeros(6)
    random, key = np.zeros(1, np.uint64), stream_key(seed)
    _run_traffic(task, episodes, key, random, context, state, by_time, totals)
    cars = episodes * task.cars
    times = [time for time in _TIMES if time <= task.max_steps]
    return {
        "variant": task.variant,
        "cars": task.cars,
        "episodes": episodes,
        "simulated_minutes": episodes * task.max_steps * DURATION / 60.0,
        "mean_speed": float(by_time[1:, _SPEED_SUM].sum() / (cars * task.max_steps)),
        "mean_speed_at_step": {str(time): float(by_time[time, _SPEED_SUM] / cars) for time in times},
        "share_in_junction_at_step": {str(time): float(by_time[time, _IN_JUNCTION] / cars) for time in times},
        "distance_per_car": float(totals[_DRIVEN] / cars),
        "half_planes_per_car_and_step": float(totals[_PLANES] / (cars * task.max_steps)),
        "overlapping_pairs_per_episode": float(totals[_OVERLAPS] / episodes),
        "parked_robot_hit_rate": float(totals[_HITS] / episodes),
        "farthest_from_route": float(totals[_FARTHEST]),
        "broken_states": int(totals[_BROKEN]),
    }


@compiled
def _run_traffic(task, episodes, key, random, context, state, by_time, totals):
    random, context, state = borrow((random, context, state), task)
    roads = task.roads()
    for episode in range(episodes):
        seek(random, key, episode)
        task.draw_context(random, context)
        task.draw_state(context, random, state)
        hit = False
        for time in range(1, task.max_steps + 1):
            totals[_PLANES] += task.give_orders_to_all(roads, state)
            move(state, 0, 0.0, task.acceleration, 0.0, task.reference, random)
            task.move_traffic(roads, state, random, NOWHERE)
            hit = hit or task.collides(state)
            for car in range(CAR, CAR * (task.cars + 1), CAR):
                x, y = state[car + X], state[car + Y]
                by_time[time, _SPEED_SUM] += state[car + SPEED]
                by_time[time, _IN_JUNCTION] += inside(roads, x, y, 1 << JUNCTION)
                totals[_DRIVEN] += DURATION * state[car + SPEED]
                route_x, route_y = place_on(roads, int(state[car + TRACK]), state[car + ARC])
                apart = (route_x - x) ** 2 + (route_y - y) ** 2
                totals[_BROKEN] += not apart < _ASTRAY * _ASTRAY
                totals[_FARTHEST] = max(totals[_FARTHEST], apart**0.5)
                for other in range(CAR, car if time % _EVERY == 0 else CAR, CAR):
                    totals[_OVERLAPS] += bodies_touch(state, car, other, False)
        totals[_HITS] += hit
