"""One episode: plan, carry the macro-action out, update the belief after every primitive step."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from magic_pomdp.core.belief import Belief, check_vector
from magic_pomdp.core.compiling import kernel
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.randomness import new_stream, seek, stream_key
from magic_pomdp.core.task import OUTCOMES, RUNNING, Task
from magic_pomdp.core.views import borrow
from magic_pomdp.planners.plan import BUDGET_USED, Budget, Plan, Planner
from magic_pomdp.running.statistics import mean

BEGINNING, WORLD, BELIEF, PLAN = range(4)
"""What a random stream of an episode is for. The world's noise at a time is the same whatever was done before."""

RESERVED = {
    *("episode", "return", "discounted_return", "steps", "outcome", "belief_error", "belief_error_final"),
    *("recoveries", "ignored", "plans", "plan_steps", "search_depth", "search_depth_max", "nodes"),
}
"""What records and evaluations tell of every task: no statistic of a task's own can be called so."""

NOT_PLANNED = -1
"""The choice of a plan that nobody has made."""


@dataclass(frozen=True)
class EpisodeRecord:
    """What happened in an episode."""

    episode: int
    """The episode's number: with the seed, it determines every random number."""
    total_return: float
    """Sum of all rewards."""
    discounted_return: float
    """Sum of all rewards, each discounted to the beginning."""
    steps: int
    """Primitive steps."""
    outcome: str
    """"success", "failure", or "unfinished" after the task's max_steps."""
    belief_error: float
    """Mean over the steps of the distance between particles and the true state, before each action."""
    belief_error_final: float
    """The same, before the last action only."""
    recoveries: int
    """Times the belief had lost track and was drawn anew from the past."""
    ignored: int
    """Observations that the belief had to ignore."""
    plan_seconds: tuple[float, ...]
    """Time of each plan."""
    plan_steps: tuple[int, ...]
    """Primitive steps that each plan simulated."""
    plan_depths: tuple[int, ...]
    """Depth of each plan's search, in primitive steps."""
    plan_nodes: tuple[int, ...]
    """Belief nodes that each plan expanded."""
    plans_cut_short: int
    """Plans whose search ended early because its memory was full."""
    statistics: dict[str, float]
    """What the task itself tells of it."""
    step_statistics: tuple[str, ...]
    """Names of those that are means over its steps."""

    def to_json(self) -> dict[str, Any]:
        """All that does not depend on the machine's speed."""
        return {
            "episode": self.episode,
            "return": self.total_return,
            "discounted_return": self.discounted_return,
            "steps": self.steps,
            "outcome": self.outcome,
            "belief_error": self.belief_error,
            "belief_error_final": self.belief_error_final,
            "recoveries": self.recoveries,
            "ignored": self.ignored,
            "plans": len(self.plan_steps),
            **self.statistics,
        }


@dataclass(frozen=True)
class Moment:
    """An instant of an episode, before each primitive step and after the last. Its arrays change as time goes on."""

    context: np.ndarray
    state: np.ndarray
    belief: Belief
    plan: Plan
    """The plan being carried out."""
    reward: float
    """Earned by the step that led here; 0 at the beginning."""
    action: np.ndarray | None
    """What was done in that step; None at the beginning."""
    observation: np.ndarray | None
    """What was observed in it; None at the beginning."""
    next_plan: Plan | None = None
    """The plan made meanwhile, by a planner that plans while the robot acts."""


def run_episode(
    task: Task,
    planner: Planner,
    seed: int = 0,
    episode: int = 0,
    watch: Callable[[Moment], None] | None = None,
    concurrent: bool | None = None,
) -> EpisodeRecord:
    """Run an episode to its end, or for the task's max_steps. Its luck depends on (seed, episode) alone.

    `watch` is shown every moment of it. If `concurrent`, each macro-action is planned before the one before it is
    carried out, for the belief expected at its end, as if both happened at the same time; the robot idles for one step,
    in which the first plan is made. Default: as the task has it, but not for a planner with a budget in primitive
    steps.
    """
    context, state = draw_beginning(task, new_stream(seed, episode, BEGINNING))
    belief = Belief.initial(task, context, seed=int(stream_key(seed, episode, BELIEF)))
    world, random = stream_key(seed, episode, WORLD), np.empty(1, np.uint64)
    rewards: list[float] = []
    errors: list[float] = []
    plans: list[Plan] = []
    states = [state.copy()]
    outcome = RUNNING
    step: tuple[float, np.ndarray | None, np.ndarray | None] = 0.0, None, None

    def make_plan(situation: Belief | np.ndarray) -> Plan:
        in_time = first_budget(task, planner) if concurrent and not plans else {}
        plan = planner.plan(situation, context, seed=stream_key(seed, episode, PLAN, len(rewards)), **in_time)
        if len(plan.macro_action) == 0:
            raise ValueError("The planner chose a macro-action without any action in it.")
        plans.append(plan)
        return plan

    concurrent = plans_ahead(task, planner) if concurrent is None else concurrent
    next_plan = idle_plan(task) if concurrent else None
    while outcome == RUNNING and len(rewards) < task.max_steps:
        plan = next_plan or make_plan(belief)
        next_plan = None
        if concurrent and len(rewards) + len(plan.macro_action) < task.max_steps:
            expected = belief.predict(plan.macro_action)
            if len(expected) > 0:  # if no particle gets so far, look again then
                next_plan = make_plan(expected)
        for action in plan.macro_action:
            action = check_vector(action, task.action_size, "planner's action")
            errors.append(belief.error(state))
            if watch is not None:
                watch(Moment(context, state, belief, plan, *step, next_plan))
            observation = np.zeros(task.observation_size)
            reward, outcome = step_world(task, context, state, action, world, len(rewards), random, observation)
            if not math.isfinite(reward):
                raise ValueError(f"{type(task).__name__}.step gave the reward {reward} after {len(rewards)} steps.")
            rewards.append(reward)
            states.append(state.copy())
            step = reward, action, observation
            outcome = int(outcome)
            if outcome != RUNNING or len(rewards) >= task.max_steps:
                break
            belief.update(action, observation)
    if watch is not None:
        watch(Moment(context, state, belief, plan, *step, next_plan))
    statistics, step_statistics = task_statistics(task, context, np.array(states))
    return EpisodeRecord(
        episode=episode,
        total_return=math.fsum(rewards),
        discounted_return=math.fsum(task.discount**time * reward for time, reward in enumerate(rewards)),
        steps=len(rewards),
        outcome=OUTCOMES[outcome],
        belief_error=mean(errors),
        belief_error_final=errors[-1] if errors else 0.0,
        recoveries=belief.recoveries,
        ignored=belief.ignored,
        plan_seconds=tuple(plan.seconds for plan in plans),
        plan_steps=tuple(plan.steps for plan in plans),
        plan_depths=tuple(plan.depth for plan in plans),
        plan_nodes=tuple(plan.nodes for plan in plans),
        plans_cut_short=sum(plan.cut_short for plan in plans),
        statistics=statistics,
        step_statistics=step_statistics,
    )


def task_statistics(task: Task, context: np.ndarray, states: np.ndarray) -> tuple[dict[str, float], tuple[str, ...]]:
    """What a task tells of an episode, as plain numbers, and which of them are means over its steps; or a ValueError
    that says what is wrong with it."""
    found, of_steps = {}, []
    for name, value in task.statistics(context, states).items():
        if not isinstance(name, str) or name in RESERVED:
            raise ValueError(f"{type(task).__name__}.statistics cannot call anything {name!r}: choose another name.")
        try:
            if np.shape(value) == (len(states) - 1,):
                of_steps.append(name)
                value = float(np.mean(value))
            found[name] = float(value)
        except (TypeError, ValueError):
            found[name] = math.nan
        if not math.isfinite(found[name]):
            raise ValueError(f"{type(task).__name__}.statistics gave {value!r} as {name!r}, not a finite number.")
    return found, tuple(of_steps)


def plans_ahead(task: Task, planner: Planner) -> bool:
    """Whether a planner plans while the robot acts, when nobody says otherwise."""
    budget: Budget | None = getattr(planner, "budget", None)
    return task.concurrent and (budget is None or budget.seconds is not None)


def macro_length(planner: Planner) -> int | None:
    """Length of a planner's macro-actions, the longest; None from one that does not say."""
    macro_actions: MacroActions | None = getattr(planner, "macro_actions", None)
    return getattr(planner, "macro_length", None) if macro_actions is None else int(macro_actions.lengths.max())


def first_budget(task: Task, planner: Planner) -> dict[str, Budget]:
    """The budget of the first plan, for which the robot waits, if its planner must hurry: the time of a single step."""
    budget: Budget | None = getattr(planner, "budget", None)
    if budget is None or budget.seconds is None or budget.seconds <= task.plan_seconds(1):
        return {}
    return {"budget": Budget(seconds=task.plan_seconds(1))}


def idle_plan(task: Task) -> Plan:
    """What the robot does in the step in which it makes its first plan."""
    return Plan(
        check_vector(task.idle(), task.action_size, "idle action")[None],
        choice=NOT_PLANNED, value=0.0, lower=None, upper=None, trials=0, nodes=0, depth=0, steps=0, seconds=0.0,
        stopped_by=BUDGET_USED,
    )  # fmt: skip


def draw_beginning(task: Task, random: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The context and the true state of a new episode."""
    context, state = np.zeros(task.context_size), np.zeros(task.state_size)
    _draw(task, random, context, state)
    return context, state


@kernel
def _draw(task, random, context, state):
    random, context, state = borrow(random), borrow(context), borrow(state)
    task.draw_context(random, context)
    task.draw_state(context, random, state)


@kernel
def step_world(task, context, state, action, key, time, random, observation):
    """One primitive step of the true state, with the world's noise at a time: its reward and outcome."""
    context, state, action = borrow(context), borrow(state), borrow(action)
    random, observation = borrow(random), borrow(observation)
    seek(random, key, time)
    return task.step(context, state, action, random, observation)
