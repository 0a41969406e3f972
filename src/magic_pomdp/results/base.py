"""What all results have in common."""

from typing import Annotated, Any

import msgspec

from magic_pomdp import __version__
from magic_pomdp.core.settings import SettingValue

FORMAT = 2
"""The version of the files of results that this software writes. Files of software 0.1.0, which do not tell, are 1."""

Scalar = SettingValue
"""What a setting can be."""
Plain = Scalar | list[Any] | dict[str, Any]
"""What JSON can hold: what a parameter of a task can be."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""How many of something there are."""
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
"""A part of a whole."""
NotNegative = Annotated[float, msgspec.Meta(ge=0.0)]
"""A time, a spread."""


class Stored(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """A result that has files of its own, and tells which kind it is."""

    version: int = FORMAT
    """Of the file's format."""
    software: str = __version__
    """The version of this software that made it."""
