"""One episode in any world: plan, carry the macro-action out, update the belief after every primitive step."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from magic_pomdp.core.arrays import check_vector
from magic_pomdp.core.belief import Belief
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.outcome import Outcome
from magic_pomdp.core.randomness import check_seed, stream_key
from magic_pomdp.core.statistics import mean
from magic_pomdp.core.task import Task
from magic_pomdp.planners.plan import BUDGET_USED, Budget, Plan, Planner
from magic_pomdp.results.base import Amount, Count, check_counts
from magic_pomdp.results.evaluation import EpisodeResult
from magic_pomdp.running.world import BELIEVING, PLANNING, Happening, SimulatedWorld, World

NOT_PLANNED = -1
"""The choice of a plan that nobody has made."""


@dataclass(frozen=True)
class EpisodeRecord:
    """What happened in an episode."""

    result: EpisodeResult
    """All that does not depend on the machine's speed."""
    plan_seconds: tuple[Amount, ...]
    """Time of each plan."""
    plan_steps: tuple[Count, ...]
    """Primitive steps that each plan simulated."""
    plan_depths: tuple[Count, ...]
    """Depth of each plan's search, in primitive steps."""
    plan_nodes: tuple[Count, ...]
    """Belief nodes that each plan expanded."""
    plans_cut_short: Count
    """Plans whose search ended early because its memory was full."""
    step_statistics: tuple[str, ...]
    """Which of the task's statistics are means over its steps."""

    def __post_init__(self) -> None:
        by_plan = ("plan_seconds", "plan_steps", "plan_depths", "plan_nodes")
        check_counts({name: getattr(self, name) for name in by_plan}, self.result.plans, "entries, one for each plan")
        if self.step_statistics and self.steps == 0:
            raise ValueError("step_statistics must be empty, since there is no mean over no steps")

    @property
    def total_return(self) -> float:
        """Sum of all rewards."""
        return self.result.total_return

    @property
    def outcome(self) -> str:
        """ "success", "failure", or "unfinished" after the task's max_steps."""
        return self.result.outcome

    @property
    def steps(self) -> int:
        """Primitive steps."""
        return self.result.steps


@dataclass(frozen=True)
class Moment:
    """An instant of an episode, before each primitive step and after the last. Its arrays change as time goes on."""

    context: np.ndarray
    state: np.ndarray | None
    """The truth; None in a world that does not tell."""
    belief: Belief
    plan: Plan | None
    """The plan being carried out; None before the first is made."""
    reward: float
    """Earned by the step that led here; 0 at the beginning."""
    action: np.ndarray | None
    """What was done in that step; None at the beginning."""
    observation: np.ndarray | None
    """What was observed in it; None at the beginning."""
    next_plan: Plan | None = None
    """The plan made meanwhile, by a planner that plans while the robot acts."""
    picture: bytes | None = None
    """What the world's camera has sent last, as a JPEG; None from a world without one."""


class Episode:
    """An episode, step by step: `prepare` makes the plans that are due, `act` carries out one primitive action and
    updates the belief, until it is `over`. Its luck depends on (seed, episode) alone, if the world's does.

    If `plans_ahead`, each macro-action is planned before the one before it is carried out, for the belief expected at
    its end, as if both happened at the same time; at first, while the first plan is made, the robot does what the task
    says it does without one.
    """

    def __init__(
        self,
        task: Task,
        planner: Planner,
        world: World | None = None,
        seed: int = 0,
        episode: int = 0,
        plans_ahead: bool | None = None,
    ) -> None:
        """Begin an episode in a world (default: the task's simulator). By default it plans ahead as the task has it,
        but not with a budget in primitive steps."""
        self.task, self.planner, self.seed, self.number = task, planner, check_seed(seed), episode
        self.world: World = SimulatedWorld(task) if world is None else world
        beginning = self.world.begin(seed, episode)
        self.belief = Belief.initial(
            task,
            check_vector(beginning.context, task.context_size, "world's context"),
            seed=int(stream_key(seed, episode, BELIEVING)),
            observation=beginning.observation,
        )
        self.plans_ahead = planning_ahead(task, planner) if plans_ahead is None else plans_ahead
        self.outcome = Outcome.RUNNING
        self.rewards: list[float] = []
        self.plan: Plan | None = None
        """The plan being carried out, or the last one that was."""
        self._waiting = task.steps_without_plan(longest_macro_action(planner) or 1)
        self.next_plan: Plan | None = _without_plan(task, self._waiting) if self.plans_ahead else None
        self._done = 0  # actions of the plan that are carried out
        self._plans: list[Plan] = []
        self._errors: list[float] = []
        state = self._true_state()
        self._states = [] if state is None else [state]
        self._last: tuple[float, np.ndarray | None, np.ndarray | None] = 0.0, None, None

    @property
    def context(self) -> np.ndarray:
        """What is known."""
        return self.belief.context

    @property
    def steps(self) -> int:
        """Primitive steps so far."""
        return len(self.rewards)

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self.outcome != Outcome.RUNNING or self.steps >= self.task.max_steps

    @property
    def needs_plan(self) -> bool:
        """Whether `prepare` has something to do."""
        return not self.over and (self.plan is None or self._done == len(self.plan.macro_action))

    def prepare(self, budget: Budget | None = None) -> None:
        """Make the plans that are due: for now, if there is none, and for later if the robot plans ahead. The budget is
        the planner's own, unless told otherwise."""
        if not self.needs_plan:
            return
        self.plan, self._done = self.next_plan or self._make_plan(self.belief, budget), 0
        self.next_plan = None
        if self.plans_ahead and self.steps + len(self.plan.macro_action) < self.task.max_steps:
            expected = self.belief.predict(self.plan.macro_action)
            if len(expected) > 0:  # if no particle gets so far, look again then
                self.next_plan = self._make_plan(expected, budget)

    def act(self) -> Happening:
        """Carry out the next action of the plan, and let the belief know what was observed."""
        if self.over:
            raise ValueError("The episode is over: begin another one.")
        if self.plan is None or self._done == len(self.plan.macro_action):
            raise ValueError("There is no action to carry out: call prepare first.")
        action = check_vector(self.plan.macro_action[self._done], self.task.action_size, "planner's action").copy()
        if (state := self._true_state()) is not None:
            self._errors.append(self.belief.error(state))
        happened = self.world.act(action.copy())  # whatever a world does with its arrays, it is no way to the belief
        if not math.isfinite(happened.reward):
            raise ValueError(f"The world gave the reward {happened.reward} after {self.steps} steps.")
        self.rewards.append(happened.reward)
        if (state := self._true_state()) is not None:
            self._states.append(state)
        self._last = happened.reward, action, np.array(happened.observation, dtype=np.float64)
        self.outcome = Outcome(happened.outcome)
        self._done += 1
        if not self.over:
            self.belief.update(action, happened.observation)
        return happened

    def forget_plans(self) -> None:
        """Plan anew before the next action, because something has changed that no plan could know of."""
        self.plan = self.next_plan = None
        self._done = 0

    def moment(self) -> Moment:
        """The present instant."""
        picture: bytes | None = getattr(self.world, "picture", None)
        return Moment(self.context, self.world.state, self.belief, self.plan, *self._last, self.next_plan, picture)

    def record(self) -> EpisodeRecord:
        """What has happened so far."""
        statistics: dict[str, float] = {}
        step_statistics: tuple[str, ...] = ()
        if self._states:
            statistics, step_statistics = task_statistics(self.task, self.context, np.array(self._states))
        faults: dict[str, int] = getattr(self.world, "faults", {})
        statistics |= {name: float(count) for name, count in faults.items()}
        discount, plans = self.task.discount, self._plans
        return EpisodeRecord(
            result=EpisodeResult(
                episode=self.number,
                total_return=math.fsum(self.rewards),
                discounted_return=math.fsum(discount**time * reward for time, reward in enumerate(self.rewards)),
                steps=self.steps,
                outcome=self.outcome.word,
                belief_error=mean(self._errors) if self._states else None,
                belief_error_final=(self._errors or [0.0])[-1] if self._states else None,
                belief_error_least=min(self._errors, default=0.0) if self._states else None,
                recoveries=self.belief.recoveries,
                ignored=self.belief.ignored,
                plans=len(plans),
                statistics=statistics,
            ),
            plan_seconds=tuple(plan.seconds for plan in plans),
            plan_steps=tuple(plan.steps for plan in plans),
            plan_depths=tuple(plan.depth for plan in plans),
            plan_nodes=tuple(plan.nodes for plan in plans),
            plans_cut_short=sum(plan.cut_short for plan in plans),
            step_statistics=step_statistics,
        )

    def _true_state(self) -> np.ndarray | None:
        """A copy of the world's state; None if it does not tell."""
        state = self.world.state
        return None if state is None else check_vector(state, self.task.state_size, "world's state").copy()

    def _make_plan(self, situation: Belief | np.ndarray, budget: Budget | None) -> Plan:
        seed = stream_key(self.seed, self.number, PLANNING, self.steps)
        if self.plans_ahead and not self._plans:
            given_time = self.task.plan_seconds(self._waiting)
            budget = _within(given_time, budget or getattr(self.planner, "budget", None))
        given = {} if budget is None else {"budget": budget}
        plan = self.planner.plan(situation, self.context, seed=seed, **given)
        if len(plan.macro_action) == 0:
            raise ValueError("The planner chose a macro-action without any action in it.")
        self._plans.append(plan)
        return plan


def run_episode(
    task: Task,
    planner: Planner,
    seed: int = 0,
    episode: int = 0,
    watch: Callable[[Moment], None] | None = None,
    plans_ahead: bool | None = None,
    world: World | None = None,
) -> EpisodeRecord:
    """Run an episode to its end, or for the task's max_steps. Gives its record: outcome, return, steps, plans.

    - `planner` chooses; its budget counts for every plan.
    - `seed` and `episode` decide all chance, so planners can meet the same episode.
    - `watch` is shown every moment of it, such as the belief and the plan being carried out.
    - `plans_ahead` and `world` are those of `Episode`: whether planning happens meanwhile, and where it all happens.
    """
    running = Episode(task, planner, world, seed, episode, plans_ahead)
    while not running.over:
        running.prepare()
        if watch is not None:
            watch(running.moment())
        running.act()
    if watch is not None:
        watch(running.moment())
    return running.record()


RESERVED_STATISTICS = frozenset(
    (*EpisodeResult.__struct_fields__, "return", "plan_steps", "search_depth", "search_depth_max", "nodes")
)
"""What records and evaluations tell of every task: no statistic of a task's own can be called so."""


def task_statistics(task: Task, context: np.ndarray, states: np.ndarray) -> tuple[dict[str, float], tuple[str, ...]]:
    """What a task tells of an episode, as plain numbers, and which of them are means over its steps; or a ValueError
    that says what is wrong with it."""
    found, of_steps = {}, []
    for name, value in task.statistics(context, states).items():
        if not isinstance(name, str) or name in RESERVED_STATISTICS:
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


def planning_ahead(task: Task, planner: Planner) -> bool:
    """Whether a planner plans while the robot acts, when nobody says otherwise."""
    budget: Budget | None = getattr(planner, "budget", None)
    return task.concurrent and (budget is None or budget.seconds is not None)


def longest_macro_action(planner: Planner) -> int | None:
    """Length of a planner's macro-actions, the longest; None from one that does not say."""
    macro_actions: MacroActions | None = getattr(planner, "macro_actions", None)
    return getattr(planner, "macro_length", None) if macro_actions is None else int(macro_actions.lengths.max())


def _within(seconds: float, budget: Budget | None) -> Budget | None:
    """The budget of the first plan, for which the robot waits: at most so much time."""
    if budget is None or budget.seconds is None:
        return budget
    return Budget(seconds=min(budget.seconds, seconds))


def _without_plan(task: Task, steps: int) -> Plan:
    """What the robot does in the steps in which it makes its first plan."""
    action = check_vector(task.action_without_plan(), task.action_size, "action without a plan")
    return Plan(
        np.tile(action, (steps, 1)), choice=NOT_PLANNED, value=0.0, lower=None, upper=None, trials=0, nodes=0, depth=0,
        steps=0, seconds=0.0, stopped_by=BUDGET_USED,
    )  # fmt: skip
