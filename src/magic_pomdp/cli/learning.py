"""Commands that learn macro-actions."""

import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import tyro

from magic_pomdp.cli.options import DeclaredOptions, default, given_options, options_of, with_options
from magic_pomdp.cli.shared import (
    FINE,
    INTERRUPTED,
    WRONG,
    Saver,
    TaskName,
    TaskParameters,
    complain,
    episode_progress,
    file_name,
    need,
    show,
    task_from,
)
from magic_pomdp.cli.where import Where

if TYPE_CHECKING:
    from magic_pomdp.core.task import Task
    from magic_pomdp.learning.recipes import RecipeName
    from magic_pomdp.learning.settings import TrainSettings
    from magic_pomdp.learning.trainer import Trained
    from magic_pomdp.magic.model import Model
    from magic_pomdp.results.training import Curves
    from magic_pomdp.show.terminal import PlainTable

_CLEAR = 2.0
"""Standard errors by which a lead is told from luck."""
_FEW_UPDATES = 5_000
"""Of the best generator: with fewer, more time would probably help."""
_COMPARED = ("seed", "conditioning", "critic")
"""Settings of a training that an ablation sets itself."""


@dataclass(frozen=True)
class TrainOptions(DeclaredOptions):
    """How to train."""

    given: ClassVar[frozenset[str]] = frozenset()
    """Settings that the command line names."""

    @classmethod
    def declared(cls, arguments: list[str]) -> type[Self]:
        from magic_pomdp.learning.settings import TrainSettings

        options = options_of(TrainSettings, cls._without())
        made = with_options(cls, options)
        made.given = given_options(arguments, [name for name, *_ in options])
        return made

    @classmethod
    def _without(cls) -> tuple[str, ...]:
        return ()

    def settings(self, **others: Any) -> "TrainSettings":
        """What to train with; a ValueError says which of it makes no sense."""
        from magic_pomdp.learning.settings import TrainSettings

        return TrainSettings(**dataclasses.asdict(self), **others)

    def of_recipe(self, name: "RecipeName", task: "Task") -> "TrainSettings":
        """What to train with by a recipe, which stands where the command line says nothing."""
        from magic_pomdp.learning.recipes import recipe

        return recipe(name, task, **{name: getattr(self, name) for name in self.given})


@dataclass(frozen=True)
class LearnOptions(TrainOptions):
    """How to learn: what all trainings of a comparison share."""

    @classmethod
    def _without(cls) -> tuple[str, ...]:
        return _COMPARED


@dataclass(frozen=True)
class AblateSettings:
    """What to compare."""

    conditionings: Annotated[tuple[str, ...], default("{belief+context,belief,context,none}", "each of them")] = ()
    """What the generator is told; can be repeated."""
    critics: Annotated[tuple[str, ...], default("{set,flat}", "set")] = ()
    """The critic judges each macro-action and the set of them, or, as in the paper, all parameters at once; can be
    repeated."""
    changes: Annotated[tuple[str, ...], tyro.conf.arg(name="with", metavar="NAME=VALUE")] = ()
    """Any other setting of a training that is to be compared with its value for all, such as batch=64; can be
    repeated, and makes one more training of each."""
    ladder: bool = False
    """Compare the paper's recipe with ours instead: each rung takes over one of our changes, on top of the rung before.
    Options that are given hold on all rungs."""
    seeds: int = 1
    """Trainings of each."""
    seed: int = 0
    """The first training's seed, 0 or more; the others' follow it."""
    episodes: int = 200
    """Episodes on which each best generator is evaluated in the end, the same for all."""
    episode_seed: int = 0
    """Whose episodes they are."""
    seconds: Annotated[float | None, default("FLOAT", "the task's own, mostly 0.1")] = None
    """Budget of a plan in these, in seconds."""
    steps: Annotated[int | None, default("INT", "none; with --ladder, the paper's")] = None
    """Budget of a plan in primitive steps instead."""
    out: Annotated[Path | None, default("FOLDER", "training/ablation-…, named after the task")] = None
    """Where trainings, results and the plot go. What is finished there is not run again."""
    parameters: TaskParameters = ()


def train(
    task: TaskName,
    /,
    learning: TrainOptions,
    cluster: Where,
    recipe: Literal["ours", "paper"] = "ours",
    out: Annotated[Path | None, default("FOLDER", "training/…, named after task, length and seed")] = None,
    resume: bool = False,
    parameters: TaskParameters = (),
) -> int:
    """Learn macro-actions for a task. Ctrl-C saves, and the same command with --resume goes on.

    Args:
        recipe: Whose settings stand where no option says otherwise: ours, as shown here, or the paper's.
        out: Where checkpoints, metrics, the learning curve and the best generator go.
        resume: Go on with the training in that folder.
    """
    need("torch", "Learning", "learn")
    from magic_pomdp.core.statistics import error_words
    from magic_pomdp.core.task import task_name
    from magic_pomdp.learning.learner import Diverged
    from magic_pomdp.learning.state import check_folder
    from magic_pomdp.learning.training import train as run_training
    from magic_pomdp.learning.watching import watch_all

    the_task = task_from(task, parameters)
    settings = learning.of_recipe(recipe, the_task)
    title = f"{task_name(the_task)}, length {settings.length_in(the_task)}, seed {settings.seed}"
    folder = out or Path("training") / file_name(*title.split(", "), between="-").replace(" ", "-")
    if settings.learn_lengths:
        title = title.replace(", length ", ", learned lengths up to ")
    check_folder(folder, resume)
    try:
        with cluster.jobs(), watch_all(folder, title) as watch:
            trained = run_training(the_task, settings, folder, resume, watch, task)
    except Diverged as error:
        return complain(f"{error} The state before it is saved in {folder}.", WRONG)
    score = trained.score
    if trained.model is not None and score is not None:
        spread = error_words(score.return_stderr, score.episodes)
        reached = f"{score.return_mean:.1f} ± {spread}, success {score.success_rate:.1%}"
        show(f"The best generator returns {reached} in {score.episodes} episodes; saved as {trained.model}")
        if score.lead is not None and score.lead_stderr is not None and score.episodes > 1:
            show(_verdict(score.lead, score.lead_stderr, score.updates, settings.handcrafted_in(the_task)))
    if trained.stopped_by == "interrupt":
        done = f"Interrupted after {trained.updates:,} updates"
        return complain(f"{done}; the same command with --resume goes on.", INTERRUPTED)
    return FINE if trained.model is not None else complain(_too_short(trained), WRONG)


def _too_short(trained: "Trained") -> str:
    """What to do about a training that was over before its warm-up."""
    done = f"{trained.plans:,} of {trained.warmup:,} warm-up plans"
    missing = trained.warmup - trained.plans
    more = f"{missing * trained.minutes / trained.plans:.2g}" if trained.plans > 0 else "some"
    return (
        f"The training was over after {done}, so there is no generator yet: at this rate the warm-up takes {more} "
        "minutes more. Give --resume and more --minutes, or begin anew with fewer --plan-steps or a smaller --warmup."
    )


def _verdict(lead: float, stderr: float, updates: int, lengths: tuple[int, ...]) -> str:
    """What learning has brought, in a sentence or two."""
    by = f"{abs(lead):.1f} ± {stderr:.1f}, episode by episode"
    to_beat = f"the set to beat (handcrafted, lengths {', '.join(map(str, lengths))})"
    if lead > _CLEAR * stderr:
        return f"That is better than {to_beat}, by {by}."
    advice = "Train for longer"
    if updates < _FEW_UPDATES:
        done = "Few updates made it" if updates else "It is still the starting set"
        advice = f"{done}: go on with --resume and more --minutes"
    if lead < -_CLEAR * stderr:
        return f"That is WORSE than {to_beat}, by {by}. {advice}, or plan with that set."
    sign = "+" if lead >= 0.0 else "−"
    return f"That is not clearly better than {to_beat}: {sign}{by}. {advice}, or plan with that set."


def ablate(task: TaskName, /, learning: LearnOptions, settings: AblateSettings, cluster: Where) -> int:
    """Learn with parts left out: train every variant, evaluate all on the same episodes; a table beside the paper's,
    JSON, a plot of the learning curves. Stop it at any time; the same command goes on."""
    need("torch", "Learning", "learn")
    need("matplotlib", "Drawing", "show")
    if settings.ladder and (settings.conditionings or settings.critics or settings.changes):
        raise ValueError("A ladder has its own rungs to compare: leave out --conditionings, --critics and --with.")
    train_settings = learning.settings(seed=settings.seed)
    from magic_pomdp.core.task import task_name
    from magic_pomdp.learning.ablation import CONDITIONINGS, AblationWatch
    from magic_pomdp.learning.ablation import ablate as run_ablation
    from magic_pomdp.learning.learner import Diverged
    from magic_pomdp.learning.recipes import ladder, paper_budget
    from magic_pomdp.learning.watching import watch_all
    from magic_pomdp.planners.plan import Budget
    from magic_pomdp.show.curves import draw_curves
    from magic_pomdp.show.tables import ablation_table

    given = settings.seconds is not None or settings.steps is not None
    budget = Budget(settings.seconds, settings.steps) if given else None
    saver = Saver()

    class Shown(AblationWatch):
        def say(self, sentence: str) -> None:
            print(sentence, file=sys.stderr, flush=True)

        save = staticmethod(saver.write)
        training = staticmethod(watch_all)
        evaluation = staticmethod(episode_progress)

    the_task = task_from(task, settings.parameters)
    rungs = ladder(the_task, train_settings, learning.given) if settings.ladder else ()
    if settings.ladder and not given:
        budget = paper_budget(the_task)
    kind = "ladder" if settings.ladder else "ablation"
    folder = settings.out or Path("training") / file_name(f"{kind}-{task_name(the_task)}")
    try:
        with cluster.jobs():
            ablation = run_ablation(
                the_task,
                train_settings,
                folder,
                settings.conditionings or CONDITIONINGS,
                settings.critics or ("set",),
                settings.seeds,
                settings.episodes,
                budget,
                settings.episode_seed,
                Shown(),
                task,
                settings.changes,
                rungs,
            )
    except KeyboardInterrupt:
        return complain(f"Interrupted; {folder} keeps what was reached, and the same command goes on.", INTERRUPTED)
    except Diverged as error:
        return complain(f"{error} The state before it is saved in {folder}.", WRONG)
    show(ablation_table(ablation))
    title = f"{ablation.task}: {'from the paper to ours' if rungs else 'what of the learning matters'}"
    saver.save(folder / "curves.png", lambda path: draw_curves(ablation.curves(), path, title))
    if saver.code == FINE:
        show(f"Results, trainings and a plot are in {folder}; the same command runs only what is missing there.")
    return saver.code


def curves(
    folders: Annotated[
        tuple[Path, ...],
        tyro.conf.arg(metavar="FOLDER…", help="Folders that `train` has filled.", help_behavior_hint="(at least one)"),
    ],
    /,
    out: Path = Path("learning-curves.png"),
    handcrafted: Annotated[float | None, default("FLOAT", "what the trainings measured")] = None,
    title: Annotated[str | None, default("TEXT", "named after the task")] = None,
) -> int:
    """Draw the learning curves of several trainings into one picture, and save it as SVG and its points as JSON, too.
    Where matplotlib is missing, the points are shown as a table instead.

    Args:
        out: Where to save the picture: .png, .svg or .pdf; an .svg is made in any case.
        handcrafted: What the handcrafted macro-actions return; drawn as a dotted line.
        title: What to write above it.
    """
    from importlib.util import find_spec

    from magic_pomdp.core.saving import check_writable
    from magic_pomdp.learning.curves import read_curves
    from magic_pomdp.show.curves import draw_curves
    from magic_pomdp.show.picture import check_picture

    check_picture(out)
    found = read_curves(folders, handcrafted)
    picture, points = check_writable(out), check_writable(out.with_suffix(".json"))
    saver = Saver()
    saver.write(points, found)
    if find_spec("matplotlib") is None:
        show(_curve_table(found))
        show(f"No picture: matplotlib is missing (pip install 'magic-pomdp[show]'). Saved as {points}")
        return saver.code
    saver.save(picture, lambda path: draw_curves(found, path, title or ""))
    if saver.code == FINE:
        pictures = dict.fromkeys([picture, picture.with_suffix(".svg")])
        show(f"Saved as {', '.join(map(str, pictures))} and {points}")
    return saver.code


def _curve_table(found: "Curves") -> "PlainTable":
    from magic_pomdp.core.statistics import error_words
    from magic_pomdp.show.terminal import PlainTable

    caption = "" if found.handcrafted is None else f"The set to beat returns {found.handcrafted:.1f}."
    table = PlainTable("training", "minutes", "updates", "return", "success", caption=caption)
    for curve in found.curves:
        for point in curve.points:
            reached = f"{point.return_mean:.1f} ± {error_words(point.return_stderr, point.episodes)}"
            row = f"{point.minutes:.1f}", f"{point.updates:,}", reached, f"{point.success_rate:.0%}"
            table.add_texts(curve.label, *row)
    return table


def models() -> int:
    """List the trained generators that ship, with how they were made and what they score."""
    from magic_pomdp.learning.question import command_today
    from magic_pomdp.magic.model import load_model, shipped_models

    known = [load_model(path) for path in shipped_models()]
    if not known:
        show("No trained generator ships yet: `magic-pomdp train TASK` makes one.")
        return FINE
    show(_model_table(known))
    for model in known:
        card, today = model.card, command_today(model.card)
        show(f"\n{model.name}, of version {card.software}:\n    {card.command}")
        if today not in ("", card.command):
            show(f"  With the options of today:\n    {today}")
    return FINE


def _model_table(models: "list[Model]") -> "PlainTable":
    from magic_pomdp.show.terminal import PlainTable, plain_text

    table = PlainTable("model", "task", "length", "return", "success", "trained", show_lines=True)
    for model in models:
        card, score = model.card, model.card.score
        spent = "" if card.minutes is None else f"{card.minutes:.0f} minutes, "
        name = plain_text(model.name)
        name.stylize("bold")
        table.add_texts(
            name,
            card.task,
            ("up to " if "lengths" in card.space else "") + str(model.macro_length),
            plain_text(f"{score.return_mean:.1f} ± {score.return_stderr:.1f}", f"{score.episodes} episodes"),
            f"{score.success_rate:.1%}",
            plain_text(f"{spent}{card.updates:,} updates", f"seed {card.seed}"),
        )
    return table
