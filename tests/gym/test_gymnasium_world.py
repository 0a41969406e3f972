"""A Gymnasium environment as the world of an episode."""

import numpy as np
import pytest

import magic_pomdp as mp

gymnasium = pytest.importorskip("gymnasium", reason="the extra gym is not installed")

from magic_pomdp.gym import GymnasiumWorld, TaskEnv, env_id  # noqa: E402

BUDGET = mp.Budget(steps=100_000)


@pytest.fixture(scope="module")
def task():
    return mp.make("light-dark")


@pytest.fixture(scope="module")
def planner(task):
    return mp.MacroDespot(task, budget=BUDGET)


def test_in_an_environment_of_the_same_task_all_is_the_same(task, planner):
    env = gymnasium.make(env_id("light-dark"), continuous=True)
    for episode in range(3):
        there = mp.run_episode(task, planner, seed=2, episode=episode, world=GymnasiumWorld(env, task))
        here = mp.run_episode(task, planner, seed=2, episode=episode)
        assert there.result == here.result


def test_actions_by_number(task):
    despot = mp.running.PlannerFactory("despot", mp.Budget(steps=20_000))(task)
    world = GymnasiumWorld(TaskEnv("light-dark"), task)
    assert mp.run_episode(task, despot, seed=2, world=world).result == mp.run_episode(task, despot, seed=2).result
    world.begin(0, 0)
    with pytest.raises(ValueError, match="The environment has no action for"):
        world.act(np.array([0.6, 0.8]))


def test_planning_works_in_a_world_that_is_not_the_model(task):
    """The robot slips: it moves less far than the model has it, and sees worse."""
    env = gymnasium.make(env_id("light-dark"), continuous=True, speed=0.49, observation_noise=0.12)
    magic = mp.running.PlannerFactory("magic", mp.Budget(steps=300_000))

    def in_slippery_world(same):
        return GymnasiumWorld(env, same)

    result = mp.evaluate(task, magic, episodes=10, seed=1, workers=0, world=in_slippery_world)
    assert result.success_rate > 0.5
    assert result.return_mean > 0.0


class Corridor(gymnasium.Env):
    """Somebody else's environment: a place in a corridor is measured in centimetres, and there are steps −1, 0, 1."""

    observation_space = gymnasium.spaces.Box(-1000, 1000, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3, start=-1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = self.np_random.uniform(0.0, 9.0), 0
        return self._look(), {"charger": 4.5}

    def step(self, action):
        self.steps += 1
        self.place += action
        docked = action == 0
        return self._look(), 10.0 if docked else -1.0, docked, self.steps >= 5, {}

    def _look(self):
        return np.array([100 * self.place, 7.0], np.float32)


class Charger(mp.Task):
    name = "charger-in-a-corridor"
    state_size = action_size = observation_size = context_size = 1
    max_steps = 30

    def draw_state(self, context, random, state):
        state[0] = 9.0 * mp.random.uniform(random)

    def step(self, context, state, action, random, observation):
        state[0] += action[0]
        observation[0] = state[0]
        return -1.0, mp.Outcome.RUNNING

    def log_likelihood(self, context, state, action, observation):
        return -0.5 * (observation[0] - state[0]) ** 2

    def upper_bound(self, context, state):
        return 10.0

    def actions(self):
        return np.array([[-1.0], [0.0], [1.0]])


def test_somebody_elses_environment():
    task = Charger()
    world = GymnasiumWorld(
        Corridor(),
        task,
        context=lambda observation, info: [info["charger"]],
        observation=lambda observation, info: observation[:1] / 100.0,
        action=lambda action: round(action[0]),
        state=lambda env: [env.place],
    )
    first = world.begin(1, 2)
    assert first.context == [4.5]
    assert first.observation == pytest.approx(world.state)
    again = world.begin(1, 2)
    assert again.observation == first.observation
    happened = world.act(np.array([1.0]))
    assert happened.observation == pytest.approx(first.observation + 1.0)
    assert (happened.reward, happened.outcome) == (-1.0, mp.Outcome.RUNNING)
    assert world.act(np.array([0.0])).outcome == mp.Outcome.SUCCESS  # its last reward is positive
    world.begin(1, 3)
    assert [world.act(np.array([1.0])).outcome for _ in range(5)][-1] == mp.Outcome.FAILURE  # truncated


def test_what_an_environment_does_not_tell_is_asked_for():
    task = Charger()
    with pytest.raises(ValueError, match=r"give GymnasiumWorld a function `context\(observation, info\)`"):
        GymnasiumWorld(Corridor(), task).begin(0, 0)
    world = GymnasiumWorld(Corridor(), task, context=lambda observation, info: [4.5])
    with pytest.raises(ValueError, match=r"The environment's observation must have shape \(1,\), but has shape \(2,\)"):
        world.begin(0, 0)
