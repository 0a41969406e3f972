"""The trainer: workers run episodes, the learner learns from them, and every now and then the result is evaluated.

With worker processes the two go their own pace. Without (`workers=0`) they take turns: an episode, then the updates
that it has earned. All chance then follows from the seed and from counters, so a training can be repeated, or
interrupted and resumed, with the same weights to the last bit.
"""

from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from magic_pomdp.core.statistics import mean, with_error
from magic_pomdp.core.task import Task
from magic_pomdp.learning.collecting import (
    BASELINE,
    EVALUATED,
    EVALUATION,
    FINAL,
    FINAL_BASELINE,
    LIVE,
    MEETS,
    PURPOSES,
    TRAINING,
    Collected,
    Collecting,
    EpisodeJob,
    WeightBoard,
)
from magic_pomdp.learning.interrupting import interrupts_noted
from magic_pomdp.learning.learner import Diverged
from magic_pomdp.learning.measuring import Meter, RunningEvaluation
from magic_pomdp.learning.settings import TrainSettings
from magic_pomdp.learning.state import BEST, TrainingState
from magic_pomdp.learning.watching import Watch
from magic_pomdp.results.metrics import EvaluationReport, Progress
from magic_pomdp.running.workers import JobFailed, poll_jobs

BOARD = ".weights"
"""The file in a training's folder from which workers read the weights."""
_PUBLISH_UPDATES = 10
"""Updates after which workers get new weights."""
_REPORT_SECONDS = 5.0
"""Time between reports."""
_RECENT = 100
"""Episodes of which the recent return is the mean."""
_PAUSE = 4.0
"""Between evaluations, in multiples of what one takes: learning gets most of the time."""
_EVALUATION_SHARE = 0.1
"""Of the minutes: so many go into the first evaluation, of the set to beat. All later ones have as many episodes."""
_FEWEST = 20
"""Episodes of an evaluation, however long they take."""
_IDLE_SECONDS = 0.2
"""How long to wait for an episode, when there is nothing else to do, before looking at the clock."""

_Results = Generator[tuple[EpisodeJob, Collected] | None, None, None]
"""Episodes as they are finished; None whenever none has been for a while."""


@dataclass(frozen=True)
class Trained:
    """How a training has ended."""

    model: Path | None
    """The best generator; None if the warm-up was not over."""
    score: EvaluationReport | None
    """What it returned, in episodes that had no part in choosing it if there was time for these."""
    curve: tuple[EvaluationReport, ...]
    """The evaluations on the way, the first first."""
    updates: int
    plans: int
    warmup: int
    """Plans that the warm-up needed."""
    minutes: float
    stopped_by: str
    """"minutes", "updates", "patience" or "interrupt"."""


class Trainer:
    """The loop of a training, and what it needs beside the state."""

    def __init__(self, task: Task, settings: TrainSettings, folder: Path, watch: Watch, place: str = "") -> None:
        self.task, self.settings, self.watch = task, settings, watch
        self.state = TrainingState(task, settings, folder, place)
        self.learner, self.replay = self.state.learner, self.state.replay
        self.lockstep = settings.worker_count == 0
        self._evaluated_at = self._evaluation_seconds = 0.0
        self._interrupted = self._concluding = False
        self._evaluation: RunningEvaluation | None = None
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._meter = Meter()
        self._beginning: dict[str, np.ndarray] | None = None  # a generator that has learned nothing, to be evaluated

    def _note_interrupt(self) -> None:
        self._interrupted = True

    # ------------------------------------------------------------------------------------------------ start and end

    def prepare(self, resume: bool) -> None:
        """Make the folder ready; go on from the newest checkpoint if told to."""
        self.state.open(resume, self.watch.say)
        self._board = WeightBoard(self.state.folder / BOARD, self.state.shape.weight_count, create=True)
        self._evaluated_at = self._meter.since = self.state.seconds
        if self.state.warmed_up:
            self._begin_learning()

    def run(self) -> Trained:
        """Train until the end."""
        with interrupts_noted(self._note_interrupt), closing(self._results()) as results:
            try:
                stopped_by = self._loop(results)
            except JobFailed:
                self.state.save()
                raise
            self.state.save()
            if stopped_by != "interrupt" and self.state.warmed_up:
                self._conclude(results)
        state = self.state
        return Trained(
            model=state.folder / BEST if (state.folder / BEST).is_file() else None,
            score=state.history[-1] if state.concluded else state.best,
            curve=tuple(state.curve),
            updates=self.learner.updates,
            plans=self.replay.added,
            warmup=state.warmup,
            minutes=state.seconds / 60.0,
            stopped_by="interrupt" if self._interrupted else stopped_by,
        )

    def _loop(self, results: _Results) -> str:
        while True:
            stopped_by = self._why_stop()
            if stopped_by:
                return stopped_by
            if self._evaluation is None and not self._has_baseline(BASELINE):
                self._begin_evaluation(BASELINE)
            if self._evaluation is None and self._beginning is not None:
                self._begin_evaluation(EVALUATION, self._beginning)
            if self._is_evaluation_due():  # before the next update, so that one that was interrupted is made up for
                self._begin_evaluation(EVALUATION)
            if self._owed() > 0:
                self._update()
            if self._owed() <= 0 or not self.lockstep:
                self._take(results)
            self._keep_up()

    def _why_stop(self) -> str | None:
        settings = self.settings
        if self._interrupted:
            return "interrupt"
        if settings.minutes is not None and self.state.seconds >= 60.0 * settings.minutes:
            return "minutes"
        if settings.updates is not None and self.learner.updates >= settings.updates:
            return "updates"
        if settings.patience is not None and self._evaluations_since_best() >= settings.patience:
            return "patience"
        return None

    def _evaluations_since_best(self) -> int:
        returns = [report.return_mean for report in self.state.curve if report.updates > 0]
        return len(returns) - 1 - returns.index(max(returns)) if returns else 0

    def _conclude(self, results: _Results) -> None:
        """Evaluate the last generator, then the best one on episodes that had no part in choosing it."""
        self._concluding, self._beginning = True, None
        if self._evaluation is not None or not self.state.concluded:
            self.watch.say("The training is over; its result is being evaluated.")
        while not self._interrupted:
            if self._evaluation is not None:
                self._take(results)
                self._tell()
            elif self.state.best is None or self._last_evaluated() < self.learner.updates:
                self._begin_evaluation(EVALUATION)
            elif self.state.concluded:
                return
            else:
                self._begin_evaluation(FINAL if self._has_baseline(FINAL_BASELINE) else FINAL_BASELINE)

    def _has_baseline(self, purpose: int) -> bool:
        """Whether it is known what the set to beat returns in the episodes of an evaluation."""
        known, asked = self._baseline(MEETS[purpose]), self.settings.evaluation_episodes
        return len(known) == asked if asked is not None else len(known) > 0

    def _baseline(self, purpose: int) -> tuple[float, ...]:
        """What the set to beat returned in the episodes of an evaluation, as far as that is known."""
        return self.state.baselines.get(PURPOSES[purpose], ())

    def _last_evaluated(self) -> int:
        """Updates of the last generator that was evaluated."""
        return max((report.updates for report in self.state.curve), default=-1)

    # ---------------------------------------------------------------------------------------------------- learning

    def _owed(self) -> int:
        """Updates that the experience so far allows and that are still to be made."""
        if not self.state.warmed_up or (self.lockstep and self._evaluation is not None):
            return 0
        if self.lockstep and self._beginning is not None:
            return 0
        earned = self.settings.updates_earned(self.replay.added, self.state.warmup)
        return (earned if self.settings.updates is None else min(earned, self.settings.updates)) - self.learner.updates

    def _update(self) -> None:
        try:
            measured = self.learner.update(self.replay)
        except Diverged:
            self.state.save()
            raise
        self._meter.add(measured)
        if not self.lockstep and self.learner.updates % _PUBLISH_UPDATES == 0:
            self._board.write(LIVE, self.learner.generator_vector())

    def _take(self, results: _Results) -> None:
        """Take the result of an episode, if there is one."""
        if self.lockstep and self.state.warmed_up:
            self._board.write(LIVE, self.learner.generator_vector())
        finished = next(results)
        if finished is None:
            return
        self.state.start_clock()
        job, collected = finished
        if job.purpose == TRAINING:
            if not self._concluding:
                self._learn_from(job, collected)
        elif self._evaluation is not None and self._evaluation.purpose == job.purpose:
            self._evaluation.records[job.number] = collected.record
            self._keep_short(self._evaluation)
            if len(self._evaluation.records) == self._evaluation.episodes:
                self._finish_evaluation(self._evaluation)

    def _learn_from(self, job: EpisodeJob, collected: Collected) -> None:
        experience = collected.experience
        if experience is None:
            return
        if not (np.isfinite(experience.value).all() and np.isfinite(experience.values).all()):
            self.state.save()
            raise Diverged(f"The planner found a value that is not finite in episode {job}.")
        self.replay.add(experience)
        self._recent.append(collected.record.total_return)
        self._meter.plans += len(experience)
        if not self.state.warmed_up and self._is_warm():
            self.learner.fit_scales(self.replay.all())
            self.state.warmed_up, self.state.warmup = True, min(self.settings.warmup, self.replay.added)
            self._evaluated_at = self.state.seconds
            self._begin_learning()
            self.watch.say(f"Warm-up over after {self.replay.added:,} plans; learning begins.")

    def _is_warm(self) -> bool:
        """Whether there are plans enough, or no time for more of them."""
        settings, plans, minutes = self.settings, self.replay.added, self.settings.warmup_minutes
        if plans >= settings.warmup or minutes is None:
            return plans >= settings.warmup
        return plans >= settings.batch and self.state.seconds >= 60.0 * minutes

    def _begin_learning(self) -> None:
        self._board.write(LIVE, self.learner.generator_vector())
        if self.learner.updates == 0 and not self.state.curve:
            self._beginning = self.learner.generator_arrays()

    # ----------------------------------------------------------------------------------------------------- episodes

    def _results(self) -> _Results:
        settings = self.settings
        setup = Collecting(
            task=self.task,
            shape=self.state.shape,
            space=self.state.space,
            board=(self.state.folder / BOARD).resolve(),
            seed=settings.seed,
            plan_steps=settings.training_budget,
            evaluation_steps=settings.evaluation_budget,
            warmup_std=settings.warmup_std if settings.start == "handcrafted" else None,
            handcrafted=settings.handcrafted_in(self.task),
            searching=settings.searching(),
        )
        return poll_jobs(setup, self._jobs(), settings.worker_count, "Episode", self._patience, setup.board)

    def _patience(self) -> float:
        return 0.0 if self._owed() > 0 and not self._concluding else _IDLE_SECONDS

    def _jobs(self) -> Iterator[EpisodeJob]:
        while True:
            if self._evaluation is not None and self._evaluation.begun < self._evaluation.episodes:
                self._evaluation.begun += 1
                yield EpisodeJob(self._evaluation.purpose, self._evaluation.begun - 1)
            else:
                self.state.episodes += 1
                yield EpisodeJob(TRAINING, self.state.episodes - 1)

    def _begin_evaluation(self, purpose: int, arrays: dict[str, np.ndarray] | None = None) -> None:
        updates = 0 if arrays is not None else self.learner.updates
        if purpose == EVALUATION:
            self._beginning = None
        if arrays is None:
            arrays = self.state.best_arrays if purpose == FINAL else self.learner.generator_arrays()
        if purpose not in MEETS:
            self._board.write(EVALUATED, self.state.shape.pack(arrays))
        self._evaluation = RunningEvaluation(
            purpose,
            len(self._baseline(purpose)) or self.settings.most_evaluated,
            self.settings.evaluation_budget,
            self.task.concurrent,
            arrays,
            updates,
            self.state.seconds / 60.0,
        )

    def _keep_short(self, evaluation: RunningEvaluation) -> None:
        """Let the evaluation of a set to beat begin no more episodes once it takes too long."""
        settings, spent = self.settings, self.state.seconds / 60.0 - evaluation.minutes
        if evaluation.purpose not in MEETS or settings.evaluation_episodes is not None or settings.counted:
            return
        if settings.minutes is not None and spent >= _EVALUATION_SHARE * settings.minutes:
            evaluation.episodes = min(evaluation.episodes, max(evaluation.begun, _FEWEST))

    def _finish_evaluation(self, evaluation: RunningEvaluation) -> None:
        self._evaluation = None
        self._evaluation_seconds = self.state.seconds - 60.0 * evaluation.minutes
        if evaluation.purpose in MEETS:
            self._keep_baseline(evaluation)
            return
        report, best = evaluation.report(self._baseline(evaluation.purpose)), self.state.best
        if evaluation.purpose == FINAL:
            assert best is not None
            report = msgspec.structs.replace(report, final=True, updates=best.updates, minutes=best.minutes)
        else:
            better = best is None or report.return_mean > best.return_mean
            report = msgspec.structs.replace(report, best=better)
        self.state.keep(report, evaluation.arrays)
        self.watch.evaluated(report, self.state.curve)
        self.state.save()
        self._evaluated_at = self.state.seconds

    def _keep_baseline(self, evaluation: RunningEvaluation) -> None:
        self.state.baselines[PURPOSES[MEETS[evaluation.purpose]]] = evaluation.returns
        self.state.save()
        if evaluation.purpose == BASELINE:
            returns = with_error(evaluation.report().return_mean, evaluation.returns)
            self.watch.say(f"The set to beat, of lengths {self.settings.handcrafted}, returns {returns}.")

    # ------------------------------------------------------------------------------------------- reports and saving

    def _keep_up(self) -> None:
        """Report and save when it is time to."""
        self._tell()
        if self.state.seconds - self.state.saved_at >= 60.0 * self.settings.checkpoint_minutes:
            self.state.save()

    def _is_evaluation_due(self) -> bool:
        every, waited = self.settings.updates_to_evaluation, self.state.seconds - self._evaluated_at
        if not self.state.warmed_up or self._evaluation is not None:
            return False
        if every is None and waited < max(
            60.0 * self.settings.minutes_to_evaluation, _PAUSE * self._evaluation_seconds
        ):
            return False
        return self.learner.updates // (every or 1) > max(0, self._last_evaluated()) // (every or 1)

    def _tell(self) -> None:
        """Report when it is time to."""
        if self.state.seconds - self._meter.since >= _REPORT_SECONDS:
            self.watch.progress(self._report())

    def _report(self) -> Progress:
        seconds, limit, most = self.state.seconds, self.settings.minutes, self.settings.updates
        reading = self._meter.read(seconds)
        return Progress(
            minutes=seconds / 60.0,
            minutes_left=None if limit is None else max(0.0, limit - seconds / 60.0),
            updates=self.learner.updates,
            updates_left=None if most is None else max(0, most - self.learner.updates),
            plans=self.replay.added,
            warmup=self.state.warmup,
            replay=len(self.replay),
            episodes=self.state.episodes,
            warming_up=not self.state.warmed_up,
            recent_return=mean(list(self._recent)) if self._recent else None,
            evaluation=None if self._evaluation is None else self._evaluation.progress,
            best=None if self.state.best is None else self.state.best.return_mean,
            updates_per_second=reading.updates_per_second,
            plans_per_second=reading.plans_per_second,
            measured=reading.measured,
            target_entropy=self.learner.target_entropy,
        )
