"""Running macro-actions on scenarios, and the default policies whose earnings are a search's first lower bounds."""

import math
from typing import NamedTuple

import numpy as np

from magic_pomdp.core.compiling import compiled, inlined
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import U64, derive, mix, seek
from magic_pomdp.core.task import Task
from magic_pomdp.planners.tree import copy_row

HISTORY_START = U64(0xCBF29CE484222325)
HISTORY_PRIME = U64(0x100000001B3)

GREEDY, RANDOM, GUIDED = range(3)
"""Default policies."""
GREEDY_SAMPLE = 2
"""Scenarios on which the greedy policy tries macro-actions."""
GREEDY_CANDIDATES = 32
"""Macro-actions that it tries at most; of a larger set, so many that are spread evenly over it. Else the time to expand
a node would grow with the square of their number."""
LANES = GREEDY_SAMPLE * GREEDY_CANDIDATES


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
    """At most GREEDY_CANDIDATES of some numbers, evenly spread."""
    count = min(GREEDY_CANDIDATES, len(numbers))
    return numbers[np.arange(count) * len(numbers) // count]


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
    random, observation = desk.random, desk.observation
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
    """The same for a policy that does not look: what is earned, and the outcome."""
    total, discount, outcome, steps = 0.0, 1.0, Outcome.RUNNING, 0
    for i in range(choices.lengths[macro]):
        seek(desk.random, key, depth + i)
        reward, outcome = task.step_unobserved(context, state, choices.actions[macro, i], desk.random, desk.observation)
        total += discount * reward
        discount *= task.discount
        steps += 1
        if outcome != Outcome.RUNNING:
            break
    desk.steps[0] += steps
    return total, outcome


# ------------------------------------------------------------------------------------------------------------- greedy


@inlined
def try_macro_actions(task, context, choices, candidates, tree, desk, tried, depth):
    """Run each candidate on the rollout's first `tried` scenarios, a lane each.

    All lanes take a step before any takes the next: they do not wait for each other, so the processor works on several
    at a time.
    """
    steps, longest = 0, 0
    for number in range(len(candidates)):
        longest = max(longest, choices.lengths[candidates[number]])
        for i in range(tried):
            lane = tried * number + i
            copy_row(desk.rollout, i, desk.lanes, lane)
            desk.lane_rewards[lane] = 0.0
            desk.lane_outcomes[lane] = Outcome.RUNNING
    discount = 1.0
    for time in range(longest):
        for number in range(len(candidates)):
            macro = candidates[number]
            if time < choices.lengths[macro]:
                for i in range(tried):
                    lane = tried * number + i
                    if desk.lane_outcomes[lane] == Outcome.RUNNING:
                        seek(desk.random, tree.keys[desk.rollout_scenarios[i]], depth + time)
                        reward, outcome = task.step_unobserved(
                            context, desk.lanes[lane], choices.actions[macro, time], desk.random, desk.observation
                        )
                        desk.lane_rewards[lane] += discount * reward
                        desk.lane_outcomes[lane] = outcome
                        steps += 1
        discount *= task.discount
    for lane in range(tried * len(candidates)):
        bound = 0.0
        if desk.lane_outcomes[lane] == Outcome.RUNNING:
            bound = task.upper_bound(context, desk.lanes[lane])
        desk.lane_bounds[lane] = bound
    desk.steps[0] += steps


@inlined
def best_candidate(choices, candidates, desk, tried):
    """The number of the candidate with the most reward plus discounted upper bound; the first of equals."""
    best, best_value = 0, -math.inf
    for number in range(len(candidates)):
        value, discount = 0.0, choices.discounts[candidates[number]]
        for lane in range(tried * number, tried * number + tried):
            value += desk.lane_rewards[lane]
            if desk.lane_outcomes[lane] == Outcome.RUNNING:
                value += discount * desk.lane_bounds[lane]
        if value > best_value:
            best, best_value = number, value
    return best


@compiled
def greedy_default(task, context, choices, rules, tree, desk, node):
    """What a policy greedy in the task's upper bound earns from a node, and the macro-action it begins with."""
    count, depth, first = node.scenario_count, node.depth, -1
    for i in range(count):
        copy_row(tree.states, node.first_scenario + i, desk.rollout, i)
        desk.rollout_scenarios[i] = tree.scenarios[node.first_scenario + i]
    total, discount = 0.0, 1.0
    while depth < rules.horizon and count > 0:
        candidates = choices.candidates if depth > 0 else choices.root_candidates
        tried = min(count, GREEDY_SAMPLE)
        try_macro_actions(task, context, choices, candidates, tree, desk, tried, depth)
        best = best_candidate(choices, candidates, desk, tried)
        macro = candidates[best]
        first = macro if first < 0 else first
        running = 0
        for i in range(count):
            scenario, lane = desk.rollout_scenarios[i], tried * best + i
            if i < tried:  # it was run already
                reward, outcome = desk.lane_rewards[lane], desk.lane_outcomes[lane]
                if outcome == Outcome.RUNNING:
                    copy_row(desk.lanes, lane, desk.rollout, running)
            else:
                key = tree.keys[scenario]
                reward, outcome = run_unobserved(task, context, choices, macro, desk.rollout[i], key, depth, desk)
                if outcome == Outcome.RUNNING:
                    copy_row(desk.rollout, i, desk.rollout, running)
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
    copy_row(tree.states, row, desk.lanes, 0)
    state, key = desk.lanes[0], tree.keys[tree.scenarios[row]]
    depth, discount, outcome, total = node.depth, 1.0, Outcome.RUNNING, 0.0
    past = derive(tree.keys[0], node.first_scenario)
    while depth < rules.horizon and outcome == Outcome.RUNNING:
        macro = first
        if rules.policy == GUIDED:
            if depth > node.depth:
                macro = guided_macro_action(task, context, choices, state, depth)
            reward, outcome = run_unobserved(task, context, choices, macro, state, key, depth, desk)
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
