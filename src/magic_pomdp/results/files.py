"""Results as files: the one reader and the one writer of all kinds."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from magic_pomdp.core.reading import Damaged, convert, plain_json, read_content
from magic_pomdp.core.saving import save_bytes
from magic_pomdp.results.base import FORMAT, Stored
from magic_pomdp.results.comparison import Comparison
from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.recording import Recording, is_recording, to_recording
from magic_pomdp.results.speed import Bench
from magic_pomdp.results.training import Ablation, AblationTraining, Curves
from magic_pomdp.results.upgrade import upgrade

_InJson = Evaluation | Comparison | Curves | Ablation | AblationTraining | Bench
Result = _InJson | Recording
"""All kinds."""
_KINDS: dict[str, type[_InJson]] = {kind.__struct_config__.tag: kind for kind in get_args(_InJson)}

_Kind = TypeVar("_Kind", bound=Stored)


def read(path: Path) -> Result:
    """The result that a file holds, of whichever kind; a ValueError says in a sentence what is wrong with the file."""
    found = read_if_result(path)
    if found is None:
        raise ValueError(
            f"{path} holds no result of magic-pomdp: evaluate, compare, curves, ablate, bench and record make some."
        )
    return found


def read_as(path: Path, kind: type[_Kind]) -> _Kind:
    """The result of one kind that a file holds; a ValueError says in a sentence what is wrong with the file."""
    found = read(path)
    if not isinstance(found, kind):
        raise ValueError(f"{path} holds {_with_article(type(found))}, but {_with_article(kind)} is needed.")
    return found


def read_if_there(path: Path, kind: type[_Kind]) -> _Kind | None:
    """The result of one kind that a file holds; None if there is no file, or a damaged one. What is something else, or
    of a later version, is never to be written over: a ValueError says so."""
    if not path.exists():
        return None
    try:
        return read_as(path, kind)
    except Damaged:
        return None
    except ValueError as error:
        raise ValueError(f"{error} Remove that file, or choose another folder.") from None


def read_if_result(path: Path) -> Result | None:
    """The result that a file holds; None if it holds JSON of another kind, and a ValueError if it is damaged."""
    plain = plain_json(read_content(path), str(path))
    if is_recording(plain):
        return to_recording(plain, path)
    if isinstance(plain, dict) and "kind" not in plain:
        plain = upgrade(plain)
    if not isinstance(plain, dict) or plain["kind"] not in list(_KINDS):
        return None
    version = plain.get("version", FORMAT)
    if isinstance(version, int) and version > FORMAT:
        raise ValueError(
            f"{path} is of format {version}, made by magic-pomdp {plain.get('software', '?')}, and this version reads "
            f"formats up to {FORMAT}: update magic-pomdp."
        )
    return convert(plain, _KINDS[plain["kind"]], str(path))


def write(path: Path, result: Stored) -> None:
    """Write a result in one step: whoever reads the file sees the old content or the new, never half."""
    plain = msgspec.to_builtins(result)
    for place, number in _not_finite(plain, "$"):
        raise ValueError(f"{path} is not written, since {place} is {number} instead of a finite number.")
    save_bytes(path, (json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def as_stored(result: _Kind) -> _Kind:
    """A result as a file would give it back, such as with lists for tuples; to compare with one from a file."""
    return msgspec.json.decode(msgspec.json.encode(result), type=type(result))


def _not_finite(plain: Any, place: str) -> Iterator[tuple[str, float]]:
    """The numbers in plain data that JSON cannot hold, with their places."""
    if isinstance(plain, dict):
        for name, value in plain.items():
            yield from _not_finite(value, f"{place}.{name}")
    elif isinstance(plain, list | tuple):
        for i, value in enumerate(plain):
            yield from _not_finite(value, f"{place}[{i}]")
    elif isinstance(plain, float) and not math.isfinite(plain):
        yield place, plain


def _with_article(kind: type[Stored]) -> str:
    name = str(kind.__struct_config__.tag)
    return name if name == "curves" else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
