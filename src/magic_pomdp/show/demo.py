"""What the software does, in a minute or two: MAGIC, Macro-DESPOT and DESPOT on Light-Dark, a table and pictures."""

from collections.abc import Callable
from pathlib import Path

from magic_pomdp.core.registry import make_task
from magic_pomdp.planners.plan import Budget
from magic_pomdp.running.compare import able_planners
from magic_pomdp.running.episode import EpisodeRecord
from magic_pomdp.running.evaluate import Evaluation, PlannerChoice, evaluate
from magic_pomdp.running.saving import save_json
from magic_pomdp.show.picture import draw_episode

TASK = "light-dark"
PLANNERS = ("magic", "macro-despot", "despot")
"""Learned macro-actions, handcrafted ones, and none."""


def demo_planners() -> list[str]:
    """Who takes part: MAGIC only if a trained generator ships."""
    able = able_planners(make_task(TASK))
    return [name for name in PLANNERS if name in able]


def run_demo(
    folder: Path,
    episodes: int = 20,
    seconds: float = 0.1,
    seed: int = 0,
    on_progress: Callable[[str, EpisodeRecord], None] | None = None,
) -> list[Evaluation]:
    """Evaluate all planners on the same episodes; save the results and a picture of the first episode of each."""
    task, evaluations = make_task(TASK), []
    for name in demo_planners():
        choice = PlannerChoice(name, budget=Budget(seconds=seconds))

        def advance(record: EpisodeRecord, name: str = name) -> None:
            if on_progress is not None:
                on_progress(name, record)

        evaluations.append(evaluate(task, choice, episodes, seed, on_progress=advance))
        save_json(folder / f"{name}.json", evaluations[-1].to_json())
        draw_episode(task, choice(task), folder / f"{name}.png", seed, title=name)
    return evaluations
