"""A few of the kills that kills.py makes by the hundred; trainings are killed in tests/learning/test_kill.py."""

import os
from pathlib import Path

import pytest
from kills import run, table
from small_commands import COMMANDS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"),
]


@pytest.mark.parametrize("name", ["evaluate", "compare", "tune"])
def test_a_killed_command_run_again_ends_as_if_nothing_had_been(name, tmp_path, jit):
    (command,) = (one for one in COMMANDS if one.name == name)
    (row,) = table(run(1, 0, tmp_path, [command], lanes=1, environment=dict(os.environ), warm=True))
    assert (row["kills"], row["lost"], row["doubled"], row["wrong"]) == (1, 0, 0, [])
