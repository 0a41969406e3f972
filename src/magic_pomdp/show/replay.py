"""Recordings as one page that needs nothing else: no network, no server, no other file."""

import base64
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from magic_pomdp.running.recording import Recording, pack
from magic_pomdp.running.saving import save_bytes

PAGE = Path(__file__).parent / "page"
SCRIPTS = ("data.js", "drawing.js", "charts.js", "tree.js", "panel.js", "controls.js", "player.js", "replay.js")
"""In the order in which they need each other."""
STEPS = 65_535
"""A particle's coordinate is one of so many steps across the particles' range."""


def write_replay(path: Path, recordings: Sequence[Recording]) -> None:
    """Write a page that shows recordings; with two or more, side by side."""
    if not recordings:
        raise ValueError("A replay needs at least one recording.")
    save_bytes(path, replay_page(recordings).encode())


def replay_page(recordings: Sequence[Recording]) -> str:
    """The page as text."""
    title = "Replay: " + ", ".join(dict.fromkeys(recording["task"]["name"] for recording in recordings))
    return fill_page("replay.html", title, SCRIPTS, pack_for_page(recordings))


def pack_for_page(recordings: Sequence[Recording]) -> str:
    """Recordings as text that the page's scripts read."""
    return base64.b64encode(pack([_for_page(recording) for recording in recordings])).decode()


def fill_page(
    content: str, title: str, scripts: Sequence[str], data: str = "", body: str = "", reaches: str = "'none'"
) -> str:
    """A page with the content of a file, and style, palette, scripts, data (text without "<") and body (HTML) put into
    it. It `reaches` nothing, or the server that it comes from ('self')."""
    parts = {
        "reaches": reaches,
        "title": title.replace("&", "&amp;").replace("<", "&lt;"),
        "style": page_file("page.css"),
        "palette": json.dumps(json.loads(page_file("palette.json"))),
        "scripts": "\n".join(page_file(name) for name in scripts),
        "data": data,
        "body": body,
    }
    pieces = page_file("page.html").replace("{{content}}", page_file(content)).split("{{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        name, rest = piece.split("}}", 1)
        filled += [parts[name], rest]
    return "".join(filled)


@cache
def page_file(name: str) -> str:
    """The text of one of the page's files."""
    return (PAGE / name).read_text(encoding="utf-8")


def _for_page(recording: Recording) -> dict[str, Any]:
    """A recording with only those numbers of the particles that are drawn, each in two bytes."""
    return {**recording, "episodes": [_episode_for_page(episode) for episode in recording["episodes"]]}


def _episode_for_page(episode: dict[str, Any]) -> dict[str, Any]:
    """The particles become `clouds`, one for each track of the scene: {"low", "high", "points" (frames, count, 2)}."""
    tracks = (episode["scene"] or {}).get("particles", ())
    particles, clouds = episode["particles"], []
    for track in tracks:
        points = particles[:, :, [track["x"], track["y"]]].astype(np.float64)
        low, high = points.min(axis=(0, 1)), points.max(axis=(0, 1))
        share = (points - low) / np.maximum(high - low, 1e-300)
        clouds.append({"low": low, "high": high, "points": (share * STEPS).round().astype(np.uint16)})
    rest = {name: value for name, value in episode.items() if name != "particles"}
    return {**rest, "clouds": clouds, "particle_count": particles.shape[1]}
