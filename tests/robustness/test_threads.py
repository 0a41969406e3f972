"""A planner that is shared by threads."""

import threading

import numpy as np
import pytest

from magic_pomdp import Belief, Budget, make
from magic_pomdp.magic.planner import MagicPlanner, MagicSettings

CONTEXT = np.array([3.0, 1.0, -2.0, 2.5, -3.0])


class Waits:
    """Gives the handcrafted parameters, when it may."""

    def __init__(self, space):
        self.space = space
        self.asked, self.may_go_on = threading.Event(), threading.Event()

    def __call__(self, belief, context, seed=0):
        self.asked.set()
        assert self.may_go_on.wait(60.0)
        return self.space.start


def test_a_second_thread_is_refused_by_magic():
    task = make("light-dark")
    source, plans = Waits(task.macro_space(2)), []
    settings = MagicSettings.advised(task, scenarios=5, search_depth=4)
    planner = MagicPlanner(task, settings, Budget(steps=100), source)
    belief = Belief.initial(task, CONTEXT, 100, seed=1)
    first = threading.Thread(target=lambda: plans.append(planner.plan(belief, CONTEXT)))
    first.start()
    assert source.asked.wait(60.0)
    for call in (planner.plan, planner.generate):
        with pytest.raises(RuntimeError, match="planning in another thread: give each thread a planner of its own"):
            call(belief, CONTEXT)
    source.may_go_on.set()
    first.join()
    again = planner.plan(belief, CONTEXT)  # and the first one's plan is as ever
    assert plans[0].value == again.value
    np.testing.assert_array_equal(plans[0].macro_action, again.macro_action)
