"""A search for a planner's settings in one task, by optuna. It can be stopped at any time and goes on where it was."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from magic_pomdp.core.settings import Range, settings_of
from magic_pomdp.core.task import Task
from magic_pomdp.results.base import Plain
from magic_pomdp.results.evaluation import Question
from magic_pomdp.results.tuning import Trial, Tuning
from magic_pomdp.running.evaluating import check_numbers, describe, evaluate
from magic_pomdp.running.factory import PlannerFactory

if TYPE_CHECKING:
    import optuna

FIRST_SEED = 1000
"""Settings are compared on episodes of this seed, far from those that results are reported on."""


def tune(
    task: Task,
    factory: PlannerFactory,
    storage: Path,
    trials: int = 50,
    episodes: int = 30,
    seed: int = FIRST_SEED,
    workers: int | None = None,
    on_trial: Callable[[int, Trial], None] | None = None,
) -> Tuning:
    """Try settings until there have been so many trials, those that the storage file already holds included. What is
    tried is what the planner's settings declare, and where.

    The planner's present settings are the first trial. Each trial runs the same episodes and is stored as it ends, so
    an interrupted search loses one trial at most. `on_trial` is called with the number of each, and what it found.
    """
    from optuna.trial import TrialState

    if trials < 1:
        raise ValueError(f"The number of trials must be at least 1, not {trials}.")
    check_numbers(episodes, seed)
    ranges = {name: known.tuned for name, known in settings_of(factory.entry.settings).items() if known.tuned}
    if not ranges:
        raise ValueError(f"The settings of {factory.name} do not say where to look for better ones.")
    about = describe(task, factory, seed)
    study = _open_study(storage, _question(about, ranges, episodes), seed)
    if not study.get_trials(states=[TrialState.COMPLETE, TrialState.WAITING]):  # new, or interrupted in its first trial
        study.enqueue_trial({name: _within(about.settings[name], where) for name, where in ranges.items()})

    def attempt(trial: "optuna.Trial") -> float:
        settings = {name: _suggest(trial, name, where) for name, where in ranges.items()}
        tried = dataclasses.replace(factory, overrides={**factory.overrides, **settings})
        found = evaluate(task, tried, episodes, seed, workers)
        trial.set_user_attr("return_stderr", found.return_stderr)
        if on_trial is not None:
            result = Trial(settings=settings, return_mean=found.return_mean, return_stderr=found.return_stderr)
            on_trial(trial.number, result)
        return found.return_mean

    finished = len(study.get_trials(states=[TrialState.COMPLETE]))
    study.optimize(attempt, n_trials=max(0, trials - finished))
    complete = study.get_trials(states=[TrialState.COMPLETE])
    ordered = sorted(complete, key=lambda trial: -(trial.value or 0.0))
    return Tuning(task=about.task, planner=about.planner, trials=tuple(_result(trial) for trial in ordered))


def _open_study(storage: Path, question: dict[str, Plain], seed: int) -> "optuna.Study":
    """The search that a file holds, or a new one; a ValueError if it asks something else."""
    import optuna
    from filelock import FileLock
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)  # it warns of interruptions, with a traceback
    _check_storage(storage)
    # optuna's own lock would outlive a search that is killed, by half a minute; the system frees this one at once
    lock: Any = FileLock(storage.with_name(f".{storage.name}.lock"))
    study = optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(storage), lock)),
        study_name="tuning",
        direction="maximize",
        load_if_exists=True,
    )
    begun = len(study.get_trials(deepcopy=False))
    # another seed than before an interruption, or the same settings would be tried again
    study.sampler = optuna.samplers.TPESampler(seed=seed + begun, multivariate=True)
    stored = study.user_attrs.get("question")
    if stored is None:
        study.set_user_attr("question", question)
    elif stored != question:
        changed = ", ".join(f"{name} {stored.get(name)}" for name in question if stored.get(name) != question[name])
        raise ValueError(f"{storage} holds a search with {changed}: name another file, or ask for the same.")
    return study


def _question(about: Question, ranges: dict[str, Range], episodes: int) -> dict[str, Plain]:
    """What is asked, as the storage will give it back."""
    question = {
        "task": about.task,
        "task_parameters": about.task_parameters,
        "planner": about.planner,
        "macro_length": about.macro_length,
        "budget": str(about.budget),
        "settings": {name: value for name, value in about.settings.items() if name not in ranges},
        "episodes": episodes,
        "seed": about.seed,
    }
    return msgspec.json.decode(msgspec.json.encode(question), type=dict[str, Plain])


def _check_storage(storage: Path) -> None:
    """Refuse a file that is not optuna's, which would write into it."""
    try:
        text = storage.read_text(encoding="utf-8") if storage.exists() else ""
        if text:
            json.loads(text.splitlines()[0])["op_code"]
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(f"{storage} does not hold a search for settings: name another file.") from None


def _suggest(trial: "optuna.Trial", name: str, where: Range) -> float:
    """The next value to try; whole numbers between whole limits."""
    if isinstance(where.low, int):
        return trial.suggest_int(name, where.low, int(where.high), log=where.logarithmic)
    return trial.suggest_float(name, where.low, where.high, log=where.logarithmic)


def _within(value: object, where: Range) -> float:
    if not isinstance(value, int | float):
        raise ValueError(f"A setting with a range to be looked for in must be a number, not {value!r}.")
    return min(max(value, where.low), where.high)


def _result(trial: "optuna.trial.FrozenTrial") -> Trial:
    error = trial.user_attrs.get("return_stderr", 0.0)
    return Trial(settings=trial.params, return_mean=trial.value or 0.0, return_stderr=error)
