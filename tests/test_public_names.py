"""The public names are there, load on first use, and are told alike to Python and to type checkers."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import magic_pomdp
from magic_pomdp._lazy import lazy_names

PACKAGE = Path(magic_pomdp.__file__).parent
GROUPS = (
    *("learning", "macros", "magic", "planners", "random", "results", "running", "scene", "show", "tasks"),
    *("testing", "transfer"),
)
MODULES = ("magic_pomdp", *(f"magic_pomdp.{group}" for group in GROUPS))
LAZY = sorted(path for path in PACKAGE.rglob("__init__.py") if "lazy_names(" in path.read_text(encoding="utf-8"))

pytestmark = pytest.mark.jit_off


NEEDED = {"magic_pomdp.learning": "torch", "magic_pomdp.show": "matplotlib"}
"""What is not always installed."""


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_there(name):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    module = importlib.import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    for public in module.__all__:
        assert getattr(module, public) is not None, public
    assert set(module.__all__) <= set(dir(module)) | set(vars(module))


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_says_what_it_is(name):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    module = importlib.import_module(name)
    for public in set(module.__all__) - {"__version__"}:
        told = inspect.getdoc(getattr(module, public)) or ""
        assert told, public
        assert not told.startswith(f"{public}("), public  # what a dataclass says of itself is its signature


@pytest.mark.parametrize("name", MODULES)
def test_a_name_that_is_not_there_is_an_attribute_error(name):
    module = importlib.import_module(name)
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'no_such_name'"):
        module.no_such_name  # noqa: B018


def test_the_package_names_its_groups_and_what_everybody_needs():
    named = set(magic_pomdp.__all__) - {"__version__"}
    assert set(GROUPS) <= named
    assert named - set(GROUPS) == {
        *("Belief", "Budget", "ImpossibleObservation", "MacroActions", "MacroDespot", "Outcome", "Plan", "Task"),
        *("evaluate", "make", "run_episode"),
    }


def type_checkers_names(tree):
    """What is imported for type checkers alone: name and place."""
    (block,) = [one for one in tree.body if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING"]
    found = {}
    for line in block.body:
        assert isinstance(line, ast.ImportFrom)
        assert line.module is not None
        for alias in line.names:
            assert alias.asname == alias.name, f"import {alias.name} as {alias.name}, so that it counts as public"
            module = f"{line.module}.{alias.name}" if line.module == "magic_pomdp" else line.module
            found[alias.name] = module.removeprefix("magic_pomdp.")
    return found


def lazy_places(tree):
    """What is loaded on first use: name and place."""
    (call,) = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and ast.unparse(one.func) == "lazy_names"]
    places = ast.literal_eval(call.args[1])
    names = [name for names in places.values() for name in names]
    assert len(set(names)) == len(names)
    return {name: place for place, names in places.items() for name in names}


def test_all_groups_but_the_small_ones_are_lazy():
    names = {path.parent.relative_to(PACKAGE).as_posix() for path in LAZY}
    assert names >= {".", "learning", "magic", "planners", "results", "running", "show", "tasks"}


@pytest.mark.parametrize("path", LAZY, ids=lambda path: path.parent.name)
def test_type_checkers_are_told_what_python_loads(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (public,) = [
        ast.literal_eval(one.value)
        for one in tree.body
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "__all__"
    ]
    assert type_checkers_names(tree) == lazy_places(tree)
    assert set(public) - {"__version__"} == set(lazy_places(tree))


def test_a_name_is_loaded_once(monkeypatch):
    module = type(sys)("some_module")
    monkeypatch.setitem(sys.modules, "some_module", module)
    get, names = lazy_names("some_module", {"core.outcome": ("Outcome",), "random": ("random",)})
    assert names() == ["Outcome", "random"]
    assert get("Outcome") is magic_pomdp.Outcome
    assert get("random") is magic_pomdp.random  # a module of that name, not something in it
    assert vars(module)["Outcome"] is magic_pomdp.Outcome
    with pytest.raises(AttributeError, match="module 'some_module' has no attribute 'Task'"):
        get("Task")


FIRST_USE = """
import sys
import magic_pomdp
large = ("numba", "torch", "matplotlib", "numpy")
print(*[name for name in large if name in sys.modules])
magic_pomdp.planners, magic_pomdp.running, magic_pomdp.results, magic_pomdp.show, magic_pomdp.magic
print(*[name for name in large if name in sys.modules])
magic_pomdp.make("tiger"), magic_pomdp.running.PlannerFactory("despot"), magic_pomdp.magic.MagicPlanner
print(*[name for name in ("torch", "matplotlib") if name in sys.modules])
"""


def test_importing_pulls_in_nothing_large():
    run = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True)
    assert run.stdout == "\n\n\n", run.stderr
