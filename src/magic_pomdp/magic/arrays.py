"""Arrays, and what is known about them, in one safetensors file: written in one step, and refused when damaged."""

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from magic_pomdp.core.reading import Damaged, convert, in_short, plain_json
from magic_pomdp.core.saving import save_bytes

_ENTRY, _DIGEST = "magic-pomdp", "digest"
"""Names in a file's metadata: what is known, as JSON, and a fingerprint of everything in the file."""
_MOST_ARRAYS = 10_000
"""A file may hold so many arrays."""
_MOST_BYTES = 2**36
"""And so many bytes: checkpoints, which keep what was experienced, take gigabytes."""

_About = TypeVar("_About", bound=msgspec.Struct)


def save_arrays(path: Path, arrays: Mapping[str, np.ndarray], about: msgspec.Struct) -> None:
    """Write arrays and what is known about them; the tag of that tells such a file from others."""
    save_bytes(path, signed(arrays, msgspec.json.encode(about).decode()))


def signed(arrays: Mapping[str, np.ndarray], text: str) -> bytes:
    """What a file holds: arrays, what is known about them as JSON, and the fingerprint of both."""
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    return _in_order(save(plain, {_ENTRY: text, _DIGEST: _digest(plain, text)}))


def _in_order(content: bytes) -> bytes:
    """A safetensors file with its metadata sorted: the library writes them in another order every time, and the same
    content should give the same file."""
    end = 8 + int.from_bytes(content[:8], "little")
    header = msgspec.json.decode(content[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    ordered = msgspec.json.encode(header)
    ordered += b" " * (-len(ordered) % 8)  # what follows begins at a multiple of 8
    return b"".join((len(ordered).to_bytes(8, "little"), ordered, memoryview(content)[end:]))


def load_arrays(path: Path, about: type[_About], most: int = _MOST_BYTES) -> tuple[dict[str, np.ndarray], _About]:
    """The arrays of a file and what is known about them, or a ValueError that says why it cannot be used."""
    kind = about.__struct_config__.tag
    arrays, metadata = _read(path, kind, most)
    if _ENTRY not in metadata:
        raise ValueError(f"{path} is no {kind} of magic-pomdp.")
    text = metadata[_ENTRY]
    if metadata.get(_DIGEST) != _digest(arrays, text):
        raise Damaged(f"{path} is damaged: its content does not match its fingerprint.")
    plain = plain_json(text.encode(), str(path))
    found = plain.get("kind") if isinstance(plain, dict) else None
    if found != kind:
        raise ValueError(
            f"{path} is no {kind}, or was made by another version of magic-pomdp: its kind is {in_short(repr(found))}."
        )
    return arrays, convert(plain, about, str(path))


def check_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]], unlimited: Collection[str] = ()
) -> None:
    """A `Damaged` unless these are the arrays of such shapes that a file should hold, of finite numbers. Those that are
    `unlimited` may hold −∞."""
    for name in sorted(arrays.keys() ^ shapes.keys()):
        expected = "is missing" if name in shapes else "is none that is expected"
        raise Damaged(f"{path} is damaged: the array {in_short(name)} {expected}.")
    for name, shape in shapes.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float32:
            raise Damaged(
                f"{path} is damaged: the array {name} must be float32 of shape {shape}, but is {array.dtype} of shape "
                f"{array.shape}."
            )
        least = array.min(initial=0.0)
        if not (np.isfinite(array.max(initial=0.0)) and (np.isfinite(least) or name in unlimited)):
            raise Damaged(f"{path} is damaged: the array {name} holds what is no finite number.")


def _read(path: Path, kind: object, most: int) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays of a file, none if it is not ours, and its metadata."""
    try:
        if not path.is_file():
            raise ValueError(f"{path} is a folder." if path.is_dir() else f"There is no file {path}.")
        if path.stat().st_size > most:
            raise ValueError(f"{path} holds more than the {most:,} bytes that are read.")
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}).") from None
    try:
        with safe_open(path, framework="numpy") as file:
            metadata, names = file.metadata() or {}, list(file.keys())
            if len(names) > _MOST_ARRAYS:
                raise ValueError(f"it holds {len(names):,} arrays")
            return {name: file.get_tensor(name) for name in names} if _ENTRY in metadata else {}, metadata
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise Damaged(f"{path} is damaged, or no {kind} at all ({in_short(str(error))}).") from None


def _digest(arrays: Mapping[str, np.ndarray], text: str) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
