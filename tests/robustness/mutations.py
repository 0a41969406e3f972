"""Damage, drawn from a seed: what random bytes, and somebody who knows the format, would make of a file."""

import copy
import json
import random
from typing import Any

EXTREMES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e-320, 1.5, 255, 65536, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63)),
    *(10**30, 1e16, 1e99, 1e101, 1e308, -1e308, "", " ", "0", "NaN", "nan", "inf", "null", "[/x]", "[bold]", "\x1b[2J"),
    *("\x00", "\n", "ä", "\ud7ff", "𝄞", "../../x", "/", "{{x}}", "<script>", "%s", "a" * 5000, [], {}, [[]], [None]),
    *([0], [1.0, 2.0], {"": 0}, {"kind": "evaluation"}, {"dtype": "<f8", "shape": [0], "data": ""}),
    {"dtype": "<f8", "shape": [1], "data": "AAAAAAAA+H8="},  # NaN
)
"""What somebody would try in the place of any value."""
TOKENS = (
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u0000", b"null", b"NaN", b"-Infinity", b"1e999", b"-", b"."),
    *(b"0", b"9" * 400, b"\x00", b"\xff", b"\xc3\x28", b"\r\n", b"\n\n", b"<", b">", b"/>", b"&x;", b"<!DOCTYPE a>"),
)
"""Pieces that readers of text know."""


def damaged_bytes(content: bytes, chance: random.Random) -> bytes:
    """Some bytes changed, inserted, removed or said twice, at one place or at several."""
    damaged = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
        start = chance.randrange(len(damaged) + 1)
        end = min(len(damaged), start + chance.choice((1, 1, 2, 8, 64, 512)))
        match chance.randrange(7):
            case 0 if start < len(damaged):
                damaged[start] ^= 1 << chance.randrange(8)
            case 1:
                damaged[start:end] = chance.randbytes(end - start)
            case 2:
                del damaged[start:end]
            case 3:
                damaged[start:start] = damaged[start:end] * chance.choice((1, 1, 2, 50))
            case 4:
                damaged[start:start] = chance.choice(TOKENS)
            case 5:
                del damaged[start:]
            case _:
                other = chance.randrange(len(damaged) + 1)
                damaged[start:end] = damaged[other : other + end - start]
    return bytes(damaged)


def damaged_json(content: bytes, chance: random.Random) -> bytes:
    """Well-formed JSON in which something is missing, doubled, renamed, or something else."""
    plain = json.loads(content)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        plain = _changed(plain, chance)
    return json.dumps(plain, ensure_ascii=chance.random() < 0.5).encode()


def _changed(plain: Any, chance: random.Random) -> Any:
    """Plain data with a change somewhere."""
    places = list(_places(plain))
    if not places or chance.random() < 0.01:
        return copy.deepcopy(chance.choice(EXTREMES))
    owner, key = chance.choice(places)
    match chance.randrange(8):
        case 0:
            del owner[key]
        case 1 if isinstance(owner, list):
            owner.insert(chance.randrange(len(owner) + 1), copy.deepcopy(owner[key]))
        case 1:
            owner[chance.choice(("", "kind", "version", "x" * 300, "a\x1b[0m", f"{key}2"))] = owner.pop(key)
        case 2:
            other, place = chance.choice(places)
            if place in other if isinstance(other, dict) else place < len(other):
                owner[key] = copy.deepcopy(other[place])
        case 3 if isinstance(owner[key], int | float) and not isinstance(owner[key], bool):
            owner[key] = chance.choice((-owner[key], owner[key] * 1e6, owner[key] + 1, owner[key] / 3, str(owner[key])))
        case 3 if isinstance(owner[key], str):
            owner[key] = owner[key][: chance.randrange(len(owner[key]) + 1)] + chance.choice(("", "x", "\x00", "[/x]"))
        case 3 if isinstance(owner[key], list):
            owner[key] = owner[key] * chance.choice((0, 2, 3)) or chance.sample(owner[key], len(owner[key]) // 2)
        case 4:
            owner[key] = chance.choice(([owner[key]], {"value": owner[key]}))
        case _:
            owner[key] = copy.deepcopy(chance.choice(EXTREMES))
    return plain


def _places(plain: Any) -> Any:
    """Every place at which plain data hold something, as its owner and the key there."""
    items = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for key, value in items:
        yield plain, key
        yield from _places(value)
