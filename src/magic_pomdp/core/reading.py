"""What comes from outside, read within limits: whatever a file holds, it costs little, and what is wrong with it is one
sentence with the file, the place in it and what was expected.

All readers of files are built of these: `read_content` (bytes, unpacked), `plain_json` (JSON as plain data),
`convert` (plain data as what it should be), and `read_json`, which is all three.
"""

import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

MOST_BYTES = 640 * 2**20
"""A file may hold so many bytes, unpacked: ten recorded episodes of the largest task that ships."""
MOST_VALUES = 5_000_000
"""JSON may hold so many values: each takes far more memory than its text."""
DEEPEST = 40
"""JSON may nest so deeply."""
LARGEST = 1e100
"""Numbers in JSON may be so large: sums of their squares are finite, and no figure of anybody's comes close."""

_GZIP = b"\x1f\x8b"
_OF_GZIP = 31
"""What zlib calls that format."""
_CHUNK = 2**17
_MOST_MEMBERS = 10_000
_LONGEST = 200
"""Letters of a name or a reason in a sentence."""

_Kind = TypeVar("_Kind")


class Damaged(ValueError):
    """A file that is not whole, or holds what it should not."""


def read_content(path: Path, most: int = MOST_BYTES) -> bytes:
    """What a file holds, unpacked if it is packed by gzip; a ValueError says in a sentence why it cannot be read."""
    try:
        if not path.is_file():  # a pipe or a device may never end
            raise ValueError(f"There is no file {path}.")
        with path.open("rb") as file:
            content = file.read(min(path.stat().st_size, most) + 1)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}).") from None
    if content.startswith(_GZIP):
        content = _unpack(path, content, most)
    if len(content) > most:
        raise ValueError(f"{path} holds more than the {most:,} bytes that are read.")
    return content


def read_json(path: Path, kind: type[_Kind]) -> _Kind:
    """What a file of JSON holds, as what it should be; a ValueError says in a sentence what is wrong with the file."""
    return convert(plain_json(read_content(path), str(path)), kind, str(path))


def plain_json(content: bytes, source: str) -> Any:
    """JSON as plain data whose size, depth and numbers are within limits. Messages call it `source`."""
    check_amount(content, source)
    try:
        plain = msgspec.json.decode(content)
    except msgspec.ValidationError as error:
        raise Damaged(f"{source} is damaged at {place_and_reason(error)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        where = re.search(r"\(byte (\d+)\)", str(error))
        place = f" at byte {where[1]}" if where else ""
        if where and re.match(rb"-?(NaN|Infinity)", content[max(0, int(where[1]) - 1) :].lstrip(b" \n\t\r:[,")):
            raise Damaged(f"{source} is damaged{place}: expected a finite number.") from None
        raise Damaged(f"{source} is not JSON, or is damaged{place}.") from None
    except RecursionError:
        raise Damaged(f"{source} is damaged: its JSON is nested more than {DEEPEST} deep.") from None
    found = beyond_limits(plain)
    if found is not None:
        raise Damaged(f"{source} is damaged at {found[0]}: expected {found[1]}.")
    return plain


def convert(plain: Any, kind: type[_Kind], source: str, dec_hook: Callable[[type, Any], Any] | None = None) -> _Kind:
    """Plain data as what it should be; a `Damaged` says where it is something else."""
    try:
        return msgspec.convert(plain, kind, dec_hook=dec_hook)
    except msgspec.ValidationError as error:
        raise Damaged(f"{source} is damaged at {place_and_reason(error)}") from None


def place_and_reason(error: msgspec.ValidationError) -> str:
    """Where something is wrong and what, as the end of a sentence."""
    found = re.fullmatch(r"(.*?)(?: - at `([^`]*)`)?", str(error), re.DOTALL)
    reason, place = (str(error), None) if found is None else found.groups()
    reason = reason[:_LONGEST].rstrip(".").replace("`", "")
    reason = re.sub(r"^Object missing required field (\S+)$", r"the field \1 is missing", reason)
    return f"{printable(place or '$')}: {printable(reason[:1].lower() + reason[1:])}."


def printable(text: str) -> str:
    """Text without what a terminal would obey instead of showing it."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def in_short(text: str, most: int = _LONGEST) -> str:
    """What a file tells, in a sentence: printable, and cut after so many letters."""
    shown = printable(text[: most + 1])
    return shown if len(shown) <= most else f"{shown[:most]}…"


def check_amount(content: bytes, source: str) -> None:
    """A ValueError if JSON is more than is read."""
    if len(content) > MOST_BYTES:
        raise ValueError(f"{source} holds more than the {MOST_BYTES:,} bytes that are read.")
    if count_values(content) > MOST_VALUES:
        raise ValueError(f"{source} holds more than the {MOST_VALUES:,} values that are read.")


def count_values(content: bytes) -> int:
    """The values of JSON and their names, give or take a few."""
    marks = b",", b":", b"[", b"{"
    if sum(map(content.count, marks)) > MOST_VALUES:
        content = re.sub(rb'"(?:[^"\\]|\\.)*+"', b"", content)  # marks in texts do not count
    return sum(map(content.count, marks))


def beyond_limits(plain: Any) -> tuple[str, str] | None:
    """Where plain data are beyond the limits and what was expected there, or None."""
    found = _beyond_limits(plain, DEEPEST)
    return None if found is None else (f"${found[0]}", found[1])


def _beyond_limits(plain: Any, deeper: int) -> tuple[str, str] | None:
    if isinstance(plain, float | int):
        return None if -LARGEST <= plain <= LARGEST else ("", f"a finite number below {LARGEST:g}")
    if not isinstance(plain, list | tuple | dict):
        return None
    if deeper == 0:
        return "", f"nothing nested more than {DEEPEST} deep"
    for name, value in plain.items() if isinstance(plain, dict) else enumerate(plain):
        found = _beyond_limits(value, deeper - 1)
        if found is not None:
            place, expected = found
            return (f".{printable(name[:_LONGEST])}" if isinstance(name, str) else f"[{name}]") + place, expected
    return None


def _unpack(path: Path, packed: bytes, most: int) -> bytes:
    """All that was packed, members one after the other as gzip allows, up to a little more than the most."""
    parts, size, place = [], 0, 0
    try:
        for _ in range(_MOST_MEMBERS):
            unpacker = zlib.decompressobj(wbits=_OF_GZIP)
            while not unpacker.eof and size <= most:
                waiting = unpacker.unconsumed_tail
                if not waiting:
                    waiting = packed[place : place + _CHUNK]
                    place += len(waiting)
                if not waiting:
                    raise Damaged(f"{path} is damaged: it ends too early.")
                parts.append(unpacker.decompress(waiting, _CHUNK))
                size += len(parts[-1])
            place -= len(unpacker.unused_data)
            if size > most or not packed[place : place + 1].strip(b"\0"):  # some writers fill a block with zeros
                return b"".join(parts)
    except zlib.error:
        raise Damaged(f"{path} is damaged: it cannot be unpacked.") from None
    raise Damaged(f"{path} is damaged: it was packed in more than {_MOST_MEMBERS:,} parts.")
