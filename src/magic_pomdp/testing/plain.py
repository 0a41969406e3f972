"""What a task's functions do when called as plain Python.

Called on the object, they are ordinary methods over numpy arrays, so a write beyond the end is an IndexError. Arrays to
be filled hold NaN at first, so an element that was forgotten shows.
"""

import math
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from magic_pomdp.core.functions import FUNCTIONS, Returned
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.core.task import Task
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.running.episode import RESERVED_STATISTICS, task_statistics
from magic_pomdp.testing.declaration import function_arguments, handcrafted_length, primitive_actions
from magic_pomdp.testing.finding import Broken, Finding, attempt

_EPISODES = 24
_STEPS = 60
HOLD = 8
"""Episodes that are recorded, their longest length, and for how long at most every other one repeats an action."""


_FOLLOWING = ("step_unobserved", "condition")
"""Functions whose defaults do what others do."""
_CONDITIONINGS = 20
"""Streams with which a state is conditioned: some draws of what is hidden may contradict an observation."""


class Record(NamedTuple):
    """What happened in some episodes of random actions, one row for each step."""

    contexts: np.ndarray  # (n, context_size)
    states: np.ndarray  # (n, state_size) before the step
    actions: np.ndarray  # (n, action_size)
    streams: np.ndarray  # uint64 (n, 1) the random stream as the step found it
    moved: np.ndarray  # (n, state_size) after the step
    observations: np.ndarray  # (n, observation_size)
    outcomes: np.ndarray  # int64 (n,)

    def arguments(self, task: Task, name: str) -> dict[str, np.ndarray]:
        """What to call a function with, one row for each call; those that it fills hold NaN."""
        function, count = FUNCTIONS[name], len(self.states)
        size = task.context_features_size if name == "context_features" else task.particle_features_size
        primitive, macro_actions = primitive_actions(task), task.macro_actions(handcrafted_length(task))
        known = {
            "context": self.contexts,
            "state": self.moved if name == "log_likelihood" else self.states,
            "action": self.actions,
            "actions": np.broadcast_to(primitive, (count, *primitive.shape)),
            "macro_actions": np.broadcast_to(macro_actions.actions, (count, *macro_actions.actions.shape)),
            "lengths": np.broadcast_to(macro_actions.lengths, (count, len(macro_actions))),
            "steps": np.arange(count) % MacroDespotSettings.advised(task).search_depth,
            "random": self.streams,
            "observation": self.observations,
            "unseen": np.zeros_like(self.observations),
            "imagined": np.zeros_like(self.observations),
            "other": self.moved,
            "features": np.empty((count, size)),
            "noise": drawn_noise(task, self.streams),
        }
        rows = {argument: known[argument].copy() for argument in function_arguments(name)}
        for argument in function.fills:
            rows[argument][:] = np.nan
        return rows


def drawn_noise(task: Task, streams: np.ndarray) -> np.ndarray:
    """What chance decides in a step that finds each of these streams."""
    noise = np.zeros((len(streams), task.noise_size))
    for stream, row in zip(streams, noise, strict=True):
        attempt("draw_noise", task.draw_noise, stream.copy(), row)
    return noise


def call(task: Task, name: str, arguments: dict[str, np.ndarray], observed: bool = True) -> Any:
    """Call a function, in place, and check all that can be seen from one call; gives what it returned.

    `observed` says whether a filled observation must be complete: after the end of an episode nobody looks at it.
    """
    function = FUNCTIONS[name]
    before = {argument: array.copy() for argument, array in arguments.items()}
    result = attempt(name, getattr(task, name), *arguments.values())
    for argument, array in arguments.items():
        if argument in function.fills or argument in function.changes:
            finite = np.isfinite(array)
            if not finite.all() and (observed or argument != "observation"):
                missing = np.flatnonzero(~finite).tolist()
                seen = f"it left elements {missing} of `{argument}` unwritten or not finite ({array.tolist()})"
                advice = f"Write all {len(array)} elements of `{argument}` in every branch"
                raise Broken(name, seen, "finite numbers everywhere", advice)
        elif not np.array_equal(array, before[argument]):
            seen = f"it changed `{argument}` from {before[argument].tolist()} to {array.tolist()}"
            raise Broken(name, seen, f"that it only reads `{argument}`", "Compute with local variables instead")
    check_result(name, result)
    return result


def check_result(name: str, result: Any) -> None:
    """Raise what is wrong with what one call returned."""
    returns = FUNCTIONS[name].returns
    if returns in (Returned.STEP, Returned.CONDITIONED):
        words = ("reward", "outcome") if returns is Returned.STEP else ("weight", "reward", "outcome")
        if not isinstance(result, tuple) or len(result) != len(words):
            many = "two" if len(words) == 2 else "three"
            raise Broken(name, f"it returned {result!r}", f"{many} values", f"Write `return {', '.join(words)}`")
        if returns is Returned.CONDITIONED:
            _check_logarithm(name, result[0])
        _check_step(name, result[-2:])
    elif returns is Returned.LOGARITHM:
        _check_logarithm(name, result)
    elif returns is Returned.KEY:
        if not isinstance(result, Integral) or not -(2**63) <= int(result) < 2**63:
            advice = "Turn the observation into cells with int(…) or math.floor(…), and combine them into one number"
            raise Broken(name, f"it returned {result!r}", "a whole number of at most 64 bits", advice)
    elif returns is Returned.NUMBER and (not isinstance(result, Real) or not math.isfinite(result)):
        advice = "Look for a division by zero or a missing return"
        raise Broken(name, f"it returned {result!r}", "a finite number", advice)


def _check_step(name: str, result: tuple[Any, ...]) -> None:
    reward, outcome = result
    if not isinstance(reward, Real) or not math.isfinite(reward):
        advice = "Look for a variable that was never written, a division by zero or an infinite parameter"
        raise Broken(name, f"the reward is {reward}", "a finite number", advice)
    if outcome not in tuple(Outcome):
        expected, advice = "RUNNING (0), SUCCESS (1) or FAILURE (2)", "Return one of magic_pomdp.Outcome"
        raise Broken(name, f"the outcome is {outcome!r}", expected, advice)


def _check_logarithm(name: str, value: Any) -> None:
    if not isinstance(value, Real) or not value < np.inf:
        advice = "Return the logarithm of a density or a probability; -math.inf where it is impossible"
        raise Broken(name, f"it returned {value!r}", "a number below infinity", advice)


def random_episodes(task: Task) -> Record:
    """Run episodes of random actions; in every other one each action is repeated a few times."""
    actions, rng = primitive_actions(task), np.random.default_rng(0)
    rows: list[tuple[Any, ...]] = []
    for episode in range(_EPISODES):
        random, context = new_stream(0, episode), np.full(task.context_size, np.nan)
        call(task, "draw_context", {"random": random, "context": context})
        state = np.full(task.state_size, np.nan)
        call(task, "draw_state", {"context": context, "random": random, "state": state})
        hold = 1 if episode % 2 == 0 else HOLD
        action = actions[0]
        for time in range(min(_STEPS, task.max_steps)):
            if time == 0 or rng.random() < 1.0 / hold:
                action = actions[rng.integers(len(actions))].copy()
            before, stream, observation = state.copy(), random.copy(), np.full(task.observation_size, np.nan)
            arguments = {"context": context, "state": state, "action": action}
            _, outcome = call(task, "step", {**arguments, "random": random, "observation": observation})
            rows.append((context, before, action, stream, state.copy(), observation, outcome))
            if outcome != Outcome.RUNNING:
                break
    return Record(*(np.array(column) for column in zip(*rows, strict=True)))


def check_repeatable(task: Task, record: Record) -> Iterator[Finding]:
    """Whether equal arguments and an equal random stream give equal results, in whatever order calls are made."""
    for name in FUNCTIONS:
        if name in _FOLLOWING and getattr(type(task), name) is getattr(Task, name):
            continue
        forward, backward = (record.arguments(task, name) for _ in range(2))
        count = len(record.states)
        try:
            first = [call(task, name, _row(forward, i)) for i in range(count)]
            second = [call(task, name, _row(backward, i)) for i in reversed(range(count))]
        except Broken as broken:
            yield broken.finding
            continue
        different = [name for name in forward if not np.array_equal(forward[name], backward[name])]
        if first != second[::-1]:
            different.append("the returned value")
        if different:
            seen = f"called twice with the same arguments and random stream, {' and '.join(different)} differed"
            advice = (
                "Draw chance only from `random` (with uniform, normal and integer of magic_pomdp.random), never from "
                "np.random, and keep nothing between calls"
            )
            yield Finding(name, seen, "the same results", advice)


def _row(arguments: dict[str, np.ndarray], index: int | np.integer) -> dict[str, np.ndarray]:
    return {name: rows[index] for name, rows in arguments.items()}


def check_absorbing(task: Task, record: Record) -> Iterator[Finding]:
    """Whether an episode that has ended stays ended: same state, no reward, same outcome, nothing more to gain."""
    actions = primitive_actions(task)
    for row in np.flatnonzero(record.outcomes != Outcome.RUNNING):
        context, ended, outcome = record.contexts[row], record.moved[row], record.outcomes[row]
        bound = call(task, "upper_bound", {"context": context, "state": ended})
        if bound < 0.0:
            advice = "Return 0.0 for a state in which the episode has ended"
            yield Finding("upper_bound", f"it is {bound} for the ended state {ended.tolist()}", "0", advice)
            return
        for action in actions:
            state, observation = ended.copy(), np.full(task.observation_size, np.nan)
            arguments = {"context": context, "state": state, "action": action.copy()}
            arguments |= {"random": record.streams[row].copy(), "observation": observation}
            reward, again = call(task, "step", arguments, observed=False)
            if reward != 0.0 or again != outcome or not np.array_equal(state, ended):
                seen = (
                    f"the state {ended.tolist()} had ended with outcome {outcome}, but another step with action "
                    f"{action.tolist()} earned {reward}, reported outcome {again} and left {state.tolist()}"
                )
                advice = "Store the outcome in the state and return early: `return 0.0, int(state[OUTCOME])`"
                yield Finding("step", seen, "that an ended state absorbs: unchanged, reward 0, same outcome", advice)
                return


def check_unobserved(task: Task, record: Record) -> Iterator[Finding]:
    """Whether a step without its observation is otherwise the same step."""
    if type(task).step_unobserved is Task.step_unobserved:
        return
    steps, unobserved = (record.arguments(task, name) for name in ("step", "step_unobserved"))
    for index in range(len(record.states)):
        seen, unseen = _row(steps, index), _row(unobserved, index)
        reward, outcome = call(task, "step", seen)
        same_reward, same_outcome = call(task, "step_unobserved", unseen)
        expected, got = (reward, int(outcome)), (same_reward, int(same_outcome))
        if got != expected or not np.array_equal(seen["state"], unseen["state"]):
            what = f"from {record.states[index].tolist()} it returned {got} and left {unseen['state'].tolist()}"
            advice = "Let step call it first and observe afterwards, so that both draw the same chance"
            yield Finding("step_unobserved", what, f"{expected} and {seen['state'].tolist()}, as after step", advice)
            return


def check_noise(task: Task, record: Record) -> Iterator[Finding]:
    """Whether a step whose chance was drawn before it is the same step."""
    if task.noise_size == 0:
        return
    drawing, given = (record.arguments(task, name) for name in ("step_unobserved", "step_with_noise"))
    for index in range(len(record.states)):
        reward, outcome = call(task, "step_unobserved", _row(drawing, index))
        same_reward, same_outcome = call(task, "step_with_noise", _row(given, index))
        expected, got = (reward, int(outcome)), (same_reward, int(same_outcome))
        if got != expected or not np.array_equal(drawing["state"][index], given["state"][index]):
            seen = f"from {record.states[index].tolist()} it returned {got} and left {given['state'][index].tolist()}"
            advice = "Let step_unobserved draw the same numbers as draw_noise, in the same order, and call it"
            wanted = f"{expected} and {drawing['state'][index].tolist()}, as after step_unobserved"
            yield Finding("step_with_noise", seen, wanted, advice)
            return


def check_guide(task: Task, record: Record) -> Iterator[Finding]:
    """Whether a guide names a macro-action that there is."""
    if type(task).guide is Task.guide:
        return
    rows = record.arguments(task, "guide")
    for index in range(len(record.states)):
        whole = _row(rows, index)
        for left_out in range(min(2, len(whole["lengths"]))):
            part = {name: whole[name][left_out:] for name in ("macro_actions", "lengths")}
            choice, count = call(task, "guide", whole | part), len(part["lengths"])
            if not isinstance(choice, Integral) or not 0 <= int(choice) < count:
                yield impossible_choice(record.states[index], choice, count)
                return


def impossible_choice(state: np.ndarray, choice: Any, count: int) -> Finding:
    """The finding that a guide names a macro-action that there is not."""
    advice = "Return the number of a row of `macro_actions`, of which there may be any number"
    seen = f"from {state.tolist()} it returned {choice!r}"
    return Finding("guide", seen, f"a whole number from 0 to {count - 1}", advice)


def check_statistics(task: Task, record: Record) -> Iterator[Finding]:
    """Whether what a task tells of an episode, here of one step, can be kept."""
    states = np.stack([record.states[0], record.moved[0]])
    found = attempt("statistics", task.statistics, record.contexts[0].copy(), states.copy())
    if not isinstance(found, dict):
        yield Finding("statistics", f"it returned {found!r}", "numbers by name", "Return a dictionary")
        return
    try:
        task_statistics(task, record.contexts[0].copy(), states)
    except ValueError as error:
        expected = f"finite numbers, by names other than {', '.join(sorted(RESERVED_STATISTICS))}"
        yield Finding("statistics", str(error).removesuffix("."), expected, "Correct the dictionary")


def check_explained(task: Task, record: Record) -> Iterator[Finding]:
    """Whether the state that produced an observation is never called impossible."""
    rows = record.arguments(task, "log_likelihood")
    for index in np.flatnonzero(record.outcomes == Outcome.RUNNING):
        arguments = _row(rows, index)
        if call(task, "log_likelihood", arguments) == -np.inf:
            yield impossible(arguments["state"], arguments["action"], arguments["observation"])
            return


def check_conditioned(task: Task, record: Record) -> Iterator[Finding]:
    """Whether a state, conditioned on what was observed after it, is not always called impossible."""
    if type(task).condition is Task.condition:
        return
    known = record.arguments(task, "condition")
    for index in np.flatnonzero(record.outcomes == Outcome.RUNNING):
        denied = False
        for attempt_number in range(_CONDITIONINGS):
            arguments = {name: value.copy() for name, value in _row(known, index).items()}
            if attempt_number > 0:
                arguments["random"] = new_stream(1, attempt_number)
            value, _, outcome = call(task, "condition", arguments)
            denied = denied or outcome == Outcome.RUNNING  # where the episode has ended, there is nothing to observe
            if value > -np.inf:
                denied = False
                break
        if denied:
            seen = (
                f"its weight is -inf for the observation {record.observations[index].tolist()} that step itself "
                f"produced when action {record.actions[index].tolist()} was taken in {record.states[index].tolist()}"
            )
            advice = "Weigh what was observed by the same rule and the same noise as step draws it"
            yield Finding("condition", seen, "a finite number for whatever step can produce", advice)
            return


def impossible(state: np.ndarray, action: np.ndarray, observation: np.ndarray) -> Finding:
    """The finding that a likelihood denies what happened."""
    seen = (
        f"it is -inf for the observation {observation.tolist()} that step itself produced when action "
        f"{action.tolist()} led to the state {state.tolist()}"
    )
    advice = "It is given the state after the action: use the same rule and the same noise as step does"
    return Finding("log_likelihood", seen, "a finite number for whatever step can produce", advice)
