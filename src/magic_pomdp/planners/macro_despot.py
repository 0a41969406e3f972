"""Macro-DESPOT (Lee, Cai, Hsu 2021), after DESPOT (Somani et al. 2013; Ye et al. 2017).

`plant` draws K scenarios from the belief; a trial then follows the most promising macro-action and the most uncertain
observation down the tree (`explore`), expanding nodes as it meets them, and carries the bounds back up (`backup`).
DESPOT is the same with macro-actions of length 1.
"""

import math
import time
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.compiling import compiled, inlined, kernel
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.randomness import derive, seek, stream_key, uniform
from magic_pomdp.core.task import RUNNING, Task
from magic_pomdp.core.views import borrow
from magic_pomdp.planners.default_policy import (
    GREEDY,
    GUIDED,
    RANDOM,
    Choices,
    Rules,
    blind_default,
    first_choice,
    greedy_default,
    run_macro_action,
)
from magic_pomdp.planners.plan import BUDGET_USED, GAP_CLOSED, TREE_FULL, Budget, Plan
from magic_pomdp.planners.search import check_macro_actions, check_situation, spend
from magic_pomdp.planners.tree import (
    NO_BRANCH,
    NO_PARENT,
    ROOT,
    TreeSnapshot,
    add_scenario,
    clear,
    copy_row,
    has_room,
    new_branches,
    new_node,
    new_tree,
    snapshot,
    used_part,
)

GAP_TOLERANCE = 1e-6
"""A root whose bounds are this close leaves nothing to search."""

DefaultPolicy = Literal["guided", "greedy", "random"]
POLICIES = {"guided": GUIDED, "greedy": GREEDY, "random": RANDOM}


@dataclass(frozen=True)
class DespotSettings:
    """Parameters of Macro-DESPOT and DESPOT."""

    scenarios: int | None = None
    """K, how many sampled futures all nodes share (default: the task's own number)."""
    search_depth: int | None = None
    """D, how many primitive steps to look ahead (default: the task's own number)."""
    xi: float = 0.95
    """ξ, the share of the root's gap that a trial leaves alone."""
    default_policy: DefaultPolicy | None = None
    """Whose earnings are the lower bounds: guided by the task, greedy in its upper bound, or the paper's random
    macro-actions (default: guided if the task has a guide, else greedy)."""
    regularisation: float | None = None
    """λ, what each macro-action that the search adds to the default policy must gain in the mean of all scenarios, for
    fewer plans that fit the scenarios' luck alone; a plan's values are net of it (default: the task's own number)."""
    tree_nodes: int = 500_000
    """Room for belief nodes; a search that fills it ends early and says so."""

    def __post_init__(self) -> None:
        for name in ("scenarios", "search_depth", "tree_nodes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"The setting {name} must be at least 1, not {value}.")
        if not 0.0 < self.xi <= 1.0:
            raise ValueError(f"The setting xi must lie in (0, 1], not at {self.xi}.")
        if self.regularisation is not None and not 0.0 <= self.regularisation < math.inf:
            raise ValueError(f"The setting regularisation must be a number of at least 0, not {self.regularisation}.")
        if self.default_policy not in (None, *get_args(DefaultPolicy)):
            raise ValueError(f"There is no default policy {self.default_policy!r}: choose guided, greedy or random.")

    def complete(self, task: Task) -> "DespotSettings":
        """These settings, with the default policy and λ that suit the task where they leave them open."""
        guides = type(task).guide is not Task.guide
        if self.default_policy == "guided" and not guides:
            raise ValueError(f"{task.name} has no guide: choose the default policy greedy or random.")
        price = task.regularisation if self.regularisation is None else self.regularisation
        policy = self.default_policy or ("guided" if guides else "greedy")
        return replace(self, default_policy=policy, regularisation=price)


class MacroDespot:
    """An anytime online planner. Its memory is allocated once: use one planner for many plans, but not for two at a
    time."""

    def __init__(
        self,
        task: Task,
        macro_actions: MacroActions | None = None,
        settings: DespotSettings | None = None,
        budget: Budget | None = None,
    ) -> None:
        """Plan for a task with a macro-action set (default: the task's handcrafted one) and a budget (0.1 s)."""
        self.task = task
        self.settings = (settings or DespotSettings()).complete(task)
        self.budget = budget or Budget(seconds=0.1)
        self.scenarios = self.settings.scenarios or task.scenarios
        self.macro_actions = self._check(macro_actions or task.macro_actions(task.macro_length))
        depth = self.settings.search_depth or task.search_depth
        policy, price = self.settings.default_policy, self.settings.regularisation
        assert policy is not None
        assert price is not None
        self._rules = Rules(int(depth), float(self.settings.xi), POLICIES[policy], float(price))
        self._tree = new_tree(task, self.scenarios, self.settings.tree_nodes, depth)
        self._planned: tuple[np.ndarray, Choices, MacroActions] | None = None

    def plan(
        self,
        belief: Belief | np.ndarray,
        context: np.ndarray,
        *,
        macro_actions: MacroActions | None = None,
        budget: Budget | None = None,
        seed: int | np.uint64 = 0,
        keep_tree: bool = False,
    ) -> Plan:
        """Choose a macro-action for a belief (or its particles, shape (n, state_size)) in a context.

        `macro_actions` and `budget` replace the planner's own for this plan; the same seed and a budget in primitive
        steps give the same plan on every machine. `keep_tree` copies the tree into the plan.
        """
        started = time.perf_counter()
        particles, context = check_situation(self.task, belief, context)
        macro_actions = self.macro_actions if macro_actions is None else self._check(macro_actions)
        lengths = macro_actions.lengths
        fades = self.task.discount ** lengths.astype(np.float64)
        choices = Choices(macro_actions.actions, lengths, fades, macro_actions.first_only)
        self._planned = None  # should this belief be refused, there is no search to go on with
        plant(self.task, context, choices, self._rules, self._tree, particles, stream_key(seed))
        upper = self._tree.nodes[ROOT].upper
        if not np.isfinite(upper):
            raise ValueError(
                f"The upper bound of {self.task.name} must be finite, but is {upper} on average for this belief."
            )
        self._planned = context, choices, macro_actions
        return self._search(budget or self.budget, started, keep_tree)

    def go_on(self, budget: Budget, *, keep_tree: bool = False) -> Plan:
        """Search on where the last plan stopped. The new plan counts the steps of both, and the seconds of this one."""
        started = time.perf_counter()
        if self._planned is None:
            raise ValueError("There is no search to go on with: call plan first.")
        if budget.steps is not None:
            budget = Budget(steps=int(self._tree.counters[0].steps) + budget.steps)
        return self._search(budget, started, keep_tree)

    def last_tree(self) -> TreeSnapshot:
        """The search tree of the last plan, in place: the next plan overwrites it."""
        return used_part(self._tree)

    def _check(self, macro_actions: MacroActions) -> MacroActions:
        check_macro_actions(self.task, macro_actions)
        needed = 1 + len(macro_actions) * self.scenarios  # the root, and a child for each scenario and macro-action
        if needed > self.settings.tree_nodes:
            raise ValueError(
                f"{len(macro_actions)} macro-actions and {self.scenarios} scenarios need room for at least "
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


# ------------------------------------------------------------------------------------------------------ the algorithm


@kernel
def plant(task, context, choices, rules, tree, particles, seed):
    """A new tree: its root holds K scenarios, one from each of K equal slices of the belief's particles."""
    context, choices, tree, particles = borrow(context), borrow(choices), borrow(tree), borrow(particles)
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
    context, choices, tree = borrow(context), borrow(choices), borrow(tree)
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
def simulate(task, context, choices, macro, tree, node):
    """Run a macro-action on all scenarios of a node, into the scratch arrays. What they earn, 1/K each."""
    total, taken = 0.0, 0
    for i in range(node.scenario_count):
        row = node.first_scenario + i
        copy_row(tree.states, row, tree.moved, i)
        state, key = tree.moved[i], tree.keys[tree.scenarios[row]]
        reward, history, outcome, steps = run_macro_action(task, context, choices, macro, state, key, node.depth, tree)
        tree.histories[i] = history
        tree.running[i] = outcome == RUNNING
        total += reward
        taken += steps
    tree.counters[0].steps += taken
    return total / len(tree.keys)


@compiled
def split(tree, node, branch_index, depth):
    """Make a child for every macro-observation among the simulated scenarios that go on."""
    for i in range(node.scenario_count):
        if tree.running[i]:
            child = new_node(tree, branch_index, depth)
            for j in range(i, node.scenario_count):
                if tree.running[j] and tree.histories[j] == tree.histories[i]:
                    tree.running[j] = False
                    add_scenario(tree, child, tree.moved, j, tree.scenarios[node.first_scenario + j])


@compiled
def set_bounds(task, context, choices, rules, tree, node):
    """First bounds of a new node: what a default policy earns, and the task's upper bound. Beyond the horizon there is
    nothing to search."""
    if rules.policy == GREEDY:
        node.default_value, node.default_macro = greedy_default(task, context, choices, rules, tree, node)
    else:
        node.default_value, node.default_macro = blind_default(task, context, choices, rules, tree, node)
    node.lower = node.upper = node.default_value
    if node.depth < rules.horizon:
        upper = 0.0
        steps = rules.horizon - node.depth + len(choices.actions[0]) - 1  # the last macro-action may run beyond
        for row in range(node.first_scenario, node.first_scenario + node.scenario_count):
            upper += task.bound_within(context, tree.states[row], steps)
        node.upper = max(node.lower, upper / len(tree.keys) - price_at(task, rules, node))


@inlined
def price_at(task, rules, node):
    """λ at a node's time: what the search must gain there by a macro-action of its own."""
    return rules.price / task.discount**node.depth if rules.price > 0.0 else 0.0


@compiled
def update_branch(task, choices, rules, macro, tree, node, branch):
    """A branch is worth its reward less its price and, discounted by the macro-action's own length, its children."""
    lower = upper = 0.0
    for child in range(branch.first_child, branch.first_child + branch.child_count):
        lower += tree.nodes[child].lower
        upper += tree.nodes[child].upper
    earned = branch.reward - price_at(task, rules, node)
    branch.lower = earned + choices.fades[macro] * lower
    branch.upper = earned + choices.fades[macro] * upper


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
