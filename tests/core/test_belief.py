"""The particle filter against exact posteriors, and its way back when nothing explains an observation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magic_pomdp import Belief, Outcome, Task, make
from magic_pomdp.random import uniform
from magic_pomdp.tasks import BeliefSettings
from magic_pomdp.tasks.tiger import LISTEN, OPEN_LEFT

pytestmark = pytest.mark.jit_off

CONTEXT = np.array([3.0, 1.0, -2.0, -2.0, 2.5])  # goal, light at −2, prior around (−2, 2.5)
EAST = np.array([1.0, 0.0])


def light_dark(count=5000, seed=1, **parameters):
    return Belief.initial(make("light-dark", **parameters), CONTEXT, count, seed)


def test_tiger_follows_bayes_rule():
    belief = Belief.initial(make("tiger"), np.zeros(0), 4000, seed=2)
    lead = 0
    for heard in (1, 1, 0, 1, 1):
        belief.update(np.array([LISTEN]), np.array([float(heard)]))
        lead += 2 * heard - 1
        exact = 1.0 / (1.0 + (0.15 / 0.85) ** lead)
        assert belief.particles.mean() == pytest.approx(exact, abs=0.03)
    belief.update(np.array([OPEN_LEFT]), np.array([0.0]))
    assert belief.particles.mean() == pytest.approx(0.5, abs=0.04)


def test_light_dark_agrees_with_a_dense_grid():
    belief = light_dark()
    seen = np.array([1.0, -1.62, 2.9])
    belief.update(EAST, seen)
    grid = np.stack(np.meshgrid(np.linspace(-6, 3, 721), np.linspace(-2, 7, 721)), axis=-1).reshape(-1, 2)
    prior = -0.5 * ((grid - [-1.5, 2.5]) ** 2).sum(axis=1)
    likelihood = np.where(np.abs(grid[:, 0] + 2) <= 0.3, -0.5 * ((grid - seen[1:]) ** 2).sum(axis=1) / 0.01, -np.inf)
    weights = np.exp(prior + likelihood - (prior + likelihood).max())
    mean = (weights[:, None] * grid).sum(axis=0) / weights.sum()
    spread = np.sqrt((weights[:, None] * (grid - mean) ** 2).sum(axis=0) / weights.sum())
    np.testing.assert_allclose(belief.particles[:, :2].mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(belief.particles[:, :2].std(axis=0), spread, rtol=0.25)


@pytest.mark.parametrize(("x", "y", "allowed"), [(0.0, 0.0, 0.2), (0.0, 3.0, 0.5), (3.2, 1.0, 1.0)])
def test_what_is_far_from_what_was_expected_is_believed_all_the_same(x, y, allowed):
    """The robot is where few particles, or none at all, were: the posterior is that of the prior and what is seen."""
    errors, spreads = [], []
    for seed in range(3):
        context = np.array([4.0, -4.0, x, 0.0, 0.0])
        belief = Belief.initial(make("light-dark"), context, 10_000, seed)
        seen = np.array([x, y]) + 0.1 * np.random.default_rng(seed).normal(size=2)
        belief.update(np.array([0.0, 1.0]), np.array([1.0, *seen]))
        exact = (0.5 + 100.0 * seen[1]) / 101.0
        errors.append((belief.particles[:, 1].mean() - exact) * math.sqrt(101.0))
        spreads.append(belief.particles[:, 1].std() * math.sqrt(101.0))
    assert np.sqrt(np.mean(np.square(errors))) < allowed
    assert 0.7 < np.mean(spreads) < 1.4


def test_where_hardly_any_particle_explains_what_is_seen_fresh_ones_are_looked_for():
    context = np.array([4.0, -4.0, 3.4, 0.0, 0.0])
    seen, up = np.array([1.0, 3.4, 0.5]), np.array([0.0, 1.0])
    belief = Belief.initial(make("light-dark"), context, 10_000, seed=3)
    assert 0 < (np.abs(belief.particles[:, 0] - 3.4) <= 0.3).sum() < 20
    assert belief.update(up, seen) == "recovered"
    assert (belief.recoveries, belief.ignored) == (1, 0)
    assert len(np.unique(belief.particles[:, 0])) > 1000
    told_not_to = Belief.initial(make("light-dark"), context, 10_000, seed=3, impossible="ignore")
    assert told_not_to.update(up, seen) == "explained"
    own = Belief(make("light-dark"), context, Belief.initial(make("light-dark"), context, 10_000, seed=3).particles)
    assert own.update(up, seen) == "explained"  # nobody knows where its particles come from


def test_darkness_rules_out_the_light():
    belief = light_dark()
    belief.update(EAST, np.zeros(3))
    assert (np.abs(belief.particles[:, 0] + 2.0) > 0.3).all()
    assert (belief.particles[:, 2] == 1).all()
    assert belief.recoveries == belief.ignored == 0


def test_low_variance_resampling_copies_in_proportion():
    task = make("tiger")
    particles = np.repeat([[0.0], [1.0]], 500, axis=0)
    belief = Belief(task, np.zeros(0), particles, seed=3)
    belief.update(np.array([LISTEN]), np.array([1.0]))
    assert abs(belief.particles.sum() - 850) <= 1


def test_particles_that_agree_all_survive():
    belief = light_dark()
    before = belief.particles.copy()
    belief.update(EAST, np.zeros(3))
    survivors = before[np.abs(before[:, 0] + 0.5 + 2.0) > 0.3]
    assert set(np.round(belief.particles[:, 1], 12)) == set(np.round(survivors[:, 1], 12))


def test_sharp_observations_leave_distinct_particles_in_the_right_place():
    rng = np.random.default_rng(0)
    belief, truth = light_dark(), np.array([-1.9, 2.2])
    for step in range(8):
        north = np.array([0.0, 1.0 if step % 2 == 0 else -1.0])
        truth = truth + 0.5 * north
        belief.update(north, np.array([1.0, *(truth + 0.1 * rng.normal(size=2))]))
    assert len(np.unique(belief.particles[:, 0])) > 500
    spread = belief.particles[:, :2].std(axis=0)
    assert (spread < 0.06).all()
    assert (np.abs(belief.particles[:, :2].mean(axis=0) - truth) < 4 * 0.1 / np.sqrt(8)).all()
    assert (belief.particles[:, 2] == 8).all()


def test_it_recovers_from_an_observation_that_its_particles_exclude():
    belief = light_dark(count=2000)
    belief.update(EAST, np.array([1.0, -1.7, 2.5]))
    belief.particles[:, :2] = [50.0, 50.0]  # lost, as after a long run of bad luck
    belief.update(EAST, np.array([1.0, -1.75, 2.5]))
    assert belief.recoveries + belief.ignored == 1
    assert np.isfinite(belief.particles).all()


def test_a_replay_through_the_past_finds_the_way_back():
    belief = light_dark()
    north = np.array([0.0, 1.0])
    belief.update(north, np.array([1.0, -1.95, 3.0]))
    belief.particles[:, :2] = [50.0, 50.0]
    belief.update(north, np.array([1.0, -1.95, 3.5]))
    assert (belief.recoveries, belief.ignored) == (1, 0)
    np.testing.assert_allclose(belief.particles[:, :2].mean(axis=0), [-1.95, 3.5], atol=0.15)


def test_what_cannot_be_explained_at_all_is_ignored():
    far_light = np.array([3.0, 1.0, 40.0, -2.0, 2.5])
    belief = Belief.initial(make("light-dark"), far_light, 500, seed=1)
    belief.update(EAST, np.array([1.0, 40.0, 2.5]))
    assert (belief.recoveries, belief.ignored) == (0, 1)
    assert (belief.particles[:, 2] == 1).all()  # moved by the action all the same
    assert belief.particles[:, 0].mean() == pytest.approx(-1.5, abs=0.2)


class Beacon(Task):
    """Stand still and hear, within half a unit, where you are. Nothing explains a 99."""

    name = "beacon"
    state_size = action_size = observation_size = 1

    def draw_state(self, context, random, state):
        state[0] = 10.0 * uniform(random)

    def step(self, context, state, action, random, observation):
        observation[0] = state[0] + uniform(random) - 0.5
        return 0.0, Outcome.RUNNING

    def log_likelihood(self, context, state, action, observation):
        return 0.0 if abs(observation[0] - state[0]) <= 0.5 else -math.inf

    def upper_bound(self, context, state):
        return 0.0

    def actions(self):
        return np.zeros((1, 1))


def test_an_ignored_observation_does_not_stand_in_the_way_of_a_later_recovery():
    belief = Belief.initial(Beacon(), np.zeros(0), 300, seed=1)
    for heard, expected in ((3.0, (0, 0)), (99.0, (0, 1)), (3.2, (0, 1))):
        belief.update(np.zeros(1), np.array([heard]))
        assert (belief.recoveries, belief.ignored) == expected
    belief.particles[:] = 8.0
    belief.update(np.zeros(1), np.array([3.1]))
    assert (belief.recoveries, belief.ignored) == (1, 1)
    assert (np.abs(belief.particles - 3.1) <= 0.5).all()


# --------------------------------------------------------------------------------------------- a first observation


def test_what_is_observed_before_the_first_action_weighs_the_particles():
    belief = Belief.initial(make("tiger"), np.zeros(0), 4000, seed=2, observation=np.array([1.0]))
    assert belief.particles.mean() == pytest.approx(0.85, abs=0.03)
    belief.update(np.array([LISTEN]), np.array([1.0]))
    assert belief.particles.mean() == pytest.approx(1.0 / (1.0 + (0.15 / 0.85) ** 2), abs=0.03)
    assert (belief.recoveries, belief.ignored) == (0, 0)


def test_a_first_observation_moves_nothing():
    """It is made where the episode begins: no step has happened, and no time has passed."""
    belief = Belief.initial(make("light-dark"), CONTEXT, 2000, seed=1, observation=np.zeros(3))
    assert (np.abs(belief.particles[:, 0] + 2.0) > 0.3).all()  # in the dark
    assert (belief.particles[:, 2] == 0).all()


def test_a_first_observation_is_kept_through_recoveries():
    """Drawn anew, the particles are weighed by it again: in the past that they relive, nothing else tells of it."""
    belief = Belief.initial(Beacon(), np.zeros(0), 300, seed=1, observation=np.array([3.0]))
    assert (np.abs(belief.particles - 3.0) <= 0.5).all()
    belief.particles[:] = 8.0
    belief.update(np.zeros(1), np.array([3.4]))
    assert (belief.recoveries, belief.ignored) == (1, 0)
    assert (np.abs(belief.particles - 3.2) <= 0.3 + 1e-12).all()  # within half a unit of both


def test_a_first_observation_that_nothing_explains_is_ignored_for_good():
    belief = Belief.initial(Beacon(), np.zeros(0), 300, seed=1, observation=np.array([99.0]))
    plain = Belief.initial(Beacon(), np.zeros(0), 300, seed=1)
    assert (belief.recoveries, belief.ignored) == (0, 1)
    np.testing.assert_array_equal(belief.particles, plain.particles)
    belief.update(np.zeros(1), np.array([3.0]))
    belief.particles[:] = 8.0
    belief.update(np.zeros(1), np.array([3.1]))
    assert (belief.recoveries, belief.ignored) == (1, 1)  # it does not stand in the way of a recovery
    assert (np.abs(belief.particles - 3.1) <= 0.5).all()


def test_a_first_observation_in_a_context_that_has_changed_since_counts_in_its_own():
    belief = Belief.initial(make("light-dark"), CONTEXT, 2000, seed=1, observation=np.array([1.0, -2.0, 2.5]))
    belief.change_context(np.array([3.0, 1.0, 4.0, -2.0, 2.5]))
    belief.update(np.array([0.0, 1.0]), np.zeros(3))  # the light is elsewhere now: this is dark
    belief.particles[:, :2] = [4.0, 0.0]  # lost, in the new light
    belief.update(np.array([0.0, 1.0]), np.zeros(3))
    assert (belief.recoveries, belief.ignored) == (1, 0)
    np.testing.assert_allclose(belief.particles[:, :2].mean(axis=0), [-2.0, 3.5], atol=0.15)


def test_a_task_advises_how_many_particles_there_are():
    assert len(Belief.initial(make("tiger"), np.zeros(0)).particles) == 1000
    assert len(Belief.initial(Beacon(), np.zeros(0)).particles) == BeliefSettings().particles == 10_000


# ------------------------------------------------------------------------------------------------------- robustness


def test_particles_that_have_all_ended_are_kept_as_they_were():
    task = make("light-dark")
    particles = np.tile([0.0, 0.0, 59.0, 0.0], (50, 1))
    belief = Belief(task, CONTEXT, particles)
    belief.update(EAST, np.zeros(3))
    np.testing.assert_array_equal(belief.particles, particles)
    assert belief.ignored == 1


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0, 2 * np.pi), st.booleans(), st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)),
        min_size=1,
        max_size=6,
    )
)
def test_no_observation_breaks_it(past):
    belief = light_dark(count=60)
    for heading, lit, x, y in past:
        belief.update(np.array([np.cos(heading), np.sin(heading)]), np.array([1.0, x, y]) if lit else np.zeros(3))
        assert np.isfinite(belief.particles).all()
        assert belief.particles.shape == (60, 4)


def test_the_same_seed_gives_the_same_belief():
    first, second, other = light_dark(seed=4), light_dark(seed=4), light_dark(seed=5)
    np.testing.assert_array_equal(first.particles, second.particles)
    assert not np.array_equal(first.particles, other.particles)


def test_error_is_the_mean_distance_to_the_truth():
    belief = light_dark(count=1000)
    truth = np.array([-2.0, 2.5, 0.0, 0.0])
    assert belief.error(truth) == pytest.approx(np.sqrt(np.pi / 2), rel=0.2)


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: light_dark(count=0), "at least one particle"),
        (lambda: Belief(make("tiger"), np.zeros(0), np.array([[np.nan]])), "NaN"),
        (lambda: Belief(make("tiger"), np.zeros(0), np.zeros((5, 2))), "shape"),
        (lambda: Belief(make("tiger"), np.zeros(3), np.zeros((5, 1))), "context"),
        (lambda: light_dark(10).update(np.zeros(3), np.zeros(3)), "action"),
        (lambda: light_dark(10).update(np.zeros(2), np.full(3, np.nan)), "observation"),
        (lambda: Belief.initial(Beacon(), np.zeros(0), 5, observation=np.zeros(2)), "first observation"),
        (lambda: Belief.initial(Beacon(), np.zeros(0), 5, observation=np.array([np.nan])), "first observation"),
        (lambda: light_dark(10).change_context(np.zeros(2)), "context"),
    ],
)
def test_bad_input_is_refused(attempt, message):
    with pytest.raises(ValueError, match=message):
        attempt()


def test_without_an_observation_the_belief_is_only_moved():
    belief = light_dark()
    before = belief.particles.copy()
    assert belief.update(EAST, None) == "predicted"
    np.testing.assert_allclose(belief.particles[:, :2], before[:, :2] + 0.5 * EAST)
    assert belief.update(EAST, np.zeros(3)) == "explained"


def test_that_an_episode_goes_on_tells_something_too():
    """Particles whose episode has ended are out; if all have, nothing explains that it goes on."""
    belief = light_dark(count=1000, max_steps=3)
    belief.particles[:400, 2] = 2.0  # one step, and they have run out of time
    assert belief.update(EAST, None) == "predicted"
    assert (belief.particles[:, 2] == 1.0).all()
    belief.particles[:, 2] = 2.0
    belief.impossible = "ignore"
    assert belief.update(EAST, None) == "ignored"
    assert (belief.particles[:, 2] == 2.0).all()
