"""What the commands share: how arguments look, exit codes, and saying things."""

import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from magic_pomdp.core.extras import install_command
from magic_pomdp.core.saving import save_elsewhere

if TYPE_CHECKING:
    from magic_pomdp.core.task import Task
    from magic_pomdp.results.base import Stored
    from magic_pomdp.results.tuning import Trial
    from magic_pomdp.running.episode import EpisodeRecord
    from magic_pomdp.running.factory import PlannerFactory

FINE, WRONG, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""
FIRST_WORD = 60.0
"""Seconds without anything finished, after which a command says what it waits for."""


TaskParameters = Annotated[
    tuple[str, ...],
    tyro.conf.arg(
        name="set",
        metavar="NAME=VALUE",
        help="A parameter of the task; can be repeated.",
    ),
]
TaskName = Annotated[str, tyro.conf.arg(metavar="TASK", help="A task's name, my_module:MyTask or my_file.py:MyTask.")]


def complain(sentence: str, code: int) -> int:
    from magic_pomdp.core.reading import printable

    print(f"magic-pomdp: {printable(sentence)}", file=sys.stderr)
    return code


def complain_of_failure(failure: Exception) -> int:
    """Say that a job has failed, and where, if it was in this process: only then Python knows."""
    if failure.__cause__ is not None:
        traceback.print_exception(failure.__cause__)
    return complain(str(failure), WRONG)


class Saver:
    """Saves what was computed and, where that fails, keeps it where there is room; says so, and remembers it."""

    def __init__(self) -> None:
        self.code = FINE
        """The exit code: FINE if all was saved as it should be."""

    def save(self, path: Path, save: Callable[[Path], object]) -> Path | None:
        """Save something by a function of a path; where it is, or None."""
        try:
            save(path)
            return path
        except OSError as error:
            reason = error.strerror or str(error)
        place = save_elsewhere(path.name, save)
        kept = f"kept as {place}" if place else "lost, for there is no room elsewhere"
        self.code = complain(f"{path} cannot be saved ({reason}): it is {kept}.", WRONG)
        return place

    def write(self, path: Path, result: "Stored") -> None:
        """Save a result."""
        from magic_pomdp.results.files import write

        self.save(path, lambda place: write(place, result))


def show(what: Any) -> None:
    """Print a table, or text as it is."""
    from rich.console import Console

    from magic_pomdp.show.terminal import plain_text

    if isinstance(what, str):
        Console().print(plain_text(*what.split("\n")), soft_wrap=True)
    else:
        Console().print(what, markup=False, highlight=False)


def open_page(path: Path) -> None:
    """Show a page in the browser, or say that there is none."""
    import webbrowser

    if not webbrowser.open(path.as_uri()):
        show("No browser was found here: open that file in one.")


def task_from(name: str, assignments: tuple[str, ...]) -> "Task":
    """The task of a name, with parameters set as name=value."""
    from magic_pomdp.core.registry import make

    for assignment in assignments:
        if not re.fullmatch(r"\w+=.*", assignment, re.DOTALL):
            raise ValueError(f"A parameter of the task is set as name=value, not {assignment!r}.")
    return make(name, **dict(assignment.split("=", 1) for assignment in assignments))


def file_name(*parts: str, between: str = "_") -> str:
    """A name for a file, of parts of which some may hold what no file's name should."""
    return re.sub(r"[^\w.=-]", "-", between.join(parts))


def need(module: str, what: str, extra: str) -> None:
    """Refuse, with what to install, if a module of an extra is missing."""
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise ValueError(f"{what} needs {module}: {install_command(extra)}.")


@contextmanager
def _word_after(seconds: float, say: "Callable[[], None]") -> "Iterator[Callable[[], None]]":
    """Say something after some seconds, unless what is yielded is called before, or the block ends."""
    timer = threading.Timer(seconds, say)
    timer.daemon = True
    timer.start()
    try:
        yield timer.cancel
    finally:
        timer.cancel()


@contextmanager
def progress_bar(unit: str, total: int, text: str) -> "Iterator[Callable[..., None]]":
    """A progress bar on standard error; gives the function that changes its `description`, or moves it by `advance` or
    to `completed`."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    waiting = (
        f"After {FIRST_WORD:.0f} s, 0 {unit} are finished. Compiling may take as long; if nothing follows, "
        "`magic-pomdp check` tells whether a function of the task never returns. Ctrl-C stops."
    )
    report = TextColumn("{task.description}", markup=False)
    columns = (TextColumn(unit), BarColumn(), MofNCompleteColumn(), report, TimeRemainingColumn())
    screen = Console(stderr=True)
    bars = Progress(*columns, console=screen, transient=True, refresh_per_second=4, disable=not screen.is_terminal)
    say = partial(screen.print, waiting, markup=False, highlight=False, soft_wrap=True)
    with bars as progress, _word_after(FIRST_WORD, say) as hush:
        bar = progress.add_task(text, total=max(total, 0))

        def update(**changes: Any) -> None:
            if changes.get("advance") or changes.get("completed"):
                hush()
            progress.update(bar, **changes)

        yield update


@contextmanager
def episode_progress(episodes: int) -> "Iterator[Callable[[EpisodeRecord], None]]":
    """A progress bar over episodes; gives the function that is called with each record."""
    from magic_pomdp.core.statistics import RunningMean

    returns = RunningMean()
    with progress_bar("episodes", episodes, "compiling or loading the planner") as update:

        def advance(record: "EpisodeRecord") -> None:
            returns.add(record.total_return)
            update(advance=1, description=f"return {returns.mean:.1f} ± {returns.standard_error:.1f}")

        yield advance


@contextmanager
def cell_progress(
    cells: int, episodes: int
) -> "Iterator[tuple[Callable[[PlannerFactory, bool], None], Callable[[EpisodeRecord], None]]]":
    """A progress bar over several evaluations; gives what is called before each of them, and with each record."""
    with progress_bar("episodes", cells * episodes, "") as update:

        def begin(factory: "PlannerFactory", stored: bool) -> None:
            update(advance=episodes if stored else 0, description=f"{factory.label}, {factory.budget} a plan")

        yield begin, lambda record: update(advance=1)


@contextmanager
def trial_progress(trials: int) -> "Iterator[Callable[[int, Trial], None]]":
    """A progress bar over the trials of a search; gives the function that is called with each."""
    with progress_bar("trials", trials, "compiling or loading the planner") as update:

        def advance(number: int, found: "Trial") -> None:
            update(completed=number + 1, description=f"last return {found.return_mean:.1f}")

        yield advance
