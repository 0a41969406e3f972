"""What a training finds out by itself."""

import dataclasses

import pytest
from toy import Target

import magic_pomdp as mp
from magic_pomdp.cli.learning import _verdict
from magic_pomdp.learning import TrainSettings, finding
from magic_pomdp.learning.finding import settle, try_lengths
from magic_pomdp.planners import MacroDespotSettings


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
    assert said[-2:] == [
        "The set of lengths 4,2,1 returned most: learning is compared with it.",
        "Learning sets out from handcrafted macro-actions of length 2.",
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
    assert settled.evaluation_budget == settled.training_budget == settled.plan_steps


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
    ("lead", "word"), [(5.0, "is better than"), (1.0, "not clearly better"), (-1.0, "not clearly"), (-5.0, "WORSE")]
)
def test_the_verdict(lead, word):
    assert word in _verdict(lead, 1.0)
