"""What the greedy policy tries side by side is what it would try one after the other."""

import numpy as np
import pytest

from magic_pomdp import Belief, Budget, MacroActions, MacroDespot, make
from magic_pomdp.core.views import LANES, MOST_REGISTERS
from magic_pomdp.macros.straight import compass
from magic_pomdp.planners import MacroDespotSettings
from magic_pomdp.planners.default_policy import GREEDY_CANDIDATES, GREEDY_SAMPLE, make_choices
from magic_pomdp.tasks.puck_push import PuckPush

pytestmark = pytest.mark.jit_off

CONTEXT = np.array([1000.0, 300.0])


class DrawsItsOwnChance(PuckPush):
    """In each lane for itself."""

    noise_size = 0


class LongStates(PuckPush):
    """Too long for registers."""

    state_size = MOST_REGISTERS + 1
    draw_puck = PuckPush.draw_state

    def draw_state(self, context, random, state):
        self.draw_puck(context, random, state)
        for i in range(6, len(state)):
            state[i] = 0.5


def tree(task, macro_actions):
    settings = MacroDespotSettings.advised(task, scenarios=5, search_depth=8, threads=1)
    planner, belief = MacroDespot(task, macro_actions, settings), Belief.initial(task, CONTEXT, 100, seed=1)
    plan = planner.plan(belief, budget=Budget(steps=3_000), seed=2, keep_tree=True)
    return plan.steps, plan.tree.nodes, plan.tree.branches


@pytest.mark.parametrize("other", [DrawsItsOwnChance, LongStates])
@pytest.mark.parametrize("length", [1, 2])
def test_where_lanes_and_chance_are_makes_no_difference(other, length):
    macro_actions = MacroActions.repeat(compass(8), length)
    expected, found = tree(PuckPush(), macro_actions), tree(other(), macro_actions)
    assert found[0] == expected[0]
    for one, same in zip(found[1:], expected[1:], strict=True):
        for field in one.dtype.names:
            np.testing.assert_allclose(one[field], same[field], rtol=1e-9, atol=1e-9)


def test_macro_actions_of_any_order_of_lengths_are_tried_the_longest_first():
    actions = MacroActions(np.tile(compass(3)[:, None], (1, 4, 1)), np.array([1, 4, 2]))
    for name in ("root_candidates", "candidates"):
        candidates = getattr(make_choices(make("puck-push"), actions), name)
        assert candidates.macros.tolist() == [1, 2, 0]
        for i in range(GREEDY_SAMPLE):
            count = 3 * (i + 1)
            assert candidates.lengths[i, :count].tolist() == np.repeat([4, 2, 1], i + 1).tolist()
            lanes = np.repeat(compass(3)[[1, 2, 0]], i + 1, axis=0)
            np.testing.assert_array_equal(candidates.actions[i, 0, :, :count].T, lanes)
    steps = [tree(PuckPush(), MacroActions(actions.actions[o], actions.lengths[o]))[0] for o in ([0, 1, 2], [1, 2, 0])]
    assert min(steps) > 0


def test_there_is_a_lane_for_all_that_is_tried():
    assert GREEDY_SAMPLE * GREEDY_CANDIDATES == LANES
    many = MacroActions.repeat(compass(GREEDY_CANDIDATES + 9), 2)
    assert len(make_choices(make("puck-push"), many).candidates.macros) == GREEDY_CANDIDATES
    assert tree(PuckPush(), many)[0] >= 3_000
