"""What learning may be told of a task: what the networks see, which macro-actions to fill, and what is symmetric."""

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from magic_pomdp.core.task import Task
    from magic_pomdp.macros.spaces import MacroSpace


_FEW = 32
"""Actions of whole numbers that somebody has probably counted out."""


class Mirror(NamedTuple):
    """A symmetry of a task. In the mirror image of a situation every number x that the networks see is
    sign · x + shift, and macro-actions whose parameters have their signs changed are worth the same there."""

    particle_signs: tuple[float, ...]
    """Of the features of a particle."""
    context_signs: tuple[float, ...]
    """Of the features of the context."""
    parameter_signs: tuple[float, ...]
    """Of the parameters of a macro-action."""
    particle_shifts: tuple[float, ...] = (0.0,)
    """Of the features of a particle, or one for all."""
    context_shifts: tuple[float, ...] = (0.0,)
    """Of the features of the context, or one for all."""


class LearningHints:
    """Functions of a task that help to learn macro-actions for it. The two that fill features are compiled."""

    discrete_actions: ClassVar[bool | None] = None
    """Whether the rows of `actions` are all the actions there are. Default: if they are the numbers 0, 1, 2, …, or at
    most 32 of one whole number each and the task has no `macro_space` of its own."""

    plain_features: ClassVar[tuple[tuple[int, ...], tuple[int, ...]] | None] = None
    """Which numbers of a state, and which of the context, networks see that are to see these as they are (`--inputs
    plain`). Default: they see what `particle_features` and `context_features` fill, as that is."""

    @property
    def is_discrete(self: "Task") -> bool:  # type: ignore[misc]
        """Whether there are no other actions than the rows of `actions`."""
        if self.discrete_actions is not None:
            return self.discrete_actions
        actions = self.actions()
        if np.array_equal(actions, np.arange(len(actions))[:, None]):
            return True
        usual_space = type(self).macro_space is LearningHints.macro_space
        return usual_space and actions.shape[1] == 1 and self.actions_are_few_and_whole

    @property
    def actions_are_few_and_whole(self: "Task") -> bool:  # type: ignore[misc]
        """Whether the rows of `actions` look as if there were no others."""
        actions = self.actions()
        return len(actions) <= _FEW and np.array_equal(actions, np.round(actions))

    def particle_features(self, context: np.ndarray, state: np.ndarray, features: np.ndarray) -> None:
        """Fill what the networks see of one particle; shape (particle_features_size,). Default: the state."""
        for i in range(len(features)):
            features[i] = state[i]

    def context_features(self, context: np.ndarray, features: np.ndarray) -> None:
        """Fill what the networks see of the context; shape (context_features_size,). Default: the context."""
        for i in range(len(features)):
            features[i] = context[i]

    @property
    def particle_features_size(self: "Task") -> int:  # type: ignore[misc]
        """Numbers that `particle_features` fills."""
        return self.state_size

    @property
    def particle_members(self) -> tuple[int, int]:
        """How many things of a kind (cars, say) the features of a particle end with, and how many numbers each has: the
        networks look at all of them with the same layers, whatever their order. Default: none."""
        return 0, 0

    @property
    def context_features_size(self: "Task") -> int:  # type: ignore[misc]
        """Numbers that `context_features` fills."""
        return self.context_size

    def macro_space(self: "Task", length: int) -> "MacroSpace":  # type: ignore[misc]
        """What a generator learns to fill: how its parameters become macro-actions of a length. Default: as many
        macro-actions as `actions` has rows. Of discrete actions each is a sequence; else it is one action that is held,
        all its numbers free in the range of `actions`."""
        from magic_pomdp.macros.spaces import HeldActionSpace, ListedActionSpace

        kind = ListedActionSpace if self.is_discrete else HeldActionSpace
        return kind.of_actions(self.actions(), length)

    def mirrors(self) -> tuple[Mirror, ...]:
        """Symmetries: what the mirror images of a situation look like to the networks. Default: there are none."""
        return ()
