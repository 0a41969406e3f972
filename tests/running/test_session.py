"""An episode that is steered while it runs."""

from dataclasses import dataclass

import numpy as np
import pytest

from magic_pomdp import Belief, Budget, Plan, make
from magic_pomdp.magic import MagicSettings
from magic_pomdp.planners import PlannerSettings, register_planner, registry, setting
from magic_pomdp.running import PlannerFactory
from magic_pomdp.running.commands import (
    ChangePace,
    ChangePlanner,
    Move,
    NewEpisode,
    OneStep,
    Pause,
    Play,
    Watchers,
)
from magic_pomdp.running.episode import NOT_PLANNED
from magic_pomdp.running.session import Session, run_session
from magic_pomdp.tasks.light_dark import LightDark

GOAL, LIGHT, ROBOT = range(3)
PLAN = ChangePlanner("macro-despot", 0.02, None)
QUICKLY = ChangePace(1000.0)


class Told:
    """What a session has reported: the newest of everything, and all troubles."""

    def __init__(self):
        self.newest, self.rows, self.troubles = {}, {}, []

    def __call__(self, name, value):
        self.newest[name] = value
        if name == "row":
            self.rows[value[0]] = value[1]
        if name == "trouble" and value:
            self.troubles.append(value)


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def session(told):
    return watched(make("light-dark", max_steps=12), told)


def watched(task, told, factory=None):
    """A session that somebody watches."""
    session = Session(task, factory or PlannerFactory(budget=Budget(seconds=0.005)), 0, told)
    session.obey([Watchers(1)])
    return session


def go_on(session, until=lambda session: session.wait() is None):
    for _ in range(200):
        if until(session):
            return
        session.advance()
    raise AssertionError("it did not end")


def test_an_episode_runs_and_ends(session, told):
    go_on(session)
    assert (told.newest["plan"].time, told.newest["frame"].step) == (0, 0)  # it plans, and waits
    session.obey([OneStep()])
    go_on(session)
    assert told.newest["frame"].step == 1
    session.obey([QUICKLY, Play()])
    go_on(session)
    assert told.newest["frame"].outcome in ("success", "failure")
    assert told.newest["settings"].playing is False
    assert list(told.rows) == list(range(told.newest["frame"].step + 1))
    assert all(row.value is not None for row in told.rows.values())
    session.obey([Play()])
    assert (session.number, session.episode.steps, told.troubles) == (1, 0, [])
    assert (told.newest["episode"].number, told.newest["episode"].seed) == (1, 0)


def test_nothing_happens_while_nobody_watches(session):
    session.obey([Play(), Watchers(0)])
    assert session.wait() is None
    session.obey([Watchers(2)])
    assert session.wait() == 0.0
    assert session.playing


def test_a_pause_keeps_what_there_is(session, told):
    session.obey([QUICKLY, Play()])
    go_on(session, until=lambda session: session.episode.steps == 2)
    session.obey([Pause()])
    go_on(session)
    assert (session.episode.steps, session.playing, told.newest["settings"].playing) == (2, False, False)
    session.obey([NewEpisode()])
    assert (session.number, session.episode.steps, told.newest["frame"].step) == (1, 0, 0)


def test_a_moved_goal_is_known(session, told):
    go_on(session)
    particles = session.episode.belief.particles.copy()
    session.obey([Move(GOAL, x, -2.0) for x in (1.0, 2.0, 3.0)])
    assert session._moves == 1  # of several moves the last counts
    assert session.world.context[:2].tolist() == session.episode.belief.context[:2].tolist() == [3.0, -2.0]
    assert np.array_equal(session.episode.belief.particles, particles)
    assert told.newest["frame"].handles[GOAL] == (3.0, -2.0)
    assert told.newest["scene"].shapes[1].x == 3.0
    assert session.episode.plan is None
    go_on(session)
    assert session.episode.plan is not None


def test_a_moved_light_stays_a_strip(session, told):
    session.obey([Move(LIGHT, 1.0, 5.0)])
    assert (session.episode.context[2], told.newest["frame"].handles[LIGHT]) == (1.0, (1.0, None))


def test_a_moved_robot_has_to_find_out(session):
    go_on(session)
    session.obey([Move(ROBOT, -5.0, 6.0)])
    assert session.world.state[:2].tolist() == [-5.0, 6.0]
    left, bottom, right, top = session.scene.view
    spread = session.episode.belief.particles[:, :2]
    assert spread.min(axis=0) == pytest.approx([left, bottom], abs=0.5)
    assert spread.max(axis=0) == pytest.approx([right, top], abs=0.5)


def test_what_cannot_be_done_is_said_and_changes_nothing(session, told):
    session.obey([Move(7, 0.0, 0.0)])
    assert "nothing of this number" in told.troubles[-1]
    session.obey([QUICKLY, Play()])
    go_on(session)
    session.obey([Move(GOAL, 0.0, 0.0)])
    assert "over" in told.troubles[-1]


def test_a_planner_that_cannot_be_made_is_said_and_changes_nothing(told):
    session = watched(make("tiger"), told)
    planner = session.planner
    session.obey([ChangePlanner("magic", 0.02, 3)])
    assert "No trained generator" in told.troubles[-1]
    assert session.planner is session.episode.planner is planner
    assert (told.newest["settings"].planner.name, told.newest["settings"].preparing) == ("macro-despot", None)
    assert told.newest["planner"].name == "macro-despot"
    session.obey([Move(0, 0.0, 0.0)])
    assert "nothing of this number" in told.troubles[-1]


def test_a_length_is_asked_only_of_who_has_one(session, told):
    session.obey([ChangePlanner("magic", 0.02, 3)])
    assert told.troubles == []
    length = MagicSettings().length(session.task)
    assert (told.newest["settings"].planner.name, told.newest["settings"].planner.macro_length) == ("magic", length)
    session.obey([ChangePlanner("pomcpow", 0.02, 3)])
    assert (told.newest["settings"].planner.label, told.newest["settings"].planner.macro_length) == ("POMCPOW", 1)


def test_the_planner_changes_while_it_runs(session, told):
    planner = session.planner
    session.obey([PLAN])
    assert session.planner is planner  # only the budget is another
    assert session.budget == session.factory.budget == Budget(seconds=0.02)
    assert told.newest["settings"].planner.budget == Budget(seconds=0.02)
    session.obey([ChangePlanner("macro-despot", 0.02, 3)])
    assert session.planner is session.episode.planner is not planner
    go_on(session)
    assert len(session.episode.plan.macro_action) == 3
    assert told.newest["settings"].planner.macro_length == 3
    assert told.newest["planner"].overrides == {"macro_length": 3}
    session.obey([PLAN])
    assert (told.newest["settings"].planner.macro_length, dict(session.factory.overrides)) == (16, {})


@dataclass(frozen=True)
class WalkSettings(PlannerSettings):
    """Of a planner that may halt, or not."""

    halt_after: int | None = setting(5, "Steps after which it halts.", at_least=1)
    scenarios: int = setting(10, "As many as others have.", at_least=1)


def test_what_was_set_at_first_is_kept_for_who_plans_later(told, monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    register_planner("walking", "Walking", WalkSettings)(lambda task, settings, budget: Walking(task, settings))
    asked = {"halt_after": None, "scenarios": 7}
    session = watched(make("light-dark"), told, PlannerFactory("walking", Budget(seconds=0.005), asked))
    assert session.planner.settings == WalkSettings(None, 7)
    session.obey([ChangePlanner("macro-despot", 0.005, None)])
    assert dict(session.factory.overrides) == {"scenarios": 7}  # the other is none of its settings
    session.obey([ChangePlanner("walking", 0.005, None)])
    assert session.planner.settings == WalkSettings(None, 7)
    assert told.troubles == []


class Walking:
    """It goes east."""

    def __init__(self, task, settings=None):
        self.task, self.settings, self.budget = task, settings, Budget(seconds=0.005)

    def plan(self, belief, context=None, *, budget=None, seed=0):
        return Plan(np.array([[1.0, 0.0]] * 2), 0, 0.0, None, None, 1, 1, 1, 1, 0.0, "budget used")


def test_a_planner_that_fails_stops_and_says_so(session, told):
    def fail(*_, **__):
        raise RuntimeError("no idea")

    session.episode.planner = type("Silent", (), {"plan": staticmethod(fail)})()
    session.advance()
    assert "RuntimeError: no idea" in told.troubles[-1]
    assert session.wait() is None
    assert told.newest["settings"].playing is False


# ------------------------------------------------------------------------------------------------------ planning ahead


class Hurried(LightDark):
    """Light-Dark that does not wait."""

    name = "hurried"
    concurrent = True

    def plan_seconds(self, length):
        return 0.002 * length

    def action_without_plan(self):
        return np.array([0.0, 1.0])


class Noting(Walking):
    """It notes for which places it plans, and with which budgets."""

    def __init__(self, task, settings=None):
        super().__init__(task, settings)
        self.asked = []

    def plan(self, belief, context=None, *, budget=None, seed=0):
        self.asked.append((isinstance(belief, Belief), budget))
        return super().plan(belief, context)


@pytest.fixture
def hurried(told, monkeypatch):
    """A session in a task that does not wait, with a planner that notes; what it was asked to warm up is forgotten."""
    monkeypatch.setattr(registry, "_registered", {})
    register_planner("noting", "Noting")(lambda task, settings, budget: Noting(task))
    session = watched(Hurried(max_steps=5), told, PlannerFactory("noting", Budget(seconds=0.005)))
    session.planner.asked.clear()
    return session


def test_in_a_task_that_does_not_wait_it_plans_ahead(hurried, told):
    go_on(hurried)
    assert hurried.planner.asked == [(False, Budget(seconds=0.002))]  # for what comes after the first step, in its time
    assert (hurried.episode.plan.choice, hurried.episode.next_plan.choice) == (NOT_PLANNED, 0)
    assert told.newest["plan"].time == 0
    hurried.obey([OneStep()])
    go_on(hurried)
    assert hurried.planner.asked[1:] == [(False, Budget(seconds=0.005))]
    assert (told.newest["plan"].time, told.newest["frame"].step) == (1, 1)
    hurried.obey([QUICKLY, Play()])
    go_on(hurried)
    assert (hurried.episode.steps, told.newest["frame"].outcome, told.troubles) == (5, "failure", [])  # too late
    assert len(hurried.planner.asked) == 2  # for the steps 1 and 2, and 3 and 4


def test_who_plans_ahead_plans_anew_when_something_is_moved(hurried, told):
    hurried.obey([OneStep()])
    go_on(hurried)
    hurried.planner.asked.clear()
    hurried.obey([Move(GOAL, 3.0, -2.0)])
    assert hurried.episode.plan is hurried.episode.next_plan is None
    go_on(hurried)
    assert hurried.planner.asked == [(True, Budget(seconds=0.005)), (False, Budget(seconds=0.005))]
    assert told.newest["plan"].time == 1


def test_the_past_is_relived_in_its_own_context(monkeypatch):
    task = make("light-dark")
    before, after = np.array([3.0, 1.0, -2.0, 2.5, -3.0]), np.array([0.0, 0.0, 2.5, 2.5, -3.0])
    belief = Belief.initial(task, before, count=50)
    belief.update([1.0, 0.0], [0.0, 0.0, 0.0])
    belief.change_context(after)
    contexts = []
    weigh = belief._weigh

    def watch(past, attempt, time):
        contexts.append(past.context.tolist())
        explained, equal = weigh(past, attempt, time)
        return explained and attempt > 0, equal

    monkeypatch.setattr(belief, "_weigh", watch)
    belief.update([1.0, 0.0], [1.0, 3.0, -3.0])
    assert contexts[:3] == [after.tolist(), before.tolist(), after.tolist()]


class Flood:
    """A connection through which commands come without end, or nearly; it keeps the names of what was reported."""

    def __init__(self, commands, times):
        self.commands, self.times, self.told = commands, times, []

    def poll(self, timeout=0.0):
        return True

    def recv(self):
        if not self.times:
            raise EOFError
        self.times -= 1
        return self.commands

    def send(self, message):
        self.told.append(message[0])


def test_it_plans_and_acts_on_while_commands_flood_in(monkeypatch):
    monkeypatch.setattr("magic_pomdp.running.session.follow_parent", lambda: None)
    flood = Flood([Watchers(1), QUICKLY, Play(), Move(LIGHT, 1.0, 5.0)], times=20)
    run_session(flood, make("light-dark", max_steps=12), PlannerFactory(budget=Budget(seconds=0.005)), 0)
    assert flood.told.count("obeyed") == flood.told.count("plan") == 20
    flood = Flood([Watchers(1), QUICKLY, Play()], times=100)
    run_session(flood, make("light-dark", max_steps=12), PlannerFactory(budget=Budget(seconds=0.005)), 0)
    assert flood.told.count("episode") > 1  # they run to their ends
