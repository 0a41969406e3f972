"""The tasks in Gymnasium's registry."""

import gymnasium

from magic_pomdp.core.registry import task_names

NAMESPACE, VERSION = "magic_pomdp", 0
ANY_TASK = f"{NAMESPACE}/Task-v{VERSION}"
"""Makes an environment of any task: its name, its place (`my_file.py:MyTask`) or the task itself is given as `task`."""


def env_id(task_name: str) -> str:
    """What Gymnasium calls a task: `light-dark` is magic_pomdp/LightDark-v0."""
    return f"{NAMESPACE}/{''.join(word.capitalize() for word in task_name.split('-'))}-v{VERSION}"


def register_all() -> None:
    """Register every task that has a name now. Those that this process registers later are added by calling it again;
    what is registered already stays."""
    known = {env_id(name): {"task": name} for name in task_names()} | {ANY_TASK: {}}
    for name, arguments in known.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name,
                entry_point="magic_pomdp.gym.env:TaskEnv",
                vector_entry_point="magic_pomdp.gym.vector:TaskVectorEnv",
                kwargs=arguments,
            )
