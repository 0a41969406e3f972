"""Settings: declared once, checked whenever they are made, and advised by tasks."""

import dataclasses
import math
import re
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pytest

from magic_pomdp import make
from magic_pomdp.core.settings import Range, Settings, default_of, setting, setting_kinds, settings_of
from magic_pomdp.magic import MagicSettings
from magic_pomdp.planners import DespotSettings, MacroDespotSettings, PlannerSettings, PomcpowSettings, find_planner
from magic_pomdp.tasks import BeliefSettings
from magic_pomdp.tasks.tiger import Tiger

pytestmark = pytest.mark.jit_off


@dataclass(frozen=True)
class Oven(Settings):
    """One of every kind."""

    heat: float = setting(200.0, "In degrees.", short="heat", at_least=50.0, at_most=250.0, tuned=Range(100.0, 220.0))
    loaves: int = setting(1, "How many at once.", at_least=1)
    draught: float = setting(0.5, "Of the flue.", above=0.0, at_most=1.0)
    salt: float = setting(2.0, "In grams.", above=0.0)
    offset: float = setting(0.0, "Of the clock.")
    timer: float | None = setting(None, "In minutes.", at_least=0.0, default_words="until it smells")
    rack: Literal["top", "bottom"] = setting("top", "Where.")
    flour: Literal["rye", "wheat"] | None = setting(None, "Which.")
    steam: bool = setting(False, "Whether.")
    note: str = setting("", "For the baker.")


@dataclass(frozen=True)
class StoneOven(Oven):
    """A relative of the oven."""

    heat: float = setting(300.0, "In degrees.", at_most=400.0)
    stones: int = setting(2, "On the floor.", at_least=0)


@dataclass(frozen=True)
class GasOven(Oven):
    """Another one."""

    flames: int = setting(4, "Under it.", at_least=1)


@dataclass(frozen=True)
class Fridge(Settings):
    """No relative: it shares a name, but no declaration."""

    heat: float = setting(5.0, "In degrees.")


def advising(*advice):
    """A task that gives this advice."""

    class Advising(Tiger):
        pass

    Advising.advice = advice
    return Advising()


# ------------------------------------------------------------------------------------------------------ declarations


def test_a_declaration_tells_everything_of_a_setting():
    heat = settings_of(Oven)["heat"]
    assert (heat.help, heat.short, heat.at_least, heat.at_most) == ("In degrees.", "heat", 50.0, 250.0)
    assert heat.tuned == Range(100.0, 220.0, logarithmic=False)
    assert settings_of(Oven)["timer"].default_words == "until it smells"
    assert list(settings_of(Oven)) == [field.name for field in dataclasses.fields(Oven)]
    assert (default_of(Oven, "heat"), default_of(Oven, "timer"), default_of(Oven, "rack")) == (200.0, None, "top")
    assert (setting_kinds(Oven)["loaves"], setting_kinds(Oven)["timer"]) == (int, float | None)


def test_a_class_may_declare_anew_what_it_inherits():
    assert next(iter(settings_of(StoneOven))) == "heat"
    assert (default_of(StoneOven, "heat"), default_of(Oven, "heat")) == (300.0, 200.0)
    assert StoneOven(heat=350.0).heat == 350.0
    assert settings_of(StoneOven)["loaves"] is settings_of(Oven)["loaves"]


def test_values_are_told_by_name():
    values = Oven(loaves=3).values()
    assert list(values) == list(settings_of(Oven))
    assert (values["loaves"], values["heat"], values["timer"]) == (3, 200.0, None)
    assert Oven(**values) == Oven(loaves=3)


def test_settings_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Oven().loaves = 2


@pytest.mark.parametrize("planner", ["magic", "macro-despot", "despot", "pomcpow"])
def test_what_ships_declares_settings_that_hold(planner):
    """Every default is within its own limits, and so is all that a search for better settings may try."""
    kind = find_planner(planner).settings
    kind()
    assert issubclass(kind, PlannerSettings)
    for name, declared in settings_of(kind).items():
        assert declared.help.endswith("."), name
        for value in (declared.tuned.low, declared.tuned.high) if declared.tuned else ():
            kind(**{name: int(value) if setting_kinds(kind)[name] is int else value})


# ------------------------------------------------------------------------------------------------------------ checks


@pytest.mark.parametrize(
    "values",
    [
        {"heat": 50.0},
        {"heat": 250},
        {"heat": np.float32(60.0)},
        {"loaves": np.int64(4)},
        {"draught": 1.0},
        {"draught": 1e-9},
        {"offset": -1e9},
        {"timer": 0.0},
        {"timer": None},
        {"rack": "bottom"},
        {"flour": "rye"},
        {"flour": None},
        {"steam": True},
        {"note": "well done"},
    ],
)
def test_what_makes_sense_is_accepted(values):
    assert Oven(**values).values().items() >= values.items()


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"heat": 49.9}, "The setting heat must lie in [50, 250], not 49.9."),
        ({"heat": 1e9}, "The setting heat must lie in [50, 250], not 1000000000.0."),
        ({"heat": math.nan}, "The setting heat must lie in [50, 250], not nan."),
        ({"heat": "hot"}, "The setting heat must be a number, not 'hot'."),
        ({"heat": True}, "The setting heat must be a number, not True."),
        ({"heat": None}, "The setting heat must be a number, not None."),
        ({"loaves": 0}, "The setting loaves must be a finite number of at least 1, not 0."),
        ({"loaves": 1.5}, "The setting loaves must be a whole number, not 1.5."),
        ({"loaves": 2.0}, "The setting loaves must be a whole number, not 2.0."),
        ({"loaves": False}, "The setting loaves must be a whole number, not False."),
        ({"draught": 0.0}, "The setting draught must lie in (0, 1], not 0.0."),
        ({"salt": 0.0}, "The setting salt must be a finite number above 0, not 0.0."),
        ({"salt": math.inf}, "The setting salt must be a finite number above 0, not inf."),
        ({"offset": math.nan}, "The setting offset must be a finite number, not nan."),
        ({"timer": -1.0}, "The setting timer must be a finite number of at least 0, not -1.0."),
        ({"timer": "soon"}, "The setting timer must be a number, not 'soon'."),
        ({"rack": "middle"}, "The setting rack is one of top, bottom: 'middle'."),
        ({"rack": None}, "The setting rack is one of top, bottom: None."),
        ({"flour": 3}, "The setting flour is one of rye, wheat: 3."),
        ({"steam": 1}, "The setting steam cannot be 1."),
        ({"note": None}, "The setting note cannot be None."),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(values, sentence):
    for make_oven in (Oven, partial(Oven.advised, advising()), partial(dataclasses.replace, Oven())):
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            make_oven(**values)


# ------------------------------------------------------------------------------------------------------------ advice


def test_without_advice_the_defaults_count():
    for task in (advising(), advising(Fridge(heat=3.0)), advising(BeliefSettings(particles=3))):
        assert Oven.advised(task) == Oven()
        assert Oven.advised(task, loaves=4) == Oven(loaves=4)


def test_a_tasks_own_advice_counts_and_may_be_changed():
    task = advising(Fridge(heat=3.0), Oven(heat=180.0, loaves=7))
    assert Oven.advised(task) == Oven(heat=180.0, loaves=7)
    assert Oven.advised(task, loaves=1) == Oven(heat=180.0, loaves=1)
    assert Fridge.advised(task) == Fridge(heat=3.0)


def test_the_advice_for_a_relative_counts_for_all_that_both_have():
    task = advising(StoneOven(heat=220.0, loaves=7, stones=5))
    assert Oven.advised(task) == Oven(heat=220.0, loaves=7)
    assert GasOven.advised(task) == GasOven(heat=220.0, loaves=7)  # they have the oven in common
    assert GasOven.advised(task, flames=2, heat=60.0) == GasOven(heat=60.0, loaves=7, flames=2)
    assert Fridge.advised(task) == Fridge()  # which only happens to have a setting of the same name


def test_ones_own_advice_goes_before_that_for_a_relative():
    task = advising(StoneOven(heat=220.0, loaves=7), GasOven(loaves=2))
    assert GasOven.advised(task) == GasOven(loaves=2)
    assert Oven.advised(task) == Oven(heat=220.0, loaves=7)  # of relatives, the first


def test_a_change_of_what_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"^There is no setting stones here: there are heat, loaves, .*, note\.$"):
        Oven.advised(advising(StoneOven()), stones=3)


def test_what_the_shipped_tasks_advise():
    light_dark, puck_push = make("light-dark"), make("puck-push")
    advised = MacroDespotSettings(scenarios=6, macro_length=16, shorter="6,2", discount=0.99)
    assert MacroDespotSettings.advised(light_dark, scenarios=6) == advised
    assert DespotSettings.advised(light_dark) == DespotSettings(scenarios=20, discount=0.99)
    assert MagicSettings.advised(light_dark) == MagicSettings(scenarios=50, discount=0.99)
    assert MagicSettings.advised(puck_push) == MagicSettings(scenarios=30, search_depth=20, refine=0.4)
    assert PomcpowSettings.advised(puck_push) == PomcpowSettings(100.0, 12.5, 0.1, 7.5, 0.075, search_depth=20)
    assert BeliefSettings.advised(light_dark) == BeliefSettings(particles=10_000)
    assert BeliefSettings.advised(make("tiger")) == BeliefSettings(particles=1000)
    assert (MacroDespotSettings.advised(light_dark).length(light_dark), DespotSettings().length(light_dark)) == (16, 1)
