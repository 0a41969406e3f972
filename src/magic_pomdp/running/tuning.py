"""A search for a planner's settings in one task, by optuna. It can be stopped at any time and goes on where it was."""

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from magic_pomdp.core.reading import Damaged, convert, in_short
from magic_pomdp.core.saving import claimed
from magic_pomdp.core.settings import Range, settings_of
from magic_pomdp.core.task import Task
from magic_pomdp.results.base import Plain
from magic_pomdp.results.evaluation import Question
from magic_pomdp.results.tuning import Trial, Tuning
from magic_pomdp.running.evaluating import check_numbers, describe, evaluate, warm_up
from magic_pomdp.running.factory import PlannerFactory
from magic_pomdp.running.workers import run_jobs

if TYPE_CHECKING:
    import optuna
    from filelock import FileLock

    from magic_pomdp.running.journal import Journal

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
    on_note: Callable[[str], None] | None = None,
    at_once: int = 1,
) -> Tuning:
    """Try settings of the factory's planner in a task until there have been so many trials, those that the storage file
    already holds included. What is tried is what the planner's settings declare, and where.

    The planner's present settings are the first trial. Each trial runs the same episodes and is stored as it ends, so
    an interrupted search, or one that a full disk has stopped, loses one trial at most. The file is for one process at
    a time: a second one gets a ValueError. `on_trial` is called with the number of each, and what it found; `on_note`
    with a sentence if the file had to be mended. `seed` and `workers` are those of `evaluate`.

    With `at_once` more than 1, so many workers try settings at the same time, each by itself. What is tried next then
    depends on who is ready first; what settings return does not.
    """
    from optuna.trial import TrialState

    if trials < 1:
        raise ValueError(f"The number of trials must be at least 1, not {trials}.")
    if at_once < 1:
        raise ValueError(f"The number of trials at once must be at least 1, not {at_once}.")
    check_numbers(episodes, seed)
    ranges = {name: known.tuned for name, known in settings_of(factory.entry.settings).items() if known.tuned}
    if not ranges:
        raise ValueError(f"The settings of {factory.name} do not say where to look for better ones.")
    about = describe(task, factory, seed)
    question = _question(about, ranges, episodes)

    attempt = _Attempt(task, factory, episodes, seed)

    def settings_of_trial(trial: "optuna.Trial") -> dict[str, float]:
        return {name: _suggest(trial, name, where) for name, where in ranges.items()}

    def note(trial: "optuna.Trial", found: Trial) -> float:
        trial.set_user_attr("return_stderr", found.return_stderr)
        if on_trial is not None:
            on_trial(trial.number, found)
        return found.return_mean

    def try_one_by_one(study: "optuna.Study", count: int) -> None:
        study.optimize(lambda trial: note(trial, attempt.run(settings_of_trial(trial), workers)), n_trials=count)

    def try_many_at_once(study: "optuna.Study", count: int) -> None:
        begun: dict[int, optuna.Trial] = {}

        def jobs() -> Iterator[_TrialJob]:
            for _ in range(count):
                trial = study.ask()
                begun[trial.number] = trial
                yield _TrialJob(trial.number, tuple(settings_of_trial(trial).items()))

        with closing(run_jobs(attempt, jobs(), at_once, "Trial")) as results:
            for job, found in results:
                trial = begun.pop(job.number)
                study.tell(trial, note(trial, found))

    with claimed(storage) as lock:
        study, journal = _open_study(storage, lock, question, seed, on_note, at_once)
        if not study.get_trials(
            states=[TrialState.COMPLETE, TrialState.WAITING]
        ):  # new, or interrupted in its first trial
            study.enqueue_trial({name: _within(about.settings[name], where) for name, where in ranges.items()})
        finished = len(study.get_trials(states=[TrialState.COMPLETE]))
        try:
            (try_one_by_one if at_once == 1 else try_many_at_once)(study, max(0, trials - finished))
        except AssertionError:
            if journal.failure is not None:
                raise journal.failure from None
            raise
        found = [_result(trial, storage) for trial in study.get_trials(states=[TrialState.COMPLETE])]
    found.sort(key=lambda trial: -trial.return_mean)
    return Tuning(task=about.task, planner=about.planner, trials=tuple(found))


@dataclass(frozen=True)
class _TrialJob:
    """Settings to be tried."""

    number: int
    settings: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        return str(self.number)


@dataclass(frozen=True)
class _Attempt:
    """What settings are tried on; called in a worker, it gives the function that tries some there."""

    task: Task
    factory: PlannerFactory
    episodes: int
    seed: int

    def run(self, settings: dict[str, float], workers: int | None) -> Trial:
        tried = dataclasses.replace(self.factory, overrides={**self.factory.overrides, **settings})
        found = evaluate(self.task, tried, self.episodes, self.seed, workers)
        return Trial(settings=settings, return_mean=found.return_mean, return_stderr=found.return_stderr)

    def __call__(self) -> Callable[[_TrialJob], Trial]:
        warm_up(self.task, self.factory(self.task))
        return lambda job: self.run(dict(job.settings), workers=0)


def _open_study(
    storage: Path,
    lock: "FileLock",
    question: dict[str, Plain],
    seed: int,
    on_note: Callable[[str], None] | None,
    at_once: int,
) -> "tuple[optuna.Study, Journal]":
    """The search that a file holds, or a new one, and the file; a ValueError if it is damaged, or asks for something
    else."""
    import optuna
    from optuna.storages import JournalStorage

    from magic_pomdp.running.journal import Journal, check_journal, cut_half_line

    optuna.logging.set_verbosity(optuna.logging.ERROR)  # it warns of interruptions, with a traceback
    check_journal(storage)
    if cut_half_line(storage) and on_note is not None:
        on_note(f"{storage} ended in half a line, which is cut off: it goes on with what was whole.")
    journal = Journal(storage, lock)
    try:
        kept = JournalStorage(journal)
        if storage.stat().st_size > 0:
            study = optuna.load_study(storage=kept, study_name="tuning")
        else:
            study = optuna.create_study(storage=kept, study_name="tuning", direction="maximize")
        trials, stored = study.get_trials(deepcopy=False), study.user_attrs.get("question")
    except OSError:
        raise
    except Exception as error:  # whatever optuna makes of a line that it has not written
        raise Damaged(f"{storage} is damaged: optuna cannot go on with it ({type(error).__name__}).") from None
    if study.directions != [optuna.study.StudyDirection.MAXIMIZE]:
        raise Damaged(f"{storage} is damaged: it does not look for the highest return.")
    for trial in trials:
        if trial.state == optuna.trial.TrialState.COMPLETE:
            _result(trial, storage)  # damaged ones are found here
    # another seed than before an interruption, or the same settings would be tried again
    with warnings.catch_warnings():  # older versions call it an experiment
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = optuna.samplers.TPESampler(
            seed=seed + len(trials), multivariate=True, constant_liar=at_once > 1
        )
    if stored is None and not trials:
        study.set_user_attr("question", question)
    elif stored != question:
        raise ValueError(f"{storage} holds a search {_how_different(stored, question)}.")
    return study, journal


def _how_different(stored: Any, question: dict[str, Plain]) -> str:
    """How a search differs from what is asked, and what to do."""
    if not isinstance(stored, dict) or "code" not in stored:
        return (
            "of an earlier version, which did not keep what code it was of, so nobody knows whether its trials are of "
            "this task and planner: name another file"
        )
    changed = [name for name in question if stored.get(name) != question[name]]
    if changed == ["code"]:
        return "of other code, or of other content of a file that the task reads: name another file"
    values = in_short(", ".join(f"{name} {stored.get(name)}" for name in changed), 600)
    return f"with {values}: name another file, or ask for the same"


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
        "software": about.software,
        "code": about.code,
    }
    return msgspec.json.decode(msgspec.json.encode(question), type=dict[str, Plain])


def _suggest(trial: "optuna.Trial", name: str, where: Range) -> float:
    """The next value to try; whole numbers between whole limits."""
    if isinstance(where.low, int):
        return trial.suggest_int(name, where.low, int(where.high), log=where.logarithmic)
    return trial.suggest_float(name, where.low, where.high, log=where.logarithmic)


def _within(value: object, where: Range) -> float:
    if not isinstance(value, int | float):
        raise ValueError(f"A setting with a range to be looked for in must be a number, not {value!r}.")
    return min(max(value, where.low), where.high)


def _result(trial: "optuna.trial.FrozenTrial", storage: Path) -> Trial:
    """What a trial has found, as the file tells it."""
    returns, error = trial.values or [], trial.user_attrs.get("return_stderr", 0.0)
    if len(returns) != 1:
        raise Damaged(f"Trial {trial.number} of {storage} is damaged: expected one return, not {len(returns)}.")
    plain = {"settings": trial.params, "return_mean": returns[0], "return_stderr": error}
    return convert(plain, Trial, f"Trial {trial.number} of {storage}")
