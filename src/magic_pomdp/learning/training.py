"""A training from the beginning to the end: what is open is settled, and the folder belongs to it alone."""

from contextlib import suppress
from pathlib import Path

import torch

from magic_pomdp.core.machine import reuse_freed_memory
from magic_pomdp.core.saving import claimed
from magic_pomdp.core.task import Task
from magic_pomdp.learning.choices import choices, in_words
from magic_pomdp.learning.finding import settle
from magic_pomdp.learning.settings import TrainSettings
from magic_pomdp.learning.state import check_folder
from magic_pomdp.learning.trainer import BOARD, Trained, Trainer
from magic_pomdp.learning.watching import Watch


def train(
    task: Task,
    settings: TrainSettings,
    folder: Path,
    resume: bool = False,
    watch: Watch | None = None,
    place: str = "",
) -> Trained:
    """Train a generator for a task; checkpoints, metrics and the best model go to a folder.

    `resume` goes on from the newest checkpoint there. Ctrl-C saves and ends the training; it is then `stopped_by`
    "interrupt". A loss, gradient or value that is not finite raises Diverged, after saving the state before it.
    `place` is what commands call the task (default: its name if they know it, else its module and class): the model's
    card tells the command that trains the same.
    """
    watch = watch or Watch()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    reuse_freed_memory()
    try:
        check_folder(folder, resume)
        settled = settle(task, settings, folder, resume, watch.say)
        trainer = Trainer(task, settled, folder, watch, place)
        with claimed(folder):
            try:
                trainer.prepare(resume)
                mirrors = trainer.learner.mirrors
                watch.say(in_words(choices(task, settings, settled, trainer.state.space, mirrors)))
                return trainer.run()
            finally:
                with suppress(OSError):  # the folder may be gone, which is said already
                    (folder / BOARD).unlink(missing_ok=True)
    finally:
        torch.set_num_threads(threads)
