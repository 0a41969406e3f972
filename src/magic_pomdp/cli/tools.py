"""Commands that look at tasks and at the machine."""

import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from magic_pomdp.cli.shared import FINE, WRONG, TaskName, TaskParameters, default, show, task_parameters


@dataclass(frozen=True)
class BenchSettings:
    """How to measure."""

    seconds: float = 0.2
    """How long each search lasts."""
    json: Annotated[Path | None, default("FILE", "none")] = None
    """Where to save the result."""


def tasks() -> int:
    """List the tasks that ship, with their sizes and parameters."""
    from rich.table import Table

    from magic_pomdp.core.registry import SHIPPED, make_task

    table = Table("task", "numbers in", "parameters", show_lines=True)
    for name in SHIPPED:
        task = make_task(name)  # sizes may depend on parameters
        about = (sys.modules[type(task).__module__].__doc__ or "").strip().splitlines()[0]
        sizes = {kind: getattr(task, f"{kind}_size") for kind in ("state", "action", "observation", "context")}
        fields = [field for field in dataclasses.fields(task) if field.init]  # type: ignore[arg-type]
        table.add_row(
            f"[bold]{name}[/bold]\n{about}",
            "\n".join(f"{kind} {size}" for kind, size in sizes.items()),
            "\n".join(f"{field.name} = {field.default}" for field in fields),
        )
    show(table)
    return FINE


def check(task: TaskName, /, parameters: TaskParameters = ()) -> int:
    """Test a task of your own: do its functions keep what planners rely on?"""
    from magic_pomdp.core.registry import make_task
    from magic_pomdp.testing import check_task

    findings = check_task(make_task(task, **task_parameters(parameters)))
    for finding in findings:
        show(f"{finding}\n")
    show(f"{task}: {len(findings)} to mend." if findings else f"{task} is fine.")
    return WRONG if findings else FINE


def doctor() -> int:
    """See whether this machine is fit: versions, cores, the compile cache."""
    from rich.table import Table

    from magic_pomdp.running.doctor import examine

    checks = examine()
    table = Table(show_header=False)
    for item in checks:
        table.add_row(item.what, item.found)
    show(table)
    advice = [item.advice for item in checks if item.advice]
    for line in advice:
        show(line)
    return WRONG if advice else FINE


def bench(settings: BenchSettings) -> int:
    """Measure how fast the simulator, the planner, the belief and the start are here."""
    from rich.table import Table

    from magic_pomdp.running.bench import run_bench
    from magic_pomdp.running.saving import check_writable, save_json

    path = check_writable(settings.json) if settings.json else None
    report = run_bench(settings.seconds, lambda found: print(f"{found.name} …", file=sys.stderr))
    if path:
        save_json(path, report)
    caption = f"best and median of {report['repeats']} repeats; ratio: against 64-bit hashing"
    table = Table("measured", "best", "median", "ratio", title=report["processor"], caption=caption)
    for found in report["measurements"]:
        best, median = (f"{x:,.0f}" if x >= 1000 else f"{x:.3g}" for x in (found["value"], found["median"]))
        table.add_row(found["name"], f"{best} {found['unit']}", f"{median} {found['unit']}", f"{found['ratio']:.3g}")
    show(table)
    return FINE
