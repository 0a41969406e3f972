"""Commands that run planners."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from magic_pomdp.cli.shared import (
    FINE,
    INTERRUPTED,
    PlannerName,
    TaskName,
    TaskParameters,
    cell_progress,
    complain,
    complain_of_failure,
    default,
    episode_progress,
    make_budget,
    need,
    show,
    task_parameters,
    trial_progress,
)
from magic_pomdp.running.saving import check_writable, make_folder

if TYPE_CHECKING:
    from magic_pomdp.core.task import Task
    from magic_pomdp.running.evaluate import PlannerChoice

SHORT_NAMES = {
    "default_policy": "",
    "scenarios": "K",
    "search_depth": "D",
    "xi": "xi",
    "regularisation": "lambda",
    "exploration": "c",
    "action_widening": "ka",
    "action_exponent": "alpha-a",
    "observation_widening": "ko",
    "observation_exponent": "alpha-o",
    "guided_actions": "guided",
    "tree_nodes": "nodes",
}
"""A planner's settings, and what a file of results calls them."""


@dataclass(frozen=True)
class EvaluateSettings:
    """How to evaluate."""

    planner: PlannerName = "macro-despot"
    """DESPOT is Macro-DESPOT with primitive actions; MAGIC, with learned macro-actions; POMCPOW draws its own."""
    model: Annotated[str | None, default("NAME|FILE", "the best that ships for the task")] = None
    """MAGIC's trained generator."""
    macro_length: Annotated[int | None, default("INT", "the task's own")] = None
    """Length of the macro-actions."""
    seconds: Annotated[float | None, default("FLOAT", "the task's own, mostly 0.1")] = None
    """Budget of a plan in seconds."""
    steps: Annotated[int | None, default("INT", "none")] = None
    """Budget of a plan in primitive steps instead: it gives the same result in every run. A first trial is always
    made."""
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
    search_depth: Annotated[int | None, default("INT", "the task's own")] = None
    """D, how many primitive steps to look ahead."""
    scenarios: Annotated[int | None, default("INT", "the task's own")] = None
    """DESPOT: K, how many sampled futures a search shares among its nodes."""
    xi: Annotated[float | None, default("FLOAT", "0.95")] = None
    """DESPOT: ξ, the share of the root's gap that a trial leaves alone."""
    regularisation: Annotated[float | None, default("FLOAT", "the task's own, mostly 0")] = None
    """DESPOT: λ, what each macro-action that the search adds to its default policy must gain."""
    default_policy: Annotated[
        Literal["guided", "greedy", "random"] | None,
        default("{guided,greedy,random}", "guided if the task has a guide, else greedy"),
    ] = None
    """DESPOT: whose earnings are the search's first lower bounds: guided by the task, greedy in its upper bound, or
    random."""
    exploration: Annotated[float | None, default("FLOAT", "the task's own")] = None
    """POMCPOW: c, how much an action's rarity counts against its value."""
    action_widening: Annotated[float | None, default("FLOAT", "the task's own")] = None
    """POMCPOW: k_a; N visits are worth k_a N^α_a actions."""
    action_exponent: Annotated[float | None, default("FLOAT", "the task's own")] = None
    """POMCPOW: α_a, from 0 to 1."""
    observation_widening: Annotated[float | None, default("FLOAT", "the task's own")] = None
    """POMCPOW: k_o; N visits are worth k_o N^α_o observations."""
    observation_exponent: Annotated[float | None, default("FLOAT", "the task's own")] = None
    """POMCPOW: α_o, from 0 to 1."""
    guided_actions: Annotated[float | None, default("FLOAT", "the task's own")] = None
    """POMCPOW: the share of new actions that are what rollouts would do, not random; 0 in the paper."""
    tree_nodes: Annotated[int | None, default("INT", "the planner's own")] = None
    """Room for belief nodes."""
    parameters: TaskParameters = ()


@dataclass(frozen=True)
class CompareSettings:
    """What to compare."""

    planners: Annotated[tuple[PlannerName, ...], default("NAME", "all that can plan in the task")] = ()
    """Who takes part; can be repeated."""
    seconds: Annotated[tuple[float, ...], default("FLOAT", "0.001 0.005 0.025 0.1 1")] = ()
    """Budgets of a plan in seconds; can be repeated."""
    steps: Annotated[tuple[int, ...], default("INT", "none")] = ()
    """Budgets in primitive steps instead; can be repeated."""
    macro_length: Annotated[int | None, default("INT", "the task's own")] = None
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

    planner: PlannerName = "pomcpow"
    """Whose settings are looked for."""
    macro_length: Annotated[int | None, default("INT", "the task's own")] = None
    """Length of the macro-actions."""
    seconds: Annotated[float | None, default("FLOAT", "the task's own, mostly 0.1")] = None
    """Budget of a plan in seconds."""
    steps: Annotated[int | None, default("INT", "none")] = None
    """Budget of a plan in primitive steps instead."""
    trials: int = 50
    """Settings to try, those of an earlier search in the same file included."""
    episodes: int = 30
    """Episodes of each."""
    seed: int = 1000
    """Whose episodes they are. Report results on another one."""
    workers: Annotated[int | None, default("INT", "one for every core")] = None
    """Processes that run episodes."""
    file: Annotated[Path | None, default("FILE", "one in the folder results, named after task and planner")] = None
    """Where the search is kept. The same command goes on with it."""
    parameters: TaskParameters = ()


def evaluate(task: TaskName, /, settings: EvaluateSettings) -> int:
    """Run many episodes of a planner in a task; report the return, and save everything as JSON."""
    from magic_pomdp.running.saving import save_json
    from magic_pomdp.running.workers import start_server

    if settings.workers != 0:
        start_server()  # the workers' imports begin beside those that follow here
    from magic_pomdp.core.registry import make_task
    from magic_pomdp.running.evaluate import (
        EvaluationFailed,
        EvaluationInterrupted,
        PlannerChoice,
        planner_settings,
    )
    from magic_pomdp.running.evaluate import evaluate as run_evaluation
    from magic_pomdp.show.tables import evaluation_table

    the_task = make_task(task, **task_parameters(settings.parameters))
    choice = PlannerChoice(
        settings.planner,
        settings.macro_length,
        make_budget(settings.seconds, settings.steps),
        planner_settings(settings.planner, **{name: getattr(settings, name) for name in SHORT_NAMES}),
        settings.model,
    )
    path = check_writable(settings.json or _default_path(the_task, choice, settings))
    ahead = None if settings.plan_ahead is None else settings.plan_ahead == "yes"
    code = FINE
    try:
        with episode_progress(settings.episodes) as advance:
            evaluation = run_evaluation(
                the_task, choice, settings.episodes, settings.seed, settings.workers, advance, concurrent=ahead
            )
    except EvaluationFailed as failure:
        evaluation, code = failure.evaluation, complain_of_failure(failure)
    except EvaluationInterrupted as interruption:
        evaluation, code = interruption.evaluation, complain("Interrupted.", INTERRUPTED)
    if not evaluation.complete:
        if not evaluation.records:
            return complain("No episode was finished, so nothing is saved.", code)
        path = path.with_suffix(".partial.json")  # whatever was saved there before is complete, and stays
    save_json(path, evaluation.to_json())
    show(evaluation_table(evaluation))
    show(f"Saved as {path}")
    return code


def compare(task: TaskName, /, settings: CompareSettings) -> int:
    """Run every planner on the same episodes with several budgets: tables, JSON, a plot of return against budget."""
    need("matplotlib", "Drawing", "show")
    from magic_pomdp.running.workers import start_server

    if settings.workers != 0:
        start_server()
    from magic_pomdp.core.registry import make_task
    from magic_pomdp.planners.plan import Budget
    from magic_pomdp.running.compare import BUDGETS, able_planners, choose_planners
    from magic_pomdp.running.compare import compare as run_comparison
    from magic_pomdp.show.anytime import draw_anytime
    from magic_pomdp.show.tables import comparison_table

    the_task = make_task(task, **task_parameters(settings.parameters))
    if settings.seconds and settings.steps:
        raise ValueError("The budgets of a comparison are either seconds or primitive steps, but both were given.")
    budgets = [Budget(seconds=seconds) for seconds in settings.seconds] + [Budget(steps=n) for n in settings.steps]
    planners = choose_planners(settings.planners or able_planners(the_task), settings.macro_length)
    parts = ("compare", the_task.name or type(the_task).__name__, *settings.parameters)
    folder = make_folder(settings.folder or Path("results") / re.sub(r"[^\w.=-]", "-", "-".join(parts)))
    check_writable(folder / "comparison.json")
    cells = len(planners) * len(budgets or BUDGETS)
    with cell_progress(cells, settings.episodes) as (begin, advance):
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
        )
    draw_anytime(comparison, folder / "anytime.png")  # and anytime.svg
    for budget in budgets or BUDGETS:
        title = f"{comparison.task}, {settings.episodes} episodes, seed {settings.seed}, {budget} a plan"
        show(comparison_table(title, comparison.at(budget)))
    show(f"Results and a plot are in {folder}; the same command runs only what is missing there.")
    return FINE


def difference(
    first: Annotated[Path, tyro.conf.arg(metavar="FIRST", help="A file that evaluate has saved.")],
    others: Annotated[
        tuple[Path, ...], tyro.conf.arg(metavar="OTHER…", help="Files of other evaluations on the same episodes.")
    ],
    /,
) -> int:
    """Tell how much more one planner returns than others, episode by episode, in stored results of the same seed."""
    from magic_pomdp.running.difference import difference as compare_episodes
    from magic_pomdp.running.difference import load_evaluation
    from magic_pomdp.show.tables import difference_table

    if not others:
        raise ValueError("Name at least two files of results.")
    mine, rest = load_evaluation(first), [load_evaluation(path) for path in others]
    show(difference_table(mine, [(other, compare_episodes(mine, other)) for other in rest]))
    return FINE


def tune(task: TaskName, /, settings: TuneSettings) -> int:
    """Look for a planner's best settings in a task. Stop it at any time; the same command goes on."""
    need("optuna", "Tuning", "tune")
    from magic_pomdp.running.workers import start_server

    if settings.workers != 0:
        start_server()
    from magic_pomdp.core.registry import make_task
    from magic_pomdp.running.evaluate import EvaluationInterrupted, PlannerChoice
    from magic_pomdp.running.tune import tune as run_search
    from magic_pomdp.show.tables import tuning_table

    the_task = make_task(task, **task_parameters(settings.parameters))
    choice = PlannerChoice(settings.planner, settings.macro_length, make_budget(settings.seconds, settings.steps))
    parts = ("tune", the_task.name or type(the_task).__name__, choice.name, str(choice.budget_for(the_task)))
    name = re.sub(r"[^\w.=-]", "-", "-".join([*parts, *settings.parameters]))
    path = check_writable(settings.file or make_folder(Path("results")) / f"{name}.journal")
    try:
        with trial_progress(settings.trials) as advance:
            tuning = run_search(
                the_task,
                choice,
                path,
                settings.trials,
                settings.episodes,
                settings.seed,
                settings.workers,
                advance,
            )
    except EvaluationInterrupted:
        return complain(f"Interrupted; {path} keeps what was found, and the same command goes on.", INTERRUPTED)
    show(tuning_table(tuning))
    asked = ["magic-pomdp", "evaluate", task, "--planner", choice.name]
    for option in ("macro_length", "seconds", "steps"):
        value = getattr(settings, option)
        asked += [] if value is None else [f"--{option.replace('_', '-')}", str(value)]
    for parameter in settings.parameters:
        asked += ["--set", parameter]
    show(f"{shlex.join(asked)} {tuning.options()}\nThe search is kept in {path}")
    return FINE


def _default_path(task: "Task", choice: "PlannerChoice", settings: EvaluateSettings) -> Path:
    """A file named after everything that was asked for, so that no other result is overwritten."""
    parts = [
        task.name or type(task).__name__,
        choice.name,
        f"L{choice.length(task)}",
        str(choice.budget_for(task)),
        f"seed{settings.seed}",
        f"{settings.episodes}episodes",
    ]
    parts += [{"yes": "ahead", "no": "waiting"}[settings.plan_ahead]] if settings.plan_ahead is not None else []
    parts += [str(Path(settings.model).with_suffix(""))] if settings.model is not None else []
    for name, short in SHORT_NAMES.items():
        value = getattr(settings, name)
        parts += [] if value is None else [f"{short}{value}" if isinstance(value, str) else f"{short}{value:g}"]
    name = re.sub(r"[^\w.=-]", "-", "_".join([*parts, *settings.parameters]))
    return make_folder(Path("results")) / f"{name}.json"
