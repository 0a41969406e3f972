import sys

import pytest

from magic_pomdp import Task, make_task
from magic_pomdp.core.registry import SHIPPED, find_task

pytestmark = pytest.mark.jit_off

OWN = """
from magic_pomdp import Task

class Own(Task):
    name = "own"
    state_size = action_size = observation_size = 1
    noise: float = 1.0
    count: int = 3
    calm: bool = False

NOT_A_TASK = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_task_module", raising=False)  # of an earlier test's folder
    (tmp_path / "own_task_module.py").write_text(OWN)
    (tmp_path / "own_broken_module.py").write_text("def oops(:\n")
    return tmp_path


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_shipped_tasks_carry_their_names(name):
    task = make_task(name)
    assert isinstance(task, Task)
    assert task.name == name


def test_a_users_task_is_found_by_module_and_by_file(folder):
    assert find_task("own_task_module:Own") is find_task("own_task_module.py:Own")
    assert find_task(f"{folder}/own_task_module.py:Own").name == "own"


def test_text_becomes_the_parameters_own_kind(folder):
    task = make_task("own_task_module:Own", noise="0.5", count="7", calm="true")
    assert (task.noise, task.count, task.calm) == (0.5, 7, True)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("light-drak", {}, "did you mean 'light-dark'"),
        ("no_such_module_anywhere:Task", {}, "no module"),
        ("no_such_file.py:Task", {}, "no file"),
        ("own_task_module:Owm", {}, "did you mean 'Own'"),
        ("own_task_module:NOT_A_TASK", {}, "not a task"),
        ("own_broken_module:Own", {}, "cannot be imported: SyntaxError"),
        ("own_task_module:Own", {"noize": 1.0}, "did you mean 'noise'"),
        ("own_task_module:Own", {"noise": "loud"}, "kind float"),
        ("own_task_module:Own", {"noise": float("nan")}, "finite"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(folder, name, parameters, message):
    with pytest.raises(ValueError, match=message):
        make_task(name, **parameters)


def test_a_file_named_like_a_known_module_is_refused(folder):
    (folder / "json.py").write_text(OWN)
    with pytest.raises(ValueError, match="another module named 'json'"):
        find_task("./json.py:Own")
