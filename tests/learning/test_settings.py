import pytest
from test_trainer import TINY, settings
from toy import Target

import magic_pomdp as mp
from magic_pomdp.cli.learning import models
from magic_pomdp.learning import TrainSettings
from magic_pomdp.learning.question import command_today, train_command
from magic_pomdp.learning.settings import CHANGEABLE
from magic_pomdp.magic.model import load_model, shipped_models
from magic_pomdp.planners import MacroDespotSettings


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"batch": 0}, r"batch must lie in \[1, 100000\], not 0"),
        ({"macro_length": 0}, r"macro_length must lie in \[1, 10000\], not 0"),
        ({"seed": -1}, "seed must be a finite number of at least 0"),
        ({"workers": -1}, r"workers must lie in \[0, 1000\]"),
        ({"updates_per_plan": 0.0}, "updates_per_plan must be a finite number above 0"),
        ({"critic_rate": float("nan")}, "critic_rate must be a finite number above 0, not nan"),
        ({"std": 0.5}, "std must lie between std_min"),
        ({"warmup": 10**6}, "does not fit into a replay"),
        ({"critic": "best"}, "critic is one of set, flat: 'best'"),
        ({"conditioning": "all"}, "conditioning is one of belief"),
        ({"updates": None}, "needs an end"),
        ({"seed": 2**64}, r"The seed must be below 2\^64, not 18446744073709551616\."),
        ({"batch": 10**400}, "batch must lie in"),
        ({"minutes": 10**400}, "minutes must be a finite number above 0"),
        ({"particles": 10**5}, "particles must lie in"),
        ({"generator_width": 10**9}, "generator_width must lie in"),
    ],
)
def test_bad_settings_are_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        settings(**change)


def test_the_length_is_set_or_advised():
    class Long(Target):
        name = "long"
        advice = (MacroDespotSettings(macro_length=7),)

    assert TINY.length_in(Long()) == 7
    assert settings(macro_length=3).length_in(Long()) == 3
    assert TINY.length_in(Target()) == 1


def test_what_a_resumed_training_may_set_anew():
    assert {
        "minutes", "updates", "patience", "workers", "evaluate_minutes", "evaluate_updates", "evaluation_episodes",
        "evaluation_steps", "checkpoint_minutes", "keep",
    } == CHANGEABLE  # fmt: skip
    assert settings(updates=7, keep=1, evaluation_steps=5).differences(TINY.values()) == []
    assert settings(batch=7, updates=7, seed=2).differences(TINY.values()) == ["batch", "seed"]


def test_what_commands_call_a_task():
    assert train_command(mp.make("light-dark"), TrainSettings()) == "magic-pomdp train light-dark"
    assert train_command(Target(), TrainSettings(), "my.py:Target") == "magic-pomdp train my.py:Target"
    assert train_command(Target(), TrainSettings()) == "magic-pomdp train toy:Target"


def test_models_that_ship_tell_how_to_train_the_same_today(capsys):
    assert models() == 0
    shown = capsys.readouterr().out
    for path in shipped_models():
        card, today = load_model(path).card, command_today(load_model(path).card)
        assert f"    {card.command}\n" in shown  # in one piece
        assert today.startswith(f"magic-pomdp train {card.task} ")
        assert f"--macro-length {card.space['length']} " in today
        assert f"    {today}\n" in shown
        assert f"--plan-steps {card.settings['plan_steps']}" in today
