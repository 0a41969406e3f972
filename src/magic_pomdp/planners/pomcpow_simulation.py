"""POMCPOW (Sunberg & Kochenderfer 2018): Monte Carlo tree search for continuous states, actions and observations.

A simulation draws a state from the belief and walks down the tree. At each node it tries a new action or takes the
most promising one (`widen_actions`), lets a new observation in or takes one that was seen before
(`widen_observations`), adds the state it has come to, weighted by how well it explains the observation, to those
gathered there, and goes on with one of them. From a new node a rollout estimates what is to come; means are then
carried back up (`backup`).

The paper leaves open what to do at an episode's end: it is seen, so the last state counts in no collection.
"""

import math
from typing import NamedTuple

from magic_pomdp.core.clock import is_late
from magic_pomdp.core.compiling import inlined, search_kernel
from magic_pomdp.core.memory import prefetch
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import integer, uniform
from magic_pomdp.core.views import borrow, copy_numbers, local_task
from magic_pomdp.planners.pomcpow_growth import (
    NO_ROOM,
    UNKNOWN,
    add_branch,
    add_child,
    add_state,
    drawn_action,
    expect_child,
    expect_growth,
    expect_node,
    expect_state,
    find_child,
    find_state,
    is_tried,
    observation_of,
    present_observation,
    present_state,
)
from magic_pomdp.planners.pomcpow_tree import ROOT

LOOKS = 8
"""Simulations between two looks at the clock. To look takes a good part of the time of a short one."""
NEVER = 2**31 - 1
"""More visits than anything has."""


class Rules(NamedTuple):
    """What a search is told; see PomcpowSettings."""

    horizon: int
    exploration: float
    action_widening: float
    action_exponent: float
    observation_widening: float
    observation_exponent: float
    guided_actions: float
    conditions: bool  # whether the task has a `condition` of its own


@search_kernel
def extend(task, context, actions, rules, tree, particles, step_limit, deadline):
    """Run simulations until so many primitive steps are simulated, or a deadline has come. True if it ended because the
    tree is full."""
    context, actions, tree, particles = borrow((context, actions, tree, particles), task)
    task = local_task(task)
    counters, state = tree.counters[0], present_state(task, tree)
    while counters.trials == 0 or counters.steps < step_limit:
        if counters.trials % LOOKS == LOOKS - 1 and is_late(deadline):
            break
        drawn = integer(tree.random, len(particles))
        prefetch(particles, drawn)
        prefetch(particles, drawn + 1)
        expect_growth(tree)
        promising = expect_branch(rules, tree, tree.nodes[ROOT])
        copy_numbers(len(state), particles[drawn], state)
        simulate(task, context, actions, rules, tree, promising)
        counters.trials += 1
        if counters.full:
            return True
    return False


@inlined
def simulate(task, context, actions, rules, tree, promising):
    """One simulation from the root, beginning with the present state. The root's most promising branch is known."""
    state, observation = present_state(task, tree), present_observation(task, tree)
    index, length, rest = ROOT, 0, 0.0
    while length < rules.horizon:
        node = tree.nodes[index]
        taken = widen_actions(task, context, actions, rules, tree, node, promising)
        if taken == NO_ROOM:
            break
        branch, action = tree.branches[taken], tree.actions[taken]
        expect_child(tree, branch)
        if rules.conditions:
            copy_numbers(len(state), state, borrow(tree.present[0].previous, task))
        reward, outcome = task.step(context, state, action, tree.random, observation)
        tree.path_nodes[length] = index
        tree.path_branches[length] = taken
        tree.path_rewards[length] = reward
        length += 1
        if outcome != Outcome.RUNNING:
            break
        index = widen_observations(task, rules, tree, branch)
        if index == NO_ROOM:
            break
        child = tree.nodes[index]
        expect_node(tree, child)
        is_new = child.state_count == 0
        if rules.conditions:
            value, reward = step_again(task, context, action, tree, index, reward)
        else:
            value = task.log_likelihood(context, state, action, observation_of(task, tree, index))
        if is_new:
            add_state(task, tree, child, reward, value)
            rest = rollout(task, context, actions, tree, rules.horizon - length)
            break
        share = uniform(tree.random)
        expect_state(tree, child, share)
        add_state(task, tree, child, reward, value)
        promising = expect_branch(rules, tree, child)
        row = find_state(tree, child, share)
        copy_numbers(len(state), tree.states[row], state)
        tree.path_rewards[length - 1] = tree.states[row, len(state)]
    else:
        rest = task.value_beyond(context, state)
    tree.counters[0].steps += length
    tree.counters[0].depth = max(tree.counters[0].depth, length)
    backup(task, tree, length, rest)


@inlined
def step_again(task, context, action, tree, index, reward):
    """Take the present step again, as a node's observation tells: ln of the state's weight, and the reward.

    A step that ends the episode, or does not explain the observation, weighs nothing. A new node, which needs a state
    to go on from, keeps the one that the observation was made in, and its reward.
    """
    state, imagined = present_state(task, tree), present_observation(task, tree)
    observation = observation_of(task, tree, index)
    previous, moved = borrow(tree.present[0].previous, task), borrow(tree.present[0].moved, task)
    copy_numbers(len(state), state, moved)
    copy_numbers(len(state), previous, state)
    value, new_reward, outcome = task.condition(context, state, action, tree.random, observation, imagined)
    tree.counters[0].steps += 1
    if outcome == Outcome.RUNNING and value > -math.inf:
        return value, new_reward
    if tree.nodes[index].state_count > 0:
        return -math.inf, new_reward
    copy_numbers(len(state), moved, state)
    return task.log_likelihood(context, state, action, observation), reward


@inlined
def widen_actions(task, context, actions, rules, tree, node, promising):
    """The branch to take: of a new action if the node was visited often enough, else the most promising one, which is
    known unless a new action was due."""
    if node.visits >= node.next_action_at:
        action = drawn_action(task, tree)
        if rules.guided_actions > 0.0 and uniform(tree.random) < rules.guided_actions:
            task.rollout_action(context, present_state(task, tree), actions, tree.random, action)
        else:
            task.draw_action(actions, tree.random, action)
        if not is_tried(task, tree, node):
            index = add_branch(task, tree, node)
            node.next_action_at = visits_needed(node.branch_count, rules.action_widening, rules.action_exponent)
            return index
    return promising if promising != UNKNOWN else most_promising_branch(rules, tree, node)


@inlined
def expect_branch(rules, tree, node):
    """The most promising branch of a node, asked for before it is needed; UNKNOWN if a new action is due."""
    if node.visits >= node.next_action_at:
        return UNKNOWN
    index = most_promising_branch(rules, tree, node)
    prefetch(tree.branches, index)
    prefetch(tree.actions, index)
    return index


@inlined
def most_promising_branch(rules, tree, node):
    """The branch with the largest upper confidence bound; the first of equals."""
    exploration = rules.exploration * math.sqrt(math.log(node.visits))
    best, best_bound = node.first_branch, -math.inf
    for index in range(node.first_branch, node.first_branch + node.branch_count):
        score = tree.scores[index]
        bound = score.value + exploration * score.spread
        if bound > best_bound:
            best, best_bound = index, bound
    return best


@inlined
def visits_needed(count, widening, exponent):
    """The number N of visits from which on count ≤ widening · N^exponent."""
    if count <= widening:
        return 0
    if widening == 0.0 or exponent == 0.0:
        return NEVER
    return math.ceil(min(NEVER, (count / widening) ** (1.0 / exponent)))


@inlined
def widen_observations(task, rules, tree, branch):
    """The node that a simulation comes to: a new one of the present observation, if that is new and the action was
    taken often enough for another; else that of a known observation, drawn by how often it was generated.

    It is drawn even if the present one is known: the states that generated an observation are already spread as it
    tells, so to weigh them by it as well would count it twice.
    """
    if branch.visits >= branch.next_child_at:
        index = find_child(task, tree, branch)
        is_new = index == UNKNOWN
        if is_new:
            index = add_child(task, tree, branch)
            if index == NO_ROOM:
                return NO_ROOM
            count = branch.child_count
            branch.next_child_at = visits_needed(count, rules.observation_widening, rules.observation_exponent)
        tree.children[index].generated += 1
        branch.generated += 1
        if is_new:
            return tree.children[index].node
    remaining, index = integer(tree.random, branch.generated), branch.first_child
    while remaining >= tree.children[index].generated:
        remaining -= tree.children[index].generated
        index += 1
    return tree.children[index].node


@inlined
def rollout(task, context, actions, tree, steps):
    """What the task's rollout actions earn from the present state in so many steps, discounted to now."""
    state, action, unseen = present_state(task, tree), drawn_action(task, tree), present_observation(task, tree)
    total, discount, taken = 0.0, 1.0, 0
    while taken < steps:
        task.rollout_action(context, state, actions, tree.random, action)
        reward, outcome = task.step_unobserved(context, state, action, tree.random, unseen)
        total += discount * reward
        discount *= task.discount
        taken += 1
        if outcome != Outcome.RUNNING:
            break
    else:
        total += discount * task.value_beyond(context, state)
    tree.counters[0].steps += taken
    return total


@inlined
def backup(task, tree, length, rest):
    """Carry what a simulation earned, with the rest that it expects at its end, from there to the root."""
    total = rest
    for position in range(length - 1, -1, -1):
        taken = tree.path_branches[position]
        branch, score = tree.branches[taken], tree.scores[taken]
        total = tree.path_rewards[position] + task.discount * total
        tree.nodes[tree.path_nodes[position]].visits += 1
        branch.visits += 1
        score.value += (total - score.value) / branch.visits
        score.spread = 1.0 / math.sqrt(branch.visits)
