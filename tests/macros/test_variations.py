"""Variations of macro-actions, made in the space that the macro-actions come from."""

import numpy as np
import pytest

import magic_pomdp as mp
from magic_pomdp.macros import BezierSpace
from magic_pomdp.macros.variations import Variations
from magic_pomdp.planners import MacroDespotSettings

pytestmark = pytest.mark.jit_off


@pytest.mark.parametrize(("name", "length", "fixed"), [("light-dark", 6, 1), ("puck-push", 2, 0)])
def test_a_handcrafted_set_is_varied_where_learning_would_set_out_from_it(name, length, fixed):
    task = mp.make(name)
    macro_actions = task.macro_actions(length)
    variations = Variations.of_set(task, macro_actions)
    assert (variations.rows < 0).sum() == fixed  # a stop stays a stop
    able = np.flatnonzero(variations.rows >= 0)
    same = variations.around(able, np.zeros((len(able), variations.space.size)))
    np.testing.assert_allclose(same.actions, macro_actions.actions[able], atol=1e-9)
    assert same.lengths.tolist() == macro_actions.lengths[able].tolist()


def test_macro_actions_of_several_lengths_keep_their_own():
    task = mp.make("light-dark")
    macro_actions = MacroDespotSettings.advised(task).handcrafted(task)
    variations = Variations.of_set(task, macro_actions)
    able = np.flatnonzero(variations.rows >= 0)
    assert set(macro_actions.lengths[able]) == {16, 6, 2}
    same = variations.around(able, np.zeros((len(able), variations.space.size)))
    assert same.lengths.tolist() == macro_actions.lengths[able].tolist()


def test_what_does_not_come_from_the_space_stays_as_it_is():
    task = mp.make("puck-push")
    zigzag = mp.MacroActions(np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.array([2]))
    assert Variations.of_set(task, zigzag).rows.tolist() == [-1]


def test_noise_turns_a_macro_action_a_little():
    space = BezierSpace(2, 3, extra=(((0.0, 0.0),),))
    variations = Variations.of_parameters(space, space.start, space.decode(space.start))
    assert variations.rows.tolist() == [0, 1, 2, -1]
    noise = 0.1 * np.random.default_rng(0).normal(size=(7, space.size))
    varied = variations.around(np.array([1] * 7), noise)
    assert len(varied) == 7
    straight = space.decode(space.start).actions[1]
    off = np.linalg.norm(varied.actions - straight, axis=2)
    assert 0.0 < off.min() < off.max() < 0.5
