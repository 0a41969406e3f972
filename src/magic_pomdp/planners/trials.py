"""The trials of Macro-DESPOT: down the tree by the best upper bound and the largest uncertainty, and back up.

`plant` draws K scenarios from the belief; a trial then follows the most promising macro-action and the most uncertain
observation down the tree (`explore`), expanding nodes as it meets them (`expanding.py`), and carries the bounds back up
(`backup`).
"""

import math
from typing import NamedTuple

from magic_pomdp.core.clock import is_late
from magic_pomdp.core.compiling import compiled, inlined, kernel, search_kernel
from magic_pomdp.core.randomness import derive, seek, uniform
from magic_pomdp.core.views import borrow
from magic_pomdp.planners.default_policy import first_choice
from magic_pomdp.planners.expanding import (
    BROKEN,
    COMPLETE,
    bound_children,
    bound_root,
    expand,
    serve,
    update_branch,
)
from magic_pomdp.planners.tree import NO_BRANCH, NO_NODE, NO_PARENT, ROOT, add_scenario, clear, has_room, new_node

GAP_TOLERANCE = 1e-6
"""A root whose bounds are this close leaves nothing to search."""

MY_OWN = -1
"""Instead of the number of a search that is helped with."""
NOT_BOUNDED = -1
"""Instead of the root's default macro-action: it has no bounds yet."""


class Rules(NamedTuple):
    """What a search is told; see DespotSettings."""

    horizon: int  # primitive steps to look ahead
    xi: float  # ξ
    policy: int  # which default policy
    price: float  # λ, at the root's time


@kernel
def plant(tree, desk, particles, seed):
    """A new tree: its root holds K scenarios, one from each of K equal slices of the belief's particles."""
    tree, desk, particles = borrow((tree, desk, particles))
    clear(tree)
    new_node(tree, NO_PARENT, 0)
    tree.nodes[ROOT].default_macro = NOT_BOUNDED
    count = len(tree.keys)
    for k in range(count):
        tree.keys[k] = derive(seed, k)
        seek(desk.random, derive(seed, count + k), 0)
        slot = int((k + uniform(desk.random)) / count * len(particles))
        add_scenario(tree, ROOT, particles, min(slot, len(particles) - 1), k)


@search_kernel
def extend(task, context, choices, rules, tree, bench, desk, step_limit, deadline, helped):
    """Run trials until so many primitive steps are simulated, or a deadline has come. True if it ended because there is
    no more to do. A helper names the search that it helps with, and takes part in what that search's own thread runs.
    """
    context, choices, tree, bench, desk = borrow((context, choices, tree, bench, desk), task)
    if helped != MY_OWN:
        serve(task, context, choices, rules, tree, bench, desk, helped)
        return True
    counters, root, status = tree.counters[0], tree.nodes[ROOT], COMPLETE
    if root.default_macro == NOT_BOUNDED:
        status = bound_root(task, context, choices, rules, tree, bench, desk, deadline)
        if status == BROKEN or not math.isfinite(root.upper):
            return True
    if counters.pending != NO_NODE:
        node = tree.nodes[counters.pending]
        status = bound_children(task, context, choices, rules, tree, bench, desk, deadline)
        update_node(choices, tree, node)
        backup(task, choices, rules, tree, counters.path)
    while status == COMPLETE and (counters.trials == 0 or (counters.steps < step_limit and not is_late(deadline))):
        if counters.trials > 0 and root.upper - root.lower <= GAP_TOLERANCE:
            return True
        expansions = counters.expansions
        status = explore(task, context, choices, rules, tree, bench, desk, step_limit, deadline)
        backup(task, choices, rules, tree, counters.path)
        counters.trials += 1
        if counters.full or (status == COMPLETE and counters.expansions == expansions):
            return True
    return status == BROKEN


@compiled
def explore(task, context, choices, rules, tree, bench, desk, step_limit, deadline):
    """One trial: down from the root as long as there is excess uncertainty. Whether it was interrupted."""
    counters, index, status = tree.counters[0], ROOT, COMPLETE
    counters.path = 0
    while index >= 0 and tree.nodes[index].depth < rules.horizon:
        node = tree.nodes[index]
        counters.depth = max(counters.depth, node.depth)
        if node.first_branch == NO_BRANCH:
            if counters.path > 0 and counters.steps >= step_limit:
                break
            if not has_room(tree, node, branch_count(choices, node)):
                counters.full = 1
                break
            status = expand(task, context, choices, rules, tree, bench, desk, index, deadline)
            if status != COMPLETE:
                if counters.pending != NO_NODE:
                    update_node(choices, tree, node)
                break
        branch = most_promising_branch(choices, tree, node)
        tree.path_nodes[counters.path] = index
        tree.path_branches[counters.path] = branch
        counters.path += 1
        index = most_uncertain_child(task, rules, tree, tree.branches[branch])
    return status


@inlined
def branch_count(choices, node):
    """How many macro-actions can be chosen at a node."""
    return len(choices.lengths) - first_choice(choices, node.depth)


@compiled
def most_promising_branch(choices, tree, node):
    """The branch with the largest upper bound; the first of equals."""
    best = node.first_branch
    for branch in range(node.first_branch + 1, node.first_branch + branch_count(choices, node)):
        if tree.branches[branch].upper > tree.branches[best].upper:
            best = branch
    return best


@compiled
def most_uncertain_child(task, rules, tree, branch):
    """The child with the largest excess uncertainty, or −1 if none has any."""
    best, best_excess = -1, 0.0
    for child in range(branch.first_child, branch.first_child + branch.child_count):
        excess = excess_uncertainty(task, rules, tree, tree.nodes[child])
        if excess > best_excess:
            best, best_excess = child, excess
    return best


@compiled
def excess_uncertainty(task, rules, tree, node):
    """E(b): the node's gap beyond its share of ξ times the root's, both at the root's time."""
    root = tree.nodes[ROOT]
    share = node.scenario_count / len(tree.keys)
    return task.discount**node.depth * (node.upper - node.lower) - rules.xi * share * (root.upper - root.lower)


@compiled
def backup(task, choices, rules, tree, length):
    """Carry the bounds from the end of a trial's path to the root."""
    for position in range(length - 1, -1, -1):
        node, taken = tree.nodes[tree.path_nodes[position]], tree.path_branches[position]
        macro = first_choice(choices, node.depth) + taken - node.first_branch
        update_branch(task, choices, rules, macro, tree, node, tree.branches[taken])
        update_node(choices, tree, node)


@compiled
def update_node(choices, tree, node):
    """A node is worth its best branch, or the default policy. Lower bounds only rise, upper bounds only fall."""
    lower = upper = node.default_value
    for index in range(node.first_branch, node.first_branch + branch_count(choices, node)):
        lower = max(lower, tree.branches[index].lower)
        upper = max(upper, tree.branches[index].upper)
    node.lower = max(node.lower, lower)
    node.upper = max(node.lower, min(node.upper, upper))
