"""States that are stepped side by side, each in a lane of its own: where the greedy policy tries macro-actions.

The same number of all lanes' states lies side by side, so a processor can work on several lanes with one instruction.
It does where a task's step and bound are compiled to code without loops and calls: with chance that is drawn beforehand
(`draw_noise`), and functions of `core/series.py`. Of other tasks, one lane is stepped after the other.

Two scenarios are tried at most. The lanes of the first are the even ones then, and those of the last the odd ones.
"""

from typing import NamedTuple

import numpy as np

from magic_pomdp.core.compiling import inlined
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import seek
from magic_pomdp.core.views import (
    LANES,
    local_action,
    local_noise,
    local_observation,
    local_state,
    local_stream,
)

BUNDLE = 8
"""Lanes that are filled together: what one instruction can hold."""


class Lanes(NamedTuple):
    """States that are stepped, and what becomes of them."""

    states: np.ndarray  # (S, LANES)
    noise: np.ndarray  # (N, LANES) what chance decides in the present step
    rewards: np.ndarray  # (LANES,) what they have earned
    outcomes: np.ndarray  # int64 (LANES,) how they stand
    bounds: np.ndarray  # (LANES,) what no policy earns afterwards, discounted


@inlined
def fill_lanes(first, last, lanes, count):
    """Put one row of numbers into the even lanes, and another into the odd ones."""
    for j in range(len(lanes)):
        even, odd = first[j], last[j]
        for begin in range(0, count, BUNDLE):
            for i in range(BUNDLE):
                lanes[j, begin + i] = odd if i % 2 == 1 else even


@inlined
def read_lane(lanes, lane, row):
    """Fill a row with the numbers in a lane."""
    for j in range(len(row)):
        row[j] = lanes[j, lane]


@inlined
def write_lane(row, lanes, lane):
    """Put a row of numbers into a lane."""
    for j in range(len(row)):
        lanes[j, lane] = row[j]


@inlined
def start_lanes(lanes, first, last, count):
    """The states of two scenarios; nothing is earned yet."""
    fill_lanes(first, last, lanes.states, count)
    for lane in range(LANES):
        lanes.rewards[lane], lanes.outcomes[lane] = 0.0, Outcome.RUNNING


@inlined
def draw_lane_noise(task, lanes, desk, keys, count, time):
    """Draw what chance decides at a time. It is common to all lanes of a scenario."""
    if task.noise_size > 0:
        random = local_stream(task, desk.random)
        first, last = local_noise(task, desk.noise[0]), local_noise(task, desk.noise[1])
        seek(random, keys[0], time)
        task.draw_noise(random, first)
        if keys[1] == keys[0]:
            for j in range(len(first)):
                last[j] = first[j]
        else:
            seek(random, keys[1], time)
            task.draw_noise(random, last)
        fill_lanes(first, last, lanes.noise, count)


@inlined
def step_lanes(task, context, actions, lanes, desk, keys, count, time, discount):
    """Step the first lanes, each by its own action; what has ended absorbs. How many of them ran."""
    steps = 0
    for lane in range(count):
        steps += lanes.outcomes[lane] == Outcome.RUNNING
        state, action = local_state(task, desk.state), local_action(task, desk.action)
        read_lane(lanes.states, lane, state)
        read_lane(actions, lane, action)
        if task.noise_size > 0:
            noise = local_noise(task, desk.noise[0])
            read_lane(lanes.noise, lane, noise)
            reward, outcome = task.step_with_noise(context, state, action, noise)
        else:
            random, unseen = local_stream(task, desk.random), local_observation(task, desk.observation)
            seek(random, keys[1] if lane % 2 == 1 else keys[0], time)
            reward, outcome = task.step_unobserved(context, state, action, random, unseen)
        write_lane(state, lanes.states, lane)
        lanes.rewards[lane] += discount * reward
        lanes.outcomes[lane] = outcome
    return steps


@inlined
def bound_lanes(task, context, discounts, lanes, desk, count):
    """What no policy earns from the first lanes' states, discounted."""
    for lane in range(count):
        state = local_state(task, desk.state)
        read_lane(lanes.states, lane, state)
        bound = discounts[lane] * task.upper_bound(context, state)
        lanes.bounds[lane] = bound if lanes.outcomes[lane] == Outcome.RUNNING else 0.0
