"""What a POMDP is: a class with a few plain functions over arrays of float64.

A user derives from `Task`. Annotated attributes become its parameters (the class is turned into a frozen dataclass),
so `MyTask(noise=0.2)` works without editing the file and, since parameters are run-time values, without compiling
again. The methods are ordinary Python; planners compile them together with their own kernels (see `compiling.py`).

Every array an argument holds is a view that the caller owns. `step` and the `draw_*` functions write into it; the
others only read. A random stream is passed wherever chance is needed (`randomness.py`); there is no other source.

What else a task may tell stands elsewhere: `hints.py` (to searches and beliefs), `learning_hints.py`, `look.py`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, dataclass_transform

import numpy as np

from magic_pomdp.core.functions import FUNCTIONS
from magic_pomdp.core.hints import PlanningHints
from magic_pomdp.core.learning_hints import LearningHints
from magic_pomdp.core.look import Look
from magic_pomdp.core.parameters import Parametrised
from magic_pomdp.core.settings import Settings


@dataclass_transform(frozen_default=True)
class Task(Parametrised, PlanningHints, LearningHints, Look):
    """A partially observable task. Derive from it and write five functions: the documentation's tutorial, "Your own
    task", does so line by line.

    `draw_state`, `step`, `log_likelihood` and `upper_bound` are compiled with the planner; `self` gives them
    parameters, numbers of the class and other methods. `actions` is ordinary Python. A task that knows something at
    the beginning of an episode also writes `draw_context`. Everything else has a default.

    A class that is only a part of tasks, and no task itself, is written `class Part(Task, abstract=True)`.
    """

    name: ClassVar[str] = ""
    """What the command line calls the task."""
    state_size: ClassVar[int]
    """Numbers in a state."""
    action_size: ClassVar[int]
    """Numbers in a primitive action."""
    observation_size: ClassVar[int]
    """Numbers in an observation."""
    context_size: ClassVar[int] = 0
    """Numbers in the context: what is known, and fixed, during one episode."""
    noise_size: ClassVar[int] = 0
    """Numbers that chance decides in a step without an observation, if the task draws them apart (`draw_noise`)."""
    continuous_state: ClassVar[tuple[int, ...]] = ()
    """Which numbers of a state vary continuously, if the belief may blur them to keep its particles apart."""
    concurrent: ClassVar[bool] = False
    """Whether the world does not wait: while a macro-action is carried out, the next one is planned for what is
    expected at its end."""
    advice: ClassVar[tuple[Settings, ...]] = ()
    """Settings of planners, and of the belief, that suit the task; at most one object of each kind."""

    discount: float = 0.98
    """γ, the weight of the next step's reward against this one's."""
    max_steps: int = 100
    """An episode that is still running after so many primitive steps is stopped."""

    def __init_subclass__(cls, abstract: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not abstract:
            _check_complete(cls)

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense. A task with more to check calls this first."""
        super().__post_init__()
        for size in ("state_size", "action_size", "observation_size"):
            if not hasattr(self, size):
                raise ValueError(f"{type(self).__name__} has no {size}: write `{size} = …` in the class.")
        if not isinstance(self.advice, tuple) or not all(isinstance(one, Settings) for one in self.advice):
            raise ValueError(f"The advice of {type(self).__name__} must be a tuple of settings, not {self.advice!r}.")
        if not 0.0 < self.discount <= 1.0:
            raise ValueError(f"The discount must lie in (0, 1], not at {self.discount}.")
        if self.max_steps < 1:
            raise ValueError(f"The parameter max_steps must be at least 1, not {self.max_steps}.")

    # ------------------------------------------------------------------------------------------------ the problem

    def draw_context(self, random: np.ndarray, context: np.ndarray) -> None:
        """Fill what is known, and fixed, for an episode. A task with nothing to know leaves this out."""

    def draw_state(self, context: np.ndarray, random: np.ndarray, state: np.ndarray) -> None:
        """Fill a state from the initial belief."""
        raise NotImplementedError

    def step(
        self, context: np.ndarray, state: np.ndarray, action: np.ndarray, random: np.ndarray, observation: np.ndarray
    ) -> tuple[float, int]:
        """Move `state`, in place, by an action, and fill `observation`; reward and `Outcome`.

        An episode that has ended stays ended: leave the state as it is, earn 0 and report the same outcome again."""
        raise NotImplementedError

    def log_likelihood(
        self, context: np.ndarray, state: np.ndarray, action: np.ndarray, observation: np.ndarray
    ) -> float:
        """ln p(observation | the state after the action); −∞ where it is impossible."""
        raise NotImplementedError

    def upper_bound(self, context: np.ndarray, state: np.ndarray) -> float:
        """Discounted return that no policy can exceed from a state; 0 where the episode has ended. The closer it is to
        the truth, the less there is to search."""
        raise NotImplementedError

    def actions(self) -> np.ndarray:
        """The primitive actions to choose among without learning; shape (count, action_size)."""
        raise NotImplementedError

    # -------------------------------------------------------------------------------------------------- real time

    def plan_seconds(self, length: int) -> float:
        """Time to plan a macro-action of a length, when nobody says otherwise."""
        return 0.1

    def action_without_plan(self) -> np.ndarray:
        """What a robot does that has no plan yet, in a task that does not wait; shape (action_size,)."""
        return np.zeros(self.action_size)

    def steps_without_plan(self, length: int) -> int:
        """For how many steps a robot does that while its first plan is made, of a macro-action of a length."""
        return 1

    # ---------------------------------------------------------------------------------------------------- results

    def statistics(self, context: np.ndarray, states: np.ndarray) -> Mapping[str, float | np.ndarray]:
        """What else there is to tell of an episode, by name; of all its true states, shape (steps + 1, state_size).
        A number of the episode, or an array with a number of every step."""
        return {}


REQUIRED = (*(name for name, function in FUNCTIONS.items() if function.required), "actions")
"""Functions that every task writes for itself."""


def task_name(task: Task) -> str:
    """What results call a task."""
    return task.name or type(task).__name__


def _check_complete(cls: type[Task]) -> None:
    """A ValueError if a class lacks what every task must have."""
    missing = [name for name in REQUIRED if getattr(cls, name) is getattr(Task, name)]
    if missing:
        raise ValueError(
            f"{cls.__name__} lacks {' and '.join(missing)}: write {'them' if len(missing) > 1 else 'it'} as `help("
            "magic_pomdp.Task)` tells, or say `abstract=True` if it is only a part of tasks."
        )
