"""Recordings as one page that needs nothing else: no network, no server, no other file."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from magic_pomdp.core.saving import save_bytes
from magic_pomdp.results.recording import RecordedEpisode, Recording, pack
from magic_pomdp.show.pages import render_page

REPLAY_SCRIPTS = ("data.js", "drawing.js", "charts.js", "tree.js", "panel.js", "controls.js", "player.js", "replay.js")
"""In the order in which they need each other."""
_STEPS = 65_535
"""A particle's coordinate is one of so many steps across the particles' range."""


def write_replay(path: Path, recordings: Sequence[Recording]) -> None:
    """Write a page that shows recordings; with two or more, side by side."""
    if not recordings:
        raise ValueError("A replay needs at least one recording.")
    save_bytes(path, replay_page(recordings).encode())


def replay_page(recordings: Sequence[Recording]) -> str:
    """The page as text."""
    title = "Replay: " + ", ".join(dict.fromkeys(recording.task.name for recording in recordings))
    return render_page("replay.html", title, REPLAY_SCRIPTS, pack_for_page(recordings))


def pack_for_page(recordings: Sequence[Recording]) -> str:
    """Recordings as text that the page's scripts read."""
    return base64.b64encode(pack([_for_page(recording) for recording in recordings])).decode()


def _for_page(recording: Recording) -> dict[str, Any]:
    """A recording with only those numbers of the particles that are drawn, each in two bytes."""
    return {**_parts(recording), "episodes": [_episode_for_page(episode) for episode in recording.episodes]}


def _episode_for_page(episode: RecordedEpisode) -> dict[str, Any]:
    """The particles become `clouds`, one for each track of the scene: {"low", "high", "points" (frames, count, 2)}."""
    clouds, rest = [], _parts(episode)
    particles = rest.pop("particles")
    for track in episode.scene.particles if episode.scene else ():
        points = particles[:, :, [track.x, track.y]].astype(np.float64)
        low, high = points.min(axis=(0, 1)), points.max(axis=(0, 1))
        share = (points - low) / np.maximum(high - low, 1e-300)
        clouds.append({"low": low, "high": high, "points": (share * _STEPS).round().astype(np.uint16)})
    return {**rest, "clouds": clouds, "particle_count": particles.shape[1]}


def _parts(result: msgspec.Struct) -> dict[str, Any]:
    """All that a result holds, by the names that files have for it."""
    return {part.encode_name: getattr(result, part.name) for part in msgspec.structs.fields(result)}
