"""Which observations a search takes for the same, in a task that does not say.

If every sampled future of a search observes something else, each is alone in its branch, and the search plans as if it
knew what is to come. So observations are grouped into cells that are a few times as wide as their noise: that keeps
futures together that the robot could not tell apart.
"""

from typing import Any

import numpy as np

from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.core.task import Task

CELL_WIDTH = 5.0
"""Width of a cell in standard deviations of the noise."""
_SITUATIONS, _EPISODE, _REPEATS = 64, 8, 16
"""States in which the noise is measured, how many of them follow each other, and how often each is left by the same
action."""
NORMAL_QUARTILES = 1.349
"""How far apart the quartiles of a normal distribution are, in standard deviations."""


def observation_cells(task: Task) -> np.ndarray:
    """The width of a cell in each number of an observation, shape (observation_size,); empty if the task has a key of
    its own. Where there are only whole numbers, each is a cell; where there is no noise, what varies is cut in ten."""
    if type(task).observation_key is not Task.observation_key:
        return np.empty(0)
    seen = _observe(task)
    low, high = np.percentile(seen, (25.0, 75.0), axis=1)
    noise = np.array([_typical(column) for column in ((high - low) / NORMAL_QUARTILES).T])
    spread = seen.std(axis=(0, 1))
    cells = np.where(noise > 0.0, CELL_WIDTH * noise, 0.3 * spread)
    whole = (seen == np.round(seen)).all(axis=(0, 1))
    return np.where(whole | (cells <= 0.0), 1.0, cells)


def _observe(task: Any) -> np.ndarray:
    """Observations after the same action in the same state, for many of both; shape (situations, repeats, size)."""
    actions, choose = task.actions(), np.random.default_rng(0)
    context, state = np.zeros(task.context_size), np.zeros(task.state_size)
    seen = np.zeros((_SITUATIONS, _REPEATS, task.observation_size))
    outcome = Outcome.RUNNING
    for situation in range(_SITUATIONS):
        random = new_stream(0, situation)
        if outcome != Outcome.RUNNING or situation % _EPISODE == 0:
            task.draw_context(random, context)
            task.draw_state(context, random, state)
        action = actions[choose.integers(len(actions))]
        for repeat in range(_REPEATS):
            task.step(context, state.copy(), action, random, seen[situation, repeat])
        _, outcome = task.step(context, state, action, random, np.zeros(task.observation_size))
    return seen


def _typical(noise: np.ndarray) -> float:
    """The median of the situations in which there is noise at all."""
    noisy = noise[noise > 0.0]
    return float(np.median(noisy)) if len(noisy) else 0.0
