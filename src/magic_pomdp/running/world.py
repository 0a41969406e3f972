"""What really happens: the world that an episode runs in.

The task's own simulator is one world. A robot, a Gymnasium environment or another simulator is another: whoever writes
the two functions of `World` has one. Belief and planner cannot tell which it is, for nothing but what it observes
reaches them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from magic_pomdp.core.compiling import kernel
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import new_stream, seek, stream_key
from magic_pomdp.core.settings import Settings
from magic_pomdp.core.task import Task
from magic_pomdp.core.views import borrow

BEGINNING, HAPPENING, BELIEVING, PLANNING = range(4)
"""What a random stream of an episode is for. The world's noise at a time is the same whatever was done before."""


class Beginning(NamedTuple):
    """How an episode begins."""

    context: np.ndarray
    """What is known, and fixed, for the episode; shape (context_size,)."""
    observation: np.ndarray | None = None
    """What is observed before the first action, if anything is; shape (observation_size,)."""


class Happening(NamedTuple):
    """What an action leads to."""

    observation: np.ndarray
    """What is observed; shape (observation_size,)."""
    reward: float
    """What was earned."""
    outcome: Outcome
    """How the episode stands: running, or how it has ended."""


class World(Protocol):
    """What really happens in an episode. One with a camera may also have a `picture`: what the camera has sent last, a
    JPEG, which recordings keep. One in which something may go wrong may count that in `faults`, by name, anew in each
    episode: results keep it beside the task's statistics."""

    @property
    def state(self) -> np.ndarray | None:
        """The true state now, shape (state_size,), from a world that knows it: for records and pictures alone."""

    def begin(self, seed: int, episode: int) -> Beginning:
        """Begin an episode; a world that can choose its luck lets it follow from these two numbers alone."""

    def act(self, action: np.ndarray) -> Happening:
        """Carry out a primitive action, shape (action_size,)."""


class SimulatedWorld:
    """The task's own simulator."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.state = np.zeros(task.state_size)
        self.context = np.zeros(task.context_size)
        self._key, self._random, self._time = np.uint64(0), np.empty(1, np.uint64), 0

    def begin(self, seed: int, episode: int) -> Beginning:
        self.context, self.state = draw_beginning(self.task, new_stream(seed, episode, BEGINNING))
        self._key, self._time = stream_key(seed, episode, HAPPENING), 0
        return Beginning(self.context)

    def act(self, action: np.ndarray) -> Happening:
        observation = np.zeros(self.task.observation_size)
        reward, outcome = _step(
            self.task, self.context, self.state, action, self._key, self._time, self._random, observation
        )
        if not math.isfinite(reward):
            raise ValueError(f"{type(self.task).__name__}.step gave the reward {reward} after {self._time} steps.")
        self._time += 1
        return Happening(observation, float(reward), Outcome(outcome))


@dataclass(frozen=True)
class WorldFactory:
    """A world that results can name. Called with a task, it makes the world; it can be sent to other processes."""

    label: str
    """What the world is, in a few words."""
    settings: Settings
    """What is set about it."""
    make: Callable[[Task, Any], World]
    """Makes it for a task, with settings of its kind: a function of a module."""
    identified: str = ""
    """Where the task's parameters come from, if they were fitted to the world."""

    def __call__(self, task: Task) -> World:
        return self.make(task, self.settings)


def draw_beginning(task: Task, random: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The context and the true state of a new episode."""
    context, state = np.zeros(task.context_size), np.zeros(task.state_size)
    _draw(task, random, context, state)
    return context, state


@kernel
def _draw(task, random, context, state):
    random, context, state = borrow((random, context, state), task)
    task.draw_context(random, context)
    task.draw_state(context, random, state)


@kernel
def _step(task, context, state, action, key, time, random, observation):
    """One primitive step of the true state, with the world's noise at a time: its reward and outcome."""
    context, state, action = borrow((context, state, action), task)
    random, observation = borrow((random, observation), task)
    seek(random, key, time)
    return task.step(context, state, action, random, observation)
