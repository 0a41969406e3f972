"""Real-time planning under uncertainty: write a POMDP in plain Python, plan in it at native speed.

    import magic_pomdp as mp

    task = mp.make("light-dark")
    planner = mp.MacroDespot(task, budget=mp.Budget(seconds=0.1))
    print(mp.run_episode(task, planner, seed=1))

The eleven names that everybody needs are here. The others are in groups: `random` and `scene` to write a task with,
`macros`, `planners`, `magic`, `running`, `learning`, `results`, `show`, `tasks` and `testing`. All load on first use.
"""

from typing import TYPE_CHECKING

from magic_pomdp._lazy import lazy_names

__version__ = "0.2.0"

if TYPE_CHECKING:
    from magic_pomdp import learning as learning
    from magic_pomdp import macros as macros
    from magic_pomdp import magic as magic
    from magic_pomdp import planners as planners
    from magic_pomdp import random as random
    from magic_pomdp import results as results
    from magic_pomdp import running as running
    from magic_pomdp import scene as scene
    from magic_pomdp import show as show
    from magic_pomdp import tasks as tasks
    from magic_pomdp import testing as testing
    from magic_pomdp import transfer as transfer
    from magic_pomdp.core.belief import Belief as Belief
    from magic_pomdp.core.macro_actions import MacroActions as MacroActions
    from magic_pomdp.core.outcome import Outcome as Outcome
    from magic_pomdp.core.registry import make as make
    from magic_pomdp.core.surprise import ImpossibleObservation as ImpossibleObservation
    from magic_pomdp.core.task import Task as Task
    from magic_pomdp.planners.macro_despot import MacroDespot as MacroDespot
    from magic_pomdp.planners.plan import Budget as Budget
    from magic_pomdp.planners.plan import Plan as Plan
    from magic_pomdp.running.episode import run_episode as run_episode
    from magic_pomdp.running.evaluating import evaluate as evaluate

__all__ = [
    "Belief",
    "Budget",
    "ImpossibleObservation",
    "MacroActions",
    "MacroDespot",
    "Outcome",
    "Plan",
    "Task",
    "__version__",
    "evaluate",
    "learning",
    "macros",
    "magic",
    "make",
    "planners",
    "random",
    "results",
    "run_episode",
    "running",
    "scene",
    "show",
    "tasks",
    "testing",
    "transfer",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "core.belief": ("Belief",),
        "core.macro_actions": ("MacroActions",),
        "core.outcome": ("Outcome",),
        "core.registry": ("make",),
        "core.surprise": ("ImpossibleObservation",),
        "core.task": ("Task",),
        "planners.macro_despot": ("MacroDespot",),
        "planners.plan": (
            "Budget",
            "Plan",
        ),
        "running.episode": ("run_episode",),
        "running.evaluating": ("evaluate",),
        "learning": ("learning",),
        "macros": ("macros",),
        "magic": ("magic",),
        "planners": ("planners",),
        "random": ("random",),
        "results": ("results",),
        "running": ("running",),
        "scene": ("scene",),
        "show": ("show",),
        "tasks": ("tasks",),
        "testing": ("testing",),
        "transfer": ("transfer",),
    },
)
