"""An episode that is steered while it runs."""

import numpy as np
import pytest

from magic_pomdp import Budget, PlannerChoice, make_task
from magic_pomdp.core.belief import Belief
from magic_pomdp.running.session import Session

GOAL, LIGHT, ROBOT = range(3)
PLAN = {"kind": "plan", "planner": "macro-despot", "seconds": 0.02, "macro_length": None}


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
    choice = PlannerChoice(budget=Budget(seconds=0.005))
    session = Session(make_task("light-dark", max_steps=12), choice, 0, told)
    session.obey([{"kind": "watch", "count": 1}])
    return session


def go_on(session, until=lambda session: session.wait() is None):
    for _ in range(200):
        if until(session):
            return
        session.advance()
    raise AssertionError("it did not end")


def test_an_episode_runs_and_ends(session, told):
    go_on(session)
    assert (told.newest["plan"]["time"], told.newest["frame"]["step"]) == (0, 0)  # it plans, and waits
    session.obey([{"kind": "step"}])
    go_on(session)
    assert told.newest["frame"]["step"] == 1
    session.obey([{"kind": "pace", "pace": 1000.0}, {"kind": "play"}])
    go_on(session)
    assert told.newest["frame"]["outcome"] in ("success", "failure")
    assert told.newest["settings"]["playing"] is False
    assert list(told.rows) == list(range(told.newest["frame"]["step"] + 1))
    assert all(row["value"] is not None for row in told.rows.values())
    session.obey([{"kind": "play"}])
    assert (session.episode, session.steps, told.troubles) == (1, 0, [])


def test_nothing_happens_while_nobody_watches(session):
    session.obey([{"kind": "play"}, {"kind": "watch", "count": 0}])
    assert session.wait() is None
    session.obey([{"kind": "watch", "count": 2}])
    assert session.wait() == 0.0
    assert session.playing


def test_a_moved_goal_is_known(session, told):
    go_on(session)
    particles = session.belief.particles.copy()
    session.obey([{"kind": "move", "handle": GOAL, "x": x, "y": -2.0} for x in (1.0, 2.0, 3.0)])
    assert session._moves == 1  # of several moves the last counts
    assert session.context[:2].tolist() == session.belief.context[:2].tolist() == [3.0, -2.0]
    assert np.array_equal(session.belief.particles, particles)
    assert told.newest["frame"]["handles"][GOAL] == [3.0, -2.0]
    assert told.newest["scene"]["shapes"][1]["x"] == 3.0
    assert session.plan is None
    go_on(session)
    assert session.plan is not None


def test_a_moved_light_stays_a_strip(session, told):
    session.obey([{"kind": "move", "handle": LIGHT, "x": 1.0, "y": 5.0}])
    assert (session.context[2], told.newest["frame"]["handles"][LIGHT]) == (1.0, [1.0, None])


def test_a_moved_robot_has_to_find_out(session):
    go_on(session)
    session.obey([{"kind": "move", "handle": ROBOT, "x": -5.0, "y": 6.0}])
    assert session.state[:2].tolist() == [-5.0, 6.0]
    left, bottom, right, top = session.scene.view
    spread = session.belief.particles[:, :2]
    assert spread.min(axis=0) == pytest.approx([left, bottom], abs=0.5)
    assert spread.max(axis=0) == pytest.approx([right, top], abs=0.5)


def test_what_cannot_be_done_is_said_and_changes_nothing(session, told):
    planner = session.planner
    session.obey([{**PLAN, "planner": "magic", "macro_length": 3}])
    assert "No trained generator" in told.troubles[-1]
    assert session.planner is planner
    assert (told.newest["settings"]["planner"]["name"], told.newest["settings"]["preparing"]) == ("macro-despot", None)
    session.obey([{"kind": "pace", "pace": 1000.0}, {"kind": "play"}])
    go_on(session)
    session.obey([{"kind": "move", "handle": GOAL, "x": 0.0, "y": 0.0}])
    assert "over" in told.troubles[-1]


def test_the_planner_changes_while_it_runs(session, told):
    planner = session.planner
    session.obey([PLAN])
    assert session.planner is planner  # only the budget is another
    assert session.choice.budget.seconds == 0.02
    session.obey([{**PLAN, "macro_length": 3}])
    go_on(session)
    assert len(session.plan.macro_action) == 3
    assert told.newest["settings"]["planner"]["macro_length"] == 3
    assert told.newest["choice"].macro_length == 3


def test_a_planner_that_fails_stops_and_says_so(session, told):
    def fail(*_, **__):
        raise RuntimeError("no idea")

    session.planner = type("Silent", (), {"plan": staticmethod(fail)})()
    session.advance()
    assert "RuntimeError: no idea" in told.troubles[-1]
    assert session.wait() is None


def test_the_past_is_relived_in_its_own_context(monkeypatch):
    task = make_task("light-dark")
    before, after = np.array([3.0, 1.0, -2.0, 2.5, -3.0]), np.array([0.0, 0.0, 2.5, 2.5, -3.0])
    belief = Belief.initial(task, before, count=50)
    belief.update([1.0, 0.0], [0.0, 0.0, 0.0])
    belief.change_context(after)
    contexts = []
    condition = belief._condition

    def watch(action, observation, context, attempt, time):
        contexts.append(context.tolist())
        return condition(action, observation, context, attempt, time) and attempt > 0

    monkeypatch.setattr(belief, "_condition", watch)
    belief.update([1.0, 0.0], [1.0, 3.0, -3.0])
    assert contexts[:3] == [after.tolist(), before.tolist(), after.tolist()]
