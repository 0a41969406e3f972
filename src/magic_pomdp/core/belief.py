"""The robot's belief: a particle filter that resamples with low variance, keeps its particles apart where the task
allows it, and finds its way back when it has lost track."""

import math
from dataclasses import dataclass

import numpy as np

from magic_pomdp.core.compiling import compiled, kernel
from magic_pomdp.core.macro_actions import plain_array
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import check_seed, seek, stream_key, uniform
from magic_pomdp.core.settings import Settings, setting
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.core.turns import Turn
from magic_pomdp.core.views import borrow

RECOVERY_ATTEMPTS = 5
"""Fresh sets of particles tried before an observation that nothing explains is ignored."""

_NEGLIGIBLE = -50.0
"""A particle whose log-likelihood lies so far below the best one's is not worth an exponential."""
_PREDICTION = 1_000_000
"""The stream of predictions, beside those of the attempts to recover."""
_FIT_SAMPLE = 1000
"""Particles from which the spread of a belief is measured."""


@dataclass(frozen=True)
class BeliefSettings(Settings):
    """What can be set about a belief."""

    particles: int = setting(10_000, "Particles in the robot's belief.", at_least=1, at_most=100_000_000)


class Belief:
    """Equally weighted particles over states, updated with each primitive action and its observation.

    A sharp observation leaves many copies of few particles. Where the task names numbers of its state that vary
    continuously (`continuous_state`), the copies are then spread by a kernel fitted to the particles, and
    drawn to their mean so that mean and covariance stay (a regularised filter with Liu & West's shrinkage).

    When no particle explains an observation, the filter draws fresh particles from the task's initial belief and runs
    them through everything done and seen so far, up to RECOVERY_ATTEMPTS times (`recoveries` counts these rescues).
    If that fails too, it moves the old particles, as `condition` does, and ignores how little they explain what was
    observed (`ignored` counts these).
    """

    def __init__(self, task: Task, context: np.ndarray, particles: np.ndarray, seed: int = 0) -> None:
        self.task = task
        self.context = check_vector(context, task.context_size, "context").copy()
        self.particles = check_particles(task, particles).copy()
        self.recoveries = 0
        self.ignored = 0
        self._from_prior = False
        self._spare = np.empty_like(self.particles)
        self._weights = np.empty(len(self.particles))
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
        self._random = np.empty(1, np.uint64)
        self._seed = check_seed(seed)
        self._first_context = self.context
        self._first_observation: np.ndarray | None = None
        self._past: list[tuple[np.ndarray, np.ndarray, bool, np.ndarray]] = []
        """Actions and observations, whether they were ignored, and in which context."""
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
    ) -> "Belief":
        """The task's own initial belief, `count` particles (default: as many as the task advises), conditioned on an
        observation that was made before the first action, if there is one."""
        count = BeliefSettings.advised(task).particles if count is None else count
        if count < 1:
            raise ValueError(f"A belief needs at least one particle, not {count}.")
        belief = cls(task, context, np.zeros((count, task.state_size)), seed)
        belief._from_prior = True
        if observation is not None:
            belief._first_observation = check_vector(observation, task.observation_size, "first observation").copy()
        if not belief._draw_prior(0):
            belief.ignored += 1
            belief._first_observation = None  # what nothing explains now, it need not explain later
        check_particles(task, belief.particles)
        return belief

    def update(self, action: np.ndarray, observation: np.ndarray) -> None:
        """Move the belief by a primitive action and condition it on what was observed."""
        action = check_vector(action, self.task.action_size, "action").copy()
        observation = check_vector(observation, self.task.observation_size, "observation").copy()
        with self._turn:
            self._past.append((action, observation, False, self.context))
            if self._condition(action, observation, self.context, 0, len(self._past)):
                return
            moved = self._spare[self._running]
            if self._from_prior and self._replay():
                self.recoveries += 1
                return
            self.ignored += 1
            self._past[-1] = (action, observation, True, self.context)
            self._replace(moved)

    def predict(self, actions: np.ndarray) -> np.ndarray:
        """Particles of the belief expected after some actions, (length, action_size); those whose episode has ended by
        then are left out. The belief stays as it is."""
        actions, moved = plain_array(actions), np.empty_like(self.particles)
        key = stream_key(self._seed, len(self._past) + 1, _PREDICTION)
        running = np.empty(len(moved), np.bool_)
        imagined, random = np.empty_like(self._imagined), np.empty_like(self._random)
        _predict(self.task, self.context, self.particles, moved, running, actions, imagined, key, random)
        return moved[running]

    def change_context(self, context: np.ndarray) -> None:
        """Take note that what is known has changed. The particles stay: what was done and seen so far happened in the
        old context; the new one counts from now on."""
        self.context = check_vector(context, self.task.context_size, "context").copy()

    def warm_up(self) -> None:
        """Compile all that an update may need, or load it from disk; the particles are then spread as by an update."""
        self._spare[:], self._weights[:] = self.particles, 1.0
        key = stream_key(self._seed)
        _resample(self.task, self._spare, self._weights, self.particles, *self._spreading, key, self._random)

    def error(self, state: np.ndarray, sample: int = 100) -> float:
        """Mean distance of evenly picked particles to a state."""
        picked = self.particles[:: max(1, len(self.particles) // sample)]
        return float(_mean_distance(self.task, picked.copy(), state))

    def _draw_prior(self, attempt: int) -> bool:
        """Draw particles from the task's initial belief; False if none of them explains the first observation."""
        key, first = stream_key(self._seed, 0, attempt), self._first_observation
        _draw_states(self.task, self._first_context, self.particles, key, self._random)
        if first is None:
            return True
        action = check_vector(self.task.action_without_plan(), self.task.action_size, "action without a plan")
        moved, weights = self._spare, self._weights
        explained = _weigh_first(self.task, self._first_context, self.particles, moved, weights, action, first)
        if explained:
            _resample(self.task, moved, weights, self.particles, *self._spreading, key, self._random)
        return explained

    def _condition(
        self, action: np.ndarray, observation: np.ndarray, context: np.ndarray, attempt: int, time: int
    ) -> bool:
        """Move and resample the particles; False if none of them explains the observation."""
        key = stream_key(self._seed, time, attempt)
        moved, weights, random = self._spare, self._weights, self._random
        explained, equal = _weigh(
            self.task, context, self.particles, moved, weights, self._running, action, observation,
            self._imagined, key, random,
        )  # fmt: skip
        if explained and equal:  # low-variance resampling would take every particle once
            self.particles, self._spare = moved, self.particles
        elif explained:
            _resample(self.task, moved, weights, self.particles, *self._spreading, key, random)
        return explained

    def _replay(self) -> bool:
        """Run fresh particles through the past; False, with the old particles kept, if none survives."""
        kept = self.particles.copy()
        for _ in range(RECOVERY_ATTEMPTS):
            self._attempts += 1
            fits = self._draw_prior(self._attempts)
            if fits and all(self._relive(*past, self._attempts, i) for i, past in enumerate(self._past, start=1)):
                return True
        self.particles[:] = kept
        return False

    def _relive(
        self, action: np.ndarray, observation: np.ndarray, ignored: bool, context: np.ndarray, attempt: int, time: int
    ) -> bool:
        """Condition on a past observation; one that was ignored then may be ignored again."""
        explained = self._condition(action, observation, context, attempt, time)
        if not explained and ignored:
            self._replace(self._spare[self._running])
        return explained or ignored

    def _replace(self, particles: np.ndarray) -> None:
        """Take these particles, repeated to the right number; none at all leaves everything as it is."""
        if len(particles) > 0:
            self.particles[:] = np.resize(particles, self.particles.shape)


def check_vector(values: np.ndarray, size: int, what: str) -> np.ndarray:
    """`values` as float64 of shape (size,), or a ValueError that says what is wrong."""
    vector = plain_array(values)
    if vector.shape != (size,):
        raise ValueError(f"The {what} must have shape ({size},), but has shape {vector.shape}.")
    if not np.isfinite(vector).all():
        raise ValueError(f"The {what} contains NaN or infinity: {vector.tolist()}.")
    return vector


def check_particles(task: Task, particles: np.ndarray) -> np.ndarray:
    """`particles` as float64 of shape (n, state_size), or a ValueError that says what is wrong."""
    particles = plain_array(particles)
    if particles.ndim != 2 or particles.shape[1] != task.state_size:
        raise ValueError(
            f"A belief of {task_name(task)} is an array (particles, {task.state_size}), but this one has shape "
            f"{particles.shape}."
        )
    if len(particles) == 0:
        raise ValueError("The belief has no particles: give at least one.")
    if np.isfinite(particles.sum()):  # then all of them are, and this is ten times as fast to tell
        return particles
    bad = ~np.isfinite(particles).all(axis=1)
    if bad.any():
        raise ValueError(f"The belief contains NaN or infinity in {bad.sum()} of its {len(particles)} particles.")
    return particles


@kernel
def _draw_states(task, context, particles, key, random):
    context, particles, random = borrow((context, particles, random), task)
    for i in range(len(particles)):
        seek(random, key, i)
        task.draw_state(context, random, particles[i])


@kernel
def _predict(task, context, particles, moved, running, actions, imagined, key, random):
    """Move the particles by some actions into `moved`; note which of them are still running."""
    context, particles, moved, running = borrow((context, particles, moved, running), task)
    actions, imagined, random = borrow((actions, imagined, random), task)
    for i in range(len(particles)):
        state, outcome = moved[i], Outcome.RUNNING
        for j in range(len(state)):
            state[j] = particles[i, j]
        seek(random, key, i)
        for k in range(len(actions)):
            if outcome == Outcome.RUNNING:
                _, outcome = task.step_unobserved(context, state, actions[k], random, imagined)
        running[i] = outcome == Outcome.RUNNING


@kernel
def _mean_distance(task, particles, state):
    particles, state = borrow((particles, state), task)
    total = 0.0
    for i in range(len(particles)):
        total += task.state_distance(state, particles[i])
    return total / len(particles)


@kernel
def _weigh(task, context, particles, moved, weights, running, action, observation, imagined, key, random):
    """Move the particles into `moved` and weigh them, the best by 1. Whether any explains the observation, and whether
    all weigh the same."""
    context, particles, moved = borrow((context, particles, moved), task)
    weights, running = borrow((weights, running), task)
    action, observation, imagined, random = borrow((action, observation, imagined, random), task)
    largest, smallest = -math.inf, math.inf
    for i in range(len(particles)):
        state = moved[i]
        for j in range(len(state)):
            state[j] = particles[i, j]
        seek(random, key, i)
        weight, _, outcome = task.condition(context, state, action, random, observation, imagined)
        running[i] = outcome == Outcome.RUNNING
        if not (running[i] and weight < math.inf):  # NaN or +∞ say nothing about this particle
            weight = -math.inf
        weights[i] = weight
        largest, smallest = max(largest, weight), min(smallest, weight)
    if largest == -math.inf or largest == smallest:
        return largest > -math.inf, True
    _from_logarithms(weights, largest)
    return True, False


@kernel
def _weigh_first(task, context, particles, moved, weights, action, observation):
    """Weigh particles by an observation before the first action, into `moved`. Whether any explains it."""
    context, particles, moved, weights = borrow((context, particles, moved, weights), task)
    action, observation = borrow((action, observation), task)
    largest = -math.inf
    for i in range(len(particles)):
        for j in range(len(particles[i])):
            moved[i, j] = particles[i, j]
        weight = task.log_likelihood(context, moved[i], action, observation)
        weights[i] = weight if weight < math.inf else -math.inf
        largest = max(largest, weights[i])
    if largest > -math.inf:
        _from_logarithms(weights, largest)
    return largest > -math.inf


@compiled
def _from_logarithms(weights, largest):
    """Weights of their logarithms, the largest 1."""
    for i in range(len(weights)):
        relative = weights[i] - largest
        weights[i] = math.exp(relative) if relative > _NEGLIGIBLE else 0.0


@kernel
def _resample(task, moved, weights, particles, columns, mean, factor, noise, key, random):
    """Low-variance resampling from `moved` into `particles`: evenly spaced pointers into the cumulated weights."""
    moved, weights, particles, random = borrow((moved, weights, particles, random), task)
    columns, mean, factor, noise = borrow((columns, mean, factor, noise), task)
    count, total, squares, last = len(particles), 0.0, 0.0, 0
    for i in range(count):
        total += weights[i]
        squares += weights[i] ** 2
        if weights[i] > 0.0:
            last = i
    seek(random, key, count)
    offset, spacing, chosen, cumulated = uniform(random), total / count, 0, weights[0]
    for i in range(count):
        pointer = (i + offset) * spacing
        while cumulated <= pointer and chosen < last:
            chosen += 1
            cumulated += weights[chosen]
        for j in range(len(particles[i])):
            particles[i, j] = moved[chosen, j]
    effective = total * total / squares
    if effective < 0.5 * count and len(columns) > 0:
        _fit(particles, columns, mean, factor)
        _spread(particles, columns, mean, factor, noise, effective, random)


@compiled
def _fit(particles, columns, mean, factor):
    """Mean of some columns, and the Cholesky factor of their covariance, from a sample of the particles."""
    size, stride = len(columns), max(1, len(particles) // _FIT_SAMPLE)
    share = 1.0 / len(range(0, len(particles), stride))
    for a in range(size):
        mean[a] = 0.0
        for i in range(0, len(particles), stride):
            mean[a] += share * particles[i, columns[a]]
    for a in range(size):
        for b in range(a + 1):
            factor[a, b] = 0.0
            for i in range(0, len(particles), stride):
                factor[a, b] += share * (particles[i, columns[a]] - mean[a]) * (particles[i, columns[b]] - mean[b])
    for a in range(size):
        for b in range(a + 1):
            for c in range(b):
                factor[a, b] -= factor[a, c] * factor[b, c]
            if a == b:
                factor[a, a] = math.sqrt(max(0.0, factor[a, a]))
            else:
                factor[a, b] = factor[a, b] / factor[b, b] if factor[b, b] > 0.0 else 0.0


@compiled
def _spread(particles, columns, mean, factor, noise, effective, random):
    """Blur some columns by a kernel (uniform: its shape hardly matters) as wide as suits so many effective particles,
    without widening the whole."""
    size = len(columns)
    width = effective ** (-1.0 / (size + 4.0))
    shrink = math.sqrt(1.0 - width * width)
    for i in range(len(particles)):
        for a in range(size):
            noise[a] = width * math.sqrt(12.0) * (uniform(random) - 0.5)
        for a in range(size):
            value = mean[a] + shrink * (particles[i, columns[a]] - mean[a])
            for b in range(a + 1):
                value += factor[a, b] * noise[b]
            particles[i, columns[a]] = value
