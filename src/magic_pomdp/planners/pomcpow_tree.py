"""POMCPOW's search tree: arrays allocated once per planner and used again for every plan.

A *node* stands for a history and holds a collection of weighted states; its *branches* are the actions tried there, and
a branch's *children* are the observations that followed, each the edge to a node. Branches, children and states of one
owner lie side by side in a block, which moves to the end of its arena, twice as large, whenever it is full.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from magic_pomdp.core.compiling import inlined
from magic_pomdp.core.task import Task
from magic_pomdp.planners.tree import aligned_record, copy_row
from magic_pomdp.planners.tree_top import Seen

ROOT = 0
NO_ROOM = -1

STATE_BYTES = 1 << 30
"""Most memory that the states of one tree may take."""
LARGEST_EXPONENT = 300.0
"""A state is at most e to this times as likely as the first of its collection; a million of them still add up."""

NODE = aligned_record(
    visits="i4",  # N(h), simulations that went on from here
    next_action_at="f8",  # how many visits it takes until another action is tried
    first_branch="i4",  # its branches are [first_branch, first_branch + branch_count)
    branch_count="i4",
    branch_room="i4",
    first_state="i4",  # its states are [first_state, first_state + state_count)
    state_count="i4",
    state_room="i4",
    reference="f8",  # log-likelihood of its observation in its first state, whose weight is 1
)

SCORE = aligned_record(
    value="f8",  # Q(ha), the mean of what simulations earned from here
    spread="f8",  # 1 / √N(ha)
)
"""What is looked at to choose a branch: apart from all else, so that a node's whole choice is in few cache lines."""

BRANCH = aligned_record(
    next_child_at="f8",  # how many visits it takes until another observation is let in
    visits="i4",  # N(ha)
    generated="i4",  # sum of M(hao) over its children
    first_child="i4",  # its children are [first_child, first_child + child_count)
    child_count="i4",
    child_room="i4",
)

CHILD = aligned_record(
    node="i4",
    generated="i4",  # M(hao), how often the observation was generated
)

COUNTERS = aligned_record(
    nodes="i8",
    branches="i8",  # rows in use, those of blocks left behind among them
    children="i8",
    states="i8",
    steps="i8",  # primitive steps simulated, those that were taken again twice
    trials="i8",  # simulations
    depth="i8",  # of the deepest node, in primitive steps
    full="i8",  # 1 once something has found no room
)


class PomcpowTree(NamedTuple):
    """All memory of a search. S numbers a state, A an action, O an observation, D primitive steps deep."""

    nodes: np.ndarray  # NODE (capacity,)
    observations: np.ndarray  # (capacity, O) of the nodes
    branches: np.ndarray  # BRANCH (capacity,)
    scores: np.ndarray  # SCORE (capacity,) of the branches
    actions: np.ndarray  # (capacity, A) of the branches
    children: np.ndarray  # CHILD (capacity,)
    states: np.ndarray  # (capacity, S + 1) collections of states, node by node; last the reward of the step there
    weights: np.ndarray  # (capacity,) of the states, summed up from the first of their node
    counters: np.ndarray  # COUNTERS (1,)
    path_nodes: np.ndarray  # int32 (D,) the nodes of the present simulation
    path_branches: np.ndarray  # int32 (D,) the branches it took there
    path_rewards: np.ndarray  # (D,) what it earned there
    state: np.ndarray  # (1, S) scratch: where the simulation is
    previous: np.ndarray  # (1, S) scratch: where it was before the present step
    moved: np.ndarray  # (1, S) scratch: where that step led at first, if it is taken again
    action: np.ndarray  # (1, A) scratch: an action just drawn
    observation: np.ndarray  # (1, O) scratch: what was just observed
    random: np.ndarray  # uint64 (1,) the stream of the search


def new_tree(task: Task, node_capacity: int, depth: int) -> PomcpowTree:
    """An empty tree; its memory is only reserved, the system hands it out as the search first touches it."""
    size = task.state_size
    rows = max(2 * node_capacity, min(16 * node_capacity, STATE_BYTES // (8 * size + 16)))
    return PomcpowTree(
        nodes=np.empty(node_capacity, NODE),
        observations=np.empty((node_capacity, task.observation_size)),
        branches=np.empty(4 * node_capacity, BRANCH),
        scores=np.empty(4 * node_capacity, SCORE),
        actions=np.empty((4 * node_capacity, task.action_size)),
        children=np.empty(4 * node_capacity, CHILD),
        states=np.empty((rows, size + 1)),
        weights=np.empty(rows),
        counters=np.zeros(1, COUNTERS),
        path_nodes=np.empty(depth, np.int32),
        path_branches=np.empty(depth, np.int32),
        path_rewards=np.empty(depth),
        state=np.empty((1, size)),
        previous=np.empty((1, size)),
        moved=np.empty((1, size)),
        action=np.empty((1, task.action_size)),
        observation=np.empty((1, task.observation_size)),
        random=np.empty(1, np.uint64),
    )


class PomcpowSnapshot(NamedTuple):
    """The tree that a search built; see PomcpowTree."""

    nodes: np.ndarray
    observations: np.ndarray
    branches: np.ndarray
    scores: np.ndarray
    actions: np.ndarray
    children: np.ndarray
    states: np.ndarray
    weights: np.ndarray


def used_part(tree: PomcpowTree) -> PomcpowSnapshot:
    """What a search has built, in place: the next one overwrites it."""
    count = tree.counters[0]
    return PomcpowSnapshot(
        nodes=tree.nodes[: count.nodes],
        observations=tree.observations[: count.nodes],
        branches=tree.branches[: count.branches],
        scores=tree.scores[: count.branches],
        actions=tree.actions[: count.branches],
        children=tree.children[: count.children],
        states=tree.states[: count.states],
        weights=tree.weights[: count.states],
    )


def snapshot(tree: PomcpowTree) -> PomcpowSnapshot:
    """Copy what a search has built, so that the next one does not overwrite it."""
    return PomcpowSnapshot(*(part.copy() for part in used_part(tree)))


class PomcpowView:
    """Shows a tree."""

    def __init__(self, tree: PomcpowSnapshot) -> None:
        self.tree = tree
        self.simulations = max(1, int(tree.nodes[ROOT].visits))

    def first_number(self, index: int) -> int:
        """The number of the action of a node's first branch."""
        return 0

    def root(self) -> Seen:
        return self._node(ROOT)

    def branches(self, index: int) -> Iterator[Seen]:
        node = self.tree.nodes[index]
        for i in range(node.first_branch, node.first_branch + node.branch_count):
            branch = self.tree.branches[i]
            share = branch.visits / self.simulations
            yield Seen(i, float(self.tree.scores[i].value), None, share, int(branch.child_count))

    def children(self, index: int) -> Iterator[Seen]:
        branch = self.tree.branches[index]
        for i in range(branch.first_child, branch.first_child + branch.child_count):
            yield self._node(int(self.tree.children[i].node))

    def _node(self, index: int) -> Seen:
        node = self.tree.nodes[index]
        first, count = int(node.first_branch), int(node.branch_count)
        value = float(self.tree.scores["value"][first : first + count].max()) if count else None
        return Seen(index, value, None, node.visits / self.simulations, count)


@inlined
def clear(tree):
    """Forget all but a root without branches and states."""
    count = tree.counters[0]
    count.nodes = count.branches = count.children = count.states = 0
    count.steps = count.trials = count.depth = count.full = 0
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
    node.visits = 0
    node.next_action_at = 0.0
    node.branch_count = node.branch_room = 0
    node.state_count = node.state_room = 0
    return index


@inlined
def add_branch(tree, node):
    """The index of a new branch of a node, for the action just drawn; or NO_ROOM."""
    count = tree.counters[0]
    if node.branch_count == node.branch_room:
        room = max(4, 2 * node.branch_room)
        first = count.branches
        if first + room > len(tree.branches):
            count.full = 1
            return NO_ROOM
        for i in range(node.branch_count):
            tree.branches[first + i] = tree.branches[node.first_branch + i]
            tree.scores[first + i] = tree.scores[node.first_branch + i]
            copy_row(tree.actions, node.first_branch + i, tree.actions, first + i)
        count.branches += room
        node.first_branch, node.branch_room = first, room
    index = node.first_branch + node.branch_count
    node.branch_count += 1
    copy_row(tree.action, 0, tree.actions, index)
    score, branch = tree.scores[index], tree.branches[index]
    score.value, score.spread = 0.0, math.inf
    branch.next_child_at = 0.0
    branch.visits = branch.generated = 0
    branch.child_count = branch.child_room = 0
    return index


@inlined
def add_child(tree, branch):
    """The index of a branch's new child, whose new node holds the present observation; or NO_ROOM."""
    count = tree.counters[0]
    if branch.child_count == branch.child_room:
        room = max(2, 2 * branch.child_room)
        first = count.children
        if first + room > len(tree.children):
            count.full = 1
            return NO_ROOM
        for i in range(branch.child_count):
            tree.children[first + i] = tree.children[branch.first_child + i]
        count.children += room
        branch.first_child, branch.child_room = first, room
    node_index = new_node(tree)
    if node_index == NO_ROOM:
        return NO_ROOM
    copy_row(tree.observation, 0, tree.observations, node_index)
    index = branch.first_child + branch.child_count
    branch.child_count += 1
    child = tree.children[index]
    child.node = node_index
    child.generated = 0
    return index


@inlined
def add_state(tree, node, reward, log_likelihood):
    """Append the present state to a node's collection. Its weight is its likelihood, measured by the first state's."""
    count = tree.counters[0]
    if node.state_count == node.state_room:
        room = max(2, 2 * node.state_room)
        first = count.states
        if first + room > len(tree.states):
            count.full = 1
            return
        for i in range(node.state_count):
            copy_row(tree.states, node.first_state + i, tree.states, first + i)
            tree.weights[first + i] = tree.weights[node.first_state + i]
        count.states += room
        node.first_state, node.state_room = first, room
    row = node.first_state + node.state_count
    weight = 1.0
    if node.state_count == 0:
        node.reference = log_likelihood if abs(log_likelihood) < math.inf else 0.0
    elif log_likelihood < math.inf:
        weight = tree.weights[row - 1] + math.exp(min(log_likelihood - node.reference, LARGEST_EXPONENT))
    else:  # NaN or +∞ say nothing about this state
        weight = tree.weights[row - 1]
    state = tree.state[0]
    for i in range(len(state)):
        tree.states[row, i] = state[i]
    tree.states[row, len(state)] = reward
    tree.weights[row] = weight
    node.state_count += 1


@inlined
def find_state(tree, node, share):
    """The row of the state at which the summed weights of a node's collection pass a share of their total."""
    low = node.first_state
    high = low + node.state_count - 1
    wanted = share * tree.weights[high]
    while low < high:
        middle = (low + high) // 2
        if tree.weights[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def same_row(rows, index, others, other):
    """Whether two rows are equal, number by number."""
    same = True
    for i in range(len(rows[index])):
        same = same and rows[index, i] == others[other, i]
    return same
