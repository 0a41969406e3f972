"""How much is spent on the paper's tables: budgets, episodes and trainings."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from magic_pomdp.learning.settings import TrainSettings

LIGHT_DARK, PUCK_PUSH, CROWD_DRIVING = "light-dark", "puck-push", "crowd-driving"
TASKS = (LIGHT_DARK, PUCK_PUSH, CROWD_DRIVING)
_COMMON: dict[str, dict[str, Any]] = {
    LIGHT_DARK: {"plan_steps": 300_000},
    PUCK_PUSH: {"plan_steps": 100_000, "warmup_std": 0.2, "learn_lengths": False},
    CROWD_DRIVING: {
        **{"plan_steps": 30_000, "particles": 8, "batch": 64, "warmup": 1_000, "warmup_std": 0.4},
        **{"std": 0.15, "std_max": 0.3, "learn_lengths": False},
    },
}
"""What all trainings for a task share: mostly what the generators that ship were learned with."""
_LEARNED: dict[str, dict[str, Any]] = {
    LIGHT_DARK: {"macro_length": 16, "lengths": "8", "evaluation_episodes": 200},
    PUCK_PUSH: {"macro_length": 2, "evaluation_episodes": 100},
    CROWD_DRIVING: {"macro_length": 3, "evaluation_episodes": 16},
}
"""What those share beside it whose generators plan as those that ship do."""
_SHORT: dict[str, Any] = {"minutes": None, "workers": 0, "warmup": 60, "batch": 32, "checkpoint_minutes": 60.0}
"""A training that shows no more than that it works; in one process, so that it is evaluated as often as it should."""


@dataclass(frozen=True)
class Effort:
    """How much is spent."""

    name: str
    """What the folder of the results is called after it."""
    seed: int
    """Of all episodes; nothing was tuned on it."""
    episodes: Mapping[str, int]
    """Of an evaluation, by the task."""
    transferred: int
    """Of an evaluation in another world than the task's simulator."""
    cells: Mapping[str, int]
    """Of a cell of the appendix's table, by the task; with the paper's steps."""
    timed_cells: Mapping[str, int]
    """The same, with the task's own time."""
    learned: Mapping[str, Mapping[str, Any]]
    """Changes of a training's settings, by the task."""
    learned_cell: Mapping[str, Any]
    """Changes of a cell's training."""
    haste: float = 1.0
    """The share of the paper's budgets that a plan gets."""
    by_task: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Changes of all trainings, by the task."""

    def training(self, task: str) -> TrainSettings:
        """How a generator is learned that plans as the one that ships."""
        return _settings(task, _LEARNED[task], self.learned[task], self.by_task.get(task, {}))

    def cell(self, task: str, conditioning: str, length: int) -> TrainSettings:
        """How a generator of a cell of the appendix's table is learned. Every cell gets the same time."""
        asked = {"macro_length": length, "conditioning": conditioning, "learn_lengths": False}
        return _settings(task, asked, self.learned_cell, self.by_task.get(task, {}))

    def with_seed(self, seed: int) -> "Effort":
        """The same on other episodes."""
        return dataclasses.replace(self, seed=seed)


def _settings(task: str, *changes: Mapping[str, Any]) -> TrainSettings:
    merged: dict[str, Any] = {"keep": 1, **_COMMON[task]}  # checkpoints are large, and there are many trainings
    for change in changes:
        merged.update(change)
    return TrainSettings(**merged)


def _each(*values: int) -> dict[str, int]:
    return dict(zip(TASKS, values, strict=True))


def _minutes(*values: float) -> dict[str, dict[str, Any]]:
    return {
        task: {"minutes": minutes, "evaluate_minutes": minutes / 6.0}
        for task, minutes in zip(TASKS, values, strict=True)
    }


QUICK = Effort(
    name="quick",
    seed=4_000,
    episodes=_each(8, 6, 3),
    transferred=2,
    cells=_each(4, 3, 2),
    timed_cells=_each(4, 3, 2),
    learned={task: {**_SHORT, "updates": 60, "evaluate_updates": 15, "evaluation_episodes": 4} for task in TASKS},
    learned_cell={**_SHORT, "updates": 20, "evaluate_updates": 20, "evaluation_episodes": 2},
    haste=0.05,
    by_task={
        LIGHT_DARK: {"plan_steps": 5_000},
        PUCK_PUSH: {"plan_steps": 2_000},
        CROWD_DRIVING: {"plan_steps": 500, "evaluation_episodes": 2},
    },
)
"""Minutes: the shape of the thing."""
EVENING = Effort(
    name="default",
    seed=5_000,
    episodes=_each(400, 200, 60),
    transferred=30,
    cells=_each(200, 100, 60),
    timed_cells=_each(60, 60, 10),
    learned=_minutes(10.0, 20.0, 12.0),
    learned_cell={"minutes": 1.0, "warmup": 500, "evaluate_minutes": 0.5, "evaluation_episodes": 10},
)
"""An evening on two cores."""
FULL = Effort(
    name="full",
    seed=5_000,
    episodes=_each(5_000, 2_000, 2_000),
    transferred=200,
    cells=_each(1_000, 1_000, 1_000),
    timed_cells=_each(1_000, 1_000, 1_000),
    learned=_minutes(25.0, 60.0, 60.0),
    learned_cell={"minutes": 25.0, "evaluate_minutes": 6.0, "evaluation_episodes": 50},
)
"""About as many episodes as the paper's standard errors tell of."""
