"""An episode that a person steers while it runs: start and stop it, move things, change the planner."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection

import msgspec
import numpy as np

from magic_pomdp.core.belief import Belief
from magic_pomdp.core.randomness import stream_key
from magic_pomdp.core.scene import Scene
from magic_pomdp.core.settings import SettingValue, settings_of
from magic_pomdp.core.task import Task
from magic_pomdp.planners.plan import Budget, Planner
from magic_pomdp.planners.registry import find_planner
from magic_pomdp.results.recording import RecordedPlan
from magic_pomdp.running.commands import (
    ChangePace,
    ChangePlanner,
    Cloud,
    Command,
    LiveEpisode,
    LiveFrame,
    LivePlanner,
    LiveRow,
    LiveSettings,
    Move,
    NewEpisode,
    OneStep,
    Pause,
    Play,
    Watchers,
    newest,
)
from magic_pomdp.running.episode import Episode
from magic_pomdp.running.evaluating import warm_up
from magic_pomdp.running.factory import PlannerFactory
from magic_pomdp.running.recording import Recorder
from magic_pomdp.running.workers import describe_error, follow_parent
from magic_pomdp.running.world import BELIEVING, SimulatedWorld

Reported = (
    LiveSettings | LiveEpisode | Scene | LiveFrame | tuple[int, LiveRow] | RecordedPlan | PlannerFactory | str | None
)
Report = Callable[[str, Reported], None]
"""Is told the name of what has changed, and what it is now."""

_PACE = 4.0
"""Primitive steps a second at first."""


class Session:
    """Episodes one after the other, which obey commands between two plans or steps, and report all that they do.

    It reports `settings`, `episode` (a new one), `scene`, `frame` (a moment), `row` (a step's number, and what
    charts show of it), `plan`, `planner` (the factory of the one that plans now) and `trouble` (a sentence, or None).
    """

    def __init__(self, task: Task, factory: PlannerFactory, seed: int, report: Report) -> None:
        self.task, self.seed, self.report = task, seed, report
        self.playing, self.pace, self.watched = False, _PACE, False
        self.number = -1
        self._wanted = 0
        self._stuck = False
        self._due = 0.0
        self._overrides: dict[str, SettingValue] = {}
        self._use(factory)
        self._prepare(factory)
        self._begin()

    # -------------------------------------------------------------------------------------------------- what to do next

    def wait(self) -> float | None:
        """Seconds until there is something to do; None if only a command can change anything."""
        if not self.watched or self._stuck or self.episode.over:
            return None
        if self.episode.needs_plan or self._wanted > 0:
            return 0.0
        return max(0.0, self._due - time.perf_counter()) if self.playing else None

    def advance(self) -> None:
        """Do what is to be done: plan, or carry out a step of the plan."""
        try:
            if self.episode.needs_plan:
                self._make_plan()
            else:
                self._act()
        except Exception as error:  # a task or a planner of a person's own may do anything
            self._stuck = True
            self._say(f"It cannot go on because of {describe_error(error)}.")

    def obey(self, commands: Sequence[Command]) -> None:
        """Do what was asked for. Of several commands of one kind only the last counts."""
        for command in newest(commands):
            self._obey(command)

    def _obey(self, command: Command) -> None:
        if isinstance(command, Watchers):
            self.watched = command.count > 0
            return
        self._stuck = False
        self.report("trouble", None)
        try:
            match command:
                case Play() | Pause():
                    self._play(isinstance(command, Play))
                case OneStep():
                    self._play(False)
                    self._wanted += 1
                case NewEpisode():
                    self._begin()
                case ChangePace():
                    self.pace = command.pace
                case ChangePlanner():
                    self._change_planner(command)
                case Move():
                    self._move(command)
        except Exception as error:
            self._say(str(error) if isinstance(error, ValueError) else f"That failed with {describe_error(error)}.")
        self.report_settings()

    def _play(self, playing: bool) -> None:
        if playing and self.episode.over:
            self._begin()
        self.playing, self._wanted, self._due = playing, 0, 0.0

    def _say(self, sentence: str) -> None:
        self.playing = self.playing and not self._stuck
        self.report("trouble", sentence)
        self.report_settings()

    # ------------------------------------------------------------------------------------------------------ the episode

    def _begin(self) -> None:
        self.number += 1
        self.world = SimulatedWorld(self.task)
        self.episode = Episode(self.task, self.planner, self.world, self.seed, self.number)
        self._moves = self._wanted = 0
        self._row = LiveRow(total_return=0.0, spread=0.0, error=0.0, trails=())
        self.report("episode", LiveEpisode(number=self.number, seed=self.seed))
        self._report_scene()
        self._report_frame()

    def _make_plan(self) -> None:
        self.episode.prepare(self.budget)
        plan = self._recorder.describe_plan(self.episode.moment(), self.episode.steps)
        self._row = msgspec.structs.replace(
            self._row, value=plan.value, lower=plan.lower, upper=plan.upper, seconds=plan.seconds
        )
        self.report("plan", plan)
        self._report_row()

    def _act(self) -> None:
        self._wanted = max(0, self._wanted - 1)
        self.episode.act()
        self._due = time.perf_counter() + 1.0 / self.pace
        if self.episode.over:
            self.playing = False
        self._report_frame()
        if self.episode.over:
            self.report_settings()

    def _move(self, move: Move) -> None:
        """Put a thing elsewhere; what was planned is planned anew.

        The context is known, so the belief goes on in the new one. What a hand does to the state is no step of the
        task: the belief begins anew with its particles, in which the thing is where it was put or, if the
        robot does not see that, anywhere in the view.
        """
        if self.scene is None or not 0 <= move.handle < len(self.scene.handles):
            raise ValueError("There is nothing of this number to be moved.")
        if self.episode.over:
            raise ValueError("The episode is over: start a new one to move things.")
        moved, (left, bottom, right, top) = self.scene.handles[move.handle], self.scene.view
        places = [
            (number, value, low, high)
            for number, value, low, high in ((moved.x, move.x, left, right), (moved.y, move.y, bottom, top))
            if number is not None
        ]
        self._moves += 1
        if moved.of == "context":
            context = self.episode.context.copy()
            for number, value, _, _ in places:
                context[number] = value
            self.world.context = context
            self.episode.belief.change_context(context)
            self._report_scene()
        else:
            random = np.random.default_rng((self.seed, self.number, self._moves))
            particles = self.episode.belief.particles
            for number, value, low, high in places:
                self.world.state[number] = value
                particles[:, number] = value if moved.of == "seen" else random.uniform(low, high, len(particles))
            seed = int(stream_key(self.seed, self.number, BELIEVING, self._moves))
            self.episode.belief = Belief(self.task, self.episode.context, particles, seed)
        self.episode.forget_plans()
        self._report_frame()

    # ------------------------------------------------------------------------------------------------------ the planner

    def _change_planner(self, wanted: ChangePlanner) -> None:
        known = settings_of(find_planner(wanted.planner).settings)
        overrides = {name: value for name, value in self._overrides.items() if name != "macro_length"}
        if wanted.macro_length is not None:
            overrides["macro_length"] = wanted.macro_length
        factory = PlannerFactory(
            wanted.planner,
            Budget(seconds=wanted.seconds),
            {name: value for name, value in overrides.items() if name in known},
        )
        if replace(factory, budget=self.factory.budget) == self.factory:
            self._use(factory)  # only the budget is another one
        else:
            self._prepare(factory)
            self.episode.planner = self.planner
        self.episode.forget_plans()

    def _use(self, factory: PlannerFactory) -> None:
        self.factory, self.budget, self._length = factory, factory.budget_for(self.task), factory.length_in(self.task)

    def _prepare(self, factory: PlannerFactory) -> None:
        """Make a planner and compile it; the old one stays if this fails."""
        self.report_settings(preparing=factory.label)
        planner: Planner = factory(self.task)
        warm_up(self.task, planner)
        self.planner = planner
        self._use(factory)
        self._overrides |= factory.overrides  # kept for who plans later
        self._recorder = Recorder(self.task, planner)
        if self.number >= 0:
            self._recorder.look_at(self.episode.context)
        self.report("planner", factory)

    # ---------------------------------------------------------------------------------------------------------- reports

    def report_settings(self, preparing: str | None = None) -> None:
        """Tell what is set."""
        planner = LivePlanner(
            name=self.factory.name, label=self.factory.label, macro_length=self._length, budget=self.budget
        )
        settings = LiveSettings(planner=planner, playing=self.playing, pace=self.pace, preparing=preparing)
        self.report("settings", settings)

    def _report_scene(self) -> None:
        self.scene = self._recorder.look_at(self.episode.context)
        self.report("scene", self.scene)

    def _report_frame(self) -> None:
        episode, frame = self.episode, self._recorder.describe_moment(self.episode.moment())
        tracks = self.scene.particles if self.scene else ()
        total = float(sum(episode.rewards))
        self.report(
            "frame",
            LiveFrame(
                step=episode.steps,
                max_steps=self.task.max_steps,
                total_return=total,
                reward=frame.reward,
                observation=frame.observation,
                outcome=episode.outcome.word if episode.over else None,
                clouds=tuple(
                    Cloud(role=track.role, points=frame.particles[:, [track.x, track.y]].ravel()) for track in tracks
                ),
                sprites=frame.sprites,
                handles=self._handle_places(),
            ),
        )
        trails, state = self.scene.trails if self.scene else (), self.world.state
        self._row = msgspec.structs.replace(
            self._row,
            total_return=total,
            spread=frame.belief_spread,
            error=frame.belief_error,
            trails=tuple((float(state[track.x]), float(state[track.y])) for track in trails),
        )
        self._report_row()

    def _report_row(self) -> None:
        self._row = msgspec.structs.replace(self._row, budget=self.budget.seconds)
        self.report("row", (self.episode.steps, self._row))

    def _handle_places(self) -> tuple[tuple[float | None, float | None], ...]:
        places = []
        for handle in self.scene.handles if self.scene else ():
            numbers = self.episode.context if handle.of == "context" else self.world.state
            x, y = (None if index is None else float(numbers[index]) for index in (handle.x, handle.y))
            places.append((x, y))
        return tuple(places)


def run_session(connection: Connection, task: Task, factory: PlannerFactory, seed: int) -> None:
    """The life of a process that runs a session: commands come through the connection, as many at once as there are,
    and reports go back. Between two lots of commands there is time for what is to be done, however many come."""
    follow_parent()

    def report(name: str, value: Reported) -> None:
        connection.send((name, value))

    with suppress(EOFError, OSError):  # the other side has gone
        try:
            session = Session(task, factory, seed, report)
            session.report_settings()
        except Exception as error:
            report("failed", describe_error(error))
            return
        report("ready", None)
        while True:
            if connection.poll(session.wait()):
                session.obey(connection.recv())
                report("obeyed", None)
            if session.wait() == 0.0:
                session.advance()
