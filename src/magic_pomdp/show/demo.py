"""What the software does, in a minute or two: the first planners on Light-Dark, and a page about it."""

from collections.abc import Callable
from pathlib import Path

from magic_pomdp.core.registry import make
from magic_pomdp.planners.plan import Budget
from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.files import write
from magic_pomdp.results.recording import save_recording
from magic_pomdp.running.episode import EpisodeRecord
from magic_pomdp.running.evaluating import evaluate
from magic_pomdp.running.factory import PlannerFactory, able_planners
from magic_pomdp.running.recording import record_episodes
from magic_pomdp.show.report import write_report
from magic_pomdp.show.results import read_results

RECORDED = 2
"""Episodes of each planner that can be replayed."""
PAGE = "report.html"
_TASK = "light-dark"
_PLANNERS = 3
_TITLE = "Light-Dark, planner by planner"


def demo_planners() -> list[str]:
    """Who takes part: the first that can plan there."""
    return list(able_planners(make(_TASK)))[:_PLANNERS]


def run_demo(
    folder: Path,
    episodes: int = 20,
    seconds: float = 0.1,
    seed: int = 0,
    on_progress: Callable[[EpisodeRecord], None] | None = None,
) -> tuple[list[Evaluation], Path]:
    """Evaluate all planners on the same episodes and record the first ones; save everything, and a page that shows it.

    Gives the evaluations and the page.
    """
    task, evaluations, files = make(_TASK), [], []
    for name in demo_planners():
        factory = PlannerFactory(name, budget=Budget(seconds=seconds))
        evaluations.append(evaluate(task, factory, episodes, seed, on_progress=on_progress))
        recording = record_episodes(task, factory, min(RECORDED, episodes), seed, on_progress=on_progress)
        result, recorded = folder / f"{name}.json", folder / f"{name}.record.gz"
        write(result, evaluations[-1])
        save_recording(recorded, recording)
        files += [result, recorded]
    page = folder / PAGE
    write_report(page, read_results(files), _TITLE)
    return evaluations, page
