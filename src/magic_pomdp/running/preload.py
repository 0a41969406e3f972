"""Imported by the server process before it forks workers, so that they need not do these things one by one."""

import magic_pomdp.running.evaluating
from magic_pomdp.core.randomness import stream_key
from magic_pomdp.planners.registry import find_planner, shipped_planners

__all__ = ["magic_pomdp"]

for _name in shipped_planners():
    find_planner(_name)
stream_key(0)  # numba sets itself up in the first call of a compiled function, which takes as long as its import
