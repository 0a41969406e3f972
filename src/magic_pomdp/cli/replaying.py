"""Commands that record episodes and show them, or let one see them live."""

import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from magic_pomdp.cli.options import AnyPlannerOptions, PlannerOptions, default
from magic_pomdp.cli.shared import (
    FINE,
    INTERRUPTED,
    Saver,
    TaskName,
    TaskParameters,
    complain,
    complain_of_failure,
    episode_progress,
    file_name,
    is_shipped,
    need,
    open_page,
    show,
    task_from,
)

if TYPE_CHECKING:
    from magic_pomdp.results.recording import Recording

SUFFIX = ".record.gz"


@dataclass(frozen=True)
class RecordSettings:
    """What to record."""

    episodes: int = 10
    """Number of episodes. They are numbered from 0."""
    seed: int = 0
    """What all chance follows from, 0 or more."""
    particles: int = 500
    """Particles of each belief to keep."""
    workers: Annotated[int | None, default("INT", "one for every core")] = None
    """Processes that run episodes; 0 runs them in the main process, for debugging."""
    out: Annotated[Path | None, default("FILE", "named after task, planner, seed and parameters")] = None
    """Where to save the recording."""
    parameters: TaskParameters = ()


@dataclass(frozen=True)
class ReplaySettings:
    """Where the page goes."""

    out: Annotated[Path | None, default("FILE", "named after the first recording, ending in .html")] = None
    """Where to save the page."""
    open: bool = True
    """Show the page in the browser."""


def record(task: TaskName, /, planner: PlannerOptions, settings: RecordSettings) -> int:
    """Run episodes and keep everything about them, for `replay`: what was true, believed, considered and done."""
    from magic_pomdp.core.saving import check_writable
    from magic_pomdp.core.task import task_name
    from magic_pomdp.running.recording import RecordingFailed, RecordingInterrupted, record_episodes

    the_task, factory = task_from(task, settings.parameters), planner.factory()
    name = file_name(task_name(the_task), factory.name, f"seed{settings.seed}", *settings.parameters)
    path = check_writable(settings.out or Path(name + SUFFIX))
    code = FINE
    try:
        with episode_progress(settings.episodes, is_shipped(the_task)) as advance:
            recording = record_episodes(
                the_task, factory, settings.episodes, settings.seed, settings.particles, settings.workers, advance
            )
    except RecordingFailed as failure:
        recording, code = failure.recording, complain_of_failure(failure)
    except RecordingInterrupted as interruption:
        recording, code = interruption.recording, complain("Interrupted.", INTERRUPTED)
    if code != FINE:
        if not recording.episodes:
            return complain("No episode was finished, so nothing is saved.", code)
        path = path.with_name(f"partial-{path.name}")  # whatever was saved there before is complete, and stays
    saved = save_and_tell(recording, path)
    return code or saved


def save_and_tell(recording: "Recording", path: Path) -> int:
    """Save a recording, and say how its episodes ended and how to see them; the exit code."""
    from magic_pomdp.results.recording import save_recording

    outcomes = [episode.outcome for episode in recording.episodes]
    counts = ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in dict.fromkeys(outcomes))
    saver = Saver()
    place = saver.save(path, lambda place: save_recording(place, recording))
    show(f"{len(outcomes)} episodes ({counts})" + (f"; saved as {place}" if place else ""))
    if place:
        show(f"To see them: magic-pomdp replay {shlex.quote(str(place))}")
    return saver.code


def replay(
    files: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE…", help="Recordings; two are shown side by side.")],
    /,
    settings: ReplaySettings,
) -> int:
    """Make one page that shows recordings, and open it: play, step and scrub through what the planner saw."""
    from magic_pomdp.core.saving import check_writable
    from magic_pomdp.results.recording import load_recording
    from magic_pomdp.show.replay import write_replay

    if not files:
        raise ValueError("Name at least one recording: `magic-pomdp record` makes one.")
    recordings = [load_recording(path) for path in files]
    path = check_writable(settings.out or Path(f"{files[0].name.removesuffix(SUFFIX)}.html"))
    saver = Saver()
    place = saver.save(path, lambda place: write_replay(place, recordings))
    if place:
        show(f"Saved as {place}")
        if settings.open:
            open_page(place)
    return saver.code


@dataclass(frozen=True)
class PlaySettings:
    """Where the page is."""

    seed: int = 0
    """What all chance follows from, 0 or more."""
    host: str = "127.0.0.1"
    """Address to serve the page at. With one that is not of this machine alone, others can steer, too: all who reach it
    and know the page's whole address, which passes through the network as it is."""
    port: Annotated[int | None, default("INT", "8765, or any that is free")] = None
    """Port to serve the page at."""
    open: bool = True
    """Show the page in the browser."""
    parameters: TaskParameters = ()


def play(task: TaskName, /, planner: AnyPlannerOptions, settings: PlaySettings) -> int:
    """Plan now, on a page in the browser: drag things, change planner, budget and macro length while it runs. Ctrl-C
    ends it."""
    need("websockets", "Playing", "show")
    from magic_pomdp.running.commands import LIMITS
    from magic_pomdp.running.evaluating import check_numbers
    from magic_pomdp.running.factory import able_planners
    from magic_pomdp.show.live import LiveServer

    check_numbers(1, settings.seed)
    the_task = task_from(task, settings.parameters)
    factory = planner.factory(planner.planner or able_planners(the_task)[0])
    seconds, (shortest, longest) = factory.budget_for(the_task).seconds, LIMITS["seconds"]
    if seconds is None:
        raise ValueError("A live page plans in real time: give a budget in seconds, not in steps.")
    if not shortest <= seconds <= longest:
        raise ValueError(f"The budget must be {shortest:g} to {longest:g} seconds here, not {seconds:g}.")
    with LiveServer(the_task, factory, settings.host, settings.port, settings.seed) as server:
        show(f"The page is at {server.url} and ends with Ctrl-C.")
        if settings.open:
            import webbrowser

            if not webbrowser.open(server.url):
                show("No browser was found here: open that address in one.")
        with suppress(KeyboardInterrupt):
            server.run()
    return FINE
