"""What a training finds out by itself."""

import dataclasses
import re
from dataclasses import replace

import pytest
from toy import Target

import magic_pomdp as mp
from magic_pomdp.cli.learning import _too_short, _verdict
from magic_pomdp.learning import TrainSettings, finding
from magic_pomdp.learning.finding import settle, try_lengths
from magic_pomdp.learning.trainer import Trained
from magic_pomdp.macros.lengths import space_of_lengths
from magic_pomdp.planners import MacroDespotSettings
from magic_pomdp.planners.refining import ENOUGH
from magic_pomdp.running.world import SimulatedWorld


class Unadvised(Target):
    """Nobody says how long macro-actions should be."""

    advice = (MacroDespotSettings(search_depth=4),)


def silent(sentence):
    """Nobody listens."""


def test_the_better_lengths_come_first(monkeypatch):
    monkeypatch.setattr(finding, "_ROUNDS", ((4, 1), (2, 1)))
    settings = TrainSettings(plan_steps=20_000, workers=1)
    best, other = try_lengths(mp.make("light-dark"), settings, [(8,), (16, 6, 2)])
    assert (best.lengths, other.lengths) == ((16, 6, 2), (8,))
    assert (len(best.returns), len(other.returns)) == (6, 4)
    assert str(best).startswith("16,6,2: 9")


def test_where_time_is_short_every_set_is_tried_once_at_least(monkeypatch):
    settings = TrainSettings(plan_steps=10, minutes=1e-9, workers=1)
    tried = try_lengths(Unadvised(), settings, [(1,), (2,)])
    assert all(one.returns for one in tried)
    assert sum(len(one.returns) for one in tried) < 8


def test_lengths_are_looked_for_only_where_none_are_advised(monkeypatch, tmp_path):
    asked = []

    def pretend(task, settings, candidates):
        asked.append(candidates)
        return [finding.Tried((4, 2, 1), (1.0, 2.0))]

    monkeypatch.setattr(finding, "try_lengths", pretend)
    said = []
    settled = settle(Unadvised(), TrainSettings(plan_steps=10), tmp_path, False, said.append)
    assert (settled.handcrafted, settled.lengths) == ("4,2,1", "2")
    assert asked == [[(1,), (2,), (4,), (2, 1), (4, 1), (4, 2, 1)]]  # not longer than the search looks
    assert said[1:] == [
        "  4,2,1: 1.5 ± 0.5 (2 episodes)",
        "There was no time to try them in more episodes: --handcrafted names a set that you know to be better.",
        "The set of lengths 4,2,1 returned most: it is the set to beat.",
    ]
    for task, settings, handcrafted, lengths in (
        (mp.make("light-dark"), TrainSettings(plan_steps=10), "16,6,2", "6"),
        (mp.make("light-dark"), TrainSettings(plan_steps=10, macro_length=4), "16,6,2", "2"),
        (mp.make("light-dark"), TrainSettings(plan_steps=10, macro_length=1), "16,6,2", "1"),
        (Unadvised(), TrainSettings(plan_steps=10, macro_length=4), "4", "4"),
        (Unadvised(), TrainSettings(workers=0, minutes=None, updates=5), "1", "1"),
        (Unadvised(), TrainSettings(plan_steps=10, handcrafted="1,3", lengths="3,1"), "1,3", "3,1"),
    ):
        settled = settle(task, settings, tmp_path, False, silent)
        assert (settled.handcrafted, settled.lengths) == (handcrafted, lengths)
    assert len(asked) == 1


def test_the_budget_follows_from_the_time_of_a_plan(tmp_path):
    settled = settle(Target(), TrainSettings(lengths="1"), tmp_path, False, silent)
    assert settled.plan_steps >= 1
    assert settled.evaluation_budget == 4 * settled.training_budget == 4 * settled.plan_steps
    asked = settle(Target(), TrainSettings(lengths="1", plan_steps=30), tmp_path, False, silent)
    assert asked.evaluation_budget == asked.training_budget == 30


def test_a_budget_in_which_a_search_would_know_nothing_is_raised(tmp_path, monkeypatch):
    """Of a ten-thousandth of the time, a search of Light-Dark could not even try its macro-actions."""
    monkeypatch.setattr(finding, "_SHARE", 1e-4)
    task = mp.make("light-dark")
    settled = settle(task, TrainSettings(), tmp_path, False, silent)
    context = SimulatedWorld(task).begin(0, 0).context
    space = space_of_lengths(task, settled.length_in(task), settled.lengths_in(task))
    planner = mp.MacroDespot(task, space.decode(space.start), budget=mp.Budget(steps=settled.plan_steps))
    assert planner.plan(mp.Belief.initial(task, context)).nodes >= ENOUGH


def test_one_episode_has_no_error():
    assert str(finding.Tried((4, 1), (9.0,))) == "4,1: 9.0 ± unknown (1 episode)"


@pytest.mark.parametrize("lengths", ["", "0", "3,", "a", "3;1", "-1", "99999"])
def test_bad_lengths_are_refused(lengths):
    with pytest.raises(ValueError, match="some lengths, such as 16,6,2"):
        TrainSettings(lengths=lengths)
    with pytest.raises(ValueError, match="setting handcrafted is some lengths"):
        TrainSettings(handcrafted=lengths)


def test_what_sets_out_short_may_become_longer():
    settings = TrainSettings(handcrafted="2,1", lengths="2,1")
    task = mp.make("light-dark")
    assert (settings.length_in(task), settings.lengths_in(task)) == (4, (2, 1))
    fixed = dataclasses.replace(settings, learn_lengths=False)
    assert (fixed.length_in(task), fixed.lengths_in(task)) == (2, ())


@pytest.mark.parametrize(
    ("lead", "word"),
    [
        (5.0, r"is better than the set to beat \(handcrafted, lengths 16, 6\), by 5.0 ± 1.0"),
        (1.0, "not clearly better"),
        (-1.0, "not clearly"),
        (-5.0, r"WORSE than .*, by 5.0 ± 1.0, episode by episode. Few updates made it: go on with --resume"),
    ],
)
def test_the_verdict(lead, word):
    assert re.search(word, _verdict(lead, 1.0, 100, (16, 6)))


def test_a_training_that_was_too_short_says_by_how_much():
    trained = Trained(None, None, (), updates=0, plans=200, warmup=2000, minutes=2.0, stopped_by="minutes")
    assert "after 200 of 2,000 warm-up plans" in _too_short(trained)
    assert "takes 18 minutes more. Give --resume and more --minutes, or begin anew" in _too_short(trained)
    assert "takes some minutes more" in _too_short(replace(trained, plans=0))


def test_a_starting_set_that_nothing_beat_is_called_that():
    assert "It is still the starting set: go on" in _verdict(1.0, 1.0, 0, (6,))
    assert "Train for longer, or plan" in _verdict(1.0, 1.0, 20_000, (6,))


def test_an_interrupted_training_ends_as_other_commands_do(run, monkeypatch):
    trained = Trained(None, None, (), updates=7, plans=9, warmup=5, minutes=1.0, stopped_by="interrupt")
    monkeypatch.setattr("magic_pomdp.learning.training.train", lambda *_: trained)
    code, _, said = run("train", "tiger")
    assert code == 130
    assert "Interrupted after 7 updates; the same command with --resume goes on." in said
