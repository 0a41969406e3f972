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

MOST_BYTES = 512 * 2**20
"""A file may hold so many bytes, unpacked."""
MOST_VALUES = 5_000_000
"""JSON may hold so many values: each takes far more memory than its text."""
DEEPEST = 40
"""JSON may nest so deeply."""
LARGEST = 1e100
"""Numbers in JSON may be so large: sums of their squares are finite, and no figure of anybody's comes close."""

_GZIP = b"\x1f\x8b"
_CHUNK = 2**20

_Kind = TypeVar("_Kind")


class Damaged(ValueError):
    """A file that is not whole, or holds what it should not."""


def read_content(path: Path, most: int = MOST_BYTES) -> bytes:
    """What a file holds, unpacked if it is packed by gzip; a ValueError says in a sentence why it cannot be read."""
    try:
        if not path.is_file():  # a pipe or a device may never end
            raise ValueError(f"{path} is a folder." if path.is_dir() else f"There is no file {path}.")
        with path.open("rb") as file:
            content = file.read(most + 1)
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
    if sum(map(content.count, (b",", b":", b"[", b"{"))) > MOST_VALUES and _count_values(content) > MOST_VALUES:
        raise ValueError(f"{source} holds more than the {MOST_VALUES:,} values that are read.")
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
    found = _beyond_limits(plain, DEEPEST)
    if found is not None:
        raise Damaged(f"{source} is damaged at ${found[0]}: {found[1]}.")
    return plain


def convert(plain: Any, kind: type[_Kind], source: str, dec_hook: Callable[[type, Any], Any] | None = None) -> _Kind:
    """Plain data as what it should be; a `Damaged` says where it is something else."""
    try:
        return msgspec.convert(plain, kind, dec_hook=dec_hook)
    except msgspec.ValidationError as error:
        raise Damaged(f"{source} is damaged at {place_and_reason(error)}") from None


def place_and_reason(error: msgspec.ValidationError) -> str:
    """Where something is wrong and what, as the end of a sentence."""
    reason, _, place = str(error).partition(" - at ")
    reason = reason.rstrip(".").replace("`", "")
    reason = re.sub(r"^Object missing required field (\S+)$", r"the field \1 is missing", reason)
    return f"{printable(place.replace('`', '')) or '$'}: {printable(reason[:1].lower() + reason[1:])}."


def printable(text: str) -> str:
    """Text without what a terminal would obey instead of showing it."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def _unpack(path: Path, packed: bytes, most: int) -> bytes:
    """All that was packed, members one after the other as gzip allows, up to one byte more than the most."""
    parts, size = [], 0
    try:
        while packed and size <= most:
            unpacker = zlib.decompressobj(wbits=31)
            while not unpacker.eof and size <= most:
                part = unpacker.decompress(packed, _CHUNK)
                packed = unpacker.unconsumed_tail
                if not part and not packed and not unpacker.eof:
                    raise Damaged(f"{path} is damaged: it ends too early.")
                parts.append(part)
                size += len(part)
            packed = unpacker.unused_data.lstrip(b"\0") if unpacker.eof else b""
    except zlib.error:
        raise Damaged(f"{path} is damaged: it cannot be unpacked.") from None
    return b"".join(parts)


def _count_values(content: bytes) -> int:
    """The values of JSON, give or take the marks that stand in its texts."""
    without_texts = re.sub(rb'"(?:[^"\\]|\\.)*"', b"", content)
    return sum(map(without_texts.count, (b",", b":", b"[", b"{")))


def _beyond_limits(plain: Any, deeper: int) -> tuple[str, str] | None:
    """Where plain data are beyond the limits and what was expected there, or None."""
    if isinstance(plain, float | int):
        return None if -LARGEST <= plain <= LARGEST else ("", f"expected a number below {LARGEST:g}")
    if not isinstance(plain, list | dict):
        return None
    if deeper == 0:
        return "", f"expected nothing nested more than {DEEPEST} deep"
    for name, value in plain.items() if isinstance(plain, dict) else enumerate(plain):
        found = _beyond_limits(value, deeper - 1)
        if found is not None:
            place, expected = found
            return (f".{printable(name)}" if isinstance(name, str) else f"[{name}]") + place, expected
    return None
