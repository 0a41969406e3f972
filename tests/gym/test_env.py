"""Tasks as environments: Gymnasium's own checks, the same episodes as everywhere else, and many of them at once."""

import sys
import warnings

import numpy as np
import pytest

import magic_pomdp as mp

gymnasium = pytest.importorskip("gymnasium", reason="the extra gym is not installed")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

import magic_pomdp.gym  # noqa: E402
from magic_pomdp.gym import Bounds, TaskEnv, TaskVectorEnv, env_id  # noqa: E402
from magic_pomdp.running.world import SimulatedWorld  # noqa: E402

TASKS = mp.tasks.task_names()
OWN = """
import numpy as np
import magic_pomdp as mp

class Walk(mp.Task):
    name = "walk"
    state_size = action_size = observation_size = 1
    goal: float = 2.0

    def draw_state(self, context, random, state):
        state[0] = 0.0

    def step(self, context, state, action, random, observation):
        if state[0] >= self.goal:
            return 0.0, mp.Outcome.SUCCESS
        state[0] += action[0]
        observation[0] = state[0]
        return -1.0, mp.Outcome.SUCCESS if state[0] >= self.goal else mp.Outcome.RUNNING

    def log_likelihood(self, context, state, action, observation):
        return 0.0

    def upper_bound(self, context, state):
        return 0.0

    def actions(self):
        return np.array([[1.0], [0.5]])
"""


@pytest.fixture
def own_task(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "walk_task.py").write_text(OWN)
    yield f"{tmp_path / 'walk_task.py'}:Walk"
    sys.modules.pop("walk_task", None)


def random_actions(env, seed=0):
    env.action_space.seed(seed)
    while True:
        yield env.action_space.sample()


# ---------------------------------------------------------------------------------------------------- one environment


def test_every_task_has_an_id_with_a_version():
    names = ("CrowdDriving", "LightDark", "PuckPush", "Tiger", "VdpTag")
    assert {env_id(name) for name in TASKS} >= {f"magic_pomdp/{name}-v0" for name in names}
    gymnasium.register_envs(magic_pomdp.gym)
    for name in TASKS:
        assert gymnasium.spec(env_id(name)).vector_entry_point is not None


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("continuous", [False, True])
def test_gymnasium_finds_nothing_wrong(name, continuous):
    pytest.importorskip("matplotlib")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*For Box action spaces, we recommend using a symmetric")
        env = gymnasium.make(env_id(name), continuous=continuous)
        check_env(env.unwrapped)
    env.close()


@pytest.mark.parametrize(
    "name",
    [
        "laser-tag",
        "light-dark",
        "light-dark-1d",
        "maze",
        "navigation",
        "puck-push",
        "rock-sample",
        "sub-hunt",
        "tag",
        "tiger",
        "vdp-tag",
    ],
)
def test_all_that_is_observed_is_within_the_bounds(name):
    for continuous in (False, True):
        env = gymnasium.make(env_id(name), continuous=continuous)
        assert not continuous or env.action_space.is_bounded()
        observation, _ = env.reset(seed=1)
        for action, _ in zip(random_actions(env), range(300), strict=False):
            assert env.observation_space.contains(observation)
            observation, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                observation, _ = env.reset()


def test_an_episode_is_the_one_of_that_seed_and_number():
    task, world = mp.make("light-dark"), SimulatedWorld(mp.make("light-dark"))
    env = TaskEnv(task)
    env.reset(seed=7)
    env.reset()
    observation, _ = env.reset()  # episode 2
    np.testing.assert_array_equal(observation["context"], world.begin(7, 2).context)
    for number in (0, 3, 3, 8):
        happened = world.act(task.actions()[number])
        observation, reward, terminated, truncated, info = env.step(number)
        np.testing.assert_array_equal(observation["observation"], happened.observation)
        assert (reward, terminated, truncated) == (happened.reward, bool(happened.outcome), False)
        assert info == {"is_success": happened.outcome == mp.Outcome.SUCCESS}
    np.testing.assert_array_equal(env.state, world.state)
    with pytest.raises(gymnasium.error.ResetNeeded, match="The episode is over"):
        env.step(0)
    chosen, _ = env.reset(options={"episode": 2})
    np.testing.assert_array_equal(chosen["context"], observation["context"])


def test_without_a_seed_episodes_differ():
    first, second = (TaskEnv("light-dark").reset()[0]["context"] for _ in range(2))
    assert not np.array_equal(first, second)


def test_an_episode_without_an_end_is_truncated():
    env = gymnasium.make(env_id("tiger"), max_steps=3)
    env.reset(seed=0)
    ends = [env.step(0)[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


def test_what_is_no_heading_is_made_one():
    env = TaskEnv("light-dark", continuous=True)
    env.reset(seed=0)
    before = env.state[:2].copy()
    env.step(np.array([1.0, 1.0]))
    assert np.hypot(*(env.state[:2] - before)) == pytest.approx(env.task.speed)
    terminated = env.step(np.array([0.2, 0.1]))[2]
    assert terminated  # it is a Stop
    heading = np.array([0.6, 0.8])
    np.testing.assert_array_equal(env.interface.actions(heading[None])[0], heading)
    tag = TaskEnv("vdp-tag", continuous=True)
    np.testing.assert_allclose(tag.interface.actions([[0.0, 0.0, 0.7], [0.0, -0.5, 0.4]]), [[1, 0, 1], [0, -1, 0]])


def test_it_is_rendered():
    pytest.importorskip("matplotlib")
    env = gymnasium.make(env_id("light-dark"), render_mode="rgb_array")
    env.reset(seed=0)
    first = env.render()
    env.step(0)
    assert first.shape == (400, 400, 3)
    assert first.dtype == np.uint8
    assert not np.array_equal(first, env.render())
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 10


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"task": "light-drak"}, "did you mean 'light-dark'"),
        ({"task": "light-dark", "noise": 1.0}, "has no parameter 'noise'"),
        ({"task": "light-dark", "render_mode": "human"}, "rendered as 'rgb_array' or not at all, not as 'human'"),
        ({"task": mp.make("tiger"), "accuracy": 0.9}, "made already, so accuracy cannot be set"),
    ],
)
def test_what_cannot_be_made_is_told(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        TaskEnv(**arguments)


def test_what_is_no_action_is_told():
    env = TaskEnv("light-dark")
    env.reset(seed=0)
    for wrong, sentence in ((9, "There are the actions 0 to 8, not"), (0.5, "An action is a whole number from 0 to 8")):
        with pytest.raises(ValueError, match=sentence):
            env.step(wrong)
    env = TaskEnv("light-dark", continuous=True)
    env.reset(seed=0)
    for wrong in ([1.0], [np.nan, 0.0]):
        with pytest.raises(ValueError, match="An action has 2 finite numbers"):
            env.step(np.array(wrong))
    with pytest.raises(ValueError, match="A reset knows the option 'episode', not 'level'"):
        env.reset(options={"level": 1})


def test_a_task_of_ones_own(own_task):
    env = gymnasium.make("magic_pomdp/Task-v0", task=own_task, goal=1.5)
    with pytest.warns(UserWarning, match="A Box observation space minimum value is -infinity"):
        check_env(env.unwrapped)
    env.reset(seed=0)
    assert env.step(0)[2:4] == (False, False)
    assert env.step(1)[2:4] == (True, False)
    with pytest.raises(ValueError, match="walk does not tell the limits of its actions"):
        gymnasium.make("magic_pomdp/Task-v0", task=own_task, continuous=True)
    bounds = Bounds(observation=(0.0, 3.0), action=(0.0, 1.0))
    env = TaskEnv(mp.make(own_task), continuous=True, bounds=bounds)
    assert env.action_space.is_bounded()
    env.reset(seed=0)
    assert env.step(np.array([0.25]))[0] == 0.25
    with pytest.raises(ValueError, match="has no look"):
        TaskEnv(mp.make(own_task), render_mode="rgb_array")


# --------------------------------------------------------------------------------------------------- many environments


def same(one, other):
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            same(one[name], other[name])
    elif isinstance(one, tuple) or (isinstance(one, np.ndarray) and one.dtype.hasobject):
        for first, second in zip(one, other, strict=True):
            same(first, second)
    elif one is None:
        assert other is None
    else:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["light-dark", "tiger"])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_compiled_it_does_what_single_environments_do(name, mode):
    parameters = {"max_steps": 12}
    compiled = gymnasium.make_vec(env_id(name), num_envs=5, autoreset_mode=mode, **parameters)
    assert isinstance(compiled.unwrapped, TaskVectorEnv)
    single = SyncVectorEnv([lambda: TaskEnv(name, **parameters)] * 5, autoreset_mode=mode)
    assert compiled.observation_space == single.observation_space
    assert compiled.action_space == single.action_space
    same(compiled.reset(seed=3), single.reset(seed=3))
    for actions, _ in zip(random_actions(compiled, 4), range(60), strict=False):
        for one, other in zip(compiled.step(actions), single.step(actions), strict=True):
            same(one, other)
    same(compiled.reset(), single.reset())
    same(compiled.reset(seed=[4, None, 6, 7, 8]), single.reset(seed=[4, None, 6, 7, 8]))


def test_a_certain_episode_in_each():
    envs = TaskVectorEnv(3, "light-dark")
    observations, _ = envs.reset(seed=[7, 7, 7], options={"episode": [0, 1, 2]})
    world = SimulatedWorld(mp.make("light-dark"))
    for episode in range(3):
        np.testing.assert_array_equal(observations["context"][episode], world.begin(7, episode).context)


def test_what_cannot_be_vectorised_is_told():
    for arguments, sentence in (
        ({"num_envs": 0}, "at least one environment, not 0"),
        ({"num_envs": 2, "autoreset_mode": "Disabled"}, "choose NextStep or SameStep"),
    ):
        with pytest.raises(ValueError, match=sentence):
            TaskVectorEnv(task="tiger", **arguments)
    envs = TaskVectorEnv(2, "tiger")
    with pytest.raises(ValueError, match="have not begun: call reset"):
        envs.step([0, 0])
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="2 environments need as many actions, not 3"):
        envs.step([0, 0, 0])
    with pytest.raises(ValueError, match="2 environments need as many seeds, not 1"):
        envs.reset(seed=[1])
