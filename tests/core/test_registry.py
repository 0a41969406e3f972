import re
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from magic_pomdp import Task, make
from magic_pomdp.core import places, registry
from magic_pomdp.core.registry import find_task
from magic_pomdp.tasks import register_task, task_names
from magic_pomdp.tasks.tiger import Tiger

pytestmark = pytest.mark.jit_off

OWN = """
from magic_pomdp.tasks.tiger import Tiger

class Own(Tiger):
    name = "own"
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


@pytest.fixture
def points(monkeypatch):
    """Entry points of other packages."""
    found = []
    monkeypatch.setattr(registry, "entry_points", lambda **wanted: EntryPoints(found).select(**wanted))

    def add(name, place):
        found.append(EntryPoint(name, place, registry._GROUP))

    return add


@pytest.fixture
def registered(monkeypatch):
    """What this process knows, forgotten afterwards."""
    monkeypatch.setattr(registry, "_registered", {})


@pytest.mark.parametrize("name", registry._SHIPPED)
def test_shipped_tasks_carry_their_names(name):
    task = make(name)
    assert isinstance(task, Task)
    assert task.name == name
    assert name in task_names()


def test_a_users_task_is_found_by_module_and_by_file(folder):
    assert find_task("own_task_module:Own") is find_task("own_task_module.py:Own")
    assert find_task(f"{folder}/own_task_module.py:Own").name == "own"


def test_text_becomes_the_parameters_own_kind(folder):
    task = make("own_task_module:Own", noise="0.5", count="7", calm="true")
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
        make(name, **parameters)


def test_a_file_named_like_a_known_module_is_refused(folder):
    (folder / "json.py").write_text(OWN)
    with pytest.raises(ValueError, match="another module named 'json'"):
        find_task("./json.py:Own")


# ------------------------------------------------------------------------------------------- tasks of other packages


def test_a_registered_task_has_a_name(registered):
    assert "quiet-tiger" not in task_names()

    @register_task
    class QuietTiger(Tiger):
        name = "quiet-tiger"

    assert find_task("quiet-tiger") is QuietTiger
    assert isinstance(make("quiet-tiger", accuracy="0.9"), QuietTiger)
    assert task_names()[-1] == "quiet-tiger"
    with pytest.raises(ValueError, match=r"no task 'quiet-tigre' \(did you mean 'quiet-tiger'"):
        make("quiet-tigre")


def test_a_task_without_a_name_cannot_be_registered(registered):
    class Nameless(Tiger):
        name = ""

    with pytest.raises(ValueError, match=r"Nameless has no name to be known by: write `name = …` in the class\.$"):
        register_task(Nameless)


def test_another_package_adds_a_task_by_an_entry_point(points, folder):
    points("foreign", "own_task_module:Own")
    assert find_task("foreign").__name__ == "Own"
    assert make("foreign", count="5").count == 5
    assert "foreign" in task_names()


def test_an_entry_point_that_is_no_task_is_refused(points, folder):
    points("foreign", "own_task_module:NOT_A_TASK")
    with pytest.raises(ValueError, match=r"^foreign is not a task: .*magic_pomdp\.Task\.$"):
        make("foreign")


def test_a_package_that_cannot_be_imported_is_told_of_in_a_sentence(points, folder):
    points("foreign", "own_broken_module:Own")
    points("gone", "no_such_module_anywhere:Own")
    with pytest.raises(ValueError, match="own_broken_module cannot be imported: SyntaxError"):
        make("foreign")
    with pytest.raises(ValueError, match="no module 'no_such_module_anywhere'"):
        make("gone")


def test_another_package_cannot_replace_what_ships(points, folder):
    points("tiger", "own_task_module:Own")
    assert find_task("tiger") is Tiger


def test_names_come_once_and_the_shipped_first(points, registered):
    points("tiger", "magic_pomdp.tasks.tiger:Tiger")
    points("foreign", "magic_pomdp.tasks.tiger:Tiger")
    names = task_names()
    assert len(set(names)) == len(names)
    assert names.index("tiger") < names.index("foreign")


def test_a_name_is_given_once(registered):
    with pytest.raises(ValueError, match="There is a task 'tiger' already"):
        register_task(Tiger)

    class First(Tiger):
        name = "taken"

    class Second(Tiger):
        name = "taken"

    register_task(First)
    register_task(First)  # a module that is imported again
    with pytest.raises(ValueError, match="There is a task 'taken' already"):
        register_task(Second)


def test_no_file_of_the_present_folder_takes_the_place_of_a_library(tmp_path):
    for name in ("shapely", "my_own"):
        (tmp_path / f"{name}.py").write_text("from magic_pomdp.tasks.tiger import Tiger as Own\nprint('run')\n")
    code = "import magic_pomdp as mp; mp.make('light-dark'); mp.make('my_own:Own'); mp.make('crowd-driving', cars=1)"
    found = subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, "run\n"), found.stderr


def test_an_installed_module_does_not_open_the_present_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert find_task("magic_pomdp.tasks.tiger:Tiger") is Tiger
    with pytest.raises(ValueError, match="no module 'no_such_module_anywhere'"):
        find_task("no_such_module_anywhere:Own")
    assert str(tmp_path) not in sys.path


def test_a_files_folder_is_opened_and_not_the_present_one(tmp_path, monkeypatch):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "own_in_a_folder.py").write_text("from magic_pomdp.tasks.tiger import Tiger as Own\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert find_task("tasks/own_in_a_folder.py:Own") is Tiger
    assert sys.path[-1] == str(tmp_path / "tasks")
    assert str(tmp_path) not in sys.path


def test_no_file_is_taken_for_a_library_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "OPTIONAL_LIBRARIES", ("library_that_is_missing",))
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "own_beside_it.py").write_text("from magic_pomdp.tasks.tiger import Tiger as Own\n")
    (tmp_path / "library_that_is_missing.py").write_text("")
    with pytest.raises(ValueError, match="has a module named 'library_that_is_missing', which would be taken for"):
        find_task(f"{tmp_path / 'own_beside_it.py'}:Own")
    assert str(tmp_path) not in sys.path


def test_all_libraries_that_may_be_missing_are_known():
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    lines = [
        line for extra in ("gym", "learn", "ray", "show", "tune") for line in declared["optional-dependencies"][extra]
    ]
    names = {re.split("[<>=]", line)[0].replace("-", "_").replace("pillow", "PIL") for line in lines}
    assert names == set(places.OPTIONAL_LIBRARIES)
