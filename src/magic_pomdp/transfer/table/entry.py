"""Puck-Push on a table under a camera, as the registry knows it."""

from dataclasses import dataclass

from magic_pomdp.core.settings import Settings, setting
from magic_pomdp.core.task import Task
from magic_pomdp.results.identification import FittedParameter
from magic_pomdp.running.world import World
from magic_pomdp.tasks.puck_push import PuckPush
from magic_pomdp.transfer.registry import OnProgress, OtherWorld
from magic_pomdp.transfer.trials import TRIAL, Trials


@dataclass(frozen=True)
class TableSettings(Settings):
    """What can be set about the table, its robot and its camera."""

    friction: float = setting(1.0, "Factor of the friction between puck, table and robot.", above=0.0, at_most=10.0)
    dropped: float = setting(0.0, "Probability that a camera's frame is dropped.", at_least=0.0, at_most=1.0)
    frozen: float = setting(
        0.0, "Probability that the camera freezes for two seconds, in each step.", at_least=0.0, at_most=1.0
    )
    moved: float = setting(
        0.0, "Probability that somebody moves the robot by hand, in each step.", at_least=0.0, at_most=1.0
    )


def missing() -> str:
    """What to install, if something is missing."""
    from magic_pomdp.transfer.table.rendering import missing_part

    return missing_part()


def make(task: Task, settings: TableSettings) -> World:
    """The table, for a task with any parameters."""
    from magic_pomdp.transfer.table.world import TableWorld

    return TableWorld(task, settings)


def run_trials(task: Task, settings: TableSettings, count: int, seed: int, on_progress: OnProgress) -> Trials:
    """Test pushes on the table, as the camera sees them."""
    from magic_pomdp.transfer.table.pushes import run_pushes

    rows, seconds = run_pushes(settings, count, seed, on_progress)
    return Trials(TABLE.columns, rows, {"camera and perception, ms a frame": 1000.0 * seconds})


def fit(task: Task, trials: Trials) -> tuple[FittedParameter, ...]:
    """The task's parameters as pushes tell them."""
    from magic_pomdp.transfer.table.fitting import fit_pushes

    assert isinstance(task, PuckPush)
    return fit_pushes(task, trials)


TABLE = OtherWorld(
    task="puck-push",
    label="a table in MuJoCo, seen by a camera",
    settings=TableSettings,
    missing=missing,
    make=make,
    columns=(TRIAL, "time", "heading_x", "heading_y", "robot_x", "robot_y", "puck_x", "puck_y"),
    usual_trials=40,
    run_trials=run_trials,
    fit=fit,
    assumed={"moved_by_hand": 1e-9},
)
