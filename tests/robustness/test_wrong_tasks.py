"""Commands with a task that is wrong: it writes where it should not, or never returns."""

import subprocess
import sys
import time

from magic_pomdp import cli
from magic_pomdp.cli import shared

OWN = """
import numpy as np

import magic_pomdp as mp
from magic_pomdp.planners import PlannerSettings, register_planner
from magic_pomdp.tasks.tiger import Tiger


class WritesBeyond(Tiger):
    def step(self, context, state, action, random, observation):
        if mp.random.uniform(random) < 0.1:
            observation[99] = 0.0
        return 0.0, mp.Outcome.RUNNING


@register_planner("idle", "Idle", PlannerSettings)
class Idle:
    def __init__(self, task, settings=None, budget=None):
        self.task, self.settings, self.budget = task, settings, budget

    def plan(self, belief, context=None, *, budget=None, seed=0):
        counts = dict.fromkeys(("choice", "value", "trials", "nodes", "depth", "steps", "seconds"), 1)
        return mp.Plan(np.zeros((1, 1)), lower=None, upper=None, stopped_by="budget used", **counts)
"""
"""A planner that compiles nothing, so that it is all over soon."""


def test_debug_names_an_index_that_is_out_of_bounds(tmp_path, jit):
    (tmp_path / "own.py").write_text(OWN)
    command = [sys.executable, "-m", "magic_pomdp", "evaluate", "own.py:WritesBeyond", "--planner", "own.py:Idle"]
    command += ["--steps", "1", "--episodes", "1", "--workers", "0", "--debug"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    complaint = (
        "magic-pomdp: Nothing could start because of OutOfBounds: index 99 is out of bounds for axis 0 with size 1."
    )
    assert (done.returncode, complaint in done.stderr) == (1, True), done.stderr


def test_where_nothing_is_finished_a_command_says_what_it_waits_for(monkeypatch, capsys, tmp_path):
    """As with a function that never returns."""
    said = []

    def wait(*_, **__):
        deadline = time.monotonic() + 30.0
        while time.monotonic() < deadline and not said:
            time.sleep(0.01)
            said.extend(capsys.readouterr().err.splitlines())
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shared, "FIRST_WORD", 0.6)
    monkeypatch.setattr("magic_pomdp.running.evaluating.evaluate", wait)
    monkeypatch.setattr(sys, "argv", ["magic-pomdp", "evaluate", "tiger", "--steps", "1", "--workers", "0"])
    assert cli.main() == shared.INTERRUPTED
    assert said == [
        "After 1 s, 0 episodes are finished. The planner is still being compiled, which happens once, or its first "
        "episodes run. Ctrl-C stops."
    ]


def test_of_a_task_that_does_not_ship_it_says_how_to_find_out(monkeypatch, capsys):
    monkeypatch.setattr(shared, "FIRST_WORD", 0.05)
    with shared.progress_bar("episodes", 2, ""):
        time.sleep(0.3)
    assert "`magic-pomdp check` tells whether a function of the task never returns" in capsys.readouterr().err


def test_what_goes_on_is_not_disturbed(monkeypatch, capsys):
    monkeypatch.setattr(shared, "FIRST_WORD", 0.05)
    with shared.progress_bar("episodes", 2, "") as update:
        update(advance=1)
        time.sleep(0.2)
    with shared.progress_bar("episodes", 2, ""):
        pass
    time.sleep(0.1)
    assert capsys.readouterr().err == ""
