"""The robot's belief: a particle filter that resamples with low variance, keeps its particles apart where the task
allows it, and finds its way back when it has lost track."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from magic_pomdp.core.arrays import check_particles, check_vector
from magic_pomdp.core.belief_file import as_seen, check_belief_arrays
from magic_pomdp.core.macro_actions import plain_array
from magic_pomdp.core.particle_filter import (
    draw_states,
    mean_distance,
    move_by,
    resample,
    resample_in_stages,
    weigh,
    weigh_first,
)
from magic_pomdp.core.randomness import check_seed, stream_key
from magic_pomdp.core.settings import Settings, setting
from magic_pomdp.core.surprise import (
    HowExplained,
    Impossible,
    ImpossibleObservation,
    check_choice,
    check_surprise,
    draw_anywhere,
    is_surprising,
    warm_up_check,
    why_impossible,
)
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.core.turns import Turn

RECOVERY_ATTEMPTS = 5
"""Fresh sets of particles tried before an observation that nothing explains is ignored."""

_FEW = 0.02
"""If a smaller share of the particles than this counts after an observation, it is taken in by stages."""
_VERY_FEW = 0.002
"""If a smaller share than this explains it at all, fresh ones are run through the past to find more."""
_PREDICTION, _CHECK, _ELSEWHERE = 1_000_000, 1_000_001, 1_000_002
"""The streams of predictions, of looking for surprises, and of looking elsewhere, beside those of the attempts."""


@dataclass(frozen=True)
class BeliefSettings(Settings):
    """What can be set about a belief."""

    particles: int = setting(10_000, "Particles in the robot's belief.", at_least=1, at_most=100_000_000)


class _Past(NamedTuple):
    """What was done and seen in a step."""

    action: np.ndarray
    observation: np.ndarray | None
    """None if nothing was."""
    ignored: bool
    """Whether nothing explained it."""
    context: np.ndarray
    """What was known then."""


class Belief:
    """Equally weighted particles over states, updated with each primitive action and its observation.

    A sharp observation leaves many copies of few particles. Where the task names numbers of its state that vary
    continuously (`continuous_state`), the copies are then spread by a kernel fitted to the particles, and
    drawn to their mean so that mean and covariance stay (a regularised filter with Liu & West's shrinkage). An
    observation that leaves hardly any particle is taken in by stages, with such a spreading after each.

    When no particle explains an observation, or hardly any where particles can be spread, the filter draws fresh ones
    from the task's initial belief and runs them through everything done and seen so far, up to RECOVERY_ATTEMPTS times
    (`recoveries` counts these rescues). If none is found, it moves the old ones, as `condition` does, and ignores how
    little they explain what was seen (`ignored` counts these). Who wants something else says so by `impossible`.

    What is impossible, no particle could ever have observed. Whoever meets ghosts, or moves robots, gives `surprise`:
    then an observation is impossible, too, if even the best particle explains it by so many nats (20, say) worse
    than particles explain what they observe themselves. If one cannot be explained, and later ones agree with it,
    somebody has moved the robot: its place is then looked for wherever an episode could begin.
    """

    def __init__(
        self,
        task: Task,
        context: np.ndarray,
        particles: np.ndarray,
        seed: int = 0,
        impossible: Impossible = "recover",
        surprise: float | None = None,
    ) -> None:
        """A belief of one's own: particles, shape (count, state_size), in a context, shape (context_size,). The seed
        decides the chance of all updates; `impossible` says what to do with an observation that nothing explains, and
        `surprise`, in nats, from where on nothing does (None: where no particle could have made it)."""
        self.task = task
        self.impossible, self.surprise = check_choice(impossible), check_surprise(surprise)
        self.context = check_vector(context, task.context_size, "context").copy()
        self.particles = check_particles(task, particles).copy()
        self.recoveries = 0
        self.ignored = 0
        self._from_prior = False
        self._spare = np.empty_like(self.particles)
        self._weights, self._logarithms = np.empty(len(self.particles)), np.empty(len(self.particles))
        self._running = np.empty(len(self.particles), np.bool_)
        self._imagined = np.empty(task.observation_size)
        size = len(task.continuous_state)
        if len(set(task.continuous_state) & set(range(task.state_size))) != size:
            raise ValueError(
                f"continuous_state of {task_name(task)} must name different numbers of a state, 0 to "
                f"{task.state_size - 1}, but is {task.continuous_state}."
            )
        columns = np.array(task.continuous_state, dtype=np.int64)
        self._spreading = columns, np.empty(size), np.empty((size, size)), np.empty(size)  # mean, factor, noise
        self._in_stages = size > 0 and type(task).condition is Task.condition  # what is seen does not move the state
        self._random = np.empty(1, np.uint64)
        self._seed = check_seed(seed)
        self._first_context = self.context
        self._first_observation: np.ndarray | None = None
        self._past: list[_Past] = []
        self._before_ignored: tuple[int, np.ndarray] | None = None  # where in the past, and what was believed
        self._attempts = 0
        self._turn = Turn("This belief is in use in another thread: give each thread a belief of its own.")

    @classmethod
    def initial(
        cls,
        task: Task,
        context: np.ndarray,
        count: int | None = None,
        seed: int = 0,
        observation: np.ndarray | None = None,
        impossible: Impossible = "recover",
        surprise: float | None = None,
    ) -> "Belief":
        """The task's own initial belief in a context, shape (context_size,): `count` particles (default: as many as the
        task advises), conditioned on an observation that was made before the first action, if there is one. The seed
        decides all chance; `impossible` says what to do with an observation that nothing explains, and `surprise`, in
        nats, from where on nothing does (None: where no particle could have made it)."""
        count = BeliefSettings.advised(task).particles if count is None else count
        if count < 1:
            raise ValueError(f"A belief needs at least one particle, not {count}.")
        belief = cls(task, context, np.zeros((count, task.state_size)), seed, impossible, surprise)
        belief._from_prior = True
        if observation is not None:
            belief._first_observation = check_vector(observation, task.observation_size, "first observation").copy()
        if not belief._draw_prior(0):
            belief.ignored += 1
            belief._first_observation = None  # what nothing explains now, it need not explain later
        check_particles(task, belief.particles)
        return belief

    def update(self, action: np.ndarray, observation: np.ndarray | None) -> HowExplained:
        """Move the belief by a primitive action, shape (action_size,), and condition it on what was observed, shape
        (observation_size,). None is no observation: it is then only known that the episode goes on. Tells what came of
        it: "explained", "predicted" (not observed), "recovered" or "ignored"."""
        action = check_vector(action, self.task.action_size, "action").copy()
        if observation is not None:
            observation = check_vector(observation, self.task.observation_size, "observation").copy()
        with self._turn:
            past = _Past(action, observation, False, self.context)
            self._past.append(past)
            explained, equal = self._weigh(past, 0, len(self._past))
            if explained and observation is not None and self._are_few() and self.impossible == "recover":
                self._gather(past)
                self.recoveries += 1
                return "recovered"
            if explained:
                self._take(past, equal, 0, len(self._past))
                return "predicted" if observation is None else "explained"
            if self.impossible == "raise":
                self._past.pop()
                raise ImpossibleObservation(why_impossible(observation))
            moved = self._spare[self._running]
            if self.impossible == "recover" and ((self._from_prior and self._replay()) or self._look_elsewhere()):
                self.recoveries += 1
                return "recovered"
            self.ignored += 1
            self._past[-1] = _Past(action, observation, True, self.context)
            if self.surprise is not None and len(self._spreading[0]) > 0:
                self._before_ignored = len(self._past) - 1, self.particles.copy()
            self._replace(moved)
            return "ignored"

    def predict(self, actions: np.ndarray) -> np.ndarray:
        """Particles of the belief expected after some actions, (length, action_size); those whose episode has ended by
        then are left out. The belief stays as it is."""
        actions, moved = plain_array(actions), np.empty_like(self.particles)
        key = stream_key(self._seed, len(self._past) + 1, _PREDICTION)
        running = np.empty(len(moved), np.bool_)
        imagined, random = np.empty_like(self._imagined), np.empty_like(self._random)
        move_by(self.task, self.context, self.particles, moved, running, actions, imagined, key, random)
        return moved[running]

    def change_context(self, context: np.ndarray) -> None:
        """Take note that what is known has changed. The particles stay: what was done and seen so far happened in the
        old context; the new one counts from now on."""
        self.context = check_vector(context, self.task.context_size, "context").copy()

    def warm_up(self) -> None:
        """Compile all that an update may need, or load it from disk; the particles are then spread as by an update."""
        self._spare[:], self._weights[:] = self.particles, 1.0
        key = stream_key(self._seed)
        resample(self.task, self._spare, self._weights, self.particles, *self._spreading, key, self._random)
        if self._in_stages:
            self._logarithms[:] = 0.0
            nothing = np.zeros(self.task.action_size), np.zeros(self.task.observation_size)
            resample_in_stages(
                self.task, self.context, self._spare, self._weights, self._logarithms, self.particles,
                *self._spreading, *nothing, key, self._random,
            )  # fmt: skip
        if self.surprise is not None:
            warm_up_check(self.task, self.context, self.particles[:2])

    def error(self, state: np.ndarray, sample: int = 100) -> float:
        """Mean distance of evenly picked particles to a state."""
        picked = self.particles[:: max(1, len(self.particles) // sample)]
        return float(mean_distance(self.task, picked.copy(), state))

    # ------------------------------------------------------------------------------------------------------ on disk

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All that the belief is, for a file: `from_arrays` makes a belief of it that goes on in the same way."""
        contexts = {id(context): context for context in (self._first_context, *(past.context for past in self._past))}
        places = {identity: place for place, identity in enumerate(contexts)}
        unseen, task = np.full(self.task.observation_size, np.nan), self.task
        seen = [unseen if past.observation is None else past.observation for past in self._past]
        position, before = self._before_ignored or (0, np.empty((0, task.state_size)))
        numbers = (self._seed, self.recoveries, self.ignored, self._attempts, self._from_prior, position)
        return {
            "particles": self.particles.copy(),
            "context": self.context.copy(),
            "contexts": np.array(list(contexts.values())).reshape(len(contexts), task.context_size),
            "context_of": np.array([places[id(past.context)] for past in self._past], np.int64),
            "actions": np.array([past.action for past in self._past]).reshape(-1, task.action_size),
            "observations": np.array(seen).reshape(-1, task.observation_size),
            "was_ignored": np.array([past.ignored for past in self._past], np.bool_),
            "first_observation": (unseen if self._first_observation is None else self._first_observation).copy(),
            "before_ignored": before.copy(),
            "surprise": np.nan_to_num([self.surprise or 0.0]),
            "numbers": np.array(numbers, np.uint64),
        }

    @classmethod
    def from_arrays(cls, task: Task, arrays: Mapping[str, np.ndarray], impossible: Impossible = "recover") -> "Belief":
        """The belief that `to_arrays` has told of, or a ValueError that says what is wrong with these."""
        check_belief_arrays(task, arrays)
        seed, recoveries, ignored, attempts, from_prior, position = (int(number) for number in arrays["numbers"])
        surprise = float(arrays["surprise"][0]) or None
        belief = cls(task, arrays["context"], arrays["particles"], seed, impossible, surprise)
        if len(arrays["before_ignored"]) > 0:
            belief._before_ignored = position, arrays["before_ignored"].copy()
        belief.recoveries, belief.ignored, belief._attempts = recoveries, ignored, attempts
        belief._from_prior = bool(from_prior)
        contexts = [belief.context if np.array_equal(one, belief.context) else one.copy() for one in arrays["contexts"]]
        belief._first_context = contexts[0]
        belief._first_observation = as_seen(arrays["first_observation"])
        rows = zip(*(arrays[name] for name in ("actions", "observations", "was_ignored", "context_of")), strict=True)
        belief._past = [
            _Past(action.copy(), as_seen(observation), bool(was_ignored), contexts[place])
            for action, observation, was_ignored, place in rows
        ]
        return belief

    # ------------------------------------------------------------------------------------------------------- the filter

    def _draw_prior(self, attempt: int) -> bool:
        """Draw particles from the task's initial belief; False if none of them explains the first observation."""
        key, first = stream_key(self._seed, 0, attempt), self._first_observation
        draw_states(self.task, self._first_context, self.particles, key, self._random)
        if first is None:
            return True
        action = check_vector(self.task.action_without_plan(), self.task.action_size, "action without a plan")
        moved, weights = self._spare, self._weights
        explained = weigh_first(self.task, self._first_context, self.particles, moved, weights, action, first)
        if explained:
            resample(self.task, moved, weights, self.particles, *self._spreading, key, self._random)
        return explained

    def _condition(self, past: _Past, attempt: int, time: int) -> bool:
        """Move and resample the particles; False if none of them explains the observation."""
        explained, equal = self._weigh(past, attempt, time)
        if explained:
            self._take(past, equal, attempt, time)
        return explained

    def _weigh(self, past: _Past, attempt: int, time: int) -> tuple[bool, bool]:
        """Move and weigh the particles. Whether any explains the observation, and whether all weigh the same."""
        key, task, context = stream_key(self._seed, time, attempt), self.task, past.context
        moved, weights, running, random = self._spare, self._weights, self._running, self._random
        if past.observation is None:
            actions = past.action[None]
            move_by(task, context, self.particles, moved, running, actions, self._imagined, key, random)
            weights[:] = running
            return bool(running.any()), bool(running.all())
        explained, equal = weigh(
            task, context, self.particles, moved, weights, self._logarithms, running, past.action, past.observation,
            self._imagined, key, random,
        )  # fmt: skip
        if explained and self.surprise is not None:
            key = stream_key(self._seed, time, attempt, _CHECK)
            before, logarithms = self.particles, self._logarithms
            explained = not is_surprising(task, context, before, logarithms, past.action, self.surprise, key)
        return explained, equal

    def _take(self, past: _Past, equal: bool, attempt: int, time: int) -> None:
        """Resample the particles that were weighed."""
        if equal:  # low-variance resampling would take every particle once
            self.particles, self._spare = self._spare, self.particles
        elif past.observation is not None and self._in_stages and _effective(self._weights) < _FEW * len(self._weights):
            self._take_in_stages(past, attempt, time)
        else:
            key = stream_key(self._seed, time, attempt)
            resample(self.task, self._spare, self._weights, self.particles, *self._spreading, key, self._random)

    def _take_in_stages(self, past: _Past, attempt: int, time: int) -> None:
        key = stream_key(self._seed, time, attempt)
        resample_in_stages(
            self.task, past.context, self._spare, self._weights, self._logarithms, self.particles, *self._spreading,
            past.action, past.observation, key, self._random,
        )  # fmt: skip

    def _explaining(self) -> tuple[np.ndarray, np.ndarray]:
        """The particles that explain what they were weighed by, and the logarithms of their weights."""
        possible = self._logarithms > -np.inf
        return self._spare[possible], self._logarithms[possible]

    def _are_few(self) -> bool:
        """Whether so few particles explain an observation that nobody could tell from them how the belief spreads, and
        more can be had."""
        possible = np.count_nonzero(self._logarithms > -np.inf)
        return self._in_stages and self._from_prior and bool(possible < _VERY_FEW * len(self._logarithms))

    def _gather(self, past: _Past) -> None:
        """Run fresh particles through what was before this observation, which hardly any particle explains, and take
        those that explain it to the others."""
        found = [self._explaining()]
        for _ in range(RECOVERY_ATTEMPTS):
            self._attempts += 1
            if self._relive_past(self._past[:-1]) and self._weigh(past, self._attempts, len(self._past))[0]:
                found.append(self._explaining())
        states, logarithms = (np.concatenate(parts) for parts in zip(*found, strict=True))
        self._spare[:] = np.resize(states, self._spare.shape)
        self._logarithms[:] = np.resize(logarithms, self._logarithms.shape)
        self._take_in_stages(past, self._attempts, len(self._past))

    def _replay(self) -> bool:
        """Run fresh particles through the past; False, with the old particles kept, if none survives."""
        kept = self.particles.copy()
        for _ in range(RECOVERY_ATTEMPTS):
            self._attempts += 1
            if self._relive_past(self._past):
                return True
        self.particles[:] = kept
        return False

    def _look_elsewhere(self) -> bool:
        """Suppose that somebody moved the robot before the last observation that was ignored: whether that one and all
        since agree on a place in which an episode could begin. False, with the old particles kept, if not."""
        if self._before_ignored is None:
            return False
        (position, before), kept, columns = self._before_ignored, self.particles.copy(), self._spreading[0]
        draws_context = type(self.task).draw_context is not Task.draw_context
        for _ in range(RECOVERY_ATTEMPTS):
            self._attempts += 1
            key, context = stream_key(self._seed, self._attempts, _ELSEWHERE), self.context.copy()
            draw_anywhere(self.task, draws_context, context, self._spare, key, self._random)
            self.particles[:] = before
            self.particles[:, columns] = self._spare[:, columns]
            since = enumerate(self._past[position:], start=position + 1)
            if all(self._condition(past, self._attempts, time) for time, past in since):
                self._from_prior, self._before_ignored = False, None  # what was before tells nothing any more
                return True
        self.particles[:] = kept
        return False

    def _relive_past(self, past: list[_Past]) -> bool:
        """Take fresh particles, and all that was done and seen; False if none of them survives."""
        fits = self._draw_prior(self._attempts)
        return fits and all(self._relive(one, self._attempts, i) for i, one in enumerate(past, start=1))

    def _relive(self, past: _Past, attempt: int, time: int) -> bool:
        """Condition on a past observation; one that was ignored then may be ignored again."""
        explained = self._condition(past, attempt, time)
        if not explained and past.ignored:
            self._replace(self._spare[self._running])
        return explained or past.ignored

    def _replace(self, particles: np.ndarray) -> None:
        """Take these particles, repeated to the right number; none at all leaves everything as it is."""
        if len(particles) > 0:
            self.particles[:] = np.resize(particles, self.particles.shape)


def _effective(weights: np.ndarray) -> float:
    """How many particles count: as many of equal weight would estimate a mean as well."""
    return float(weights.sum() ** 2 / (weights @ weights))
