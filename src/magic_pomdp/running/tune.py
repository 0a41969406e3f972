"""A search for a planner's settings in one task, by optuna. It can be stopped at any time and goes on where it was."""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from magic_pomdp.core.task import Task
from magic_pomdp.running.evaluate import PlannerChoice, check_numbers, describe, evaluate, planner_settings

if TYPE_CHECKING:
    import optuna

FIRST_SEED = 1000
"""Settings are compared on episodes of this seed, far from those that results are reported on."""


@dataclass(frozen=True)
class Range:
    """Where a setting is looked for."""

    low: float
    high: float
    logarithmic: bool = False

    def suggest(self, trial: "optuna.Trial", name: str) -> float:
        """The next value to try; whole numbers between whole limits."""
        if isinstance(self.low, int):
            return trial.suggest_int(name, self.low, int(self.high), log=self.logarithmic)
        return trial.suggest_float(name, self.low, self.high, log=self.logarithmic)


DESPOT_RANGES = {"scenarios": Range(5, 500, True), "xi": Range(0.5, 1.0)}
RANGES: dict[str, dict[str, Range]] = {
    "magic": DESPOT_RANGES,
    "macro-despot": DESPOT_RANGES,
    "despot": DESPOT_RANGES,
    "pomcpow": {
        "exploration": Range(1.0, 200.0, True),
        "action_widening": Range(1.0, 50.0, True),
        "action_exponent": Range(0.0, 0.3),
        "observation_widening": Range(1.0, 20.0, True),
        "observation_exponent": Range(0.0, 0.3),
    },
}
"""What is looked for, by planner."""


@dataclass(frozen=True)
class Tuning:
    """What a search for settings has found so far."""

    planner: str
    trials: tuple[dict[str, Any], ...]
    """Settings, return_mean and return_stderr of each, the best first."""

    @property
    def best(self) -> dict[str, Any]:
        """The settings with the best mean return."""
        return self.trials[0]["settings"]

    def options(self) -> str:
        """The best settings as options of the command line."""
        return " ".join(f"--{name.replace('_', '-')} {value:.4g}" for name, value in self.best.items())


def tune(
    task: Task,
    choice: PlannerChoice,
    storage: Path,
    trials: int = 50,
    episodes: int = 30,
    seed: int = FIRST_SEED,
    workers: int | None = None,
    on_trial: Callable[[int, dict[str, Any]], None] | None = None,
) -> Tuning:
    """Try settings until there have been so many trials, those that the storage file already holds included.

    The planner's present settings are the first trial. Each trial runs the same episodes and is stored as it ends, so
    an interrupted search loses one trial at most. `on_trial` is called with the number of each, and what it found.
    """
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    from optuna.trial import TrialState

    if trials < 1:
        raise ValueError(f"The number of trials must be at least 1, not {trials}.")
    check_numbers(episodes, seed)
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # it warns of interruptions, with a traceback
    ranges = RANGES[choice.name]
    about = describe(task, choice, seed).to_json()
    present = about["settings"]
    question = {
        "task": about["task"],
        "task_parameters": about["task_parameters"],
        "planner": choice.name,
        "macro_length": choice.length(task),
        "budget": str(choice.budget_for(task)),
        "settings": {name: value for name, value in present.items() if name not in ranges},
        "episodes": episodes,
        "seed": seed,
    }
    question = json.loads(json.dumps(question))  # as the storage will give it back
    _check_storage(storage)
    study = optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(storage))),
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
    if not study.get_trials(states=[TrialState.COMPLETE, TrialState.WAITING]):  # new, or interrupted in its first trial
        study.enqueue_trial({name: _within(present[name], ranges[name]) for name in ranges})

    def attempt(trial: "optuna.Trial") -> float:
        settings = {name: where.suggest(trial, name) for name, where in ranges.items()}
        given = planner_settings(choice.name, **_fixed(choice), **settings)
        found = evaluate(task, dataclasses.replace(choice, settings=given), episodes, seed, workers)
        trial.set_user_attr("return_stderr", found.return_stderr)
        if on_trial is not None:
            on_trial(trial.number, {"settings": settings, "return_mean": found.return_mean})
        return found.return_mean

    finished = len(study.get_trials(states=[TrialState.COMPLETE]))
    study.optimize(attempt, n_trials=max(0, trials - finished))
    complete = study.get_trials(states=[TrialState.COMPLETE])
    ordered = sorted(complete, key=lambda trial: -(trial.value or 0.0))
    return Tuning(
        choice.name,
        tuple(
            {
                "settings": trial.params,
                "return_mean": trial.value,
                "return_stderr": trial.user_attrs.get("return_stderr", 0.0),
            }
            for trial in ordered
        ),
    )


def _check_storage(storage: Path) -> None:
    """Refuse a file that is not optuna's, which would write into it."""
    try:
        text = storage.read_text(encoding="utf-8") if storage.exists() else ""
        if text:
            json.loads(text.splitlines()[0])["op_code"]
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(f"{storage} does not hold a search for settings: name another file.") from None


def _fixed(choice: PlannerChoice) -> dict[str, Any]:
    """The settings that are not looked for, as they are."""
    if choice.settings is None:
        return {}
    given = dataclasses.asdict(choice.settings)
    return {name: value for name, value in given.items() if name not in RANGES[choice.name]}


def _within(value: float, where: Range) -> float:
    return min(max(value, where.low), where.high)
