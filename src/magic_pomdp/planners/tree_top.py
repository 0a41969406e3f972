"""The part of a search tree that a person looks at: its first levels, and more of what is likely and promising."""

import heapq
from collections.abc import Iterator
from typing import NamedTuple, Protocol

_ITEMS = 160
"""Most nodes and branches that are kept; those of the root are kept in any case."""
_CHILDREN = 4
"""Most observations of a branch that are kept, the likeliest."""
_NEXT_BEST = 0.6
"""How much less each next best branch is worth looking into."""
_NO_MACRO_ACTION = -1


class Item(NamedTuple):
    """A node, which is a belief, or a branch, which is a macro-action taken there."""

    parent: int
    """The item above it; −1 for the root."""
    macro: int
    """Number of the macro-action in its set, or of the action among those tried; −1 for a node."""
    value: float | None
    """Expected to be earned from here on, discounted to here: a lower bound, or a mean."""
    upper: float | None
    """Upper bound of that, if the planner has bounds."""
    share: float
    """Share of the root's scenarios, or simulations, that come here."""
    size: int
    """Branches of a node, or observations of a branch, in the whole tree."""


class Seen(NamedTuple):
    """A node or a branch as a tree knows it; see Item."""

    row: int
    """Its number in the tree."""
    value: float | None
    upper: float | None
    share: float
    size: int


class TreeView(Protocol):
    """How a planner shows the tree of a search."""

    def root(self) -> Seen:
        """The root node."""

    def first_number(self, node: int) -> int:
        """The number of the macro-action of a node's first branch."""

    def branches(self, node: int) -> Iterator[Seen]:
        """The branches of a node."""

    def children(self, branch: int) -> Iterator[Seen]:
        """The nodes that a branch leads to."""


def top_of_tree(tree: TreeView) -> list[Item]:
    """The top of a tree; parents come before their children."""
    root = tree.root()
    items = [Item(-1, _NO_MACRO_ACTION, *root[1:])]
    waiting = [(-1.0, 0, root.row)]  # importance, item, node
    while waiting and (len(items) < _ITEMS or len(items) == 1):
        importance, place, node = heapq.heappop(waiting)
        branches = list(enumerate(tree.branches(node), start=tree.first_number(node)))
        branches.sort(key=lambda branch: -(branch[1].value or 0.0))
        for rank, (macro, branch) in enumerate(branches):
            items.append(Item(place, macro, *branch[1:]))
            branch_place = len(items) - 1
            children = sorted(tree.children(branch.row), key=lambda child: -child.share)[:_CHILDREN]
            for child in children:
                heapq.heappush(waiting, (importance * _NEXT_BEST ** (rank + 1) * child.share, len(items), child.row))
                items.append(Item(branch_place, _NO_MACRO_ACTION, *child[1:]))
    return items
