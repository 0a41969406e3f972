"""Real-time planning under uncertainty: write a POMDP in plain Python, plan in it at native speed.

    import magic_pomdp as mp

    task = mp.make_task("light-dark")
    planner = mp.MacroDespot(task, budget=mp.Budget(seconds=0.1))
    print(mp.run_episode(task, planner, seed=1))

Names load on first use, so importing the package is quick and pulls in neither numba nor anything larger.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PLACES = {
    "Task": "core.task",
    "RUNNING": "core.task",
    "SUCCESS": "core.task",
    "FAILURE": "core.task",
    "Belief": "core.belief",
    "Circle": "core.scene",
    "Handle": "core.scene",
    "Line": "core.scene",
    "Polygon": "core.scene",
    "Scene": "core.scene",
    "Text": "core.scene",
    "Track": "core.scene",
    "box": "core.scene",
    "rectangle": "core.scene",
    "MacroActions": "core.macro_actions",
    "not_inlined": "core.compiling",
    "make_task": "core.registry",
    "integer": "core.randomness",
    "new_stream": "core.randomness",
    "normal": "core.randomness",
    "uniform": "core.randomness",
    "Budget": "planners.plan",
    "Plan": "planners.plan",
    "Planner": "planners.plan",
    "MacroDespot": "planners.macro_despot",
    "DespotSettings": "planners.macro_despot",
    "Pomcpow": "planners.pomcpow",
    "Mirror": "core.task",
    "PomcpowNumbers": "core.task",
    "PomcpowSettings": "planners.pomcpow",
    "BezierSpace": "macros.spaces",
    "HeldActionSpace": "macros.spaces",
    "MacroSpace": "macros.spaces",
    "TurnAndGoSpace": "macros.turn_and_go",
    "MagicPlanner": "learning.planner",
    "TrainSettings": "learning.settings",
    "load_model": "learning.model",
    "train": "learning.trainer",
    "EpisodeRecord": "running.episode",
    "load_recording": "running.recording",
    "record_episodes": "running.recording",
    "save_recording": "running.recording",
    "write_replay": "show.replay",
    "read_results": "show.results",
    "write_report": "show.report",
    "write_video": "show.video",
    "run_episode": "running.episode",
    "Evaluation": "running.evaluate",
    "EvaluationInterrupted": "running.evaluate",
    "PlannerChoice": "running.evaluate",
    "evaluate": "running.evaluate",
    "Finding": "testing",
    "check_task": "testing",
    "check_planner": "testing",
}
"""Where each public name is defined."""

__all__ = ["__version__", *_PLACES]

if TYPE_CHECKING:
    from magic_pomdp.core.belief import Belief as Belief
    from magic_pomdp.core.compiling import not_inlined as not_inlined
    from magic_pomdp.core.macro_actions import MacroActions as MacroActions
    from magic_pomdp.core.randomness import integer as integer
    from magic_pomdp.core.randomness import new_stream as new_stream
    from magic_pomdp.core.randomness import normal as normal
    from magic_pomdp.core.randomness import uniform as uniform
    from magic_pomdp.core.registry import make_task as make_task
    from magic_pomdp.core.scene import Circle as Circle
    from magic_pomdp.core.scene import Handle as Handle
    from magic_pomdp.core.scene import Line as Line
    from magic_pomdp.core.scene import Polygon as Polygon
    from magic_pomdp.core.scene import Scene as Scene
    from magic_pomdp.core.scene import Text as Text
    from magic_pomdp.core.scene import Track as Track
    from magic_pomdp.core.scene import box as box
    from magic_pomdp.core.scene import rectangle as rectangle
    from magic_pomdp.core.task import FAILURE as FAILURE
    from magic_pomdp.core.task import RUNNING as RUNNING
    from magic_pomdp.core.task import SUCCESS as SUCCESS
    from magic_pomdp.core.task import Mirror as Mirror
    from magic_pomdp.core.task import PomcpowNumbers as PomcpowNumbers
    from magic_pomdp.core.task import Task as Task
    from magic_pomdp.learning.model import load_model as load_model
    from magic_pomdp.learning.planner import MagicPlanner as MagicPlanner
    from magic_pomdp.learning.settings import TrainSettings as TrainSettings
    from magic_pomdp.learning.trainer import train as train
    from magic_pomdp.macros.spaces import BezierSpace as BezierSpace
    from magic_pomdp.macros.spaces import HeldActionSpace as HeldActionSpace
    from magic_pomdp.macros.spaces import MacroSpace as MacroSpace
    from magic_pomdp.macros.turn_and_go import TurnAndGoSpace as TurnAndGoSpace
    from magic_pomdp.planners.macro_despot import DespotSettings as DespotSettings
    from magic_pomdp.planners.macro_despot import MacroDespot as MacroDespot
    from magic_pomdp.planners.plan import Budget as Budget
    from magic_pomdp.planners.plan import Plan as Plan
    from magic_pomdp.planners.plan import Planner as Planner
    from magic_pomdp.planners.pomcpow import Pomcpow as Pomcpow
    from magic_pomdp.planners.pomcpow import PomcpowSettings as PomcpowSettings
    from magic_pomdp.running.episode import EpisodeRecord as EpisodeRecord
    from magic_pomdp.running.episode import run_episode as run_episode
    from magic_pomdp.running.evaluate import Evaluation as Evaluation
    from magic_pomdp.running.evaluate import EvaluationInterrupted as EvaluationInterrupted
    from magic_pomdp.running.evaluate import PlannerChoice as PlannerChoice
    from magic_pomdp.running.evaluate import evaluate as evaluate
    from magic_pomdp.running.recording import load_recording as load_recording
    from magic_pomdp.running.recording import record_episodes as record_episodes
    from magic_pomdp.running.recording import save_recording as save_recording
    from magic_pomdp.show.replay import write_replay as write_replay
    from magic_pomdp.show.report import write_report as write_report
    from magic_pomdp.show.results import read_results as read_results
    from magic_pomdp.show.video import write_video as write_video
    from magic_pomdp.testing import Finding as Finding
    from magic_pomdp.testing import check_planner as check_planner
    from magic_pomdp.testing import check_task as check_task


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'magic_pomdp' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"magic_pomdp.{_PLACES[name]}"), name)
    globals()[name] = value
    return value
