"""What searches and beliefs may be told of a task. Every function here has a default that does for most tasks.

Where `self` is called a Task, a checker of types cannot know that this class is only ever a part of one.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from magic_pomdp.core.compiling import own_copy
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import integer

if TYPE_CHECKING:
    from magic_pomdp.core.task import Task

KEYS = 2**31 - 1
"""The default key of an observation is below this."""


class PlanningHints:
    """Functions of a task that make planning in it better or faster. All but `macro_actions` are compiled."""

    # ---------------------------------------------------------------------------------------------------- of a search

    def observation_key(self, observation: np.ndarray) -> int:
        """A whole number; observations with equal keys share a branch of the search. Default: the cell of a grid that
        the planner lays by the observations' noise (`grouping.py`), here of width 1."""
        key = 0
        for i in range(len(observation)):
            key = (1_000_003 * key + math.floor(observation[i])) % KEYS
        return key

    def bound_within(self: "Task", context: np.ndarray, state: np.ndarray, steps: int) -> float:  # type: ignore[misc]
        """Discounted return that no policy can exceed in so many more steps: what a search that looks no further has to
        know. Default: `upper_bound`, which is for the whole episode."""
        return self.upper_bound(context, state)

    def value_beyond(self, context: np.ndarray, state: np.ndarray) -> float:
        """What a search takes to come after the last step it looks at, where the episode still runs. Rewards and this,
        discounted, must stay within `bound_within`. Default: nothing."""
        return 0.0

    def guide(self, context: np.ndarray, state: np.ndarray, macro_actions: np.ndarray, lengths: np.ndarray) -> int:
        """The number of the macro-action that somebody sensible would choose in a state. The set may be any:
        macro_actions has shape (count, longest, action_size), lengths (count,). It may look at what the robot will have
        observed by then, never at what is hidden. Searches of tasks that have one begin with what it earns. Default:
        none."""
        return -1

    def for_search(self: "Task", moments: int) -> "Task":  # type: ignore[misc]
        """The task as one thread of a search has it, in ordinary Python: a copy with arrays of its own. The search will
        come back to so many moments (a scenario at a time), each time with the same noise: a task whose steps take
        long may make room among its arrays for what it need not work out again."""
        return own_copy(self)

    def draw_action(self, actions: np.ndarray, random: np.ndarray, action: np.ndarray) -> None:
        """Fill a random primitive action to try. Default: any row of `actions`, the task's own."""
        row = integer(random, len(actions))
        for i in range(len(action)):
            action[i] = actions[row, i]

    def rollout_action(
        self, context: np.ndarray, state: np.ndarray, actions: np.ndarray, random: np.ndarray, action: np.ndarray
    ) -> None:
        """Fill the action that a rollout takes in a state, which it may look at. Default: a random one."""
        self.draw_action(actions, random, action)

    def macro_actions(self: "Task", length: int) -> MacroActions:  # type: ignore[misc]
        """The handcrafted macro-actions of a length, in ordinary Python. Default: every primitive action, repeated."""
        return MacroActions.repeat(self.actions(), length)

    # ---------------------------------------------------------------------------------------------------- of a belief

    def step_unobserved(  # type: ignore[misc]
        self: "Task",
        context: np.ndarray,
        state: np.ndarray,
        action: np.ndarray,
        random: np.ndarray,
        unseen: np.ndarray,
    ) -> tuple[float, int]:
        """A step of which nobody needs the observation: move `state` in place; reward and outcome. Default: `step`,
        which fills `unseen`. Where observing takes time, one that leaves it out speeds up beliefs and rollouts."""
        return self.step(context, state, action, random, unseen)

    def draw_noise(self, random: np.ndarray, noise: np.ndarray) -> None:
        """Fill the `noise_size` numbers that chance decides in a step. A search draws them once for all macro-actions
        that it tries. Default: a step draws its own chance."""

    def step_with_noise(
        self, context: np.ndarray, state: np.ndarray, action: np.ndarray, noise: np.ndarray
    ) -> tuple[float, int]:
        """What `step_unobserved` does, with chance that `draw_noise` has drawn. Default: none, for a task without such
        numbers."""
        return 0.0, Outcome.RUNNING

    def condition(  # type: ignore[misc]
        self: "Task",
        context: np.ndarray,
        state: np.ndarray,
        action: np.ndarray,
        random: np.ndarray,
        observation: np.ndarray,
        imagined: np.ndarray,
    ) -> tuple[float, float, int]:
        """Move `state`, in place, by an action after which `observation` was made: ln of its weight, reward and
        outcome. Weighted states are samples of p(state, observation | state before, action). Default:
        `step_unobserved`, weighed by `log_likelihood`; `imagined` is room for an observation. A task whose observations
        fix much of the next state writes its own, which takes over what was seen: hardly any step would happen to
        observe just that."""
        reward, outcome = self.step_unobserved(context, state, action, random, imagined)
        value = -math.inf
        if outcome == Outcome.RUNNING:
            value = self.log_likelihood(context, state, action, observation)
        return value, reward, outcome

    def state_distance(self, state: np.ndarray, other: np.ndarray) -> float:
        """How far apart two states are, for the belief error in an episode's record. Default: Euclidean."""
        total = 0.0
        for i in range(len(state)):
            total += (state[i] - other[i]) ** 2
        return float(total**0.5)
