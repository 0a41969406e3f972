"""Whether a planner keeps its promises."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from magic_pomdp.core.belief import Belief, BeliefSettings
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.randomness import new_stream
from magic_pomdp.core.task import Task
from magic_pomdp.planners.plan import Budget, Plan, Planner
from magic_pomdp.testing.finding import Broken, Finding

SMALLEST_BUDGET = 20_000
"""Primitive steps of the plans that are checked; more if the planner cannot do with less."""
ROUNDING = 1e-9


def check_planner(planner: Planner, belief: Belief | None = None, seed: int = 0) -> list[Finding]:
    """Everything that is wrong with a planner, tried on a belief (default: an initial one of its task)."""
    if not isinstance(getattr(planner, "task", None), Task):
        return [Finding("task", "it is missing", "the task that the planner plans for", "Write `self.task = task`")]
    belief = belief or _initial_belief(planner.task, seed)
    try:
        checks = (_check_plans(planner, belief, seed), _check_refusals(planner, belief))
        return [finding for check in checks for finding in check]
    except Broken as broken:
        return [broken.finding]


def _initial_belief(task: Task, seed: int) -> Belief:
    context = np.zeros(task.context_size)
    task.draw_context(new_stream(seed), context)
    return Belief.initial(task, context, count=min(BeliefSettings.advised(task).particles, 1000), seed=seed)


def _plan(planner: Planner, belief: Any, context: np.ndarray, steps: int, seed: int) -> Plan:
    try:
        return planner.plan(belief, context, budget=Budget(steps=steps), seed=seed)
    except Exception as error:
        shape = getattr(belief, "particles", belief).shape
        seen = f"with a belief of shape {shape} and a budget of {steps} steps it raised {type(error).__name__}: {error}"
        raise Broken("plan", seen, "a Plan", "Accept any belief with at least one particle, and any budget") from error


def _check_plans(planner: Planner, belief: Belief, seed: int) -> Iterator[Finding]:
    context, before = belief.context.copy(), belief.particles.copy()
    least = _plan(planner, belief, context, 1, seed)
    steps = max(SMALLEST_BUDGET, 4 * least.steps)
    plan = _plan(planner, belief, context, steps, seed)
    if not np.array_equal(belief.particles, before) or not np.array_equal(context, belief.context):
        advice = "Copy what the search changes"
        yield Finding("plan", "it changed the belief or the context", "that it only reads them", advice)
    lonely = _plan(planner, before[:1].copy(), context, steps, seed + 1)
    for each in (least, plan, lonely):
        yield from _check_plan(planner, each)
    if plan.steps > 2 * steps:
        advice = "Look at the budget after every trial or expansion"
        yield Finding("plan", f"a budget of {steps} steps, but {plan.steps} were simulated", "about as many", advice)
    yield from _check_same(plan, _plan(planner, before.copy(), context, steps, seed))


def _check_plan(planner: Planner, plan: Plan) -> Iterator[Finding]:
    macro_action, size = plan.macro_action, planner.task.action_size
    if macro_action.ndim != 2 or len(macro_action) < 1 or macro_action.shape[1] != size:
        expected = f"(length, {size}) with a length of at least 1"
        yield Finding(
            "plan", f"the macro-action has shape {macro_action.shape}", expected, "Return the chosen sequence"
        )
    elif not np.isfinite(macro_action).all():
        advice = "Return only the macro-action's own length, not the unused entries behind it"
        yield Finding("plan", f"the macro-action is {macro_action.tolist()}", "finite numbers", advice)
    elif hasattr(planner, "macro_actions"):
        yield from _check_choice(planner.macro_actions, plan)
    if not np.isfinite(plan.value):
        yield Finding("plan", f"the value is {plan.value}", "a finite number", "Look for an empty sum or mean")
    if plan.lower is None or plan.upper is None:
        return  # it knows no bounds
    if not plan.lower <= plan.upper + ROUNDING * max(1.0, abs(plan.upper)):
        seen = f"the lower bound {plan.lower} is above the upper bound {plan.upper}"
        advice = "Look at the backup, and check the task's upper_bound with check_task"
        yield Finding("plan", seen, "lower ≤ upper", advice)


def _check_choice(macro_actions: MacroActions, plan: Plan) -> Iterator[Finding]:
    if 0 <= plan.choice < len(macro_actions):
        length = macro_actions.lengths[plan.choice]
        if np.array_equal(macro_actions.actions[plan.choice, :length], plan.macro_action):
            return
    seen = f"choice {plan.choice} of {len(macro_actions)} macro-actions is not the macro-action of the plan"
    yield Finding("plan", seen, "one of the planner's macro-actions and its number", "Return both from the same index")


def _check_same(plan: Plan, again: Plan) -> Iterator[Finding]:
    for field in dataclasses.fields(plan):
        first, second = getattr(plan, field.name), getattr(again, field.name)
        if field.name not in ("seconds", "tree") and not np.array_equal(first, second):
            seen = f"with the same seed and budget in steps, {field.name} was {first} and then {second}"
            advice = "Derive all chance from the seed, and let no plan leave anything behind for the next"
            yield Finding("plan", seen, "the same plan", advice)
            return


def _check_refusals(planner: Planner, belief: Belief) -> Iterator[Finding]:
    with_nan = belief.particles.copy()
    with_nan[0, 0] = np.nan
    too_wide = np.hstack([belief.particles, belief.particles[:, :1]])
    for what, particles in (("a belief with a NaN", with_nan), ("a belief with too wide states", too_wide)):
        try:
            planner.plan(particles, belief.context, budget=Budget(steps=1), seed=0)
            seen = f"it planned for {what}"
        except ValueError:
            continue
        except Exception as error:
            seen = f"for {what} it raised {type(error).__name__}: {error}"
        advice = "Begin with `particles, context = magic_pomdp.planners.check_situation(task, belief, context)`"
        yield Finding("plan", seen, "a ValueError that says what is wrong", advice)
