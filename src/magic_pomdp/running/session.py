"""An episode that a person steers while it runs: start and stop it, move things, change the planner."""

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from magic_pomdp.core.belief import Belief, check_vector
from magic_pomdp.core.randomness import new_stream, stream_key
from magic_pomdp.core.task import OUTCOMES, RUNNING, Task
from magic_pomdp.planners.plan import Budget, Plan, Planner
from magic_pomdp.running.episode import BEGINNING, BELIEF, PLAN, WORLD, Moment, draw_beginning, step_world
from magic_pomdp.running.evaluate import PlannerChoice, warm_up
from magic_pomdp.running.recording import Recorder
from magic_pomdp.running.workers import describe_error, follow_parent

Command = dict[str, Any]
"""What a person wants: a `kind` (play, pause, step, new, plan, pace, move, watch), and what belongs to it."""
Report = Callable[[str, Any], None]
"""Is told the name of what has changed, and what it is now."""

PACE = 4.0
"""Primitive steps a second at first."""


class Session:
    """Episodes one after the other, which obey commands between two plans or steps, and report all that they do.

    It reports `settings`, `episode` (a new one), `scene`, `frame` (a moment), `row` (a step's number, and what
    charts show of it), `plan`, `choice` (the planner, as it is chosen) and `trouble` (a sentence, or None).
    """

    def __init__(self, task: Task, choice: PlannerChoice, seed: int, report: Report) -> None:
        self.task, self.choice, self.seed, self.report = task, choice, seed, report
        self.playing, self.pace, self.watched = False, PACE, False
        self.episode = -1
        self._wanted = 0
        self._stuck = False
        self._due = 0.0
        self._prepare(choice)
        self._begin()

    # -------------------------------------------------------------------------------------------------- what to do next

    def wait(self) -> float | None:
        """Seconds until there is something to do; None if only a command can change anything."""
        if not self.watched or self._stuck or self.over:
            return None
        if self.plan is None or self._wanted > 0:
            return 0.0
        return max(0.0, self._due - time.perf_counter()) if self.playing else None

    def advance(self) -> None:
        """Do what is to be done: plan, or carry out a step of the plan."""
        try:
            if self.plan is None:
                self._make_plan()
            else:
                self._act(self.plan)
        except Exception as error:  # a task or a planner of a person's own may do anything
            self._stuck = True
            self._say(f"It cannot go on because of {describe_error(error)}.")

    def obey(self, commands: Sequence[Command]) -> None:
        """Do what was asked for. Of several moves of a thing only the last counts."""
        last_moves = {command["handle"]: command for command in commands if command["kind"] == "move"}
        for command in commands:
            if command["kind"] != "move" or last_moves[command["handle"]] is command:
                self._obey(**command)

    def _obey(self, kind: str, **given: Any) -> None:
        if kind == "watch":
            self.watched = given["count"] > 0
            return
        self._stuck = False
        self.report("trouble", None)
        try:
            if kind in ("play", "pause"):
                self._play(kind == "play")
            elif kind == "step":
                self._play(False)
                self._wanted += 1
            elif kind == "new":
                self._begin()
            elif kind == "pace":
                self.pace = given["pace"]
            elif kind == "plan":
                self._change_planner(**given)
            elif kind == "move":
                self._move(**given)
        except Exception as error:
            self._say(str(error) if isinstance(error, ValueError) else f"That failed with {describe_error(error)}.")
        self._report_settings()

    def _play(self, playing: bool) -> None:
        if playing and self.over:
            self._begin()
        self.playing, self._wanted, self._due = playing, 0, 0.0

    def _say(self, sentence: str) -> None:
        self.playing = self.playing and not self._stuck
        self.report("trouble", sentence)
        self._report_settings()

    # ------------------------------------------------------------------------------------------------------ the episode

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self.outcome != RUNNING or self.steps >= self.task.max_steps

    def _begin(self) -> None:
        self.episode += 1
        number = self.seed, self.episode
        self.context, self.state = draw_beginning(self.task, new_stream(*number, BEGINNING))
        self.belief = Belief.initial(self.task, self.context, seed=int(stream_key(*number, BELIEF)))
        self.plan: Plan | None = None
        self.steps, self.total_return, self.outcome = 0, 0.0, RUNNING
        self._done = self._moves = self._wanted = 0
        self._last: tuple[float, np.ndarray | None, np.ndarray | None] = 0.0, None, None
        self._planned: dict[str, float | None] = {"value": None, "lower": None, "upper": None, "seconds": None}
        self.report("episode", {"number": self.episode, "seed": self.seed})
        self._report_scene()
        self._report_frame()

    def _make_plan(self) -> None:
        seed = stream_key(self.seed, self.episode, PLAN, self.steps)
        plan = self.planner.plan(self.belief, self.context, budget=self.budget, seed=seed)
        if len(plan.macro_action) == 0:
            raise ValueError("the planner chose a macro-action without any action in it")
        self.plan, self._done = plan, 0
        described = self._recorder.describe_plan(Moment(self.context, self.state, self.belief, plan, *self._last))
        self._planned = {name: described[name] for name in self._planned}
        self.report("plan", {**described, "time": self.steps})
        self._report_row(self._row)

    def _act(self, plan: Plan) -> None:
        self._wanted = max(0, self._wanted - 1)
        action = check_vector(plan.macro_action[self._done], self.task.action_size, "planner's action")
        observation, random = np.zeros(self.task.observation_size), np.empty(1, np.uint64)
        world = stream_key(self.seed, self.episode, WORLD)
        reward, outcome = step_world(
            self.task, self.context, self.state, action, world, self.steps, random, observation
        )
        if not math.isfinite(reward):
            raise ValueError(f"{type(self.task).__name__}.step gave the reward {reward}")
        self._due = time.perf_counter() + 1.0 / self.pace
        self.steps, self.total_return, self.outcome = self.steps + 1, self.total_return + reward, int(outcome)
        self._last = float(reward), action, observation
        self._done += 1
        if self.over:
            self.playing = False
        else:
            self.belief.update(action, observation)
        if self._done == len(plan.macro_action):
            self.plan = None
        self._report_frame()
        if self.over:
            self._report_settings()

    def _move(self, handle: int, x: float, y: float) -> None:
        """Put a thing elsewhere; what was planned is planned anew.

        The context is known, so the belief goes on in the new one. What a hand does to the state is no step of the
        task: the belief begins anew with its particles, in which the thing is where it was put or, if the
        robot does not see that, anywhere in the view.
        """
        if self.scene is None or not 0 <= handle < len(self.scene.handles):
            raise ValueError("There is nothing of this number to be moved.")
        if self.over:
            raise ValueError("The episode is over: start a new one to move things.")
        moved, (left, bottom, right, top) = self.scene.handles[handle], self.scene.view
        places = [
            (number, value, low, high)
            for number, value, low, high in ((moved.x, x, left, right), (moved.y, y, bottom, top))
            if number is not None
        ]
        self._moves += 1
        if moved.of == "context":
            self.context = self.context.copy()
            for number, value, _, _ in places:
                self.context[number] = value
            self.belief.change_context(self.context)
            self._report_scene()
        else:
            random = np.random.default_rng((self.seed, self.episode, self._moves))
            particles = self.belief.particles
            for number, value, low, high in places:
                self.state[number] = value
                particles[:, number] = value if moved.of == "seen" else random.uniform(low, high, len(particles))
            seed = int(stream_key(self.seed, self.episode, BELIEF, self._moves))
            self.belief = Belief(self.task, self.context, particles, seed)
        self.plan = None
        self._report_frame()

    # ------------------------------------------------------------------------------------------------------ the planner

    def _change_planner(self, planner: str, seconds: float, macro_length: int | None) -> None:
        model = self._model if planner == "magic" else None
        choice = PlannerChoice(planner, macro_length, Budget(seconds=seconds), model=model)
        if dataclasses.replace(choice, budget=self.choice.budget) == self.choice:
            self.choice = choice  # only the budget is another one
        else:
            self._prepare(choice)
        self.plan = None

    def _prepare(self, choice: PlannerChoice) -> None:
        """Make a planner and compile it; the old one stays if this fails."""
        self._model = choice.model or getattr(self, "_model", None)
        self._report_settings(preparing=choice.name)
        planner: Planner = choice(self.task)
        warm_up(self.task, planner)
        self.planner, self.choice = planner, choice
        self._recorder = Recorder(self.task, planner)
        if self.episode >= 0:
            self._recorder.look_at(self.context)
        self.report("choice", choice)

    @property
    def budget(self) -> Budget:
        """Of each plan."""
        return self.choice.budget_for(self.task)

    # ---------------------------------------------------------------------------------------------------------- reports

    def _report_settings(self, preparing: str | None = None) -> None:
        planner = {
            "name": self.choice.name,
            "macro_length": self.choice.length(self.task),
            "budget": dataclasses.asdict(self.budget),
        }
        settings = {"planner": planner, "playing": self.playing, "pace": self.pace, "preparing": preparing}
        self.report("settings", settings)

    def _report_scene(self) -> None:
        self.scene = self._recorder.look_at(self.context)
        self.report("scene", self.scene.to_json() if self.scene else None)

    def _report_frame(self) -> None:
        plan: Any = self.plan  # which has no part in a frame, and may still be missing
        described = self._recorder.describe_moment(Moment(self.context, self.state, self.belief, plan, *self._last))
        tracks = self.scene.particles if self.scene else ()
        clouds = [
            {"role": track.role, "points": described["particles"][:, [track.x, track.y]].ravel()} for track in tracks
        ]
        frame = {
            "step": self.steps,
            "max_steps": self.task.max_steps,
            "return": self.total_return,
            "reward": described["reward"],
            "observation": described["observation"],
            "outcome": OUTCOMES[self.outcome] if self.over else None,
            "clouds": clouds,
            "sprites": described["sprites"],
            "handles": self._handle_places(),
        }
        trails = self.scene.trails if self.scene else ()
        self._row = {
            "return": self.total_return,
            "spread": described["belief_spread"],
            "error": described["belief_error"],
            "trails": [[float(self.state[track.x]), float(self.state[track.y])] for track in trails],
        }
        self.report("frame", frame)
        self._report_row(self._row)

    def _report_row(self, row: dict[str, Any]) -> None:
        self.report("row", (self.steps, {**row, **self._planned, "budget": self.budget.seconds}))

    def _handle_places(self) -> list[list[float | None]]:
        places = []
        for handle in self.scene.handles if self.scene else ():
            numbers = self.context if handle.of == "context" else self.state
            places.append([None if index is None else float(numbers[index]) for index in (handle.x, handle.y)])
        return places


def run_session(connection: Connection, task: Task, choice: PlannerChoice, seed: int) -> None:
    """The life of a process that runs a session: commands come through the connection, reports go back."""
    follow_parent()

    def report(name: str, value: Any) -> None:
        connection.send((name, value))

    with suppress(EOFError, OSError):  # the other side has gone
        try:
            session = Session(task, choice, seed, report)
            session._report_settings()
        except Exception as error:
            report("failed", describe_error(error))
            return
        report("ready", None)
        while True:
            if connection.poll(session.wait()):
                commands = [connection.recv()]
                while connection.poll():
                    commands.append(connection.recv())
                session.obey(commands)
            else:
                session.advance()
