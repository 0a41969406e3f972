"""The few statistics that reports need."""

import math
from collections.abc import Sequence

import numpy as np


def mean(values: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """The mean, weighted if there are weights; 0 of nothing."""
    return float(np.average(values, weights=weights)) if len(values) > 0 else 0.0


def standard_error(values: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """The standard error of the mean: the sample's standard deviation (n − 1) over √n; 0 below two values.

    A weighted mean is a ratio of two sums over independent values, and its error that of a ratio for many values.
    """
    count = len(values)
    if count < 2:
        return 0.0
    off = np.asarray(values) - mean(values, weights)
    if weights is not None:
        off *= np.asarray(weights) / np.mean(weights)
    return float(np.linalg.norm(off) / math.sqrt(count * (count - 1)))


def error_words(error: float, values: int, digits: int = 1) -> str:
    """A standard error of so many values, for a person: that of one is not known."""
    return f"{error:.{digits}f}" if values > 1 else "unknown"


def with_error(value: float, values: Sequence[float]) -> str:
    """A mean with its standard error and how many values it is of, for a person."""
    count = len(values)
    return f"{value:.1f} ± {error_words(standard_error(values), count)} ({count} episode{'s' if count != 1 else ''})"


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that `percent` of 100 lie below, between neighbours by interpolation; 0 of nothing."""
    return float(np.percentile(values, percent)) if len(values) > 0 else 0.0


class RunningMean:
    """The mean and the standard error of values that come one by one, without keeping them (Welford)."""

    def __init__(self) -> None:
        self.count, self.mean, self._squares = 0, 0.0, 0.0

    def add(self, value: float) -> None:
        self.count += 1
        off = value - self.mean
        self.mean += off / self.count
        self._squares += off * (value - self.mean)

    @property
    def standard_error(self) -> float:
        return math.sqrt(self._squares / (self.count * (self.count - 1))) if self.count > 1 else 0.0
