"""What all results have in common."""

from collections.abc import Mapping, Sized
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

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Label = Annotated[str, msgspec.Meta(max_length=1000)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""A number of things: what a page's numbers hold exactly."""
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Amount = Annotated[float, msgspec.Meta(ge=0.0)]
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class Stored(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """A result that has files of its own, and tells which kind it is."""

    version: Annotated[int, msgspec.Meta(ge=1, le=FORMAT)] = FORMAT
    """Of the file's format."""
    software: Label = __version__
    """The version of this software that made it."""


def check_counts(counts: Mapping[str, Sized], count: int, what: str) -> None:
    """A ValueError if there is another number of any of some things, which are given by their names."""
    for name, items in counts.items():
        if len(items) != count:
            raise ValueError(f"{name} must have {count} {what}, not {len(items)}")
