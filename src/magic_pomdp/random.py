"""Chance, for the functions of a task: every draw comes from a stream that the function is given."""

from magic_pomdp.core.randomness import integer, new_stream, normal, seek, stream_key, uniform

__all__ = ["integer", "new_stream", "normal", "seek", "stream_key", "uniform"]
