"""What a training finds out by itself before it begins: how much to plan, and which lengths to set out from."""

import dataclasses
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.reading import Damaged
from magic_pomdp.core.settings import SettingValue
from magic_pomdp.core.statistics import mean, with_error
from magic_pomdp.core.task import Task
from magic_pomdp.learning.collecting import PROBE, purpose_seed
from magic_pomdp.learning.question import read_question
from magic_pomdp.learning.settings import SETTINGS, TrainSettings
from magic_pomdp.macros.lengths import space_of_lengths
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.planners.macro_despot import MacroDespot
from magic_pomdp.planners.plan import BUDGET_USED, Budget
from magic_pomdp.planners.refining import ENOUGH
from magic_pomdp.running.episode import run_episode
from magic_pomdp.running.evaluating import warm_up
from magic_pomdp.running.workers import run_jobs
from magic_pomdp.running.world import SimulatedWorld

Lengths = tuple[int, ...]

CANDIDATES: tuple[Lengths, ...] = (
    (1,), (2,), (4,), (8,), (16,), (2, 1), (4, 1), (8, 2), (16, 4), (4, 2, 1), (8, 3, 1), (12, 4, 1), (16, 6, 2),
)  # fmt: skip
"""Lengths that a handcrafted set is tried with, where the task advises none."""
_SHARE = 1.0 / 40.0
"""Of the time that a plan has in the end, how much it gets in training: many plans teach more than good ones."""
_BETTER = 4
"""An evaluation's plan has so many times as many steps."""
_MOST_SHARE = 0.15
"""Of a training's minutes, how many may go into trying lengths; twice as many until each has met `_LEAST`."""
_LEAST = 3
"""Episodes without which nothing is known of a set."""
_ROUNDS = ((8, 5), (16, 2), (32, 1))
"""Episodes with every set that is left, and how many sets are left after them."""


@dataclass(frozen=True)
class Tried:
    """What a handcrafted set returned."""

    lengths: Lengths
    returns: tuple[float, ...]

    def __str__(self) -> str:
        return f"{_words(self.lengths)}: {with_error(mean(self.returns), self.returns)}"


def settle(
    task: Task, settings: TrainSettings, folder: Path, resume: bool, say: Callable[[str], None]
) -> TrainSettings:
    """Settings in which nothing is open any more. A training that is resumed goes on with what it had found."""
    if resume:
        settings = _filled(settings, _stored(folder))
    if settings.plan_steps is None and not settings.counted:
        say("Measuring how many steps a plan can have. Compiling comes first; no time counts before it is over.")
        steps = _affordable_steps(task, settings)
        better = settings.evaluation_steps or _BETTER * steps
        settings = dataclasses.replace(settings, plan_steps=steps, evaluation_steps=better)
    if settings.handcrafted is None:
        settings = dataclasses.replace(settings, handcrafted=_words(_found_lengths(task, settings, say)))
    if settings.lengths is None:
        settings = dataclasses.replace(
            settings, lengths=_words(settings.lengths_in(task) or (settings.length_in(task),))
        )
    return settings


def _stored(folder: Path) -> Mapping[str, SettingValue]:
    try:
        return read_question(folder / SETTINGS).settings
    except Damaged:
        return {}  # whoever goes on from its checkpoints will say so


def _filled(settings: TrainSettings, stored: Mapping[str, SettingValue]) -> TrainSettings:
    """Settings, with what is open in them as it is stored."""
    known = {name: stored.get(name) for name in ("handcrafted", "lengths", "plan_steps")}
    if settings.plan_steps is None:
        known["evaluation_steps"] = stored.get("evaluation_steps")
    return dataclasses.replace(
        settings,
        **{name: value for name, value in known.items() if getattr(settings, name) is None},  # type: ignore[arg-type]
    )


def _affordable_steps(task: Task, settings: TrainSettings) -> int:
    """How many primitive steps a search on one core makes in a small part of the time that a plan has, or more if it
    knows too little by then: two digits of them. What counts is the processor's time, however busy the machine is."""
    advised = MacroDespotSettings.advised(task, **settings.searching())
    seconds = task.plan_seconds(advised.macro_length)
    alone = dataclasses.replace(advised, threads=1)
    space = space_of_lengths(task, settings.length_in(task), settings.lengths_in(task))
    planner = MacroDespot(task, space.decode(space.start), alone, Budget(seconds=_SHARE * seconds))
    warm_up(task, planner)
    belief = Belief.initial(task, SimulatedWorld(task).begin(0, 0).context)
    rates = []
    for number in range(5):
        started = time.process_time()
        steps = planner.plan(belief, seed=number).steps
        rates.append(steps / max(time.process_time() - started, 1e-6))
    most = seconds * median(rates)
    affordable = _SHARE * most
    while affordable < most and _knows_too_little(planner, belief, affordable):
        affordable = min(2.0 * affordable, most)
    return _two_digits(affordable)


def _knows_too_little(planner: MacroDespot, belief: Belief, steps: float) -> bool:
    """Whether a search of so many steps expands too few nodes for its values to teach anything."""
    plan = planner.plan(belief, budget=Budget(steps=_two_digits(steps)), seed=0)
    return plan.nodes < ENOUGH and plan.stopped_by == BUDGET_USED


def _two_digits(steps: float) -> int:
    return max(1, int(float(f"{steps:.1e}")))


def _found_lengths(task: Task, settings: TrainSettings, say: Callable[[str], None]) -> Lengths:
    advised = MacroDespotSettings.advised(task)
    candidates = [lengths for lengths in CANDIDATES if lengths[0] <= advised.search_depth]
    if advised.lengths == (1,) and settings.macro_length is not None:
        return (settings.macro_length,)
    if advised.lengths != (1,) or settings.counted or len(candidates) == 1:
        return advised.lengths
    say(f"The task advises no lengths of macro-actions, so {len(candidates)} handcrafted sets are tried.")
    tried = try_lengths(task, settings, candidates)
    for one in tried:
        say(f"  {one}")
    if len(tried[0].returns) < sum(episodes for episodes, _ in _ROUNDS):
        say("There was no time to try them in more episodes: --handcrafted names a set that you know to be better.")
    say(f"The set of lengths {_words(tried[0].lengths)} returned most: it is the set to beat.")
    return tried[0].lengths


def try_lengths(task: Task, settings: TrainSettings, candidates: list[Lengths]) -> list[Tried]:
    """Handcrafted sets of some lengths, the best first: all of them in a few episodes, the better ones in more. Where
    time is short there are fewer."""
    returns: dict[Lengths, list[float]] = {lengths: [] for lengths in candidates}
    left, done = candidates, 0

    def best_first(some: Collection[Lengths]) -> list[Lengths]:
        return sorted(some, key=lambda lengths: mean(returns[lengths]), reverse=True)

    in_time = _Limit(60.0 * _MOST_SHARE * (60.0 if settings.minutes is None else settings.minutes), returns)
    setup = _Probing(task, settings.training_budget, settings.seed)
    for episodes, kept in _ROUNDS:
        jobs = [_ProbeJob(lengths, number) for number in range(done, done + episodes) for lengths in left]
        with closing(run_jobs(setup, jobs, max(1, settings.worker_count), "Trial")) as results:
            for job, total in results:
                returns[job.lengths].append(total)
                if in_time.is_over():
                    break
        left, done = best_first(left), done + episodes
        if in_time.is_over():
            break
        left = left[:kept]
    return [Tried(lengths, tuple(returns[lengths])) for lengths in [*left, *best_first(returns.keys() - set(left))]]


class _Limit:
    """When there is no time for more trials: compiling does not count, and some episodes are made in any case."""

    def __init__(self, seconds: float, returns: Mapping[Lengths, list[float]]) -> None:
        self._seconds, self._returns = seconds, returns
        self._started: float | None = None

    def is_over(self) -> bool:
        """To be asked after each episode."""
        now = time.monotonic()
        self._started = now if self._started is None else self._started
        spent, fewest = now - self._started, min(map(len, self._returns.values()))
        return spent > self._seconds and fewest >= (_LEAST if spent < 2.0 * self._seconds else 1)


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
