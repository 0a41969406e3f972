"""Whether a task's functions keep within their arrays, and return what they should, over a million steps.

What goes wrong once in a hundred thousand steps is not met in a few episodes of plain Python. Here many episodes run
side by side in compiled code that looks at every index, and each function is called after every step.
"""

import time
from collections.abc import Iterator

import numpy as np
from numba import config

from magic_pomdp.core.functions import FUNCTIONS, Returned
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.task import Task
from magic_pomdp.testing.compiled import own_functions, run
from magic_pomdp.testing.declaration import primitive_actions
from magic_pomdp.testing.finding import Finding
from magic_pomdp.testing.plain import HOLD, Record, check_result, impossible_choice

_EPISODES = 4096
_STEPS = 256
"""Episodes that run side by side, and for how many steps: what happens once in 100,000 of them is missed once in
30,000 checks. An episode that ends is followed by another."""
_MOST_SECONDS = 60.0
"""Of computing, after which a task that takes longer than others for its steps has had enough of them."""
_BEGINNINGS = ("draw_context", "draw_state", "step")
"""Functions that make the episodes, and are called for that."""


def check_long_run(task: Task, record: Record) -> Iterator[Finding]:
    """Whether every function keeps within its arrays and returns what it should; `run` raises the former."""
    if config.DISABLE_JIT:
        return  # in plain Python that would take hours
    names = [name for name in own_functions(task) if name not in _BEGINNINGS]
    started = time.process_time()
    for steps in _episodes(task):
        if time.process_time() > started + _MOST_SECONDS:
            return
        for name in names:
            arguments = steps.arguments(task, name)
            results = run(task, name, arguments)
            if name == "guide":
                count = arguments["lengths"].shape[1]
                for row in np.flatnonzero((results < 0) | (results >= count))[:1]:
                    yield impossible_choice(arguments["state"][row], int(results[row]), count)
                    return
            _check_results(name, results)


def _episodes(task: Task) -> Iterator[Record]:
    """Episodes of random actions, one step of all of them at a time; every other one holds its actions for a while."""
    rng, actions = np.random.default_rng(2), primitive_actions(task)
    contexts, states = np.empty((_EPISODES, task.context_size)), np.empty((_EPISODES, task.state_size))
    chosen, left = np.empty((_EPISODES, task.action_size)), np.zeros(_EPISODES, np.int64)
    hold = np.where(np.arange(_EPISODES) % 2 == 0, 1, HOLD)
    for _ in range(_STEPS):
        begin = np.flatnonzero(left == 0)
        context, state = contexts[begin], states[begin]
        run(task, "draw_context", {"random": _streams(rng, len(begin)), "context": context})
        run(task, "draw_state", {"context": context, "random": _streams(rng, len(begin)), "state": state})
        contexts[begin], states[begin], left[begin] = context, state, task.max_steps
        change = (left == task.max_steps) | (rng.random(_EPISODES) < 1.0 / hold)
        chosen[change] = actions[rng.integers(len(actions), size=change.sum())]
        before, streams = states.copy(), _streams(rng, _EPISODES)
        observations = np.zeros((_EPISODES, task.observation_size))
        arguments = {"context": contexts, "state": states, "action": chosen, "random": streams.copy()}
        results = run(task, "step", {**arguments, "observation": observations})
        _check_results("step", results)
        outcomes = results[:, 1].astype(np.int64)
        yield Record(contexts, before, chosen, streams, states, observations, outcomes)
        left = np.where(outcomes == Outcome.RUNNING, left - 1, 0)


def _streams(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.integers(2**64, size=(count, 1), dtype=np.uint64)


def _check_results(name: str, results: np.ndarray) -> None:
    """Look closer at what one call returned, if it is not all as it should be."""
    returns = FUNCTIONS[name].returns
    if returns is Returned.STEP:
        bad = ~np.isfinite(results[:, 0]) | ~np.isin(results[:, 1], tuple(Outcome))
    elif returns is Returned.CONDITIONED:
        bad = ~(results[:, 0] < np.inf) | ~np.isfinite(results[:, 1]) | ~np.isin(results[:, 2], tuple(Outcome))
    elif returns is Returned.LOGARITHM:
        bad = ~(results < np.inf)
    else:
        bad = ~np.isfinite(results)
    for row in np.flatnonzero(bad)[:1]:
        check_result(name, tuple(results[row].tolist()) if results.ndim > 1 else results[row].item())
