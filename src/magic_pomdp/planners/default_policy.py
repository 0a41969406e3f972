"""Running macro-actions on scenarios, and the default policies whose earnings are a search's first lower bounds."""

import math
from typing import NamedTuple

import numpy as np

from magic_pomdp.core.compiling import compiled, inlined
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import U64, derive, mix, seek
from magic_pomdp.core.task import Task
from magic_pomdp.core.views import (
    LANES,
    MOST_REGISTERS,
    copy_numbers,
    local_context,
    local_lanes,
    local_lanes_noise,
    local_numbers,
    local_observation,
    local_state,
    local_stream,
    local_task,
)
from magic_pomdp.planners.lanes import Lanes, bound_lanes, draw_lane_noise, read_lane, start_lanes, step_lanes

HISTORY_START = U64(0xCBF29CE484222325)
HISTORY_PRIME = U64(0x100000001B3)

GREEDY, RANDOM, GUIDED = range(3)
"""Default policies."""
GREEDY_SAMPLE = 2
"""Scenarios on which the greedy policy tries macro-actions."""
GREEDY_CANDIDATES = LANES // GREEDY_SAMPLE
"""Macro-actions that it tries at most; of a larger set, so many that are spread evenly over it. Else the time to expand
a node would grow with the square of their number."""

IMPOSSIBLE_GUIDE = "The task's guide returned a number that none of the macro-actions has"


class Candidates(NamedTuple):
    """Macro-actions that the greedy policy tries: C of them, the longest first. What their lanes need lies as the lanes
    do; at index i for i + 1 scenarios, T at most."""

    macros: np.ndarray  # int64 (C,) their numbers
    actions: np.ndarray  # (T, L, A, LANES)
    lengths: np.ndarray  # int64 (T, LANES)
    discounts: np.ndarray  # (T, LANES)


class Choices(NamedTuple):
    """The macro-actions of a search: M of them, the longest of length L, A numbers an action."""

    actions: np.ndarray  # (M, L, A)
    lengths: np.ndarray  # int64 (M,)
    discounts: np.ndarray  # (M,) γ to the power of the length
    first_only: int  # the first so many can be chosen at the root alone
    root_candidates: Candidates  # those that the greedy policy tries at the root
    candidates: Candidates  # and below it


def make_choices(task: Task, macro_actions: MacroActions) -> Choices:
    """The macro-actions as kernels take them."""
    lengths, first_only = macro_actions.lengths, macro_actions.first_only
    discounts = task.discount ** lengths.astype(np.float64)
    tried = (_candidates(macro_actions, discounts, first) for first in (0, first_only))
    return Choices(macro_actions.actions, lengths, discounts, first_only, *tried)


def _candidates(macro_actions: MacroActions, discounts: np.ndarray, first: int) -> Candidates:
    """What the greedy policy tries of the macro-actions from the first that can be chosen."""
    spread = _spread(np.arange(first, len(macro_actions)))
    macros = spread[np.argsort(-macro_actions.lengths[spread], kind="stable")]
    lanes = np.zeros((GREEDY_SAMPLE, LANES), np.int64)  # the macro-action in each; those that are left over never run
    for i in range(GREEDY_SAMPLE):
        lanes[i, : (i + 1) * len(macros)] = np.repeat(macros, i + 1)
    actions = np.ascontiguousarray(macro_actions.actions[lanes].transpose(0, 2, 3, 1))
    return Candidates(macros, actions, macro_actions.lengths[lanes], discounts[lanes])


def _spread(numbers: np.ndarray) -> np.ndarray:
    """At most GREEDY_CANDIDATES of some numbers, evenly spread, the first and the last among them: what is always
    there, such as a stop, comes last."""
    count = min(GREEDY_CANDIDATES, len(numbers))
    return numbers[np.rint(np.linspace(0, len(numbers) - 1, count)).astype(np.int64)]


@inlined
def first_choice(choices, depth):
    """The number of the first macro-action that can be chosen so many steps from the root; all after it can be, too."""
    return choices.first_only if depth > 0 else 0


@inlined
def guided_macro_action(task, context, choices, state, depth):
    """The macro-action that the task's guide would choose."""
    first = first_choice(choices, depth)
    choice = np.int64(task.guide(context, state, choices.actions[first:], choices.lengths[first:]))
    if choice < 0 or choice >= len(choices.lengths) - first:
        raise ValueError(IMPOSSIBLE_GUIDE)
    return first + choice


@inlined
def random_macro_action(choices, past, depth):
    """The macro-action that follows from a hash of the past."""
    first = first_choice(choices, depth)
    return first + np.int64(mix(past) % U64(len(choices.lengths) - first))


@inlined
def run_macro_action(task, context, choices, macro, state, key, depth, cells, desk):
    """Run a macro-action on one scenario's state, in place, until it ends or the episode does.

    The noise of a scenario at a time is the same whatever is done, so macro-actions are compared under equal luck.
    """
    random, observation = local_stream(task, desk.random), local_observation(task, desk.observation)
    total, discount, history, outcome, steps = 0.0, 1.0, HISTORY_START, Outcome.RUNNING, 0
    for i in range(choices.lengths[macro]):
        seek(random, key, depth + i)
        reward, outcome = task.step(context, state, choices.actions[macro, i], random, observation)
        for j in range(len(cells)):
            observation[j] /= cells[j]
        key_seen = np.int64(task.observation_key(observation)).view(np.uint64)
        history = (history ^ key_seen) * HISTORY_PRIME
        total += discount * reward
        discount *= task.discount
        steps += 1
        if outcome != Outcome.RUNNING:
            break
    desk.steps[0] += steps
    return total, history, outcome


@inlined
def run_unobserved(task, context, choices, macro, state, key, depth, desk):
    """The same for a policy that does not look: what is earned, the outcome, and the steps that it took."""
    random, unseen = local_stream(task, desk.random), local_observation(task, desk.observation)
    total, discount, outcome, steps = 0.0, 1.0, Outcome.RUNNING, 0
    for i in range(choices.lengths[macro]):
        seek(random, key, depth + i)
        reward, outcome = task.step_unobserved(context, state, choices.actions[macro, i], random, unseen)
        total += discount * reward
        discount *= task.discount
        steps += 1
        if outcome != Outcome.RUNNING:
            break
    return total, outcome, steps


# ------------------------------------------------------------------------------------------------------------- greedy


@inlined
def best_candidate(task, context, candidates, tree, desk, tried, depth):
    """The macro-action with the most reward plus discounted upper bound on the rollout's first `tried` scenarios, the
    first of equals. What becomes of these by it is left in `desk.tried`."""
    lanes = Lanes(
        local_lanes(task, desk.lanes.states),
        local_lanes_noise(task, desk.lanes.noise),
        local_numbers(task, desk.lanes.rewards),
        local_numbers(task, desk.lanes.outcomes),
        local_numbers(task, desk.lanes.bounds),
    )
    last, count, steps = tried - 1, tried * len(candidates.macros), 0
    keys = tree.keys[desk.rollout_scenarios[0]], tree.keys[desk.rollout_scenarios[last]]
    start_lanes(lanes, desk.rollout[0], desk.rollout[last], count)
    discount, running = 1.0, count
    for i in range(candidates.lengths[last, 0]):
        while candidates.lengths[last, running - 1] <= i:
            running -= 1
        draw_lane_noise(task, lanes, desk, keys, running, depth + i)
        actions = candidates.actions[last, i]
        steps += step_lanes(task, context, actions, lanes, desk, keys, running, depth + i, discount)
        discount *= task.discount
    desk.steps[0] += steps
    bound_lanes(task, context, candidates.discounts[last], lanes, desk, count)
    best, best_value = 0, -math.inf
    for number in range(len(candidates.macros)):
        value = 0.0
        for lane in range(tried * number, tried * (number + 1)):
            value += lanes.rewards[lane]
            value += lanes.bounds[lane]
        if value > best_value:
            best, best_value = number, value
    for i in range(tried):
        lane = tried * best + i
        read_lane(lanes.states, lane, desk.tried[i])
        desk.tried_rewards[i], desk.tried_outcomes[i] = lanes.rewards[lane], lanes.outcomes[lane]
    return candidates.macros[best]


@compiled
def greedy_default(task, context, choices, rules, tree, desk, node):
    """What a policy greedy in the task's upper bound earns from a node, and the macro-action it begins with."""
    task, known = local_task(task), local_context(task, context)
    if len(known) <= MOST_REGISTERS:
        copy_numbers(len(known), context, known)
    count, depth, first = node.scenario_count, node.depth, -1
    for i in range(count):
        copy_numbers(len(desk.rollout[i]), tree.states[node.first_scenario + i], desk.rollout[i])
        desk.rollout_scenarios[i] = tree.scenarios[node.first_scenario + i]
    total, discount = 0.0, 1.0
    while depth < rules.horizon and count > 0:
        candidates = choices.candidates if depth > 0 else choices.root_candidates
        tried = min(count, GREEDY_SAMPLE)
        macro = best_candidate(task, known, candidates, tree, desk, tried, depth)
        first = macro if first < 0 else first
        running = 0
        for i in range(count):
            scenario = desk.rollout_scenarios[i]
            if i < tried:  # it was run already
                reward, outcome = desk.tried_rewards[i], desk.tried_outcomes[i]
                if outcome == Outcome.RUNNING:
                    copy_numbers(len(desk.tried[i]), desk.tried[i], desk.rollout[running])
            else:
                state = local_state(task, desk.rollout[i])
                copy_numbers(len(state), desk.rollout[i], state)
                reward, outcome, taken = run_unobserved(
                    task, known, choices, macro, state, tree.keys[scenario], depth, desk
                )
                desk.steps[0] += taken
                if outcome == Outcome.RUNNING:
                    copy_numbers(len(state), state, desk.rollout[running])
            total += discount * reward
            if outcome == Outcome.RUNNING:  # those that go on move up
                desk.rollout_scenarios[running] = scenario
                running += 1
        count = running
        depth += choices.lengths[macro]
        discount *= choices.discounts[macro]
    for i in range(count):
        total += discount * task.value_beyond(context, desk.rollout[i])
    return total / len(tree.keys), max(first, 0)


# -------------------------------------------------------------------------------------------------- guided and random


@inlined
def first_blind_macro_action(task, context, choices, rules, tree, node):
    """What a policy that tries nothing out begins with at a node. It is common to its scenarios, because what the robot
    has observed until then is."""
    if rules.policy == GUIDED:
        return guided_macro_action(task, context, choices, tree.states[node.first_scenario], node.depth)
    return random_macro_action(choices, derive(tree.keys[0], node.first_scenario), node.depth)


@compiled
def blind_default(task, context, choices, rules, tree, desk, node, row):
    """What a policy that tries nothing out earns from one row of a node's scenarios, and the macro-action it begins
    with.

    Random: the draw is a hash of the history, so that scenarios which have observed the same draw the same
    macro-action. Guided: each scenario goes its own way after the first macro-action.
    """
    first = first_blind_macro_action(task, context, choices, rules, tree, node)
    state, key = local_state(task, desk.state), tree.keys[tree.scenarios[row]]
    copy_numbers(len(state), tree.states[row], state)
    depth, discount, outcome, total = node.depth, 1.0, Outcome.RUNNING, 0.0
    past = derive(tree.keys[0], node.first_scenario)
    while depth < rules.horizon and outcome == Outcome.RUNNING:
        macro = first
        if rules.policy == GUIDED:
            if depth > node.depth:
                macro = guided_macro_action(task, context, choices, state, depth)
            reward, outcome, steps = run_unobserved(task, context, choices, macro, state, key, depth, desk)
            desk.steps[0] += steps
        else:
            if depth > node.depth:
                macro = random_macro_action(choices, past, depth)
            reward, history, outcome = run_macro_action(
                task, context, choices, macro, state, key, depth, tree.cells, desk
            )
            past = mix(past ^ history)
        total += discount * reward
        discount *= choices.discounts[macro]
        depth += choices.lengths[macro]
    if outcome == Outcome.RUNNING:
        total += discount * task.value_beyond(context, state)
    return total, first
