"""What a training's workers do: run episodes with the generator as it is now, and bring back the experience."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.randomness import new_stream, stream_key
from magic_pomdp.core.saving import save_bytes
from magic_pomdp.core.settings import SettingValue
from magic_pomdp.core.task import Task
from magic_pomdp.learning.replay import Experience
from magic_pomdp.macros.spaces import MacroSpace, place, spread_out
from magic_pomdp.magic.generator import Features, Generator, draw_normal
from magic_pomdp.magic.planner import MagicPlanner, MagicSettings
from magic_pomdp.magic.shape import GeneratorShape
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.planners.macro_despot import MacroDespot
from magic_pomdp.planners.plan import Budget, Plan
from magic_pomdp.running.episode import EpisodeRecord, run_episode
from magic_pomdp.running.evaluating import warm_up

TRAINING, EVALUATION, FINAL, PROBE, BASELINE, FINAL_BASELINE = range(6)
"""Purposes of an episode. Each has its own luck, so that nothing is evaluated on the episodes it has learned from; but
the set to beat meets the same episodes as the generator that is compared with it."""
PURPOSES = ("training", "evaluation", "final evaluation", "trial", "baseline", "final baseline")
"""What people call them."""
MEETS = {BASELINE: EVALUATION, FINAL_BASELINE: FINAL}
"""Whose episodes the set to beat meets, for either purpose."""
LIVE, EVALUATED = range(2)
"""Rows of the board: the generator as it is now, and the one being evaluated."""
SAMPLING = 1
"""The stream, below a plan's seed, from which parameters are drawn."""


@dataclass(frozen=True)
class EpisodeJob:
    """An episode to run."""

    purpose: int
    number: int

    def __str__(self) -> str:
        return f"{self.number} of the {PURPOSES[self.purpose]}"


@dataclass(frozen=True)
class Collected:
    """What an episode brought."""

    record: EpisodeRecord
    experience: Experience | None
    """None from an evaluation, and from an episode that ended before its first plan."""


class WeightBoard:
    """The weights for all workers to see, in a file that they map into memory.

    A worker that reads while the learner writes finds some weights newer than others, which does no harm. Version 0
    means that there are no weights yet.
    """

    HEADER = 2

    def __init__(self, path: Path, weights: int, create: bool = False) -> None:
        size = self.HEADER * 8 + 2 * weights * 4
        if create:
            save_bytes(path, bytes(size))
        memory = np.memmap(path, np.uint8, mode="r+" if create else "r", shape=(size,))
        self._versions = memory[: self.HEADER * 8].view(np.int64)
        self._weights = memory[self.HEADER * 8 :].view(np.float32).reshape(2, weights)

    def write(self, row: int, weights: np.ndarray) -> None:
        self._weights[row] = weights
        self._versions[row] += 1

    def version(self, row: int) -> int:
        return int(self._versions[row])

    def read(self, row: int) -> np.ndarray:
        return np.array(self._weights[row])


@dataclass(frozen=True)
class Collecting:
    """What is sent to a worker; called there, it gives the function that runs an episode."""

    task: Task
    shape: GeneratorShape
    space: MacroSpace
    board: Path
    seed: int
    plan_steps: int
    evaluation_steps: int
    warmup_std: float | None
    """Of the noise on the handcrafted macro-actions of the warm-up; None if these begin anywhere."""
    handcrafted: tuple[int, ...]
    """Lengths of the set to beat."""
    searching: Mapping[str, SettingValue] = field(default_factory=dict)
    """Settings of the search that are other than the task advises, by name."""

    def __call__(self) -> Callable[[EpisodeJob], Collected]:
        collector = Collector(self)
        warm_up(self.task, collector.planner)
        return collector.run


class DrawnParameters:
    """Parameters that fit an episode's purpose: noisy ones to learn from, the mean ones to be judged."""

    def __init__(self, setup: Collecting) -> None:
        self.space = setup.space
        self.purpose = TRAINING
        self.particles = self.context = self.parameters = np.empty(0)
        """What the networks saw of the last belief and context, and what was drawn for them."""
        self._shape, self._warmup_std = setup.shape, setup.warmup_std
        self._board = WeightBoard(setup.board, setup.shape.weight_count)
        self._features = Features(setup.task, setup.shape)
        self._generator: Generator | None = None
        self._known = (-1, -1)

    def __call__(
        self, belief: Belief | np.ndarray, context: np.ndarray | None, seed: int | np.uint64 = 0
    ) -> np.ndarray:
        self.particles, self.context = self._features(belief, context)
        generator = self._current(LIVE if self.purpose == TRAINING else EVALUATED)
        if generator is None:
            noise = draw_normal(new_stream(seed, SAMPLING), self.space.start.shape)
            self.parameters = self._unlearned(noise)
        elif self.purpose == TRAINING:
            self.parameters = generator.sample(self.particles, self.context, new_stream(seed, SAMPLING))
        else:
            self.parameters = generator.mean(self.particles, self.context)
        return self.parameters

    def _unlearned(self, noise: np.ndarray) -> np.ndarray:
        """Parameters for the warm-up."""
        if self._warmup_std is None:
            return spread_out(noise, self.space.kind)
        return place(self.space.start + self._warmup_std * noise, self.space.kind)

    def _current(self, row: int) -> Generator | None:
        version = self._board.version(row)
        if version > 0 and self._known != (row, version):
            self._generator, self._known = Generator(self._shape, self._board.read(row)), (row, version)
        return self._generator if version > 0 else None


class Collector:
    """A worker: one planner, the one that will use the generator, and for the handcrafted set one of its own."""

    def __init__(self, setup: Collecting) -> None:
        self.setup, self.task = setup, setup.task
        self.source = DrawnParameters(setup)
        chosen = MagicSettings.advised(setup.task, **setup.searching)
        self.planner = MagicPlanner(setup.task, chosen, source=self.source)
        unrefined = dataclasses.replace(chosen, refine=0.0)  # values of the very set that was drawn teach more
        self._teacher = MagicPlanner(setup.task, unrefined, source=self.source) if chosen.refine > 0.0 else self.planner
        self._rows: list[tuple[np.ndarray | float, ...]] = []

    def run(self, job: EpisodeJob) -> Collected:
        """Run an episode, planning ahead where the task does not wait: so will whoever uses the generator."""
        self.source.purpose, self._rows = job.purpose, []
        seed = purpose_seed(self.setup.seed, MEETS.get(job.purpose, job.purpose))
        record = run_episode(self.task, self, seed, job.number, plans_ahead=self.task.concurrent)
        if job.purpose != TRAINING or not self._rows:  # an episode may end before the first plan
            return Collected(record, None)
        columns = zip(*self._rows, strict=True)
        return Collected(record, Experience(*(np.array(column, dtype=np.float32) for column in columns)))

    def plan(
        self,
        belief: Belief | np.ndarray,
        context: np.ndarray | None = None,
        *,
        budget: Budget | None = None,
        seed: int | np.uint64 = 0,
    ) -> Plan:
        """Plan with the budget of the episode's purpose, and keep what there is to learn from."""
        training = self.source.purpose == TRAINING
        if self.source.purpose in MEETS:
            budget = Budget(steps=self.setup.evaluation_steps)
            return self._handcrafted.plan(belief, context, budget=budget, seed=seed)
        budget = budget or Budget(steps=self.setup.plan_steps if training else self.setup.evaluation_steps)
        if not training:
            return self.planner.plan(belief, context, budget=budget, seed=seed)
        plan = self._teacher.plan(belief, context, budget=budget, seed=seed)
        self._rows.append(self._learned(plan))
        return plan

    @cached_property
    def _handcrafted(self) -> MacroDespot:
        return MacroDespot(self.task, settings=MacroDespotSettings.of_lengths(self.task, self.setup.handcrafted))

    def _learned(self, found: Plan) -> tuple[np.ndarray | float, ...]:
        """An experience of one plan: what the search found with the parameters that were drawn for it."""
        source = self.source
        assert found.values is not None
        drawn, fixed = np.split(found.values, [source.space.count])
        floor = fixed.max(initial=-np.inf)
        return source.particles, source.context, source.parameters, found.value, drawn, floor


def purpose_seed(seed: int, purpose: int) -> int:
    """The seed of a training's episodes of some purpose; far from those that a person would choose."""
    return int(stream_key(seed, 1 + purpose)) >> 1
