"""The command line. Each command is a call of a public function; what is slow to import is imported by who needs it."""

import dataclasses
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from magic_pomdp.learning.settings import TrainOptions

if TYPE_CHECKING:
    from rich.table import Table

    from magic_pomdp.learning.model import Model
    from magic_pomdp.planners.plan import Budget
    from magic_pomdp.running.episode import EpisodeRecord
    from magic_pomdp.running.evaluate import PlannerChoice

SHORT_NAMES = {
    "default_policy": "",
    "scenarios": "K",
    "search_depth": "D",
    "xi": "xi",
    "exploration": "c",
    "action_widening": "ka",
    "action_exponent": "alpha-a",
    "observation_widening": "ko",
    "observation_exponent": "alpha-o",
    "guided_actions": "guided",
    "tree_nodes": "nodes",
}
"""A planner's settings, and what a file of results calls them."""

FINE, WRONG, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""


def _default(metavar: str, meaning: str) -> Any:
    """How --help shows a setting whose default depends on others."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint=f"(default: {meaning})")


TaskParameters = Annotated[
    tuple[str, ...], tyro.conf.arg(name="set", metavar="NAME=VALUE", help="A parameter of the task; can be repeated.")
]
TaskName = Annotated[str, tyro.conf.arg(metavar="TASK", help="A task's name, my_module:MyTask or my_file.py:MyTask.")]
PlannerName = Annotated[str, tyro.conf.arg(metavar="{magic,macro-despot,despot,pomcpow}")]


@dataclass(frozen=True)
class EvaluateSettings:
    """How to evaluate."""

    planner: PlannerName = "macro-despot"
    """DESPOT is Macro-DESPOT with primitive actions; MAGIC, with learned macro-actions; POMCPOW draws its own."""
    model: Annotated[str | None, _default("NAME|FILE", "the best that ships for the task")] = None
    """MAGIC's trained generator."""
    macro_length: Annotated[int | None, _default("INT", "the task's own")] = None
    """Length of the macro-actions."""
    seconds: Annotated[float | None, _default("FLOAT", "0.1")] = None
    """Budget of a plan in seconds."""
    steps: Annotated[int | None, _default("INT", "none")] = None
    """Budget of a plan in primitive steps instead: it gives the same result in every run. A first trial is always
    made."""
    episodes: int = 100
    """Number of episodes."""
    seed: int = 0
    """What all chance follows from, 0 or more."""
    workers: Annotated[int | None, _default("INT", "one for every core")] = None
    """Processes that run episodes; 0 runs them in the main process, for debugging."""
    json: Annotated[Path | None, _default("FILE", "one in the folder results, named after the settings")] = None
    """Where to save the result."""
    search_depth: Annotated[int | None, _default("INT", "the task's own")] = None
    """D, how many primitive steps to look ahead."""
    scenarios: Annotated[int | None, _default("INT", "the task's own")] = None
    """DESPOT: K, how many sampled futures a search shares among its nodes."""
    xi: Annotated[float | None, _default("FLOAT", "0.95")] = None
    """DESPOT: ξ, the share of the root's gap that a trial leaves alone."""
    default_policy: Annotated[Literal["greedy", "random"] | None, _default("{greedy,random}", "greedy")] = None
    """DESPOT: whose earnings are the search's first lower bounds: greedy in the task's upper bound, or random."""
    exploration: Annotated[float | None, _default("FLOAT", "the task's own")] = None
    """POMCPOW: c, how much an action's rarity counts against its value."""
    action_widening: Annotated[float | None, _default("FLOAT", "the task's own")] = None
    """POMCPOW: k_a; N visits are worth k_a N^α_a actions."""
    action_exponent: Annotated[float | None, _default("FLOAT", "the task's own")] = None
    """POMCPOW: α_a, from 0 to 1."""
    observation_widening: Annotated[float | None, _default("FLOAT", "the task's own")] = None
    """POMCPOW: k_o; N visits are worth k_o N^α_o observations."""
    observation_exponent: Annotated[float | None, _default("FLOAT", "the task's own")] = None
    """POMCPOW: α_o, from 0 to 1."""
    guided_actions: Annotated[float | None, _default("FLOAT", "the task's own")] = None
    """POMCPOW: the share of new actions that are what rollouts would do, not random; 0 in the paper."""
    tree_nodes: Annotated[int | None, _default("INT", "the planner's own")] = None
    """Room for belief nodes."""
    parameters: TaskParameters = ()


@dataclass(frozen=True)
class DemoSettings:
    """How long to look."""

    episodes: int = 20
    """Episodes of each planner."""
    seconds: float = 0.1
    """Budget of a plan in seconds."""
    seed: int = 0
    """What all chance follows from, 0 or more."""
    folder: Path = Path("results/demo")
    """Where results and pictures go."""


@dataclass(frozen=True)
class PictureSettings:
    """What to draw."""

    planner: PlannerName = "macro-despot"
    """Who acts."""
    model: Annotated[str | None, _default("NAME|FILE", "the best that ships for the task")] = None
    """MAGIC's trained generator."""
    macro_length: Annotated[int | None, _default("INT", "the task's own")] = None
    """Length of the macro-actions."""
    seconds: Annotated[float | None, _default("FLOAT", "0.1")] = None
    """Budget of a plan in seconds."""
    steps: Annotated[int | None, _default("INT", "none")] = None
    """Budget of a plan in primitive steps instead."""
    seed: int = 0
    """What all chance follows from, 0 or more."""
    episode: int = 0
    """Which episode of that seed."""
    frames: int = 4
    """Moments to show."""
    out: Annotated[Path | None, _default("FILE", "named after task, planner, seed and episode")] = None
    """Where to save the picture: .png, .svg or .pdf."""
    parameters: TaskParameters = ()


@dataclass(frozen=True)
class BenchSettings:
    """How to measure."""

    seconds: float = 0.2
    """How long each search lasts."""
    json: Annotated[Path | None, _default("FILE", "none")] = None
    """Where to save the result."""


def tasks() -> int:
    """List the tasks that ship, with their sizes and parameters."""
    from rich.table import Table

    from magic_pomdp.core.registry import SHIPPED, find_task

    table = Table("task", "numbers in", "parameters", show_lines=True)
    for name in SHIPPED:
        task_class = find_task(name)
        about = (sys.modules[task_class.__module__].__doc__ or "").strip().splitlines()[0]
        sizes = {kind: getattr(task_class, f"{kind}_size") for kind in ("state", "action", "observation", "context")}
        fields = dataclasses.fields(task_class)  # type: ignore[arg-type]
        table.add_row(
            f"[bold]{name}[/bold]\n{about}",
            "\n".join(f"{kind} {size}" for kind, size in sizes.items()),
            "\n".join(f"{field.name} = {field.default}" for field in fields),
        )
    _print(table)
    return FINE


def evaluate(task: TaskName, /, settings: EvaluateSettings) -> int:
    """Run many episodes of a planner in a task; report the return, and save everything as JSON."""
    from magic_pomdp.running.saving import check_writable, save_json
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

    the_task = make_task(task, **_parameters(settings.parameters))
    choice = PlannerChoice(
        settings.planner,
        settings.macro_length,
        _budget(settings.seconds, settings.steps),
        planner_settings(settings.planner, **{name: getattr(settings, name) for name in SHORT_NAMES}),
        settings.model,
    )
    name = the_task.name or type(the_task).__name__
    path = check_writable(settings.json or _default_path(name, choice, choice.length(the_task), settings))
    code = FINE
    try:
        with _episode_progress(settings.episodes) as advance:
            evaluation = run_evaluation(the_task, choice, settings.episodes, settings.seed, settings.workers, advance)
    except EvaluationFailed as failure:
        if failure.__cause__ is not None:  # it happened in this process, so Python knows where
            traceback.print_exception(failure.__cause__)
        evaluation, code = failure.evaluation, _complain(str(failure), WRONG)
    except EvaluationInterrupted as interruption:
        evaluation, code = interruption.evaluation, _complain("Interrupted.", INTERRUPTED)
    if not evaluation.complete:
        if not evaluation.records:
            return _complain("No episode was finished, so nothing is saved.", code)
        path = path.with_suffix(".partial.json")  # whatever was saved there before is complete, and stays
    save_json(path, evaluation.to_json())
    _print(evaluation_table(evaluation))
    _print(f"Saved as {path}")
    return code


def demo(settings: DemoSettings) -> int:
    """See it work: Macro-DESPOT against DESPOT on Light-Dark, a table and two pictures."""
    _need_matplotlib()
    from magic_pomdp.running.workers import start_server

    start_server()
    from magic_pomdp.show.demo import PAPER, run_demo
    from magic_pomdp.show.tables import comparison_table

    folder = _make_folder(settings.folder)
    with _episode_progress(len(PAPER) * settings.episodes) as advance:
        evaluations = run_demo(
            folder, settings.episodes, settings.seconds, settings.seed, lambda _, record: advance(record)
        )
    title = f"Light-Dark, {settings.episodes} episodes, seed {settings.seed}, {settings.seconds:g} s a plan"
    _print(comparison_table(title, evaluations, PAPER))
    _print(f"Results and pictures are in {folder}")
    return FINE


def picture(task: TaskName, /, settings: PictureSettings) -> int:
    """Run one episode and draw some of its moments side by side."""
    _need_matplotlib()
    from magic_pomdp.core.registry import make_task
    from magic_pomdp.running.evaluate import PlannerChoice
    from magic_pomdp.running.saving import check_writable
    from magic_pomdp.show.picture import draw_episode

    the_task = make_task(task, **_parameters(settings.parameters))
    budget = _budget(settings.seconds, settings.steps)
    choice = PlannerChoice(settings.planner, settings.macro_length, budget, model=settings.model)
    name = f"{the_task.name}_{choice.name}_seed{settings.seed}_episode{settings.episode}.png"
    path = check_writable(settings.out or Path(re.sub(r"[^\w.-]", "-", name)))
    record = draw_episode(the_task, choice(the_task), path, settings.seed, settings.episode, settings.frames)
    _print(f"{record.outcome}, return {record.total_return:.1f}, {record.steps} steps; saved as {path}")
    return FINE


def check(task: TaskName, /, parameters: TaskParameters = ()) -> int:
    """Test a task of your own: do its functions keep what planners rely on?"""
    from magic_pomdp.core.registry import make_task
    from magic_pomdp.testing import check_task

    findings = check_task(make_task(task, **_parameters(parameters)))
    for finding in findings:
        _print(f"{finding}\n")
    _print(f"{task}: {len(findings)} to mend." if findings else f"{task} is fine.")
    return WRONG if findings else FINE


def doctor() -> int:
    """See whether this machine is fit: versions, cores, the compile cache."""
    from rich.table import Table

    from magic_pomdp.running.doctor import examine

    checks = examine()
    table = Table(show_header=False)
    for item in checks:
        table.add_row(item.what, item.found)
    _print(table)
    advice = [item.advice for item in checks if item.advice]
    for line in advice:
        _print(line)
    return WRONG if advice else FINE


def bench(settings: BenchSettings) -> int:
    """Measure how fast the simulator, the planner, the belief and the start are here."""
    from rich.table import Table

    from magic_pomdp.running.bench import run_bench
    from magic_pomdp.running.saving import check_writable, save_json

    path = check_writable(settings.json) if settings.json else None
    report = run_bench(settings.seconds, lambda found: print(f"{found.name} …", file=sys.stderr))
    if path:
        save_json(path, report)
    table = Table("measured", "value", "ratio", title=report["processor"], caption="ratio: against 64-bit hashing")
    for found in report["measurements"]:
        value = f"{found['value']:,.0f}" if found["value"] >= 1000 else f"{found['value']:.3g}"
        table.add_row(found["name"], f"{value} {found['unit']}", f"{found['ratio']:.3g}")
    _print(table)
    return FINE


def train(
    task: TaskName,
    /,
    options: TrainOptions,
    out: Annotated[Path | None, _default("FOLDER", "training/…, named after task, length and seed")] = None,
    resume: bool = False,
    parameters: TaskParameters = (),
) -> int:
    """Learn macro-actions for a task. Ctrl-C saves, and the same command with --resume goes on.

    Args:
        out: Where checkpoints, metrics, the learning curve and the best generator go.
        resume: Go on with the training in that folder.
    """
    _need_torch()
    settings = options.check()
    from magic_pomdp.running.workers import start_server

    if settings.workers != 0:
        start_server()
    from magic_pomdp.core.registry import make_task
    from magic_pomdp.learning.learner import Diverged
    from magic_pomdp.learning.model import task_name
    from magic_pomdp.learning.trainer import check_folder
    from magic_pomdp.learning.trainer import train as run_training
    from magic_pomdp.learning.watching import watch_all

    the_task = make_task(task, **_parameters(parameters))
    title = f"{task_name(the_task)}, length {settings.macro_length or the_task.macro_length}, seed {settings.seed}"
    folder = out or Path("training") / re.sub(r"[^\w.-]+", "-", title)
    check_folder(folder, resume)
    command = shlex.join(["magic-pomdp", *sys.argv[1:]])
    try:
        with watch_all(folder, title) as watch:
            trained = run_training(the_task, settings, folder, resume, watch, command)
    except Diverged as error:
        return _complain(f"{error} The state before it is saved in {folder}.", WRONG)
    if trained.stopped_by == "interrupt":
        _print(f"Interrupted after {trained.updates:,} updates; the same command with --resume goes on.")
    if trained.model is not None and trained.score is not None:
        score = "{return_mean:.1f} ± {return_stderr:.1f}, success {success_rate:.1%}".format_map(trained.score)
        _print(f"The best generator returns {score} in {trained.score['episodes']} episodes; saved as {trained.model}")
    return FINE


def models() -> int:
    """List the trained generators that ship, with how they were made and what they score."""
    from magic_pomdp.learning.model import load_model, shipped_models

    table = _model_table([load_model(path) for path in shipped_models()])
    _print(table if table.row_count else "No trained generator ships yet: `magic-pomdp train TASK` makes one.")
    return FINE


def _model_table(models: "list[Model]") -> "Table":
    from rich.table import Table

    table = Table("model", "task", "length", "return", "success", "trained", show_lines=True)
    for model in models:
        card, score = model.card, model.card["score"]
        table.add_row(
            f"[bold]{model.name}[/bold]",
            model.task,
            str(model.macro_length),
            f"{score['return_mean']:.1f} ± {score['return_stderr']:.1f}\n{score['episodes']} episodes",
            f"{score['success_rate']:.1%}",
            f"{card['minutes']:.0f} minutes, {card['updates']:,} updates\nseed {card['seed']}, version "
            f"{card['version']}\n{card['command']}",
        )
    return table


COMMANDS: dict[str, Callable[..., int]] = {
    "tasks": tasks,
    "evaluate": evaluate,
    "train": train,
    "models": models,
    "demo": demo,
    "picture": picture,
    "check": check,
    "doctor": doctor,
    "bench": bench,
}


def main() -> int:
    """Run the command that was asked for; its exit code."""
    config = (tyro.conf.OmitArgPrefixes, tyro.conf.UseAppendAction)
    about = "Real-time planning under uncertainty: POMDPs in plain Python, planned at native speed."
    try:
        code = tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="magic-pomdp", description=about, config=config)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except KeyboardInterrupt:
        return INTERRUPTED
    except NotImplementedError as error:
        return _complain(str(error), BAD_INPUT)
    except OSError as error:
        return _complain(f"{error.strerror or error}: {error.filename or 'a file'}.", WRONG)
    except MemoryError:
        return _complain("There is not enough memory for these settings.", BAD_INPUT)
    except ValueError as error:
        return _complain(str(error), BAD_INPUT)
    except Exception as error:
        sentence = _known_trouble(error)
        if sentence is None:
            raise
        return _complain(sentence, WRONG)


def _known_trouble(error: Exception) -> str | None:
    """What to say of an error that is not this program's own; None if nobody knows."""
    kind = type(error)
    if kind.__name__ in ("JobFailed", "EvaluationFailed"):
        return str(error)
    if kind.__module__ == "numba.core.errors":
        return "A function of the task does not compile: `magic-pomdp check` says which, and why."
    if "cannot cache function" in str(error):
        return "Compiled code cannot be kept: set NUMBA_CACHE_DIR to a folder that you can write to."
    return None


def _complain(sentence: str, code: int) -> int:
    print(f"magic-pomdp: {sentence}", file=sys.stderr)
    return code


def _print(what: Any) -> None:
    """Print a table, or text as it is."""
    from rich.console import Console

    is_text = isinstance(what, str)
    Console().print(what, markup=not is_text, highlight=False, soft_wrap=is_text)


def _parameters(assignments: tuple[str, ...]) -> dict[str, str]:
    for assignment in assignments:
        if not re.fullmatch(r"\w+=.*", assignment):
            raise ValueError(f"A parameter of the task is set as name=value, not {assignment!r}.")
    return dict(assignment.split("=", 1) for assignment in assignments)


def _budget(seconds: float | None, steps: int | None) -> "Budget":
    from magic_pomdp.planners.plan import Budget

    return Budget(0.1 if seconds is None and steps is None else seconds, steps)


def _default_path(task: str, choice: "PlannerChoice", length: int, settings: EvaluateSettings) -> Path:
    """A file named after everything that was asked for, so that no other result is overwritten."""
    parts = [
        task,
        choice.name,
        f"L{length}",
        str(choice.budget),
        f"seed{settings.seed}",
        f"{settings.episodes}episodes",
    ]
    parts += [Path(settings.model).stem] if settings.model is not None else []
    for name, short in SHORT_NAMES.items():
        value = getattr(settings, name)
        parts += [] if value is None else [f"{short}{value}" if isinstance(value, str) else f"{short}{value:g}"]
    name = re.sub(r"[^\w.=-]", "-", "_".join([*parts, *settings.parameters]))
    return _make_folder(Path("results")) / f"{name}.json"


def _make_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"The folder {folder} cannot be made ({error.strerror}): name another place.") from None
    return folder


def _need_matplotlib() -> None:
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise ValueError("Drawing needs matplotlib: pip install 'magic-pomdp[show]'.")


def _need_torch() -> None:
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise ValueError("Learning needs torch: pip install 'magic-pomdp[learn]'.")


@contextmanager
def _episode_progress(episodes: int) -> "Iterator[Callable[[EpisodeRecord], None]]":
    """A progress bar on standard error; gives the function that is called with each record."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from magic_pomdp.running.statistics import mean, standard_error

    report = TextColumn("{task.description}")
    columns = (TextColumn("episodes"), BarColumn(), MofNCompleteColumn(), report, TimeRemainingColumn())
    screen = Console(stderr=True)
    bars = Progress(*columns, console=screen, transient=True, refresh_per_second=4, disable=not screen.is_terminal)
    returns: list[float] = []
    with bars as progress:
        bar = progress.add_task("compiling or loading the planner", total=max(episodes, 0))

        def advance(record: "EpisodeRecord") -> None:
            returns.append(record.total_return)
            progress.update(bar, advance=1, description=f"return {mean(returns):.1f} ± {standard_error(returns):.1f}")

        yield advance
