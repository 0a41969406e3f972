"""How a task's arrays look to Gymnasium: spaces with bounds, actions by number or as they are."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from magic_pomdp.core.arrays import check_vector
from magic_pomdp.core.macro_actions import plain_array
from magic_pomdp.core.registry import make
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.gym.bounds import Bounds, Limits, bounds_of


class Interface:
    """A task as Gymnasium sees it.

    An observation is an array or, of a task that has a context, a dictionary with `observation` and `context`. An
    action is the number of a row of the task's `actions` or, if `continuous`, an action as the task has it.
    """

    def __init__(self, task: Task, continuous: bool = False, bounds: Bounds | None = None) -> None:
        self.task, self.continuous = task, continuous
        bounds = bounds_of(task) if bounds is None else bounds
        self._nearest = bounds.nearest
        observed = _box(bounds.observation, task.observation_size, "observation", with_zero=True)
        self.observation_space: spaces.Space[Any] = observed
        if task.context_size > 0:
            known = _box(bounds.context, task.context_size, "context")
            self.observation_space = spaces.Dict({"observation": observed, "context": known})
        self._actions = np.asarray(task.actions(), dtype=np.float64)
        self.action_space: spaces.Space[Any] = spaces.Discrete(len(self._actions))
        if continuous:
            if bounds.action is None:
                raise ValueError(
                    f"{task_name(task)} does not tell the limits of its actions: give `bounds`, or choose actions by "
                    "their number."
                )
            self._box = _box(bounds.action, task.action_size, "action")
            self.action_space = self._box

    def actions(self, chosen: npt.ArrayLike) -> np.ndarray:
        """The task's actions of some choices, shape (n, action_size); a ValueError if one of them is none."""
        if not self.continuous:
            numbers = np.asarray(chosen)
            if numbers.ndim != 1 or not np.issubdtype(numbers.dtype, np.integer):
                raise ValueError(f"An action is a whole number from 0 to {len(self._actions) - 1}, not {chosen!r}.")
            if ((numbers < 0) | (numbers >= len(self._actions))).any():
                raise ValueError(f"There are the actions 0 to {len(self._actions) - 1}, not {numbers.tolist()}.")
            return plain_array(self._actions[numbers])
        actions = np.array(chosen, dtype=np.float64)
        if actions.ndim != 2 or actions.shape[1] != self.task.action_size or not np.isfinite(actions).all():
            raise ValueError(f"An action has {self.task.action_size} finite numbers, but here is {actions.tolist()}.")
        actions = np.clip(actions, self._box.low, self._box.high)
        return plain_array(actions if self._nearest is None else self._nearest(actions))

    def observation(self, context: np.ndarray, observation: np.ndarray) -> np.ndarray | dict[str, np.ndarray]:
        """What is known and observed, as the space has it; of one episode or of several. All arrays are new."""
        if self.task.context_size == 0:
            return observation.copy()
        return {"observation": observation.copy(), "context": context.copy()}


def task_of(task: Task | str, parameters: Mapping[str, Any]) -> Task:
    """The task itself, or that of a name or a place, with some parameters set."""
    if isinstance(task, Task):
        if parameters:
            raise ValueError(f"This task is made already, so {', '.join(parameters)} cannot be set any more.")
        return task
    return make(task, **parameters)


def _box(limits: Limits | None, size: int, what: str, with_zero: bool = False) -> spaces.Box:
    """A space of so many numbers between limits. Zeros tell that nothing is observed before the first action."""
    if limits is None:
        return spaces.Box(-np.inf, np.inf, (size,), np.float64)
    low, high = (np.broadcast_to(np.asarray(limit, dtype=np.float64), (size,)).copy() for limit in limits)
    if not (low <= high).all():
        raise ValueError(f"The lower limits of the {what} must not exceed the upper ones.")
    if with_zero:
        low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    return spaces.Box(low, high, (size,), np.float64)


def one_action(interface: Interface, chosen: Any) -> np.ndarray:
    """The task's action of one choice; shape (action_size,)."""
    return check_vector(interface.actions(np.asarray(chosen)[None])[0], interface.task.action_size, "action")
