"""A task as a Gymnasium environment."""

from typing import Any

import gymnasium
import numpy as np

from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import check_seed
from magic_pomdp.core.task import Task
from magic_pomdp.gym.bounds import Bounds
from magic_pomdp.gym.interface import Interface, one_action, task_of
from magic_pomdp.gym.rendering import RENDERING, check_render_mode, has_look, picture
from magic_pomdp.running.world import SimulatedWorld


class TaskEnv(gymnasium.Env[Any, Any]):
    """Episodes of a task, one after the other.

    `reset(seed=7)` begins episode 0 of seed 7, the very episode that `magic-pomdp evaluate --seed 7` begins with; each
    `reset()` after it begins the next, and `options={"episode": 5}` a certain one. An episode that the task ends is
    terminated, one that reaches the task's `max_steps` without that is truncated.
    """

    metadata: dict[str, Any] = RENDERING

    def __init__(
        self,
        task: Task | str,
        *,
        render_mode: str | None = None,
        continuous: bool = False,
        bounds: Bounds | None = None,
        **parameters: Any,
    ) -> None:
        """An environment of a task, or of that of a name or a place with some parameters set. Actions are the numbers
        of the task's `actions` or, if `continuous`, actions as the task has them; `bounds` tells the limits of a task
        that does not ship."""
        self.task = task_of(task, parameters)
        self.render_mode = check_render_mode(self.task, render_mode)
        if not has_look(self.task):
            self.metadata = {**RENDERING, "render_modes": []}
        self.interface = Interface(self.task, continuous, bounds)
        self.observation_space, self.action_space = self.interface.observation_space, self.interface.action_space
        self._world = SimulatedWorld(self.task)
        self._seed: int | None = None
        self._episode, self._steps, self._over = -1, 0, True
        self._states: list[np.ndarray] = []

    @property
    def context(self) -> np.ndarray:
        """What is known in this episode."""
        return self._world.context

    @property
    def state(self) -> np.ndarray:
        """The truth, which nobody who acts should look at."""
        return self._world.state

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray | dict[str, np.ndarray], dict[str, Any]]:
        """Begin an episode. Nothing is observed yet: the observation is zeros, and the context says what is known."""
        super().reset(seed=seed)
        if seed is not None:
            self._seed, self._episode = check_seed(seed), -1
        elif self._seed is None:
            self._seed = int(self.np_random.integers(2**63))
        self._episode = check_options(options, self._episode + 1)
        self._world.begin(self._seed, self._episode)
        self._steps, self._over, self._states = 0, False, []
        self._remember()
        return self.interface.observation(self._world.context, np.zeros(self.task.observation_size)), {}

    def step(self, action: Any) -> tuple[np.ndarray | dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        """One primitive step. `info["is_success"]` tells whether it has ended the episode well."""
        if self._over:
            raise gymnasium.error.ResetNeeded("The episode is over, or has not begun: call reset.")
        happened = self._world.act(one_action(self.interface, action))
        self._steps += 1
        terminated = happened.outcome != Outcome.RUNNING
        truncated = not terminated and self._steps >= self.task.max_steps
        self._over = terminated or truncated
        self._remember()
        observation = self.interface.observation(self._world.context, happened.observation)
        return observation, happened.reward, terminated, truncated, {"is_success": happened.outcome == Outcome.SUCCESS}

    def render(self) -> np.ndarray | None:
        """The present moment as a picture, shape (height, width, 3)."""
        if self.render_mode is None or not self._states:
            return None
        return picture(self.task, self._world.context, np.array(self._states))

    def _remember(self) -> None:
        """Keep the state, if somebody may want to see the way that led here."""
        if self.render_mode is not None:
            self._states.append(self._world.state.copy())


def check_options(options: dict[str, Any] | None, next_episode: int) -> int:
    """The episode that the options of a reset ask for, or the next one."""
    chosen = dict(options or {})
    episode = check_seed(chosen.pop("episode", next_episode), "episode")
    if chosen:
        raise ValueError(f"A reset knows the option 'episode', not {', '.join(map(repr, chosen))}.")
    return episode
