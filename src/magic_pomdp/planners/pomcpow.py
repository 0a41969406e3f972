"""POMCPOW (Sunberg & Kochenderfer 2018): Monte Carlo tree search for continuous states, actions and observations.

A simulation draws a state from the belief and walks down the tree. At each node it tries a new action or takes the
most promising one (`widen_actions`), lets a new observation in or takes one that was seen before
(`widen_observations`), adds the state it has come to, weighted by how well it explains the observation, to those
gathered there, and goes on with one of them. From a new node a rollout estimates what is to come; means are then
carried back up (`backup`).

The paper leaves open what to do at an episode's end: it is seen, so the last state counts in no collection.
"""

import math
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.clock import is_late
from magic_pomdp.core.compiling import inlined, own_copy, search_kernel
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import integer, seek, stream_key, uniform
from magic_pomdp.core.settings import Range, setting
from magic_pomdp.core.task import Task
from magic_pomdp.core.views import borrow, copy_numbers
from magic_pomdp.planners.plan import BUDGET_USED, TREE_FULL, Budget, Plan
from magic_pomdp.planners.pomcpow_growth import (
    NO_ROOM,
    UNKNOWN,
    add_branch,
    add_child,
    add_state,
    clear,
    drawn_action,
    expect_child,
    expect_growth,
    expect_node,
    expect_state,
    find_child,
    find_state,
    is_tried,
    observation_of,
    present_observation,
    present_state,
)
from magic_pomdp.planners.pomcpow_tree import ROOT, PomcpowSnapshot, PomcpowView, new_tree, snapshot, used_part
from magic_pomdp.planners.registry import PlannerEntry
from magic_pomdp.planners.search import check_macro_actions, check_situation, deadline_of, spend, turn_to_plan
from magic_pomdp.planners.settings import DEEPEST_SEARCH, PlannerSettings, room_for_nodes

LOOKS = 8
"""Simulations between two looks at the clock. To look takes a good part of the time of a short one."""
NEVER = 2**31 - 1
"""More visits than anything has."""


@dataclass(frozen=True)
class PomcpowSettings(PlannerSettings):
    """What can be set about POMCPOW."""

    exploration: float = setting(
        50.0,
        "c of the upper confidence bounds, how much an action's rarity counts against its value: about the difference "
        "between a good and a bad return.",
        short="c",
        at_least=0.0,
        tuned=Range(1.0, 200.0, logarithmic=True),
    )
    action_widening: float = setting(
        20.0,
        "k_a: a node that was visited N times has tried up to k_a N^α_a actions.",
        short="ka",
        at_least=0.0,
        tuned=Range(1.0, 50.0, logarithmic=True),
    )
    action_exponent: float = setting(
        0.1, "α_a, from 0 to 1.", short="alpha-a", at_least=0.0, at_most=1.0, tuned=Range(0.0, 0.3)
    )
    observation_widening: float = setting(
        5.0,
        "k_o: an action that was taken N times has been followed by up to k_o N^α_o observations.",
        short="ko",
        at_least=0.0,
        tuned=Range(1.0, 20.0, logarithmic=True),
    )
    observation_exponent: float = setting(
        0.1, "α_o, from 0 to 1.", short="alpha-o", at_least=0.0, at_most=1.0, tuned=Range(0.0, 0.3)
    )
    guided_actions: float = setting(
        0.0,
        "The share of new actions that are the task's rollout action in the state at hand, not a random one. 0 is the "
        "published algorithm.",
        short="guided",
        at_least=0.0,
        at_most=1.0,
    )
    search_depth: int = setting(
        60, "How many primitive steps to look ahead, rollouts included.", short="D", at_least=1, at_most=DEEPEST_SEARCH
    )
    tree_nodes: int = room_for_nodes(1_000_000)


class Rules(NamedTuple):
    """What a search is told; see PomcpowSettings."""

    horizon: int
    exploration: float
    action_widening: float
    action_exponent: float
    observation_widening: float
    observation_exponent: float
    guided_actions: float
    conditions: bool  # whether the task has a `condition` of its own


class Pomcpow:
    """An anytime online planner that draws its actions from the task's `draw_action`. Its memory is allocated once: use
    one planner for many plans, but not for two at a time; a second thread is refused."""

    def __init__(self, task: Task, settings: PomcpowSettings | None = None, budget: Budget | None = None) -> None:
        """Plan for a task with settings (what the task advises) and a budget (0.1 s)."""
        self.task = task
        self.settings = settings or PomcpowSettings.advised(task)
        self.budget = budget or Budget(seconds=0.1)
        primitive = check_macro_actions(task, MacroActions.repeat(task.actions(), 1))
        self._actions = np.ascontiguousarray(primitive.actions[:, 0])
        self._own_task = own_copy(task)
        self._rules = self._make_rules()
        self._tree = new_tree(task, int(self.settings.tree_nodes), self._rules.horizon)
        self._turn = turn_to_plan()

    def plan(
        self,
        belief: Belief | np.ndarray,
        context: np.ndarray | None = None,
        *,
        budget: Budget | None = None,
        seed: int | np.uint64 = 0,
        keep_tree: bool = False,
    ) -> Plan:
        """Choose an action for a belief, or for its particles, shape (n, state_size), in a context.

        `budget` replaces the planner's own for this plan; the same seed and a budget in primitive steps give the same
        plan on every machine. `keep_tree` copies the tree into the plan.
        """
        started = time.perf_counter()
        particles, known = check_situation(self.task, belief, context)
        budget = budget or self.budget
        search = (self._own_task, known, self._actions, self._rules, self._tree, particles)
        deadline = deadline_of(budget, started)
        with self._turn:
            clear(self._tree)
            seek(self._tree.random, stream_key(seed), 0)
            spend(budget, started, self._tree.counters, lambda step_limit: extend(*search, step_limit, deadline))
            return self._result(started, keep_tree)

    def last_tree(self) -> PomcpowSnapshot:
        """The search tree of the last plan, in place: the next plan overwrites it."""
        return used_part(self._tree)

    def tree_view(self) -> PomcpowView:
        """The search tree of the last plan, to be looked at."""
        return PomcpowView(self.last_tree())

    def _make_rules(self) -> Rules:
        """The settings as kernels take them: always of the same kinds, so that they are compiled once."""
        others = ("horizon", "conditions")
        numbers = {name: float(getattr(self.settings, name)) for name in Rules._fields if name not in others}
        conditions = type(self.task).condition is not Task.condition
        return Rules(horizon=int(self.settings.search_depth), **numbers, conditions=conditions)

    def _result(self, started: float, keep_tree: bool) -> Plan:
        tree, counters, root = self._tree, self._tree.counters[0], self._tree.nodes[ROOT]
        branches = slice(root.first_branch, root.first_branch + root.branch_count)
        values = tree.scores["value"][branches].copy()
        choice = int(values.argmax())
        return Plan(
            macro_action=tree.actions[root.first_branch + choice][None].copy(),
            choice=choice,
            value=float(values[choice]),
            lower=None,
            upper=None,
            trials=int(counters.trials),
            nodes=int(counters.nodes),
            depth=int(counters.depth),
            steps=int(counters.steps),
            seconds=time.perf_counter() - started,
            stopped_by=TREE_FULL if counters.full else BUDGET_USED,
            values=values,
            macro_actions=MacroActions.repeat(tree.actions[branches], 1),
            tree=snapshot(tree) if keep_tree else None,
        )


POMCPOW = PlannerEntry("pomcpow", "POMCPOW", PomcpowSettings, Pomcpow)


# ------------------------------------------------------------------------------------------------------ the algorithm


@search_kernel
def extend(task, context, actions, rules, tree, particles, step_limit, deadline):
    """Run simulations until so many primitive steps are simulated, or a deadline has come. True if it ended because the
    tree is full."""
    context, actions, tree, particles = borrow((context, actions, tree, particles), task)
    counters, state = tree.counters[0], present_state(task, tree)
    while counters.trials == 0 or counters.steps < step_limit:
        if counters.trials % LOOKS == LOOKS - 1 and is_late(deadline):
            break
        copy_numbers(len(state), particles[integer(tree.random, len(particles))], state)
        expect_growth(tree)
        simulate(task, context, actions, rules, tree)
        counters.trials += 1
        if counters.full:
            return True
    return False


@inlined
def simulate(task, context, actions, rules, tree):
    """One simulation from the root, beginning with the present state."""
    state, observation = present_state(task, tree), present_observation(task, tree)
    index, length, rest = ROOT, 0, 0.0
    while length < rules.horizon:
        node = tree.nodes[index]
        taken = widen_actions(task, context, actions, rules, tree, node)
        if taken == NO_ROOM:
            break
        branch, action = tree.branches[taken], tree.actions[taken]
        expect_child(tree, branch)
        if rules.conditions:
            copy_numbers(len(state), state, borrow(tree.present[0].previous, task))
        reward, outcome = task.step(context, state, action, tree.random, observation)
        tree.path_nodes[length] = index
        tree.path_branches[length] = taken
        tree.path_rewards[length] = reward
        length += 1
        if outcome != Outcome.RUNNING:
            break
        index = widen_observations(task, rules, tree, branch)
        if index == NO_ROOM:
            break
        child = tree.nodes[index]
        expect_node(tree, child)
        is_new = child.state_count == 0
        if rules.conditions:
            value, reward = step_again(task, context, action, tree, index, reward)
        else:
            value = task.log_likelihood(context, state, action, observation_of(task, tree, index))
        if is_new:
            add_state(task, tree, child, reward, value)
            rest = rollout(task, context, actions, tree, rules.horizon - length)
            break
        share = uniform(tree.random)
        expect_state(tree, child, share)
        add_state(task, tree, child, reward, value)
        row = find_state(tree, child, share)
        copy_numbers(len(state), tree.states[row], state)
        tree.path_rewards[length - 1] = tree.states[row, len(state)]
    else:
        rest = task.value_beyond(context, state)
    tree.counters[0].steps += length
    tree.counters[0].depth = max(tree.counters[0].depth, length)
    backup(task, tree, length, rest)


@inlined
def step_again(task, context, action, tree, index, reward):
    """Take the present step again, as a node's observation tells: ln of the state's weight, and the reward.

    A step that ends the episode, or does not explain the observation, weighs nothing. A new node, which needs a state
    to go on from, keeps the one that the observation was made in, and its reward.
    """
    state, imagined = present_state(task, tree), present_observation(task, tree)
    observation = observation_of(task, tree, index)
    previous, moved = borrow(tree.present[0].previous, task), borrow(tree.present[0].moved, task)
    copy_numbers(len(state), state, moved)
    copy_numbers(len(state), previous, state)
    value, new_reward, outcome = task.condition(context, state, action, tree.random, observation, imagined)
    tree.counters[0].steps += 1
    if outcome == Outcome.RUNNING and value > -math.inf:
        return value, new_reward
    if tree.nodes[index].state_count > 0:
        return -math.inf, new_reward
    copy_numbers(len(state), moved, state)
    return task.log_likelihood(context, state, action, observation), reward


@inlined
def widen_actions(task, context, actions, rules, tree, node):
    """The branch to take: of a new action if the node was visited often enough, else the most promising one."""
    if node.visits >= node.next_action_at:
        action = drawn_action(task, tree)
        if rules.guided_actions > 0.0 and uniform(tree.random) < rules.guided_actions:
            task.rollout_action(context, present_state(task, tree), actions, tree.random, action)
        else:
            task.draw_action(actions, tree.random, action)
        if not is_tried(task, tree, node):
            index = add_branch(task, tree, node)
            node.next_action_at = visits_needed(node.branch_count, rules.action_widening, rules.action_exponent)
            return index
    return most_promising_branch(rules, tree, node)


@inlined
def most_promising_branch(rules, tree, node):
    """The branch with the largest upper confidence bound; the first of equals."""
    exploration = rules.exploration * math.sqrt(math.log(node.visits))
    best, best_bound = node.first_branch, -math.inf
    for index in range(node.first_branch, node.first_branch + node.branch_count):
        score = tree.scores[index]
        bound = score.value + exploration * score.spread
        if bound > best_bound:
            best, best_bound = index, bound
    return best


@inlined
def visits_needed(count, widening, exponent):
    """The number N of visits from which on count ≤ widening · N^exponent."""
    if count <= widening:
        return 0
    if widening == 0.0 or exponent == 0.0:
        return NEVER
    return math.ceil(min(NEVER, (count / widening) ** (1.0 / exponent)))


@inlined
def widen_observations(task, rules, tree, branch):
    """The node that a simulation comes to: a new one of the present observation, if that is new and the action was
    taken often enough for another; else that of a known observation, drawn by how often it was generated.

    It is drawn even if the present one is known: the states that generated an observation are already spread as it
    tells, so to weigh them by it as well would count it twice.
    """
    if branch.visits >= branch.next_child_at:
        index = find_child(task, tree, branch)
        is_new = index == UNKNOWN
        if is_new:
            index = add_child(task, tree, branch)
            if index == NO_ROOM:
                return NO_ROOM
            count = branch.child_count
            branch.next_child_at = visits_needed(count, rules.observation_widening, rules.observation_exponent)
        tree.children[index].generated += 1
        branch.generated += 1
        if is_new:
            return tree.children[index].node
    remaining, index = integer(tree.random, branch.generated), branch.first_child
    while remaining >= tree.children[index].generated:
        remaining -= tree.children[index].generated
        index += 1
    return tree.children[index].node


@inlined
def rollout(task, context, actions, tree, steps):
    """What the task's rollout actions earn from the present state in so many steps, discounted to now."""
    state, action, unseen = present_state(task, tree), drawn_action(task, tree), present_observation(task, tree)
    total, discount, taken = 0.0, 1.0, 0
    while taken < steps:
        task.rollout_action(context, state, actions, tree.random, action)
        reward, outcome = task.step_unobserved(context, state, action, tree.random, unseen)
        total += discount * reward
        discount *= task.discount
        taken += 1
        if outcome != Outcome.RUNNING:
            break
    else:
        total += discount * task.value_beyond(context, state)
    tree.counters[0].steps += taken
    return total


@inlined
def backup(task, tree, length, rest):
    """Carry what a simulation earned, with the rest that it expects at its end, from there to the root."""
    total = rest
    for position in range(length - 1, -1, -1):
        taken = tree.path_branches[position]
        branch, score = tree.branches[taken], tree.scores[taken]
        total = tree.path_rewards[position] + task.discount * total
        tree.nodes[tree.path_nodes[position]].visits += 1
        branch.visits += 1
        score.value += (total - score.value) / branch.visits
        score.spread = 1.0 / math.sqrt(branch.visits)
