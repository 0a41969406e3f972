"""What a training finds out by itself before it begins: how much to plan, and which lengths to set out from."""

import dataclasses
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.reading import Damaged
from magic_pomdp.core.settings import SettingValue
from magic_pomdp.core.statistics import mean, standard_error
from magic_pomdp.core.task import Task
from magic_pomdp.learning.collecting import PROBE, purpose_seed
from magic_pomdp.learning.question import read_question
from magic_pomdp.learning.settings import SETTINGS, TrainSettings
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.planners.macro_despot import MacroDespot
from magic_pomdp.planners.plan import Budget
from magic_pomdp.running.episode import run_episode
from magic_pomdp.running.evaluating import warm_up
from magic_pomdp.running.workers import run_jobs
from magic_pomdp.running.world import SimulatedWorld

Lengths = tuple[int, ...]

CANDIDATES: tuple[Lengths, ...] = (
    (1,), (2,), (4,), (8,), (16,), (2, 1), (4, 1), (8, 2), (16, 4), (4, 2, 1), (8, 3, 1), (12, 4, 1), (16, 6, 2),
)  # fmt: skip
"""Lengths that a handcrafted set is tried with, where the task advises none."""
_SHARE = 0.2
"""Of the time that a plan has in the end, how much it gets in training: the sets that matter differ there already."""
_MOST_SHARE = 0.15
"""Of a training's minutes, how many may go into trying lengths."""
_ROUNDS = ((8, 5), (16, 2), (32, 1))
"""Episodes with every set that is left, and how many sets are left after them."""


@dataclass(frozen=True)
class Tried:
    """What a handcrafted set returned."""

    lengths: Lengths
    returns: tuple[float, ...]

    def __str__(self) -> str:
        return f"{_words(self.lengths)}: {mean(self.returns):.1f} ± {standard_error(self.returns):.1f}"


def settle(
    task: Task, settings: TrainSettings, folder: Path, resume: bool, say: Callable[[str], None]
) -> TrainSettings:
    """Settings in which nothing is open any more. A training that is resumed goes on with what it had found."""
    if resume:
        settings = _filled(settings, _stored(folder))
    if settings.plan_steps is None and not settings.counted:
        settings = dataclasses.replace(settings, plan_steps=_affordable_steps(task, settings))
        say(f"A plan in training has {settings.training_budget:,} steps, a fifth of what it has time for in use.")
    if settings.handcrafted is None:
        settings = dataclasses.replace(settings, handcrafted=_words(_found_lengths(task, settings, say)))
    if settings.lengths is None:
        settings = dataclasses.replace(
            settings, lengths=_words(settings.lengths_in(task) or (settings.length_in(task),))
        )
        if not resume:
            say(f"Learning sets out from {settings.start} macro-actions of length {settings.lengths}.")
    return settings


def _stored(folder: Path) -> Mapping[str, SettingValue]:
    try:
        return read_question(folder / SETTINGS).settings
    except Damaged:
        return {}  # whoever goes on from its checkpoints will say so


def _filled(settings: TrainSettings, stored: Mapping[str, SettingValue]) -> TrainSettings:
    """Settings, with what is open in them as it is stored."""
    known = {name: stored.get(name) for name in ("handcrafted", "lengths", "plan_steps")}
    return dataclasses.replace(
        settings,
        **{name: value for name, value in known.items() if getattr(settings, name) is None},  # type: ignore[arg-type]
    )


def _affordable_steps(task: Task, settings: TrainSettings) -> int:
    """How many primitive steps a search on one core makes in a small part of the time that a plan has: two digits of
    them. What counts is the processor's time, however busy the machine is."""
    advised = MacroDespotSettings.advised(task, **settings.searching())
    seconds = _SHARE * task.plan_seconds(advised.macro_length)
    planner = MacroDespot(task, settings=dataclasses.replace(advised, threads=1), budget=Budget(seconds=seconds))
    warm_up(task, planner)
    belief = Belief.initial(task, SimulatedWorld(task).begin(0, 0).context)
    rates = []
    for number in range(5):
        started = time.process_time()
        steps = planner.plan(belief, seed=number).steps
        rates.append(steps / max(time.process_time() - started, 1e-6))
    return max(1, int(float(f"{seconds * median(rates):.1e}")))


def _found_lengths(task: Task, settings: TrainSettings, say: Callable[[str], None]) -> Lengths:
    advised = MacroDespotSettings.advised(task)
    candidates = [lengths for lengths in CANDIDATES if lengths[0] <= advised.search_depth]
    if advised.lengths == (1,) and settings.macro_length is not None:
        return (settings.macro_length,)
    if advised.lengths != (1,) or settings.counted or len(candidates) == 1:
        return advised.lengths
    say(f"The task advises no lengths of macro-actions, so {len(candidates)} handcrafted sets are tried.")
    tried = try_lengths(task, settings, candidates)
    for one in tried[:5]:
        say(f"  {one}, in {len(one.returns)} episodes")
    say(f"The set of lengths {_words(tried[0].lengths)} returned most: learning is compared with it.")
    return tried[0].lengths


def try_lengths(task: Task, settings: TrainSettings, candidates: list[Lengths]) -> list[Tried]:
    """Handcrafted sets of some lengths, the best first: all of them in a few episodes, the better ones in more. Where
    time is short there are fewer."""
    minutes = 60.0 if settings.minutes is None else settings.minutes
    until = time.monotonic() + 60.0 * _MOST_SHARE * minutes
    returns: dict[Lengths, list[float]] = {lengths: [] for lengths in candidates}
    left, done = candidates, 0

    def best_first() -> list[Lengths]:
        return sorted(left, key=lambda lengths: mean(returns[lengths]), reverse=True)

    setup = _Probing(task, settings.training_budget, settings.seed)
    for episodes, kept in _ROUNDS:
        jobs = [_ProbeJob(lengths, number) for number in range(done, done + episodes) for lengths in left]
        with closing(run_jobs(setup, jobs, max(1, settings.worker_count), "Trial")) as results:
            for job, total in results:
                returns[job.lengths].append(total)
                if time.monotonic() > until and all(returns.values()):
                    return [Tried(lengths, tuple(returns[lengths])) for lengths in best_first()]
        left, done = best_first()[:kept], done + episodes
    others = sorted(returns.keys() - set(left), key=lambda lengths: mean(returns[lengths]), reverse=True)
    return [Tried(lengths, tuple(returns[lengths])) for lengths in [*left, *others]]


@dataclass(frozen=True)
class _ProbeJob:
    """An episode with a handcrafted set."""

    lengths: Lengths
    number: int

    def __str__(self) -> str:
        return f"{self.number} of the lengths {_words(self.lengths)}"


@dataclass(frozen=True)
class _Probing:
    """What is sent to a worker; called there, it gives the function that runs an episode."""

    task: Task
    plan_steps: int
    seed: int

    def __call__(self) -> Callable[[_ProbeJob], float]:
        planner = MacroDespot(self.task, budget=Budget(steps=self.plan_steps))
        seed = purpose_seed(self.seed, PROBE)

        def run(job: _ProbeJob) -> float:
            planner.macro_actions = MacroDespotSettings.of_lengths(self.task, job.lengths).handcrafted(self.task)
            return run_episode(self.task, planner, seed, job.number, plans_ahead=self.task.concurrent).total_return

        return run


def _words(lengths: Lengths) -> str:
    return ",".join(map(str, lengths))
