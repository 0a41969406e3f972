"""What others have published for the same planners in the same tasks: none of it is a result of this software."""

from functools import cache
from pathlib import Path

import msgspec

from magic_pomdp.results.evaluation import Evaluation, Mean
from magic_pomdp.show.words import lengths_words

PAPER, SUCCESSOR = "paper", "RMAG"
"""What the columns of published returns are called."""


class Published(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Mean returns of a planner in a task."""

    paper: Mean
    seconds: float = 0.1
    """The time of a plan with which they were reached."""
    successor: float | None = None
    """That of the successor of the paper's planner."""
    figures: dict[str, float] = msgspec.field(default_factory=dict)
    """What else the paper tells of it, by name."""


class Transferred(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Mean return of a planner outside the task's simulator: on the paper's robot, or in its other simulator."""

    mean: float
    stderr: float | None = None


class PublishedTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is published of a task."""

    conditions: str = ""
    """Under what conditions the returns were reached, in words."""
    planners: dict[str, Published] = msgspec.field(default_factory=dict)
    """By the planner's name."""
    conditionings: dict[str, float] = msgspec.field(default_factory=dict)
    """The learned planner's mean return by what its generator is told, each with the best macro length."""
    lengths: dict[str, dict[int, float]] = msgspec.field(default_factory=dict)
    """The learned planner's mean return by macro length, by what its generator is told."""
    transfer: dict[str, Transferred] = msgspec.field(default_factory=dict)
    """What planners return in another world than the task's simulator, by the planner's name."""


class _Learned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    planner: str
    label: str


class _Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    learned: _Learned
    tasks: dict[str, PublishedTask]


@cache
def _content() -> _Content:
    return msgspec.json.decode((Path(__file__).parent / "published.json").read_bytes(), type=_Content)


def published_task(task: str) -> PublishedTask:
    """What is published of a task, if anything."""
    return _content().tasks.get(task, PublishedTask())


def published(task: str, planner: str) -> Published | None:
    """What a planner of a name returns in a task."""
    return published_task(task).planners.get(planner)


def published_beside(one: Evaluation) -> Published | None:
    """What is published for an evaluation's planner, if that had the same time for a plan and, as in all of the paper's
    sets made by hand, macro-actions of a single length. Else two different things would stand side by side."""
    found = published(one.task, one.planner)
    if found is None or one.budget is None or one.budget.seconds != found.seconds or "/" in lengths_words(one):
        return None
    return found


def published_sentence(task: str) -> str:
    """Who has published the returns in a task, and how they were reached; "" if nobody has."""
    about = published_task(task)
    if not about.planners:
        return ""
    return (
        f"{PAPER.capitalize()}: Lee, Cai, Hsu, RSS 2021; {SUCCESSOR}: its successor, IROS 2023; both "
        f"{about.conditions}. They are not results of this software; the paper rounds its errors, such as to 1.0."
    )


def published_learned(task: str) -> tuple[str, float] | None:
    """The planner that learns, as it is written, and its mean return in a task."""
    learned = _content().learned
    found = published(task, learned.planner)
    return None if found is None else (learned.label, found.paper.mean)
