"""A planner with a thread of its own: it searches while others do something else, and tells the best plan so far."""

import dataclasses
import threading
import time
import weakref
from dataclasses import dataclass

import numpy as np

from magic_pomdp.planners.plan import BUDGET_USED, STILL_SEARCHING, Budget, Plan, Planner, budget_or

SLICE_SECONDS = 0.01
"""After so long a search tells what it has found, and whether it goes on is asked again."""
SLICE_STEPS = 50_000
"""The same with a budget in primitive steps: always as many, so that plans are the same on every machine."""


@dataclass(eq=False)
class _Question:
    """What to plan for, and what was found so far."""

    particles: np.ndarray
    context: np.ndarray
    seed: np.uint64
    best: Plan | None = None
    seconds: float = 0.0
    """Time spent on it."""
    ended: bool = False
    """Whether to search on is of no use: there is nothing more to gain, or no more room."""
    failure: Exception | None = None

    def is_answered(self, budget: Budget) -> bool:
        """Whether all that the budget allows is done."""
        if self.ended or self.failure is not None:
            return True
        if self.best is None:
            return False
        if budget.steps is not None:
            return self.best.steps >= budget.steps
        assert budget.seconds is not None
        return self.seconds >= budget.seconds

    def next_slice(self, budget: Budget, whole: bool) -> Budget:
        """What to search for next: all that is left of the budget, or a slice of it."""
        if budget.steps is not None:
            left = budget.steps - (0 if self.best is None else self.best.steps)
            return Budget(steps=left if whole else min(left, SLICE_STEPS))
        assert budget.seconds is not None
        seconds = budget.seconds - self.seconds
        return Budget(seconds=seconds if whole else min(seconds, SLICE_SECONDS))


class _Desk:
    """What the thread and those who ask it share. It does not know who asks, so that these may be forgotten."""

    def __init__(self, planner: Planner, budget: Budget) -> None:
        self.planner, self.budget = planner, budget
        self.changed = threading.Condition()
        self.question: _Question | None = None
        self.closed = False
        self.died: BaseException | None = None
        """What ended the thread, other than `close`."""

    def work(self) -> None:
        """The life of the thread."""
        try:
            self._answer_questions()
        except BaseException as error:  # nobody may wait for ever
            with self.changed:
                self.died = error
                self.changed.notify_all()

    def _answer_questions(self) -> None:
        last: _Question | None = None  # the one that the planner can go on with
        go_on = getattr(self.planner, "go_on", None)
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.closed or self._has_work())
                if self.closed or self.question is None:
                    return
                question = self.question
                budget = question.next_slice(self.budget, whole=go_on is None)
            began = time.perf_counter()
            plan, failure = None, None
            try:
                if go_on is not None and question is last:
                    plan = go_on(budget)
                else:
                    plan = self.planner.plan(question.particles, question.context, budget=budget, seed=question.seed)
                if not isinstance(plan, Plan):
                    raise ValueError(f"The planner made a {type(plan).__name__}, not a Plan.")
                last = question
            except Exception as error:  # whoever asks next is told
                plan, failure, last = None, error, None
            with self.changed:
                question.seconds += time.perf_counter() - began
                question.failure = failure
                if plan is not None:
                    question.best = dataclasses.replace(plan, seconds=question.seconds)
                    question.ended = go_on is None or plan.stopped_by != BUDGET_USED
                self.changed.notify_all()

    def _has_work(self) -> bool:
        return self.question is not None and not self.question.is_answered(self.budget)

    def close(self) -> None:
        with self.changed:
            self.closed, self.question = True, None
            self.changed.notify_all()


class BackgroundSearch:
    """Plans in a thread of its own. The planner is its own, too: nobody else may plan with it.

    A planner that has `go_on` is asked for a slice of the search at a time: there is a plan after the first, a changed
    budget counts at once, and so does `cancel`. Any other planner spends its whole budget in one go.
    """

    def __init__(self, planner: Planner, budget: Budget) -> None:
        self._desk = _Desk(planner, budget_or(budget, None))
        self._thread = threading.Thread(target=self._desk.work, name="magic-pomdp search", daemon=True)
        self._thread.start()
        self._end = weakref.finalize(self, _end, self._desk, self._thread)

    @property
    def budget(self) -> Budget:
        """Of each search. A larger one lets a search go on that has spent its budget."""
        return self._desk.budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        budget = budget_or(budget, None)
        with self._desk.changed:
            self._desk.budget = budget
            self._desk.changed.notify_all()

    @property
    def closed(self) -> bool:
        """Whether it has ended."""
        return self._desk.closed

    @property
    def under_way(self) -> bool:
        """Whether it has been asked something that was not cancelled; the answer may be there already."""
        return self._desk.question is not None

    def begin(self, particles: np.ndarray, context: np.ndarray, seed: np.uint64) -> None:
        """Search for a belief's particles in a context, instead of what was searched for before. The arrays must not
        change any more."""
        with self._desk.changed:
            if self._desk.closed:
                raise ValueError("This search is closed: make another one.")
            self._desk.question = _Question(particles, context, seed)
            self._desk.changed.notify_all()

    def cancel(self) -> None:
        """Forget what was asked, and what was found."""
        with self._desk.changed:
            self._desk.question = None
            self._desk.changed.notify_all()

    def best(self) -> Plan | None:
        """The best plan so far; None if there is none yet. What went wrong in the search is raised here."""
        with self._desk.changed:
            plan, question = self._answer(), self._desk.question
            if plan is None or question is None or question.is_answered(self._desk.budget):
                return plan
            return dataclasses.replace(plan, stopped_by=STILL_SEARCHING)

    def wait(self, seconds: float | None = None) -> Plan | None:
        """The best plan when the budget is spent, or after so many seconds; None if there is none by then, or if the
        search was cancelled."""
        desk = self._desk
        with desk.changed:
            desk.changed.wait_for(
                lambda: desk.died is not None or desk.question is None or desk.question.is_answered(desk.budget),
                seconds,
            )
            return self._answer()

    def asked(self) -> tuple[np.ndarray, np.ndarray, np.uint64] | None:
        """What it was asked last, unless that was cancelled: particles, context and seed."""
        with self._desk.changed:
            question = self._desk.question
            return None if question is None else (question.particles, question.context, question.seed)

    def close(self) -> None:
        """End the thread; waits until the present slice of the search is done."""
        self._end()

    def _answer(self) -> Plan | None:
        question = self._desk.question
        if self._desk.died is not None:
            raise RuntimeError("The search has ended: make another robot.") from self._desk.died
        if question is None:
            return None
        if question.failure is not None:
            self._desk.question = None
            raise question.failure
        return question.best


def _end(desk: _Desk, thread: threading.Thread) -> None:
    desk.close()
    if thread is not threading.current_thread():
        thread.join()
