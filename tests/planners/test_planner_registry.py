"""Planners by name: what ships, what another package brings, and one's own."""

import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints

import numpy as np
import pytest

from magic_pomdp import Budget, make
from magic_pomdp.magic.model import ModelCard, Score, save_model
from magic_pomdp.magic.shape import GeneratorShape
from magic_pomdp.planners import (
    MacroDespot,
    PlannerEntry,
    PlannerSettings,
    find_planner,
    planner_names,
    register_planner,
    registry,
    setting,
)
from magic_pomdp.planners.registry import DEFAULT_PLANNER, planner_label
from magic_pomdp.planners.tree_top import top_of_tree
from magic_pomdp.testing import check_planner

SHIPPED = ["magic", "macro-despot", "despot", "pomcpow"]

OWN = """
from magic_pomdp.planners import MacroDespot, register_planner

@register_planner("foreign", "Foreign")
class Foreign:
    def __init__(self, task, settings=None, budget=None):
        self.task, self.plan = task, MacroDespot(task, budget=budget).plan

class Undecorated:
    pass

class Derived(Foreign):
    pass
"""


@dataclass(frozen=True)
class PatientSettings(PlannerSettings):
    """One setting."""

    patience: int = setting(3, "How long it waits.", at_least=1)


@pytest.fixture
def registered(monkeypatch):
    """What this process knows, forgotten afterwards."""
    monkeypatch.setattr(registry, "_registered", {})


@pytest.fixture
def points(monkeypatch):
    """Entry points of other packages."""
    found = []
    monkeypatch.setattr(registry, "entry_points", lambda **wanted: EntryPoints(found).select(**wanted))

    def add(name, place):
        found.append(EntryPoint(name, place, "magic_pomdp.planners"))

    return add


@pytest.fixture
def folder(registered, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_planner_module", raising=False)  # of an earlier test's folder
    (tmp_path / "own_planner_module.py").write_text(OWN)
    (tmp_path / "own_broken_planners.py").write_text("def oops(:\n")
    return tmp_path


# ------------------------------------------------------------------------------------------------------- what ships


@pytest.mark.jit_off
def test_what_ships_in_the_order_of_tables(registered):
    assert planner_names() == SHIPPED
    assert [planner_label(name) for name in SHIPPED] == ["MAGIC", "Macro-DESPOT", "DESPOT", "POMCPOW"]
    assert DEFAULT_PLANNER in SHIPPED
    for name in SHIPPED:
        entry = find_planner(name)
        assert isinstance(entry, PlannerEntry)
        assert entry.name == name
        assert issubclass(entry.settings, PlannerSettings)


@pytest.fixture
def untrained(tmp_path):
    """A file with an untrained generator for Tiger."""
    task = make("tiger")
    space = task.macro_space(1)
    shape, random = GeneratorShape.for_task(task, space, encoder=4, trunk=(4,)), np.random.default_rng(0)
    arrays = {name: random.normal(size=size) for name, size in shape.layout().items()}
    arrays |= {name: np.ones(size) for name, size in shape.layout().items() if name.endswith(("scale", "spread"))}
    score = Score(return_mean=0.0, return_stderr=0.0, success_rate=0.0, episodes=1, plan_steps=1)
    save_model(
        tmp_path / "untrained.safetensors",
        shape,
        arrays,
        ModelCard(
            task="tiger", task_parameters={}, space=space.describe(), settings={}, command="", seed=0, minutes=0.0,
            updates=0, plans=0, score=score, chosen_by=score,
        ),
    )  # fmt: skip
    return str(tmp_path / "untrained.safetensors")


@pytest.mark.parametrize("name", SHIPPED)
def test_every_entry_builds_a_planner_that_keeps_its_promises(name, request):
    entry, task = find_planner(name), make("tiger")
    changes = {"model": request.getfixturevalue("untrained")} if name == "magic" else {}
    settings = entry.settings.advised(task, **changes)
    planner = entry.build(task, settings, Budget(steps=3_000))
    assert settings.length(task) == 1
    assert planner.budget == Budget(steps=3_000)
    assert isinstance(planner.settings, entry.settings)
    assert check_planner(planner) == []
    plan = planner.plan(np.array([[0.0], [1.0]]), seed=3)
    items = top_of_tree(planner.tree_view())
    assert (items[0].parent, items[0].share, items[0].size) == (-1, 1.0, len(plan.values))
    assert sorted(item.value for item in items if item.parent == 0) == pytest.approx(sorted(plan.values))


@pytest.mark.jit_off
def test_a_planner_that_needs_something_trained_says_so(registered):
    settings = find_planner("magic").settings.advised(make("tiger"))
    with pytest.raises(ValueError, match=r"^No trained generator ships for tiger: make one with .*model\.$"):
        settings.length(make("tiger"))


# ----------------------------------------------------------------------------------------------------- those of others


@pytest.mark.jit_off
def test_a_decorated_class_has_a_name(registered):
    @register_planner("patient", "Patient", PatientSettings)
    class Patient:
        def __init__(self, task, settings, budget):
            self.task, self.settings, self.budget = task, settings, budget

    entry = find_planner("patient")
    assert (entry.name, entry.label, entry.settings) == ("patient", "Patient", PatientSettings)
    assert planner_names() == [*SHIPPED, "patient"]
    assert planner_label("patient") == "Patient"
    built = entry.build(make("tiger"), PatientSettings(patience=5), Budget(steps=7))
    assert isinstance(built, Patient)
    assert (built.settings.patience, built.budget.steps) == (5, 7)


@pytest.mark.jit_off
def test_a_decorated_function_does_as_well_and_needs_neither_label_nor_settings(registered):
    @register_planner("quick")
    def build(task, settings, budget):
        return MacroDespot(task, budget=budget)

    entry = find_planner("quick")
    assert (entry.label, entry.settings) == ("quick", PlannerSettings)
    assert entry.settings.advised(make("tiger")).length(make("tiger")) == 1
    assert entry.build(make("tiger"), entry.settings(), Budget(steps=5)).budget == Budget(steps=5)


@pytest.mark.jit_off
def test_another_package_adds_a_planner_by_an_entry_point(points, folder):
    points("foreign", "own_planner_module:Foreign")
    assert planner_names() == [*SHIPPED, "foreign"]
    assert find_planner("foreign").label == planner_label("foreign") == "Foreign"


@pytest.mark.jit_off
def test_another_package_cannot_replace_what_ships(points, folder):
    points("despot", "own_planner_module:Foreign")
    assert find_planner("despot").label == "DESPOT"
    assert planner_names() == SHIPPED


@pytest.mark.jit_off
def test_a_planner_is_found_by_module_and_by_file(folder):
    entry = find_planner("own_planner_module:Foreign")
    assert (entry.name, entry.label) == ("foreign", "Foreign")
    assert find_planner("own_planner_module.py:Foreign") is entry
    assert find_planner(f"{folder}/own_planner_module.py:Foreign") is entry
    assert find_planner("foreign") is entry  # once its module is imported, the name will do


@pytest.mark.jit_off
def test_a_label_never_imports_what_a_name_tells(folder):
    """Names also come from files of results, which nobody need trust."""
    assert planner_label("own_planner_module:Foreign") == "own_planner_module:Foreign"
    assert planner_label("long-forgotten") == "long-forgotten"
    assert "own_planner_module" not in sys.modules


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("despott", r"There is no planner 'despott' \(did you mean 'despot'\?\); there are magic, macro-despot, "),
        ("zzz", r"There is no planner 'zzz'; there are .*, and one of your own is written my_module:MyPlanner"),
        ("no_such_module_anywhere:Planner", "There is no module 'no_such_module_anywhere'"),
        ("no_such_file.py:Planner", "There is no file"),
        ("own_planner_module:Foreing", r"own_planner_module has no planner 'Foreing' \(did you mean 'Foreign'\?\)"),
        ("own_planner_module:Undecorated", "is not a planner: decorate it with magic_pomdp.planners.register_planner"),
        ("own_planner_module:Derived", "Derived is not a planner: decorate it with"),
        ("own_broken_planners:Foreign", "own_broken_planners cannot be imported: SyntaxError"),
        ("broken", "own_broken_planners cannot be imported: SyntaxError"),
        ("plain", "plain is not a planner: decorate it"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(points, folder, name, message):
    points("broken", "own_broken_planners:Foreign")
    points("plain", "own_planner_module:Undecorated")
    with pytest.raises(ValueError, match=message):
        find_planner(name)


@pytest.mark.jit_off
@pytest.mark.parametrize("name", ["", "mine/yours", "my planner", "-mine", ".."])
def test_a_name_that_no_file_can_have_is_refused(registered, name):
    with pytest.raises(ValueError, match=r"^A planner cannot be called"):
        register_planner(name)(MacroDespot)
    assert planner_names() == SHIPPED


def test_a_name_is_given_once(registered):
    class First:
        pass

    class Second:
        pass

    with pytest.raises(ValueError, match="There is a planner 'despot' already"):
        register_planner("despot")(First)
    register_planner("taken")(First)
    register_planner("taken")(First)  # a module that is imported again
    with pytest.raises(ValueError, match="There is a planner 'taken' already"):
        register_planner("taken")(Second)
