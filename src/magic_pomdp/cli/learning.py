"""Commands that learn macro-actions."""

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from magic_pomdp.cli.shared import FINE, WRONG, TaskName, TaskParameters, complain, default, need, show, task_parameters
from magic_pomdp.learning.settings import TrainOptions

if TYPE_CHECKING:
    from rich.table import Table

    from magic_pomdp.learning.model import Model


def train(
    task: TaskName,
    /,
    options: TrainOptions,
    out: Annotated[Path | None, default("FOLDER", "training/…, named after task, length and seed")] = None,
    resume: bool = False,
    parameters: TaskParameters = (),
) -> int:
    """Learn macro-actions for a task. Ctrl-C saves, and the same command with --resume goes on.

    Args:
        out: Where checkpoints, metrics, the learning curve and the best generator go.
        resume: Go on with the training in that folder.
    """
    need("torch", "Learning", "learn")
    settings = options.check()
    from magic_pomdp.running.workers import start_server

    if settings.workers != 0:
        start_server()
    from magic_pomdp.core.registry import make_task
    from magic_pomdp.learning.learner import Diverged
    from magic_pomdp.learning.model import task_name
    from magic_pomdp.learning.state import check_folder
    from magic_pomdp.learning.trainer import train as run_training
    from magic_pomdp.learning.watching import watch_all

    the_task = make_task(task, **task_parameters(parameters))
    title = f"{task_name(the_task)}, length {settings.macro_length or the_task.macro_length}, seed {settings.seed}"
    folder = out or Path("training") / re.sub(r"[^\w.-]+", "-", title)
    check_folder(folder, resume)
    command = shlex.join(["magic-pomdp", *sys.argv[1:]])
    try:
        with watch_all(folder, title) as watch:
            trained = run_training(the_task, settings, folder, resume, watch, command)
    except Diverged as error:
        return complain(f"{error} The state before it is saved in {folder}.", WRONG)
    if trained.stopped_by == "interrupt":
        show(f"Interrupted after {trained.updates:,} updates; the same command with --resume goes on.")
    if trained.model is not None and trained.score is not None:
        score = "{return_mean:.1f} ± {return_stderr:.1f}, success {success_rate:.1%}".format_map(trained.score)
        show(f"The best generator returns {score} in {trained.score['episodes']} episodes; saved as {trained.model}")
    return FINE


def models() -> int:
    """List the trained generators that ship, with how they were made and what they score."""
    from magic_pomdp.learning.model import load_model, shipped_models

    table = _model_table([load_model(path) for path in shipped_models()])
    show(table if table.row_count else "No trained generator ships yet: `magic-pomdp train TASK` makes one.")
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
