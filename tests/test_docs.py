"""The tutorial's code runs as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import magic_pomdp as mp

TUTORIAL = (Path(__file__).parents[1] / "docs" / "your-own-task.md").read_text()
FIRST_SCRIPT = "import numpy as np\nfrom charger import"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", TUTORIAL, re.DOTALL | re.MULTILINE)


@pytest.fixture
def charger(tmp_path, monkeypatch):
    """The file that the tutorial builds; the blocks that come after it."""
    pieces = blocks("python")
    first = next(i for i, piece in enumerate(pieces) if piece.startswith(FIRST_SCRIPT))
    (tmp_path / "charger.py").write_text("\n".join(pieces[:first]))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "charger", raising=False)
    return pieces[first:]


def test_scripts_run(charger, capsys):
    names = {}
    for script in charger:
        exec(compile(script, "tutorial", "exec"), names)
    assert names["record"].outcome == "success"
    assert mp.check_task(names["Charger"]) == []
    assert mp.check_task(names["FreeCharger"]) == []
    assert "Expected" not in capsys.readouterr().out


def test_commands_run(charger):
    commands = [line.removeprefix("$ ") for block in blocks("console") for line in block.splitlines()]
    assert len(commands) >= 4
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    for command in commands:
        result = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, (command, result.stdout, result.stderr)
