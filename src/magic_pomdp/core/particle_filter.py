"""The compiled part of a belief: particles are drawn, moved, weighed and resampled."""

import math

from magic_pomdp.core.compiling import compiled, kernel
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import derive, seek, uniform
from magic_pomdp.core.views import borrow

_NEGLIGIBLE = -50.0
"""A particle whose log-likelihood lies so far below the best one's is not worth an exponential."""
_FIT_SAMPLE = 1000
"""Particles from which the spread of a belief is measured."""
_EFFECTIVE = 0.05
"""The share of the particles that is to count, at least, in each stage of taking in a sharp observation."""
_SMALLEST_STAGE = 1.0 / 64.0
"""Of an observation, how much a stage takes in at least."""


@kernel
def draw_states(task, context, particles, key, random):
    context, particles, random = borrow((context, particles, random), task)
    for i in range(len(particles)):
        seek(random, key, i)
        task.draw_state(context, random, particles[i])


@kernel
def move_by(task, context, particles, moved, running, actions, imagined, key, random):
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
def mean_distance(task, particles, state):
    particles, state = borrow((particles, state), task)
    total = 0.0
    for i in range(len(particles)):
        total += task.state_distance(state, particles[i])
    return total / len(particles)


@kernel
def weigh(task, context, particles, moved, weights, logarithms, running, action, observation, imagined, key, random):
    """Move the particles into `moved` and weigh them, the best by 1; the logarithms of their weights are as they are.
    Whether any explains the observation, and whether all weigh the same."""
    context, particles, moved = borrow((context, particles, moved), task)
    weights, logarithms, running = borrow((weights, logarithms, running), task)
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
        logarithms[i] = weight
        largest, smallest = max(largest, weight), min(smallest, weight)
    if largest == -math.inf or largest == smallest:
        return largest > -math.inf, True
    _from_logarithms(logarithms, largest, 1.0, weights)
    return True, False


@kernel
def weigh_first(task, context, particles, moved, weights, action, observation):
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
        _from_logarithms(weights, largest, 1.0, weights)
    return largest > -math.inf


@compiled
def _from_logarithms(logarithms, largest, power, weights):
    """Weights to a power of their logarithms, the largest 1."""
    for i in range(len(weights)):
        relative = power * (logarithms[i] - largest)
        weights[i] = math.exp(relative) if relative > _NEGLIGIBLE else 0.0


@kernel
def resample(task, moved, weights, particles, columns, mean, factor, noise, key, random):
    """Low-variance resampling from `moved` into `particles`, whose copies are spread."""
    moved, weights, particles, random = borrow((moved, weights, particles, random), task)
    columns, mean, factor, noise = borrow((columns, mean, factor, noise), task)
    _resample(moved, weights, particles, columns, mean, factor, noise, key, random)


@kernel
def resample_in_stages(
    task, context, moved, weights, logarithms, particles, columns, mean, factor, noise, action, observation, key, random
):
    """The same for an observation so sharp that hardly any particle explains it. Copies of a few would say little of
    where to spread them; so a part of the observation is taken in, as large as leaves many particles, these are
    spread, and then weighed by the next part where they are now."""
    context, action, observation = borrow((context, action, observation), task)
    moved, weights, logarithms, particles = borrow((moved, weights, logarithms, particles), task)
    columns, mean, factor, noise, random = borrow((columns, mean, factor, noise, random), task)
    left, stage = 1.0, 0
    while True:
        part = _weigh_by_part(logarithms, left, weights)
        _resample(moved, weights, particles, columns, mean, factor, noise, derive(key, stage), random)
        left, stage, largest = left - part, stage + 1, -math.inf
        if left <= 0.0:
            return
        for i in range(len(particles)):
            for j in range(len(particles[i])):
                moved[i, j] = particles[i, j]
            weight = task.log_likelihood(context, moved[i], action, observation)
            logarithms[i] = weight if weight < math.inf else -math.inf
            largest = max(largest, logarithms[i])
        if largest == -math.inf:
            return


@compiled
def _weigh_by_part(logarithms, left, weights):
    """Weigh by a part of an observation, of which so much is left, that leaves enough particles; how large it is."""
    largest, possible, part = -math.inf, 0, left
    for i in range(len(logarithms)):
        largest = max(largest, logarithms[i])
        possible += logarithms[i] > -math.inf
    wanted = min(_EFFECTIVE * len(logarithms), 0.5 * possible)
    while True:
        _from_logarithms(logarithms, largest, part, weights)
        total, squares = 0.0, 0.0
        for i in range(len(weights)):
            total += weights[i]
            squares += weights[i] ** 2
        if total * total >= wanted * squares or part <= _SMALLEST_STAGE:
            return part
        part *= 0.5


@compiled
def _resample(moved, weights, particles, columns, mean, factor, noise, key, random):
    """Take particles by evenly spaced pointers into the cumulated weights."""
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
