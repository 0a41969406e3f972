"""POMCPOW's search tree: arrays allocated once per planner and used again for every plan.

A *node* stands for a history and holds a collection of weighted states; its *branches* are the actions tried there, and
a branch's *children* are the observations that followed, each the edge to a node. Branches, children and states of one
owner lie side by side in a block of their arena, and move to one twice as large whenever it is full.

A large tree is not in the cache, so records are small, and what is looked at together lies together. How the tree grows
is in `pomcpow_growth.py`.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from magic_pomdp.core.memory import aligned_empty
from magic_pomdp.core.task import Task
from magic_pomdp.planners.tree import aligned_record
from magic_pomdp.planners.tree_top import Seen

ROOT = 0

STATE_BYTES = 1 << 30
"""Most memory that the states of one tree may take."""

BRANCHES, CHILDREN, STATES = range(3)
"""The arenas."""
BRANCH_ROOM, CHILD_ROOM, STATE_ROOM = 4, 1, 1
"""Rows of the smallest block of each."""
SIZES = 32
"""How many sizes of blocks there can be, each twice the one before."""
SPARES = 15
"""How many empty blocks of a size are remembered: those that are left are soon taken by others."""

Fields = dict[str, str | tuple[str, tuple[int]]]
"""Of a record: the kind of each, with its shape if it is an array. A shape is known where code is compiled."""

NODE: Fields = {
    "visits": "i4",  # N(h), simulations that went on from here
    "next_action_at": "i4",  # how many visits it takes until another action is tried
    "first_branch": "i4",  # its branches are [first_branch, first_branch + branch_count)
    "branch_count": "i4",
    "first_state": "i4",  # its states are [first_state, first_state + state_count)
    "state_count": "i4",
    "total": "f8",  # sum of their weights
    "reference": "f8",  # log-likelihood of its observation in its first state, whose weight is 1
}
"""The fields of a node, which then has its observation."""

SCORE = aligned_record(
    value="f8",  # Q(ha), the mean of what simulations earned from here
    spread="f8",  # 1 / √N(ha)
)
"""What is looked at to choose a branch: apart from all else, so that a node's whole choice is in few cache lines."""

BRANCH = aligned_record(
    visits="i4",  # N(ha)
    next_child_at="i4",  # how many visits it takes until another observation is let in
    generated="i4",  # sum of M(hao) over its children
    first_child="i4",  # its children are [first_child, first_child + child_count)
    child_count="i4",
    first_node="i4",  # the node of its first child, often the only one
)

CHILD = aligned_record(
    seen="f8",  # the first number of its node's observation: where that differs, nobody has to look at the node
    node="i4",
    generated="i4",  # M(hao), how often the observation was generated
)

COUNTERS = aligned_record(
    nodes="i8",
    steps="i8",  # primitive steps simulated, those that were taken again twice
    trials="i8",  # simulations
    depth="i8",  # of the deepest node, in primitive steps
    full="i8",  # 1 once something has found no room
)


class PomcpowTree(NamedTuple):
    """All memory of a search. S numbers a state, A an action, O an observation, D primitive steps deep."""

    nodes: np.ndarray  # NODE and the observation, O numbers (capacity,)
    branches: np.ndarray  # BRANCH (capacity,)
    scores: np.ndarray  # SCORE (capacity,) of the branches
    actions: np.ndarray  # (capacity, A) of the branches
    children: np.ndarray  # CHILD (capacity,)
    states: np.ndarray  # (capacity, S + 1) collections of states, node by node; last the reward of the step there
    weights: np.ndarray  # (capacity,) of the states, summed up from the first of their node
    used: np.ndarray  # int64 (3,) rows of each arena that have been handed out
    spares: (
        np.ndarray
    )  # int32 (3, SIZES, 1 + SPARES) empty blocks of each arena and size: how many, and their first rows
    counters: np.ndarray  # COUNTERS (1,)
    path_nodes: np.ndarray  # int32 (D,) the nodes of the present simulation
    path_branches: np.ndarray  # int32 (D,) the branches it took there
    path_rewards: np.ndarray  # (D,) what it earned there
    present: np.ndarray  # scratch (1,): see `present_record`
    random: np.ndarray  # uint64 (1,) the stream of the search


def node_record(task: Task) -> np.dtype:
    """What a node holds: one cache line, if its observation has three numbers."""
    return record(NODE | {"observation": ("f8", (task.observation_size,))})


def present_record(task: Task) -> np.dtype:
    """Where a simulation is."""
    return record(
        {
            "state": ("f8", (task.state_size,)),
            "previous": ("f8", (task.state_size,)),  # before the present step
            "moved": ("f8", (task.state_size,)),  # where that step led at first, if it is taken again
            "action": ("f8", (task.action_size,)),  # just drawn
            "observation": ("f8", (task.observation_size,)),  # just made
        }
    )


def record(fields: Fields) -> np.dtype:
    """An aligned record, some fields of which may be arrays."""
    return np.dtype((np.record, np.dtype(list(fields.items()), align=True)))


def new_tree(task: Task, node_capacity: int, depth: int) -> PomcpowTree:
    """An empty tree; its memory is only reserved, the system hands it out as the search first touches it."""
    size = task.state_size
    rows = max(2 * node_capacity, min(16 * node_capacity, STATE_BYTES // (8 * size + 16)))
    return PomcpowTree(
        nodes=aligned_empty((node_capacity,), node_record(task)),
        branches=aligned_empty((4 * node_capacity,), BRANCH),
        scores=aligned_empty((4 * node_capacity,), SCORE),
        actions=aligned_empty((4 * node_capacity, task.action_size)),
        children=aligned_empty((4 * node_capacity,), CHILD),
        states=aligned_empty((rows, size + 1)),
        weights=aligned_empty((rows,)),
        used=np.zeros(3, np.int64),
        spares=np.zeros((3, SIZES, 1 + SPARES), np.int32),
        counters=np.zeros(1, COUNTERS),
        path_nodes=np.empty(depth, np.int32),
        path_branches=np.empty(depth, np.int32),
        path_rewards=np.empty(depth),
        present=np.zeros(1, present_record(task)),
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
    nodes = tree.nodes[: tree.counters[0].nodes]
    branches, children, states = tree.used
    return PomcpowSnapshot(
        nodes=nodes,
        observations=nodes["observation"],
        branches=tree.branches[:branches],
        scores=tree.scores[:branches],
        actions=tree.actions[:branches],
        children=tree.children[:children],
        states=tree.states[:states],
        weights=tree.weights[:states],
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
