"""The search against an independent brute-force answer, its invariants, and golden trees."""

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
from guided_tiger import GuidedTiger
from hypothesis import given, settings
from hypothesis import strategies as st

from magic_pomdp import Belief, Budget, MacroActions, MacroDespot, Outcome, make
from magic_pomdp.core.randomness import derive, seek, stream_key, uniform
from magic_pomdp.planners import DespotSettings, MacroDespotSettings
from magic_pomdp.planners.plan import GAP_CLOSED
from magic_pomdp.planners.tree import NO_BRANCH, ROOT
from magic_pomdp.planners.trials import extend, plant
from magic_pomdp.tasks.tiger import LISTEN, OPEN_LEFT, OPEN_RIGHT

pytestmark = pytest.mark.jit_off

LIGHT_DARK_CONTEXT = np.array([3.0, 1.0, -2.0, 2.5, -3.0])
GOLDEN = Path(__file__).parent / "golden"


def light_dark(**settings):
    task = make("light-dark")
    plain = {"macro_length": 6, "shorter": "none", "discount": None, "second_look": 0}
    chosen = MacroDespotSettings.advised(task, **{"scenarios": 6, "search_depth": 24, **plain, **settings})
    return MacroDespot(task, settings=chosen), Belief.initial(task, LIGHT_DARK_CONTEXT, 100, seed=1)


def tiger(right=0.5, macro_actions=None, **settings):
    task = make("tiger")
    chosen = MacroDespotSettings.advised(task, **{"scenarios": 40, "search_depth": 8, "second_look": 0, **settings})
    return MacroDespot(task, macro_actions, chosen), (np.arange(100) < 100 * right).astype(float)[:, None]


CASES = {"light-dark": (light_dark, LIGHT_DARK_CONTEXT), "tiger": (tiger, np.zeros(0))}


# ----------------------------------------------------------------------------------------------------- brute force


def scenario_optimum(task, macro_actions, horizon, scenarios, price=0.0, default=None, depth=0):
    """The best policy's earnings over scenarios (state, key), by trying everything: plain recursion, no bounds.

    A macro-action costs a price at the root's time; what `default(count, depth)` says can be had without."""
    first = macro_actions.first_only if depth > 0 else 0
    if depth >= horizon or not scenarios:
        return 0.0
    best = default(len(scenarios), depth) if default else -np.inf
    random, observation = np.empty(1, np.uint64), np.empty(task.observation_size)
    for actions, length in zip(macro_actions.actions[first:], macro_actions.lengths[first:], strict=True):
        total, groups = 0.0, {}
        for state, key in scenarios:
            state, history = state.copy(), []
            for i in range(length):
                seek(random, key, depth + i)
                reward, outcome = task.step(np.zeros(0), state, actions[i], random, observation)
                total += task.discount**i * reward
                history.append(task.observation_key(observation))
                if outcome != Outcome.RUNNING:
                    break
            if outcome == Outcome.RUNNING:
                groups.setdefault(tuple(history), []).append((state, key))
        rest = (task, macro_actions, horizon)
        after = sum(scenario_optimum(*rest, group, price, default, depth + int(length)) for group in groups.values())
        best = max(best, total - price / task.discount**depth + task.discount**length * after)
    return best


def root_scenarios(particles, seed, count):
    """The states and keys that a search draws."""
    key, random, scenarios = stream_key(seed), np.empty(1, np.uint64), []
    for k in range(count):
        seek(random, np.uint64(derive(key, count + k)), 0)
        state = particles[int((k + uniform(random)) / count * len(particles))]
        scenarios.append((state, np.uint64(derive(key, k))))
    return scenarios


@pytest.mark.parametrize("policy", ["greedy", "random"])
@pytest.mark.parametrize("sequences", [[[LISTEN], [OPEN_LEFT], [OPEN_RIGHT]], [[LISTEN, LISTEN], [OPEN_LEFT], [1, 2]]])
@pytest.mark.parametrize("first_only", [0, 1, 2])
def test_a_closed_gap_is_the_optimum_over_the_scenarios(policy, sequences, first_only):
    macro_actions = MacroActions(np.array([[[sequences[0][0]]] * len(sequences[0])], dtype=float), [len(sequences[0])])
    for sequence in sequences[1:]:
        macro_actions = macro_actions.add(np.array(sequence, dtype=float)[:, None])
    macro_actions = dataclasses.replace(macro_actions, first_only=first_only)
    planner, particles = tiger(macro_actions=macro_actions, scenarios=7, search_depth=4, default_policy=policy, xi=0.95)
    plan = planner.plan(particles, np.zeros(0), budget=Budget(steps=10**6), seed=3)
    assert plan.stopped_by == "gap closed"
    with np.errstate(over="ignore"):
        optimum = scenario_optimum(planner.task, macro_actions, 4, root_scenarios(particles, 3, 7)) / 7
    assert plan.value == pytest.approx(optimum, abs=1e-6)
    assert plan.upper == pytest.approx(optimum, abs=1e-5)


def test_a_guide_sees_only_what_can_be_chosen():
    """This one always takes the first there is: it listens, and then, as nobody can listen again, opens a door."""
    task = GuidedTiger()
    macro_actions = dataclasses.replace(task.macro_actions(1), first_only=1)
    planner = MacroDespot(task, macro_actions, DespotSettings(scenarios=7, search_depth=2))
    plan = planner.plan(np.zeros((10, 1)), np.zeros(0), budget=Budget(steps=1), keep_tree=True)
    root = plan.tree.nodes[ROOT]
    assert root.default_macro == LISTEN
    assert root.default_value == pytest.approx(task.listen_reward + task.discount * task.tiger_reward)


@pytest.mark.parametrize("price", [0.0, 0.3, 1.0, 3.0, 1000.0])
def test_what_the_search_adds_to_the_default_policy_has_its_price(price):
    task, particles = GuidedTiger(), np.array([[0.0], [1.0]] * 50)
    settings = DespotSettings(scenarios=7, search_depth=4, xi=0.95, regularisation=price)
    planner = MacroDespot(task, task.macro_actions(1), settings)
    plan = planner.plan(particles, np.zeros(0), budget=Budget(steps=10**6), seed=3)

    def listen(count, depth):
        return -count * sum(task.discount**i for i in range(4 - depth))

    with np.errstate(over="ignore"):
        scenarios = root_scenarios(particles, 3, 7)
        optimum = scenario_optimum(task, planner.macro_actions, 4, scenarios, 7 * price, listen) / 7
    assert plan.stopped_by == "gap closed"
    assert plan.value == pytest.approx(optimum, abs=1e-6)
    assert plan.upper == pytest.approx(optimum, abs=1e-5)
    if price == 1000.0:
        assert plan.value == pytest.approx(listen(7, 0) / 7)


def test_a_discount_that_vanishes_within_the_search_is_no_harm():
    task, particles = GuidedTiger(discount=1e-9), np.array([[0.0], [1.0]] * 50)
    planner = MacroDespot(task, task.macro_actions(1), DespotSettings(scenarios=7, search_depth=60))
    plan = planner.plan(particles, np.zeros(0), budget=Budget(steps=10**5), seed=3)
    assert plan.value == pytest.approx(-1.0)  # to listen is best, whatever comes


def test_a_guide_gives_the_first_lower_bound():
    particles = np.zeros((10, 1))
    settings = DespotSettings(scenarios=20, search_depth=5)
    for choice in (LISTEN, OPEN_LEFT):
        task = GuidedTiger(if_left=choice, if_right=choice)
        planner = MacroDespot(task, settings=settings)
        plan = planner.plan(particles, np.zeros(0), budget=Budget(steps=1), keep_tree=True)
        root = plan.tree.nodes[ROOT]
        assert planner.settings.default_policy == "guided"
        assert root.default_macro == choice
        if choice == LISTEN:
            assert root.default_value == pytest.approx(sum(task.listen_reward * task.discount**k for k in range(5)))
        greedy = MacroDespot(task, settings=dataclasses.replace(settings, default_policy="greedy"))
        assert greedy.settings.default_policy == "greedy"
    assert MacroDespot(make("tiger")).settings.default_policy == "greedy"
    with pytest.raises(ValueError, match="tiger has no guide"):
        tiger(default_policy="guided")


@pytest.mark.parametrize("policy", ["guided", "greedy", "random"])
def test_what_comes_beyond_the_search_counts(policy):
    """It is the same whatever is done, so it moves all values by as much."""
    settings = DespotSettings(scenarios=20, search_depth=4, default_policy=policy)
    plans = []
    for later in (0.0, 7.0):
        planner = MacroDespot(GuidedTiger(later=later), settings=settings)
        plans.append(planner.plan(np.zeros((10, 1)), np.zeros(0), budget=Budget(steps=100_000)))
    without, beyond = plans
    assert (without.stopped_by, beyond.stopped_by) == (GAP_CLOSED, GAP_CLOSED)
    assert beyond.value == pytest.approx(without.value + 7.0 * GuidedTiger().discount ** 4)


def tiger_values(task, horizon):
    """Exact values of the best policy for a lead of the heard sides, by backward induction over the belief."""
    leads = np.arange(-horizon - 2, horizon + 3)
    right = 1.0 / (1.0 + ((1 - task.accuracy) / task.accuracy) ** leads.astype(float))
    value = np.zeros(len(leads))
    for _ in range(horizon):
        start = value[horizon + 2]
        heard = right * task.accuracy + (1 - right) * (1 - task.accuracy)
        listen = task.listen_reward + task.discount * (heard * np.roll(value, -1) + (1 - heard) * np.roll(value, 1))
        open_left = right * task.safe_reward + (1 - right) * task.tiger_reward + task.discount * start
        open_right = (1 - right) * task.safe_reward + right * task.tiger_reward + task.discount * start
        choices = np.stack([listen, open_left, open_right])
        value = choices.max(axis=0)
    return right, choices, horizon + 2


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="a search this large needs compiled code")
@pytest.mark.parametrize("lead", [-2, -1, 0, 1, 2])
def test_tiger_is_planned_as_the_exact_solution_does(lead):
    task = make("tiger")
    horizon = 8
    right, choices, middle = tiger_values(task, horizon)
    planner, particles = tiger(right=right[middle + lead], scenarios=300, search_depth=horizon)
    plan = planner.plan(particles, np.zeros(0), budget=Budget(steps=300_000), seed=1)
    assert plan.choice == choices[:, middle + lead].argmax()


# ------------------------------------------------------------------------------------------------------ invariants


def assert_consistent(tree, scenarios, macro_count):
    nodes, branches = tree.nodes, tree.branches
    assert (nodes["lower"] <= nodes["upper"] + 1e-9).all()
    assert nodes[ROOT].scenario_count == scenarios
    for node in nodes[nodes["first_branch"] != NO_BRANCH]:
        own = branches[node.first_branch : node.first_branch + macro_count]
        assert (own["lower"] <= own["upper"] + 1e-9).all()
        assert node.lower >= max(own["lower"].max(), node.default_value) - 1e-9
        for branch in own:
            children = nodes[branch.first_child : branch.first_child + branch.child_count]
            assert children["scenario_count"].sum() <= node.scenario_count


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(sorted(CASES)),
    st.integers(0, 2**64 - 1),
    st.integers(1, 30_000),
    st.sampled_from(["greedy", "random"]),
    st.sampled_from([0.3, 0.95]),
)
def test_bounds_are_consistent_and_never_loosen(name, seed, steps, policy, xi):
    make, context = CASES[name]
    planner, belief = make(default_policy=policy, xi=xi)
    steps = min(steps, 3_000) if os.environ.get("NUMBA_DISABLE_JIT") == "1" else steps
    plans = [
        planner.plan(belief, context, budget=Budget(steps=budget), seed=seed, keep_tree=True)
        for budget in (steps, 2 * steps)
    ]
    for plan in plans:
        assert plan.lower <= plan.value + 1e-9 <= plan.upper + 2e-9
        assert_consistent(plan.tree, planner._tree.keys.size, len(planner.macro_actions))
    less, more = plans
    assert more.lower >= less.lower - 1e-9
    assert more.upper <= less.upper + 1e-9


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(100, 3_000))
def test_macro_actions_of_length_1_give_the_tree_of_plain_despot(seed, steps):
    """Padding, the other lengths' machinery and an explicit set change nothing against the task's own actions."""
    despot, belief = tiger()
    padded = np.zeros((3, 5, 1))
    padded[:, 0] = despot.task.actions()
    macro, _ = tiger(macro_actions=MacroActions(padded, np.ones(3)))
    budget = Budget(steps=steps)
    plain = despot.plan(belief, np.zeros(0), budget=budget, seed=seed, keep_tree=True)
    same = macro.plan(belief, np.zeros(0), budget=budget, seed=seed, keep_tree=True)
    for mine, other in zip(plain.tree, same.tree, strict=True):
        np.testing.assert_array_equal(mine, other)
    assert plain.choice == same.choice


def test_the_same_seed_gives_the_same_plan_and_another_seed_another():
    planner, belief = light_dark()
    first, second, other = (
        dataclasses.replace(
            planner.plan(belief, LIGHT_DARK_CONTEXT, budget=Budget(steps=2_000), seed=seed),
            seconds=0.0,
            macro_action=None,
            values=None,
            uppers=None,
        )
        for seed in (4, 4, 5)
    )
    assert first == second
    assert first != other


def test_a_search_goes_on_where_it_stopped():
    planner, belief = light_dark(scenarios=20, search_depth=60)
    with pytest.raises(ValueError, match="no search to go on with"):
        planner.go_on(Budget(steps=100))
    plan = planner.plan(belief, LIGHT_DARK_CONTEXT, budget=Budget(steps=20_000), seed=4)
    more = planner.go_on(Budget(steps=50_000))
    assert more.steps >= plan.steps + 50_000
    assert more.nodes > plan.nodes
    assert plan.lower <= more.lower <= more.upper <= plan.upper
    assert planner.go_on(Budget(seconds=0.01)).steps > more.steps


def test_other_kinds_of_numbers_and_arrays_need_no_compiling(jit):
    planner, belief = light_dark()
    before = len(extend.signatures), len(plant.signatures)
    particles, context = belief.particles.astype(np.float32), LIGHT_DARK_CONTEXT.copy()
    particles.flags.writeable = context.flags.writeable = False
    planner.plan(particles, context, budget=Budget(steps=np.int32(500)))
    light_dark(xi=1)[0].plan(belief, context.tolist(), budget=Budget(steps=1e3))
    assert (len(extend.signatures), len(plant.signatures)) == before


def test_an_infinite_upper_bound_is_refused():
    task = GuidedTiger(boundless=True)
    planner = MacroDespot(task, settings=DespotSettings.advised(task, default_policy="greedy"))
    with pytest.raises(ValueError, match="must be finite, but is inf"):
        planner.plan(np.zeros((1, 1)), np.zeros(0), budget=Budget(steps=1))
    with pytest.raises(ValueError, match="no search to go on with"):
        planner.go_on(Budget(steps=1))


def test_a_full_tree_ends_early_and_says_so():
    planner, belief = light_dark(tree_nodes=90)
    plan = planner.plan(belief, LIGHT_DARK_CONTEXT, budget=Budget(steps=1_000_000))
    assert plan.cut_short
    assert plan.stopped_by == "tree full"
    assert np.isfinite([plan.value, plan.lower, plan.upper]).all()


def test_the_least_room_that_is_asked_for_is_enough():
    with pytest.raises(ValueError, match=r"need room for at least 46 nodes: raise tree_nodes from 45"):
        light_dark(scenarios=5, tree_nodes=45)
    planner, belief = light_dark(scenarios=5, tree_nodes=46)
    plan = planner.plan(belief, LIGHT_DARK_CONTEXT, budget=Budget(steps=1_000_000))
    assert plan.nodes >= 1
    assert np.isfinite(plan.values).all()


def test_a_settled_case_stops_when_the_gap_closes():
    planner, _ = light_dark()
    at_goal = np.array([[3.0, 1.0, 5.0, Outcome.RUNNING]])
    plan = planner.plan(at_goal, LIGHT_DARK_CONTEXT, budget=Budget(steps=10**7))
    assert plan.stopped_by == "gap closed"
    assert plan.value == pytest.approx(100.0)
    assert (plan.macro_action == 0.0).all()
    assert plan.macro_action.shape == (1, 2)


def test_seconds_bound_a_search():
    planner, belief = light_dark(scenarios=20, search_depth=60)
    plan = planner.plan(belief, LIGHT_DARK_CONTEXT, budget=Budget(seconds=0.05))
    assert plan.trials >= 1
    assert plan.stopped_by == "budget used"


# ------------------------------------------------------------------------------------------------------ golden trees


@pytest.mark.parametrize("policy", ["greedy", "random"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_golden_tree(name, policy):
    """The tree of a small search is, node by node, the one that was looked at and stored.

    MAGIC_POMDP_STORE_GOLDEN=1 stores the present trees; the change to the files is then part of what is reviewed.
    """
    make, context = CASES[name]
    planner, belief = make(default_policy=policy, search_depth=18 if name == "light-dark" else 3, scenarios=5)
    plan = planner.plan(belief, context, budget=Budget(steps=4_000), seed=7, keep_tree=True)
    nodes, branches = plan.tree.nodes, plan.tree.branches
    tree = {
        "choice": plan.choice,
        "trials": plan.trials,
        "steps": plan.steps,
        "node_fields": list(nodes.dtype.names),
        "nodes": [[round(float(value), 9) for value in node] for node in nodes],
        "branch_fields": list(branches.dtype.names),
        "branches": [[round(float(value), 9) for value in branch] for branch in branches],
    }
    path = GOLDEN / f"{name}-{policy}.json"
    if os.environ.get("MAGIC_POMDP_STORE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(tree).replace("], [", "],\n[") + "\n")
    golden = json.loads(path.read_text())
    for field in ("choice", "trials", "steps", "node_fields", "branch_fields"):
        assert tree[field] == golden[field]
    np.testing.assert_allclose(tree["nodes"], golden["nodes"], atol=1e-7)
    np.testing.assert_allclose(tree["branches"], golden["branches"], atol=1e-7)


# --------------------------------------------------------------------------------------------------------- bad input


def plan_light_dark(particles=None, context=LIGHT_DARK_CONTEXT, **arguments):
    planner, belief = light_dark()
    return planner.plan(belief if particles is None else particles, context, **arguments)


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: Budget(seconds=0.0), "must be positive"),
        (lambda: Budget(seconds=-1.0), "must be positive"),
        (lambda: Budget(seconds=float("nan")), "must be positive"),
        (lambda: Budget(steps=0), "must be positive"),
        (lambda: Budget(), "neither"),
        (lambda: Budget(seconds=1.0, steps=1), "both"),
        (lambda: plan_light_dark(np.full((3, 4), np.nan)), "NaN"),
        (lambda: plan_light_dark(np.zeros((3, 5))), r"\(particles, 4\)"),
        (lambda: plan_light_dark(np.zeros((0, 4))), "no particles"),
        (lambda: plan_light_dark(context=np.zeros(2)), "context"),
        (lambda: plan_light_dark(macro_actions=MacroActions(np.zeros((1, 1, 3)), [1])), "2 numbers"),
        (lambda: MacroActions(np.zeros((0, 3, 2)), []), "empty"),
        (lambda: MacroActions(np.zeros((2, 3, 2)), [1, 4]), "between 1 and 3"),
        (lambda: MacroActions(np.full((1, 2, 2), np.nan), [2]), "NaN"),
        (lambda: MacroActions(np.zeros((2, 2)), [2, 2]), "shape"),
        (lambda: MacroActions(np.zeros((2, 1, 2)), [1, 1], 2), "0 to 1 can be for the first choice alone, not 2"),
        (lambda: MacroActions(np.zeros((2, 1, 2)), [1, 1], 0.5), "for the first choice alone, not 0.5"),
        (lambda: MacroActions.repeat(np.zeros((2, 1)), 0), "length 1"),
        (lambda: Budget(steps=1.5), "whole"),
        (lambda: MacroActions.repeat(np.zeros(3), 2), "count, action_size"),
        (lambda: light_dark(scenarios=50_000, tree_nodes=1000), "raise tree_nodes"),
        (lambda: Budget(steps=float("nan")), "must be positive"),
        (lambda: Budget(steps=float("inf")), "whole"),
        (lambda: DespotSettings(xi=0.0), r"xi must lie in \(0, 1\], not 0\.0"),
        (lambda: DespotSettings(xi=1.1), r"xi must lie in \(0, 1\], not 1\.1"),
        (lambda: DespotSettings(regularisation=-0.1), "regularisation must be a finite number of at least 0, not -0.1"),
        (lambda: DespotSettings(regularisation=float("nan")), "regularisation must .* at least 0, not nan"),
        (lambda: DespotSettings(scenarios=0), r"scenarios must lie in \[1, 1000000\], not 0"),
        (lambda: DespotSettings(scenarios=1.5), "scenarios must be a whole number, not 1.5"),
        (lambda: DespotSettings(search_depth=0), r"search_depth must lie in \[1, 10000\], not 0"),
        (lambda: DespotSettings(tree_nodes=0), r"tree_nodes must lie in \[1, 100000000\], not 0"),
        (lambda: DespotSettings(default_policy="lazy"), "default_policy is one of guided, greedy, random: 'lazy'"),
        (lambda: MacroDespotSettings(macro_length=0), r"macro_length must lie in \[1, 10000\], not 0"),
    ],
)
def test_bad_input_gets_one_clear_sentence(attempt, message):
    with pytest.raises(ValueError, match=message) as caught:
        attempt()
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
