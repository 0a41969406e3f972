"""Conformance checks for tasks and planners, your own included.

    for finding in check_task(MyTask):
        print(finding)

An empty list means that nothing was found. The checks go from the outside in: what the class declares; what its
functions do as plain Python; whether they compile and then do the same; whether that holds for a million steps; and at
last whether likelihood and upper bound agree with what `step` does. Each stage runs only if the one before found
nothing. All are deterministic, but for how many of the million steps a slow task takes. A write beyond the end of an
array is found, and does not corrupt memory: all that is compiled here looks at its indices.
"""

from collections.abc import Callable, Iterator

import numpy as np

from magic_pomdp.core.compiling import checked
from magic_pomdp.core.task import Task
from magic_pomdp.testing.compiled import check_agreement, check_compiles, check_side_by_side
from magic_pomdp.testing.declaration import check_choices, check_class, check_parameters
from magic_pomdp.testing.finding import Broken, Finding
from magic_pomdp.testing.likelihood import check_likelihood
from magic_pomdp.testing.long_run import check_long_run
from magic_pomdp.testing.look import check_look
from magic_pomdp.testing.plain import (
    Record,
    check_absorbing,
    check_conditioned,
    check_explained,
    check_guide,
    check_noise,
    check_repeatable,
    check_statistics,
    check_unobserved,
    random_episodes,
)
from magic_pomdp.testing.planner import check_planner
from magic_pomdp.testing.upper_bound import check_bound_within, check_upper_bound

__all__ = ["Finding", "check_planner", "check_task"]

_STAGES: dict[str, tuple[Callable[[Task, Record], Iterator[Finding]], ...]] = {
    "what the functions do in plain Python": (
        check_repeatable,
        check_absorbing,
        check_unobserved,
        check_noise,
        check_guide,
        check_explained,
        check_conditioned,
        check_statistics,
        check_look,
    ),
    "whether they compile": (check_compiles,),
    "whether they then do the same": (check_agreement, check_side_by_side),
    "a million steps": (check_long_run,),
    "whether likelihood and upper bound agree with step": (check_likelihood, check_upper_bound),
    "whether bound_within does": (check_bound_within,),
}
_PARTS = 1 + len(_STAGES)
"""Of a check: episodes, and what is looked at in them."""


def tell_nobody(what: str, number: int, count: int) -> None:
    """Before each stage: nothing."""


def check_task(task: Task | type[Task], tell: Callable[[str, int, int], None] = tell_nobody) -> list[Finding]:
    """Everything that is wrong with a task (an object, or a class to be used with its default parameters). It may take
    minutes: `tell` is told what is looked at now, which number that has, and how many there are."""
    task_class = task if isinstance(task, type) else type(task)
    findings = list(check_class(task_class))
    if findings:
        return findings
    tell("some episodes in plain Python", 1, _PARTS)
    try:
        with np.errstate(all="ignore"):  # compiled code divides by zero and overflows in silence, too
            task = _with_defaults(task) if isinstance(task, type) else task
            findings = list(check_parameters(task)) or list(check_choices(task))
            if findings:
                return findings
            task = checked(task)
            record = random_episodes(task)
            for number, (what, stage) in enumerate(_STAGES.items(), start=2):
                tell(what, number, _PARTS)
                findings = [finding for check in stage for finding in check(task, record)]
                if findings:
                    return findings
    except Broken as broken:
        findings.append(broken.finding)
    return findings


def _with_defaults(task_class: type[Task]) -> Task:
    try:
        return task_class()
    except Exception as error:
        seen = f"it cannot be made without arguments: {type(error).__name__}: {error}"
        advice = "Give every parameter a default that works, or check an object instead of the class"
        raise Broken(task_class.__name__, seen, "default parameters", advice) from error
