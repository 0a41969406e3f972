"""Recorded trials in a world: a table of numbers, which a robot's owner can write as well."""

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from magic_pomdp.core.reading import read_content
from magic_pomdp.core.saving import save_bytes

TRIAL = "trial"
"""The first column: which trial a row belongs to."""
_LARGEST = 1e9
"""Numbers may be so large: whatever is computed of them is finite, and nobody's table or road is larger."""


@dataclass(frozen=True)
class Trials:
    """What was done and seen in some trials, row by row in the order of time."""

    columns: tuple[str, ...]
    """What each column is; the first is the trial's number."""
    rows: np.ndarray
    """Shape (rows, columns); NaN where nothing was seen."""
    measured: Mapping[str, float] = field(default_factory=dict)
    """What else was measured meanwhile, by what it is; it is not written to files."""

    def each(self) -> list[np.ndarray]:
        """The rows of one trial after the other, without the trial's number."""
        numbers = self.rows[:, 0]
        return [self.rows[numbers == number, 1:] for number in np.unique(numbers)]


def write_trials(path: Path, trials: Trials) -> None:
    """Save trials as CSV, a column's name above each; what was not seen is empty."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(trials.columns)
    table.writerows(["" if math.isnan(value) else f"{value:.9g}" for value in row] for row in trials.rows)
    save_bytes(path, text.getvalue().encode())


def read_trials(path: Path, columns: tuple[str, ...]) -> Trials:
    """Trials with these columns from a CSV file; a ValueError says in a sentence what is wrong with it."""
    try:
        lines = list(csv.reader(io.StringIO(read_content(path).decode("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"{path} is no CSV file of trials.") from None
    if not lines or tuple(name.strip() for name in lines[0]) != columns:
        raise ValueError(f"{path} must begin with a line of these columns: {','.join(columns)}.")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            row = [float(cell) if cell.strip() else math.nan for cell in line]
        except ValueError:
            raise ValueError(f"Line {number} of {path} holds something that is no number.") from None
        if len(row) != len(columns):
            raise ValueError(f"Line {number} of {path} must have {len(columns)} numbers, not {len(row)}.")
        if math.isnan(row[0]) or any(abs(value) > _LARGEST for value in row):
            raise ValueError(f"Line {number} of {path} must tell its trial, and hold no number beyond {_LARGEST:g}.")
        rows.append(row)
    if not rows:
        raise ValueError(f"{path} holds no trials.")
    return Trials(columns, np.array(rows))
