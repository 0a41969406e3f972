"""The part of a search tree that a person looks at: its first levels, and more of what is likely and promising."""

import heapq
from collections.abc import Iterator
from typing import NamedTuple

from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.planners.pomcpow_tree import PomcpowSnapshot
from magic_pomdp.planners.tree import NO_BRANCH, ROOT, TreeSnapshot

ITEMS = 160
"""Most nodes and branches that are kept; those of the root are kept in any case."""
CHILDREN = 4
"""Most observations of a branch that are kept, the likeliest."""
FADING = 0.6
"""How much less each next best branch is worth looking into."""

NODE = -1
"""The macro-action of an item that is a node, not a branch."""


class Item(NamedTuple):
    """A node, which is a belief, or a branch, which is a macro-action taken there."""

    parent: int
    """The item above it; −1 for the root."""
    macro: int
    """Number of the macro-action in its set, or of the action among those tried; NODE for a node."""
    value: float | None
    """Expected to be earned from here on, discounted to here: the lower bound, or POMCPOW's mean."""
    upper: float | None
    """Upper bound of that, if the planner has bounds."""
    share: float
    """Share of the root's scenarios, or simulations, that come here."""
    size: int
    """Branches of a node, or observations of a branch, in the whole tree."""


class _Found(NamedTuple):
    """A node or a branch as a tree knows it."""

    row: int
    value: float | None
    upper: float | None
    share: float
    size: int


def top_of_tree(tree: TreeSnapshot | PomcpowSnapshot, macro_actions: MacroActions) -> list[Item]:
    """The top of a tree of such a set; parents come before their children."""
    reader = _Despot(tree, macro_actions) if isinstance(tree, TreeSnapshot) else _Pomcpow(tree)
    root = reader.root()
    items = [Item(-1, NODE, *root[1:])]
    waiting = [(-1.0, 0, ROOT)]  # importance, item, node
    while waiting and (len(items) < ITEMS or len(items) == 1):
        importance, place, node = heapq.heappop(waiting)
        branches = list(enumerate(reader.branches(node), start=reader.first(node)))
        branches.sort(key=lambda branch: -(branch[1].value or 0.0))
        for rank, (macro, branch) in enumerate(branches):
            items.append(Item(place, macro, *branch[1:]))
            branch_place = len(items) - 1
            children = sorted(reader.children(branch.row), key=lambda child: -child.share)[:CHILDREN]
            for child in children:
                heapq.heappush(waiting, (importance * FADING ** (rank + 1) * child.share, len(items), child.row))
                items.append(Item(branch_place, NODE, *child[1:]))
    return items


class _Despot:
    """Reads Macro-DESPOT's tree. A node's sums over scenarios become means."""

    def __init__(self, tree: TreeSnapshot, macro_actions: MacroActions) -> None:
        self.tree, self.macro_actions = tree, macro_actions
        self.scenarios = int(tree.nodes[ROOT].scenario_count)

    def root(self) -> _Found:
        return self._node(ROOT)

    def first(self, index: int) -> int:
        """The number of the macro-action of a node's first branch."""
        return 0 if index == ROOT else self.macro_actions.first_only

    def branches(self, index: int) -> Iterator[_Found]:
        node = self.tree.nodes[index]
        if node.first_branch != NO_BRANCH:
            weight = node.scenario_count / self.scenarios
            for i in range(node.first_branch, node.first_branch + self._branch_count(index)):
                branch = self.tree.branches[i]
                bounds = float(branch.lower / weight), float(branch.upper / weight)
                yield _Found(i, *bounds, weight, int(branch.child_count))

    def children(self, index: int) -> Iterator[_Found]:
        branch = self.tree.branches[index]
        return map(self._node, range(branch.first_child, branch.first_child + branch.child_count))

    def _node(self, index: int) -> _Found:
        node = self.tree.nodes[index]
        weight = node.scenario_count / self.scenarios
        size = 0 if node.first_branch == NO_BRANCH else self._branch_count(index)
        return _Found(index, float(node.lower / weight), float(node.upper / weight), weight, size)

    def _branch_count(self, index: int) -> int:
        return len(self.macro_actions) - self.first(index)


class _Pomcpow:
    """Reads POMCPOW's tree."""

    def __init__(self, tree: PomcpowSnapshot) -> None:
        self.tree = tree
        self.simulations = max(1, int(tree.nodes[ROOT].visits))

    def first(self, index: int) -> int:
        """The number of the action of a node's first branch."""
        return 0

    def root(self) -> _Found:
        return self._node(ROOT)

    def branches(self, index: int) -> Iterator[_Found]:
        node = self.tree.nodes[index]
        for i in range(node.first_branch, node.first_branch + node.branch_count):
            branch = self.tree.branches[i]
            share = branch.visits / self.simulations
            yield _Found(i, float(self.tree.scores[i].value), None, share, int(branch.child_count))

    def children(self, index: int) -> Iterator[_Found]:
        branch = self.tree.branches[index]
        for i in range(branch.first_child, branch.first_child + branch.child_count):
            yield self._node(int(self.tree.children[i].node))

    def _node(self, index: int) -> _Found:
        node = self.tree.nodes[index]
        first, count = int(node.first_branch), int(node.branch_count)
        value = float(self.tree.scores["value"][first : first + count].max()) if count else None
        return _Found(index, value, None, node.visits / self.simulations, count)
