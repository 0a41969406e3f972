"""Python's collector of garbage, in the processes that are this package's own."""

import gc

_ALLOCATIONS = 50_000
"""After which the collector looks for garbage, instead of Python's 700."""


def collect_seldom() -> None:
    """To compile makes millions of objects and little garbage: an eighth of the time would go into looking for it."""
    gc.set_threshold(_ALLOCATIONS, 20, 20)
