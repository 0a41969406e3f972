"""The few statistics that reports need."""

from collections.abc import Sequence

import numpy as np


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return float(np.mean(values)) if len(values) > 0 else 0.0


def standard_error(values: Sequence[float]) -> float:
    """The standard error of the mean: the sample's standard deviation (n − 1) over √n; 0 below two values."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that `percent` of 100 lie below, between neighbours by interpolation; 0 of nothing."""
    return float(np.percentile(values, percent)) if len(values) > 0 else 0.0
