"""Arrays, and what is known about them, in one safetensors file: written in one step, and refused when damaged."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from magic_pomdp.core.reading import place_and_reason
from magic_pomdp.core.saving import save_bytes

_ENTRY, _DIGEST = "magic-pomdp", "digest"
"""Names in a file's metadata: what is known, as JSON, and a fingerprint of everything in the file."""

_About = TypeVar("_About", bound=msgspec.Struct)


def save_arrays(path: Path, arrays: Mapping[str, np.ndarray], about: msgspec.Struct) -> None:
    """Write arrays and what is known about them; the tag of that tells such a file from others."""
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = msgspec.json.encode(about).decode()
    save_bytes(path, save(plain, {_ENTRY: text, _DIGEST: _digest(plain, text)}))


def load_arrays(path: Path, about: type[_About]) -> tuple[dict[str, np.ndarray], _About]:
    """The arrays of a file and what is known about them, or a ValueError that says why it cannot be used."""
    kind = about.__struct_config__.tag
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()} if _ENTRY in metadata else {}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise ValueError(f"{path} is damaged, or no {kind} at all ({error}).") from None
    if _ENTRY not in metadata:
        raise ValueError(f"{path} is no {kind} of magic-pomdp.")
    if metadata.get(_DIGEST) != _digest(arrays, metadata[_ENTRY]):
        raise ValueError(f"{path} is damaged: its content does not match its fingerprint.")
    try:
        return arrays, msgspec.json.decode(metadata[_ENTRY], type=about)
    except msgspec.ValidationError as error:
        raise ValueError(
            f"{path} is no {kind}, or was made by another version of magic-pomdp: {place_and_reason(error)}"
        ) from None
    except (msgspec.DecodeError, RecursionError):
        raise ValueError(f"{path} is damaged: what it tells of its {kind} is not JSON.") from None


def _digest(arrays: Mapping[str, np.ndarray], text: str) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
