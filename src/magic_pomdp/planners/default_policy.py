"""Running macro-actions on scenarios, and the default policies whose earnings are a search's first lower bounds."""

import math
from typing import NamedTuple

import numpy as np

from magic_pomdp.core.compiling import compiled, inlined
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import U64, derive, mix, seek
from magic_pomdp.core.task import Task
from magic_pomdp.core.views import copy_numbers, local_observation, local_state, local_stream

HISTORY_START = U64(0xCBF29CE484222325)
HISTORY_PRIME = U64(0x100000001B3)

GREEDY, RANDOM, GUIDED = range(3)
"""Default policies."""
GREEDY_SAMPLE = 2
"""Scenarios on which the greedy policy tries macro-actions."""
GREEDY_CANDIDATES = 32
"""Macro-actions that it tries at most; of a larger set, so many that are spread evenly over it. Else the time to expand
a node would grow with the square of their number."""
LANES = 2 * GREEDY_SAMPLE
"""For the macro-action that is tried, and for the best one until then."""


IMPOSSIBLE_GUIDE = "The task's guide returned a number that none of the macro-actions has"


class Choices(NamedTuple):
    """The macro-actions of a search: M of them, the longest of length L, A numbers an action."""

    actions: np.ndarray  # (M, L, A)
    lengths: np.ndarray  # int64 (M,)
    discounts: np.ndarray  # (M,) γ to the power of the length
    first_only: int  # the first so many can be chosen at the root alone
    root_candidates: np.ndarray  # int64 (C,) those that the greedy policy tries at the root
    candidates: np.ndarray  # int64 (C,) and below it


def make_choices(task: Task, macro_actions: MacroActions) -> Choices:
    """The macro-actions as kernels take them."""
    count, first_only, lengths = len(macro_actions), macro_actions.first_only, macro_actions.lengths
    return Choices(
        macro_actions.actions,
        lengths,
        task.discount ** lengths.astype(np.float64),
        first_only,
        *(_spread(np.arange(first, count)) for first in (0, first_only)),
    )


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
def best_candidate(task, context, choices, candidates, tree, desk, tried, depth):
    """The candidate with the most reward plus discounted upper bound on the rollout's first `tried` scenarios (the
    first of equals), and the first of the lanes in which these are left as they are after it."""
    best, best_value, lane, kept, steps = 0, -math.inf, 0, GREEDY_SAMPLE, 0
    for number in range(len(candidates)):
        macro, value = candidates[number], 0.0
        for i in range(tried):
            state = local_state(task, desk.lanes[lane + i])
            copy_numbers(len(state), desk.rollout[i], state)
            key = tree.keys[desk.rollout_scenarios[i]]
            reward, outcome, taken = run_unobserved(task, context, choices, macro, state, key, depth, desk)
            value += reward
            if outcome == Outcome.RUNNING:
                value += choices.discounts[macro] * task.upper_bound(context, state)
            copy_numbers(len(state), state, desk.lanes[lane + i])
            desk.lane_rewards[lane + i], desk.lane_outcomes[lane + i] = reward, outcome
            steps += taken
        if value > best_value:
            best, best_value, lane, kept = macro, value, kept, lane
    desk.steps[0] += steps
    return best, kept


@compiled
def greedy_default(task, context, choices, rules, tree, desk, node):
    """What a policy greedy in the task's upper bound earns from a node, and the macro-action it begins with."""
    count, depth, first = node.scenario_count, node.depth, -1
    for i in range(count):
        copy_numbers(len(desk.rollout[i]), tree.states[node.first_scenario + i], desk.rollout[i])
        desk.rollout_scenarios[i] = tree.scenarios[node.first_scenario + i]
    total, discount = 0.0, 1.0
    while depth < rules.horizon and count > 0:
        candidates = choices.candidates if depth > 0 else choices.root_candidates
        tried = min(count, GREEDY_SAMPLE)
        macro, kept = best_candidate(task, context, choices, candidates, tree, desk, tried, depth)
        first = macro if first < 0 else first
        running = 0
        for i in range(count):
            scenario = desk.rollout_scenarios[i]
            if i < tried:  # it was run already
                reward, outcome = desk.lane_rewards[kept + i], desk.lane_outcomes[kept + i]
                if outcome == Outcome.RUNNING:
                    copy_numbers(len(desk.rollout[i]), desk.lanes[kept + i], desk.rollout[running])
            else:
                state = local_state(task, desk.rollout[i])
                copy_numbers(len(state), desk.rollout[i], state)
                reward, outcome, taken = run_unobserved(
                    task, context, choices, macro, state, tree.keys[scenario], depth, desk
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
    state, key = local_state(task, desk.lanes[0]), tree.keys[tree.scenarios[row]]
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
