"""The robot's car in SUMO: a single-track model with tyres (CommonRoad's), and actuators that take their time.

What the task's model has of all that are three numbers: a rate of steering, a delay, an acceleration.
"""

import math
from collections import deque
from dataclasses import replace
from typing import Any

from magic_pomdp.tasks.crowd_driving.car import MOST_STEER, WHEEL_BASE

STEERING_RATE, STEERING_DELAY, STEERING_LAG = 0.8, 0.08, 0.03
"""Its front wheels turn by so many radians a second at most, after so many seconds, and settle in about so many."""
FASTER, SLOWER, DRIVE_LAG = 2.8, 3.2, 0.1
"""m/s² of the drive and of the brakes, which come in about so many seconds."""
_SPEED_GAIN = 5.0
"""m/s² for every m/s that it is too slow."""
_FINE = 0.01
"""Seconds of a step of the integration."""
_SLOW = 1.0
"""Below this speed tyres do not slip: they would be too stiff to integrate."""


class EgoCar:
    """Where it is, and how it moves under speed and steering commands."""

    def __init__(self, x: float, y: float, heading: float, wheels: float = 0.0) -> None:
        """Standing with its reference point, the middle of the rear axle, at a place."""
        from vehiclemodels.parameters_vehicle2 import parameters_vehicle2  # type: ignore[import-untyped]
        from vehiclemodels.utils.vehicle_dynamics_ks_cog import vehicle_dynamics_ks_cog  # type: ignore[import-untyped]
        from vehiclemodels.vehicle_dynamics_st import vehicle_dynamics_st  # type: ignore[import-untyped]

        self._slow, self._fast = vehicle_dynamics_ks_cog, vehicle_dynamics_st
        car: Any = parameters_vehicle2()  # a BMW 320i, but as long between its axles as the task's car
        scale = WHEEL_BASE / (car.a + car.b)
        limits = replace(car.steering, min=-MOST_STEER, max=MOST_STEER, v_min=-STEERING_RATE, v_max=STEERING_RATE)
        self._car = replace(car, a=scale * car.a, b=scale * car.b, steering=limits)
        ahead = self._car.b
        self._state = [x + ahead * math.cos(heading), y + ahead * math.sin(heading), wheels, 0.0, heading, 0.0, 0.0]
        self._wanted = deque([wheels] * round(STEERING_DELAY / _FINE))
        self._push = 0.0

    @property
    def x(self) -> float:
        return float(self._state[0] - self._car.b * math.cos(self._state[4]))

    @property
    def y(self) -> float:
        return float(self._state[1] - self._car.b * math.sin(self._state[4]))

    @property
    def heading(self) -> float:
        return float(self._state[4])

    @property
    def speed(self) -> float:
        return float(self._state[3])

    @property
    def wheels(self) -> float:
        """The angle of the front wheels, to the left."""
        return float(self._state[2])

    def drive(self, speed: float, steer: float, seconds: float) -> None:
        """Go for a speed and a steering angle for some seconds."""
        for _ in range(round(seconds / _FINE)):
            self._wanted.append(min(MOST_STEER, max(-MOST_STEER, steer)))
            turn = (self._wanted.popleft() - self._state[2]) / STEERING_LAG
            turn = min(STEERING_RATE, max(-STEERING_RATE, turn))
            wanted = min(FASTER, max(-SLOWER, _SPEED_GAIN * (max(0.0, speed) - self._state[3])))
            self._push += (wanted - self._push) * _FINE / DRIVE_LAG
            self._step([turn, self._push])
            if self._state[3] < 0.0:  # brakes do not push backwards
                self._state[3] = 0.0

    def _step(self, inputs: list[float]) -> None:
        """One step of Runge and Kutta's fourth order."""
        slow, size = self._state[3] < _SLOW, 5 if self._state[3] < _SLOW else 7
        rates = self._slow if slow else self._fast
        if slow:
            self._settle()
        start = self._state[:size]
        first = rates(start, inputs, self._car)
        second = rates(_moved(start, first, 0.5 * _FINE), inputs, self._car)
        third = rates(_moved(start, second, 0.5 * _FINE), inputs, self._car)
        fourth = rates(_moved(start, third, _FINE), inputs, self._car)
        mean = [(a + 2.0 * b + 2.0 * c + d) / 6.0 for a, b, c, d in zip(first, second, third, fourth, strict=True)]
        self._state[:size] = _moved(start, mean, _FINE)

    def _settle(self) -> None:
        """Yaw rate and slip angle of a car whose tyres do not slip."""
        wheels = math.tan(self._state[2])
        slip = math.atan(wheels * self._car.b / WHEEL_BASE)
        self._state[5] = self._state[3] * math.cos(slip) * wheels / WHEEL_BASE
        self._state[6] = slip


def _moved(state: list[float], rates: list[float], seconds: float) -> list[float]:
    return [value + seconds * rate for value, rate in zip(state, rates, strict=True)]
