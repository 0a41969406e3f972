"""How good a planner is: many episodes, and what they add up to."""

import dataclasses
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from magic_pomdp import __version__
from magic_pomdp.core.belief import Belief
from magic_pomdp.core.compiling import code_digest
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.core.registry import nearest
from magic_pomdp.core.task import Task
from magic_pomdp.learning.model import find_model
from magic_pomdp.learning.planner import MagicPlanner
from magic_pomdp.planners.macro_despot import DespotSettings, MacroDespot
from magic_pomdp.planners.plan import Budget, Planner
from magic_pomdp.planners.pomcpow import Pomcpow, PomcpowSettings
from magic_pomdp.running.episode import EpisodeRecord, draw_beginning, macro_length, plans_ahead, run_episode
from magic_pomdp.running.statistics import mean, percentile, standard_error
from magic_pomdp.running.workers import JobFailed, available_cores, run_jobs

PLANNERS: dict[str, type[DespotSettings | PomcpowSettings]] = {
    "magic": DespotSettings,
    "macro-despot": DespotSettings,
    "despot": DespotSettings,
    "pomcpow": PomcpowSettings,
}
"""The planners by name, and what their settings are made of."""
WITHOUT_MACRO_ACTIONS = {"despot": "DESPOT", "pomcpow": "POMCPOW"}
"""The planners that choose among primitive actions, and how they are written."""


def planner_settings(planner: str, **given: Any) -> DespotSettings | PomcpowSettings:
    """The settings of a planner of a name; of those given, the ones that are None have their defaults."""
    kind = PLANNERS[check_planner_name(planner)]
    given = _without_none(given)
    own = [item.name for item in dataclasses.fields(kind)]
    for name in given:
        if name not in own:
            raise ValueError(f"The setting {name} does not belong to {planner}, which has {', '.join(own)}.")
    return kind(**given)


def check_planner_name(name: str) -> str:
    """The name, or a ValueError if no planner is called so."""
    if name not in PLANNERS:
        raise ValueError(f"There is no planner {name!r}{nearest(name, PLANNERS)}; there are {', '.join(PLANNERS)}.")
    return name


@dataclass(frozen=True)
class PlannerChoice:
    """A planner by name, with its settings. Called with a task, it makes the planner."""

    name: str = "macro-despot"
    macro_length: int | None = None
    """Length of the macro-actions (default: the task's own; DESPOT and POMCPOW plan with primitive actions)."""
    budget: Budget | None = None
    """Of each plan (default: the seconds that the task has for a macro-action of this length)."""
    settings: DespotSettings | PomcpowSettings | None = None
    """Of the planner's own kind (default: its defaults)."""
    model: str | None = None
    """MAGIC's trained generator: the name of one that ships, or a file (default: the best that ships for the task)."""

    def __post_init__(self) -> None:
        kind = PLANNERS[check_planner_name(self.name)]
        if self.settings is not None and not isinstance(self.settings, kind):
            raise ValueError(
                f"The settings of {self.name} must be {kind.__name__}, not {type(self.settings).__name__}."
            )
        if self.macro_length is not None and self.macro_length < 1:
            raise ValueError(f"The macro length must be at least 1, not {self.macro_length}.")
        if self.name in WITHOUT_MACRO_ACTIONS and self.macro_length not in (None, 1):
            raise ValueError(
                f"{WITHOUT_MACRO_ACTIONS[self.name]} plans with primitive actions, so its macro length is 1, not "
                f"{self.macro_length}: use macro-despot for longer ones."
            )
        if self.model is not None and self.name != "magic":
            raise ValueError(f"Only the planner magic uses a model, not {self.name}.")

    def __call__(self, task: Task) -> MacroDespot | MagicPlanner | Pomcpow:
        settings, budget = self.settings or PLANNERS[self.name](), self.budget_for(task)
        if isinstance(settings, PomcpowSettings):
            return Pomcpow(task, settings, budget)
        if self.name == "magic":
            return MagicPlanner(task, self.model, settings, budget, self.macro_length)
        if self.name == "despot":
            macro_actions = MacroActions.repeat(task.actions(), 1)
        else:
            macro_actions = task.macro_actions(self.length(task))
        return MacroDespot(task, macro_actions, settings, budget)

    def length(self, task: Task) -> int:
        """Length of the macro-actions in a task."""
        if self.name == "magic":
            return find_model(task, self.model, self.macro_length).macro_length
        return 1 if self.name in WITHOUT_MACRO_ACTIONS else self.macro_length or task.macro_length

    def budget_for(self, task: Task) -> Budget:
        """Budget of a plan in a task."""
        return self.budget or Budget(seconds=task.plan_seconds(self.length(task)))


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The episodes of one planner in one task. `to_json()` has all statistics, `records` every episode."""

    task: str
    planner: str
    macro_length: int | None
    """Longest macro-action of the planner's set; None for a planner without one."""
    budget: Budget | None
    concurrent: bool
    """Whether each macro-action was planned while the one before it was carried out."""
    seed: int
    settings: dict[str, Any]
    task_parameters: dict[str, Any]
    records: tuple[EpisodeRecord, ...]
    """By the episodes' numbers."""
    complete: bool
    """False if it was interrupted before all episodes were finished."""
    code: str
    """A fingerprint of the code of task, planners and belief."""

    @property
    def return_mean(self) -> float:
        """Mean return."""
        return mean([record.total_return for record in self.records])

    @property
    def return_stderr(self) -> float:
        """Standard error of the mean return."""
        return standard_error([record.total_return for record in self.records])

    def share(self, outcome: str) -> float:
        """The share of episodes that ended as "success", "failure" or "unfinished"."""
        return mean([record.outcome == outcome for record in self.records])

    def __repr__(self) -> str:
        return (
            f"<{self.planner} on {self.task}: {len(self.records)} episodes, return {self.return_mean:.2f} ± "
            f"{self.return_stderr:.2f}, success {self.share('success'):.1%}>"
        )

    def _statistics(self) -> dict[str, float]:
        """What the task itself tells of its episodes; of those of which it does. What it tells of every step is a mean
        over the steps of all episodes."""
        found: dict[str, float] = {}
        for name in dict.fromkeys(name for record in self.records for name in record.statistics):
            told = [record for record in self.records if name in record.statistics]
            values = [record.statistics[name] for record in told]
            weights = [record.steps if name in record.step_statistics else 1 for record in told]
            found |= {f"{name}_mean": mean(values, weights), f"{name}_stderr": standard_error(values, weights)}
        return found

    def to_json(self) -> dict[str, Any]:
        """All of it as a JSON object. With a budget in steps, only `plan_seconds_*` and
        `plan_steps_per_second` depend on speed."""
        records = self.records
        discounted_returns = [record.discounted_return for record in records]
        seconds = [plan for record in records for plan in record.plan_seconds]
        simulated = [plan for record in records for plan in record.plan_steps]
        return {
            "task": self.task,
            "planner": self.planner,
            "macro_length": self.macro_length,
            "budget": _without_none(dataclasses.asdict(self.budget)) if self.budget else None,
            "concurrent": self.concurrent,
            "episodes": len(records),
            "seed": self.seed,
            "complete": self.complete,
            "return_mean": self.return_mean,
            "return_stderr": self.return_stderr,
            "discounted_return_mean": mean(discounted_returns),
            "discounted_return_stderr": standard_error(discounted_returns),
            "success_rate": self.share("success"),
            "failure_rate": self.share("failure"),
            "unfinished_rate": self.share("unfinished"),
            "steps_mean": mean([record.steps for record in records]),
            "plan_steps_mean": mean(simulated),
            "plan_steps_per_second": sum(simulated) / max(sum(seconds), 1e-9),
            "plan_seconds_p50": percentile(seconds, 50),
            "plan_seconds_p99": percentile(seconds, 99),
            "search_depth_mean": mean([plan for record in records for plan in record.plan_depths]),
            "search_depth_max_mean": mean([max(record.plan_depths, default=0) for record in records]),
            "nodes_mean": mean([plan for record in records for plan in record.plan_nodes]),
            "plans_cut_short": sum(record.plans_cut_short for record in records),
            "belief_error_mean": mean([record.belief_error for record in records]),
            "recoveries": sum(record.recoveries for record in records),
            "ignored": sum(record.ignored for record in records),
            **self._statistics(),
            "settings": self.settings,
            "task_parameters": self.task_parameters,
            "version": __version__,
            "code": self.code,
            "records": [record.to_json() for record in records],
        }


class EvaluationFailed(JobFailed):
    """An episode failed; holds what was finished."""

    def __init__(self, sentence: str, evaluation: Evaluation) -> None:
        super().__init__(sentence)
        self.evaluation = evaluation


class EvaluationInterrupted(KeyboardInterrupt):
    """Ctrl-C during an evaluation; holds what was finished."""

    def __init__(self, evaluation: Evaluation) -> None:
        super().__init__("The evaluation was interrupted.")
        self.evaluation = evaluation


def evaluate(
    task: Task,
    make_planner: Callable[[Task], Planner] | None = None,
    episodes: int = 100,
    seed: int = 0,
    workers: int | None = None,
    on_progress: Callable[[EpisodeRecord], None] | None = None,
    concurrent: bool | None = None,
) -> Evaluation:
    """Run episodes 0 … episodes − 1 in worker processes and report on them.

    `make_planner` is a PlannerChoice or anything picklable that makes a planner for a task (default: Macro-DESPOT with
    the task's own settings). `workers` are as many as there are cores, unless told otherwise; 0 runs all in this
    process. The results do not depend on their number. `on_progress` is called with each record as it comes;
    `concurrent` is that of `run_episode`.
    """
    check_numbers(episodes, seed)
    make_planner = make_planner or PlannerChoice()
    workers = available_cores() if workers is None else workers
    if workers > 0 and type(task).__module__ == "__main__" and not _is_file("__main__"):
        raise ValueError(f"Worker processes cannot find {type(task).__name__}: put it into a file, or use workers=0.")
    evaluation = describe(task, make_planner, seed, concurrent)  # bad settings are found here, before a worker starts
    records: dict[int, EpisodeRecord] = {}

    def so_far() -> Evaluation:
        by_number = tuple(records[episode] for episode in sorted(records))
        return dataclasses.replace(evaluation, records=by_number, complete=len(records) == episodes)

    try:
        job = _EpisodeJob(task, make_planner, seed, evaluation.concurrent)
        with closing(run_jobs(job, range(episodes), workers, "Episode")) as results:
            for episode, record in results:
                records[episode] = record
                if on_progress is not None:
                    on_progress(record)
    except KeyboardInterrupt:
        raise EvaluationInterrupted(so_far()) from None
    except JobFailed as failure:
        raise EvaluationFailed(str(failure), so_far()) from failure.__cause__
    return so_far()


def check_numbers(episodes: int, seed: int) -> None:
    """A ValueError if there are no such episodes."""
    if episodes < 1:
        raise ValueError(f"The number of episodes must be at least 1, not {episodes}.")
    if seed < 0:
        raise ValueError(f"The seed must be at least 0, not {seed}.")


@dataclass(frozen=True)
class _EpisodeJob:
    """What is sent to a worker; called there, it gives the function that runs an episode by its number."""

    task: Task
    make_planner: Callable[[Task], Planner]
    seed: int
    concurrent: bool

    def __call__(self) -> Callable[[int], EpisodeRecord]:
        planner = self.make_planner(self.task)
        warm_up(self.task, planner)
        return lambda episode: run_episode(self.task, planner, self.seed, episode, concurrent=self.concurrent)


def warm_up(task: Task, planner: Planner) -> None:
    """Compile the planner, or load it from disk, so that the time of the first plan is that of a search."""
    if isinstance(planner, MacroDespot | MagicPlanner | Pomcpow):
        context, state = draw_beginning(task, new_stream(0))
        belief = Belief(task, context, state[None])
        plan = planner.plan(belief, context, budget=Budget(steps=1))
        belief.update(plan.macro_action[0], np.zeros(task.observation_size))
        belief.error(state)
        if task.concurrent:
            belief.predict(plan.macro_action)
        belief.warm_up()


def describe(
    task: Task, make_planner: Callable[[Task], Planner], seed: int, concurrent: bool | None = None
) -> Evaluation:
    """An evaluation before its first episode: what is to be evaluated."""
    planner = make_planner(task)
    return Evaluation(
        task=task.name or type(task).__name__,
        planner=make_planner.name if isinstance(make_planner, PlannerChoice) else type(planner).__name__,
        macro_length=macro_length(planner),
        budget=getattr(planner, "budget", None),
        concurrent=plans_ahead(task, planner) if concurrent is None else concurrent,
        seed=seed,
        settings=_settings(task, planner),
        task_parameters=_parameters(task),
        records=(),
        complete=False,
        code=code_digest(type(task)),  # type: ignore[arg-type]
    )


def _settings(task: Task, planner: Planner) -> dict[str, Any]:
    """A planner's settings, with the task's own numbers where it leaves them to the task, and MAGIC's model."""
    settings = getattr(planner, "settings", None)
    if settings is None:
        return {}
    found = {
        name: getattr(task, name, None) if value is None else value
        for name, value in dataclasses.asdict(settings).items()
    }
    return {**found, "model": planner.model.label} if isinstance(planner, MagicPlanner) else found


def _parameters(task: Task) -> dict[str, Any]:
    given = [item.name for item in dataclasses.fields(task) if item.init]  # type: ignore[arg-type]
    values = {name: getattr(task, name) for name in given}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def _is_file(module: str) -> bool:
    """Whether a module comes from a file, and not from a prompt, a notebook or standard input."""
    return Path(getattr(sys.modules[module], "__file__", None) or "").is_file()


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
