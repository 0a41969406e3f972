"""Arrays and JSON in one safetensors file, written whole or not at all, and refused when damaged.

A checkpoint holds everything that a training needs to go on: networks, optimisers, α, replay, counters, settings. All
chance follows from the seed and these counters, so there is no state of random generators to keep.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from magic_pomdp.running.saving import save_bytes

ENTRY, DIGEST = "magic-pomdp", "digest"
"""Names in a file's metadata: the JSON, and a fingerprint of everything in the file."""


def save_arrays(path: Path, kind: str, arrays: Mapping[str, np.ndarray], about: dict[str, Any]) -> None:
    """Write arrays and what is known about them. `kind` tells such a file from others."""
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = json.dumps({"kind": kind, **about}, ensure_ascii=False)
    save_bytes(path, save(plain, {ENTRY: text, DIGEST: _digest(plain, text)}))


def load_arrays(path: Path, kind: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of a file and what is known about them, or a ValueError that says why it cannot be used."""
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()} if ENTRY in metadata else {}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise ValueError(f"{path} is damaged, or no {kind} at all ({error}).") from None
    if ENTRY not in metadata:
        raise ValueError(f"{path} is no {kind} of magic-pomdp.")
    if metadata.get(DIGEST) != _digest(arrays, metadata[ENTRY]):
        raise ValueError(f"{path} is damaged: its content does not match its fingerprint.")
    about = json.loads(metadata[ENTRY])
    if about.get("kind") != kind:
        raise ValueError(f"{path} is a {about.get('kind')}, not a {kind}.")
    return arrays, about


def _digest(arrays: Mapping[str, np.ndarray], text: str) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


# ------------------------------------------------------------------------------------------------------- checkpoints

CHECKPOINT = "checkpoint"


def save_checkpoint(folder: Path, arrays: Mapping[str, np.ndarray], about: dict[str, Any], keep: int) -> Path:
    """Write the checkpoint of a training, named after its updates; remove all but the newest few."""
    path = folder / f"checkpoint-{about['updates']:09d}-{about['plans']:09d}.safetensors"
    save_arrays(path, CHECKPOINT, arrays, about)
    others = [other for other in checkpoints(folder) if other != path]  # damaged ones may have a higher number
    for old in others[keep - 1 :]:
        old.unlink(missing_ok=True)
    return path


def load_checkpoint(folder: Path, say: Callable[[str], None]) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    """The newest checkpoint that can be read; `say` is told of those that cannot. None if there is none."""
    paths = checkpoints(folder)
    for path in paths:
        try:
            return load_arrays(path, CHECKPOINT)
        except ValueError as error:
            say(str(error) if path == paths[-1] else f"{error} The one before is used.")
    return None


def checkpoints(folder: Path) -> list[Path]:
    """All checkpoints in a folder, the newest first."""
    return sorted(folder.glob("checkpoint-*.safetensors"), reverse=True)
