"""POMCPOW against Tiger's exact solution, and what must hold in every tree it builds."""

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import magic_pomdp as mp
from magic_pomdp import Belief, Budget, make
from magic_pomdp.core.compiling import kernel
from magic_pomdp.core.views import borrow
from magic_pomdp.planners import Pomcpow, PomcpowSettings
from magic_pomdp.planners.pomcpow_growth import find_state
from magic_pomdp.planners.pomcpow_simulation import extend
from magic_pomdp.planners.pomcpow_tree import BRANCH_ROOM, ROOT, STATE_ROOM, new_tree
from magic_pomdp.running import PlannerFactory
from magic_pomdp.tasks.light_dark import LightDark
from magic_pomdp.tasks.puck_push import OUTCOME
from magic_pomdp.tasks.tiger import LISTEN, OPEN_LEFT, OPEN_RIGHT, Tiger

pytestmark = pytest.mark.jit_off

JIT_OFF = os.environ.get("NUMBA_DISABLE_JIT") == "1"
EXAMPLES = Path(__file__).parents[2] / "examples"
CONTEXTS = {
    "light-dark": np.array([3.0, 1.0, -2.0, 2.5, -3.0]),
    "puck-push": np.array([1000.0, 300.0]),
    "tiger": np.zeros(0),
    "vdp-tag": np.zeros(0),
}


def searcher(name, **chosen):
    """A small search of a task, as it advises but for what is chosen, and a belief of it."""
    task = make(name)
    chosen = {"search_depth": 12, "tree_nodes": 20_000, **chosen}
    return Pomcpow(task, PomcpowSettings.advised(task, **chosen)), Belief.initial(task, CONTEXTS[name], 100, seed=1)


def plan_for(name, steps=2_000, seed=0, **chosen):
    planner, belief = searcher(name, **chosen)
    return planner.plan(belief, CONTEXTS[name], budget=Budget(steps=steps), seed=seed, keep_tree=True)


def test_a_search_goes_on_where_it_stopped():
    planner, belief = searcher("tiger")
    with pytest.raises(ValueError, match="no search to go on with"):
        planner.go_on(Budget(steps=100))
    planner.plan(belief, budget=Budget(steps=700), seed=3)
    rest = 2_000 - int(planner._tree.counters[0].steps)
    parts = planner.go_on(Budget(steps=rest), keep_tree=True)
    whole = plan_for("tiger", steps=2_000, seed=3)
    assert (parts.value, parts.choice, parts.steps) == (whole.value, whole.choice, whole.steps)


@pytest.mark.parametrize("popularity", [0.0, 0.5, 1.0])
def test_only_popular_actions_are_chosen(popularity):
    """However high the value of others is."""
    for seed in range(5):
        plan = plan_for("puck-push", seed=seed, popularity=popularity)
        visits = plan.tree.branches["visits"][: len(plan.values)]
        popular = visits >= popularity * visits.max()
        assert plan.values[plan.choice] == plan.values[popular].max()
        assert popular[plan.choice]
        assert plan.value == plan.values[plan.choice]


# ----------------------------------------------------------------------------------------------------- known answers


@pytest.mark.skipif(JIT_OFF, reason="a search this large needs compiled code")
@pytest.mark.parametrize(
    ("lead", "best", "exact"),
    [(-3, OPEN_RIGHT, 11.6), (-1, LISTEN, 4.0), (0, LISTEN, 1.8), (1, LISTEN, 4.0), (3, OPEN_LEFT, 11.6)],
)
def test_tiger_is_heard_first_and_opened_when_sure(lead, best, exact):
    """Values are those of the exact solution over 4 steps.

    A search's own exploration costs it something; more than the exact value would mean that it trusts observations
    too much.
    """
    right = 1.0 / (1.0 + (0.15 / 0.85) ** lead)
    particles = (np.arange(1000) < 1000 * right).astype(float)[:, None]
    planner = Pomcpow(Tiger(), PomcpowSettings.advised(Tiger(), search_depth=4))
    for seed in range(3):
        plan = planner.plan(particles, np.zeros(0), budget=Budget(steps=2_000_000), seed=seed)
        assert plan.macro_action.tolist() == [[best]]
        assert exact - 2.5 < plan.value < exact + 0.3


def test_a_certain_reward_is_taken():
    planner, _ = searcher("light-dark")
    at_goal = np.array([[3.0, 1.0, 5.0, mp.Outcome.RUNNING]])
    plan = planner.plan(at_goal, CONTEXTS["light-dark"], budget=Budget(steps=3_000))
    assert plan.macro_action.tolist() == [[0.0, 0.0]]
    assert plan.value == pytest.approx(100.0)


def test_with_one_step_to_go_values_are_mean_rewards():
    plan = plan_for("tiger", steps=2_000, search_depth=1, exploration=1000.0)
    actions, _, scores = root_of(plan.tree)
    values = dict(zip(actions[:, 0].astype(int), scores["value"], strict=True))
    assert values[LISTEN] == pytest.approx(-1.0)
    for door in (OPEN_LEFT, OPEN_RIGHT):
        assert values[door] == pytest.approx(-45.0, abs=15.0)
    assert plan.macro_action.tolist() == [[LISTEN]]


def test_ended_states_earn_nothing():
    planner, _ = searcher("light-dark")
    ended = np.array([[3.0, 1.0, 5.0, mp.Outcome.SUCCESS]])
    plan = planner.plan(ended, CONTEXTS["light-dark"], budget=Budget(steps=100))
    assert plan.value == 0.0
    assert plan.nodes == 1


# -------------------------------------------------------------------------------------------------- what always holds


def root_of(tree):
    return branches_of(tree, tree.nodes[ROOT])


def branches_of(tree, node):
    own = slice(node.first_branch, node.first_branch + node.branch_count)
    own = own if node.branch_count else slice(0)
    return tree.actions[own], tree.branches[own], tree.scores[own]


def children_of(tree, branch):
    return tree.children[branch.first_child : branch.first_child + branch.child_count] if branch.child_count else []


def allowed(count, widening, exponent, visits):
    """Whether a count could have come about by widening: the last one was let in at fewer visits than these."""
    return count <= 1 or count - 1 <= widening * max(1, visits) ** exponent + 1e-9


def assert_consistent(plan, rules):
    tree, seen = plan.tree, {ROOT}
    assert tree.nodes[ROOT].visits == plan.trials
    assert len(tree.nodes) == plan.nodes
    waiting = [(ROOT, 0)]
    while waiting:
        index, depth = waiting.pop()
        node = tree.nodes[index]
        actions, branches, scores = branches_of(tree, node)
        np.testing.assert_allclose(scores["spread"], branches["visits"] ** -0.5)
        assert np.isfinite(scores["value"]).all()
        assert branches["visits"].sum() == node.visits
        assert (branches["visits"] >= 1).all()
        assert len(np.unique(actions, axis=0)) == len(actions)
        assert allowed(len(actions), rules.action_widening, rules.action_exponent, node.visits)
        for branch in branches:
            children = children_of(tree, branch)
            indices = [int(child.node) for child in children]
            assert sum(int(child.generated) for child in children) == branch.generated <= branch.visits
            assert all(child.generated >= 1 for child in children)
            assert allowed(len(children), rules.observation_widening, rules.observation_exponent, branch.visits)
            assert len(np.unique(tree.observations[indices], axis=0)) == len(indices)
            # a simulation that takes the branch adds a state to one child, unless the episode ends
            assert sum(tree.nodes[index].state_count for index in indices) <= branch.visits
            for index in indices:
                child = tree.nodes[index]
                # all but the first, which began a rollout, went on; at the horizon none does
                assert child.visits == (child.state_count - 1 if depth + 1 < rules.search_depth else 0)
                assert_weighted(tree, child)
                assert index not in seen
                seen.add(index)
                waiting.append((index, depth + 1))
    assert len(seen) == len(tree.nodes)
    assert_apart(tree.nodes["first_branch"], tree.nodes["branch_count"], BRANCH_ROOM, len(tree.branches))
    assert_apart(tree.nodes["first_state"], tree.nodes["state_count"], STATE_ROOM, len(tree.states))


def assert_apart(first, count, least, rows):
    """No two blocks overlap, and none reaches beyond the end: a block has `least` rows, or twice as many, and so on."""
    room = [0 if own == 0 else max(least, 1 << (int(own) - 1).bit_length()) for own in count]
    used = np.concatenate([np.arange(begin, begin + count) for begin, count in zip(first, room, strict=True)])
    assert len(np.unique(used)) == len(used)
    assert used.size == 0 or used.max() < rows


def assert_weighted(tree, node):
    rows = slice(node.first_state, node.first_state + node.state_count)
    weights = np.diff(tree.weights[rows], prepend=0.0)
    assert weights[0] == 1.0
    assert np.isfinite(weights).all()
    assert (weights >= 0.0).all()
    assert np.isfinite(tree.states[rows]).all()


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(sorted(CONTEXTS)),
    st.integers(0, 2**64 - 1),
    st.integers(1, 6_000),
    st.tuples(st.floats(0.0, 8.0), st.floats(0.0, 0.6)),
    st.tuples(st.floats(0.0, 8.0), st.floats(0.0, 0.6)),
    st.sampled_from([0.0, 10.0, 200.0]),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_trees_are_consistent(name, seed, steps, actions, observations, exploration, guided):
    planner, belief = searcher(
        name,
        exploration=exploration,
        guided_actions=guided,
        action_widening=actions[0],
        action_exponent=actions[1],
        observation_widening=observations[0],
        observation_exponent=observations[1],
    )
    steps = min(steps, 400) if JIT_OFF else steps
    plan = planner.plan(belief, CONTEXTS[name], budget=Budget(steps=steps), seed=seed, keep_tree=True)
    assert plan.stopped_by == "budget used"
    assert steps <= plan.steps < steps + 12 * 2 or plan.trials == 1
    assert plan.depth <= 12
    assert_consistent(plan, planner.settings)
    assert plan.value == plan.values.max() == plan.values[plan.choice]
    np.testing.assert_array_equal(root_of(plan.tree)[0][plan.choice], plan.macro_action[0])


class OneAction(Tiger):
    """Each step earns the number of the step so far: what is backed up is known."""

    state_size = 1
    advice = (PomcpowSettings(exploration=1.0),)

    def step(self, context, state, action, random, observation):
        state[0] += 1.0
        observation[0] = state[0]
        return state[0], 0

    def log_likelihood(self, context, state, action, observation):
        return 0.0

    def actions(self):
        return np.zeros((1, 1))


def test_values_are_means_of_what_was_earned():
    task = OneAction(discount=0.5)
    planner = Pomcpow(task, PomcpowSettings.advised(task, search_depth=4))
    plan = planner.plan(np.zeros((1, 1)), np.zeros(0), budget=Budget(steps=40), keep_tree=True)
    assert plan.value == pytest.approx(1.0 + 2.0 / 2 + 3.0 / 4 + 4.0 / 8)
    assert plan.trials == 10
    assert plan.nodes == 5  # a chain: the same observation is the same node
    expected, node = [3.25, 4.5, 5.0, 4.0], plan.tree.nodes[ROOT]
    for value, visits in zip(expected, (10, 9, 8, 7), strict=True):
        _, (branch,), (score,) = branches_of(plan.tree, node)
        assert (score.value, branch.visits) == (pytest.approx(value), visits)
        (child,) = children_of(plan.tree, branch)
        node = plan.tree.nodes[child.node]


class TakenAgain(OneAction):
    def condition(self, context, state, action, random, observation, imagined):
        state[0] += 1.0
        return 0.0, state[0], 0


def test_a_step_taken_again_is_a_step_of_the_budget():
    task = TakenAgain(discount=0.5)
    planner = Pomcpow(task, PomcpowSettings.advised(task, search_depth=4))
    plan = planner.plan(np.zeros((1, 1)), np.zeros(0), budget=Budget(steps=26))
    assert (plan.trials, plan.steps) == (4, 5 + 6 + 7 + 8)  # 4 steps deep each, 1 to 4 of them in the tree
    assert plan.value == pytest.approx(1.0 + 2.0 / 2 + 3.0 / 4 + 4.0 / 8)


class Drowned(Tiger):
    """Log-likelihoods that no exponential could bear."""

    decided: bool = True

    def log_likelihood(self, context, state, action, observation):
        if not self.decided:
            return np.nan
        return 1e6 if observation[0] == state[0] else -1e6


@pytest.mark.parametrize("decided", [True, False])
def test_weights_neither_overflow_nor_vanish(decided):
    task = Drowned(decided=decided)
    planner = Pomcpow(task, PomcpowSettings.advised(task, search_depth=5))
    plan = planner.plan(np.array([[0.0], [1.0]]), np.zeros(0), budget=Budget(steps=2_000), keep_tree=True)
    assert_consistent(plan, planner.settings)


@pytest.mark.skipif(JIT_OFF, reason="statistics need many simulations")
@pytest.mark.parametrize("widening", [0.0, 1.0, 9.0])
def test_a_collection_is_the_belief_that_its_observation_leaves(widening):
    """However many observations are let in: none is counted twice. Rewards stay with their states."""
    chosen = {"observation_widening": widening, "observation_exponent": 0.0}
    planner = Pomcpow(Tiger(), PomcpowSettings.advised(Tiger(), search_depth=2, **chosen))
    plan = planner.plan(np.array([[0.0], [1.0]]), np.zeros(0), budget=Budget(steps=100_000), keep_tree=True)
    actions, branches, _ = root_of(plan.tree)
    listen = branches[actions[:, 0].tolist().index(LISTEN)]
    for child in children_of(plan.tree, listen):
        heard, node = plan.tree.observations[child.node, 0], plan.tree.nodes[child.node]
        rows = slice(node.first_state, node.first_state + node.state_count)
        weights = np.diff(plan.tree.weights[rows], prepend=0.0)
        agreeing = weights[plan.tree.states[rows, 0] == heard].sum() / weights.sum()
        assert agreeing == pytest.approx(0.85, abs=0.02)
        assert (plan.tree.states[rows, 1] == -1.0).all()


@kernel
def found_state(tree, share):
    tree = borrow(tree)
    return find_state(tree, tree.nodes[ROOT], share)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([0.0, 1e-9, 0.5, 1.0, 1e9]), max_size=40), st.floats(0.0, 1.0, exclude_max=True))
def test_the_state_found_is_the_first_whose_weights_pass_the_share(others, share):
    tree = new_tree(Tiger(), 100, 1)
    sums = np.cumsum([1.0, *others])
    tree.weights[3 : 3 + len(sums)] = sums
    node = tree.nodes[ROOT]
    node.first_state, node.state_count, node.total = 3, len(sums), sums[-1]
    passed = np.flatnonzero(sums > share * sums[-1])
    assert found_state(tree, share) - 3 == (passed[0] if passed.size else len(sums) - 1)


@pytest.mark.parametrize(
    "place",
    [(781.9, 300.0, 836.0, 300.0), (1125.0, 165.0, 700.0, 300.0), (490.0, 300.0, 545.0, 300.0)],
    ids=["before the goal", "in a corner", "before a strip"],
)
def test_a_step_taken_again_counts_only_if_it_explains_what_was_seen(place):
    """Puck-Push draws the step again, knowing the observation: it may then end the episode, or hide a puck that was
    seen."""
    planner, _ = searcher("puck-push")
    task, context, belief = planner.task, CONTEXTS["puck-push"], np.array([[*place, 5.0, mp.Outcome.RUNNING]])
    for seed in range(3):
        tree = planner.plan(belief, context, budget=Budget(steps=1_000), seed=seed, keep_tree=True).tree
        for node, observation in zip(tree.nodes[1:], tree.observations[1:], strict=True):
            rows = slice(node.first_state, node.first_state + node.state_count)
            weights, states = np.diff(tree.weights[rows], prepend=0.0), tree.states[rows, :-1]
            assert (states[weights > 0.0, OUTCOME] == mp.Outcome.RUNNING).all()
            assert np.isfinite(task.log_likelihood(context, states[0], None, observation))


# ------------------------------------------------------------------------------------- budgets, memory, determinism


def comparable(plan):
    plain = dataclasses.replace(plan, seconds=0.0, macro_action=None, values=None, tree=None)
    return plain, plan.macro_action.tolist(), plan.values.tolist()


@pytest.mark.parametrize("name", sorted(CONTEXTS))
def test_the_same_seed_gives_the_same_plan_and_another_seed_another(name):
    planner, belief = searcher(name)
    first, second, other = (
        comparable(planner.plan(belief, CONTEXTS[name], budget=Budget(steps=1_000), seed=seed)) for seed in (4, 4, 5)
    )
    assert first == second
    assert first != other
    assert first == comparable(searcher(name)[0].plan(belief, CONTEXTS[name], budget=Budget(steps=1_000), seed=4))


PINNED = {
    "light-dark": (9, -80.848588936, 117),
    "puck-push": (8, -28.164503278, 77),
    "tiger": (1, -27.745848824, 68),
    "vdp-tag": (4, 24.814288969, 78),
}
"""Choice, value and number of nodes that were found with the JIT on; with the JIT off they must be the same."""


@pytest.mark.parametrize("name", sorted(PINNED))
def test_compiled_or_not_the_plan_is_the_same(name):
    numbers = {"action_widening": 4.0, "action_exponent": 0.2, "observation_widening": 2.0, "observation_exponent": 0.2}
    plan = plan_for(name, steps=800, seed=7, exploration=30.0, guided_actions=0.3, **numbers)
    choice, value, nodes = PINNED[name]
    assert (plan.choice, plan.value, plan.nodes) == (choice, pytest.approx(value, abs=1e-7), nodes)


def test_other_kinds_of_numbers_and_arrays_need_no_compiling(jit):
    planner, belief = searcher("light-dark")
    planner.plan(belief, CONTEXTS["light-dark"], budget=Budget(steps=100))
    before = len(extend.signatures)
    particles, context = belief.particles.astype(np.float32), CONTEXTS["light-dark"].copy()
    particles.flags.writeable = context.flags.writeable = False
    planner.plan(particles, context, budget=Budget(steps=np.int32(500)))
    other, _ = searcher("light-dark", exploration=10, action_widening=np.float32(5), search_depth=np.int64(3))
    other.plan(belief, context.tolist(), budget=Budget(steps=1e3))
    assert len(extend.signatures) == before


@pytest.mark.parametrize("name", sorted(CONTEXTS))
@pytest.mark.parametrize("tree_nodes", [1, 2, 7, 50])
def test_a_full_tree_ends_early_and_says_so(name, tree_nodes):
    plan = plan_for(name, steps=100_000_000, tree_nodes=tree_nodes)
    assert plan.cut_short
    assert plan.stopped_by == "tree full"
    assert plan.nodes <= tree_nodes
    assert np.isfinite(plan.value)
    assert np.isfinite(plan.macro_action).all()


def test_seconds_bound_a_search():
    planner, belief = searcher("light-dark", tree_nodes=1_000_000)
    plan = planner.plan(belief, CONTEXTS["light-dark"], budget=Budget(seconds=0.05))
    assert plan.trials >= 1
    assert plan.stopped_by == "budget used"
    assert plan.seconds < 1.0 or JIT_OFF
    assert (plan.lower, plan.upper) == (None, None)


def test_settings_left_to_the_task_are_the_tasks_own():
    planner = Pomcpow(LightDark(), PomcpowSettings.advised(LightDark(), exploration=7.0, tree_nodes=10))
    assert planner.settings == PomcpowSettings(7.0, 25.0, 0.05, 10.0, 0.1, 0.0, 60, 10)
    assert Pomcpow(LightDark()).settings == PomcpowSettings(50.0, 25.0, 0.05, 10.0, 0.1, 0.0, 60, 1_000_000)


# ----------------------------------------------------------------------------------------- every task, every command


def test_random_actions_are_drawn_as_the_task_says():
    random, action = mp.random.new_stream(0), np.empty(2)
    drawn = []
    for _ in range(2000):
        make("light-dark").draw_action(np.zeros((0, 2)), random, action)
        drawn.append(action.copy())
    lengths = np.hypot(*np.array(drawn).T)
    assert abs((lengths == 0.0).mean() - 0.2) < 0.05
    np.testing.assert_allclose(lengths[lengths > 0.0], 1.0)
    actions = make("tiger").actions()
    tried = np.empty((300, 1))
    for row in tried:
        make("tiger").draw_action(actions, random, row)
    assert set(tried[:, 0]) == {0.0, 1.0, 2.0}


@pytest.mark.parametrize("place", ["rock_sample:RockSample", "harbour:Harbour"])
def test_it_runs_on_the_examples(place, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    task = make(place)
    chosen = PomcpowSettings.advised(task, search_depth=4, tree_nodes=1000)
    assert mp.run_episode(task, Pomcpow(task, chosen, Budget(steps=50))).steps >= 1


@pytest.mark.parametrize("name", sorted(CONTEXTS))
def test_it_keeps_a_planners_promises(name):
    planner = Pomcpow(make(name))
    assert JIT_OFF or mp.testing.check_planner(planner) == []


def test_it_can_be_evaluated():
    factory = PlannerFactory("pomcpow", Budget(steps=200), {"search_depth": 5})
    report = mp.evaluate(make("tiger", max_steps=5), factory, 2, workers=0)
    assert (report.planner, report.label, report.macro_length) == ("pomcpow", "POMCPOW", None)
    assert report.budget == Budget(steps=200)
    assert report.settings.items() >= {"exploration": 150.0, "search_depth": 5, "tree_nodes": 1_000_000}.items()
    assert [record.plans for record in report.records] == [5, 5]


# --------------------------------------------------------------------------------------------------------- bad input


def plan_light_dark(particles=None, context=CONTEXTS["light-dark"], **arguments):
    planner, belief = searcher("light-dark")
    return planner.plan(belief if particles is None else particles, context, **arguments)


class WideActions(Tiger):
    def actions(self):
        return np.zeros((2, 3))


class NoActions(Tiger):
    def actions(self):
        return np.zeros((0, 1))


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: plan_light_dark(np.full((3, 4), np.nan)), "NaN"),
        (lambda: plan_light_dark(np.zeros((3, 5))), r"\(particles, 4\)"),
        (lambda: plan_light_dark(np.zeros((0, 4))), "no particles"),
        (lambda: plan_light_dark(context=np.zeros(2)), "context"),
        (lambda: plan_light_dark(budget=Budget(steps=0)), "must be positive"),
        (lambda: Pomcpow(WideActions()), "1 numbers"),
        (lambda: Pomcpow(NoActions()), "empty"),
        (lambda: PomcpowSettings(exploration=-1.0), "exploration must .* at least 0, not -1.0"),
        (lambda: PomcpowSettings(exploration=float("nan")), "exploration must .* at least 0, not nan"),
        (lambda: PomcpowSettings(action_widening=float("inf")), "action_widening must .* at least 0, not inf"),
        (lambda: PomcpowSettings(observation_widening=-0.1), "observation_widening must .* at least 0, not -0.1"),
        (lambda: PomcpowSettings(action_exponent=1.5), r"action_exponent must lie in \[0, 1\], not 1\.5"),
        (lambda: PomcpowSettings(observation_exponent=-0.5), r"observation_exponent must lie in \[0, 1\], not -0\.5"),
        (lambda: PomcpowSettings(guided_actions=1.5), r"guided_actions must lie in \[0, 1\], not 1\.5"),
        (lambda: PomcpowSettings(search_depth=0), r"search_depth must lie in \[1, 10000\], not 0"),
        (lambda: PomcpowSettings(tree_nodes=0), r"tree_nodes must lie in \[1, 100000000\], not 0"),
        (lambda: PlannerFactory("pomcpow", overrides={"macro_length": 3}), "macro_length does not belong to pomcpow"),
        (lambda: PlannerFactory("pomcpow", overrides={"xi": 0.5}), "xi does not belong to pomcpow, which has explor"),
        (lambda: PlannerFactory(overrides={"exploration": 1.0}), "exploration does not belong to macro-despot"),
    ],
)
def test_bad_input_gets_one_clear_sentence(attempt, message):
    with pytest.raises(ValueError, match=message) as caught:
        attempt()
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
