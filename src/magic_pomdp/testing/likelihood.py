"""Whether `log_likelihood` agrees with the observations that `step` makes.

No density is known here, and a likelihood may lack a factor common to all states. But take a few states that the same
action led to, and an observation that one of them, picked at random, has produced. By Bayes' rule the probability that
it was state k is L_k / Σ L. So for any score that looks only at the observation and the states, the score of the true
state and the mean score under these probabilities have the same expectation. Two scores are tried: the probability
itself, which tells a likelihood that is too sharp or too flat, and the resemblance of the observation to another that
a state close to k has produced, which tells a likelihood that overlooks something. Bernstein's inequality bounds the
chance that a right likelihood is accused.

Which states are close together must not follow from what they showed. A state that keeps what the robot has observed
tells that; its task writes `condition`, and closeness is then that of the states before the action.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import config

from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.core.task import Task
from magic_pomdp.testing.compiled import run
from magic_pomdp.testing.declaration import primitive_actions
from magic_pomdp.testing.finding import Finding
from magic_pomdp.testing.plain import HOLD, Record, impossible

_GROUP = 8
"""Candidate states for one observation."""
_PARTICLES = 256
_CONTEXTS = 4 if config.DISABLE_JIT else 48
_STEPS = 40
"""How many states are moved along together, in how many contexts, for how many steps."""
_SHARPNESS = 10.0
"""How fast the resemblance of two observations falls with their squared distance, in variances of an observation."""
_FALSE_ALARM = 1e-9
"""Largest chance that one of the scores accuses a likelihood that is right."""

_KEPT = (
    ". If the state keeps what was observed, write condition, which notes the observation that it is given: else every "
    "particle remembers an observation that nobody made"
)
_ADVICE = (
    "Compare it with how step makes the observation: the same noise, the same quantities, every element, "
    "and the state after the action"
)


class Population(NamedTuple):
    """States that the same action led to in the same context, and what each of them showed."""

    context: np.ndarray  # (context_size,)
    action: np.ndarray  # (action_size,)
    states: np.ndarray  # (n, state_size), n = _GROUP · 2^m, sorted so that any aligned block of 2^i is close together
    observations: np.ndarray  # (n, observation_size)


class Balance:
    """Sums a score's surplus for the true state over that under the likelihood, and the surplus' variance."""

    def __init__(self) -> None:
        self.count, self.true, self.claimed, self.variance = 0, 0.0, 0.0, 0.0

    def add(self, scores: np.ndarray, probabilities: np.ndarray) -> None:
        """Scores in [0, 1] and probabilities, (groups, _GROUP, _GROUP): [g, i, k] is of candidate k when i is true."""
        means = (probabilities * scores).sum(axis=2)
        self.count += means.size
        self.true += float(np.trace(scores, axis1=1, axis2=2).sum())
        self.claimed += float(means.sum())
        self.variance += float(np.maximum(0.0, (probabilities * scores**2).sum(axis=2) - means**2).sum())

    @property
    def accuses(self) -> bool:
        surplus = abs(self.true - self.claimed)  # of independent terms, none of which is further than 2 from its mean
        return surplus**2 > 2.0 * (self.variance + 2.0 * surplus / 3.0) * math.log(2.0 / _FALSE_ALARM)


def check_likelihood(task: Task, record: Record) -> Iterator[Finding]:
    """Whether the likelihood gives the state that produced an observation its due."""
    rng = np.random.default_rng(0)
    calibration, resemblance = (Balance(), Balance()), (Balance(), Balance())
    for population in populations(task, rng):
        states, observations = population.states, population.observations
        own = _log_likelihoods(task, population, states, observations)
        if not (own > -np.inf).all():
            row = int(np.argmin(own))
            yield impossible(states[row], population.action, observations[row])
            return
        pairs = np.arange(len(states)).reshape(-1, 2)
        for which, order in enumerate((pairs, rng.permutation(pairs))):  # candidates close together, and far apart
            groups = order.reshape(-1, _GROUP, 2)
            candidates, twins = groups[:, :, 0], groups[:, :, 1]
            probabilities = _posterior(task, population, candidates)
            calibration[which].add(probabilities, probabilities)
            resemblance[which].add(_resemblance(observations[candidates], observations[twins]), probabilities)
    for balance in calibration:
        if balance.accuses:
            yield _miscalibrated(balance, _advice(task))
            return
    if any(balance.accuses for balance in resemblance):
        seen = (
            "observations tell more about the state than it accounts for: something that step puts into the "
            "observation is missing from it or different"
        )
        yield Finding("log_likelihood", seen, "ln p(observation | state after the action)", _advice(task))


def _conditions(task: Task) -> bool:
    """Whether the task says itself what an observation makes of a state."""
    return type(task).condition is not Task.condition


def _advice(task: Task) -> str:
    return _ADVICE if _conditions(task) else _ADVICE + _KEPT


def _miscalibrated(balance: Balance, advice: str) -> Finding:
    seen = (
        f"among {_GROUP} candidate states, it gave the one that really produced the observation a probability of "
        f"{balance.true / balance.count:.3f} on average, but was itself {balance.claimed / balance.count:.3f} sure "
        f"(over {balance.count} observations)"
    )
    direction = (
        "it is too flat, as if the noise were larger"
        if balance.true > balance.claimed
        else "it is too sharp, as if the noise were smaller, or looks at something else"
    )
    return Finding("log_likelihood", seen, "two equal numbers", f"Compared with step, {direction}. {advice}")


def populations(task: Task, rng: np.random.Generator) -> Iterator[Population]:
    """Move many states by the same random actions, and show what they observe on the way."""
    actions = primitive_actions(task)
    for number in range(_CONTEXTS):
        contexts = np.full((1, task.context_size), np.nan)
        run(task, "draw_context", {"random": new_stream(1, number).reshape(1, 1), "context": contexts})
        contexts = np.repeat(contexts, _PARTICLES, axis=0)
        states = np.full((_PARTICLES, task.state_size), np.nan)
        run(task, "draw_state", {"context": contexts, "random": _streams(rng, _PARTICLES), "state": states})
        action = actions[rng.integers(len(actions))]
        for _ in range(min(_STEPS, task.max_steps)):
            if rng.random() < 1.0 / HOLD:
                action = actions[rng.integers(len(actions))]
            count = len(states)
            observations = np.full((count, task.observation_size), np.nan)
            arguments = {"context": contexts[:count], "state": states, "action": np.repeat(action[None], count, axis=0)}
            arguments |= {"random": _streams(rng, count), "observation": observations}
            before = states.copy()
            running = run(task, "step", arguments)[:, 1] == Outcome.RUNNING
            before, states, observations = before[running], states[running], observations[running]
            if len(states) < 2 * _GROUP:
                break
            order = _near_together(before if _conditions(task) else states)
            yield Population(contexts[0], action, states[order], observations[order])


def _streams(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.integers(2**64, size=(count, 1), dtype=np.uint64)


def _near_together(states: np.ndarray) -> np.ndarray:
    """An order of _GROUP · 2^m of the states in which any aligned block of 2^i is close together: halves of halves,
    each split along the dimension in which it is widest compared with all."""
    levels = int(math.log2(len(states) / _GROUP))
    width = states.std(axis=0)
    scaled = states / np.where(width > 0.0, width, 1.0)
    blocks = np.arange(_GROUP << levels)[None]
    while blocks.shape[1] > 2:
        members = scaled[blocks]
        axis = members.std(axis=1).argmax(axis=1)
        order = np.take_along_axis(members, axis[:, None, None], axis=2)[:, :, 0].argsort(axis=1)
        blocks = np.take_along_axis(blocks, order, axis=1).reshape(2 * len(blocks), -1)
    return blocks.ravel()


def _log_likelihoods(task: Task, population: Population, states: np.ndarray, observations: np.ndarray) -> np.ndarray:
    count = len(states)
    arguments = {
        "context": np.repeat(population.context[None], count, axis=0),
        "state": states,
        "action": np.repeat(population.action[None], count, axis=0),
        "observation": observations,
    }
    return run(task, "log_likelihood", arguments)


def _posterior(task: Task, population: Population, groups: np.ndarray) -> np.ndarray:
    """[g, i, k]: the probability, by the likelihood, that candidate k of a group produced what i has observed."""
    states = np.repeat(population.states[groups][:, None], _GROUP, axis=1)
    observations = np.repeat(population.observations[groups][:, :, None], _GROUP, axis=2)
    states, observations = states.reshape(-1, states.shape[-1]), observations.reshape(-1, observations.shape[-1])
    logs = _log_likelihoods(task, population, states, observations).reshape(-1, _GROUP, _GROUP)
    weights = np.exp(logs - logs.max(axis=2, keepdims=True))
    shares: np.ndarray = weights / weights.sum(axis=2, keepdims=True)
    return shares


def _resemblance(observed: np.ndarray, twins: np.ndarray) -> np.ndarray:
    """[g, i, k]: 1 if what i has observed equals what the twin of k has, less the more they differ."""
    width = twins.std(axis=(0, 1))
    apart = (observed[:, :, None] - twins[:, None]) / np.where(width > 0.0, width, 1.0)
    resemblance: np.ndarray = np.exp(-_SHARPNESS * (apart**2).mean(axis=3))
    return resemblance
