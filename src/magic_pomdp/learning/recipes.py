"""Recipes: settings of a training that stand where nobody says anything else. And the ladder from one to the other."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from magic_pomdp.core.settings import SettingValue
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.learning.settings import TrainSettings
from magic_pomdp.planners.plan import Budget
from magic_pomdp.results.training import PAPER_RUNG

RecipeName = Literal["ours", "paper"]
"""Whose settings: those of `TrainSettings`, or those of Lee, Cai, Hsu (2021)."""


class _Published(NamedTuple):
    """What the paper did in one of its tasks."""

    macro_length: int
    """That with its best score."""
    plan_steps: int
    """That its program made in the time of a plan, on one core."""
    scenarios: int
    search_depth: int
    encoder_width: int
    """In Crowd-Driving that of the layers for cars, 1,500 a belief; the one for particles was twice as wide."""
    alpha: float
    """In units of the values' standard deviation, and for the mean entropy of a parameter; so about as much as its own
    e^−3, e^−1 and 1 for the sum over all macro-actions, where values vary as they do in the warm-up."""


_TASKS = {
    "light-dark": _Published(8, 870_000, 20, 60, 256, 0.05),
    "puck-push": _Published(5, 100_000, 30, 100, 256, 0.6),
    "crowd-driving": _Published(3, 14_000, 50, 40, 64, 0.5),
}
_RATE = 1e-4
"""Of critic, generator and α."""
_STD = 0.09
"""As much entropy as the paper aimed at: −5 for a curve's direction in six dimensions."""


@dataclass(frozen=True)
class Rung:
    """A way to train on the ladder."""

    name: str
    changes: Mapping[str, SettingValue]
    """The settings of the paper that are still in force."""


def recipe(name: RecipeName, task: Task, **changes: Any) -> TrainSettings:
    """The settings of a recipe for a task, some of them changed. The paper's are known for Light-Dark, Puck-Push and
    Crowd-Driving; in other tasks its lengths, scenarios, depth and budget are ours."""
    return replace(TrainSettings(), **{**(_paper(task) if name == "paper" else {}), **changes})


def ladder(task: Task, settings: TrainSettings, fixed: Collection[str] = ()) -> tuple[Rung, ...]:
    """From the paper's recipe to these settings: each rung takes over some of them, on top of the rung before. Settings
    whose names are `fixed` are these on all rungs, and a rung on which nothing changes is left out."""
    steps = _steps(task)
    names = (PAPER_RUNG, *steps)
    rungs: list[Rung] = []
    for number, name in enumerate(names):
        left = {key: value for step in names[number + 1 :] for key, value in steps[step].items() if key not in fixed}
        changes = {key: value for key, value in left.items() if value != getattr(settings, key)}
        if not rungs or changes != rungs[-1].changes:
            rungs.append(Rung(name, changes))
    return tuple(rungs)


def paper_budget(task: Task) -> Budget | None:
    """What a plan of the paper had in a task, in primitive steps; None where that is not known."""
    known = _TASKS.get(task_name(task))
    return None if known is None else Budget(steps=known.plan_steps)


def _paper(task: Task) -> dict[str, SettingValue]:
    return {name: value for step in _steps(task).values() for name, value in step.items()}


def _steps(task: Task) -> dict[str, dict[str, SettingValue]]:
    """What the paper does otherwise, by the names of the ladder's steps: each takes ours in place of these."""
    known = _TASKS.get(task_name(task))
    length: dict[str, SettingValue] = {"learn_lengths": False}
    search: dict[str, SettingValue] = {"discount": task.discount, "second_look": 0, "refine": 0.0}
    rates: dict[str, SettingValue] = {"batch": 256, "critic_rate": _RATE, "generator_rate": _RATE, "alpha_rate": _RATE}
    rates |= {"std": _STD, "std_min": 0.01, "std_max": 1.0}
    networks: dict[str, SettingValue] = {"inputs": "plain", "particles": 100, "generator_width": 512}
    networks |= {"encoder_width": 256, "critic_width": 256}
    budget: dict[str, SettingValue] = {}
    if known is not None:
        length |= {"macro_length": known.macro_length}
        search |= {"scenarios": known.scenarios, "search_depth": known.search_depth}
        networks |= {"encoder_width": known.encoder_width}
        rates |= {"alpha": known.alpha}
        budget |= {"plan_steps": known.plan_steps}
    return {
        "set critic": {"critic": "flat"},
        "our networks": networks,
        "our rates": rates,
        "handcrafted start": {"start": "random", "warmup": 10_000},
        "informed default policy": {"default_policy": "random"},
        "mirror images": {"mirror": False},
        "learned lengths": length,
        "our search": search,
        "our budget": budget,
    }
