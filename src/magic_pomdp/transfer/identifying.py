"""From trials in a world to the parameters of the task that is its model."""

from pathlib import Path

from magic_pomdp.core.registry import make
from magic_pomdp.core.settings import Settings
from magic_pomdp.core.task import Task
from magic_pomdp.results.files import read_as
from magic_pomdp.results.identification import Identification
from magic_pomdp.transfer.registry import OnProgress, OtherWorld, find_other_world
from magic_pomdp.transfer.trials import Trials

MOST_TRIALS = 10_000
_FOLDER = Path(__file__).parent / "identified"


def identify(
    task: str,
    trials: int | None = None,
    seed: int = 0,
    settings: Settings | None = None,
    on_progress: OnProgress = lambda finished: None,
) -> tuple[Identification, Trials]:
    """Make trials in the other world of a task, and fit the task's parameters to them."""
    world = find_other_world(task)
    world.check_installed()
    count = world.usual_trials if trials is None else trials
    if not 1 <= count <= MOST_TRIALS:
        raise ValueError(f"The number of trials must lie in [1, {MOST_TRIALS}], not {count}.")
    settings = settings or world.settings()
    model = make(task)
    found = world.run_trials(model, settings, count, seed, on_progress)
    return fit_trials(world, model, found, settings, seed), found


def fit_trials(
    world: OtherWorld, model: Task, trials: Trials, settings: Settings | None = None, seed: int | None = None
) -> Identification:
    """What trials tell of the parameters of the task; settings and seed are those they were made with, if known."""
    return Identification(
        task=world.task,
        world=world.label,
        world_settings=settings.values() if settings else {},
        seed=seed,
        trials=len(trials.each()),
        parameters=world.fit(model, trials),
        measured=dict(trials.measured),
    )


def shipped_identification(task: str) -> Identification | None:
    """What ships as fitted to the other world of a task; None if nothing does."""
    path = _FOLDER / f"{task}.json"
    return read_as(path, Identification) if path.exists() else None
