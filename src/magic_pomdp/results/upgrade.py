"""Results of software 0.1.0, turned into the present form. Nothing else handles results as plain data.

Their files have no `kind`: which kind one is shows from its names. Their `version` is that of the software. What a task
tells of its episodes lies flat among the other figures. Parts that are not what they should be are passed on as they
are, for the reader to refuse.
"""

from typing import Any

_SOFTWARE = "0.1.0"
_NAMES: dict[str, set[str]] = {
    "comparison": {"task", "evaluations"},
    "ablation": {"task", "rows", "trainings", "handcrafted"},
    "curves": {"task", "curves", "handcrafted"},
    "bench": {"processor", "measurements", "version"},
    "training": {"conditioning", "critic", "curve", "evaluation"},
    "evaluation": {"task", "planner", "budget", "episodes", "seed", "settings", "return_mean"},
}
"""What a result of each kind has; the first kind that fits is the right one."""
_RECORD = {
    *("episode", "return", "discounted_return", "steps", "outcome", "belief_error", "belief_error_final"),
    *("recoveries", "ignored", "plans"),
}
"""What every episode's record has; the rest is the task's own."""
_NOT_THE_TASKS = {"return", "discounted_return"}
"""What has a mean and a standard error in the evaluations of all tasks."""


def upgrade(old: dict[str, Any]) -> dict[str, Any] | None:
    """A result of 0.1.0 in the present form; None if it is none."""
    kind = next((kind for kind, names in _NAMES.items() if names <= old.keys()), None)
    return None if kind is None else _result(old, kind)


def _result(old: Any, kind: str) -> Any:
    """A result of a kind, and all that it holds."""
    if not isinstance(old, dict):
        return old
    new = {**old, "kind": kind, "software": old.get("version", _SOFTWARE)}
    new.pop("version", None)
    if kind == "evaluation":
        new["statistics"] = _statistics(old)
        new["records"] = _each(old.get("records", []), _record)
    for name, part in (("handcrafted", "evaluation"), ("evaluation", "evaluation")):
        if name in old:
            new[name] = _result(old[name], part)
    for name, part in (("evaluations", "evaluation"), ("trainings", "training")):
        if name in old:
            new[name] = _each(old[name], lambda one, part=part: _result(one, part))
    return new


def _statistics(old: dict[str, Any]) -> dict[str, Any]:
    names = [name.removesuffix("_mean") for name in old if name.endswith("_mean")]
    return {
        name: {"mean": old[f"{name}_mean"], "stderr": old[f"{name}_stderr"]}
        for name in names
        if f"{name}_stderr" in old and name not in _NOT_THE_TASKS
    }


def _record(old: Any) -> Any:
    if not isinstance(old, dict):
        return old
    shared = {name: value for name, value in old.items() if name in _RECORD}
    return {**shared, "statistics": {name: value for name, value in old.items() if name not in _RECORD}}


def _each(old: Any, change: Any) -> Any:
    return [change(one) for one in old] if isinstance(old, list) else old
