"""Commands that record episodes and show them."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from magic_pomdp.cli.shared import (
    FINE,
    INTERRUPTED,
    PlannerName,
    TaskName,
    TaskParameters,
    complain,
    default,
    episode_progress,
    make_budget,
    open_page,
    show,
    task_parameters,
)

SUFFIX = ".record.gz"


@dataclass(frozen=True)
class RecordSettings:
    """What to record."""

    planner: PlannerName = "macro-despot"
    """Who acts."""
    model: Annotated[str | None, default("NAME|FILE", "the best that ships for the task")] = None
    """MAGIC's trained generator."""
    macro_length: Annotated[int | None, default("INT", "the task's own")] = None
    """Length of the macro-actions."""
    seconds: Annotated[float | None, default("FLOAT", "the task's own, mostly 0.1")] = None
    """Budget of a plan in seconds."""
    steps: Annotated[int | None, default("INT", "none")] = None
    """Budget of a plan in primitive steps instead."""
    episodes: int = 10
    """Number of episodes."""
    seed: int = 0
    """What all chance follows from, 0 or more."""
    particles: int = 500
    """Particles of each belief to keep."""
    workers: Annotated[int | None, default("INT", "one for every core")] = None
    """Processes that run episodes; 0 runs them in the main process, for debugging."""
    out: Annotated[Path | None, default("FILE", "named after task, planner and seed, ending in .record.gz")] = None
    """Where to save the recording."""
    parameters: TaskParameters = ()


@dataclass(frozen=True)
class ReplaySettings:
    """Where the page goes."""

    out: Annotated[Path | None, default("FILE", "named after the first recording, ending in .html")] = None
    """Where to save the page."""
    open: bool = True
    """Show the page in the browser."""


def record(task: TaskName, /, settings: RecordSettings) -> int:
    """Run episodes and keep everything about them, for `replay`: what was true, believed, considered and done."""
    from magic_pomdp.running.workers import start_server

    if settings.workers != 0:
        start_server()
    from magic_pomdp.core.registry import make_task
    from magic_pomdp.running.evaluate import PlannerChoice
    from magic_pomdp.running.recording import RecordingInterrupted, record_episodes, save_recording
    from magic_pomdp.running.saving import check_writable

    the_task = make_task(task, **task_parameters(settings.parameters))
    budget = make_budget(settings.seconds, settings.steps)
    choice = PlannerChoice(settings.planner, settings.macro_length, budget, model=settings.model)
    name = f"{the_task.name or type(the_task).__name__}_{choice.name}_seed{settings.seed}{SUFFIX}"
    path = check_writable(settings.out or Path(re.sub(r"[^\w.-]", "-", name)))
    code = FINE
    try:
        with episode_progress(settings.episodes) as advance:
            recording = record_episodes(
                the_task, choice, settings.episodes, settings.seed, settings.particles, settings.workers, advance
            )
    except RecordingInterrupted as interruption:
        recording, code = interruption.recording, complain("Interrupted.", INTERRUPTED)
        if not recording["episodes"]:
            return complain("No episode was finished, so nothing is saved.", code)
        path = path.with_name(f"partial-{path.name}")  # whatever was saved there before is complete, and stays
    save_recording(path, recording)
    outcomes = [episode["outcome"] for episode in recording["episodes"]]
    counts = ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in dict.fromkeys(outcomes))
    show(f"{len(outcomes)} episodes ({counts}); saved as {path}\nTo see them: magic-pomdp replay {path.name}")
    return code


def replay(
    files: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE…", help="Recordings; two are shown side by side.")],
    /,
    settings: ReplaySettings,
) -> int:
    """Make one page that shows recordings, and open it: play, step and scrub through what the planner saw."""
    from magic_pomdp.running.recording import load_recording
    from magic_pomdp.running.saving import check_writable
    from magic_pomdp.show.replay import write_replay

    if not files:
        raise ValueError("Name at least one recording: `magic-pomdp record` makes one.")
    recordings = [load_recording(path) for path in files]
    path = check_writable(settings.out or Path(f"{files[0].name.removesuffix(SUFFIX)}.html"))
    write_replay(path, recordings)
    show(f"Saved as {path}")
    if settings.open:
        open_page(path)
    return FINE
