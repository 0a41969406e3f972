from typing import ClassVar

import numpy as np
import pytest

from magic_pomdp import make
from magic_pomdp.macros import BezierSpace, HeldActionSpace, LearnedLengths, ListedActionSpace, TurnAndGoSpace
from magic_pomdp.macros.spaces import spread_out
from magic_pomdp.macros.variations import Variations
from magic_pomdp.tasks.tiger import Tiger


@pytest.mark.parametrize(("name", "length"), [("light-dark", 6), ("puck-push", 2), ("tiger", 3), ("light-dark-1d", 2)])
def test_learning_sets_out_from_the_handcrafted_macro_actions(name, length):
    task = make(name)
    space, handcrafted = task.macro_space(length), task.macro_actions(length)
    assert space.start.shape == (space.count, space.size)
    decoded = space.decode(space.start)
    np.testing.assert_array_equal(decoded.lengths, handcrafted.lengths)
    np.testing.assert_allclose(decoded.actions, handcrafted.actions, atol=1e-12)


@pytest.mark.parametrize("name", ["tiger", "rock-sample", "tag", "laser-tag", "light-dark-1d", "sub-hunt"])
def test_discrete_tasks_learn_over_their_real_actions_alone(name):
    task, rng = make(name), np.random.default_rng(0)
    real = {tuple(action) for action in task.actions()}
    for space in (task.macro_space(3), LearnedLengths(task.macro_space(3), (3, 1))):
        for spread in (0.1, 1.0, 3.0):
            decoded = space.decode(rng.normal(0.0, spread, (space.count, space.size)))
            for sequence, length in zip(decoded.actions, decoded.lengths, strict=True):
                assert {tuple(action) for action in sequence[:length]} <= real
    assert task.macro_space(3).describe()["actions"] == task.actions().ravel().tolist()


@pytest.mark.parametrize("kind", ["box", "sphere", "sphere and length"])
def test_parameters_may_begin_anywhere(kind):
    drawn = spread_out(np.random.default_rng(0).normal(size=(3000, 4)), kind)
    np.testing.assert_allclose(drawn.mean(axis=0), 0.0, atol=0.05)
    box = {"box": 0, "sphere": 4, "sphere and length": 3}[kind]
    np.testing.assert_allclose(np.linalg.norm(drawn[:, :box], axis=1), float(box > 0))
    for number in drawn[:, box:].T:
        np.testing.assert_allclose(np.histogram(number, 4, (-1.0, 1.0))[0] / 3000, 0.25, atol=0.03)


def test_variations_of_discrete_actions_are_real_actions():
    task = make("tiger")
    macro_actions = task.macro_actions(2)
    varied = Variations.of_set(task, macro_actions).around(
        np.arange(3), np.random.default_rng(0).normal(0.0, 0.5, (3, 6))
    )
    assert set(varied.actions.ravel()) <= {0.0, 1.0, 2.0}
    assert not np.array_equal(varied.actions, macro_actions.actions)


def test_a_sequence_takes_the_action_with_the_largest_parameter():
    space = ListedActionSpace.of_actions(np.array([[5.0, 1.0], [7.0, 2.0]]), 3)
    decoded = space.decode([[0.1, 0.0, 0.0, 0.1, -1.0, -0.9], [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]])
    assert decoded.actions[0].tolist() == [[5.0, 1.0], [7.0, 2.0], [7.0, 2.0]]
    assert decoded.actions[1].tolist() == [[5.0, 1.0]] * 3
    assert decoded.lengths.tolist() == [3, 3]


def test_curves_lie_on_the_sphere_and_actions_in_their_range():
    np.testing.assert_allclose(np.linalg.norm(BezierSpace(4, 5).start, axis=1), 1.0)
    space = HeldActionSpace.of_actions(np.array([[0.0, 5.0], [2.0, 5.0], [1.0, 5.0]]), 3)
    np.testing.assert_allclose(space.start, [[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    decoded = space.decode([[-1.0, 1.0], [0.5, 0.0], [9.0, 0.0]])  # beyond the range is at its edge
    np.testing.assert_allclose(decoded.actions[:, 0], [[0.0, 5.0], [1.5, 5.0], [2.0, 5.0]])
    assert decoded.lengths.tolist() == [3, 3, 3]


def test_extra_macro_actions_may_be_longer():
    space = BezierSpace(2, 3, extra=(((0.0, 0.0),), ((1.0, 0.0),) * 4))
    decoded = space.decode(space.start)
    assert decoded.lengths.tolist() == [2, 2, 2, 1, 4]
    np.testing.assert_array_equal(decoded.actions[4], [[1.0, 0.0]] * 4)


def test_bad_spaces_are_refused():
    with pytest.raises(ValueError, match="at least length 1, not 0"):
        BezierSpace(0)
    with pytest.raises(ValueError, match="at least one curve, not 0"):
        BezierSpace(2, 0)
    with pytest.raises(ValueError, match="at least one action"):
        ListedActionSpace(2, ())
    with pytest.raises(ValueError, match=r"have shape \(1, 2\), not \(2, 2\)"):
        ListedActionSpace(2, ((0.0,),)).decode(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="wrong way round"):
        HeldActionSpace(1, (1.0,), (0.0,), ((0.0,),))
    with pytest.raises(ValueError, match=r"have shape \(1, 1\), not \(2, 1\)"):
        HeldActionSpace(1, (0.0,), (1.0,), ((0.0,),)).decode(np.zeros((2, 1)))


def test_turn_and_go_steers_and_then_goes_straight():
    space = TurnAndGoSpace(3, 6.0, 0.25, ((6.0, -0.25), (3.0, 0.0), (0.0, 0.0)))
    np.testing.assert_allclose(space.start, [[1.0, -1.0], [0.0, 0.0], [-1.0, 0.0]])
    macro_actions = space.decode(space.start)
    np.testing.assert_allclose(macro_actions.actions[0], [[6.0, -0.25], [6.0, -0.25], [6.0, 0.0]])
    assert (macro_actions.actions[1] == [3.0, 0.0]).all()
    longer = [TurnAndGoSpace(length, 6.0, 0.25, ((6.0, 0.25),)).decode([[1.0, 1.0]]) for length in range(1, 9)]
    turning = [int((macro_actions.actions[0, :, 1] > 0.0).sum()) for macro_actions in longer]
    assert turning == [1, 1, 2, 2, 3, 3, 4, 4]
    with pytest.raises(ValueError, match="shape"):
        space.decode(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="at least one"):
        TurnAndGoSpace(3, 6.0, 0.25, ())


class Rows(Tiger):
    """Tiger, but for its actions."""

    rows: ClassVar[np.ndarray]

    def actions(self):
        return self.rows


class OwnSpace(Rows):
    def macro_space(self, length):
        return HeldActionSpace.of_actions(self.actions(), length)


class Said(Rows):
    discrete_actions = False


@pytest.mark.parametrize(
    ("task", "rows", "discrete"),
    [
        (Rows, [-1.0, 1.0, 0.0], True),
        (Rows, [0.0, 5.0, 7.0], True),
        (Rows, [-1.0, -0.5, 0.5], False),
        (Rows, range(1, 33), True),
        (Rows, range(1, 34), False),
        (Rows, range(50), True),
        (OwnSpace, [-1.0, 1.0], False),
        (Said, [-1.0, 1.0, 0.0], False),
    ],
)
def test_few_actions_of_one_whole_number_are_all_there_are(task, rows, discrete):
    task = with_rows(task, np.array(rows, dtype=float)[:, None])
    assert task.is_discrete is discrete
    assert isinstance(task.macro_space(2), ListedActionSpace) is discrete


def test_actions_of_several_whole_numbers_may_be_anything_between():
    assert not with_rows(Rows, np.eye(2)).is_discrete


def with_rows(kind, rows):
    return type("Rowed", (kind,), {"rows": rows})()
