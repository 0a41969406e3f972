"""How fast it runs on some machine."""

import msgspec

from magic_pomdp.results.base import Stored


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """The best of several repeats."""

    name: str
    value: float
    median: float | None = None
    """Of all repeats; None if that is not known."""
    unit: str
    """"/s" for a speed (more is better); s, ms or µs for a time (less is better)."""
    ratio: float
    """Value against the calibration kernel."""


class Bench(Stored, frozen=True, kw_only=True, tag="bench"):
    """What was measured on one machine."""

    processor: str
    python: str = ""
    """Its version; "" if that is not known."""
    numba: str = ""
    repeats: int = 0
    """Times that each thing was measured; 0 if that is not known."""
    measurements: tuple[Measurement, ...]
