"""Compiled once: later processes load it, other parameters reuse it, edited code replaces it."""

import copy
import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest

from magic_pomdp import Belief, make
from magic_pomdp.core.compiling import code_digest, own_copy, parameter_words, task_type
from magic_pomdp.tasks.light_dark import LightDark
from magic_pomdp.tasks.tiger import Tiger

TASK = """
import numpy as np
from numba import njit
from magic_pomdp import Outcome, Task
from neighbour import shift

OFFSET = 10.0

@njit
def twice(x):
    return 2.0 * x

class Line(Task):
    name = "line"
    state_size = action_size = observation_size = 1
    slope: float = 1.0

    def draw_state(self, context, random, state):
        state[0] = shift(self.value())

    def value(self):
        return self.slope * twice(OFFSET)

    def step(self, context, state, action, random, observation):
        observation[0] = state[0]
        return 0.0, Outcome.RUNNING

    def log_likelihood(self, context, state, action, observation):
        return 0.0

    def upper_bound(self, context, state):
        return 0.0

    def actions(self):
        return np.zeros((1, 1))
"""
NEIGHBOUR = "from numba import njit\nSHIFT = 0.0\n\n@njit\ndef shift(x):\n    return x + SHIFT\n"
RUN = """
import sys
import numpy as np
from line import Line
from magic_pomdp.core.belief import Belief, draw_states
values = [Belief.initial(Line(slope=slope), np.zeros(0), 1).particles[0, 0] for slope in (1.0, 3)]
stats = draw_states.stats
print(values, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "line.py").write_text(TASK)
    (tmp_path / "neighbour.py").write_text(NEIGHBOUR)

    def run():
        result = subprocess.run([sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return result.stdout.strip()

    return run


def test_compiled_code_is_kept_until_something_it_uses_is_edited(run, tmp_path):
    assert run() == "[np.float64(20.0), np.float64(60.0)] 0 1"  # compiled once for two settings
    assert run() == "[np.float64(20.0), np.float64(60.0)] 1 0"  # loaded from disk in the next process
    (tmp_path / "line.py").write_text(TASK.replace("OFFSET = 10.0", "OFFSET = 11.0"))
    assert run() == "[np.float64(22.0), np.float64(66.0)] 0 1"  # the task's own file
    (tmp_path / "neighbour.py").write_text(NEIGHBOUR.replace("SHIFT = 0.0", "SHIFT = 0.5"))
    assert run() == "[np.float64(22.5), np.float64(66.5)] 0 1"  # a file that it imports


NOTEBOOK = """
import math, enum
from numba import njit
from magic_pomdp import Outcome, Task
from magic_pomdp.core.compiling import code_digest
TABLE = {table}
class Side(enum.IntEnum):
    LEFT = {left}
@njit
def helper(x, power={power}):
    return math.{function}(x) ** power
class Cell(Task):
    name = "cell"
    state_size = action_size = observation_size = 1
    SIZE = {size}
    def draw_state(self, context, random, state):
        state[0] = helper(TABLE[0]) + self.SIZE + Side.LEFT + self.more()
    def more(self):
        return sum([{inner} * x for x in (1, 2)])
    def step(self, context, state, action, random, observation):
        return 0.0, Outcome.RUNNING
    def log_likelihood(self, context, state, action, observation):
        return 0.0
    def upper_bound(self, context, state):
        return 0.0
    def actions(self):
        return {action}
digest = code_digest(Cell)
"""
FIRST = {"table": "(1.0, 2.0)", "left": 1, "power": 2, "function": "sin", "size": 3, "inner": 5, "action": 1}


def digest_of(**changes):
    names = {"__name__": "prompt"}
    exec(NOTEBOOK.format(**{**FIRST, **changes}), names)
    return names["digest"]


@pytest.mark.parametrize(
    "change",
    [{"table": "(1.0, 2.5)"}, {"left": 2}, {"power": 3}, {"function": "cos"}, {"size": 4}, {"inner": 6}],
    ids=lambda change: next(iter(change)),
)
def test_whatever_compiled_code_holds_changes_the_digest(jit, change):
    assert digest_of() == digest_of()
    assert digest_of(**change) != digest_of()


def test_what_is_never_compiled_does_not_change_the_digest(jit):
    assert digest_of(action=2) == digest_of()


def test_methods_of_a_mixin_compile():
    class Mixin:
        def origin(self):
            return 7.0

    class Mixed(Mixin, Tiger):
        name = "mixed"

        def draw_state(self, context, random, state):
            state[0] = self.origin()

    assert Belief.initial(Mixed(), np.zeros(0), 3).particles.tolist() == [[7.0]] * 3


def test_parameters_do_not_change_the_type_and_tasks_do():
    plain, other = make("light-dark"), make("light-dark", observation_noise=1)
    assert task_type(plain) == task_type(other)
    assert task_type(plain) != task_type(make("tiger"))
    assert code_digest(type(plain)) == code_digest(type(other))


def test_two_settings_of_one_task_live_side_by_side(jit):
    context = np.array([0.0, 0.0, 3.0, 1.0, 2.0])
    wide = Belief.initial(make("light-dark", prior_noise=3.0), context, 2000)
    narrow = Belief.initial(make("light-dark", prior_noise=0.1), context, 2000)
    again = Belief.initial(make("light-dark", prior_noise=3.0), context, 2000)
    assert wide.particles[:, 0].std() == pytest.approx(3.0, rel=0.1)
    assert narrow.particles[:, 0].std() == pytest.approx(0.1, rel=0.1)
    np.testing.assert_array_equal(wide.particles, again.particles)


class Raises(Tiger):
    """Raises something that is only known when it runs."""

    name = "raises"

    def draw_state(self, context, random, state):
        state[0] = 3.0
        raise ValueError("no such state", state[0])


def test_what_a_part_of_a_kernel_raises_arrives():
    with pytest.raises(ValueError, match=r"no such state.*3\.0"):
        Belief.initial(Raises(), [], 10)


def test_a_copy_tells_compiled_code_of_its_own_parameters():
    task = LightDark(speed=0.25)
    copies = [copy.copy(task), pickle.loads(pickle.dumps(task)), own_copy(task), dataclasses.replace(task)]
    addresses = {one._address_ for one in (task, *copies)}
    assert len(addresses) == 5
    assert task._address_ in addresses  # it stays where it is
    twin = own_copy(task)
    names = [name for name, _ in twin._numba_type_.fields]
    words = parameter_words(twin)
    assert words[names.index("speed")].view(np.float64) == 0.25
    assert words[names.index("powers")] == twin.powers.ctypes.data != task.powers.ctypes.data
