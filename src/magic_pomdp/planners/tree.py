"""The search tree: arrays allocated once per planner and used again for every plan.

Belief nodes and branches alternate. A *node* holds the scenarios that agree with one history of macro-actions and
macro-observations; a *branch* is one macro-action taken there, and its children are the nodes of the observations that
can follow. Values of a node are sums over its scenarios, 1/K each, discounted to the node's own time.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from magic_pomdp.core.compiling import compiled
from magic_pomdp.core.grouping import observation_cells
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.task import Task
from magic_pomdp.core.views import LANES, copy_numbers
from magic_pomdp.planners.lanes import Lanes
from magic_pomdp.planners.tree_top import Seen

ROOT = 0
NO_PARENT = -1
NO_BRANCH = -1
NO_NODE = -1

CACHE_LINE = 128
"""Bytes that cores pass on together, and more: some fetch the neighbouring line as well."""
SCENARIO_BYTES = 1 << 29
"""Most memory that the scenarios' states of one tree may take."""


def aligned_record(**fields: str) -> np.dtype:
    """An aligned record of these fields."""
    return np.dtype((np.record, np.dtype(list(fields.items()), align=True)))


NODE = aligned_record(
    lower="f8",  # the best policy found so far earns this
    upper="f8",  # no policy earns more than this
    default_value="f8",  # what the default policy earns from here
    default_macro="i4",  # the macro-action it begins with
    first_scenario="i4",  # its scenarios are [first_scenario, first_scenario + scenario_count)
    scenario_count="i4",
    first_branch="i4",  # its branches, one a macro-action that can be chosen, follow each other; NO_BRANCH before
    depth="i4",  # primitive steps from the root
    parent="i4",  # the branch that led here, or NO_PARENT
)

BRANCH = aligned_record(
    lower="f8",
    upper="f8",
    reward="f8",  # earned while the macro-action runs, over all scenarios of the node
    first_child="i4",  # its children are the nodes [first_child, first_child + child_count)
    child_count="i4",
)

COUNTERS = aligned_record(
    nodes="i8",
    branches="i8",
    scenarios="i8",
    steps="i8",  # primitive steps simulated
    trials="i8",
    expansions="i8",
    depth="i8",  # of the deepest node that a trial visited, in primitive steps
    full="i8",  # 1 once an expansion has found no room
    pending="i8",  # the node whose expansion a deadline has interrupted, or NO_NODE
    bounded="i8",  # pieces of its work that are done
    path="i8",  # nodes above it on the path of its trial
)


class Tree(NamedTuple):
    """All memory of a search. K scenarios, S numbers a state, O numbers an observation, D primitive steps deep."""

    nodes: np.ndarray  # NODE (capacity,)
    branches: np.ndarray  # BRANCH (capacity,)
    states: np.ndarray  # (capacity, S) the scenarios' states, node after node
    scenarios: np.ndarray  # int32 (capacity,) which of the K scenarios each row of `states` belongs to
    counters: np.ndarray  # COUNTERS (1,)
    keys: np.ndarray  # uint64 (K,) the random stream of each scenario
    path_nodes: np.ndarray  # int32 (D + 1,) the nodes of the present trial
    path_branches: np.ndarray  # int32 (D + 1,) the branches it took there
    cells: np.ndarray  # (O,) how wide observations are grouped; (0,) if the task has a key of its own
    board: np.ndarray  # int64 (…) what the threads of the search agree on, see team.py


class Bench(NamedTuple):
    """Where the node being expanded is worked on, by all threads. M macro-actions, K scenarios of each."""

    moved: np.ndarray  # (M, K, S) the scenarios after each macro-action
    histories: np.ndarray  # uint64 (M, K) what each of them observed
    running: np.ndarray  # bool (M, K) which of them go on
    owners: np.ndarray  # int32 (M K,) of each new row of `Tree.states`, its node
    earned: np.ndarray  # (M K,) what the default policy earns from each of these rows
    bounds: np.ndarray  # (M K,) what no policy exceeds from there
    groups: np.ndarray  # int32 (K,) of the scenarios after one macro-action, which of its children each belongs to
    slots: np.ndarray  # int32 (2 K at least,) a hash table of what was observed


class Desk(NamedTuple):
    """Where one thread works. T scenarios are tried at most."""

    rollout: np.ndarray  # (K, S) states in the default policy
    rollout_scenarios: np.ndarray  # int32 (K,) which scenarios they belong to
    tried: np.ndarray  # (T, S) where the best macro-action that was tried led
    tried_rewards: np.ndarray  # (T,) what it earned
    tried_outcomes: np.ndarray  # int64 (T,) how they stand after it
    lanes: Lanes  # room for those that are too many for registers
    state: np.ndarray  # (S,) and for one state
    action: np.ndarray  # (A,)
    noise: np.ndarray  # (T, N)
    observation: np.ndarray  # (O,)
    random: np.ndarray  # uint64 (1,) the stream being read
    steps: np.ndarray  # int64 (1,) primitive steps simulated here and not yet counted


def new_tree(task: Task, scenario_count: int, node_capacity: int, depth: int, board: np.ndarray) -> Tree:
    """An empty tree; its memory is only reserved, the system hands it out as the search first touches it."""
    size = task.state_size
    rows = max(node_capacity + scenario_count, min(16 * node_capacity, SCENARIO_BYTES // (8 * size)))
    return Tree(
        nodes=np.empty(node_capacity, NODE),
        branches=np.empty(2 * node_capacity, BRANCH),
        states=np.empty((rows, size)),
        scenarios=np.empty(rows, np.int32),
        counters=np.zeros(1, COUNTERS),
        keys=np.empty(scenario_count, np.uint64),
        path_nodes=np.empty(depth + 1, np.int32),
        path_branches=np.empty(depth + 1, np.int32),
        cells=observation_cells(task),
        board=board,
    )


def new_bench(task: Task, scenario_count: int, macro_count: int) -> Bench:
    """Room to expand nodes with so many macro-actions."""
    each, all = (macro_count, scenario_count), macro_count * scenario_count
    return Bench(
        moved=np.empty((*each, task.state_size)),
        histories=np.empty(each, np.uint64),
        running=np.empty(each, np.bool_),
        owners=np.empty(all, np.int32),
        earned=np.empty(all),
        bounds=np.empty(all),
        groups=np.empty(scenario_count, np.int32),
        slots=np.empty(1 << (2 * scenario_count - 1).bit_length(), np.int32),
    )


def new_desk(task: Task, scenario_count: int, tried: int) -> Desk:
    """Room for one thread, which tries macro-actions on so many scenarios at most."""
    return Desk(
        rollout=_apart((scenario_count, task.state_size)),
        rollout_scenarios=_apart((scenario_count,), np.int32),
        tried=_apart((tried, task.state_size)),
        tried_rewards=_apart((tried,)),
        tried_outcomes=_apart((tried,), np.int64),
        lanes=Lanes(
            states=_apart((task.state_size, LANES)),
            noise=_apart((task.noise_size, LANES)),
            rewards=_apart((LANES,)),
            outcomes=_apart((LANES,), np.int64),
            bounds=_apart((LANES,)),
        ),
        state=_apart((task.state_size,)),
        action=_apart((task.action_size,)),
        noise=_apart((tried, task.noise_size)),
        observation=_apart((task.observation_size,)),
        random=_apart((1,), np.uint64),
        steps=_apart((1,), np.int64),
    )


def _apart(shape: tuple[int, ...], kind: type = np.float64) -> np.ndarray:
    """An array of zeros that shares no cache line with what other threads write to: each would wait for the others."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    room = np.zeros(size + 2 * CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + size].view(kind).reshape(shape)


class TreeSnapshot(NamedTuple):
    """The tree that a search built."""

    nodes: np.ndarray  # NODE (nodes,)
    branches: np.ndarray  # BRANCH (branches,)
    states: np.ndarray  # (rows, S)
    scenarios: np.ndarray  # int32 (rows,)


def used_part(tree: Tree) -> TreeSnapshot:
    """What a search has built, in place: the next one overwrites it."""
    counters = tree.counters[0]
    return TreeSnapshot(
        nodes=tree.nodes[: counters.nodes],
        branches=tree.branches[: counters.branches],
        states=tree.states[: counters.scenarios],
        scenarios=tree.scenarios[: counters.scenarios],
    )


def snapshot(tree: Tree) -> TreeSnapshot:
    """Copy what a search has built, so that the next one does not overwrite it."""
    return TreeSnapshot(*(part.copy() for part in used_part(tree)))


class DespotView:
    """Shows a tree. A node's sums over scenarios become means."""

    def __init__(self, tree: TreeSnapshot, macro_actions: MacroActions) -> None:
        self.tree, self.macro_actions = tree, macro_actions
        self.scenarios = int(tree.nodes[ROOT].scenario_count)

    def root(self) -> Seen:
        return self._node(ROOT)

    def first_number(self, index: int) -> int:
        """The number of the macro-action of a node's first branch."""
        return 0 if index == ROOT else self.macro_actions.first_only

    def branches(self, index: int) -> Iterator[Seen]:
        node = self.tree.nodes[index]
        if node.first_branch != NO_BRANCH:
            weight = node.scenario_count / self.scenarios
            for i in range(node.first_branch, node.first_branch + self._branch_count(index)):
                branch = self.tree.branches[i]
                lower = float(branch.lower / weight) if self._has_bounds(i) else None
                yield Seen(i, lower, float(branch.upper / weight), weight, int(branch.child_count))

    def children(self, index: int) -> Iterator[Seen]:
        branch = self.tree.branches[index]
        count = branch.child_count if self._has_bounds(index) else 0
        return map(self._node, range(branch.first_child, branch.first_child + count))

    def _has_bounds(self, index: int) -> bool:
        """Whether a deadline has let a branch have its bounds."""
        return bool(np.isfinite(self.tree.branches[index].lower))

    def _node(self, index: int) -> Seen:
        node = self.tree.nodes[index]
        weight = node.scenario_count / self.scenarios
        size = 0 if node.first_branch == NO_BRANCH else self._branch_count(index)
        return Seen(index, float(node.lower / weight), float(node.upper / weight), weight, size)

    def _branch_count(self, index: int) -> int:
        return len(self.macro_actions) - self.first_number(index)


@compiled
def clear(tree):
    """Forget all nodes and counts."""
    counters = tree.counters[0]
    counters.nodes = counters.branches = counters.scenarios = 0
    counters.steps = counters.trials = counters.expansions = counters.depth = counters.full = 0
    counters.pending = NO_NODE


@compiled
def new_node(tree, parent, depth):
    """The index of a new node, which has no scenarios yet."""
    counters = tree.counters[0]
    index = counters.nodes
    counters.nodes += 1
    node = tree.nodes[index]
    node.first_scenario = counters.scenarios
    node.scenario_count = 0
    node.first_branch = NO_BRANCH
    node.depth = depth
    node.parent = parent
    return index


@compiled
def add_scenario(tree, node_index, states, row, scenario):
    """Give a node another scenario, with its state from a row of `states`; there must be room after those it has."""
    node = tree.nodes[node_index]
    target = node.first_scenario + node.scenario_count
    copy_numbers(len(states[row]), states[row], tree.states[target])
    tree.scenarios[target] = scenario
    node.scenario_count += 1
    tree.counters[0].scenarios += 1


@compiled
def new_branches(tree, node, count):
    """Give a node room for its branches."""
    counters = tree.counters[0]
    node.first_branch = counters.branches
    counters.branches += count
    counters.expansions += 1


@compiled
def has_room(tree, node, branch_count):
    """Whether a node can be expanded, even if every scenario observes something else."""
    counters = tree.counters[0]
    children = branch_count * node.scenario_count
    return (
        counters.branches + branch_count <= len(tree.branches)
        and counters.nodes + children <= len(tree.nodes)
        and counters.scenarios + children <= len(tree.states)
    )
