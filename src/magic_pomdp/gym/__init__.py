"""Tasks as Gymnasium environments, and Gymnasium environments as worlds.

    import gymnasium
    import magic_pomdp.gym

    env = gymnasium.make("magic_pomdp/LightDark-v0")
    envs = gymnasium.make_vec("magic_pomdp/LightDark-v0", num_envs=64)

To import this package registers an environment for every task that has a name. docs/gymnasium.md is a guide.
"""

from magic_pomdp.core.extras import install_command as _install_command

try:
    import gymnasium as _gymnasium  # noqa: F401
except ModuleNotFoundError as _error:
    raise ModuleNotFoundError(
        f"magic_pomdp.gym needs the library gymnasium: install it with `{_install_command('gym')}`.",
        name="gymnasium",
    ) from _error

from magic_pomdp.gym.bounds import Bounds as Bounds
from magic_pomdp.gym.env import TaskEnv as TaskEnv
from magic_pomdp.gym.registering import env_id as env_id
from magic_pomdp.gym.registering import register_all as register_all
from magic_pomdp.gym.vector import TaskVectorEnv as TaskVectorEnv
from magic_pomdp.gym.world import GymnasiumWorld as GymnasiumWorld

__all__ = [
    "Bounds",
    "GymnasiumWorld",
    "TaskEnv",
    "TaskVectorEnv",
    "env_id",
    "register_all",
]

register_all()
