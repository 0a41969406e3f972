import os

import pytest


@pytest.fixture
def jit():
    """For what only compiled code does."""
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        pytest.skip("NUMBA_DISABLE_JIT=1")
