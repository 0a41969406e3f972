"""What decides a training, in a table for whoever starts it: what was asked for, and what was chosen."""

from collections.abc import Sequence
from typing import NamedTuple

from magic_pomdp.core.learning_hints import Mirror
from magic_pomdp.core.macro_actions import MacroActions
from magic_pomdp.core.settings import SettingValue, default_of
from magic_pomdp.core.task import Task
from magic_pomdp.learning.settings import TrainSettings
from magic_pomdp.macros.spaces import MacroSpace

CHOSEN, ASKED, USUAL, OWN = "chosen", "asked for", "default", "the task's own"
"""Where a value comes from: nobody said anything and it follows from task, time or machine; somebody said so; it is the
same for everybody who says nothing; or the task's class says so."""


class Choice(NamedTuple):
    """A row of the table."""

    name: str
    value: str
    source: str


def choices(
    task: Task, asked: TrainSettings, settled: TrainSettings, space: MacroSpace, mirrors: Sequence[Mirror]
) -> list[Choice]:
    """All that decides a training, the settings as they were asked for beside what became of them."""

    def source(*names: str) -> str:
        if any(_asked(asked, name) for name in names):
            return ASKED
        return CHOSEN if any(getattr(asked, name) is None for name in names) else USUAL

    to_beat = settled.handcrafted_in(task)
    beaten = MacroActions.union([task.macro_actions(length) for length in to_beat])
    ends = {"minutes": settled.minutes, "updates": settled.updates, "evaluations without a better": settled.patience}
    ends_after = " or ".join(f"{value:g} {what}" for what, value in ends.items() if value is not None)
    every = settled.updates_to_evaluation
    between = f"{settled.minutes_to_evaluation:.3g} minutes" if every is None else f"{every:,} updates"
    fewer = "" if settled.evaluation_episodes or settled.counted else " at most"
    limit = settled.warmup_minutes
    least = "" if limit is None else f", or what is there after {limit:.2g} minutes"
    return [
        Choice("a plan in training", f"{settled.training_budget:,} steps", source("plan_steps")),
        Choice("a plan in evaluations", f"{settled.evaluation_budget:,} steps", source("evaluation_steps")),
        Choice("set to beat", f"{len(beaten)} macro-actions by hand, {_lengths(to_beat)}", source("handcrafted")),
        Choice("starting set", f"{space.count} macro-actions{_start(task, settled)}", source("lengths", "start")),
        Choice("longest to learn", f"{_lengths((space.length,))}", source("macro_length")),
        Choice("space", *_space(task, space)),
        Choice("warm-up", f"{settled.warmup:,} plans{least}", source("warmup")),
        Choice("updates", f"at most {settled.updates_per_plan:g} for a plan", source("updates_per_plan")),
        Choice("batch", f"{settled.batch} plans", source("batch")),
        Choice("particles", f"{settled.particles} of a belief", source("particles")),
        Choice("mirror images", f"{len(mirrors)} symmetries" if mirrors else "none", source("mirror")),
        Choice("workers", str(settled.worker_count), source("workers")),
        Choice("evaluations", f"every {between}", source("evaluate_minutes", "evaluate_updates")),
        Choice("episodes of one", f"{settled.most_evaluated}{fewer}", source("evaluation_episodes")),
        Choice("end", f"after {ends_after}", source("minutes", "updates", "patience")),
    ]


def in_words(found: list[Choice]) -> str:
    """The table, line by line."""
    widths = [max(len(row[column]) for row in found) for column in range(2)]
    lines = [f"  {row.name:{widths[0]}}  {row.value:{widths[1]}}  {row.source}" for row in found]
    return "\n".join(["What this training does:", *lines])


def _asked(settings: TrainSettings, name: str) -> bool:
    value: SettingValue = getattr(settings, name)
    return value is not None and value != default_of(TrainSettings, name)


def _lengths(lengths: tuple[int, ...]) -> str:
    return f"length {', '.join(map(str, lengths))}"


def _start(task: Task, settings: TrainSettings) -> str:
    if settings.start == "random":
        return ", at random"
    return f" by hand, {_lengths(settings.lengths_in(task) or (settings.length_in(task),))}"


def _space(task: Task, space: MacroSpace) -> tuple[str, str]:
    """What can be learned, how to say that it should be something else, and where that comes from."""
    if type(task).macro_space is not Task.macro_space:
        return str(space.describe()["space"]), OWN
    actions, said = task.actions(), task.discrete_actions is not None
    if task.is_discrete:
        other = "" if said else "; discrete_actions = False adds what lies between them"
        return f"sequences of the {len(actions)} listed actions{other}", OWN if said else CHOSEN
    other = "" if said else "; discrete_actions = True leaves only the listed ones"
    return f"numbers between {actions.min():g} and {actions.max():g}{other}", OWN if said else CHOSEN
