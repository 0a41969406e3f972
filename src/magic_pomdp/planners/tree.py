"""The search tree: arrays allocated once per planner and used again for every plan.

Belief nodes and branches alternate. A *node* holds the scenarios that agree with one history of macro-actions and
macro-observations; a *branch* is one macro-action taken there, and its children are the nodes of the observations that
can follow. Values of a node are sums over its scenarios, 1/K each, discounted to the node's own time.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from magic_pomdp.core.compiling import compiled, inlined
from magic_pomdp.core.grouping import observation_cells
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.task import Task
from magic_pomdp.planners.tree_top import Seen

ROOT = 0
NO_PARENT = -1
NO_BRANCH = -1

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
    moved: np.ndarray  # (K, S) scratch: a node's scenarios after a macro-action
    histories: np.ndarray  # uint64 (K,) scratch: what each of them observed
    running: np.ndarray  # bool (K,) scratch: which of them go on
    rollout: np.ndarray  # (K, S) scratch: states in the default policy
    rollout_scenarios: np.ndarray  # int32 (K,) scratch: which scenarios they belong to
    candidate: np.ndarray  # (1, S) scratch: a state on which the default policy tries a macro-action
    observation: np.ndarray  # (O,) scratch
    cells: np.ndarray  # (O,) how wide observations are grouped; (0,) if the task has a key of its own
    random: np.ndarray  # uint64 (1,) scratch: the stream being read


def new_tree(task: Task, scenario_count: int, node_capacity: int, depth: int) -> Tree:
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
        moved=np.empty((scenario_count, size)),
        histories=np.empty(scenario_count, np.uint64),
        running=np.empty(scenario_count, np.bool_),
        rollout=np.empty((scenario_count, size)),
        rollout_scenarios=np.empty(scenario_count, np.int32),
        candidate=np.empty((1, size)),
        observation=np.empty(task.observation_size),
        cells=observation_cells(task),
        random=np.empty(1, np.uint64),
    )


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
                bounds = float(branch.lower / weight), float(branch.upper / weight)
                yield Seen(i, *bounds, weight, int(branch.child_count))

    def children(self, index: int) -> Iterator[Seen]:
        branch = self.tree.branches[index]
        return map(self._node, range(branch.first_child, branch.first_child + branch.child_count))

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


@inlined
def copy_row(source, row, target, target_row):
    """Copy a state from one array of states to another."""
    for i in range(len(target[target_row])):
        target[target_row, i] = source[row, i]


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
    """Give the newest node another scenario, with its state from a row of `states`."""
    counters = tree.counters[0]
    copy_row(states, row, tree.states, counters.scenarios)
    tree.scenarios[counters.scenarios] = scenario
    counters.scenarios += 1
    tree.nodes[node_index].scenario_count += 1


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
