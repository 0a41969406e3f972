"""A robot with a loop of its own: in the background it plans what an episode plans; observations may be late, lost,
many at once, impossible or wrong; and it goes on in another process."""

import json
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open

import magic_pomdp as mp
from magic_pomdp.core.randomness import stream_key
from magic_pomdp.magic import MagicPlanner
from magic_pomdp.magic.arrays import signed
from magic_pomdp.planners import Pomcpow
from magic_pomdp.running import Robot, SimulatedWorld
from magic_pomdp.running.background import SLICE_STEPS, BackgroundSearch
from magic_pomdp.running.world import BELIEVING

CONTEXT = [3.0, 1.0, -2.0, 2.5, -3.0]  # goal, light at −2, prior around (2.5, −3)
DARK = np.zeros(3)
STEPS = mp.Budget(steps=3 * SLICE_STEPS)
PARTICLES = 500


class Clock:
    """Tells the time that it was put to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture(scope="module")
def task():
    return mp.make("light-dark")


@pytest.fixture(scope="module")
def planner(task):
    return mp.MacroDespot(task, budget=STEPS)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def robot(task, planner, clock):
    belief = mp.Belief.initial(task, CONTEXT, PARTICLES)
    with Robot(planner, belief, plans_ahead=True, clock=clock) as robot:
        yield robot


def wait_for(true, seconds=20.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["macro-despot", "magic", "pomcpow"])
def test_an_episode_in_a_loop_of_ones_own_is_that_of_run_episode(task, name):
    """Slices of a search make the plan that one piece makes."""
    factory = mp.running.PlannerFactory(name, STEPS)
    seed, world = 3, SimulatedWorld(task)
    record = mp.run_episode(task, factory(task), seed=seed)
    belief = mp.Belief.initial(task, world.begin(seed, 0).context, seed=int(stream_key(seed, 0, BELIEVING)))
    rewards = []
    with Robot(factory(task), belief, seed=seed) as robot:
        happened = world.act(robot.next_action())
        rewards.append(happened.reward)
        while happened.outcome == mp.Outcome.RUNNING:
            robot.observe(happened.observation)
            happened = world.act(robot.next_action())
            rewards.append(happened.reward)
    assert sum(rewards) == pytest.approx(record.total_return, abs=1e-9)
    assert (len(rewards), happened.outcome.word) == (record.steps, record.outcome)


def test_while_a_macro_action_is_carried_out_the_next_is_planned(robot, planner):
    first = robot.next_action()
    rest = len(robot.plan.macro_action) - 1
    assert rest > 0
    wait_for(lambda: robot.best_plan() is not None and robot.best_plan().steps >= STEPS.steps)
    planned = robot.best_plan()
    assert planned is not robot.plan
    for _ in range(rest):
        robot.observe(DARK)
        np.testing.assert_array_equal(robot.next_action(), first)
    robot.observe(DARK)
    np.testing.assert_array_equal(robot.next_action(), planned.macro_action[0])
    assert robot.plan.value == planned.value


def test_it_plans_for_what_is_expected_at_the_end(robot, planner, task):
    before = robot.belief.particles[:, :2].mean(axis=0)
    robot.next_action()
    particles, _, _ = robot._search.asked()
    moved = before + task.speed * robot.plan.macro_action.sum(axis=0)
    np.testing.assert_allclose(particles[:, :2].mean(axis=0), moved, atol=1e-9)


def test_a_plan_so_far_grows_and_a_budget_can_be_changed(task):
    belief = mp.Belief.initial(task, CONTEXT, PARTICLES)
    with Robot(mp.MacroDespot(task), belief, budget=mp.Budget(seconds=100.0)) as robot:
        wait_for(lambda: robot.best_plan() is not None)
        assert robot.best_plan().stopped_by == "still searching"
        early = robot.best_plan().steps
        wait_for(lambda: robot.best_plan().steps > early)
        robot.budget = mp.Budget(seconds=0.001)  # has been spent long ago
        action = robot.next_action()
        assert action.shape == (2,)
        assert robot.plan.steps > early
        assert robot.plan.seconds < 90.0


def test_a_larger_budget_lets_a_finished_search_go_on(task, planner):
    search = BackgroundSearch(planner, mp.Budget(steps=SLICE_STEPS))
    belief = mp.Belief.initial(task, CONTEXT, PARTICLES)
    search.begin(belief.particles, belief.context, np.uint64(1))
    first = search.wait()
    search.budget = mp.Budget(steps=first.steps + SLICE_STEPS)
    assert search.wait().steps > first.steps
    search.close()


def test_within_a_time_there_is_an_action_in_any_case(task, clock, caplog):
    """Even if the planner has found nothing by then."""

    class Slow:
        def __init__(self):
            self.task, self.asked = task, threading.Event()

        def plan(self, belief, context=None, *, budget=None, seed=0):
            assert self.asked.wait(20.0)
            return mp.MacroDespot(task).plan(belief, context, budget=mp.Budget(steps=1000), seed=seed)

    slow = Slow()
    with Robot(slow, mp.Belief.initial(task, CONTEXT, PARTICLES), clock=clock) as robot:
        np.testing.assert_array_equal(robot.next_action(within=0.0), task.action_without_plan())
        assert robot.plan is None
        assert "There is no plan yet for action 0" in caplog.text
        assert robot.best_plan() is None
        slow.asked.set()
        robot.next_action()
        assert robot.plan is not None


def test_cancel_forgets_plan_and_search(robot):
    robot.next_action()
    robot.observe(DARK)
    robot.cancel()
    assert robot.plan is None
    assert robot.best_plan() is None
    time.sleep(0.05)
    assert robot.best_plan() is None  # nobody plans
    robot.next_action()
    assert robot.plan is not None


def test_who_waits_for_a_plan_can_be_released(task):
    belief = mp.Belief.initial(task, CONTEXT, PARTICLES)
    with Robot(mp.MacroDespot(task), belief, budget=mp.Budget(seconds=100.0)) as robot:
        threading.Timer(0.1, robot.cancel).start()
        np.testing.assert_array_equal(robot.next_action(), task.action_without_plan())


@pytest.mark.parametrize("wrong", [5, 0.5, "1s", (0.1,)])
def test_what_is_no_budget_is_refused(task, planner, robot, wrong):
    sentence = r"A budget is Budget\(seconds=0\.1\) or Budget\(steps=100_000\), not "
    with pytest.raises(ValueError, match=sentence):
        robot.budget = wrong
    belief = mp.Belief.initial(task, CONTEXT, PARTICLES)
    for make in (
        lambda: Robot(planner, belief, budget=wrong),
        *(lambda kind=kind: kind(task, budget=wrong) for kind in (mp.MacroDespot, Pomcpow, MagicPlanner)),
        lambda: planner.plan(belief, budget=wrong),
    ):
        with pytest.raises(ValueError, match=sentence):
            make()
    assert robot.next_action().shape == (2,)


@pytest.mark.parametrize("made", [None, 5, SystemExit])
def test_nobody_waits_for_a_search_that_has_died(task, made):
    class Odd:
        def __init__(self):
            self.task = task

        def plan(self, belief, context=None, *, budget=None, seed=0):
            if made is SystemExit:
                raise SystemExit
            return made

    with Robot(Odd(), mp.Belief.initial(task, CONTEXT, PARTICLES)) as robot:
        kind, sentence = (
            (RuntimeError, "The search has ended") if made is SystemExit else (ValueError, "The planner made a")
        )
        with pytest.raises(kind, match=sentence):
            robot.next_action()


def test_what_is_no_planner_or_belief_is_refused(task, planner):
    with pytest.raises(ValueError, match=r"A robot needs a Belief, such as Belief\.initial\(task, context\), not \[3"):
        Robot(planner, CONTEXT)
    with pytest.raises(ValueError, match=r"A robot needs a planner, such as MacroDespot\(task\), not 'magic'"):
        Robot("magic", mp.Belief.initial(task, CONTEXT, PARTICLES))


def test_a_closed_robot_says_so(task, planner, tmp_path):
    robot = Robot(planner, mp.Belief.initial(task, CONTEXT, PARTICLES))
    robot.next_action()
    robot.close()
    for ask in (robot.next_action, lambda: robot.observe(DARK), robot.skip, lambda: robot.change_context(CONTEXT)):
        with pytest.raises(ValueError, match="This robot is closed: make another one"):
            ask()
    assert robot.latency().count == 0
    assert robot.best_plan() is None
    robot.save(tmp_path / "robot.safetensors")
    with Robot.restore(tmp_path / "robot.safetensors", planner) as again:
        again.observe(DARK)
        again.next_action()


def test_a_plan_is_told_in_a_line(robot):
    robot.next_action()
    told = repr(robot.plan)
    assert told.startswith("Plan(macro-action ")
    assert told.endswith(", budget used)")
    assert len(told) < 160


def test_what_fails_in_the_background_is_raised_in_front(task):
    class Broken:
        def __init__(self):
            self.task = task

        def plan(self, belief, context=None, *, budget=None, seed=0):
            raise ValueError("There is no way.")

    with (
        Robot(Broken(), mp.Belief.initial(task, CONTEXT, PARTICLES)) as robot,
        pytest.raises(ValueError, match=r"There is no way\."),
    ):
        robot.next_action()


# -------------------------------------------------------------------------------------------------------- observations


def test_late_observations_are_taken_in_order(robot, clock):
    same = mp.Belief.initial(robot.task, CONTEXT, PARTICLES)
    for _ in range(3):
        clock.now += 1.0
        action = robot.next_action()  # at 1, 2 and 3
        same.update(action, DARK)
    clock.now += 1.0
    assert [seen.step for seen in robot.observe(DARK, at=1.5)] == [0]
    both = robot.observe_all([(DARK, 3.0), (DARK, 3.9)])  # at 3.0 the second action was just over
    assert [(seen.step, seen.time, seen.explanation) for seen in both] == [(1, 3.0, "explained"), (2, 3.9, "explained")]
    np.testing.assert_array_equal(robot.belief.particles, same.particles)


def test_an_observation_out_of_order_is_refused(robot, clock):
    for _ in range(2):
        clock.now += 1.0
        robot.next_action()
    clock.now = 2.5
    seen = robot.observe(DARK, at=2.5)
    assert [one.explanation for one in seen] == ["predicted", "explained"]  # the first one will not come any more
    particles = robot.belief.particles.copy()
    with pytest.raises(ValueError, match="is one too many"):
        robot.observe(DARK, at=1.5)
    robot.next_action()
    with pytest.raises(
        ValueError, match=r"The observation of time 1\.5 is out of order: the first action .* given at 2\.5,"
    ):
        robot.observe(DARK, at=1.5)
    np.testing.assert_array_equal(robot.belief.particles, particles)


def test_an_action_without_an_observation_moves_the_belief(robot, task):
    before = robot.belief.particles.copy()
    action = robot.next_action()
    assert robot.skip() == ((0, None, "predicted"),)
    np.testing.assert_allclose(robot.belief.particles[:, :2], before[:, :2] + task.speed * action)
    with pytest.raises(ValueError, match="0 actions are not observed yet, so 1 cannot be skipped"):
        robot.skip()
    robot.next_action()
    assert robot.observe(None)[0].explanation == "predicted"


@pytest.mark.parametrize(
    ("observation", "at", "sentence"),
    [
        ([0.0, 0.0], None, r"The observation must have shape \(3,\), but has shape \(2,\)"),
        ([1.0, np.nan, 0.0], None, "The observation contains NaN or infinity"),
        ([1.0, np.inf, 0.0], None, "The observation contains NaN or infinity"),
        ("abc", None, r"The observation must be an array of 3 numbers, not 'abc'\."),
        (DARK, np.nan, "The time of an observation must be a finite number, not nan"),
        (DARK, "1.5", "The time of an observation must be a finite number, not '1.5'"),
        (DARK, 0.5, r"of time 0\.5 has not been made yet, for the robot's clock says 0: stamp observations with that"),
    ],
)
def test_what_cannot_be_observed_changes_nothing(robot, observation, at, sentence):
    robot.next_action()
    robot.next_action()
    particles = robot.belief.particles.copy()
    with pytest.raises(ValueError, match=sentence):
        robot.observe_all([(DARK, None), (observation, at)])
    np.testing.assert_array_equal(robot.belief.particles, particles)
    assert len(robot.observe_all([(DARK, None), (DARK, None)])) == 2


IMPOSSIBLE = np.array([1.0, -2.0, 50.0])  # where no particle is
LIT = [3.0, 1.0, -2.0, -1.5, -3.0]  # the prior is beside the light


@pytest.mark.parametrize(("choice", "counts"), [("recover", (0, 1)), ("ignore", (0, 1))])
def test_an_impossible_observation_is_told(task, planner, choice, counts, caplog):
    belief = mp.Belief.initial(task, CONTEXT, PARTICLES, impossible=choice)
    with Robot(planner, belief) as robot:
        robot.next_action()
        assert robot.observe(IMPOSSIBLE)[0].explanation == "ignored"
    assert (belief.recoveries, belief.ignored) == counts
    assert "No particle explained what was observed after action 0: ignored." in caplog.text


def test_a_robot_that_was_carried_away_is_found(task, planner):
    belief = mp.Belief.initial(task, LIT, 2000)
    with Robot(planner, belief) as robot:
        position, told = np.array([-2.0, -3.0]), []
        for step in range(6):
            if step == 2:
                position = np.array([-2.0, 2.0])  # carried 5 m away
            robot._rest.clear()
            robot._rest.append(np.array([0.0, 1.0]))  # along the light
            position = position + task.speed * robot.next_action()
            told.append(robot.observe([1.0, *position])[0].explanation)
        assert told == ["explained", "explained", "ignored", "recovered", "explained", "explained"]
        assert np.abs(belief.particles[:, :2].mean(axis=0) - position).max() < 0.15


def test_a_belief_decides_for_itself_what_surprises_it(task, planner):
    for given, counts in ((None, 20.0), (50.0, 50.0)):
        with Robot(planner, mp.Belief.initial(task, LIT, 100, surprise=given)) as robot:
            assert robot.belief.surprise == counts


def test_while_a_belief_recovers_others_are_answered(robot, task):
    robot.next_action()
    entered, go_on = threading.Event(), threading.Event()

    def recover(action, observation):
        entered.set()
        assert go_on.wait(20.0)
        return "recovered"

    robot.belief.update = recover
    thread = threading.Thread(target=robot.observe, args=(DARK,))
    thread.start()
    assert entered.wait(20.0)
    robot.latency()
    robot.best_plan()
    robot.next_action()  # the rest of the macro-action
    robot.cancel()
    go_on.set()
    thread.join()
    assert [given.step for given in robot._awaited] == [1]


def test_an_impossible_observation_can_be_refused(task, planner):
    belief = mp.Belief.initial(task, CONTEXT, PARTICLES, impossible="raise")
    with Robot(planner, belief) as robot:
        robot.next_action()
        particles = belief.particles.copy()
        with pytest.raises(mp.ImpossibleObservation, match="No particle of the belief explains"):
            robot.observe(IMPOSSIBLE)
        np.testing.assert_array_equal(belief.particles, particles)
        assert robot.observe(DARK)[0].explanation == "explained"  # the action is still to be observed


def test_after_a_surprise_it_plans_anew(robot):
    robot.next_action()
    asked = robot._search.asked()
    robot.observe(DARK)
    assert robot._search.asked()[0] is asked[0]
    robot.next_action()
    robot.observe(IMPOSSIBLE)
    assert robot._search.asked()[0] is not asked[0]


def test_a_new_context_is_planned_for(robot):
    robot.next_action()
    robot.change_context([-3.0, 1.0, -2.0, 2.5, -3.0])
    assert robot._search.asked()[1][0] == -3.0


def test_latency_is_from_observation_to_action(robot, clock):
    assert robot.latency().count == 0
    robot.next_action()
    for late in (0.25, 0.75, 0.5):
        robot.observe(DARK)
        clock.now += late
        robot.next_action()
    latency = robot.latency()
    assert (latency.count, latency.p50, latency.worst) == (3, 0.5, 0.75)
    assert latency.p99 == pytest.approx(0.745)


# ---------------------------------------------------------------------------------------------- in another process

ELSEWHERE = """
import json, sys
import numpy as np
import magic_pomdp as mp
task = mp.make("light-dark")
with mp.running.Robot.restore(sys.argv[1], mp.MacroDespot(task)) as robot:
    robot.observe(np.zeros(3))
    actions = [robot.next_action().tolist()]
    for _ in range(9):
        robot.observe(np.zeros(3))
        actions.append(robot.next_action().tolist())
    print(json.dumps([actions, robot.belief.particles.sum(), robot.belief.ignored]))
"""


@pytest.mark.parametrize("plans_ahead", [True, False])
def test_a_robot_goes_on_in_another_process(task, planner, tmp_path, plans_ahead):
    belief, path = mp.Belief.initial(task, CONTEXT, PARTICLES), tmp_path / "robot.safetensors"
    with Robot(planner, belief, seed=5, plans_ahead=plans_ahead) as robot:
        robot.next_action()
        robot.observe(IMPOSSIBLE)
        robot.next_action()
        robot.skip()
        robot.next_action()
        robot.save(path)
        run = subprocess.run([sys.executable, "-c", ELSEWHERE, path], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        actions = []
        for _ in range(10):
            robot.observe(DARK)
            actions.append(robot.next_action().tolist())
    assert json.loads(run.stdout) == [actions, belief.particles.sum(), belief.ignored]


def test_a_restored_belief_recovers_as_the_old_one(task, tmp_path):
    belief = mp.Belief.initial(task, CONTEXT, PARTICLES, seed=4)
    for _ in range(3):
        belief.update([1.0, 0.0], DARK)
    belief.update([1.0, 0.0], None)
    belief.change_context(CONTEXT[::-1])
    twin = mp.Belief.from_arrays(task, belief.to_arrays())
    unexpected = np.array([1.0, belief.context[2], belief.particles[:, 1].mean()])
    for one in (belief, twin):
        one.particles[:, :2] = 100.0
        assert one.update([1.0, 0.0], unexpected) in ("recovered", "ignored")
    np.testing.assert_array_equal(belief.particles, twin.particles)
    assert (belief.recoveries, belief.ignored) == (twin.recoveries, twin.ignored)


def test_files_that_are_no_robots_are_refused(task, planner, robot, tmp_path):
    path = tmp_path / "robot.safetensors"
    with pytest.raises(ValueError, match="There is no file"):
        Robot.restore(path, planner)
    robot.save(path)
    with pytest.raises(ValueError, match="is of a robot in light-dark, but the planner is for tiger"):
        Robot.restore(path, mp.MacroDespot(mp.make("tiger")))
    with pytest.raises(ValueError, match=r"light-dark with other parameters: speed was 0\.5, but is 0\.4\."):
        Robot.restore(path, mp.MacroDespot(mp.make("light-dark", speed=0.4)))
    whole = path.read_bytes()
    for damaged in (b"", b"{}", whole[:-100], whole[:1000] + bytes(8) + whole[1008:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="is damaged"):
            Robot.restore(path, planner)
    with pytest.raises(ValueError, match="There is no folder"):
        robot.save(tmp_path / "nowhere" / "robot.safetensors")


def test_another_planner_is_warned_of(task, planner, robot, tmp_path, caplog):
    path = tmp_path / "robot.safetensors"
    robot.save(path)
    Robot.restore(path, planner).close()
    assert caplog.text == ""
    Robot.restore(path, mp.MacroDespot(task, settings=replace(planner.settings, scenarios=30))).close()
    assert "is of a robot with another planner: scenarios was 20, but is 30." in caplog.text
    Robot.restore(path, Pomcpow(task)).close()
    assert "is of a robot with another planner: MacroDespot then, Pomcpow now." in caplog.text


@pytest.mark.parametrize(
    ("changes", "emptied", "reason"),
    [
        ({"seed": 2**64}, (), "The seed must be below 2"),
        ({"search_seed": 2**64}, (), "The seed of the search must be below 2"),
        ({"count": 0}, (), "It awaits 1 observations, but only 0 actions were given"),
        ({}, ("asked_particles",), "The belief has no particles"),
    ],
)
def test_robots_that_cannot_be_are_refused(planner, robot, tmp_path, changes, emptied, reason):
    path = tmp_path / "robot.safetensors"
    robot.next_action()
    robot.save(path)
    with safe_open(path, framework="numpy") as file:
        about = json.loads(file.metadata()["magic-pomdp"])
        stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    path.write_bytes(signed(stored | {name: stored[name][:0] for name in emptied}, json.dumps(about | changes)))
    with pytest.raises(ValueError, match=f"robot.safetensors is damaged, or of another version of the task: {reason}"):
        Robot.restore(path, planner)


@pytest.mark.parametrize("name", ["particles", "observations", "context_of", "numbers", "contexts"])
def test_stored_beliefs_that_cannot_be_are_refused(task, name):
    belief = mp.Belief.initial(task, CONTEXT, PARTICLES)
    belief.update([1.0, 0.0], DARK)
    arrays = belief.to_arrays()
    for wrong in ({}, {name: arrays[name][..., :0]}, {name: arrays[name].astype(np.complex64)}):
        others = {other: array for other, array in arrays.items() if other != name}
        with pytest.raises(ValueError, match=f"The stored belief's {name} must be|must have|at least one"):
            mp.Belief.from_arrays(task, others | wrong)


def test_a_planner_of_another_task_is_refused(task):
    with pytest.raises(ValueError, match="The planner is for tiger, but the belief is of light-dark"):
        Robot(mp.MacroDespot(mp.make("tiger")), mp.Belief.initial(task, CONTEXT, PARTICLES))


def test_a_choice_that_there_is_not_is_refused(task):
    with pytest.raises(ValueError, match="one can recover, ignore or raise, not 'panic'"):
        mp.Belief.initial(task, CONTEXT, PARTICLES, impossible="panic")
