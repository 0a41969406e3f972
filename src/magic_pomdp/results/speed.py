"""How fast it runs on some machine."""

import msgspec

from magic_pomdp.results.base import Amount, Count, Label, Name, Stored


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """The best of several repeats."""

    name: Name
    value: Amount
    median: Amount | None = None
    """Of all repeats; None if that is not known."""
    unit: Label
    """"/s" for a speed (more is better); s, ms or µs for a time (less is better)."""
    ratio: Amount
    """Value against the calibration kernel."""


class Bench(Stored, frozen=True, kw_only=True, tag="bench"):
    """What was measured on one machine."""

    processor: Label
    python: Label = ""
    """Its version; "" if that is not known."""
    numba: Label = ""
    repeats: Count = 0
    """Times that each thing was measured; 0 if that is not known."""
    measurements: tuple[Measurement, ...]
