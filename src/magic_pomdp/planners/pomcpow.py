"""POMCPOW: what can be set, and the planner; the algorithm is in `pomcpow_simulation.py`."""

import time
from dataclasses import dataclass

import numpy as np

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.compiling import own_copy
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.randomness import seek, stream_key
from magic_pomdp.core.settings import Range, setting
from magic_pomdp.core.task import Task
from magic_pomdp.planners.plan import BUDGET_USED, TREE_FULL, Budget, Plan, budget_or
from magic_pomdp.planners.pomcpow_growth import clear
from magic_pomdp.planners.pomcpow_simulation import Rules, extend
from magic_pomdp.planners.pomcpow_tree import ROOT, PomcpowSnapshot, PomcpowView, new_tree, snapshot, used_part
from magic_pomdp.planners.registry import PlannerEntry
from magic_pomdp.planners.search import (
    Punctuality,
    check_macro_actions,
    check_situation,
    deadline_of,
    plain,
    spend,
    turn_to_plan,
)
from magic_pomdp.planners.settings import DEEPEST_SEARCH, PlannerSettings, room_for_nodes


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
    popularity: float = setting(
        0.0,
        "Which action is chosen in the end: the one of the highest value among those that were taken at least this "
        "share of the times that the most popular one was. With 0 that is the highest value of all, with 1 the most "
        "popular action, as in the program of POMCPOW's authors.",
        short="popularity",
        at_least=0.0,
        at_most=1.0,
    )


class Pomcpow:
    """An anytime online planner that draws its actions from the task's `draw_action`. Its memory is allocated once: use
    one planner for many plans, but not for two at a time; a second thread is refused."""

    def __init__(self, task: Task, settings: PomcpowSettings | None = None, budget: Budget | None = None) -> None:
        """Plan for a task with settings (what the task advises) and a budget (0.1 s)."""
        self.task = task
        self.settings = settings or PomcpowSettings.advised(task)
        self.budget = budget_or(budget, Budget(seconds=0.1))
        primitive = check_macro_actions(task, MacroActions.repeat(task.actions(), 1))
        self._actions = np.ascontiguousarray(primitive.actions[:, 0])
        self._own_task = own_copy(task)
        self._rules = self._make_rules()
        self._tree = new_tree(task, int(self.settings.tree_nodes), self._rules.horizon)
        self._planned: tuple[np.ndarray, np.ndarray] | None = None
        self._turn, self._punctuality = turn_to_plan(), Punctuality()

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
        with self._turn:
            self._planned = None  # should the search fail, there is none to go on with
            clear(self._tree)
            seek(self._tree.random, stream_key(seed), 0)
            return self._search((known, particles), budget_or(budget, self.budget), started, keep_tree)

    def go_on(self, budget: Budget, *, keep_tree: bool = False) -> Plan:
        """Search on where the last plan stopped, for the same belief, which must not have changed since. The new plan
        counts the steps of both, and the seconds of this one."""
        started = time.perf_counter()
        with self._turn:
            if self._planned is None:
                raise ValueError("There is no search to go on with: call plan first.")
            budget = budget_or(budget, None)
            if budget.steps is not None:
                budget = Budget(steps=int(self._tree.counters[0].steps) + budget.steps)
            return self._search(self._planned, budget, started, keep_tree)

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

    def _search(self, planned: tuple[np.ndarray, np.ndarray], budget: Budget, started: float, keep_tree: bool) -> Plan:
        """Extend the tree until so many steps are simulated in it, or so many seconds have passed."""
        known, particles = planned
        search = (self._own_task, known, self._actions, self._rules, self._tree, particles)
        budget = self._punctuality.search_budget(budget)
        deadline = deadline_of(budget, started)
        if not self._tree.counters[0].full:
            spend(budget, started, self._tree.counters, lambda step_limit: extend(*search, step_limit, deadline))
        searched = time.perf_counter()
        plan = self._result(started, keep_tree)
        self._planned = planned
        self._punctuality.plan_is_made(searched)
        return plan

    def _result(self, started: float, keep_tree: bool) -> Plan:
        tree, counters, root = self._tree, plain(self._tree.counters[0]), plain(self._tree.nodes[ROOT])
        branches = slice(root.first_branch, root.first_branch + root.branch_count)
        values, visits = tree.scores["value"][branches].copy(), tree.branches["visits"][branches]
        popular = visits >= self.settings.popularity * visits.max()
        choice = int(np.where(popular, values, -np.inf).argmax())
        return Plan(
            macro_action=tree.actions[root.first_branch + choice][None].copy(),
            choice=choice,
            value=float(values[choice]),
            lower=None,
            upper=None,
            trials=counters.trials,
            nodes=counters.nodes,
            depth=counters.depth,
            steps=counters.steps,
            seconds=time.perf_counter() - started,
            stopped_by=TREE_FULL if counters.full else BUDGET_USED,
            values=values,
            macro_actions=MacroActions.repeat(tree.actions[branches], 1),
            tree=snapshot(tree) if keep_tree else None,
        )


POMCPOW = PlannerEntry("pomcpow", "POMCPOW", PomcpowSettings, Pomcpow)
