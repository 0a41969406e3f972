"""What the numbers of Crowd-Driving's states, observations and contexts are.

A state: the robot's car and all others, CAR numbers each (`gamma.py`, `car.py` and below), and at last how the episode
stands. An observation: the first SEEN numbers of each car.
"""

from magic_pomdp.tasks.crowd_driving.car import STEER

TRACK, ARC = STEER + 1, STEER + 2
"""The intention of another car: a route point. A track that is no whole number is the one below it, of a driver who
wants to go by that share of full speed slower."""
PROGRESS, STEPS = STEER + 1, STEER + 2
"""Where others keep their intention, the robot's own car keeps: points of the path passed, primitive steps taken."""
SEEN = STEER + 1
"""Of every car, so many numbers are seen: all but the intention."""
AREA, ROAD_END, CARS_FROM = 0, 1, 2
"""Context: the areas of the robot's way as a mask; the first point of the path that is in none of them; every car at
the start, CAR numbers each; then the path."""
