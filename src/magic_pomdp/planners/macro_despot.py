"""Macro-DESPOT (Lee, Cai, Hsu 2021), after DESPOT (Somani et al. 2013; Ye et al. 2017).

The planner; the algorithm is in `trials.py`. DESPOT is the same with macro-actions of length 1.
"""

import math
import time
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.randomness import stream_key
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.macros.variations import Variations
from magic_pomdp.planners.default_policy import GREEDY, GREEDY_SAMPLE, GUIDED, RANDOM, Choices, make_choices
from magic_pomdp.planners.despot_settings import DespotSettings, MacroDespotSettings
from magic_pomdp.planners.plan import BUDGET_USED, GAP_CLOSED, TREE_FULL, Budget, Plan, budget_or
from magic_pomdp.planners.refining import EACH, ENOUGH, VARIED, refined
from magic_pomdp.planners.registry import PlannerEntry
from magic_pomdp.planners.search import (
    Punctuality,
    check_macro_actions,
    check_situation,
    deadline_of,
    part_of,
    plain,
    spend,
    turn_to_plan,
)
from magic_pomdp.planners.second_look import SHARE, Look, choose, evenly_spread, first_look, run_on_particles
from magic_pomdp.planners.team import NO_SEARCH, Team, default_threads
from magic_pomdp.planners.tree import (
    NO_BRANCH,
    ROOT,
    DespotView,
    TreeSnapshot,
    new_bench,
    new_desk,
    new_tree,
    snapshot,
    used_part,
)
from magic_pomdp.planners.trials import MY_OWN, Rules, extend, plant

_SECOND_LOOK, _REFINING = 1, 2
"""The streams, below a plan's seed, of second looks and of variations."""
_POLICIES = {"guided": GUIDED, "greedy": GREEDY, "random": RANDOM}


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
        self.budget = budget_or(budget, Budget(seconds=0.1))
        self.macro_actions = self._check(macro_actions or chosen.handcrafted(task))
        self._rules = Rules(
            int(self.settings.search_depth),
            float(self.settings.xi),
            _POLICIES[self.settings.default_policy or ""],
            float(self.settings.regularisation),
        )
        if self.settings.discount is None or self.settings.discount == task.discount:
            self._model = task
        else:
            self._model = replace(task, discount=self.settings.discount)
        self._team = Team(self.settings.threads or min(default_threads(), len(self.macro_actions)))
        self._tree = new_tree(task, chosen.scenarios, chosen.tree_nodes, chosen.search_depth, self._team.board)
        more = VARIED * EACH if chosen.refine > 0.0 else 0
        self._bench = new_bench(task, chosen.scenarios, len(self.macro_actions) + more)
        self._desks = [new_desk(task, chosen.scenarios, GREEDY_SAMPLE) for _ in range(self._team.threads)]
        moments = chosen.scenarios * (chosen.search_depth + self.macro_actions.actions.shape[1])
        self._tasks = [self._model.for_search(moments) for _ in range(self._team.threads)]
        self._planned: _Situation | None = None
        self._beside = 0  # primitive steps of the plan that were not made in its tree
        self._known_variations: tuple[MacroActions, Variations] | None = None
        self._turn, self._punctuality = turn_to_plan(), Punctuality()
        self._compiled = False

    def plan(
        self,
        belief: Belief | np.ndarray,
        context: np.ndarray | None = None,
        *,
        macro_actions: MacroActions | None = None,
        variations: Variations | None = None,
        budget: Budget | None = None,
        seed: int | np.uint64 = 0,
        keep_tree: bool = False,
    ) -> Plan:
        """Choose a macro-action for a belief, or for its particles, shape (n, state_size), in a context.

        `macro_actions` and `budget` replace the planner's own for this plan; `variations` tell how to refine those
        macro-actions. The same seed and a budget in primitive steps give the same plan on every machine. `keep_tree`
        copies the tree into the plan.
        """
        started = time.perf_counter()
        particles, known = check_situation(self.task, belief, context)
        macro_actions = self.macro_actions if macro_actions is None else self._check(macro_actions)
        choices, budget = make_choices(self._model, macro_actions), budget_or(budget, self.budget)
        with self._turn:
            self._planned, self._beside = None, 0  # should this belief be refused, there is no search to go on with
            spread = evenly_spread(particles, self.settings.second_look)
            situation = _Situation(known, choices, macro_actions, spread, seed)
            self._plant(situation, particles)
            if self.settings.refine > 0.0:
                variations = variations or self._variations_of(macro_actions)
                situation, budget = self._refine(situation, particles, variations, budget, started)
            return self._search(situation, budget, started, keep_tree)

    def go_on(self, budget: Budget, *, keep_tree: bool = False) -> Plan:
        """Search on where the last plan stopped. The new plan counts the steps of both, and the seconds of this one."""
        started = time.perf_counter()
        with self._turn:
            if self._planned is None:
                raise ValueError("There is no search to go on with: call plan first.")
            budget = budget_or(budget, None)
            if budget.steps is not None:
                budget = Budget(steps=int(self._tree.counters[0].steps) + budget.steps)
            return self._search(self._planned, budget, started, keep_tree)

    def last_tree(self) -> TreeSnapshot:
        """The search tree of the last plan, in place: the next plan overwrites it."""
        return used_part(self._tree)

    def tree_view(self) -> DespotView:
        """The search tree of the last plan, to be looked at."""
        assert self._planned is not None
        return DespotView(self.last_tree(), self._planned.macro_actions)

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

    def _variations_of(self, macro_actions: MacroActions) -> Variations:
        if self._known_variations is None or self._known_variations[0] is not macro_actions:
            self._known_variations = macro_actions, Variations.of_set(self.task, macro_actions)
        return self._known_variations[1]

    def _plant(self, planned: "_Situation", particles: np.ndarray) -> None:
        """Begin a tree."""
        if len(planned.macro_actions) > len(self._bench.moved):
            self._bench = new_bench(self.task, self.settings.scenarios, len(planned.macro_actions))
        plant(self._tree, self._desks[0], particles, stream_key(planned.seed))

    def _refine(
        self, planned: "_Situation", particles: np.ndarray, variations: Variations, budget: Budget, started: float
    ) -> tuple["_Situation", Budget]:
        """Search for a share of a budget, and begin anew with variations of what did best: what is searched then, and
        the rest of the budget. If there was too little time, or nothing to vary, that is the search that was begun."""
        finished = self._extend(planned, part_of(budget, self.settings.refine), started)
        counters = plain(self._tree.counters[0])
        if finished or counters.expansions < ENOUGH:
            return planned, budget
        worth, key = self._worth(len(planned.macro_actions)), stream_key(planned.seed, _REFINING)
        macro_actions = refined(planned.macro_actions, variations, worth, key)
        if macro_actions is planned.macro_actions:
            return planned, budget
        self._beside = counters.steps
        choices = make_choices(self._model, self._check(macro_actions))
        grown = planned._replace(choices=choices, macro_actions=macro_actions)
        self._plant(grown, particles)
        if budget.steps is not None:
            budget = Budget(steps=max(1, budget.steps - self._beside))
        return grown, budget

    def _search(self, planned: "_Situation", budget: Budget, started: float, keep_tree: bool) -> Plan:
        """Extend the tree until so many steps are simulated in it, or so many seconds have passed, and choose."""
        budget = self._punctuality.search_budget(budget)
        self._planned = None  # should the search fail, there is none to go on with
        finished = self._extend(planned, budget, started)
        chosen = self._choose(planned, budget, started)
        self._planned = planned
        searched = time.perf_counter()
        macro_actions = planned.macro_actions
        counters, root = plain(self._tree.counters[0]), plain(self._tree.nodes[ROOT])
        plan = Plan(
            macro_action=macro_actions.actions[chosen.macro, : macro_actions.lengths[chosen.macro]].copy(),
            choice=chosen.macro,
            value=chosen.value,
            lower=root.lower,
            upper=root.upper,
            trials=counters.trials,
            nodes=counters.expansions,
            depth=counters.depth,
            steps=counters.steps + self._beside,
            seconds=time.perf_counter() - started,
            stopped_by=TREE_FULL if counters.full else GAP_CLOSED if finished else BUDGET_USED,
            values=chosen.values,
            uppers=chosen.uppers,
            macro_actions=macro_actions,
            tree=snapshot(self._tree) if keep_tree else None,
        )
        self._punctuality.plan_is_made(searched)
        return plan

    def _extend(self, planned: "_Situation", budget: Budget, started: float) -> bool:
        """Extend the tree within the budget, less what second looks may take; whether its gap is closed."""
        if budget.seconds is not None and len(planned.particles) > 0:
            budget = Budget(seconds=(1.0 - SHARE) * budget.seconds)
        context, choices, deadline = planned.context, planned.choices, deadline_of(budget, started)

        def run(thread: int, step_limit: int, helped: int = MY_OWN) -> bool:
            return extend(
                self._tasks[thread],
                context,
                choices,
                self._rules,
                self._tree,
                self._bench,
                self._desks[thread],
                step_limit,
                deadline,
                helped,
            )

        if not self._compiled:
            run_on_particles(
                self._tasks[0], context, choices, self._desks[0], planned.particles, 0, 0, planned.look_key, deadline
            )
            self._compiled = run(0, 0, NO_SEARCH)  # by this thread, which can be interrupted
        with self._team.helping(lambda number, search: run(number, 0, search)):
            return spend(budget, started, self._tree.counters, lambda step_limit: run(0, step_limit))

    def _choose(self, planned: "_Situation", budget: Budget, started: float) -> "_Choice":
        """The macro-action that the tree thinks best, also at a second look."""
        root, count = plain(self._tree.nodes[ROOT]), len(planned.macro_actions)
        if not math.isfinite(root.upper):
            bound = f"The upper bound of {task_name(self.task)}"
            raise ValueError(f"{bound} must be finite, but is {root.upper} on average for this belief.")
        if root.first_branch == NO_BRANCH:
            values, uppers = np.full(count, -np.inf), np.full(count, root.upper)
            return _Choice(root.default_macro, root.default_value, values, uppers)
        branches = self._tree.branches[root.first_branch : root.first_branch + count]
        worth = self._worth(count)
        look = partial(self._second_look, planned, budget, deadline_of(budget, started))
        macro = choose(worth, partial(first_look, self._tree), look)
        return _Choice(macro, float(worth[macro]), branches["lower"].copy(), branches["upper"].copy())

    def _worth(self, count: int) -> np.ndarray:
        """What each macro-action is worth for the first choice, shape (count,): −∞ where nobody knows."""
        root = plain(self._tree.nodes[ROOT])
        if root.first_branch == NO_BRANCH:
            return np.full(count, -np.inf)
        worth: np.ndarray = self._tree.branches["lower"][root.first_branch : root.first_branch + count].copy()
        worth[root.default_macro] = max(worth[root.default_macro], root.default_value)
        return worth

    def _second_look(self, planned: "_Situation", budget: Budget, end: int, macro: int) -> Look | None:
        """What comes of a macro-action on more particles; None if there is no time to see more than the search has."""
        count, scenarios, key = len(planned.particles), self.settings.scenarios, planned.look_key
        if budget.steps is not None:
            affordable = int(SHARE * budget.steps) // int(planned.choices.lengths[macro])
            count = min(count, max(affordable, scenarios))
        desk = self._desks[0]
        total, running, done = run_on_particles(
            self._tasks[0], planned.context, planned.choices, desk, planned.particles, macro, count, key, end
        )
        self._beside += int(desk.steps[0])
        desk.steps[0] = 0
        return Look(total / done, running / done) if done >= scenarios else None


class _Situation(NamedTuple):
    """What a search is for."""

    context: np.ndarray
    choices: Choices
    macro_actions: MacroActions
    particles: np.ndarray
    """For second looks, shape (count, S)."""
    seed: int | np.uint64
    """What all chance follows from."""

    @property
    def look_key(self) -> np.uint64:
        """What chance in second looks follows from."""
        return stream_key(self.seed, _SECOND_LOOK)


class _Choice(NamedTuple):
    """What a search comes to."""

    macro: int
    value: float
    values: np.ndarray
    """Of each macro-action, shape (count,): what it is worth for sure; −∞ if there was no time to look at it."""
    uppers: np.ndarray
    """What each may be worth at most."""


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
