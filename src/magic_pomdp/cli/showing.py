"""Commands that make pictures, videos and pages of what was run."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from magic_pomdp.cli.options import FirstPlannerOptions, PlannerOptions, default
from magic_pomdp.cli.shared import (
    FINE,
    Saver,
    TaskName,
    TaskParameters,
    cell_progress,
    episode_progress,
    file_name,
    is_shipped,
    need,
    open_page,
    progress_bar,
    show,
    show_lines,
    task_from,
)
from magic_pomdp.core.saving import check_writable, make_folder


@dataclass(frozen=True)
class DemoSettings:
    """How long to look."""

    episodes: int = 150
    """Episodes of each planner."""
    seconds: float = 0.003
    """Budget of a plan in seconds."""
    seed: int = 0
    """What all chance follows from, 0 or more."""
    folder: Path = Path("results/demo")
    """Where results, recordings and the page go."""
    open: bool = True
    """Show the page in the browser, if this is a terminal on a desktop."""


@dataclass(frozen=True)
class PictureSettings:
    """What to draw."""

    seed: int = 0
    """What all chance follows from, 0 or more."""
    episode: int = 0
    """Which episode of that seed, from 0 on."""
    frames: int = 4
    """Moments to show."""
    out: Annotated[Path | None, default("FILE", "named after task, planner, seed and episode")] = None
    """Where to save the picture: .png, .svg or .pdf."""
    parameters: TaskParameters = ()


@dataclass(frozen=True)
class FiguresSettings:
    """What to draw."""

    seed: int = 0
    """Whose episodes the situations are taken from."""
    workers: Annotated[int | None, default("INT", "one for every core")] = None
    """Processes that run episodes; 0 runs them in the main process, for debugging."""
    theme: Literal["light", "dark"] = "light"
    """Colours."""
    out: Annotated[Path | None, default("FILE", "named after the task, ending in -macro-actions.png")] = None
    """Where to save the picture: .png, .svg or .pdf; an .svg is made in any case."""
    parameters: TaskParameters = ()


@dataclass(frozen=True)
class VideoSettings:
    """What to film."""

    episode: Annotated[int | None, default("INT", "the first of the first recording")] = None
    """Which episode, by its number, from 0 on."""
    out: Annotated[Path | None, default("FILE", "named after the first recording, ending in .mp4")] = None
    """Where to save the video: .mp4 or .gif."""
    fps: float = 20.0
    """Frames a second."""
    speed: float = 5.0
    """Primitive steps a second."""
    theme: Literal["dark", "light"] = "dark"
    """Colours."""
    width: int = 480
    """Pixels across, for each recording."""


@dataclass(frozen=True)
class ReportSettings:
    """How the page is called."""

    out: Path = Path("report.html")
    """Where to save the page."""
    title: Annotated[str | None, default("TEXT", "named after the tasks")] = None
    """What to write above it."""
    open: bool = True
    """Show the page in the browser."""


def demo(settings: DemoSettings) -> int:
    """See it work: learned macro-actions, handcrafted ones and none on Light-Dark: a table, a sentence, and a page."""
    from magic_pomdp.running.workers import start_server

    start_server()
    from magic_pomdp.show.caution import late_caution
    from magic_pomdp.show.demo import PAGE, RECORDED, SETS, demo_entrants, run_demo
    from magic_pomdp.show.tables import comparison_table

    folder = make_folder(settings.folder)
    check_writable(folder / PAGE)
    runs = settings.episodes + min(RECORDED, settings.episodes)
    with cell_progress(len(demo_entrants()), runs, shipped=True) as (begin, advance):
        shown = run_demo(folder, settings.episodes, settings.seconds, settings.seed, begin, advance)
    title = f"Light-Dark, {settings.episodes} episodes, seed {settings.seed}, {settings.seconds:g} s a plan"
    show(comparison_table(title, shown.evaluations, SETS))
    show_lines(shown.verdict, late_caution(shown.evaluations))
    show(f"The table, the planners side by side, and all settings: {shown.page.resolve()}")
    if settings.open and _on_a_desktop():
        open_page(shown.page.resolve())
    return FINE


def _on_a_desktop() -> bool:
    """Whether somebody sits before a screen on which a browser may appear."""
    screen = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(screen) and sys.stdout.isatty()


def picture(task: TaskName, /, planner: PlannerOptions, settings: PictureSettings) -> int:
    """Run one episode and draw some of its moments side by side."""
    need("matplotlib", "Drawing", "show")
    from magic_pomdp.core.task import task_name
    from magic_pomdp.show.picture import check_picture, draw_episode

    the_task, factory = task_from(task, settings.parameters), planner.factory()
    name = file_name(task_name(the_task), factory.name, f"seed{settings.seed}", f"episode{settings.episode}.png")
    path = check_writable(check_picture(settings.out or Path(name)))
    record = draw_episode(the_task, factory(the_task), path, settings.seed, settings.episode, settings.frames)
    show(f"{record.outcome}, return {record.total_return:.1f}, {record.steps} steps; saved as {path}")
    return FINE


def figures(task: TaskName, /, planner: FirstPlannerOptions, settings: FiguresSettings) -> int:
    """Draw the macro-actions that a planner has in four situations, as a picture and as SVG; `curves` and `compare`
    draw the rest."""
    need("matplotlib", "Drawing", "show")
    from magic_pomdp.core.task import task_name
    from magic_pomdp.running.recording import record_episodes
    from magic_pomdp.show.picture import SITUATIONS, check_has_look, check_picture, draw_situations

    the_task, factory = task_from(task, settings.parameters), planner.factory()
    check_has_look(the_task)
    factory.length_in(the_task)  # what is missing or does not fit is found here
    name = file_name(f"{task_name(the_task)}-macro-actions.png")
    path = check_writable(check_picture(settings.out or Path(name)))
    check_writable(path.with_suffix(".svg"))
    with episode_progress(SITUATIONS, is_shipped(the_task)) as advance:
        recording = record_episodes(
            the_task, factory, SITUATIONS, settings.seed, workers=settings.workers, on_progress=advance
        )
    show(f"Saved as {' and '.join(map(str, draw_situations(recording, path, settings.theme)))}")
    return FINE


def video(
    files: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="FILE…", help="Recordings, filmed side by side.")],
    /,
    settings: VideoSettings,
) -> int:
    """Film a recorded episode as MP4 or GIF: what was true, believed, considered, chosen, and earned."""
    need("matplotlib", "Drawing", "show")
    from magic_pomdp.cli.replaying import SUFFIX
    from magic_pomdp.results.recording import load_recording
    from magic_pomdp.show.video import check_video, find_episode, write_video

    if not files:
        raise ValueError("Name at least one recording: `magic-pomdp record` makes one.")
    out = settings.out or Path(f"{files[0].name.removesuffix(SUFFIX)}.mp4")
    recordings = [load_recording(path) for path in files]
    check_video(out, recordings, settings.fps, settings.speed, settings.width)
    if out.suffix == ".mp4":
        need("imageio_ffmpeg", "MP4", "show")
    number = find_episode(recordings[0], settings.episode).episode
    path = check_writable(out)
    saver, frames = Saver(), 0
    with progress_bar("frames", 0, "") as update:

        def film(place: Path) -> None:
            nonlocal frames
            frames = write_video(
                place,
                recordings,
                number,
                settings.fps,
                settings.speed,
                settings.theme,
                settings.width,
                lambda done, total: update(completed=done, total=total),
            )

        place = saver.save(path, film)
    if place:
        show(f"{frames} frames, {place.stat().st_size / 1e6:.2f} MB; saved as {place}")
    return saver.code


def report(
    paths: Annotated[
        tuple[Path, ...],
        tyro.conf.arg(
            metavar="RESULTS…",
            help="Files that evaluate, compare, curves, ablate, bench and record have saved, or folders of them.",
        ),
    ],
    /,
    settings: ReportSettings,
) -> int:
    """Make one page of stored results, and open it: tables beside the paper's, plots, replays, settings, versions."""
    need("matplotlib", "Drawing", "show")
    from magic_pomdp.show.report import write_report
    from magic_pomdp.show.results import read_results

    if not paths:
        raise ValueError("Name at least one file or folder of results.")
    results = read_results(paths)
    path = check_writable(settings.out)
    saver = Saver()
    place = saver.save(path, lambda place: write_report(place, results, settings.title or ""))
    if place:
        show(f"Saved as {place}")
        if settings.open:
            open_page(place)
    return saver.code
