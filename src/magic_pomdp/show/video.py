"""Recorded episodes as moving pictures: MP4 and GIF."""

import errno
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from magic_pomdp.core.reading import printable
from magic_pomdp.core.saving import in_one_step
from magic_pomdp.results.recording import RecordedEpisode, Recording
from magic_pomdp.show.drawing import draw_moment, palette
from magic_pomdp.show.words import number_words

_KINDS = (".mp4", ".gif")
_REST = 1.5
"""Seconds that the end is shown."""
_DPI = 100
_HEAD, _STRIP, _EDGE = 34, 92, 12
"""Pixels of the line above a drawing, of the chart below it, and around both, at a width of 480 pixels."""
_FLAT, _TALL = 0.35, 3.0
"""A drawing is at least and at most so high, as a share of its width."""
_LARGEST = 2**15
"""Pixels across that a picture can have."""
_LABEL = 60
"""Letters of a planner's name."""
_MOST_FRAMES = 100_000
_SAMPLED = 250_000
"""Pixels of a frame that a GIF's colours are chosen from."""
_COLOURS = 127
"""Of a GIF, next to the one that lets through what was there before."""


def check_video(path: Path, recordings: Sequence[Recording], fps: float, speed: float, width: int) -> None:
    """A ValueError that says why no such video can be made."""
    if path.suffix not in _KINDS:
        raise ValueError(f"A video's name ends with {' or '.join(_KINDS)}, not as {path.name}.")
    if not 1 <= fps <= 100:
        raise ValueError(f"A video has 1 to 100 frames a second, not {fps:g}.")
    if not 0 < speed <= 1000:
        raise ValueError(f"A video shows more than 0 and at most 1000 steps a second, not {speed:g}.")
    if not 120 <= width <= 4096:
        raise ValueError(f"A drawing is 120 to 4096 pixels wide, not {width}.")
    if not recordings:
        raise ValueError("A video needs at least one recording.")
    if len(recordings) * width > _LARGEST:
        raise ValueError(f"A video is at most {_LARGEST:,} pixels wide, not {len(recordings) * width:,}.")


def find_episode(recording: Recording, number: int | None) -> RecordedEpisode:
    """An episode of a recording by its number; the first if none is asked for."""
    episodes = {episode.episode: episode for episode in recording.episodes}
    if number is None:
        return recording.episodes[0]
    if number not in episodes:
        there = ", ".join(map(str, episodes))
        raise ValueError(f"The recording of {recording.planner.name} has no episode {number}: it has {there}.")
    return episodes[number]


def write_video(
    path: Path,
    recordings: Sequence[Recording],
    episode: int | None = None,
    fps: float = 20.0,
    speed: float = 5.0,
    theme: str = "dark",
    width: int = 480,
    on_progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write an episode as .mp4 or .gif, several recordings side by side; the number of frames.

    `speed` is in steps a second, `width` in pixels for each recording. `on_progress` is told how many frames of how
    many are done. An interruption leaves no half file.
    """
    check_video(path, recordings, fps, speed, width)
    film = _Film([(recording, find_episode(recording, episode)) for recording in recordings], theme, width)
    if film.length * fps / speed > _MOST_FRAMES:
        raise ValueError(f"A video has at most {_MOST_FRAMES:,} frames: show more steps a second than {speed:g}.")
    times = np.append(np.arange(0.0, film.length, speed / fps), [film.length] * max(1, round(_REST * fps)))

    def frames() -> Iterator[np.ndarray]:
        for number, time in enumerate(times, start=1):
            yield film.frame(float(time))
            if on_progress is not None:
                on_progress(number, len(times))

    with in_one_step(path) as temporary:
        if path.suffix == ".mp4":
            _write_mp4(temporary, frames(), film.size, fps)
        else:
            few = (film.frame(float(time)) for time in times[:: max(1, len(times) // 6)])
            _write_gif(temporary, frames(), few, film.size, fps)
    return len(times)


class _Film:
    """Draws any moment of several episodes side by side."""

    def __init__(self, shown: Sequence[tuple[Recording, RecordedEpisode]], theme: str, width: int) -> None:
        views = []
        for recording, episode in shown:
            if episode.scene is None:
                raise ValueError(f"The task {recording.task.name} has no look, so there is nothing to film.")
            views.append(episode.scene.view)
        self.shown, self.theme, self.colours, self.width = shown, theme, palette(theme), width
        self.scale = width / 480
        self.length = max(len(episode.rewards) for _, episode in shown)
        shapes = [(top - bottom) / (right - left) for left, bottom, right, top in views]
        shape = min(_TALL, max(_FLAT, *shapes))
        edge, head, strip = (round(pixels * self.scale) for pixels in (_EDGE, _HEAD, _STRIP))
        inner = width - 2 * edge
        self.drawing = round(inner * shape)
        columns = len(shown) + sum(bool(episode.pictures) for _, episode in shown)
        across, high = columns * width, head + self.drawing + strip + 2 * edge
        self.size = across + across % 2, high + high % 2  # most players want even numbers
        self.figure = Figure(figsize=(self.size[0] / _DPI, self.size[1] / _DPI), dpi=_DPI)
        self.canvas = FigureCanvasAgg(self.figure)
        self.figure.set_facecolor(self.colours["ground"])

        def place(left: int, bottom: int, wide: int, tall: int) -> Axes:
            (w, h) = self.size
            return self.figure.add_axes((left / w, bottom / h, wide / w, tall / h))

        self.axes = []
        self.cameras: list[tuple[RecordedEpisode, Axes]] = []
        left = edge
        for _, episode in shown:
            if episode.pictures:  # what the camera saw, on the left
                self.cameras.append((episode, place(left, edge, inner, high - 2 * edge)))
                left += width
            chart = place(left, edge, inner, strip - 2 * edge)
            self.axes.append((place(left, edge + strip, inner, self.drawing), chart))
            left += width

    def frame(self, time: float) -> np.ndarray:
        """A picture as an array (height, width, 3)."""
        for (recording, episode), (scene, chart) in zip(self.shown, self.axes, strict=True):
            now = min(time, float(len(episode.rewards)))
            _wipe(scene)
            draw_moment(scene, episode, now, self.theme, self.scale)
            for spine in scene.spines.values():
                spine.set(color=self.colours["surface"], lw=self.scale)
            self._title(scene, recording, episode, now)
            _wipe(chart)
            self._chart(chart, episode, now)
        for episode, axes in self.cameras:
            _wipe(axes)
            axes.imshow(_decoded(episode.pictures[min(int(time), len(episode.pictures) - 1)]))
            axes.set_axis_off()
        self.canvas.draw()
        return np.asarray(self.canvas.buffer_rgba())[..., :3]

    def _title(self, axes: Axes, recording: Recording, episode: RecordedEpisode, now: float) -> None:
        size, text = 12 * self.scale, self.colours["text"]
        lift = 1.0 + 9 * self.scale / self.drawing
        style: dict[str, Any] = {"transform": axes.transAxes, "va": "bottom", "color": text, "parse_math": False}
        axes.text(0.0, lift, printable(recording.planner.label[:_LABEL]), fontsize=size, weight="bold", **style)
        ended = now >= len(episode.rewards)
        outcome = f"{episode.outcome}, return {number_words(episode.total_return)}"
        colour = {"success": self.colours["goal"], "failure": self.colours["danger"]}.get(episode.outcome, text)
        said, style["color"] = (outcome, colour) if ended else (f"step {int(now)}", text)
        axes.text(1.0, lift, said, fontsize=0.85 * size, ha="right", **style)

    def _chart(self, axes: Axes, episode: RecordedEpisode, now: float) -> None:
        """The value with its bounds, and the return, up to now."""
        colours, scale, last = self.colours, self.scale, len(episode.rewards)
        plans = [episode.plans[number] for number in episode.plan_of_frame]
        value = np.array([plan.value for plan in plans])
        returns = np.concatenate([[0.0], np.cumsum(episode.rewards)])
        step = min(int(now), last)
        steps = np.append(np.arange(step + 1), now)

        def so_far(values: np.ndarray) -> np.ndarray:
            return np.append(values[: step + 1], values[step])

        everything = [value, returns]
        # None, of a plan without bounds, becomes NaN
        lower = np.array([plan.lower for plan in plans], dtype=np.float64)
        upper = np.array([plan.upper for plan in plans], dtype=np.float64)
        if np.isfinite(upper - lower).any():
            everything += [lower, upper]
            band: dict[str, Any] = {"color": colours["belief"], "alpha": 0.22, "lw": 0, "step": "post"}
            axes.fill_between(steps, so_far(lower), so_far(upper), **band)
        line: dict[str, Any] = {"lw": 1.6 * scale, "drawstyle": "steps-post"}
        axes.plot(steps, so_far(value), color=colours["belief"], **line)
        axes.plot(steps, so_far(returns), color=colours["goal"], **line)
        low, high = min(map(np.nanmin, everything)), max(map(np.nanmax, everything))
        pad = 0.1 * (high - low) or 1.0
        axes.axvline(now, color=colours["text"], lw=scale, alpha=0.5)
        axes.set(xlim=(0, last), ylim=(low - pad, high + pad), xticks=[], yticks=[])
        axes.set_facecolor("none")
        for side, spine in axes.spines.items():
            spine.set(visible=side == "bottom", color=colours["surface"], lw=scale)
        style: dict[str, Any] = {"transform": axes.transAxes, "va": "bottom", "fontsize": 9 * scale}
        axes.text(0.0, 1.0, f"value {number_words(value[step])}", color=colours["belief"], **style)
        axes.text(1.0, 1.0, f"return {number_words(returns[step])}", color=colours["goal"], ha="right", **style)


def _wipe(axes: Axes) -> None:
    """Remove what was drawn. All else is set anew by who draws, and making the axes themselves anew takes as long as
    drawing."""
    for artist in (*axes.lines, *axes.patches, *axes.collections, *axes.texts, *axes.images):
        artist.remove()


def _decoded(picture: bytes) -> np.ndarray:
    """A JPEG as an array (height, width, 3)."""
    from PIL import Image, UnidentifiedImageError

    try:
        return np.asarray(Image.open(BytesIO(picture), formats=("JPEG",)).convert("RGB"))
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError):
        raise ValueError("A picture of the recording is no JPEG.") from None


def _write_mp4(path: Path, frames: Iterator[np.ndarray], size: tuple[int, int], fps: float) -> None:
    from imageio_ffmpeg import count_frames_and_secs, write_frames

    # ffmpeg knows a file by its ending, and this one has that of a file that is not finished
    output = ["-f", "mp4", "-crf", "20", "-preset", "slow", "-movflags", "+faststart"]
    writer = write_frames(
        str(path), size, fps=fps, codec="libx264", quality=None, macro_block_size=2, output_params=output
    )
    sent = 0
    try:
        writer.send(None)
        for sent, frame in enumerate(frames, start=1):  # noqa: B007  # it is asked for below
            writer.send(np.ascontiguousarray(frame))
    except OSError as error:
        raise OSError(errno.EIO, f"ffmpeg: {str(error).splitlines()[0]}") from None
    finally:
        writer.close()
    with suppress(RuntimeError):  # of a file that is none
        if count_frames_and_secs(str(path))[0] == sent:
            return
    raise OSError(errno.EIO, "ffmpeg could not finish it")  # it does not tell why, such as that a disk is full


def _write_gif(
    path: Path, frames: Iterator[np.ndarray], few: Iterator[np.ndarray], size: tuple[int, int], fps: float
) -> None:
    """All frames share the colours of a few of them: small, and nothing flickers. No more than two are kept."""
    from PIL import GifImagePlugin, Image

    thinning = math.ceil(math.sqrt(size[0] * size[1] / _SAMPLED))
    sheet = Image.fromarray(np.vstack([frame[::thinning, ::thinning] for frame in few]))
    colours = sheet.quantize(_COLOURS, method=Image.Quantize.MEDIANCUT)

    table = bytes(colours.getpalette() or ()).ljust(3 * (_COLOURS + 1), b"\0")

    def picture(pixels: np.ndarray) -> Image.Image:
        found = Image.frombytes("P", pixels.shape[::-1], pixels.tobytes())
        found.putpalette(table)
        return found

    indices = (np.asarray(Image.fromarray(f).quantize(palette=colours, dither=Image.Dither.NONE)) for f in frames)
    with path.open("wb") as file:
        header, _ = GifImagePlugin.getheader(picture(np.zeros(size[::-1], np.uint8)), info={"loop": 0})
        file.writelines(header)
        for pixels, corner, hundredths in _changes(indices, fps):
            about = {"duration": 10 * hundredths, "disposal": 1, "transparency": _COLOURS}
            file.writelines(GifImagePlugin.getdata(picture(pixels), corner, **about))
        file.write(b";")


def _changes(frames: Iterator[np.ndarray], fps: float) -> Iterator[tuple[np.ndarray, tuple[int, int], int]]:
    """The parts of frames that differ from what was shown before, and where they begin. What stays the same in them is
    let through. A GIF counts in hundredths of a second: each frame ends at the one nearest to its time."""
    shown = part = None
    corner, begin, end = (0, 0), 0, 0
    for number, frame in enumerate(frames, start=1):
        changed = np.ones(frame.shape, dtype=bool) if shown is None else frame != shown
        if changed.any():
            if part is not None:
                yield part, corner, end - begin
            rows, columns = (np.flatnonzero(changed.any(axis=axis)) for axis in (1, 0))
            inside = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
            part = np.where(changed, frame, np.uint8(_COLOURS))[inside]
            corner, begin, shown = (int(columns[0]), int(rows[0])), end, frame
        end = round(100.0 / fps * number)
    if part is not None:
        yield part, corner, end - begin
