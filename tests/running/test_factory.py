"""Planners to order."""

import pickle
from dataclasses import dataclass

import pytest

from magic_pomdp import Budget, MacroDespot, make
from magic_pomdp.planners import (
    CannotPlan,
    DespotSettings,
    MacroDespotSettings,
    PlannerSettings,
    Pomcpow,
    PomcpowSettings,
    register_planner,
    registry,
    setting,
)
from magic_pomdp.running import PlannerFactory, able_planners

pytestmark = pytest.mark.jit_off


def test_a_name_is_enough():
    task = make("light-dark")
    planner = PlannerFactory("pomcpow")(task)
    assert isinstance(planner, Pomcpow)
    assert planner.settings == PomcpowSettings.advised(task)
    factory = PlannerFactory()
    assert (factory.name, factory.label) == ("macro-despot", "Macro-DESPOT")
    assert factory(task).settings.values().items() >= {"scenarios": 20, "macro_length": 16, "shorter": "6,2"}.items()


def test_the_budget_is_the_tasks_unless_told():
    task = make("light-dark")
    for factory, length in ((PlannerFactory(), 16), (PlannerFactory(overrides={"macro_length": 3}), 3)):
        assert factory.length_in(task) == length
        assert factory.budget_for(task) == factory(task).budget == Budget(seconds=task.plan_seconds(length))
    assert PlannerFactory("despot", Budget(steps=9))(task).budget == Budget(steps=9)


def test_overrides_go_before_the_tasks_advice():
    task = make("puck-push")
    factory = PlannerFactory("macro-despot", overrides={"scenarios": 7, "macro_length": 3})
    assert factory.settings_for(task) == MacroDespotSettings(scenarios=7, search_depth=20, macro_length=3, refine=0.4)
    planner = factory(task)
    assert isinstance(planner, MacroDespot)
    assert (planner.settings.scenarios, planner.macro_actions.lengths.max()) == (7, 3)
    despot = PlannerFactory("despot", overrides={"scenarios": 7})
    assert despot.settings_for(task) == DespotSettings(scenarios=7, search_depth=20)
    assert despot(task).macro_actions.lengths.max() == 1


def test_it_can_be_sent_elsewhere_and_compared():
    factory = PlannerFactory("despot", Budget(steps=5), {"scenarios": 7})
    assert pickle.loads(pickle.dumps(factory)) == factory == PlannerFactory("despot", Budget(steps=5), {"scenarios": 7})
    assert factory != PlannerFactory("despot", Budget(steps=5))


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: PlannerFactory("despott"), r"^There is no planner 'despott' \(did you mean 'despot'\?\)"),
        (
            lambda: PlannerFactory("despot", overrides={"macro_length": 3}),
            r"^The setting macro_length does not belong to despot, which has scenarios, .*, tree_nodes\.$",
        ),
        (
            lambda: PlannerFactory(overrides={"macro_length": 0}),
            "macro_length must lie in",
        ),
        (lambda: PlannerFactory(overrides={"xi": 2.0}), r"xi must lie in \(0, 1\], not 2\.0"),
        (lambda: PlannerFactory("magic").budget_for(make("tiger")), "No trained generator ships for tiger"),
        (lambda: PlannerFactory(overrides={"default_policy": "guided"})(make("tiger")), "tiger has no guide"),
    ],
)
def test_bad_orders_are_refused(attempt, message):
    with pytest.raises(ValueError, match=message):
        attempt()


@dataclass(frozen=True)
class PickySettings(PlannerSettings):
    """Of a planner that plans in one task alone."""

    mood: float = setting(1.0, "Its mood.", at_least=0.0)

    def length(self, task):
        if task.name != "light-dark":
            raise CannotPlan("It plans in the dark alone.")
        return 2


def test_who_can_plan_in_a_task(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    register_planner("picky", settings=PickySettings)(MacroDespot)
    assert able_planners(make("tiger")) == ("macro-despot", "despot", "pomcpow")
    assert able_planners(make("light-dark"))[-1] == "picky"
    assert PlannerFactory("picky", overrides={"mood": 0.5}).settings_for(make("light-dark")).values() == {"mood": 0.5}
