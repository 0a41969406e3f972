"""Whether `upper_bound` and `bound_within` hold: no policy, not even one that sees the state, may earn more.

Two policies are tried from many states: random actions, and the action with the most reward plus discounted upper
bound one step ahead. Where either comes closest to beating the bound, it runs again, many times.
"""

from collections.abc import Iterator

import numpy as np
from numba import config

from magic_pomdp.core.compiling import kernel
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import derive, integer, seek, stream_key
from magic_pomdp.core.task import Task
from magic_pomdp.core.views import borrow
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.testing.compiled import run
from magic_pomdp.testing.declaration import function_arguments, primitive_actions
from magic_pomdp.testing.finding import COMPILED_PATIENCE, Finding, attempt
from magic_pomdp.testing.plain import Record

STATES = 4 if config.DISABLE_JIT else 32
"""States to start from."""
_FIRST_LOOKS, _REPEATS = (2, 20) if config.DISABLE_JIT else (16, 2000)
"""Runs from each of these states, and from the one that looks worst."""
LOOKAHEADS = 2
"""Samples of each action's next step that the greedy policy takes."""
_NEGLIGIBLE = 1e-4
"""A run may stop once what is still to come is discounted to this."""
_LONGEST = 500
"""Steps after which a run stops in any case."""
_STANDARD_ERRORS = 5.0
_UNSEEN = 30.0
"""A mean must beat the bound by so many standard errors and, since n runs may miss what happens rarely, by _UNSEEN / n
of the range of all returns seen."""


@kernel
def returns(
    task, context, start, actions, lookaheads, horizon, beyond, seed, state, ahead, random, observation, results
):
    """Run a policy from a state again and again: greedy by some lookaheads, or random if there are none.

    Fills `results`, one row a run: the discounted return, the discount left at the end (0 if the episode ended) and
    the smallest reward. With `beyond`, the task's own guess at what is to come counts as earned at the end.
    """
    context, start, actions, results = borrow((context, start, actions, results), task)
    state, ahead, random, observation = borrow((state, ahead, random, observation), task)
    for run_number in range(len(results)):
        key, imagined = derive(seed, 2 * run_number), derive(seed, 2 * run_number + 1)
        for j in range(len(state)):
            state[j] = start[j]
        total, discount, smallest = 0.0, 1.0, 0.0
        for time in range(horizon):
            seek(random, imagined, time)
            best = integer(random, len(actions))
            best_value = -np.inf
            for a in range(len(actions) if lookaheads > 0 else 0):
                value = 0.0
                for _ in range(lookaheads):
                    for j in range(len(state)):
                        ahead[j] = state[j]
                    reward, outcome = task.step(context, ahead, actions[a], random, observation)
                    value += reward
                    if outcome == Outcome.RUNNING:
                        value += task.discount * task.upper_bound(context, ahead)
                if value > best_value:
                    best, best_value = a, value
            seek(random, key, time)
            reward, outcome = task.step(context, state, actions[best], random, observation)
            total += discount * reward
            discount *= task.discount
            smallest = min(smallest, reward)
            if outcome != Outcome.RUNNING:
                discount = 0.0
                break
        if beyond and discount > 0.0:
            total += discount * task.value_beyond(context, state)
            discount = 0.0
        results[run_number, 0] = total
        results[run_number, 1] = discount
        results[run_number, 2] = smallest


def check_upper_bound(task: Task, record: Record) -> Iterator[Finding]:
    """Whether no policy that is tried earns more than the bound."""
    horizon = _LONGEST if task.discount == 1.0 else min(_LONGEST, int(np.log(_NEGLIGIBLE) / np.log(task.discount)) + 1)
    advice = (
        "Count every reward that a policy knowing the state could still earn, as early as it could: "
        "a bound that is too low makes planners overlook the best actions"
    )
    yield from _check_bound(task, record, "upper_bound", horizon, "", advice)


def check_bound_within(task: Task, record: Record) -> Iterator[Finding]:
    """Whether no policy that is tried earns more in as many steps as a search looks ahead."""
    advice = (
        "Rewards within so many steps and, after the last of them, value_beyond must not exceed it, even if later ones "
        "would make up for that"
    )
    depth = MacroDespotSettings.advised(task).search_depth
    within = f" within {depth} steps, value_beyond included,"
    yield from _check_bound(task, record, "bound_within", depth, within, advice)


def _check_bound(task: Task, record: Record, name: str, horizon: int, within: str, advice: str) -> Iterator[Finding]:
    rows = np.linspace(0, len(record.states) - 1, STATES).astype(int)
    contexts, states = record.contexts[rows], record.states[rows]
    known = {"context": contexts, "state": states, "steps": np.full(STATES, horizon)}
    bounds = run(task, name, {argument: known[argument] for argument in function_arguments(name)})
    beyond = name == "bound_within"
    for policy, lookaheads in (("random actions", 0), ("actions greedy in the bound itself", LOOKAHEADS)):
        looks = [
            _returns(task, context, state, lookaheads, horizon, beyond, _FIRST_LOOKS, seed)
            for seed, (context, state) in enumerate(zip(contexts, states, strict=True))
        ]
        worst = int(np.argmax([look.mean() - bound for look, bound in zip(looks, bounds, strict=True)]))
        earned = _returns(task, contexts[worst], states[worst], lookaheads, horizon, beyond, _REPEATS, STATES)
        spread = np.ptp(np.concatenate([*looks, earned, [bounds[worst], 0.0]]))
        allowance = _STANDARD_ERRORS * earned.std() / len(earned) ** 0.5 + _UNSEEN * spread / len(earned)
        if earned.mean() > bounds[worst] + allowance:
            seen = (
                f"it is {bounds[worst]:.6g} for the state {states[worst].tolist()}, but {policy} earned "
                f"{earned.mean():.6g}{within} on average over {len(earned)} runs from there"
            )
            yield Finding(name, seen, "at least what any policy earns", advice)
            return


def _returns(
    task: Task,
    context: np.ndarray,
    state: np.ndarray,
    lookaheads: int,
    horizon: int,
    beyond: bool,
    repeats: int,
    seed: int,
) -> np.ndarray:
    """Discounted returns of a policy from a state. Of runs cut off, the rest is taken for the worst ever seen, or for
    what the task says of it."""
    scratch, ahead, random = np.empty_like(state), np.empty_like(state), np.empty(1, np.uint64)
    observation, results = np.empty(task.observation_size), np.empty((repeats, 3))
    rooms = (scratch, ahead, random, observation, results)
    key = stream_key(2, seed, lookaheads)
    given = (primitive_actions(task), lookaheads, horizon, beyond, key)
    attempt("step or upper_bound", returns, task, context, state, *given, *rooms, patience=COMPILED_PATIENCE)
    rest = results[:, 2].min() * (_LONGEST if task.discount == 1.0 else 1.0 / (1.0 - task.discount))
    return results[:, 0] + results[:, 1] * rest
