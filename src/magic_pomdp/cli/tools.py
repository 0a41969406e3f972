"""Commands that look at tasks and at the machine."""

import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from magic_pomdp.cli.options import AnyPlannerOptions, default
from magic_pomdp.cli.shared import FINE, WRONG, Saver, TaskName, TaskParameters, progress_bar, show, task_from


@dataclass(frozen=True)
class BenchSettings:
    """How to measure."""

    seconds: float = 0.2
    """How long each search lasts."""
    json: Annotated[Path | None, default("FILE", "none")] = None
    """Where to save the result."""


@dataclass(frozen=True)
class DoctorSettings:
    """What to do beside looking."""

    warm: bool = False
    """Compile all planners for all tasks that have a name, if they are not yet. Later commands then begin at once."""


def tasks() -> int:
    """List the tasks that are known by name, with their sizes and parameters."""
    from magic_pomdp.core.parameters import parameter_fields
    from magic_pomdp.core.registry import task_names
    from magic_pomdp.show.terminal import PlainTable, plain_text

    table = PlainTable("task", "numbers in", "parameters", show_lines=True)
    for name in task_names():
        try:
            task = task_from(name, ())  # sizes may depend on parameters
        except ValueError as error:  # of a package that cannot be imported
            table.add_texts(name, "", str(error))
            continue
        about = (sys.modules[type(task).__module__].__doc__ or "").strip().splitlines()[0]
        sizes = {kind: getattr(task, f"{kind}_size") for kind in ("state", "action", "observation", "context")}
        title = plain_text(name, about)
        title.stylize("bold", 0, title.plain.index("\n"))
        table.add_texts(
            title,
            plain_text(*(f"{kind} {size}" for kind, size in sizes.items())),
            plain_text(*(f"{field.name} = {field.default}" for field in parameter_fields(task))),
        )
    show(table)
    return FINE


@dataclass(frozen=True)
class CheckSettings:
    """What to test."""

    parameters: TaskParameters = ()


def check(task: TaskName, /, planner: AnyPlannerOptions, settings: CheckSettings) -> int:
    """Test a task of your own: do its functions keep what planners rely on? It mostly takes one to three minutes, and
    tells how far it is. With --planner, test a planner in it."""
    from magic_pomdp.testing import check_planner
    from magic_pomdp.testing.apart import check_task_apart

    the_task = task_from(task, settings.parameters)
    if planner.planner:
        what, findings = f"{planner.planner} in {task}", check_planner(planner.factory()(the_task))
    else:
        what, findings = task, check_task_apart(the_task, tell=_tell)
    for finding in findings:
        show(f"{finding}\n")
    show(f"{what}: {len(findings)} to mend." if findings else f"{what} is fine.")
    return WRONG if findings else FINE


def _tell(what: str, number: int, count: int, left: str = "") -> None:
    """Say what a long command looks at now."""
    print(f"{number} of {count}{left}: {what} …", file=sys.stderr, flush=True)


def doctor(settings: DoctorSettings) -> int:
    """See whether this machine is fit: versions, cores, the compile cache."""
    from magic_pomdp.running.doctor import examine, planners_to_compile, warm
    from magic_pomdp.show.terminal import PlainTable

    pairs = planners_to_compile() if settings.warm else []
    with progress_bar("planners", len(pairs), "") as update:
        for task, planner in pairs:
            update(description=f"compiling or loading {planner} for {task}")
            warm(task, planner)
            update(advance=1)
    checks = examine()
    table = PlainTable(show_header=False)
    for item in checks:
        table.add_texts(item.what, item.found)
    show(table)
    advice = [item.advice for item in checks if item.advice]
    for line in advice:
        show(line)
    return WRONG if advice else FINE


def bench(settings: BenchSettings) -> int:
    """Measure how fast simulator, planners, belief and start are here. It takes about a minute of computing,
    which was six and a half minutes on a very busy machine, more the first time, and tells how far it is."""
    from magic_pomdp.core.saving import check_writable
    from magic_pomdp.running.bench import run_bench
    from magic_pomdp.show.tables import bench_table

    path, started = check_writable(settings.json) if settings.json else None, time.monotonic()

    def tell(name: str, number: int, count: int) -> None:
        passed = time.monotonic() - started
        left = (
            f" (about {math.ceil(passed / (number - 1) * (count - number + 1) / 60.0)} min left)" if number > 1 else ""
        )
        _tell(name, number, count, left)

    found = run_bench(settings.seconds, tell)
    show(bench_table(found))
    saver = Saver()
    if path:
        saver.write(path, found)
    return saver.code
