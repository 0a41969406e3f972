"""What one may try instead of planning: a recurrent PPO, learned on Light-Dark through the vector environment, and what
it earns in the episodes of `magic-pomdp evaluate light-dark --seed SEED`. It needs `pip install sb3-contrib`, and runs
by `python examples/recurrent_ppo.py --minutes 20`."""

import argparse
import time

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

import magic_pomdp.gym

NAME = magic_pomdp.gym.env_id("light-dark")
REWARD_SCALE = 0.01  # returns of about 1 suit the learner's defaults


class Senses:
    """What the networks see: observation and context in units of the arena, the last action, and the time."""

    def __init__(self, envs):
        self.task = envs.unwrapped.task
        self.size = self.task.observation_size + self.task.context_size + self.task.action_size + 1
        self.actions, self.steps = np.zeros((envs.num_envs, self.task.action_size)), np.zeros(envs.num_envs)

    def look(self, observations):
        seen = np.hstack([observations["observation"][:, :1], observations["observation"][:, 1:] / self.task.arena])
        parts = [
            seen,
            observations["context"] / self.task.arena,
            self.actions,
            self.steps[:, None] / self.task.max_steps,
        ]
        return np.hstack(parts).astype(np.float32)

    def remember(self, numbers):
        self.actions, self.steps = self.task.actions()[numbers], self.steps + 1

    def forget(self, over):
        self.actions[over], self.steps[over] = 0.0, 0


class SB3Env(VecEnv):
    """The vector environment as Stable-Baselines3 wants it: the next episode begins in the step that ends one."""

    def __init__(self, count, seed):
        self.envs = gymnasium.make_vec(NAME, num_envs=count, autoreset_mode=AutoresetMode.SAME_STEP)
        self.senses, self.first_seed = Senses(self.envs), seed
        space = gymnasium.spaces.Box(-np.inf, np.inf, (self.senses.size,), np.float32)
        super().__init__(count, space, self.envs.single_action_space)

    def reset(self):
        self.senses.forget(slice(None))
        observations, _ = self.envs.reset(seed=self.first_seed)
        self.returns = np.zeros(self.num_envs)
        return self.senses.look(observations)

    def step_async(self, actions):
        self.chosen = actions

    def step_wait(self):
        observations, rewards, terminated, truncated, infos = self.envs.step(self.chosen)
        self.senses.remember(self.chosen)
        self.returns += rewards
        over, told = terminated | truncated, [{} for _ in range(self.num_envs)]
        if over.any():
            last = {name: array.copy() for name, array in observations.items()}
            for i in np.flatnonzero(over):
                for name, array in infos["final_obs"][i].items():
                    last[name][i] = array
            final = self.senses.look(last)
            for i in np.flatnonzero(over):
                told[i] = {
                    "terminal_observation": final[i],
                    "TimeLimit.truncated": bool(truncated[i]),
                    "episode": {"r": self.returns[i], "l": int(self.senses.steps[i]), "t": time.time()},
                }
            self.senses.forget(over)
            self.returns[over] = 0.0
        return self.senses.look(observations), (REWARD_SCALE * rewards).astype(np.float32), over, told

    def close(self):
        self.envs.close()

    def get_attr(self, attr_name, indices=None):
        return [getattr(self.envs, attr_name, None)] * len(self._get_indices(indices))

    def set_attr(self, attr_name, value, indices=None):
        raise NotImplementedError

    def env_method(self, method_name, *args, indices=None, **kwargs):
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * len(self._get_indices(indices))


class UntilTime(BaseCallback):
    """Ends the training after so many minutes, and tells now and then how it goes."""

    def __init__(self, minutes):
        super().__init__()
        self.began, self.end, self.told = time.monotonic(), time.monotonic() + 60 * minutes, 0.0

    def _on_step(self):
        now = time.monotonic()
        if now > self.told + 30 and self.model.ep_info_buffer:
            self.told = now
            mean = np.mean([episode["r"] for episode in self.model.ep_info_buffer])
            print(f"{now - self.began:5.0f} s, {self.num_timesteps:,} steps: mean return {mean:.1f}", flush=True)
        return now < self.end


def evaluate(model, episodes, seed):
    """Returns of the episodes 0 … episodes − 1 of a seed, and which of them succeeded."""
    envs = gymnasium.make_vec(NAME, num_envs=episodes)
    senses = Senses(envs)
    observations, _ = envs.reset(seed=[seed] * episodes, options={"episode": np.arange(episodes)})
    returns, success, over = np.zeros(episodes), np.zeros(episodes, bool), np.zeros(episodes, bool)
    memory, starts = None, np.ones(episodes, bool)
    while not over.all():
        actions, memory = model.predict(senses.look(observations), memory, starts, deterministic=True)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        senses.remember(actions)
        returns += np.where(over, 0.0, rewards)
        success |= ~over & infos.get("is_success", False)
        over, starts = over | terminated | truncated, np.zeros(episodes, bool)
    return returns, success


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0, help="time to learn")
    parser.add_argument("--episodes", type=int, default=100, help="episodes to evaluate on")
    parser.add_argument("--seed", type=int, default=1000, help="of these episodes")
    parser.add_argument("--learning-seed", type=int, default=0, help="of networks and training episodes")
    options = parser.parse_args()
    torch.set_num_threads(1)  # so small networks gain nothing by more, and other programs lose much
    learner = RecurrentPPO(
        "MlpLstmPolicy", SB3Env(64, options.learning_seed), n_steps=60, batch_size=1920, n_epochs=4, gamma=0.98,
        gae_lambda=0.95, ent_coef=0.01, learning_rate=5e-4, seed=options.learning_seed,
        policy_kwargs={"lstm_hidden_size": 64, "net_arch": [64, 64], "shared_lstm": True, "enable_critic_lstm": False},
    )  # fmt: skip
    learner.learn(10**12, callback=UntilTime(options.minutes))
    returns, success = evaluate(learner, options.episodes, options.seed)
    error = returns.std(ddof=1) / np.sqrt(len(returns)) if len(returns) > 1 else 0.0
    print(f"Recurrent PPO, {options.minutes:g} minutes, {learner.num_timesteps:,} steps of experience.")
    print(f"{len(returns)} episodes of seed {options.seed}: return {returns.mean():.1f} ± {error:.1f}, ", end="")
    print(f"success {100 * success.mean():.1f} %")


if __name__ == "__main__":
    main()
