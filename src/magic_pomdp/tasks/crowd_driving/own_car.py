"""The robot's own car: what it can do, as far as that can be set."""

import math

from magic_pomdp.core.compiling import not_inlined
from magic_pomdp.tasks.crowd_driving.car import DURATION, STEER, log_density, move, turn_wheels
from magic_pomdp.tasks.crowd_driving.gamma import CAR
from magic_pomdp.tasks.crowd_driving.traffic import Traffic


class OwnCar(Traffic, abstract=True):
    """The published car accelerates by 3 m/s², and its wheels turn at once. Those of others take time: what an
    identification finds out is set here. A car whose wheels obey with a delay keeps what was wanted before: a number
    of the state, before the last one."""

    acceleration: float = 3.0
    """m/s² by which the robot's car becomes faster or slower."""
    steering_rate: float = 0.0
    """Radians a second by which its front wheels turn; 0: at once, as published."""
    steering_delay: float = 0.0
    """Seconds until they begin to; at most a step's 0.2."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.acceleration > 0.0 and math.isfinite(self.acceleration)):
            raise ValueError(f"Crowd-Driving's acceleration must be positive, but is {self.acceleration}.")
        if not (self.steering_rate >= 0.0 and math.isfinite(self.steering_rate)):
            raise ValueError(f"Crowd-Driving's steering_rate must not be negative, but is {self.steering_rate}.")
        if not 0.0 <= self.steering_delay <= DURATION:
            raise ValueError(
                f"Crowd-Driving's steering_delay must lie in [0, {DURATION}] s, but is {self.steering_delay}."
            )

    @property
    def state_size(self) -> int:  # type: ignore[override]
        return CAR * (self.cars + 1) + (1 if self.steering_delay == 0.0 else 2)

    @not_inlined
    def steer_robot(self, state, steer):
        """Turn the wheels of the robot's car for a step: the steering angle it drives by, and theirs at the end."""
        before = state[len(state) - 2] if self.steering_delay > 0.0 else steer
        mean, wheels = turn_wheels(state[STEER], before, steer, self.steering_rate, self.steering_delay)
        if self.steering_delay > 0.0:
            state[len(state) - 2] = steer
        return mean, wheels

    def lags(self):
        """Whether the wheels take time."""
        return self.steering_rate > 0.0 or self.steering_delay > 0.0

    def move_robot(self, state, action, random):
        """Move the robot's car, with noise."""
        if self.lags():
            mean, wheels = self.steer_robot(state, action[1])
            move(state, 0, action[0], self.acceleration, mean, self.reference, random)
            state[STEER] = wheels
        else:
            move(state, 0, action[0], self.acceleration, action[1], self.reference, random)

    def robot_density(self, state, action, observation):
        """ln p of the robot's car being where it was seen, after a step."""
        steer = action[1]
        if self.lags():
            steer, _ = self.steer_robot(state, steer)
        return log_density(state, 0, action[0], self.acceleration, steer, self.reference, observation, 0)
