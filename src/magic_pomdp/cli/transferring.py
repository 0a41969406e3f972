"""Commands that leave a task's own simulator: fit the task to another world, and see how plans do there."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import tyro

from magic_pomdp.cli.options import DeclaredOptions, PlannerOptions, default, options_of, with_options
from magic_pomdp.cli.planning import EvaluateSettings, default_path, finish_evaluation, report_evaluation
from magic_pomdp.cli.replaying import save_and_tell
from magic_pomdp.cli.shared import (
    FINE,
    INTERRUPTED,
    Saver,
    complain,
    complain_of_failure,
    episode_progress,
    file_name,
    progress_bar,
    show,
    task_from,
)
from magic_pomdp.cli.where import Where
from magic_pomdp.core.saving import check_writable, make_folder

if TYPE_CHECKING:
    from magic_pomdp.core.settings import Settings
    from magic_pomdp.core.task import Task
    from magic_pomdp.running.episode import EpisodeRecord
    from magic_pomdp.running.factory import PlannerFactory
    from magic_pomdp.running.world import WorldFactory

NONE = "none"
"""Instead of a file: the task as it ships."""
TransferTask = Annotated[str, tyro.conf.arg(metavar="TASK", help="The name of a task that has another world.")]


@dataclass(frozen=True)
class WorldOptions(DeclaredOptions):
    """What the other world is like. Each has options of its own: TASK --help shows them."""

    @classmethod
    def declared(cls, arguments: list[str]) -> type[Self]:
        from magic_pomdp.transfer.registry import find_other_world, other_worlds

        named = next((argument for argument in arguments[1:] if argument in other_worlds()), None)
        return cls if named is None else with_options(cls, options_of(find_other_world(named).settings))

    def settings(self, kind: type["Settings"]) -> "Settings":
        """The world's settings as they were given."""
        from magic_pomdp.core.settings import settings_of

        given: dict[str, Any] = {name: getattr(self, name) for name in settings_of(kind)}
        return kind(**given)


@dataclass(frozen=True)
class TransferSettings(EvaluateSettings):
    """How to evaluate, and with which parameters of the task."""

    identified: Annotated[str | None, default("FILE", "what ships as fitted to the world, if anything does")] = None
    """Where the task's parameters come from: a file of `identify`, or none for the task as it is published."""
    record: Annotated[Path | None, default("FILE", "none")] = None
    """Where to save a recording of all episodes, for `replay` and `video`."""


@dataclass(frozen=True)
class IdentifySettings:
    """Which trials."""

    trials: Annotated[int | None, default("INT", "as many as the world needs")] = None
    """Number of trials to make."""
    seed: int = 0
    """What all chance follows from, 0 or more."""
    read: Annotated[Path | None, default("FILE", "none: trials are made")] = None
    """Trials that were recorded before, as CSV, to be fitted instead of new ones."""
    save_trials: Annotated[Path | None, default("FILE", "none")] = None
    """Where to save the trials as CSV."""
    json: Annotated[Path | None, default("FILE", "one in the folder results, named after task and seed")] = None
    """Where to save the result."""


def transfer(
    task: TransferTask, /, planner: PlannerOptions, world: WorldOptions, settings: TransferSettings, cluster: Where
) -> int:
    """Run many episodes of a planner in another world than the task's simulator; report the return beside what is
    published, and save everything as JSON."""
    from magic_pomdp.transfer.registry import find_other_world

    entry = find_other_world(task)
    assumed = tuple(f"{name}={value!r}" for name, value in entry.assumed.items())
    origin, fitted = read_identified(task, settings.identified)
    make_world = entry.factory(world.settings(entry.settings), origin)
    the_task, factory = task_from(task, (*assumed, *fitted, *settings.parameters)), planner.factory()
    changed = _changed(make_world.settings)
    marks = ("transfer", *([] if origin else ["not-identified"]), *changed)
    path = check_writable(settings.json or default_path(the_task, factory, settings, marks))
    with cluster.jobs():
        if settings.record is None:
            return finish_evaluation(the_task, factory, settings, path, make_world)
        check_writable(settings.record)
        return _record(the_task, factory, settings, path, settings.record, make_world)


def identify(task: TransferTask, /, world: WorldOptions, settings: IdentifySettings) -> int:
    """Make trials in another world than the task's simulator, and fit the task's parameters to them, with errors."""
    from magic_pomdp.core.registry import make
    from magic_pomdp.show.tables import identification_table
    from magic_pomdp.transfer.identifying import fit_trials
    from magic_pomdp.transfer.identifying import identify as run_identification
    from magic_pomdp.transfer.registry import find_other_world
    from magic_pomdp.transfer.trials import read_trials, write_trials

    entry = find_other_world(task)
    chosen = world.settings(entry.settings)
    name = file_name("identified", task, f"seed{settings.seed}", *_changed(chosen))
    path = check_writable(settings.json or make_folder(Path("results")) / f"{name}.json")
    if settings.save_trials:
        check_writable(settings.save_trials)
    if settings.read:
        trials = read_trials(settings.read, entry.columns)
        found = fit_trials(entry, make(task), trials)
    else:
        count = entry.usual_trials if settings.trials is None else settings.trials
        with progress_bar("trials", count, "") as update:
            found, trials = run_identification(
                task, count, settings.seed, chosen, lambda finished: update(completed=finished)
            )
    show(identification_table(found))
    saver = Saver()
    saver.write(path, found)
    trials_path = settings.save_trials
    if trials_path is not None:
        saver.save(trials_path, lambda place: write_trials(place, trials))
    if saver.code == FINE:
        show(f"Saved as {path}\nTo plan with it: magic-pomdp transfer {task} --identified {shlex.quote(str(path))}")
    return saver.code


def read_identified(task: str, asked: str | None) -> tuple[str, tuple[str, ...]]:
    """Where a task's parameters come from, "" if from nowhere, and how they are set."""
    from magic_pomdp.core.reading import in_short
    from magic_pomdp.core.registry import make
    from magic_pomdp.results.files import read_as
    from magic_pomdp.results.identification import Identification
    from magic_pomdp.transfer.identifying import shipped_identification

    if asked == NONE:
        return "", ()
    found = shipped_identification(task) if asked is None else read_as(Path(asked), Identification)
    if found is None:
        return "", ()
    if found.task != task:
        raise ValueError(f"{asked} holds parameters of {in_short(found.task)}, not of {task}.")
    try:
        make(task, **found.values())
    except ValueError as error:
        raise ValueError(f"{asked} does not fit: {error}") from None
    origin = "what ships" if asked is None else Path(asked).name
    return origin, tuple(f"{name}={value!r}" for name, value in found.values().items())


def _changed(settings: "Settings") -> list[str]:
    """What is set otherwise than usual, for the name of a file."""
    from magic_pomdp.core.settings import default_of

    kind = type(settings)
    return [f"{name}={value}" for name, value in settings.values().items() if value != default_of(kind, name)]


def _record(
    task: "Task",
    factory: "PlannerFactory",
    settings: TransferSettings,
    path: Path,
    recording_path: Path,
    make_world: "WorldFactory",
) -> int:
    """Run episodes, and keep everything about them; report, and save both."""
    from magic_pomdp.results.evaluation import add_up
    from magic_pomdp.running.evaluating import describe
    from magic_pomdp.running.recording import RecordingFailed, RecordingInterrupted, record_episodes

    if settings.plan_ahead is not None:
        raise ValueError("A recording plans ahead as the task has it: leave --plan-ahead out.")
    asked = describe(task, factory, settings.seed, make_world=make_world)
    records: dict[int, EpisodeRecord] = {}
    code = FINE
    try:
        with episode_progress(settings.episodes) as advance:

            def keep(record: "EpisodeRecord") -> None:
                records[record.result.episode] = record
                advance(record)

            recording = record_episodes(
                task,
                factory,
                settings.episodes,
                settings.seed,
                workers=settings.workers,
                on_progress=keep,
                world=make_world,
            )
    except RecordingFailed as failure:
        recording, code = failure.recording, complain_of_failure(failure)
    except RecordingInterrupted as interruption:
        recording, code = interruption.recording, complain("Interrupted.", INTERRUPTED)
    finished = [records[number] for number in sorted(records)]
    code = report_evaluation(add_up(asked, finished, len(finished) == settings.episodes), path, code)
    if not finished:
        return code
    whole = len(finished) == settings.episodes
    saved = save_and_tell(
        recording, recording_path if whole else recording_path.with_name(f"partial-{recording_path.name}")
    )
    return code or saved
