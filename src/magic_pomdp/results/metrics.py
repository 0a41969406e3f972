"""What a training tells of itself on its way: the lines of its file of metrics."""

import io
from pathlib import Path
from typing import Any

import msgspec

from magic_pomdp.core.reading import convert, plain_json, read_content
from magic_pomdp.results.base import Amount, Count
from magic_pomdp.results.training import CurvePoint

METRICS = "metrics.jsonl"
"""The file in a training's folder."""
_MOST_BYTES = 2**28
"""Of that file: weeks of training."""


class Note(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="note"):
    """Something that happened once."""

    text: str


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What an update measures, or several do in the mean."""

    critic_loss: float
    critic_error: float
    """Between the critic's value and the planner's, in the unit of the latter."""
    expected_value: float
    """What the critic expects of the generator's macro-actions."""
    entropy: float
    """Of the sampled parameters, before they are normalised or clipped."""
    std: float
    """Their standard deviation."""
    alpha: float
    """α, the weight of entropy."""


class Progress(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="progress"):
    """How a training stands."""

    minutes: Amount
    """Of training so far."""
    minutes_left: Amount | None
    """None if there is no limit."""
    updates: Count
    updates_left: Count | None = None
    """None if there is no limit."""
    plans: Count
    warmup: Count | None = None
    """Plans of the warm-up; None in older files."""
    replay: Count
    """Plans that are kept to learn from."""
    episodes: Count
    warming_up: bool
    """Whether nothing is learned yet."""
    recent_return: float | None
    """Mean return of the latest episodes, with sampled parameters; None before the first."""
    evaluation: str | None
    """How far the evaluation under way is, in words; None if there is none."""
    best: float | None = None
    """Mean return in the best evaluation; None before the first."""
    updates_per_second: Amount
    """Since the last report."""
    plans_per_second: Amount
    """Since the last report."""
    target_entropy: float | None = None
    """At which α aims; None in older files."""
    measured: Measured | None = None
    """In the mean of all updates since the last report; None if there were none."""


class EvaluationReport(CurvePoint, frozen=True, kw_only=True, tag_field="event", tag="evaluation"):
    """An evaluation of a training's generator."""

    concurrent: bool = False
    """Whether each macro-action was planned while the one before it was carried out."""
    best: bool = False
    """Whether it was the best so far."""
    lead: float | None = None
    """What it returned more than the handcrafted set did, in the mean of the same episodes; None if that is not
    known."""
    lead_stderr: Amount | None = None
    """The standard error of that, pair by pair."""
    final: bool = False
    """Whether it was the last one, of the best generator, in episodes that had no part in choosing it."""

    def point(self) -> CurvePoint:
        """What a learning curve keeps of it."""
        return CurvePoint(**{name: getattr(self, name) for name in CurvePoint.__struct_fields__})


MetricsLine = Note | Progress | EvaluationReport
"""A line of the file."""


def read_metrics(folder: Path) -> list[MetricsLine]:
    """All lines of a training's metrics; a ValueError says in a sentence what is wrong with the file."""
    path = folder / METRICS
    lines = []
    for number, line in enumerate(io.BytesIO(read_content(path, _MOST_BYTES)), start=1):
        if line.strip() and not _is_half(line):
            source = f"Line {number} of {path}"
            found: MetricsLine = convert(_upgraded(plain_json(line, source)), MetricsLine, source)  # type: ignore[arg-type]
            lines.append(found)
    return lines


def _is_half(line: bytes) -> bool:
    """Whether a line ends too early: a training that was killed leaves such a one, and goes on in the next line."""
    line = line.rstrip()
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        return "truncated" in str(error) or f"(byte {len(line)})" in str(error)
    except (UnicodeDecodeError, RecursionError):
        return False
    return False


def _upgraded(plain: Any) -> Any:
    """A line in the present form: in those of software 0.1.0 what was measured lies beside the other numbers."""
    if isinstance(plain, dict) and plain.get("event") == "progress" and "critic_loss" in plain:
        return {**plain, "measured": {name: plain.get(name) for name in Measured.__struct_fields__}}
    return plain
