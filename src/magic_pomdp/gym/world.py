"""A Gymnasium environment as the world of an episode, where a task is the model."""

import math
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from magic_pomdp.core.arrays import check_vector
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import stream_key
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.gym.env import TaskEnv
from magic_pomdp.running.world import Beginning, Happening

_SEEDS = 2**31
"""Every environment takes a seed below this."""

Info = dict[str, Any]


class GymnasiumWorld:
    """What happens in an environment, told in the task's numbers by a few functions. Each has a default that suits
    environments of this package, and others whose numbers are the task's.

        mp.run_episode(task, planner, world=GymnasiumWorld(env, task, context=lambda observation, info: [3.0, 1.0]))
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        task: Task,
        *,
        context: Callable[[Any, Info], Any] | None = None,
        observation: Callable[[Any, Info], Any] | None = None,
        action: Callable[[np.ndarray], Any] | None = None,
        outcome: Callable[[bool, bool, float, Info], Outcome] | None = None,
        state: Callable[[gymnasium.Env[Any, Any]], Any] | None = None,
        observes_first: bool | None = None,
    ) -> None:
        """The world of an environment.

        - `context(observation, info)`: what is known, from what `reset` returned. Default: what either calls `context`.
        - `observation(observation, info)`: what the task calls an observation, from what `step` returned. Default: what
          the observation calls `observation`, or all of its numbers.
        - `action(action)`: the environment's action for one of the task. Default: as it is or, where actions are
          numbered, its number among the task's `actions`.
        - `outcome(terminated, truncated, reward, info)`: how the episode stands. Default: a terminated one has
          succeeded if `info["is_success"]` says so or, where it says nothing, if its last reward is positive. One that
          is truncated before the task's `max_steps` has failed.
        - `state(env)`: the true state in the task's numbers, for records and pictures alone. Default: not known.
        - `observes_first`: whether what `reset` returns is an observation in the task's sense. Default: yes, but of
          environments of this package.
        """
        self.env, self.task = env, task
        self._own = isinstance(env.unwrapped, TaskEnv)
        self._context, self._observation = context or self._find_context, observation or _find_observation
        self._action, self._outcome, self._find_state = action or self._find_action, outcome or self._judge, state
        self._observes_first = not self._own if observes_first is None else observes_first
        self._steps = 0

    @property
    def state(self) -> np.ndarray | None:
        if self._find_state is not None:
            return np.asarray(self._find_state(self.env), dtype=np.float64)
        inner = self.env.unwrapped
        if isinstance(inner, TaskEnv) and type(inner.task) is type(self.task):
            return inner.state
        return None

    def begin(self, seed: int, episode: int) -> Beginning:
        if self._own:
            observation, info = self.env.reset(seed=seed, options={"episode": episode})
        else:
            observation, info = self.env.reset(seed=int(stream_key(seed, episode)) % _SEEDS)
        self._steps = 0
        context = check_vector(self._context(observation, info), self.task.context_size, "environment's context")
        return Beginning(context, self._seen(observation, info) if self._observes_first else None)

    def act(self, action: np.ndarray) -> Happening:
        observation, reward, terminated, truncated, info = self.env.step(self._action(action))
        self._steps += 1
        outcome = Outcome(self._outcome(bool(terminated), bool(truncated), float(reward), info))
        if not math.isfinite(reward):
            raise ValueError(f"The environment gave the reward {reward} after {self._steps} steps.")
        return Happening(self._seen(observation, info), float(reward), outcome)

    def _seen(self, observation: Any, info: Info) -> np.ndarray:
        found = self._observation(observation, info)
        return check_vector(found, self.task.observation_size, "environment's observation")

    # -------------------------------------------------------------------------------------------------------- defaults

    def _find_context(self, observation: Any, info: Info) -> Any:
        for told in (observation, info):
            if isinstance(told, dict) and "context" in told:
                return told["context"]
        if self.task.context_size == 0:
            return np.zeros(0)
        raise ValueError(
            f"{task_name(self.task)} has a context of {self.task.context_size} numbers, but the environment does not "
            "tell it: give GymnasiumWorld a function `context(observation, info)`."
        )

    def _find_action(self, action: np.ndarray) -> Any:
        space = self.env.action_space
        if isinstance(space, spaces.Box):
            if space.shape != action.shape:
                raise ValueError(
                    f"An action of {task_name(self.task)} has {len(action)} numbers, and one of the environment the "
                    f"shape {space.shape}: give GymnasiumWorld a function `action(action)`."
                )
            return action.astype(space.dtype)
        rows = np.flatnonzero(np.isclose(self.task.actions(), action, rtol=0.0, atol=1e-9).all(axis=1))
        if isinstance(space, spaces.Discrete) and len(rows) > 0:
            return space.start + rows[0]
        raise ValueError(
            f"The environment has no action for {action.tolist()}: give GymnasiumWorld a function `action(action)`, or "
            "plan with the task's own actions."
        )

    def _judge(self, terminated: bool, truncated: bool, reward: float, info: Info) -> Outcome:
        if terminated:
            return Outcome.SUCCESS if info.get("is_success", reward > 0.0) else Outcome.FAILURE
        return Outcome.FAILURE if truncated and self._steps < self.task.max_steps else Outcome.RUNNING


def _find_observation(observation: Any, info: Info) -> Any:
    found = (
        observation["observation"] if isinstance(observation, dict) and "observation" in observation else observation
    )
    return np.ravel(found)
