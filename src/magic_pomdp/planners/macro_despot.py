"""Macro-DESPOT (Lee, Cai, Hsu 2021), after DESPOT (Somani et al. 2013; Ye et al. 2017).

`plant` draws K scenarios from the belief; a trial then follows the most promising macro-action and the most uncertain
observation down the tree (`explore`), expanding nodes as it meets them, and carries the bounds back up (`backup`).
DESPOT is the same with macro-actions of length 1.
"""

import time
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.compiling import compiled, inlined, kernel
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.randomness import derive, seek, stream_key, uniform
from magic_pomdp.core.settings import Range, setting
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.core.views import borrow
from magic_pomdp.planners.default_policy import (
    GREEDY,
    GUIDED,
    RANDOM,
    Choices,
    first_choice,
    price_at,
    set_bounds,
    simulate,
    split,
)
from magic_pomdp.planners.plan import BUDGET_USED, GAP_CLOSED, TREE_FULL, Budget, Plan
from magic_pomdp.planners.registry import PlannerEntry
from magic_pomdp.planners.search import check_macro_actions, check_situation, spend, turn_to_plan
from magic_pomdp.planners.settings import DEEPEST_SEARCH, PlannerSettings, room_for_nodes
from magic_pomdp.planners.tree import (
    NO_BRANCH,
    NO_PARENT,
    ROOT,
    DespotView,
    TreeSnapshot,
    add_scenario,
    clear,
    has_room,
    new_branches,
    new_node,
    new_tree,
    snapshot,
    used_part,
)

GAP_TOLERANCE = 1e-6
"""A root whose bounds are this close leaves nothing to search."""

_POLICIES = {"guided": GUIDED, "greedy": GREEDY, "random": RANDOM}


@dataclass(frozen=True)
class DespotSettings(PlannerSettings):
    """What can be set about DESPOT, and about every planner that searches as it does."""

    scenarios: int = setting(
        100,
        "K, how many sampled futures all nodes of a search share.",
        short="K",
        at_least=1,
        at_most=1_000_000,
        tuned=Range(5, 500, logarithmic=True),
    )
    search_depth: int = setting(
        60, "D, how many primitive steps to look ahead.", short="D", at_least=1, at_most=DEEPEST_SEARCH
    )
    xi: float = setting(
        0.95,
        "ξ, the share of the root's gap that a trial leaves alone.",
        short="xi",
        above=0.0,
        at_most=1.0,
        tuned=Range(0.5, 1.0),
    )
    default_policy: Literal["guided", "greedy", "random"] | None = setting(
        None,
        "Whose earnings are the search's first lower bounds: guided by the task, greedy in its upper bound, or the "
        "paper's random macro-actions.",
        default_words="guided if the task has a guide, else greedy",
    )
    regularisation: float = setting(
        0.0,
        "λ, what each macro-action that the search adds to its default policy must gain in the mean of all scenarios, "
        "for fewer plans that fit the scenarios' luck alone; a plan's values are net of it.",
        short="lambda",
        at_least=0.0,
    )
    tree_nodes: int = room_for_nodes(500_000)


@dataclass(frozen=True)
class MacroDespotSettings(DespotSettings):
    """What can be set about Macro-DESPOT."""

    macro_length: int = setting(1, "Length of the macro-actions.", short=None, at_least=1, at_most=DEEPEST_SEARCH)

    def length(self, task: Task) -> int:
        return self.macro_length


class Rules(NamedTuple):
    """What a search is told; see DespotSettings."""

    horizon: int  # primitive steps to look ahead
    xi: float  # ξ
    policy: int  # which default policy
    price: float  # λ, at the root's time


class MacroDespot:
    """An anytime online planner. Its memory is allocated once: use one planner for many plans, but not for two at a
    time; a second thread is refused."""

    def __init__(
        self,
        task: Task,
        macro_actions: MacroActions | None = None,
        settings: DespotSettings | None = None,
        budget: Budget | None = None,
    ) -> None:
        """Plan for a task with a macro-action set (default: the task's handcrafted one), settings (what the task
        advises) and a budget (0.1 s)."""
        self.task = task
        chosen = settings or MacroDespotSettings.advised(task)
        self.settings = replace(chosen, default_policy=_policy(task, chosen.default_policy))
        self.budget = budget or Budget(seconds=0.1)
        self.macro_actions = self._check(macro_actions or task.macro_actions(chosen.length(task)))
        self._rules = Rules(
            int(self.settings.search_depth),
            float(self.settings.xi),
            _POLICIES[self.settings.default_policy or ""],
            float(self.settings.regularisation),
        )
        self._tree = new_tree(task, chosen.scenarios, chosen.tree_nodes, chosen.search_depth)
        self._planned: tuple[np.ndarray, Choices, MacroActions] | None = None
        self._turn = turn_to_plan()

    def plan(
        self,
        belief: Belief | np.ndarray,
        context: np.ndarray | None = None,
        *,
        macro_actions: MacroActions | None = None,
        budget: Budget | None = None,
        seed: int | np.uint64 = 0,
        keep_tree: bool = False,
    ) -> Plan:
        """Choose a macro-action for a belief, or for its particles, shape (n, state_size), in a context.

        `macro_actions` and `budget` replace the planner's own for this plan; the same seed and a budget in primitive
        steps give the same plan on every machine. `keep_tree` copies the tree into the plan.
        """
        started = time.perf_counter()
        particles, known = check_situation(self.task, belief, context)
        macro_actions = self.macro_actions if macro_actions is None else self._check(macro_actions)
        lengths = macro_actions.lengths
        discounts = self.task.discount ** lengths.astype(np.float64)
        choices = Choices(macro_actions.actions, lengths, discounts, macro_actions.first_only)
        with self._turn:
            self._planned = None  # should this belief be refused, there is no search to go on with
            plant(self.task, known, choices, self._rules, self._tree, particles, stream_key(seed))
            upper = self._tree.nodes[ROOT].upper
            if not np.isfinite(upper):
                bound = f"The upper bound of {task_name(self.task)}"
                raise ValueError(f"{bound} must be finite, but is {upper} on average for this belief.")
            self._planned = known, choices, macro_actions
            return self._search(budget or self.budget, started, keep_tree)

    def go_on(self, budget: Budget, *, keep_tree: bool = False) -> Plan:
        """Search on where the last plan stopped. The new plan counts the steps of both, and the seconds of this one."""
        started = time.perf_counter()
        with self._turn:
            if self._planned is None:
                raise ValueError("There is no search to go on with: call plan first.")
            if budget.steps is not None:
                budget = Budget(steps=int(self._tree.counters[0].steps) + budget.steps)
            return self._search(budget, started, keep_tree)

    def last_tree(self) -> TreeSnapshot:
        """The search tree of the last plan, in place: the next plan overwrites it."""
        return used_part(self._tree)

    def tree_view(self) -> DespotView:
        """The search tree of the last plan, to be looked at."""
        assert self._planned is not None
        return DespotView(self.last_tree(), self._planned[2])

    def _check(self, macro_actions: MacroActions) -> MacroActions:
        check_macro_actions(self.task, macro_actions)
        scenarios = self.settings.scenarios
        needed = 1 + len(macro_actions) * scenarios  # the root, and a child for each scenario and macro-action
        if needed > self.settings.tree_nodes:
            raise ValueError(
                f"{len(macro_actions)} macro-actions and {scenarios} scenarios need room for at least "
                f"{needed} nodes: raise tree_nodes from {self.settings.tree_nodes}."
            )
        return macro_actions

    def _search(self, budget: Budget, started: float, keep_tree: bool) -> Plan:
        """Extend the tree until so many steps are simulated in it, or so many seconds have passed."""
        assert self._planned is not None
        context, choices, macro_actions = self._planned
        finished = spend(
            budget,
            started,
            self._tree.counters,
            lambda step_limit: extend(self.task, context, choices, self._rules, self._tree, step_limit),
        )
        counters, root = self._tree.counters[0], self._tree.nodes[ROOT]
        branches = self._tree.branches[root.first_branch : root.first_branch + len(macro_actions)]
        values = branches["lower"].copy()
        choice, value = int(values.argmax()), float(values.max())
        if root.default_value > value:
            choice, value = int(root.default_macro), float(root.default_value)
        return Plan(
            macro_action=macro_actions.actions[choice, : macro_actions.lengths[choice]].copy(),
            choice=choice,
            value=value,
            lower=float(root.lower),
            upper=float(root.upper),
            trials=int(counters.trials),
            nodes=int(counters.expansions),
            depth=int(counters.depth),
            steps=int(counters.steps),
            seconds=time.perf_counter() - started,
            stopped_by=TREE_FULL if counters.full else GAP_CLOSED if finished else BUDGET_USED,
            values=values,
            uppers=branches["upper"].copy(),
            macro_actions=macro_actions,
            tree=snapshot(self._tree) if keep_tree else None,
        )


def _policy(task: Task, wanted: Literal["guided", "greedy", "random"] | None) -> Literal["guided", "greedy", "random"]:
    """The default policy that is wanted, or the one that suits the task."""
    guides = type(task).guide is not Task.guide
    if wanted == "guided" and not guides:
        raise ValueError(f"{task_name(task)} has no guide: choose the default policy greedy or random.")
    return wanted or ("guided" if guides else "greedy")


def primitive_despot(task: Task, settings: DespotSettings, budget: Budget) -> MacroDespot:
    """DESPOT: Macro-DESPOT with the primitive actions."""
    return MacroDespot(task, MacroActions.repeat(task.actions(), 1), settings, budget)


def handcrafted_macro_despot(task: Task, settings: MacroDespotSettings, budget: Budget) -> MacroDespot:
    """Macro-DESPOT with the task's handcrafted macro-actions."""
    return MacroDespot(task, None, settings, budget)


MACRO_DESPOT = PlannerEntry("macro-despot", "Macro-DESPOT", MacroDespotSettings, handcrafted_macro_despot)
DESPOT = PlannerEntry("despot", "DESPOT", DespotSettings, primitive_despot)


# ------------------------------------------------------------------------------------------------------ the algorithm


@kernel
def plant(task, context, choices, rules, tree, particles, seed):
    """A new tree: its root holds K scenarios, one from each of K equal slices of the belief's particles."""
    context, choices, tree, particles = borrow((context, choices, tree, particles), task)
    clear(tree)
    new_node(tree, NO_PARENT, 0)
    count = len(tree.keys)
    for k in range(count):
        tree.keys[k] = derive(seed, k)
        seek(tree.random, derive(seed, count + k), 0)
        slot = int((k + uniform(tree.random)) / count * len(particles))
        add_scenario(tree, ROOT, particles, min(slot, len(particles) - 1), k)
    set_bounds(task, context, choices, rules, tree, tree.nodes[ROOT])


@kernel
def extend(task, context, choices, rules, tree, step_limit):
    """Run trials until so many primitive steps are simulated. True if it ended because there is no more to do."""
    context, choices, tree = borrow((context, choices, tree), task)
    counters, root = tree.counters[0], tree.nodes[ROOT]
    while counters.trials == 0 or counters.steps < step_limit:
        if counters.trials > 0 and root.upper - root.lower <= GAP_TOLERANCE:
            return True
        expansions = counters.expansions
        length = explore(task, context, choices, rules, tree, step_limit)
        backup(task, choices, rules, tree, length)
        counters.trials += 1
        if counters.full or counters.expansions == expansions:
            return True
    return False


@compiled
def explore(task, context, choices, rules, tree, step_limit):
    """One trial: down from the root as long as there is excess uncertainty. The number of nodes on its path."""
    counters = tree.counters[0]
    index, length = ROOT, 0
    while index >= 0 and tree.nodes[index].depth < rules.horizon:
        node = tree.nodes[index]
        counters.depth = max(counters.depth, node.depth)
        if node.first_branch == NO_BRANCH:
            if length > 0 and counters.steps >= step_limit:
                break
            if not has_room(tree, node, branch_count(choices, node)):
                counters.full = 1
                break
            expand(task, context, choices, rules, tree, index)
        branch = most_promising_branch(choices, tree, node)
        tree.path_nodes[length] = index
        tree.path_branches[length] = branch
        length += 1
        index = most_uncertain_child(task, rules, tree, tree.branches[branch])
    return length


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
def expand(task, context, choices, rules, tree, node_index):
    """Give a node a branch for every macro-action that it can choose, and these a child for every macro-observation."""
    node, counters = tree.nodes[node_index], tree.counters[0]
    new_branches(tree, node, branch_count(choices, node))
    first = first_choice(choices, node.depth)
    for macro in range(first, len(choices.lengths)):
        branch_index = node.first_branch + macro - first
        branch = tree.branches[branch_index]
        branch.reward = simulate(task, context, choices, macro, tree, node)
        branch.first_child = counters.nodes
        split(tree, node, branch_index, node.depth + choices.lengths[macro])
        branch.child_count = counters.nodes - branch.first_child
        for child in range(branch.first_child, counters.nodes):
            set_bounds(task, context, choices, rules, tree, tree.nodes[child])
        update_branch(task, choices, rules, macro, tree, node, branch)


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


@compiled
def backup(task, choices, rules, tree, length):
    """Carry the bounds from the end of a trial's path to the root. Lower bounds only rise, upper bounds only fall."""
    for position in range(length - 1, -1, -1):
        node, taken = tree.nodes[tree.path_nodes[position]], tree.path_branches[position]
        macro = first_choice(choices, node.depth) + taken - node.first_branch
        update_branch(task, choices, rules, macro, tree, node, tree.branches[taken])
        lower = upper = node.default_value
        for index in range(node.first_branch, node.first_branch + branch_count(choices, node)):
            lower = max(lower, tree.branches[index].lower)
            upper = max(upper, tree.branches[index].upper)
        node.lower = max(node.lower, lower)
        node.upper = max(node.lower, min(node.upper, upper))
