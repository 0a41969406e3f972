"""A robot on disk: what it believes, does and waits for. Numbers only, nothing that could be run."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import numpy as np

from magic_pomdp.core.arrays import check_particles
from magic_pomdp.core.belief import Belief
from magic_pomdp.core.parameters import derived_digest, parameter_values
from magic_pomdp.core.randomness import check_seed
from magic_pomdp.core.reading import MOST_BYTES, Damaged, in_short
from magic_pomdp.core.saving import check_writable
from magic_pomdp.core.settings import Settings
from magic_pomdp.core.surprise import Impossible
from magic_pomdp.core.task import Task, task_name
from magic_pomdp.magic.arrays import load_arrays, save_arrays
from magic_pomdp.planners.plan import Budget, Plan, Planner
from magic_pomdp.results.base import Amount, Count, Label, Plain, Scalar, Stored

_log = logging.getLogger(__name__)

_BELIEF = "belief."
"""Begins the names of the belief's arrays."""
_Seed = Annotated[int, msgspec.Meta(ge=0)]


class Given(NamedTuple):
    """An action that was given."""

    step: int
    """Its number: 0 for the first."""
    action: np.ndarray
    time: float


@dataclass(frozen=True)
class RobotState:
    """All that a robot needs to go on."""

    belief: Belief
    seed: int
    count: int
    """Actions given."""
    plans_ahead: bool
    budget: Budget
    plan: Plan | None
    """The plan being carried out."""
    rest: np.ndarray
    """Actions of it that are not given yet; shape (n, action_size)."""
    awaited: tuple[Given, ...]
    """Actions that are not observed yet."""
    asked: tuple[np.ndarray, np.ndarray, np.uint64] | None
    """What is planned for: particles, context and seed."""


class _PlanFile(msgspec.Struct, frozen=True, kw_only=True):
    """A plan but for its arrays."""

    choice: int
    value: float
    lower: float | None
    upper: float | None
    trials: Count
    nodes: Count
    depth: Count
    steps: Count
    seconds: Amount
    stopped_by: Label


class _RobotFile(Stored, frozen=True, kw_only=True, tag="robot"):
    """A robot but for its arrays."""

    task: Label
    parameters: dict[str, Plain]
    derived: Label
    """A fingerprint of what the task has read from files or derived otherwise; "" if nothing."""
    planner: Label
    settings: dict[str, Scalar]
    impossible: Impossible
    seed: _Seed
    count: Count
    plans_ahead: bool
    budget: Budget
    plan: _PlanFile | None
    search_seed: _Seed | None


def save_robot(path: Path, state: RobotState, planner: Planner) -> None:
    """Write a robot in one step, and tell which planner it has."""
    belief, plan, task = state.belief, state.plan, state.belief.task
    arrays = {f"{_BELIEF}{name}": array for name, array in belief.to_arrays().items()}
    arrays["rest"] = state.rest
    arrays["awaited_actions"] = np.array([given.action for given in state.awaited]).reshape(-1, task.action_size)
    arrays["awaited_times"] = np.array([given.time for given in state.awaited], np.float64)
    if plan is not None:
        arrays["macro_action"] = plan.macro_action
    if state.asked is not None:
        arrays["asked_particles"], arrays["asked_context"] = state.asked[:2]
    about = _RobotFile(
        task=task_name(task),
        parameters=parameter_values(task),
        derived=derived_digest(task),
        planner=type(planner).__name__,
        settings=_settings(planner),
        impossible=belief.impossible,
        seed=state.seed,
        count=state.count,
        plans_ahead=state.plans_ahead,
        budget=state.budget,
        plan=None if plan is None else _PlanFile(**{name: getattr(plan, name) for name in _PlanFile.__struct_fields__}),
        search_seed=None if state.asked is None else int(state.asked[2]),
    )
    save_arrays(check_writable(path), arrays, about)


def load_robot(path: Path, planner: Planner) -> RobotState:
    """The robot that a file tells of, or a ValueError that says what is wrong with it. Another planner than it had is
    warned of."""
    arrays, about = load_arrays(path, _RobotFile, MOST_BYTES)
    task = planner.task
    _check_same_task(path, about, task)
    if (about.planner, about.settings) != (type(planner).__name__, _settings(planner)):
        _log.warning("%s is of a robot with another planner: %s", path, _other_planner(about, planner))
    past = {name.removeprefix(_BELIEF): array for name, array in arrays.items() if name.startswith(_BELIEF)}
    try:
        check_seed(about.seed)
        belief = Belief.from_arrays(task, past, about.impossible)
        times = _part(arrays, "awaited_times", (None,))
        actions = _part(arrays, "awaited_actions", (len(times), task.action_size))
        if len(times) > about.count:
            raise ValueError(f"It awaits {len(times)} observations, but only {about.count} actions were given.")
        rest = _part(arrays, "rest", (None, task.action_size))
        plan = None
        if about.plan is not None:
            macro_action = _part(arrays, "macro_action", (None, task.action_size))
            plan = Plan(macro_action=macro_action, **msgspec.structs.asdict(about.plan))
        asked = None
        if about.search_seed is not None:
            particles = check_particles(task, _part(arrays, "asked_particles", (None, task.state_size)))
            search_seed = np.uint64(check_seed(about.search_seed, "seed of the search"))
            asked = particles, _part(arrays, "asked_context", (task.context_size,)), search_seed
    except ValueError as error:
        raise Damaged(f"{path} is damaged, or of another version of the task: {error}") from None
    first = about.count - len(times)
    awaited = tuple(Given(first + place, actions[place], float(at)) for place, at in enumerate(times))
    return RobotState(belief, about.seed, about.count, about.plans_ahead, about.budget, plan, rest, awaited, asked)


def _check_same_task(path: Path, about: _RobotFile, task: Task) -> None:
    """A ValueError if a robot was in another task, or in one with other parameters."""
    if about.task != task_name(task):
        raise ValueError(f"{path} is of a robot in {in_short(about.task)}, but the planner is for {task_name(task)}.")
    different = _differences(about.parameters, parameter_values(task))
    if different:
        raise ValueError(f"{path} is of a robot in a {task_name(task)} with other parameters: {different}.")
    if about.derived != derived_digest(task):
        raise ValueError(
            f"{path} is of a robot in a {task_name(task)} with another content of a file that its parameters name."
        )


def _other_planner(about: _RobotFile, planner: Planner) -> str:
    """How the planner differs from the one that a robot had."""
    name = type(planner).__name__
    if about.planner != name:
        return f"{in_short(about.planner)} then, {name} now."
    return f"{_differences(about.settings, _settings(planner))}."


def _settings(planner: Planner) -> dict[str, Scalar]:
    """All settings of a planner by name; none if it does not tell."""
    settings = getattr(planner, "settings", None)
    return settings.values() if isinstance(settings, Settings) else {}


def _differences(then: Mapping[str, object], now: Mapping[str, object]) -> str:
    """What differs, in words; "" if nothing does."""
    names = [name for name in sorted(then.keys() | now.keys()) if then.get(name) != now.get(name)]
    return in_short(", ".join(f"{name} was {then.get(name)}, but is {now.get(name)}" for name in names), 600)


def _part(arrays: dict[str, np.ndarray], name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """An array of finite numbers, or a ValueError; None is any length."""
    array = arrays.get(name)
    if array is None or array.ndim != len(shape) or array.dtype != np.float64:
        raise ValueError(f"The array {name} is missing, or of another kind.")
    if any(wanted not in (None, found) for wanted, found in zip(shape, array.shape, strict=True)):
        raise ValueError(f"The array {name} has the shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"The array {name} contains NaN or infinity.")
    return array
