"""A robot with a loop, observations and a clock of its own: it asks for actions and tells what it observed, when it
likes, and the next macro-action is planned in the background meanwhile."""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from pathlib import Path
from typing import NamedTuple, Self

import msgspec
import numpy as np

from magic_pomdp.core.arrays import check_vector
from magic_pomdp.core.belief import Belief
from magic_pomdp.core.randomness import check_seed, stream_key
from magic_pomdp.core.surprise import HowExplained, warm_up_check
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.planners.plan import Budget, Plan, Planner, budget_or
from magic_pomdp.running.background import BackgroundSearch
from magic_pomdp.running.episode import planning_ahead
from magic_pomdp.running.robot_file import Given, RobotState, load_robot, save_robot
from magic_pomdp.running.world import PLANNING

LATENCIES = 10_000
"""Of so many actions, the last ones, the latencies are kept."""
SURPRISE = 20.0
"""Nats: what is explained so much worse than what one would expect to see is impossible, unless the belief says else.
A normal number would have to lie more than six standard deviations from where it is believed to be."""

_SHORT = Budget(seconds=0.1)

_log = logging.getLogger(__name__)


class Observed(NamedTuple):
    """What an observation, or the lack of one, did to the belief."""

    step: int
    """The action that it followed: 0 for the first that was given."""
    time: float | None
    """When it was made, if somebody said so."""
    explanation: HowExplained
    """What came of it: "explained" is what the belief explains; "predicted" what was not observed, so that the belief
    is only moved; "recovered" what the belief did not explain, but fresh particles do; "ignored" what nothing explains,
    so that the belief is only moved."""


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds from an observation's arrival to the action after it."""

    count: int
    """Actions that followed an observation, since the beginning."""
    p50: float
    """Half of the last ones took no longer; NaN if there is none."""
    p99: float
    """99 of 100 took no longer."""
    worst: float
    """The longest of the last ones."""


class Robot:
    """A planner and a belief for a loop of one's own:

        with Robot(planner, belief) as robot:
            while …:
                carry_out(robot.next_action())
                robot.observe(what_was_seen)

    `next_action` gives the primitive actions of a macro-action one by one. Each is to be followed by its observation;
    one that comes late is told late, and one that does not come at all is skipped. The belief is updated in the order
    of the actions, and plans are made for what is expected after those that are not observed yet.

    If it plans ahead, the search for the next macro-action begins as soon as one is taken up, for the belief expected
    at its end; else when the last of it is observed. By default it does as the task has it (`concurrent`).

    All functions may be called by any thread. While `next_action` waits for a plan, others can observe or cancel; while
    a belief recovers, others can ask for what is planned already.

    A robot is for one episode, and does not know when that ends: stop asking, and `close` it. The next episode has
    another belief and another robot; the planner may be the same.
    """

    def __init__(
        self,
        planner: Planner,
        belief: Belief,
        *,
        budget: Budget | None = None,
        seed: int = 0,
        plans_ahead: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to plan for a belief. From now on both the planner and the belief are the robot's. The budget is the
        planner's, unless told otherwise; `clock` tells the time, in seconds, that observations are stamped with.

        A belief that does not say what is too much of a `surprise` takes it to be 20 nats from now on."""
        if not isinstance(belief, Belief):
            raise ValueError(f"A robot needs a Belief, such as Belief.initial(task, context), not {belief!r}.")
        if not hasattr(planner, "plan"):
            raise ValueError(f"A robot needs a planner, such as MacroDespot(task), not {planner!r}.")
        self.task: Task = belief.task
        """Of the belief."""
        planned: Task = getattr(planner, "task", self.task)
        if task_name(planned) != task_name(self.task):
            raise ValueError(f"The planner is for {task_name(planned)}, but the belief is of {task_name(self.task)}.")
        self.belief = belief
        """What is believed: to be looked at, not to be changed."""
        self.seed = check_seed(seed)
        """Of all plans."""
        self.clock = clock
        """Tells the time that observations are stamped with."""
        self.plans_ahead = planning_ahead(self.task, planner) if plans_ahead is None else plans_ahead
        """Whether a macro-action is planned while the one before it is carried out."""
        if belief.surprise is None:
            belief.surprise = SURPRISE
            warm_up_check(self.task, belief.context, belief.particles[:2])
        self._planner = planner
        self._believing = threading.RLock()  # held while the belief changes; taken before the other, if both are
        self._lock = threading.RLock()  # for all else, and never held for long
        self._search = BackgroundSearch(planner, budget_or(budget, getattr(planner, "budget", None) or _SHORT))
        self._plan: Plan | None = None
        self._rest: deque[np.ndarray] = deque()  # actions of the plan that are not given yet
        self._awaited: deque[Given] = deque()  # actions that are not observed yet
        self._count = 0
        self._observed_at: float | None = None
        self._latencies: deque[float] = deque(maxlen=LATENCIES)
        self._latency_count = 0
        self._begin_search()

    # ------------------------------------------------------------------------------------------------------ the loop

    def next_action(self, within: float | None = None) -> np.ndarray:
        """The next primitive action, shape (action_size,).

        A new macro-action is taken up when the search has spent its budget or, if `within` is given, after so many
        seconds at the latest: the best so far. If there is none by then, the robot does what the task says it does
        without a plan (`action_without_plan`): then `plan` is None, and a warning is logged.
        """
        if within is not None and not 0.0 <= within < math.inf:
            raise ValueError(f"A robot waits for an action at least 0 seconds, not {within}.")
        self._check_open()
        with self._lock:
            if self._rest:
                return self._give()
        with self._believing, self._lock:
            if not self._rest and not self._search.under_way:
                self._begin_search()
        plan = self._search.wait(within)
        with self._believing, self._lock:
            if not self._rest:
                self._check_open()
                self._take_up(plan)
            return self._give()

    def observe(self, observation: np.ndarray | None, at: float | None = None) -> tuple[Observed, ...]:
        """Tell what was observed at the end of an action: the first that is not observed yet or, with the time at which
        the observation was made, the last that was given before. Actions before that one are then taken for unobserved.
        None is an observation that failed."""
        return self.observe_all([(observation, at)])

    def observe_all(self, observations: Iterable[tuple[np.ndarray | None, float | None]]) -> tuple[Observed, ...]:
        """Several observations at once, each with its time, or None, in the order in which they were made. If one of
        them cannot be, a ValueError says why, and none of them counts."""
        arrived = self.clock()
        self._check_open()
        with self._believing:
            with self._lock:
                awaited, seen = list(self._awaited), []
                for observation, at in observations:
                    if observation is not None:
                        observation = check_vector(observation, self.task.observation_size, "observation")
                    position = _followed(awaited, at, arrived)
                    seen += [(None, None)] * position + [(observation, at)]
                    awaited = awaited[position + 1 :]
                if seen:
                    self._observed_at = arrived
            return self._update(seen)

    def skip(self, count: int = 1) -> tuple[Observed, ...]:
        """Of the actions that are not observed yet, the oldest will not be: the belief is only moved by them."""
        self._check_open()
        with self._believing:
            if not 0 < count <= len(self._awaited):
                raise ValueError(f"{len(self._awaited)} actions are not observed yet, so {count} cannot be skipped.")
            return self._update([(None, None)] * count)

    # -------------------------------------------------------------------------------------------------- the planning

    @property
    def budget(self) -> Budget:
        """Of each plan, in real time or in steps. Changed, it counts at once, for the search that is under way too."""
        return self._search.budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        self._search.budget = budget

    @property
    def plan(self) -> Plan | None:
        """The plan being carried out; None before the first, and while the robot acts without one."""
        return self._plan

    def best_plan(self) -> Plan | None:
        """The best plan so far for what comes after the macro-action that is being carried out; None if there is none
        yet, and, unless the robot plans ahead, until the last of its actions is observed."""
        return self._search.best()

    def cancel(self) -> None:
        """Stop planning, and forget the rest of the macro-action. Nothing is searched for then, until `next_action` is
        called: that plans anew, for what is believed by then. A `next_action` that waits gives up."""
        with self._lock:
            self._search.cancel()
            self._plan = None
            self._rest.clear()

    def change_context(self, context: np.ndarray) -> None:
        """What is known has changed: the belief is told, and the search begins anew. The macro-action goes on; `cancel`
        stops it."""
        self._check_open()
        with self._believing, self._lock:
            self.belief.change_context(context)
            if self._search.under_way:
                self._begin_search()

    def latency(self) -> Latency:
        """How long actions took after observations."""
        with self._lock:
            kept = np.array(self._latencies)
        if len(kept) == 0:
            return Latency(count=0, p50=math.nan, p99=math.nan, worst=math.nan)
        p50, p99 = (float(value) for value in np.quantile(kept, (0.5, 0.99)))
        return Latency(count=self._latency_count, p50=p50, p99=p99, worst=float(kept.max()))

    # ---------------------------------------------------------------------------------------------- here and elsewhere

    def save(self, path: Path | str) -> None:
        """Write down, in one step, all that the robot needs to go on in another process: the belief with its past, the
        macro-action that is being carried out, what is not observed yet, the budget, and what is planned for. The tree
        of the search is left out: it grows anew."""
        with self._believing, self._lock:
            state = RobotState(
                belief=self.belief,
                seed=self.seed,
                count=self._count,
                plans_ahead=self.plans_ahead,
                budget=self.budget,
                plan=self._plan,
                rest=np.array(self._rest).reshape(-1, self.task.action_size),
                awaited=tuple(self._awaited),
                asked=self._search.asked(),
            )
            save_robot(Path(path), state, self._planner)

    @classmethod
    def restore(cls, path: Path | str, planner: Planner, *, clock: Callable[[], float] = time.monotonic) -> Self:
        """The robot that a file tells of, with a planner for the same task; a ValueError says what is wrong with the
        file. A planner of another kind, or with other settings, is warned of. Time stamps go on only if the clock
        does."""
        state = load_robot(Path(path), planner)
        robot = cls(
            planner, state.belief, budget=state.budget, seed=state.seed, plans_ahead=state.plans_ahead, clock=clock
        )
        robot._plan, robot._count = state.plan, state.count
        robot._rest.extend(state.rest)
        robot._awaited.extend(state.awaited)
        if state.asked is None:
            robot._search.cancel()
        else:
            robot._search.begin(*state.asked)
        return robot

    def close(self) -> None:
        """End the thread that plans. Belief and latency are still there, and it can be saved; the planner is free."""
        self._search.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------------------ inside

    def _check_open(self) -> None:
        """A ValueError if it was closed."""
        if self._search.closed:
            raise ValueError("This robot is closed: make another one, with its belief or a new one.")

    def _give(self) -> np.ndarray:
        """The next action of the macro-action that is being carried out."""
        action, now = self._rest.popleft(), self.clock()
        self._awaited.append(Given(self._count, action, now))
        self._count += 1
        if self._observed_at is not None:
            self._latencies.append(now - self._observed_at)
            self._latency_count += 1
            self._observed_at = None
        return action.copy()

    def _take_up(self, plan: Plan | None) -> None:
        """Begin to carry out a plan or, without one, a single action."""
        self._plan = plan
        if plan is None:
            _log.warning("There is no plan yet for action %d: the robot does what it does without one.", self._count)
            self._rest.append(check_vector(self.task.action_without_plan(), self.task.action_size, "action"))
        elif len(plan.macro_action) == 0:
            raise ValueError("The planner chose a macro-action without any action in it.")
        else:
            self._rest.extend(check_vector(action, self.task.action_size, "action") for action in plan.macro_action)
        self._search.cancel()
        if self.plans_ahead or plan is None:
            self._begin_search()

    def _update(self, seen: Sequence[tuple[np.ndarray | None, float | None]]) -> tuple[Observed, ...]:
        """Update the belief with as many actions as there are observations, the oldest first."""
        happened = []
        for observation, at in seen:
            given = self._awaited[0]
            explanation = self.belief.update(given.action, observation)  # may refuse: then the action stays
            with self._lock:
                self._awaited.popleft()
            happened.append(Observed(given.step, at, explanation))
            if explanation in ("recovered", "ignored"):
                _log.warning("No particle explained what was observed after action %d: %s.", given.step, explanation)
        surprised = any(one.explanation in ("recovered", "ignored") for one in happened)
        with self._lock:
            searching = self._search.under_way
            if (surprised and searching) or (not self._rest and not (self.plans_ahead and searching)):
                self._begin_search()
        return tuple(happened)

    def _begin_search(self) -> None:
        """Plan for what is expected when all that is given or taken up is done. If no particle gets so far, there is
        nothing to plan for yet; who asks for an action all the same gets one for the present belief."""
        coming = [*(given.action for given in self._awaited), *self._rest]
        expected = self.belief.predict(np.array(coming)) if coming else self.belief.particles.copy()
        if len(expected) == 0 and self._rest:
            self._search.cancel()
            return
        particles = expected if len(expected) > 0 else self.belief.particles.copy()
        seed = stream_key(self.seed, 0, PLANNING, self._count)
        self._search.begin(particles, self.belief.context, seed)


def _followed(awaited: Sequence[Given], at: float | None, now: float) -> int:
    """Which of the actions that are not observed yet an observation followed, or a ValueError."""
    if not awaited:
        raise ValueError(
            "There is no action that is not observed yet, so this observation is one too many: ask for an action first."
        )
    if at is None:
        return 0
    if not isinstance(at, Real) or not math.isfinite(at):
        raise ValueError(f"The time of an observation must be a finite number, not {at!r}.")
    if at > now:
        raise ValueError(
            f"The observation of time {at:.10g} has not been made yet, for the robot's clock says {now:.10g}: stamp "
            "observations with that clock."
        )
    before = [position for position, given in enumerate(awaited) if given.time < at]
    if not before:
        raise ValueError(
            f"The observation of time {at:.10g} is out of order: the first action that is not observed yet was "
            f"given at {awaited[0].time:.10g}, and what came before is observed or given up."
        )
    return before[-1]
