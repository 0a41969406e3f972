"""Every planner on one task, on the same episodes, with several budgets."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from magic_pomdp.core.settings import SettingValue, settings_of
from magic_pomdp.core.task import Task
from magic_pomdp.planners.plan import Budget
from magic_pomdp.results.base import Stored
from magic_pomdp.results.comparison import Comparison
from magic_pomdp.results.evaluation import Evaluation, Question
from magic_pomdp.results.files import as_stored, read_as, read_if_there, write
from magic_pomdp.running.episode import EpisodeRecord
from magic_pomdp.running.evaluating import describe, evaluate
from magic_pomdp.running.factory import PlannerFactory

BUDGETS = tuple(Budget(seconds=seconds) for seconds in (0.001, 0.005, 0.025, 0.1, 1.0))
"""From one decision in a millisecond to one in a second."""
COMPARISON_FILE = "comparison.json"
"""What a folder calls what its evaluations add up to."""
_ASKED = (
    *("task", "planner", "macro_length", "budget", "concurrent", "seed", "settings", "task_parameters"),
    *("world", "world_settings", "identified"),
)
"""What makes two evaluations the same one, beside the number of their episodes."""
_MADE_BY = ("software", "code")
"""What must be the same, too, for the one to stand for the other, since tasks and planners change."""


def compare(
    task: Task,
    folder: Path,
    planners: Sequence[PlannerFactory],
    budgets: Sequence[Budget] = BUDGETS,
    episodes: int = 100,
    seed: int = 0,
    workers: int | None = None,
    on_evaluation: Callable[[PlannerFactory, bool], None] | None = None,
    on_progress: Callable[[EpisodeRecord], None] | None = None,
    save: Callable[[Path, Stored], None] = write,
) -> Comparison:
    """Evaluate each planner with each budget, on the same episodes of a task and a seed, in worker processes.

    Each evaluation is saved in the folder as soon as it is finished, and not run again if it is there already: a
    comparison that was interrupted goes on where it stopped. One that asks something else of the same planner and
    budget is refused. `on_evaluation` is called with each planner before its evaluation, and with whether that was
    found in the folder, and `on_progress` with each episode's record; `save` is what saves. `seed` and `workers` are
    those of `evaluate`.
    """
    if not planners or not budgets:
        raise ValueError("A comparison needs at least one planner and one budget.")
    factories = [dataclasses.replace(planner, budget=budget) for planner in planners for budget in budgets]
    paths = [folder / _file_of(factory.name, factory.budget) for factory in factories]
    stored = [
        _stored(path, describe(task, factory, seed), episodes) for path, factory in zip(paths, factories, strict=True)
    ]
    evaluations = []
    for factory, path, found in zip(factories, paths, stored, strict=True):
        if on_evaluation is not None:
            on_evaluation(factory, found is not None)
        if found is None:
            found = evaluate(task, factory, episodes, seed, workers, on_progress)
            save(path, found)
        evaluations.append(found)
    comparison = Comparison(task=evaluations[0].task, evaluations=tuple(evaluations))
    save(folder / COMPARISON_FILE, comparison.without_records())
    return comparison


def is_comparison(path: Path) -> bool:
    """Whether a path is that of a comparison, or of the folder of one."""
    return path.name == COMPARISON_FILE or (path / COMPARISON_FILE).is_file()


def stored_comparison(path: Path) -> Comparison:
    """A comparison in a folder, with the single episodes, which have files of their own there."""
    folder = path if path.is_dir() else path.parent
    found = read_as(folder / COMPARISON_FILE, Comparison)
    ones = tuple(read_as(folder / _file_of(one.planner, one.budget), Evaluation) for one in found.evaluations)
    return Comparison(task=found.task, evaluations=ones)


def _file_of(planner: str, budget: Budget | None) -> str:
    """What a folder calls an evaluation."""
    return f"{planner}_{budget}.json"


def choose_planners(names: Sequence[str], overrides: Mapping[str, SettingValue]) -> list[PlannerFactory]:
    """Planners by name; each setting that is overridden is for those that have it, and one of them must."""
    known = {name: settings_of(PlannerFactory(name).entry.settings) for name in names}
    for setting in overrides:
        if not any(setting in settings for settings in known.values()):
            raise ValueError(f"None of the planners {', '.join(known)} has a setting {setting}.")
    return [
        PlannerFactory(name, overrides={setting: overrides[setting] for setting in overrides if setting in settings})
        for name, settings in known.items()
    ]


def _stored(path: Path, asked: Question, episodes: int) -> Evaluation | None:
    """The evaluation that a file holds; None if there is none, or one by other code. A ValueError if it cannot be read,
    or is not the one that is asked for."""
    found = read_if_there(path, Evaluation)
    if found is None:
        return None
    different = differences(found, asked, episodes)
    if different:
        raise ValueError(f"{path} was made with {', '.join(different)}: ask the same, or choose another folder.")
    return found if is_of_same_code(found, asked) else None


def differences(found: Evaluation, asked: Question, episodes: int) -> list[str]:
    """In what a stored evaluation is not the one that is asked for, in words."""
    asked = as_stored(asked)
    different = [] if found.episodes == episodes else [f"episodes {found.episodes}"]
    different += [] if found.complete else ["complete False"]
    for name in _ASKED:
        known, wanted = getattr(found, name), getattr(asked, name)
        if isinstance(known, dict) and isinstance(wanted, dict):
            # another version may have known others, and it is asked again in any case
            keys = known | wanted if found.software == asked.software else known.keys() & wanted.keys()
            different += [f"{key} {known.get(key)}" for key in keys if known.get(key) != wanted.get(key)]
        elif known != wanted:
            different.append(f"{name.replace('_', ' ')} {known}")
    return different


def is_of_same_code(found: Question, asked: Question) -> bool:
    """Whether the software that made one result is that which would make the other."""
    return all(getattr(found, name) == getattr(asked, name) for name in _MADE_BY)
