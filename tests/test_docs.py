"""The documents' code runs as it stands."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import magic_pomdp as mp

DOCS = Path(__file__).parents[1] / "docs"


def blocks(document, language):
    text = (DOCS / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def run_commands(document):
    """All commands of a document, one after the other."""
    commands = [line.removeprefix("$ ") for block in blocks(document, "console") for line in block.splitlines()]
    assert len(commands) >= 4
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    for command in commands:
        result = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, (command, result.stdout, result.stderr)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes the file that a document builds; gives the blocks that come after it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def write(document, module):
        pieces = blocks(document, "python")
        first = next(i for i, piece in enumerate(pieces) if f"\nfrom {module} import" in piece)
        (tmp_path / f"{module}.py").write_text("\n".join(pieces[:first]))
        monkeypatch.delitem(sys.modules, module, raising=False)
        return pieces[first:]

    return write


def test_scripts_of_the_tutorial_run(written, capsys):
    names = {}
    for script in written("your-own-task.md", "charger"):
        exec(compile(script, "tutorial", "exec"), names)
    assert names["record"].outcome == "success"
    assert mp.check_task(names["Charger"]) == []
    assert mp.check_task(names["FreeCharger"]) == []
    assert "Expected" not in capsys.readouterr().out


def test_commands_of_the_tutorial_run(written):
    written("your-own-task.md", "charger")
    run_commands("your-own-task.md")


@pytest.mark.skipif(find_spec("torch") is None, reason="learning needs torch")
def test_learning_runs(written):
    (script,) = written("learning.md", "archer")
    run_commands("learning.md")
    names = {"mp": mp, "np": np}
    exec(compile(script, "learning", "exec"), names)
    assert names["trained"].updates == 20
    shots = names["planner"].generate(names["belief"], names["context"]).actions
    assert abs(shots - 0.3).min() < 0.3  # the handcrafted ones miss by 0.7
