"""Crowd-Driving in SUMO, as the registry knows it."""

from dataclasses import dataclass
from importlib.util import find_spec

from magic_pomdp.core.extras import install_command
from magic_pomdp.core.settings import Settings, setting
from magic_pomdp.core.task import Task
from magic_pomdp.results.identification import FittedParameter
from magic_pomdp.running.world import World
from magic_pomdp.transfer.registry import OnProgress, OtherWorld
from magic_pomdp.transfer.trials import TRIAL, Trials

_PARTS = {"libsumo": "libsumo", "sumo": "eclipse-sumo", "vehiclemodels": "commonroad-vehicle-models"}
"""Modules that are needed, and the packages that bring them."""
SURPRISE = 0.1
"""How likely SUMO's drivers are taken to change their minds in a step, since they do not drive by the model."""


@dataclass(frozen=True)
class SumoSettings(Settings):
    """What can be set about the traffic, and about what is seen of it."""

    cars_per_second: float = setting(0.5, "Cars that come to the junction a second.", at_least=0.0, at_most=5.0)
    vanish: float = setting(0.0, "Probability that the nearest car vanishes, in each step.", at_least=0.0, at_most=1.0)
    late: float = setting(
        0.0, "Probability that an observation is 0.3 s late, in each step.", at_least=0.0, at_most=1.0
    )


def missing() -> str:
    """What to install, if something is missing."""
    packages = [package for module, package in _PARTS.items() if find_spec(module) is None]
    if not packages:
        return ""
    return f"Crowd-Driving in SUMO needs {', '.join(packages)}: {install_command('transfer')}."


def make(task: Task, settings: SumoSettings) -> World:
    """The junction, for a task with any parameters."""
    from magic_pomdp.transfer.sumo.world import SumoWorld

    return SumoWorld(task, settings)  # type: ignore[arg-type]  # its entry is that task's


def run_trials(task: Task, settings: SumoSettings, count: int, seed: int, on_progress: OnProgress) -> Trials:
    """Test drives on an empty place."""
    from magic_pomdp.transfer.sumo.test_drive import drive_around

    return drive_around(count, seed, on_progress)


def fit(task: Task, trials: Trials) -> tuple[FittedParameter, ...]:
    """The robot's car as test drives tell it."""
    from magic_pomdp.transfer.sumo.test_drive import fit_car

    return fit_car(trials)


JUNCTION = OtherWorld(
    task="crowd-driving",
    label="SUMO's drivers, and a car with tyres",
    settings=SumoSettings,
    missing=missing,
    make=make,
    columns=(TRIAL, "speed_wanted", "steering_wanted", "x", "y", "heading", "speed", "steering"),
    usual_trials=10,
    run_trials=run_trials,
    fit=fit,
    assumed={"surprise": SURPRISE},
)
