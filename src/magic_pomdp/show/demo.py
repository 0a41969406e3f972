"""What the software does, in a minute or two: MAGIC, Macro-DESPOT and DESPOT on Light-Dark, and a page about it."""

from collections.abc import Callable
from pathlib import Path

from magic_pomdp.core.registry import make_task
from magic_pomdp.planners.plan import Budget
from magic_pomdp.running.compare import able_planners
from magic_pomdp.running.episode import EpisodeRecord
from magic_pomdp.running.evaluate import Evaluation, PlannerChoice, evaluate
from magic_pomdp.running.recording import record_episodes, save_recording
from magic_pomdp.running.saving import save_json
from magic_pomdp.show.report import write_report
from magic_pomdp.show.results import read_results

TASK = "light-dark"
PLANNERS = ("magic", "macro-despot", "despot")
"""Learned macro-actions, handcrafted ones, and none."""
RECORDED = 2
"""Episodes of each planner that can be replayed."""
PAGE = "report.html"
TITLE = "MAGIC on Light-Dark"


def demo_planners() -> list[str]:
    """Who takes part: MAGIC only if a trained generator ships."""
    able = able_planners(make_task(TASK))
    return [name for name in PLANNERS if name in able]


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
    task, evaluations, files = make_task(TASK), [], []
    for name in demo_planners():
        choice = PlannerChoice(name, budget=Budget(seconds=seconds))
        evaluations.append(evaluate(task, choice, episodes, seed, on_progress=on_progress))
        recording = record_episodes(task, choice, min(RECORDED, episodes), seed, on_progress=on_progress)
        result, recorded = folder / f"{name}.json", folder / f"{name}.record.gz"
        save_json(result, evaluations[-1].to_json())
        save_recording(recorded, recording)
        files += [result, recorded]
    page = folder / PAGE
    write_report(page, read_results(files), TITLE)
    return evaluations, page
