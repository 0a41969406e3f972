"""The command that makes the paper's tables again."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from magic_pomdp.cli.options import default
from magic_pomdp.cli.shared import (
    FINE,
    INTERRUPTED,
    WRONG,
    Saver,
    complain,
    episode_progress,
    need,
    open_page,
    show,
)
from magic_pomdp.cli.where import Where
from magic_pomdp.core.saving import check_writable, claimed, make_folder

if TYPE_CHECKING:
    from magic_pomdp.reproducing.doing import Found, Watch, Workshop
    from magic_pomdp.reproducing.efforts import Effort
    from magic_pomdp.reproducing.plan import Table

_UNTOUCHED_SEED = 1_000
"""Planners were tuned on seeds below this."""


@dataclass(frozen=True)
class ReproduceSettings:
    """How much to spend."""

    quick: bool = False
    """Minutes: few episodes, a twentieth of the time for each plan, trainings of seconds. It shows that all works."""
    full: bool = False
    """About as many episodes as the paper had, and long trainings: days on one machine."""
    dry_run: bool = False
    """Only tell what is missing, and how long it will take."""
    seed: Annotated[int | None, default("INT", "5000; with --quick 4000")] = None
    """Whose episodes they are, 1000 or more: nothing was tuned on those."""
    workers: Annotated[int | None, default("INT", "one for every core")] = None
    """Processes that run episodes; 0 runs them in the main process, for debugging."""
    out: Annotated[Path | None, default("FOLDER", "results/reproduction-…, named after how much is spent")] = None
    """Where results, page and pictures go. What is there already is not run again."""
    open: bool = False
    """Show the page in the browser."""


def reproduce(
    tables: Annotated[
        tuple[str, ...],
        tyro.conf.arg(
            metavar="TABLE…", help="I, II, III, IV, V, appendix, curves and pictures; all, if none is named."
        ),
    ] = (),
    /,
    *,
    settings: ReproduceSettings,
    cluster: Where,
) -> int:
    """Make the paper's tables and figures again, trainings included, the paper's numbers beside ours: a page, and the
    same as Markdown. Stop it at any time; the same command goes on."""
    need("matplotlib", "Drawing", "show")
    from magic_pomdp.reproducing.doing import Workshop
    from magic_pomdp.reproducing.tables import choose_tables

    effort = _effort(settings)
    chosen = choose_tables(tables, effort)
    folder = settings.out or Path("results") / f"reproduction-{effort.name}"
    with cluster.jobs():
        if settings.dry_run:
            return _tell(chosen, Workshop(folder, settings.workers))
        check_writable(make_folder(folder) / "reproduction.html")
        with claimed(folder):
            return _reproduce(chosen, Workshop(folder, settings.workers), effort, settings.open)


def _effort(settings: ReproduceSettings) -> "Effort":
    from magic_pomdp.core.randomness import check_seed
    from magic_pomdp.reproducing.efforts import EVENING, FULL, QUICK

    if settings.quick and settings.full:
        raise ValueError("A run is either --quick or --full, but both were given.")
    if settings.workers is not None and settings.workers < 0:
        raise ValueError(f"The number of workers must be at least 0, not {settings.workers}.")
    effort = QUICK if settings.quick else FULL if settings.full else EVENING
    if settings.seed is None:
        return effort
    if check_seed(settings.seed) < _UNTOUCHED_SEED:
        raise ValueError(
            f"The seed must be {_UNTOUCHED_SEED} or above, not {settings.seed}: planners were tuned on those below."
        )
    return effort.with_seed(settings.seed)


def _reproduce(tables: "Sequence[Table]", workshop: "Workshop", effort: "Effort", open_it: bool) -> int:
    from magic_pomdp.show.reproduction import write_reproduction

    found, saver, code = workshop.look(tables), Saver(), FINE
    try:
        if not workshop.work(found, _watch(saver)):
            code = complain("Something could not be done; the tables tell why.", WRONG)
    except KeyboardInterrupt:
        sentence = f"Interrupted; {workshop.folder} keeps what was reached, and the same command goes on."
        code = complain(sentence, INTERRUPTED)
    page, markdown = write_reproduction(workshop.folder, tables, found, effort.name)
    for reason in dict.fromkeys(found.missing.values()):
        show(f"Missing: {reason}")
    show(f"Saved as {page} and {markdown}")
    if open_it:
        open_page(page.resolve())
    return code or saver.code


def _watch(saver: Saver) -> "Watch":
    """What shows on the terminal what is done."""
    from magic_pomdp.reproducing.doing import Watch

    class Shown(Watch):
        def say(self, sentence: str) -> None:
            print(sentence, file=sys.stderr, flush=True)

        save = staticmethod(saver.write)
        episodes = staticmethod(episode_progress)

    return Shown()


def _tell(tables: "Sequence[Table]", workshop: "Workshop") -> int:
    """What is missing of each table, and how long it will take."""
    from magic_pomdp.reproducing.costs import time_words
    from magic_pomdp.reproducing.plan import all_work
    from magic_pomdp.show.terminal import PlainTable

    found, times = workshop.look(tables), workshop.times()
    table = PlainTable("table", "done", "missing", "cannot be done here", "time")
    for one in tables:
        names = {piece.name for piece in all_work((one,))}
        todo = [piece for piece in found.todo if piece.name in names]
        unable = len(names & found.missing.keys())
        done = len(names) - len(todo) - unable
        table.add_texts(one.name, str(done), str(len(todo)), str(unable), time_words(times.left(todo)))
    show(table)
    for reason in dict.fromkeys(found.missing.values()):
        show(f"Missing: {reason}")
    _tell_total(found, times.left(found.todo), times.measured)
    return FINE


def _tell_total(found: "Found", seconds: float, measured: int) -> None:
    from magic_pomdp.reproducing.costs import time_words

    count, known = len(found.todo), f"as {measured} others took here" if measured else "as it took on another machine"
    show(f"{count} pieces of work are missing; tables share some. All take about {time_words(seconds)}, {known}.")
