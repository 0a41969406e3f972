"""What tells an evaluation from others of the same planner, in words."""

from collections.abc import Iterable, Mapping, Sequence

from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.show.words import budget_words, label_of

_LEARNED = "magic"
"""The planner whose macro-actions may be shorter than its length."""


def variant_words(one: Evaluation, among: Sequence[Evaluation]) -> str:
    """The settings and parameters in which an evaluation differs from others of its planner; those of the world, from
    others there, and those of the task, from others that were fitted alike to it. One that another, of an older
    version, does not have is no difference."""
    alike = _alike(one, among)
    there = [other for other in alike if other.world == one.world]
    fitted_alike = [other for other in there if other.identified == one.identified]
    found = _different(one.settings, [other.settings for other in alike])
    found += _different(one.world_settings, [other.world_settings for other in there])
    if len(fitted_alike) < len(there):
        found.append(f"fitted: {one.identified}" if one.identified else "not fitted")
    found += _different(one.task_parameters, [other.task_parameters for other in fitted_alike])
    return ", ".join(found)


def _different(values: Mapping[str, object], others: Sequence[Mapping[str, object]]) -> list[str]:
    """What is not the same in all others, in words."""
    names = [name for name in values if any(other.get(name, values[name]) != values[name] for other in others)]
    return [f"{name.replace('_', ' ')} {values[name]}" for name in names]


def full_name(one: Evaluation, among: Sequence[Evaluation], with_budget: bool = True) -> str:
    """An evaluation's planner, with all that tells it from others of that planner."""
    words = {
        **({"budget": budget_words(one.budget)} if with_budget else {}),
        "macro_length": f"{'learned, up to' if one.planner == _LEARNED else 'length'} {one.macro_length or '–'}",
        "seed": f"seed {one.seed}",
        "software": f"version {one.software}",
        "world": one.world,
    }
    others = _alike(one, among)
    different = [name for name in words if any(getattr(other, name) != getattr(one, name) for other in others)]
    parts = [label_of(one), *(words[name] for name in different), variant_words(one, among)]
    return ", ".join(part for part in parts if part)


def _alike(one: Evaluation, among: Iterable[Evaluation]) -> list[Evaluation]:
    return [other for other in among if other.planner == one.planner]
