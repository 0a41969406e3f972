"""A still picture of an episode: some of its moments, side by side."""

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from magic_pomdp.core.task import Task
from magic_pomdp.planners.plan import Planner
from magic_pomdp.running.episode import EpisodeRecord, Moment, run_episode
from magic_pomdp.show.drawing import draw_frame


def draw_episode(
    task: Task, planner: Planner, path: Path, seed: int = 0, episode: int = 0, frames: int = 4, title: str = ""
) -> EpisodeRecord:
    """Run an episode and save a picture of evenly spread moments, the first and the last among them."""
    if type(task).scene is Task.scene:
        raise ValueError(f"{type(task).__name__} has no look: write scene(self, context).")
    if frames < 2:
        raise ValueError(f"A picture needs at least 2 frames, not {frames}.")
    states: list[np.ndarray] = []
    particles: list[np.ndarray] = []
    context = np.zeros(task.context_size)

    def watch(moment: Moment) -> None:
        context[:] = moment.context
        states.append(moment.state.copy())
        particles.append(moment.belief.particles.copy())

    record = run_episode(task, planner, seed, episode, watch)
    times = np.unique(np.linspace(0, len(states) - 1, frames).round().astype(int))
    scene = task.scene(context)
    assert scene is not None
    figure = Figure(figsize=(2.6 * len(times), 3.1), layout="constrained")
    for axes, time in zip(figure.subplots(1, len(times), squeeze=False)[0], times, strict=True):
        sprites = task.sprites(context, states[time], particles[time])
        draw_frame(axes, scene, sprites, np.array(states[: time + 1]), particles[time])
        axes.set_title(f"step {time}", fontsize=10)
    figure.suptitle(f"{title or task.name}: {record.outcome}, return {record.total_return:.1f}", fontsize=11)
    FigureCanvasAgg(figure)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    return record
