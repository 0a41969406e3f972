"""Results as files: the one reader and the one writer of all kinds."""

import json
from pathlib import Path
from typing import TypeVar, get_args

import msgspec

from magic_pomdp.core.reading import (
    Damaged,
    beyond_limits,
    check_amount,
    convert,
    plain_json,
    printable,
    read_content,
)
from magic_pomdp.core.saving import save_bytes
from magic_pomdp.results.base import FORMAT, Stored
from magic_pomdp.results.comparison import Comparison
from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.identification import Identification
from magic_pomdp.results.recording import Recording, is_recording, to_recording
from magic_pomdp.results.speed import Bench
from magic_pomdp.results.training import Ablation, AblationTraining, Curves
from magic_pomdp.results.upgrade import upgrade

_InJson = Evaluation | Comparison | Curves | Ablation | AblationTraining | Bench | Identification
Result = _InJson | Recording
"""All kinds."""
_KINDS: dict[str, type[_InJson]] = {kind.__struct_config__.tag: kind for kind in get_args(_InJson)}

_Kind = TypeVar("_Kind", bound=Stored)


def read(path: str | Path) -> Result:
    """The result that a file holds, of whichever kind; a ValueError says in a sentence what is wrong with the file."""
    path = Path(path)
    if path.suffix == ".safetensors":
        raise ValueError(f"{path} is a model or a checkpoint and no result: plan with a model by naming its file.")
    found = read_if_result(path)
    if found is None:
        raise ValueError(
            f"{path} holds no result of magic-pomdp: evaluate, compare, curves, ablate, bench, identify, transfer and "
            "record make some."
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
    if type(version) is int and version > FORMAT:
        maker = printable(str(plain.get("software", "?"))[:20])
        raise ValueError(
            f"{path} is of format {version}, made by magic-pomdp {maker}, and this version reads formats up to "
            f"{FORMAT}: update magic-pomdp."
        )
    return convert(plain, _KINDS[plain["kind"]], str(path))


def write(path: str | Path, result: Stored) -> None:
    """Write a result in one step: whoever reads the file sees the old content or the new, never half. What could not
    be read again is refused."""
    path, plain = Path(path), msgspec.to_builtins(result)
    found = beyond_limits(plain)
    if found is not None:
        raise ValueError(f"{path} is not written, since {found[0]} is out of limits: expected {found[1]}.")
    content = (json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
    check_amount(content, str(path))
    save_bytes(path, content)


def as_stored(result: _Kind) -> _Kind:
    """A result as a file would give it back, such as with lists for tuples; to compare with one from a file."""
    return msgspec.json.decode(msgspec.json.encode(result), type=type(result))


def _with_article(kind: type[Stored]) -> str:
    name = str(kind.__struct_config__.tag)
    return name if name == "curves" else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
