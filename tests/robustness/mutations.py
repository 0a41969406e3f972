"""Damage, drawn from a seed: what random bytes, and somebody who knows the format, would make of a file."""

import copy
import gzip
import json
import random
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

Damage = Callable[[bytes, random.Random], bytes]
"""What makes something else of content."""
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
NUMBERS = ("0", "-1", "1e7", "-1e7", "1e300", "nan", "inf", "1e-300", "0.1", "99999999999999999999", "1,1", "ä", "a b")
"""What somebody would write for a number in XML."""


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
    plain = json.loads(gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        plain = _changed(plain, chance)
    return json.dumps(plain, ensure_ascii=chance.random() < 0.5).encode()


def damaged_lines(content: bytes, chance: random.Random) -> bytes:
    """Lines of JSON of which one is damaged, missing, doubled or elsewhere."""
    lines = content.splitlines(keepends=True)
    place = chance.randrange(len(lines))
    match chance.randrange(5):
        case 0:
            del lines[place]
        case 1:
            lines.insert(chance.randrange(len(lines)), lines[place])
        case _:
            lines[place] = damaged_json(lines[place], chance) + b"\n"
    return b"".join(lines)


def damaged_xml(content: bytes, chance: random.Random) -> bytes:
    """Well-formed XML in which an element or an attribute is missing, doubled, or something else."""
    root = ElementTree.fromstring(content)
    for _ in range(chance.choice((1, 1, 2, 5))):
        owners = [element for element in root.iter() if len(element)]
        holders = [element for element in root.iter() if element.attrib]
        if owners and chance.random() < 0.3:
            owner = chance.choice(owners)
            element = chance.choice(list(owner))
            if chance.random() < 0.5:
                owner.remove(element)
            else:
                chance.choice(owners).insert(0, copy.deepcopy(element))
        elif holders:
            holder = chance.choice(holders)
            _change_attribute(holder.attrib, [one for other in holders for one in other.attrib.values()], chance)
    return ElementTree.tostring(root)


def _change_attribute(attributes: dict[str, str], others: list[str], chance: random.Random) -> None:
    name = chance.choice(list(attributes))
    words = attributes[name].replace(",", " ").split() or [""]
    match chance.randrange(4):
        case 0:
            del attributes[name]
        case 1:
            attributes[name] = chance.choice(others)
        case 2:
            attributes[name] = attributes[name].replace(chance.choice(words), chance.choice(NUMBERS))
        case _:
            attributes[name] = chance.choice((*NUMBERS, "", "x" * 3000, f"{attributes[name]} {attributes[name]}"))


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
