"""Commands that run planners."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from magic_pomdp.cli.options import PlannerOptions, default
from magic_pomdp.cli.shared import (
    FINE,
    INTERRUPTED,
    WRONG,
    Saver,
    TaskName,
    TaskParameters,
    cell_progress,
    complain,
    complain_of_failure,
    episode_progress,
    file_name,
    need,
    show,
    task_from,
    trial_progress,
)
from magic_pomdp.cli.where import Where
from magic_pomdp.core.saving import check_writable, make_folder

if TYPE_CHECKING:
    from magic_pomdp.core.task import Task
    from magic_pomdp.results.evaluation import Evaluation
    from magic_pomdp.running.evaluating import MakeWorld
    from magic_pomdp.running.factory import PlannerFactory


@dataclass(frozen=True)
class EvaluateSettings:
    """How to evaluate."""

    plan_ahead: Annotated[
        Literal["yes", "no"] | None, default("{yes,no}", "in seconds, if the task's world does not wait; in steps, no")
    ] = None
    """Plan each macro-action while the one before it is carried out, for what is expected at its end."""
    episodes: int = 100
    """Number of episodes."""
    seed: int = 0
    """What all chance follows from, 0 or more."""
    workers: Annotated[int | None, default("INT", "one for every core")] = None
    """Processes that run episodes; 0 runs them in the main process, for debugging."""
    json: Annotated[Path | None, default("FILE", "one in the folder results, named after the settings")] = None
    """Where to save the result."""
    parameters: TaskParameters = ()


@dataclass(frozen=True)
class CompareSettings:
    """What to compare."""

    planners: Annotated[tuple[str, ...], default("NAME", "all that can plan in the task")] = ()
    """Who takes part; can be repeated."""
    seconds: Annotated[tuple[float, ...], default("FLOAT", "0.001 0.005 0.025 0.1 1")] = ()
    """Budgets of a plan in seconds; can be repeated."""
    steps: Annotated[tuple[int, ...], default("INT", "none")] = ()
    """Budgets in primitive steps instead; can be repeated."""
    macro_length: Annotated[int | None, default("INT", "the task's advice")] = None
    """Length of the handcrafted macro-actions."""
    episodes: int = 100
    """Number of episodes, the same for all."""
    seed: int = 0
    """What all chance follows from, 0 or more."""
    workers: Annotated[int | None, default("INT", "one for every core")] = None
    """Processes that run episodes."""
    folder: Annotated[Path | None, default("FOLDER", "results/compare-…, named after task and parameters")] = None
    """Where results and the plot go. What is there already is not run again."""
    parameters: TaskParameters = ()


@dataclass(frozen=True)
class TuneSettings:
    """How to search."""

    trials: int = 50
    """Settings to try, those of an earlier search in the same file included."""
    episodes: int = 30
    """Episodes of each."""
    seed: int = 1000
    """Whose episodes they are. Report results on another one."""
    workers: Annotated[int | None, default("INT", "one for every core")] = None
    """Processes that run episodes."""
    at_once: int = 1
    """Trials at the same time, each in a worker of its own. With 1, all workers share the episodes of a trial."""
    file: Annotated[Path | None, default("FILE", "one in the folder results, named after task and planner")] = None
    """Where the search is kept. The same command goes on with it."""
    parameters: TaskParameters = ()


def evaluate(task: TaskName, /, planner: PlannerOptions, settings: EvaluateSettings, cluster: Where) -> int:
    """Run many episodes of a planner in a task; report the return, and save everything as JSON."""
    the_task, factory = task_from(task, settings.parameters), planner.factory()
    path = check_writable(settings.json or default_path(the_task, factory, settings))
    with cluster.jobs():
        return finish_evaluation(the_task, factory, settings, path)


def finish_evaluation(
    task: "Task",
    factory: "PlannerFactory",
    settings: EvaluateSettings,
    path: Path,
    world: "MakeWorld | None" = None,
) -> int:
    """Run the episodes, in the task's own simulator or in another world; report, and save all that was finished."""
    from magic_pomdp.running.evaluating import EvaluationFailed, EvaluationInterrupted
    from magic_pomdp.running.evaluating import evaluate as run_evaluation
    from magic_pomdp.running.world import SimulatedWorld

    ahead = None if settings.plan_ahead is None else settings.plan_ahead == "yes"
    code = FINE
    try:
        with episode_progress(settings.episodes) as advance:
            evaluation = run_evaluation(
                task,
                factory,
                settings.episodes,
                settings.seed,
                settings.workers,
                advance,
                plans_ahead=ahead,
                world=world or SimulatedWorld,
            )
    except EvaluationFailed as failure:
        evaluation, code = failure.evaluation, complain_of_failure(failure)
    except EvaluationInterrupted as interruption:
        evaluation, code = interruption.evaluation, complain("Interrupted.", INTERRUPTED)
    return report_evaluation(evaluation, path, code)


def report_evaluation(evaluation: "Evaluation", path: Path, code: int) -> int:
    """Show and save what was finished; the exit code, which was one before."""
    from magic_pomdp.show.tables import evaluation_table

    if not evaluation.complete:
        if not evaluation.records:
            return complain("No episode was finished, so nothing is saved.", code)
        path = path.with_suffix(".partial.json")  # whatever was saved there before is complete, and stays
    show(evaluation_table(evaluation))
    saver = Saver()
    saver.write(path, evaluation)
    if saver.code == FINE:
        show(f"Saved as {path}")
    return code or saver.code


def compare(task: TaskName, /, settings: CompareSettings, cluster: Where) -> int:
    """Run every planner on the same episodes with several budgets: tables, JSON, a plot of return against budget."""
    need("matplotlib", "Drawing", "show")
    from magic_pomdp.core.task import task_name
    from magic_pomdp.planners.plan import Budget
    from magic_pomdp.running.comparing import BUDGETS, COMPARISON_FILE, choose_planners
    from magic_pomdp.running.comparing import compare as run_comparison
    from magic_pomdp.running.factory import able_planners
    from magic_pomdp.show.anytime import draw_anytime
    from magic_pomdp.show.tables import comparison_table

    the_task = task_from(task, settings.parameters)
    if settings.seconds and settings.steps:
        raise ValueError("The budgets of a comparison are either seconds or primitive steps, but both were given.")
    budgets = [Budget(seconds=seconds) for seconds in settings.seconds] + [Budget(steps=n) for n in settings.steps]
    lengths = {} if settings.macro_length is None else {"macro_length": settings.macro_length}
    planners = choose_planners(settings.planners or able_planners(the_task), lengths)
    name = file_name("compare", task_name(the_task), *settings.parameters, between="-")
    folder = make_folder(settings.folder or Path("results") / name)
    check_writable(folder / COMPARISON_FILE)
    cells, saver = len(planners) * len(budgets or BUDGETS), Saver()
    with cluster.jobs(), cell_progress(cells, settings.episodes) as (begin, advance):
        comparison = run_comparison(
            the_task,
            folder,
            planners,
            budgets or BUDGETS,
            settings.episodes,
            settings.seed,
            settings.workers,
            begin,
            advance,
            saver.write,
        )
    for budget in budgets or BUDGETS:
        title = f"{comparison.task}, {settings.episodes} episodes, seed {settings.seed}, {budget} a plan"
        show(comparison_table(title, comparison.at(budget)))
    saver.save(folder / "anytime.png", lambda path: draw_anytime(comparison, path))  # and anytime.svg
    if saver.code == FINE:
        show(f"Results and a plot are in {folder}; the same command runs only what is missing there.")
    return saver.code


def difference(
    first: Annotated[Path, tyro.conf.arg(metavar="FIRST", help="A file that evaluate has saved.")],
    others: Annotated[
        tuple[Path, ...], tyro.conf.arg(metavar="OTHER…", help="Files of other evaluations on the same episodes.")
    ],
    /,
) -> int:
    """Tell how much more one planner returns than others, episode by episode, in stored results of the same seed."""
    from magic_pomdp.results.evaluation import Evaluation
    from magic_pomdp.results.files import read_as
    from magic_pomdp.running.difference import difference as compare_episodes
    from magic_pomdp.show.tables import difference_table

    if not others:
        raise ValueError("Name at least two files of results.")
    mine, rest = read_as(first, Evaluation), [read_as(path, Evaluation) for path in others]
    show(difference_table(mine, [(other, compare_episodes(mine, other)) for other in rest]))
    return FINE


def tune(task: TaskName, /, planner: PlannerOptions, settings: TuneSettings, cluster: Where) -> int:
    """Look for a planner's best settings in a task. Stop it at any time; the same command goes on."""
    need("optuna", "Tuning", "tune")
    from magic_pomdp.core.task import task_name
    from magic_pomdp.running.tuning import tune as run_search
    from magic_pomdp.show.tables import tuning_table

    the_task, factory = task_from(task, settings.parameters), planner.factory()
    parts = ("tune", task_name(the_task), factory.name, str(factory.budget_for(the_task)), *settings.parameters)
    name = f"{file_name(*parts, between='-')}.journal"
    path = check_writable(settings.file or make_folder(Path("results")) / name)
    try:
        with cluster.jobs(), trial_progress(settings.trials) as advance:
            tuning = run_search(
                the_task,
                factory,
                path,
                settings.trials,
                settings.episodes,
                settings.seed,
                settings.workers,
                advance,
                lambda sentence: print(sentence, file=sys.stderr),
                settings.at_once,
            )
    except OSError as error:
        reason = f"{path} cannot be written ({error.strerror})"
        return complain(f"{reason}; it keeps what was found, and the same command goes on.", WRONG)
    except KeyboardInterrupt:
        return complain(f"Interrupted; {path} keeps what was found, and the same command goes on.", INTERRUPTED)
    show(tuning_table(tuning))
    asked = ["magic-pomdp", "evaluate", task, "--planner", planner.planner]
    best = tuning.best
    given = {"seconds": planner.seconds, "steps": planner.steps} | planner.overrides()
    for option, value in given.items():
        asked += [] if value is None or option in best else [f"--{option.replace('_', '-')}", str(value)]
    for parameter in settings.parameters:
        asked += ["--set", parameter]
    show(f"{shlex.join(asked)} {tuning.options()}\nThe search is kept in {path}")
    return FINE


def default_path(
    task: "Task", factory: "PlannerFactory", settings: EvaluateSettings, marks: tuple[str, ...] = ()
) -> Path:
    """A file named after everything that was asked for, so that no other result is overwritten. Marks stand first."""
    from magic_pomdp.core.settings import settings_of
    from magic_pomdp.core.task import task_name

    parts = [
        *marks,
        task_name(task),
        factory.name,
        f"L{factory.length_in(task)}",
        str(factory.budget_for(task)),
        f"seed{settings.seed}",
        f"{settings.episodes}episodes",
    ]
    parts += [{"yes": "ahead", "no": "waiting"}[settings.plan_ahead]] if settings.plan_ahead is not None else []
    known = settings_of(factory.entry.settings)
    for name, value in factory.overrides.items():
        short = known[name].short
        if short is not None:
            said = short or ("" if isinstance(value, str) else name)  # words speak for themselves, numbers do not
            parts.append(f"{said}{value:g}" if isinstance(value, float) else f"{said}{value}")
    return make_folder(Path("results")) / f"{file_name(*parts, *settings.parameters)}.json"
