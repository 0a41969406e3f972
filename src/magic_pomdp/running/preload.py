"""Imported by the server process before it forks workers, so that they need not do these things one by one."""

import magic_pomdp.running.evaluate
from magic_pomdp.core.randomness import stream_key

__all__ = ["magic_pomdp"]

stream_key(0)  # numba sets itself up in the first call of a compiled function, which takes as long as its import
