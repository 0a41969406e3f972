"""How good a planner is: many episodes, and what they add up to."""

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.compiling import code_digest
from magic_pomdp.core.parameters import derived_digest, parameter_values
from magic_pomdp.core.randomness import check_seed, new_stream
from magic_pomdp.core.settings import Settings, SettingValue
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.planners.plan import Budget, Planner
from magic_pomdp.results.evaluation import Evaluation, Question, add_up
from magic_pomdp.running.episode import EpisodeRecord, longest_macro_action, planning_ahead, run_episode
from magic_pomdp.running.factory import PlannerFactory
from magic_pomdp.running.where import cores_at_hand
from magic_pomdp.running.workers import JobFailed, run_jobs
from magic_pomdp.running.world import SimulatedWorld, World, WorldFactory, draw_beginning

MOST_EPISODES = 100_000
"""Of an evaluation: a file of results can hold so many."""
MakePlanner = Callable[[Task], Planner]
"""What makes a planner for a task: a PlannerFactory, or anything else that can be sent to worker processes."""
MakeWorld = Callable[[Task], World]
"""What makes the world of a task, likewise."""


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
    planner: str | MakePlanner | None = None,
    episodes: int = 100,
    seed: int = 0,
    workers: int | None = None,
    on_progress: Callable[[EpisodeRecord], None] | None = None,
    plans_ahead: bool | None = None,
    world: MakeWorld = SimulatedWorld,
    known: Sequence[EpisodeRecord] = (),
) -> Evaluation:
    """Run episodes 0 … episodes − 1 in worker processes. Gives their mean return with its standard error, and more.

    - `planner` is a name, a `PlannerFactory`, or anything picklable that makes a planner for a task. Default: the
      registry's default with the task's advice.
    - `seed` decides all chance, with the number of the episode: planners meet the same episodes.
    - `workers` are as many as there are cores, unless told otherwise; 0 runs all in this process. The results do not
      depend on their number.
    - `on_progress` is called with each record as it comes.
    - `plans_ahead` is that of `Episode`.
    - `world` makes the world of a task. Default: the task's own simulator.
    - `known` episodes, of the same evaluation when it was stopped, are not run again.
    """
    check_numbers(episodes, seed)
    make_planner = planner_maker(planner)
    workers = cores_at_hand() if workers is None else workers
    if workers > 0 and type(task).__module__ == "__main__" and not _is_file("__main__"):
        raise ValueError(f"Worker processes cannot find {type(task).__name__}: put it into a file, or use workers=0.")
    asked = describe(
        task, make_planner, seed, plans_ahead, world
    )  # bad settings are found here, before a worker starts
    records = {record.result.episode: record for record in known if record.result.episode < episodes}

    def so_far() -> Evaluation:
        return add_up(asked, [records[episode] for episode in sorted(records)], len(records) == episodes)

    missing = [episode for episode in range(episodes) if episode not in records]
    if not missing:
        return so_far()
    try:
        job = _EpisodeJob(task, make_planner, world, seed, asked.concurrent)
        with closing(run_jobs(job, missing, workers, "Episode")) as results:
            for episode, record in results:
                records[episode] = record
                if on_progress is not None:
                    on_progress(record)
    except KeyboardInterrupt:
        raise EvaluationInterrupted(so_far()) from None
    except JobFailed as failure:
        raise EvaluationFailed(str(failure), so_far()) from failure.__cause__
    return so_far()


def planner_maker(planner: str | MakePlanner | None) -> MakePlanner:
    """What makes the planner that somebody has asked for."""
    if planner is None or isinstance(planner, str):
        return PlannerFactory(planner) if planner else PlannerFactory()
    return planner


def check_numbers(episodes: int, seed: int) -> None:
    """A ValueError if there are no such episodes."""
    if episodes < 1:
        raise ValueError(f"The number of episodes must be at least 1, not {episodes}.")
    if episodes > MOST_EPISODES:
        raise ValueError(f"The number of episodes must be at most {MOST_EPISODES:,}, not {episodes}.")
    check_seed(seed)


@dataclass(frozen=True)
class _EpisodeJob:
    """What is sent to a worker; called there, it gives the function that runs an episode by its number."""

    task: Task
    make_planner: MakePlanner
    make_world: MakeWorld
    seed: int
    plans_ahead: bool

    def __call__(self) -> Callable[[int], EpisodeRecord]:
        planner, world = self.make_planner(self.task), self.make_world(self.task)
        warm_up(self.task, planner, self.plans_ahead)
        return lambda number: run_episode(
            self.task, planner, self.seed, number, plans_ahead=self.plans_ahead, world=world
        )


def warm_up(task: Task, planner: Planner, plans_ahead: bool | None = None) -> None:
    """Compile the planner for a task, or load it from disk, so that the time of the first plan is that of a search.
    `plans_ahead` says whether beliefs will be predicted, too; by default, if the task's world does not wait."""
    context, state = draw_beginning(task, new_stream(0))
    belief = Belief(task, context, state[None])
    plan = planner.plan(belief, context, budget=Budget(steps=1))
    belief.update(plan.macro_action[0], np.zeros(task.observation_size))
    belief.error(state)
    if task.concurrent if plans_ahead is None else plans_ahead:
        belief.predict(plan.macro_action)
    belief.warm_up()


def describe(
    task: Task,
    make_planner: MakePlanner,
    seed: int,
    plans_ahead: bool | None = None,
    make_world: MakeWorld = SimulatedWorld,
) -> Question:
    """What an evaluation asks, before its first episode."""
    planner = make_planner(task)
    named = make_world if isinstance(make_world, WorldFactory) else None
    factory = make_planner if isinstance(make_planner, PlannerFactory) else None
    return Question(
        task=task_name(task),
        planner=factory.name if factory else type(planner).__name__,
        label=factory.label if factory else "",
        macro_length=longest_macro_action(planner),
        budget=getattr(planner, "budget", None),
        concurrent=planning_ahead(task, planner) if plans_ahead is None else plans_ahead,
        seed=seed,
        settings=_settings(planner),
        task_parameters=parameter_values(task),
        code=_fingerprint(task),
        world=named.label if named else "",
        world_settings=named.settings.values() if named else {},
        identified=named.identified if named else "",
    )


def _fingerprint(task: Task) -> str:
    """Of all that is no parameter, but makes a difference: code, and what the task has read or derived."""
    code, derived = code_digest(type(task)), derived_digest(task)  # type: ignore[arg-type]  # it is hashable
    return f"{code}-{derived}" if derived else code


def _settings(planner: Planner) -> dict[str, SettingValue]:
    settings = getattr(planner, "settings", None)
    return settings.values() if isinstance(settings, Settings) else {}


def _is_file(module: str) -> bool:
    """Whether a module comes from a file, and not from a prompt, a notebook or standard input."""
    return Path(getattr(sys.modules[module], "__file__", None) or "").is_file()
