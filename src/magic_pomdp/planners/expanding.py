"""Expanding a node: its macro-actions are run on all its scenarios, what these observe makes its children, and a
default policy and the task's own bound give each child its first bounds. All threads of a search take part.

A deadline may come at any time. Before there are children, the expansion is undone. After that it is left pending:
branches whose children all have their bounds count, and the others are taken up again when the search goes on.
"""

import math

import numpy as np

from magic_pomdp.core import atomics
from magic_pomdp.core.clock import FOREVER
from magic_pomdp.core.compiling import compiled, inlined
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import U64
from magic_pomdp.core.views import copy_numbers, local_state
from magic_pomdp.planners.default_policy import GREEDY, blind_default, first_choice, greedy_default, run_macro_action
from magic_pomdp.planners.team import (
    DONE,
    FIRST,
    HELPERS,
    KIND,
    MOST_PIECES,
    NOTHING,
    SEARCH,
    STEPS,
    SUBJECT,
    await_round,
    call_round,
    take_piece,
)
from magic_pomdp.planners.tree import NO_BRANCH, NO_NODE, ROOT, add_scenario, new_branches, new_node

SIMULATE, BOUND_NODES, BOUND_ROWS = range(3)
"""Kinds of rounds: a piece is a macro-action to run, a node to bound, or a row of `Tree.states`."""
WORTH_SHARING = 8
"""Macro-actions to run on scenarios; fewer are done sooner than another thread has noticed."""
WORTH_INTERRUPTING = 32
"""The same; fewer are done in spite of a deadline, which would undo them."""

COMPLETE, LATE, BROKEN = range(3)
"""How work ends: done, interrupted by its deadline, or given up since another thread has failed."""


# ---------------------------------------------------------------------------------------------------------- the pieces


@compiled
def simulate(task, context, choices, tree, bench, desk, node, number):
    """Run the `number`-th macro-action that a node can choose on all its scenarios. What they earn is the branch's
    reward, 1/K each."""
    total = 0.0
    macro = first_choice(choices, node.depth) + number
    for i in range(node.scenario_count):
        row = node.first_scenario + i
        state, key = local_state(task, bench.moved[number, i]), tree.keys[tree.scenarios[row]]
        copy_numbers(len(state), tree.states[row], state)
        reward, history, outcome = run_macro_action(
            task, context, choices, macro, state, key, node.depth, tree.cells, desk
        )
        copy_numbers(len(state), state, bench.moved[number, i])
        bench.histories[number, i] = history
        bench.running[number, i] = outcome == Outcome.RUNNING
        total += reward
    tree.branches[node.first_branch + number].reward = total / len(tree.keys)


@inlined
def bound_of_row(task, context, choices, rules, tree, node, row):
    """What no policy exceeds from one scenario of a node within the search."""
    steps = rules.horizon - node.depth + len(choices.actions[0]) - 1  # the last macro-action may run beyond
    return task.bound_within(context, tree.states[row], steps)


@inlined
def set_bounds(task, rules, node, default_value, default_macro, upper):
    """First bounds of a node. Beyond the horizon there is nothing to search."""
    node.default_value, node.default_macro = default_value, default_macro
    node.lower = node.upper = default_value
    if node.depth < rules.horizon:
        node.upper = max(node.lower, upper - price_at(task, rules, node))


@inlined
def price_at(task, rules, node):
    """λ at a node's time: what the search must gain there by a macro-action of its own."""
    return rules.price / task.discount**node.depth if rules.price > 0.0 else 0.0


@compiled
def bound_node(task, context, choices, rules, tree, desk, node):
    """Bounds of a node from the greedy policy, which looks at several of its scenarios."""
    value, macro = greedy_default(task, context, choices, rules, tree, desk, node)
    upper = 0.0
    if node.depth < rules.horizon:
        for row in range(node.first_scenario, node.first_scenario + node.scenario_count):
            upper += bound_of_row(task, context, choices, rules, tree, node, row)
    set_bounds(task, rules, node, value, macro, upper / len(tree.keys))


@compiled
def bound_row(task, context, choices, rules, tree, bench, desk, row, number):
    """What a policy that looks at one scenario alone earns from a row; its node's bounds follow when all are there."""
    node = tree.nodes[bench.owners[number]]
    value, macro = blind_default(task, context, choices, rules, tree, desk, node, row)
    bench.earned[number] = value
    bench.bounds[number] = bound_of_row(task, context, choices, rules, tree, node, row)
    if row == node.first_scenario:
        node.default_macro = macro


@compiled
def work(task, context, choices, rules, tree, bench, desk):
    """Take pieces of the present round, and do them, until none is left."""
    board, done = tree.board, 0
    while True:
        piece = take_piece(board)
        if piece == NOTHING:
            break
        piece += board[FIRST]
        subject = board[SUBJECT]
        if board[KIND] == SIMULATE:
            simulate(task, context, choices, tree, bench, desk, tree.nodes[subject], piece)
        elif board[KIND] == BOUND_NODES:
            bound_node(task, context, choices, rules, tree, desk, tree.nodes[subject + piece])
        else:
            bound_row(task, context, choices, rules, tree, bench, desk, subject + piece, piece)
        done += 1
    if done > 0:  # told once a round: words that threads write in turns are dear
        atomics.add(board, STEPS, desk.steps[0])
        desk.steps[0] = 0
        atomics.add(board, DONE, done)


@compiled
def serve(task, context, choices, rules, tree, bench, desk, search):
    """What a helper does: take part in every round of a search, until that is over."""
    atomics.add(tree.board, HELPERS, 1)
    while atomics.load(tree.board, SEARCH) == search:
        work(task, context, choices, rules, tree, bench, desk)
        atomics.pause()
    atomics.add(tree.board, HELPERS, -1)


@compiled
def run_rounds(task, context, choices, rules, tree, bench, desk, kind, subject, first, count, deadline):
    """Have `count` pieces of work done, all but the `first` ones. How many are done, from the first on, in all; NOTHING
    if another thread has failed."""
    while first < count:
        size = min(count - first, MOST_PIECES)
        call_round(tree.board, kind, subject, first, size, deadline)
        work(task, context, choices, rules, tree, bench, desk)
        done = await_round(tree.board)
        if done == NOTHING:
            return NOTHING
        tree.counters[0].steps += atomics.load(tree.board, STEPS)
        first += done
        if done < size:
            break
    return first


@inlined
def count_steps(tree, desk):
    """Count what the search's own thread has simulated outside a round."""
    tree.counters[0].steps += desk.steps[0]
    desk.steps[0] = 0


# ------------------------------------------------------------------------------------------------------- the expansion


@compiled
def bound_root(task, context, choices, rules, tree, bench, desk, deadline):
    """First bounds of the root. If time runs out, the scenarios that were looked at stand for all."""
    root = tree.nodes[ROOT]
    if rules.policy == GREEDY:
        bound_node(task, context, choices, rules, tree, desk, root)
        count_steps(tree, desk)
        return COMPLETE
    bench.owners[: root.scenario_count] = ROOT
    done = run_rounds(task, context, choices, rules, tree, bench, desk, BOUND_ROWS, 0, 0, root.scenario_count, deadline)
    if done == NOTHING:
        return BROKEN
    earned = upper = 0.0
    for number in range(done):
        earned += bench.earned[number]
        upper += bench.bounds[number]
    set_bounds(task, rules, root, earned / done, root.default_macro, upper / done)
    return COMPLETE


@compiled
def expand(task, context, choices, rules, tree, bench, desk, node_index, deadline):
    """Give a node a branch for every macro-action that it can choose, and these a child for every macro-observation."""
    node, counters = tree.nodes[node_index], tree.counters[0]
    count = len(choices.lengths) - first_choice(choices, node.depth)
    new_branches(tree, node, count)
    done = count
    runs = count * node.scenario_count
    if runs < WORTH_SHARING:
        for number in range(count):
            simulate(task, context, choices, tree, bench, desk, node, number)
        count_steps(tree, desk)
    else:
        until = deadline if runs >= WORTH_INTERRUPTING else FOREVER
        done = run_rounds(task, context, choices, rules, tree, bench, desk, SIMULATE, node_index, 0, count, until)
    if done < count:
        counters.branches -= count
        counters.expansions -= 1
        node.first_branch = NO_BRANCH
        return BROKEN if done == NOTHING else LATE
    for number in range(count):
        branch = tree.branches[node.first_branch + number]
        branch.first_child = counters.nodes
        macro = first_choice(choices, node.depth) + number
        split(tree, bench, node, number, node.depth + choices.lengths[macro])
        branch.child_count = counters.nodes - branch.first_child
    counters.pending, counters.bounded = node_index, 0
    return bound_children(task, context, choices, rules, tree, bench, desk, deadline)


@compiled
def split(tree, bench, node, number, depth):
    """Make a child for every macro-observation among the scenarios that go on after a macro-action."""
    running, histories, groups, slots = bench.running[number], bench.histories[number], bench.groups, bench.slots
    first_child, size = tree.counters[0].nodes, 1
    while size < 2 * node.scenario_count:
        size *= 2
    slots[:size] = NO_NODE
    for i in range(node.scenario_count):
        if running[i]:
            slot = np.int64(histories[i] % U64(size))
            while slots[slot] != NO_NODE and histories[slots[slot]] != histories[i]:
                slot = (slot + 1) % size
            if slots[slot] == NO_NODE:  # the first to observe this
                slots[slot] = i
                groups[i] = new_node(tree, node.first_branch + number, depth) - first_child
            else:
                groups[i] = groups[slots[slot]]
            tree.nodes[first_child + groups[i]].scenario_count += 1
    row = tree.counters[0].scenarios
    for child in range(first_child, tree.counters[0].nodes):
        tree.nodes[child].first_scenario = row
        row += tree.nodes[child].scenario_count
        tree.nodes[child].scenario_count = 0
    for i in range(node.scenario_count):
        if running[i]:
            add_scenario(tree, first_child + groups[i], bench.moved[number], i, tree.scenarios[node.first_scenario + i])


@compiled
def bound_children(task, context, choices, rules, tree, bench, desk, deadline):
    """Give the children of the pending node their first bounds, and its branches theirs."""
    counters = tree.counters[0]
    node = tree.nodes[counters.pending]
    branch_count = len(choices.lengths) - first_choice(choices, node.depth)
    first_child = tree.branches[node.first_branch].first_child
    first_row = tree.nodes[first_child].first_scenario if first_child < counters.nodes else counters.scenarios
    kind, subject, count = BOUND_NODES, first_child, counters.nodes - first_child
    if rules.policy != GREEDY:
        kind, subject, count = BOUND_ROWS, first_row, counters.scenarios - first_row
        if counters.bounded == 0:
            for child in range(first_child, counters.nodes):
                for row in range(tree.nodes[child].first_scenario, end_of(tree.nodes[child])):
                    bench.owners[row - first_row] = child
    done = run_rounds(
        task, context, choices, rules, tree, bench, desk, kind, subject, counters.bounded, count, deadline
    )
    if done == NOTHING:
        return BROKEN
    counters.bounded = done
    for number in range(branch_count):
        branch, complete = tree.branches[node.first_branch + number], True
        for child in range(branch.first_child, branch.first_child + branch.child_count):
            if rules.policy == GREEDY:
                complete = complete and child - first_child < done
            elif end_of(tree.nodes[child]) - first_row <= done:
                sum_rows(task, rules, tree, bench, tree.nodes[child], first_row)
            else:
                complete = False
        if complete:
            update_branch(task, choices, rules, first_choice(choices, node.depth) + number, tree, node, branch)
        else:
            branch.lower, branch.upper = -math.inf, node.upper
    if done < count:
        return LATE
    counters.pending = NO_NODE
    return COMPLETE


@inlined
def end_of(node):
    """The row after a node's last."""
    return node.first_scenario + node.scenario_count


@inlined
def sum_rows(task, rules, tree, bench, node, first_row):
    """Bounds of a node from those of its rows."""
    earned = upper = 0.0
    for row in range(node.first_scenario, end_of(node)):
        earned += bench.earned[row - first_row]
        upper += bench.bounds[row - first_row]
    set_bounds(task, rules, node, earned / len(tree.keys), node.default_macro, upper / len(tree.keys))


@compiled
def update_branch(task, choices, rules, macro, tree, node, branch):
    """A branch is worth its reward less its price and, discounted by the macro-action's own length, its children."""
    lower = upper = 0.0
    for child in range(branch.first_child, branch.first_child + branch.child_count):
        lower += tree.nodes[child].lower
        upper += tree.nodes[child].upper
    earned = branch.reward - price_at(task, rules, node)
    branch.lower = earned + choices.discounts[macro] * lower
    branch.upper = earned + choices.discounts[macro] * upper
