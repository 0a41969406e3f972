"""Running macro-actions on scenarios, and the default policies whose earnings are a search's first lower bounds."""

import math
from typing import NamedTuple

import numpy as np

from magic_pomdp.core.compiling import compiled, inlined
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import U64, derive, mix, seek
from magic_pomdp.planners.tree import add_scenario, copy_row, new_node

HISTORY_START = U64(0xCBF29CE484222325)
HISTORY_PRIME = U64(0x100000001B3)

GREEDY, RANDOM, GUIDED = range(3)
"""Default policies."""
GREEDY_SAMPLE = 2
"""Scenarios on which the greedy policy tries every macro-action."""


IMPOSSIBLE_GUIDE = "The task's guide returned a number that none of the macro-actions has"


class Choices(NamedTuple):
    """The macro-actions of a search: M of them, the longest of length L, A numbers an action."""

    actions: np.ndarray  # (M, L, A)
    lengths: np.ndarray  # int64 (M,)
    discounts: np.ndarray  # (M,) γ to the power of the length
    first_only: int  # the first so many can be chosen at the root alone


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
def run_macro_action(task, context, choices, macro, state, key, depth, tree):
    """Run a macro-action on one scenario's state, in place, until it ends or the episode does.

    The noise of a scenario at a time is the same whatever is done, so macro-actions are compared under equal luck.
    """
    random, observation, cells = tree.random, tree.observation, tree.cells
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
    return total, history, outcome, steps


@inlined
def run_unobserved(task, context, choices, macro, state, key, depth, tree):
    """The same for a policy that does not look: what is earned, the outcome, and the steps taken."""
    total, discount, outcome, steps = 0.0, 1.0, Outcome.RUNNING, 0
    for i in range(choices.lengths[macro]):
        seek(tree.random, key, depth + i)
        reward, outcome = task.step_unobserved(context, state, choices.actions[macro, i], tree.random, tree.observation)
        total += discount * reward
        discount *= task.discount
        steps += 1
        if outcome != Outcome.RUNNING:
            break
    return total, outcome, steps


@compiled
def simulate(task, context, choices, macro, tree, node):
    """Run a macro-action on all scenarios of a node, into the scratch arrays. What they earn, 1/K each."""
    total, taken = 0.0, 0
    for i in range(node.scenario_count):
        row = node.first_scenario + i
        copy_row(tree.states, row, tree.moved, i)
        state, key = tree.moved[i], tree.keys[tree.scenarios[row]]
        reward, history, outcome, steps = run_macro_action(task, context, choices, macro, state, key, node.depth, tree)
        tree.histories[i] = history
        tree.running[i] = outcome == Outcome.RUNNING
        total += reward
        taken += steps
    tree.counters[0].steps += taken
    return total / len(tree.keys)


@compiled
def split(tree, node, branch_index, depth):
    """Make a child for every macro-observation among the simulated scenarios that go on."""
    for i in range(node.scenario_count):
        if tree.running[i]:
            child = new_node(tree, branch_index, depth)
            for j in range(i, node.scenario_count):
                if tree.running[j] and tree.histories[j] == tree.histories[i]:
                    tree.running[j] = False
                    add_scenario(tree, child, tree.moved, j, tree.scenarios[node.first_scenario + j])


@inlined
def greedy_macro_action(task, context, choices, tree, count, depth):
    """The macro-action with the most reward plus discounted upper bound over the rollout's first few scenarios."""
    first = first_choice(choices, depth)
    best, best_value, taken = first, -math.inf, 0
    for macro in range(first, len(choices.lengths)):
        value = 0.0
        for i in range(min(count, GREEDY_SAMPLE)):
            copy_row(tree.rollout, i, tree.candidate, 0)
            state, key = tree.candidate[0], tree.keys[tree.rollout_scenarios[i]]
            reward, outcome, steps = run_unobserved(task, context, choices, macro, state, key, depth, tree)
            taken += steps
            value += reward
            if outcome == Outcome.RUNNING:
                value += choices.discounts[macro] * task.upper_bound(context, state)
        if value > best_value:
            best, best_value = macro, value
    tree.counters[0].steps += taken
    return best


@compiled
def greedy_default(task, context, choices, rules, tree, node):
    """What a policy greedy in the task's upper bound earns from a node, and the macro-action it begins with."""
    count, depth, first = node.scenario_count, node.depth, -1
    for i in range(count):
        copy_row(tree.states, node.first_scenario + i, tree.rollout, i)
        tree.rollout_scenarios[i] = tree.scenarios[node.first_scenario + i]
    total, discount, taken = 0.0, 1.0, 0
    while depth < rules.horizon and count > 0:
        macro = greedy_macro_action(task, context, choices, tree, count, depth)
        first = macro if first < 0 else first
        running = 0
        for i in range(count):
            scenario = tree.rollout_scenarios[i]
            state, key = tree.rollout[i], tree.keys[scenario]
            reward, outcome, steps = run_unobserved(task, context, choices, macro, state, key, depth, tree)
            taken += steps
            total += discount * reward
            if outcome == Outcome.RUNNING:  # those that go on move up
                copy_row(tree.rollout, i, tree.rollout, running)
                tree.rollout_scenarios[running] = scenario
                running += 1
        count = running
        depth += choices.lengths[macro]
        discount *= choices.discounts[macro]
    for i in range(count):
        total += discount * task.value_beyond(context, tree.rollout[i])
    tree.counters[0].steps += taken
    return total / len(tree.keys), max(first, 0)


@compiled
def blind_default(task, context, choices, rules, tree, node):
    """What a policy that tries nothing out earns from a node, and the macro-action it begins with.

    Random: the draw is a hash of the history, so that scenarios which have observed the same draw the same
    macro-action. Guided: each scenario goes its own way after the first macro-action, which is common to them, because
    what the robot has observed until then is.
    """
    beginning = derive(tree.keys[0], node.first_scenario)
    first = random_macro_action(choices, beginning, node.depth)
    if rules.policy == GUIDED:
        first = guided_macro_action(task, context, choices, tree.states[node.first_scenario], node.depth)
    total, taken = 0.0, 0
    for i in range(node.scenario_count):
        copy_row(tree.states, node.first_scenario + i, tree.candidate, 0)
        state, key = tree.candidate[0], tree.keys[tree.scenarios[node.first_scenario + i]]
        depth, discount, past, outcome = node.depth, 1.0, beginning, Outcome.RUNNING
        while depth < rules.horizon and outcome == Outcome.RUNNING:
            macro = first
            if rules.policy == GUIDED:
                if depth > node.depth:
                    macro = guided_macro_action(task, context, choices, state, depth)
                reward, outcome, steps = run_unobserved(task, context, choices, macro, state, key, depth, tree)
            else:
                if depth > node.depth:
                    macro = random_macro_action(choices, past, depth)
                reward, history, outcome, steps = run_macro_action(
                    task, context, choices, macro, state, key, depth, tree
                )
                past = mix(past ^ history)
            taken += steps
            total += discount * reward
            discount *= choices.discounts[macro]
            depth += choices.lengths[macro]
        if outcome == Outcome.RUNNING:
            total += discount * task.value_beyond(context, state)
    tree.counters[0].steps += taken
    return total / len(tree.keys), first


@compiled
def set_bounds(task, context, choices, rules, tree, node):
    """First bounds of a new node: what a default policy earns, and the task's upper bound. Beyond the horizon there is
    nothing to search."""
    if rules.policy == GREEDY:
        node.default_value, node.default_macro = greedy_default(task, context, choices, rules, tree, node)
    else:
        node.default_value, node.default_macro = blind_default(task, context, choices, rules, tree, node)
    node.lower = node.upper = node.default_value
    if node.depth < rules.horizon:
        upper = 0.0
        steps = rules.horizon - node.depth + len(choices.actions[0]) - 1  # the last macro-action may run beyond
        for row in range(node.first_scenario, node.first_scenario + node.scenario_count):
            upper += task.bound_within(context, tree.states[row], steps)
        node.upper = max(node.lower, upper / len(tree.keys) - price_at(task, rules, node))


@inlined
def price_at(task, rules, node):
    """λ at a node's time: what the search must gain there by a macro-action of its own."""
    return rules.price / task.discount**node.depth if rules.price > 0.0 else 0.0
