"""What a POMDP is: a class with a few plain functions over arrays of float64.

A user derives from `Task`. Annotated attributes become its parameters (the class is turned into a frozen dataclass),
so `MyTask(noise=0.2)` works without editing the file and, since parameters are run-time values, without compiling
again. The methods are ordinary Python; planners compile them together with their own kernels (see `compiling.py`).

Every array an argument holds is a view that the caller owns. `step` and the `draw_*` functions write into it; the
others only read. A random stream is passed wherever chance is needed (`randomness.py`); there is no other source.
"""

import dataclasses
import inspect
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, dataclass_transform

import numpy as np

from magic_pomdp.core import compiling
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.randomness import integer
from magic_pomdp.core.scene import Scene, Shape

if TYPE_CHECKING:
    from magic_pomdp.macros.spaces import MacroSpace

RUNNING = 0
"""The episode goes on."""
SUCCESS = 1
"""The episode has ended well."""
FAILURE = 2
"""The episode has ended badly."""

KEYS = 2**31 - 1
"""The default key is below this."""

OUTCOMES = ("unfinished", "success", "failure")
"""How an episode's record names the three outcomes above."""


class PomcpowNumbers(NamedTuple):
    """What suits POMCPOW to a task; `PomcpowSettings` explains each. The defaults do for a start."""

    exploration: float = 50.0
    action_widening: float = 20.0
    action_exponent: float = 0.1
    observation_widening: float = 5.0
    observation_exponent: float = 0.1
    guided_actions: float = 0.0


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


@dataclass_transform(frozen_default=True)
class Task:
    """A partially observable task. Derive from it; see the tutorial in docs/your-own-task.md.

    Functions to write, compiled with the planner (numba; `self` gives parameters, class constants and other methods):

    ======================================================================  =========================================
    draw_context(self, random, context)                                     fill what is known and fixed for an episode
    draw_state(self, context, random, state)                                fill a state from the initial belief
    step(self, context, state, action, random, observation) -> r, outcome   move `state` in place, fill `observation`
    log_likelihood(self, context, state, action, observation) -> float      ln p(observation | state after the action)
    upper_bound(self, context, state) -> float                              discounted return no policy can exceed
    ======================================================================  =========================================

    Compiled as well, but with defaults that do for most tasks:

    ======================================================================  =========================================
    observation_key(self, observation) -> int                               equal keys share a branch; cells of noise
    draw_action(self, actions, random, action)                              fill a random action; a row of `actions`
    rollout_action(self, context, state, actions, random, action)           fill a guess at a good one; a random one
    bound_within(self, context, state, steps) -> float                      the same within so many steps
    value_beyond(self, context, state) -> float                             what is to come after a search's last step
    guide(self, context, state, macro_actions, lengths) -> int              which macro-action is sensible there
    step_unobserved(self, context, state, action, random, unseen) -> …      a step without its observation
    condition(self, context, state, action, random, observation, imagined)  move `state` as the observation tells
    particle_features, context_features, state_distance                     see below
    ======================================================================  =========================================

    Written in ordinary Python, never compiled: `actions` (and, if wanted, `macro_actions`, `macro_space`, `mirrors`,
    `scene`, `sprites`).
    A terminal state absorbs: `step` leaves it unchanged, earns 0 and reports the same outcome again.
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

    continuous_state: ClassVar[tuple[int, ...]] = ()
    """Which numbers of a state vary continuously, if the belief may blur them to keep its particles apart."""

    discount: float = 0.98
    """γ, the weight of the next step's reward against this one's."""
    max_steps: int = 100
    """An episode that is still running after so many primitive steps is stopped."""

    scenarios: ClassVar[int] = 100
    """K, how many sampled futures a search shares among all its nodes."""
    particles: ClassVar[int] = 10_000
    """Particles in the robot's belief."""
    search_depth: ClassVar[int] = 60
    """Primitive steps that a search looks ahead at most."""
    regularisation: ClassVar[float] = 0.0
    """λ, what each macro-action that a search adds to its default policy must gain in the mean of all scenarios."""
    macro_length: ClassVar[int] = 1
    """Length of the macro-actions when nobody says otherwise."""
    doubt: ClassVar[float] = -math.inf
    """If learned macro-actions find less than this in half of a budget, MAGIC tries the primitive actions, too."""
    pomcpow: ClassVar[PomcpowNumbers] = PomcpowNumbers()
    """What suits POMCPOW to the task."""
    concurrent: ClassVar[bool] = False
    """Whether the world does not wait: while a macro-action is carried out, the next one is planned for what is
    expected at its end."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _prepare(cls)

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense. A task with more to check calls this first."""
        for name, kind in compiling.parameter_kinds(type(self)).items():  # type: ignore[arg-type]
            value: Any = getattr(self, name)
            if isinstance(value, np.generic):
                object.__setattr__(self, name, value := value.item())
            if not isinstance(value, compiling.ACCEPTED[kind]):
                raise ValueError(
                    f"The parameter {name} of {type(self).__name__} must be of kind {kind.__name__}, not {value!r}."
                )
            if not np.isfinite(np.asarray(value, dtype=np.float64)).all():
                raise ValueError(f"The parameter {name} of {type(self).__name__} must be finite, not {value}.")
        if not 0.0 < self.discount <= 1.0:
            raise ValueError(f"The discount must lie in (0, 1], not at {self.discount}.")
        if self.max_steps < 1:
            raise ValueError(f"The parameter max_steps must be at least 1, not {self.max_steps}.")

    @cached_property
    def _numba_type_(self) -> "compiling.TaskType":
        return compiling.task_type(self)  # numba asks at every call, and arrays among the parameters are slow to tell

    def __getstate__(self) -> dict[str, Any]:
        """Another process finds the type for itself."""
        return {name: value for name, value in self.__dict__.items() if name != "_numba_type_"}

    # ------------------------------------------------------------------------------------- compiled, with defaults

    def draw_context(self, random, context):
        """Fill the context of a new episode. A task with nothing to know leaves this out."""

    def draw_action(self, actions, random, action):
        """Fill a random primitive action for POMCPOW to try. Default: any row of `actions`, the task's own."""
        row = integer(random, len(actions))
        for i in range(len(action)):
            action[i] = actions[row, i]

    def rollout_action(self, context, state, actions, random, action):
        """Fill the action that POMCPOW's rollouts take in a state, which they may look at. Default: a random one."""
        self.draw_action(actions, random, action)

    def bound_within(self, context, state, steps):
        """Discounted return that no policy can exceed in so many more steps: what a search that looks no further has to
        know. Default: `upper_bound`, which is for the whole episode."""
        return self.upper_bound(context, state)  # type: ignore[attr-defined]

    def value_beyond(self, context, state):
        """What a search takes to come after the last step it looks at, where the episode still runs. Rewards and this,
        discounted, must stay within `bound_within`. Default: nothing."""
        return 0.0

    def guide(self, context, state, macro_actions, lengths):
        """The number of the macro-action that somebody sensible would choose in a state, of whatever set: macro_actions
        has shape (count, longest, action_size), lengths (count,). It may look at what the robot will have observed by
        then, never at what is hidden. Searches of tasks that have one begin with what it earns, see `DespotSettings`.
        Default: none."""
        return -1

    def step_unobserved(self, context, state, action, random, unseen):
        """A step of which nobody needs the observation: move `state` in place; reward and outcome. Default: `step`,
        which fills `unseen`. Where observing takes time, one that leaves it out speeds up beliefs and rollouts."""
        return self.step(context, state, action, random, unseen)  # type: ignore[attr-defined]

    def condition(self, context, state, action, random, observation, imagined):
        """Move `state`, in place, by an action after which `observation` was made: ln of its weight, reward and
        outcome. Weighted states are samples of p(state, observation | state before, action). Default:
        `step_unobserved`, weighed by `log_likelihood`; `imagined` is room for an observation. A task whose observations
        fix much of the next state writes its own, which takes over what was seen: hardly any step would happen to
        observe just that."""
        reward, outcome = self.step_unobserved(context, state, action, random, imagined)
        value = -math.inf
        if outcome == RUNNING:
            value = self.log_likelihood(context, state, action, observation)  # type: ignore[attr-defined]
        return value, reward, outcome

    def observation_key(self, observation):
        """A whole number; observations with equal keys share a branch of the search. Default: the cell of a grid that
        the planner lays by the observations' noise (`grouping.py`), here of width 1."""
        key = 0
        for i in range(len(observation)):
            key = (1_000_003 * key + math.floor(observation[i])) % KEYS
        return key

    def particle_features(self, context, state, features):
        """Fill what the networks see of one particle; shape (particle_features_size,). Default: the state."""
        for i in range(len(features)):
            features[i] = state[i]

    def context_features(self, context, features):
        """Fill what the networks see of the context; shape (context_features_size,). Default: the context."""
        for i in range(len(features)):
            features[i] = context[i]

    def state_distance(self, state, other):
        """How far apart two states are, for the belief error in an episode's record. Default: Euclidean."""
        total = 0.0
        for i in range(len(state)):
            total += (state[i] - other[i]) ** 2
        return total**0.5

    # ------------------------------------------------------------------------------------------------ plain Python

    @property
    def particle_features_size(self) -> int:
        """Numbers that `particle_features` fills."""
        return self.state_size

    @property
    def particle_members(self) -> tuple[int, int]:
        """How many things of a kind (cars, say) the features of a particle end with, and how many numbers each has: the
        networks look at all of them with the same layers, whatever their order. Default: none."""
        return 0, 0

    @property
    def context_features_size(self) -> int:
        """Numbers that `context_features` fills."""
        return self.context_size

    def mirrors(self) -> tuple[Mirror, ...]:
        """Symmetries: what the mirror images of a situation look like to the networks. Default: there are none."""
        return ()

    def actions(self) -> np.ndarray:
        """The primitive actions to choose among without learning; shape (count, action_size)."""
        raise NotImplementedError(f"{type(self).__name__}.actions is missing: return an array (count, action_size).")

    def macro_actions(self, length: int) -> MacroActions:
        """The handcrafted macro-actions of a length. Default: every primitive action, repeated."""
        return MacroActions.repeat(self.actions(), length)

    def macro_space(self, length: int) -> "MacroSpace":
        """What a generator learns to fill: how its parameters become macro-actions of a length. Default: as many
        actions as `actions` has, each held for that length, all their numbers free in the range of `actions`."""
        from magic_pomdp.macros.spaces import HeldActionSpace

        return HeldActionSpace.of_actions(self.actions(), length)

    def plan_seconds(self, length: int) -> float:
        """Time to plan a macro-action of a length, when nobody says otherwise."""
        return 0.1

    def idle(self) -> np.ndarray:
        """The action of a robot that has no plan yet, in a task that does not wait; shape (action_size,)."""
        return np.zeros(self.action_size)

    def statistics(self, context: np.ndarray, states: np.ndarray) -> Mapping[str, float | np.ndarray]:
        """What else there is to tell of an episode, by name; of all its true states, shape (steps + 1, state_size).
        A number of the episode, or an array with a number of every step."""
        return {}

    def scene(self, context: np.ndarray) -> Scene | None:
        """What the task looks like in a context, for pictures and pages (`scene.py`). Default: nothing to see."""
        return None

    def sprites(self, context: np.ndarray, state: np.ndarray, particles: np.ndarray) -> Sequence[Shape]:
        """What moves: shapes for the true state now, and for the belief's particles (one a row) if they need more than
        the points that `scene` asks for."""
        return ()


def _prepare(cls: type[Task]) -> None:
    """Turn annotated attributes into parameters, and make the methods callable in compiled code."""
    inherited = {name: kind for base in cls.__mro__[:0:-1] for name, kind in inspect.get_annotations(base).items()}
    for name in vars(cls).keys() & inherited.keys() - cls.__annotations__.keys():
        cls.__annotations__[name] = inherited[name]  # a new default for an inherited parameter needs no annotation
    dataclasses.dataclass(frozen=True, eq=False)(cls)
    compiling.declare(cls)


_prepare(Task)
