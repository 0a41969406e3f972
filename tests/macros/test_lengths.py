import numpy as np
import pytest

import magic_pomdp as mp
from magic_pomdp.macros import BezierSpace, HeldActionSpace, LearnedLengths
from magic_pomdp.planners import MacroDespotSettings

HELD = HeldActionSpace(4, (0.0,), (1.0,), ((0.2,), (0.8,)), extra=(((0.5,), (0.6,)),))


def test_learning_sets_out_from_the_handcrafted_macro_actions_of_all_lengths():
    task = mp.make("light-dark")
    space = LearnedLengths(task.macro_space(16), (16, 6, 2))
    learned, made = space.decode(space.start), MacroDespotSettings.advised(task).handcrafted(task)
    assert MacroDespotSettings.advised(task).lengths == (16, 6, 2)
    assert sorted(learned.lengths) == sorted(made.lengths)
    for actions, length in zip(made.actions, made.lengths, strict=True):
        alike = [
            np.allclose(actions[:length], other[:length])
            for other, its in zip(learned.actions, learned.lengths, strict=True)
            if its == length
        ]
        assert any(alike)


def test_the_last_parameter_is_the_length():
    space = LearnedLengths(BezierSpace(8, 2), (8,))
    for number, length in ((-1.0, 1), (-3.0, 1), (0.0, 3), (1.0, 8), (2.0, 8)):
        parameters = space.start.copy()
        parameters[1, -1] = number
        made = space.decode(parameters)
        assert made.lengths.tolist() == [8, length]
        np.testing.assert_array_equal(made.actions[1], space.decode(space.start).actions[1])


def test_every_length_is_found_again():
    space = LearnedLengths(BezierSpace(60, 1), tuple(range(1, 61)))
    assert space.decode(space.start).lengths.tolist() == list(range(1, 61))


def test_what_is_always_there_stays_as_it_is_and_last():
    space = LearnedLengths(HELD, (4, 1))
    made = space.decode(space.start)
    assert (space.count, space.size, space.kind) == (4, 2, "box")
    assert made.lengths.tolist() == [4, 4, 1, 1, 2]
    np.testing.assert_array_equal(made.actions[-1, :2], [[0.5], [0.6]])
    first_only = LearnedLengths(HeldActionSpace(4, (0.0,), (1.0,), ((0.2,),), HELD.extra, first_only=True), (4, 1))
    assert first_only.decode(first_only.start).first_only == 2


def test_a_single_action_has_one_length():
    space = LearnedLengths(BezierSpace(1, 2), (1,))
    assert space.decode(space.start).lengths.tolist() == [1, 1]


def test_bad_lengths_are_refused():
    with pytest.raises(ValueError, match="length 9 is longer than the longest, 8"):
        LearnedLengths(BezierSpace(8), (9,))
    with pytest.raises(ValueError, match="at least one length"):
        LearnedLengths(BezierSpace(8), ())
    with pytest.raises(ValueError, match=r"shape \(8, 7\), not \(8, 6\)"):
        LearnedLengths(BezierSpace(8), (8,)).decode(BezierSpace(8).start)


@pytest.mark.parametrize("shorter", ["6;2", "0", "-1", "a", "", "2.5"])
def test_bad_shorter_lengths_are_refused(shorter):
    with pytest.raises(ValueError, match="none or some lengths, such as 6,2"):
        MacroDespotSettings(macro_length=8, shorter=shorter)


def test_lengths_that_are_not_shorter_are_left_out():
    assert MacroDespotSettings(macro_length=4, shorter="6,4,2,2").lengths == (4, 2)
    assert MacroDespotSettings(macro_length=4).lengths == (4,)


def test_a_union_has_everything_once():
    task = mp.make("light-dark")
    union = mp.MacroActions.union([task.macro_actions(3), task.macro_actions(2), task.macro_actions(3)])
    assert union.lengths.tolist() == [3] * 8 + [1] + [2] * 8


def test_of_a_large_set_the_rollouts_try_the_first_and_the_last():
    from magic_pomdp.planners.default_policy import GREEDY_CANDIDATES, make_choices

    task = mp.make("light-dark")
    union = mp.MacroActions.union([task.macro_actions(length) for length in range(1, 8)])
    tried = np.sort(make_choices(task, union).candidates.macros)
    assert len(np.unique(tried)) == GREEDY_CANDIDATES
    assert (tried[0], tried[-1]) == (0, len(union) - 1)
