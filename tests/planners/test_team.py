"""One search on several threads: the same plans with any number, and failures that reach whoever asked for a plan."""

import pickle
import threading

import numpy as np
import pytest
from guided_tiger import GuidedTiger

from magic_pomdp import Belief, Budget, MacroDespot, make
from magic_pomdp.planners import MacroDespotSettings
from magic_pomdp.planners.team import Team

pytestmark = pytest.mark.usefixtures("jit")

CONTEXT = np.array([3.0, 1.0, -2.0, 2.5, -3.0])


def search(task, context, threads, steps, **settings):
    chosen = MacroDespotSettings.advised(task, threads=threads, **settings)
    planner = MacroDespot(task, settings=chosen)
    return planner, planner.plan(
        Belief.initial(task, context, 200, seed=1), budget=Budget(steps=steps), seed=3, keep_tree=True
    )


@pytest.mark.parametrize("policy", ["greedy", "random"])
def test_plans_are_the_same_with_any_number_of_threads(policy):
    task, trees = make("light-dark"), []
    for threads in (1, 2, 5):
        planner, plan = search(task, CONTEXT, threads, 200_000, default_policy=policy, shorter="none")
        assert (planner._team.threads, plan.nodes > 3) == (threads, True)
        trees.append((plan.value, plan.steps, plan.tree.nodes.tobytes(), plan.tree.branches.tobytes()))
    assert trees[0] == trees[1] == trees[2]


def test_what_goes_wrong_in_any_thread_is_told():
    task = GuidedTiger(if_right=7)  # which no macro-action has
    for threads in (1, 3):
        planner = MacroDespot(task, settings=MacroDespotSettings(scenarios=50, search_depth=6, threads=threads))
        particles = (np.arange(100.0) % 2)[:, None]
        for _ in range(20):
            with pytest.raises(ValueError, match="guide returned a number that none of the macro-actions has"):
                planner.plan(particles, np.zeros(0), budget=Budget(steps=10_000))
        with pytest.raises(ValueError, match="no search to go on with"):
            planner.go_on(Budget(steps=10))


def test_planners_of_one_task_plan_at_the_same_time():
    """Each has arrays of its own, and leaves Python to the others while it searches."""
    task, plans = make("light-dark"), {}
    alone = search(task, CONTEXT, 1, 200_000)[1]

    def plan(number):
        plans[number] = search(task, CONTEXT, 1 + number % 2, 200_000)[1]

    threads = [threading.Thread(target=plan, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.tree.nodes.tobytes() for one in plans.values()} == {alone.tree.nodes.tobytes()}
    assert len(plans) == 4


def test_a_team_can_be_sent_to_another_process():
    team = Team(3)
    with team.helping(lambda number, search: None):
        pass
    assert pickle.loads(pickle.dumps(team)).threads == 3


@pytest.mark.parametrize("threads", [0, 1_001])
def test_a_number_of_threads_that_makes_no_sense_is_refused(threads):
    with pytest.raises(ValueError, match="threads"):
        MacroDespotSettings(threads=threads)
