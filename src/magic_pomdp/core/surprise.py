"""Whether anything that is believed explains an observation: a posterior predictive check. Particles say what they
would observe themselves, and how well that is explained tells how well an observation should be."""

import math
from typing import Literal, get_args

import numpy as np

from magic_pomdp.core.arrays import check_vector
from magic_pomdp.core.compiling import kernel
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import seek
from magic_pomdp.core.task import Task
from magic_pomdp.core.views import borrow

Impossible = Literal["recover", "ignore", "raise"]
"""What to do with an observation that no particle explains: look for particles that do, and ignore it if there are
none; ignore it at once; or raise an `ImpossibleObservation`."""
HowExplained = Literal["explained", "predicted", "recovered", "ignored"]
"""What came of an update: particles explain the observation; there was none; fresh particles explain it; none does."""

_SAMPLE = 64
"""Particles that say what they would observe."""


class ImpossibleObservation(ValueError):
    """No particle explains what was observed. The belief is as it was before."""


def is_surprising(
    task: Task,
    context: np.ndarray,
    particles: np.ndarray,
    logarithms: np.ndarray,
    action: np.ndarray,
    nats: float,
    key: np.uint64,
) -> bool:
    """Whether an observation, by which particles were moved and weighed, is explained by none of them: even the best
    of their `logarithms` is so much smaller than those of what particles observe themselves.

    First they are asked how well each explains its own observation. Where particles are sparse, they hardly explain
    one another either; so before an observation is called impossible, those that could have made it say what they
    would observe, and the others must explain all of that better."""
    best = float(logarithms.max())
    rooms = np.empty(task.state_size), np.empty(task.observation_size), np.empty(task.observation_size)
    random, own = np.empty(1, np.uint64), type(task).condition is not Task.condition
    least = least_by_itself(task, context, particles, _SAMPLE, action, own, *rooms, key, random)
    if least == math.inf or not best < least - nats:  # where all expect an end, nobody can tell
        return False
    enough = best + nats
    return not are_sparse(task, context, particles, logarithms, _SAMPLE, action, enough, *rooms, key, random)


def warm_up_check(task: Task, context: np.ndarray, particles: np.ndarray) -> None:
    """Compile what the check and the search elsewhere need, or load it from disk."""
    action, key = check_vector(task.action_without_plan(), task.action_size, "action without a plan"), np.uint64(1)
    rooms = np.empty(task.state_size), np.empty(task.observation_size), np.empty(task.observation_size)
    random, logarithms = np.empty(1, np.uint64), np.zeros(len(particles))
    least_by_itself(task, context, particles, 1, action, False, *rooms, key, random)
    are_sparse(task, context, particles, logarithms, 1, action, 0.0, *rooms, key, random)
    draw_anywhere(task, False, context.copy(), particles.copy(), key, random)


@kernel
def least_by_itself(task, context, particles, count, action, own, state, seen, imagined, key, random):
    """The least ln-likelihood of observations that so many particles make, each by itself; ∞ if none makes any. A task
    whose `condition` is its `own` weighs otherwise."""
    context, particles, action = borrow((context, particles, action), task)
    state, seen, imagined, random = borrow((state, seen, imagined, random), task)
    least = math.inf
    for i in range(0, len(particles), max(1, len(particles) // count)):
        for j in range(len(state)):
            state[j] = particles[i, j]
        seek(random, key, i)
        _, outcome = task.step(context, state, action, random, seen)
        if outcome == Outcome.RUNNING:
            if own:
                for j in range(len(state)):
                    state[j] = particles[i, j]
                value, _, _ = task.condition(context, state, action, random, seen, imagined)
            else:
                value = task.log_likelihood(context, state, action, seen)
            if -math.inf < value < least:
                least = value
    return least


@kernel
def are_sparse(task, context, particles, logarithms, count, action, enough, state, seen, imagined, key, random):
    """Whether one of so many of the possible particles observes what no other explains well enough, though some explain
    it."""
    context, particles, logarithms, action = borrow((context, particles, logarithms, action), task)
    state, seen, imagined, random = borrow((state, seen, imagined, random), task)
    possible, met = 0, 0
    for i in range(len(particles)):
        possible += logarithms[i] > -math.inf
    stride = max(1, possible // count)
    for i in range(len(particles)):
        met += logarithms[i] > -math.inf
        if logarithms[i] == -math.inf or met % stride != 0:
            continue
        for j in range(len(state)):
            state[j] = particles[i, j]
        seek(random, key, len(particles) + i)
        _, outcome = task.step(context, state, action, random, seen)
        best, k = -math.inf, 0
        while outcome == Outcome.RUNNING and best < enough and k < len(particles):
            if k != i:
                for j in range(len(state)):
                    state[j] = particles[k, j]
                value, _, _ = task.condition(context, state, action, random, seen, imagined)
                if best < value < math.inf:
                    best = value
            k += 1
        if -math.inf < best < enough:
            return True
    return False


@kernel
def draw_anywhere(task, fresh_context, context, states, key, random):
    """States in which an episode could begin: in contexts that the task draws, if it does, else in this one."""
    context, states, random = borrow((context, states, random), task)
    for i in range(len(states)):
        seek(random, key, i)
        if fresh_context:
            task.draw_context(random, context)
        task.draw_state(context, random, states[i])


def check_choice(impossible: str) -> Impossible:
    """What to do with an impossible observation, or a ValueError if it is nothing that can be done."""
    known: dict[str, Impossible] = {choice: choice for choice in get_args(Impossible)}
    if impossible in known:
        return known[impossible]
    choices = ", ".join(get_args(Impossible)[:-1])
    raise ValueError(
        f"With an impossible observation one can {choices} or {get_args(Impossible)[-1]}, not {impossible!r}."
    )


def check_surprise(nats: float | None) -> float | None:
    """How far an observation may be from what is expected, or a ValueError; None is as far as it likes."""
    if nats is not None and not nats > 0.0:
        raise ValueError(f"The surprise that is too much is a number of nats above 0, such as 20, not {nats!r}.")
    return None if nats is None else float(nats)


def why_impossible(observation: np.ndarray | None) -> str:
    """The sentence of an `ImpossibleObservation`."""
    seen = "that the episode goes on" if observation is None else f"the observation {observation.tolist()}"
    return f"No particle of the belief explains {seen}. The belief is as it was before."
