"""Many episodes of a task at once, as a Gymnasium vector environment: one compiled call steps them all."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import check_seed
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.gym.bounds import Bounds
from magic_pomdp.gym.interface import Interface, task_of
from magic_pomdp.gym.rendering import RENDERING, check_render_mode, picture
from magic_pomdp.gym.stepping import begin_some, step_others


class TaskVectorEnv(VectorEnv[Any, Any, np.ndarray]):
    """Does what a `SyncVectorEnv` of as many `TaskEnv` does, episode by episode.

    `reset(seed=7)` gives the first environment the seed 7, the next 8, and so on; a list gives each its own. An
    environment whose episode is over begins its next one in the following step, whose action it ignores
    (`AutoresetMode.NEXT_STEP`), or at once (`AutoresetMode.SAME_STEP`): `final_obs` of the infos is then what was
    observed last.
    """

    def __init__(
        self,
        num_envs: int,
        task: Task | str,
        *,
        render_mode: str | None = None,
        continuous: bool = False,
        bounds: Bounds | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **parameters: Any,
    ) -> None:
        """So many environments of a task; see `TaskEnv` for what else can be told."""
        if num_envs < 1:
            raise ValueError(f"A vector environment has at least one environment, not {num_envs}.")
        self.task, self.num_envs = task_of(task, parameters), num_envs
        self.render_mode = check_render_mode(self.task, render_mode)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        if self.autoreset_mode == AutoresetMode.DISABLED:
            raise ValueError("The environments begin their next episodes by themselves: choose NextStep or SameStep.")
        self.metadata = {**RENDERING, "autoreset_mode": self.autoreset_mode}
        self.interface = Interface(self.task, continuous, bounds)
        self.single_observation_space = self.interface.observation_space
        self.single_action_space = self.interface.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seeds: np.ndarray | None = None
        self._episodes, self._times = np.full(num_envs, -1), np.zeros(num_envs, np.int64)
        self._contexts = np.zeros((num_envs, self.task.context_size))
        self._states = np.zeros((num_envs, self.task.state_size))
        self._observations = np.zeros((num_envs, self.task.observation_size))
        self._random = np.empty(1, np.uint64)
        self._over = np.ones(num_envs, np.bool_)
        self._has_begun = False

    @property
    def states(self) -> np.ndarray:
        """The truth of each, shape (num_envs, state_size), which nobody who acts should look at."""
        return self._states

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in all of them; `options={"episode": …}` tells the number, or one for each."""
        if isinstance(seed, int | np.integer):
            seed = [int(seed) + i for i in range(self.num_envs)]
        super().reset(seed=None if seed is None else seed[0])
        self._seed_all([None] * self.num_envs if seed is None else seed)
        chosen = dict(options or {})
        episodes = np.broadcast_to(chosen.pop("episode", self._episodes + 1), self.num_envs)
        if chosen:
            raise ValueError(f"A reset knows the option 'episode', not {', '.join(map(repr, chosen))}.")
        self._episodes = np.array([check_seed(episode, "episode") for episode in episodes], np.int64)
        self._begin(np.ones(self.num_envs, np.bool_))
        self._over, self._has_begun = np.zeros(self.num_envs, np.bool_), True
        return self.interface.observation(self._contexts, self._observations), {}

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One primitive step of each. `infos["is_success"]` tells which of them it has ended well."""
        if not self._has_begun:
            raise ValueError("The episodes have not begun: call reset.")
        chosen = self.interface.actions(actions)
        if len(chosen) != self.num_envs:
            raise ValueError(f"{self.num_envs} environments need as many actions, not {len(chosen)}.")
        rewards, outcomes = np.zeros(self.num_envs), np.zeros(self.num_envs, np.int64)
        stepped = ~self._over
        step_others(
            self.task, self._over, self._seeds, self._episodes, self._times, self._contexts, self._states, chosen,
            self._random, self._observations, rewards, outcomes,
        )  # fmt: skip
        if not np.isfinite(rewards).all():
            wrong = float(rewards[~np.isfinite(rewards)][0])
            raise ValueError(f"The step of {task_name(self.task)} gave the reward {wrong}.")
        terminated = outcomes != Outcome.RUNNING
        truncated = ~terminated & (self._times >= self.task.max_steps)
        self._over = terminated | truncated
        infos: dict[str, Any] = {"is_success": outcomes == Outcome.SUCCESS, "_is_success": stepped}
        if not stepped.any():
            infos = {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._over.any():
            infos = self._begin_next(infos)
        observations = self.interface.observation(self._contexts, self._observations)
        return observations, rewards, terminated, truncated, infos

    def render(self) -> tuple[np.ndarray, ...] | None:
        """The present moments as pictures."""
        if self.render_mode is None or not self._has_begun:
            return None
        rows = range(self.num_envs)
        return tuple(picture(self.task, self._contexts[i], self._states[i : i + 1]) for i in rows)

    def _seed_all(self, seeds: Sequence[int | None]) -> None:
        """Give each its seed; one that gets none keeps its own."""
        if len(seeds) != self.num_envs:
            raise ValueError(f"{self.num_envs} environments need as many seeds, not {len(seeds)}.")
        if self._seeds is None:
            self._seeds = self.np_random.integers(2**63, size=self.num_envs, dtype=np.uint64)
        for i, seed in enumerate(seeds):
            if seed is not None:
                self._seeds[i], self._episodes[i] = check_seed(seed), -1

    def _begin(self, which: np.ndarray) -> None:
        begin_some(
            self.task, which, self._seeds, self._episodes, self._times, self._contexts, self._states, self._random,
            self._observations,
        )  # fmt: skip

    def _begin_next(self, infos: dict[str, Any]) -> dict[str, Any]:
        """Begin the next episode where one is over; infos of the last step and of the first, as Gymnasium has them."""
        over, last = np.flatnonzero(self._over), {"is_success": infos["is_success"].copy()}
        observations = np.full(self.num_envs, None, dtype=object)
        for i in over:
            observations[i] = self.interface.observation(self._contexts[i], self._observations[i])
        self._episodes[over] += 1
        self._begin(self._over)
        goes_on = ~self._over
        infos = {"is_success": infos["is_success"] & goes_on, "_is_success": goes_on} if goes_on.any() else {}
        mask = self._over.copy()
        self._over = np.zeros(self.num_envs, np.bool_)
        last = {"is_success": last["is_success"] & mask, "_is_success": mask}
        return {**infos, "final_obs": observations, "_final_obs": mask, "final_info": last, "_final_info": mask.copy()}
