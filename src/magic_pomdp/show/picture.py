"""Still pictures of episodes: some moments of one side by side, and learned macro-actions in several situations."""

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from magic_pomdp.core.saving import in_one_step
from magic_pomdp.core.task import Task
from magic_pomdp.planners.plan import Planner
from magic_pomdp.results.recording import RecordedEpisode, Recording
from magic_pomdp.running.episode import EpisodeRecord, run_episode
from magic_pomdp.running.recording import Recorder
from magic_pomdp.show.drawing import draw_moment, scene_of

_PICTURES = (".png", ".svg", ".pdf")
SITUATIONS = 4


def check_picture(path: Path) -> Path:
    """The path, or a ValueError if it is not one of a picture."""
    if path.suffix not in _PICTURES:
        raise ValueError(f"A picture's name ends with {', '.join(_PICTURES[:-1])} or {_PICTURES[-1]}, not as {path}.")
    return path


def _save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in one step, in the format that the name ends with; the same figure gives the same file."""
    from matplotlib import rc_context

    FigureCanvasAgg(figure)
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with rc_context({"svg.hashsalt": path.stem}), in_one_step(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], dpi=120, metadata=undated.get(path.suffix))


def save_as(figure: Figure, path: Path) -> list[Path]:
    """Write a figure as it is named, and as SVG beside it."""
    paths = list(dict.fromkeys([path, path.with_suffix(".svg")]))
    for one in paths:
        _save_figure(figure, one)
    return paths


def check_has_look(task: Task) -> None:
    """A ValueError if a task does not say what it looks like."""
    if type(task).scene is Task.scene:
        raise ValueError(f"{type(task).__name__} has no look: write scene(self, context).")


def draw_episode(
    task: Task, planner: Planner, path: Path, seed: int = 0, episode: int = 0, frames: int = 4, title: str = ""
) -> EpisodeRecord:
    """Run an episode and save a picture of evenly spread moments, the first and the last among them."""
    check_has_look(task)
    if frames < 2:
        raise ValueError(f"A picture needs at least 2 frames, not {frames}.")
    recorder = Recorder(task, planner)
    record = run_episode(task, planner, seed, episode, recorder.watch)
    recorded = recorder.result(record)
    times = np.unique(np.linspace(0, record.steps, frames).round().astype(int))
    figure = _side_by_side([(recorded, int(time), f"step {time}") for time in times], "dark")
    figure.suptitle(
        f"{title or task.name}: {record.outcome}, return {record.total_return:.1f}", fontsize=11, parse_math=False
    )
    _save_figure(figure, path)
    return record


def draw_situations(recording: Recording, path: Path, theme: str = "light") -> list[Path]:
    """Save a picture, and an SVG beside it, of the macro-actions that a planner had in several situations: at the
    beginning of the first recorded episode, later in the next one, and so on, just before the end in the last."""
    episodes = recording.episodes
    moments = []
    for number in range(SITUATIONS):
        episode = episodes[number % len(episodes)]
        plan = episode.plans[round((len(episode.plans) - 1) * number / (SITUATIONS - 1))]
        moments.append((episode, plan.time, f"episode {episode.episode}, step {plan.time}"))
    return save_as(_side_by_side(moments, theme), path)


def _side_by_side(moments: list[tuple[RecordedEpisode, int, str]], theme: str) -> Figure:
    left, bottom, right, top = scene_of(moments[0][0]).view
    high = 2.6 * (top - bottom) / (right - left) + 0.5
    figure = Figure(figsize=(2.6 * len(moments), max(1.6, high)), layout="constrained")
    for place, (episode, time, title) in zip(figure.subplots(1, len(moments), squeeze=False)[0], moments, strict=True):
        draw_moment(place, episode, time, theme)
        place.set_title(title, fontsize=10, parse_math=False)
    return figure
