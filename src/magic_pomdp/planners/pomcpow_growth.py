"""How POMCPOW's tree grows, and how it is searched.

A block that is full moves to one twice as large; the one it leaves is used again. A simulation walks down the tree by
indices that it reads there, and waits for memory at each of them. So what comes next is asked for (`expect_…`) as soon
as it is known, while there is something else to compute.
"""

import math

from magic_pomdp.core.compiling import inlined, kernel
from magic_pomdp.core.memory import CACHE_LINE, prefetch
from magic_pomdp.core.views import borrow, copy_numbers
from magic_pomdp.planners.pomcpow_tree import (
    BRANCH_ROOM,
    BRANCHES,
    CHILD_ROOM,
    CHILDREN,
    SCORE,
    SPARES,
    STATE_ROOM,
    STATES,
)

NO_ROOM, UNKNOWN = -1, -1
"""Instead of an index."""
LARGEST_EXPONENT = 300.0
"""A state is at most e to this times as likely as the first of its collection; a million of them still add up."""
SCORES_IN_LINE = CACHE_LINE // SCORE.itemsize
WEIGHTS_IN_LINE = CACHE_LINE // 8


@kernel
def clear(tree):
    """Forget all but a root without branches and states."""
    count = tree.counters[0]
    count.nodes = count.steps = count.trials = count.depth = count.full = 0
    tree.used[:] = 0
    tree.spares[:, :, 0] = 0
    new_node(tree)


@inlined
def new_node(tree):
    """The index of a new node without branches and states, or NO_ROOM."""
    count = tree.counters[0]
    index = count.nodes
    if index == len(tree.nodes):
        count.full = 1
        return NO_ROOM
    count.nodes += 1
    node = tree.nodes[index]
    node.visits = node.next_action_at = 0
    node.first_branch = node.branch_count = 0
    node.first_state = node.state_count = 0
    return index


@inlined
def observation_of(task, tree, index):
    """The observation that a node stands for."""
    return borrow(tree.nodes[index].observation, task)


@inlined
def present_state(task, tree):
    return borrow(tree.present[0].state, task)


@inlined
def drawn_action(task, tree):
    return borrow(tree.present[0].action, task)


@inlined
def present_observation(task, tree):
    return borrow(tree.present[0].observation, task)


@inlined
def first_number(observation):
    """What most observations can be told apart by."""
    return observation[0] if len(observation) > 0 else 0.0


# ------------------------------------------------------------------------------------------------------------- blocks


@inlined
def is_full(count, least):
    """Whether a block with so many rows in use, of a size that grows with them from `least` on, has no other."""
    return count == 0 or (count >= least and count & (count - 1) == 0)


@inlined
def take_block(tree, arena, rows, capacity):
    """The first row of an empty block of an arena, or NO_ROOM."""
    spares = tree.spares[arena, size_class(rows)]
    if spares[0] > 0:
        first = spares[spares[0]]
        spares[0] -= 1
        return first
    first = tree.used[arena]
    if first + rows > capacity:
        tree.counters[0].full = 1
        return NO_ROOM
    tree.used[arena] += rows
    return first


@inlined
def leave_block(tree, arena, first, rows):
    """Remember a block that is empty now."""
    spares = tree.spares[arena, size_class(rows)]
    if rows > 0 and spares[0] < SPARES:
        spares[0] += 1
        spares[spares[0]] = first


@inlined
def size_class(rows):
    """The number of a size of blocks: its logarithm."""
    number = 0
    while 1 << number < rows:
        number += 1
    return number


@inlined
def same_numbers(row, other):
    """Whether the first of two rows begins the second."""
    same = True
    for i in range(len(row)):
        same = same and row[i] == other[i]
    return same


# ------------------------------------------------------------------------------------------------------------- growth


@inlined
def add_branch(task, tree, node):
    """The index of a new branch of a node, for the action just drawn; or NO_ROOM."""
    action = drawn_action(task, tree)
    if is_full(node.branch_count, BRANCH_ROOM):
        first = take_block(tree, BRANCHES, max(BRANCH_ROOM, 2 * node.branch_count), len(tree.branches))
        if first == NO_ROOM:
            return NO_ROOM
        for i in range(node.branch_count):
            tree.branches[first + i] = tree.branches[node.first_branch + i]
            tree.scores[first + i] = tree.scores[node.first_branch + i]
            copy_numbers(len(action), tree.actions[node.first_branch + i], tree.actions[first + i])
        leave_block(tree, BRANCHES, node.first_branch, node.branch_count)
        node.first_branch = first
    index = node.first_branch + node.branch_count
    node.branch_count += 1
    copy_numbers(len(action), action, tree.actions[index])
    score, branch = tree.scores[index], tree.branches[index]
    score.value, score.spread = 0.0, math.inf
    branch.visits = branch.next_child_at = branch.generated = 0
    branch.first_child = branch.child_count = branch.first_node = 0
    return index


@inlined
def add_child(task, tree, branch):
    """The index of a branch's new child, whose new node holds the present observation; or NO_ROOM."""
    if is_full(branch.child_count, CHILD_ROOM):
        first = take_block(tree, CHILDREN, max(CHILD_ROOM, 2 * branch.child_count), len(tree.children))
        if first == NO_ROOM:
            return NO_ROOM
        for i in range(branch.child_count):
            tree.children[first + i] = tree.children[branch.first_child + i]
        leave_block(tree, CHILDREN, branch.first_child, branch.child_count)
        branch.first_child = first
    node_index = new_node(tree)
    if node_index == NO_ROOM:
        return NO_ROOM
    observation = present_observation(task, tree)
    copy_numbers(len(observation), observation, observation_of(task, tree, node_index))
    if branch.child_count == 0:
        branch.first_node = node_index
    index = branch.first_child + branch.child_count
    branch.child_count += 1
    child = tree.children[index]
    child.seen = first_number(observation)
    child.node = node_index
    child.generated = 0
    return index


@inlined
def add_state(task, tree, node, reward, log_likelihood):
    """Append the present state to a node's collection. Its weight is its likelihood, measured by the first state's."""
    state = present_state(task, tree)
    if is_full(node.state_count, STATE_ROOM):
        first = take_block(tree, STATES, max(STATE_ROOM, 2 * node.state_count), len(tree.states))
        if first == NO_ROOM:
            return
        for i in range(node.state_count):
            copy_numbers(len(state) + 1, tree.states[node.first_state + i], tree.states[first + i])
            tree.weights[first + i] = tree.weights[node.first_state + i]
        leave_block(tree, STATES, node.first_state, node.state_count)
        node.first_state = first
    if node.state_count == 0:
        node.total = 1.0
        node.reference = log_likelihood if abs(log_likelihood) < math.inf else 0.0
    elif log_likelihood < math.inf:  # NaN or +∞ say nothing about this state
        node.total += math.exp(min(log_likelihood - node.reference, LARGEST_EXPONENT))
    row = node.first_state + node.state_count
    copy_numbers(len(state), state, tree.states[row])
    tree.states[row, len(state)] = reward
    tree.weights[row] = node.total
    node.state_count += 1


# ------------------------------------------------------------------------------------------------------------- search


@inlined
def is_tried(task, tree, node):
    """Whether a node has a branch of the action just drawn."""
    action = drawn_action(task, tree)
    for index in range(node.first_branch, node.first_branch + node.branch_count):
        if same_numbers(action, tree.actions[index]):
            return True
    return False


@inlined
def find_child(task, tree, branch):
    """The child of a branch that holds just the present observation, or UNKNOWN."""
    observation = present_observation(task, tree)
    first = first_number(observation)
    for index in range(branch.first_child, branch.first_child + branch.child_count):
        child = tree.children[index]
        if child.seen == first and same_numbers(observation, observation_of(task, tree, child.node)):
            return index
    return UNKNOWN


@inlined
def find_state(tree, node, share):
    """The row of the state at which the summed weights of a node's collection pass a share of their total.

    The search begins where that is if all weigh the same, and bisects what steps of twice the length leave.
    """
    low = node.first_state
    high = low + node.state_count - 1
    wanted = share * node.total
    middle, stride = min(likely_row(node, share), high - 1), 1
    while low < high:
        if tree.weights[middle] > wanted:
            high = middle
            middle = max((low + high) // 2, high - stride)
        else:
            low = middle + 1
            middle = min((low + high) // 2, low + stride - 1)
        stride *= 2
    return low


@inlined
def likely_row(node, share):
    """Where a share of a node's states ends."""
    return node.first_state + int(share * node.state_count)


@inlined
def expect_growth(tree):
    """Ask for what the next node and the next blocks will be written to."""
    branches, children, states = tree.used[BRANCHES], tree.used[CHILDREN], tree.used[STATES]
    prefetch(tree.nodes, tree.counters[0].nodes)
    prefetch(tree.nodes, tree.counters[0].nodes + 1)
    prefetch(tree.branches, branches)
    prefetch(tree.scores, branches)
    prefetch(tree.actions, branches)
    prefetch(tree.children, children)
    prefetch(tree.weights, states)
    prefetch(tree.states, states)
    prefetch(tree.states, states + 1)


@inlined
def expect_child(tree, branch):
    """Ask for what is needed of a branch's children."""
    prefetch(tree.children, branch.first_child)
    prefetch(tree.nodes, branch.first_node)


@inlined
def expect_node(tree, node):
    """Ask for what is needed to go on from a node: where its next state goes, and its branches' actions or scores."""
    last = node.first_state + node.state_count
    prefetch(tree.weights, last)
    prefetch(tree.states, last)
    for index in range(node.first_branch, node.first_branch + node.branch_count, SCORES_IN_LINE):
        if node.visits >= node.next_action_at:
            prefetch(tree.actions, index)
        else:
            prefetch(tree.scores, index)


@inlined
def expect_state(tree, node, share):
    """Ask for the state that will probably be found, and for the weights around its own."""
    row = likely_row(node, share)
    prefetch(tree.weights, row - WEIGHTS_IN_LINE)
    prefetch(tree.weights, row)
    prefetch(tree.weights, row + WEIGHTS_IN_LINE)
    prefetch(tree.states, row)
    prefetch(tree.states, row + 1)
