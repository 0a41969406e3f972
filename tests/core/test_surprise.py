"""What is far too surprising is impossible: ghosts are ignored, a robot that was moved is found, and nothing else
changes."""

import math

import numpy as np
import pytest

from magic_pomdp import Belief, ImpossibleObservation, Outcome, make
from magic_pomdp.running import SimulatedWorld
from magic_pomdp.tasks.tiger import LISTEN

CONTEXT = np.array([3.0, 1.0, -2.0, -1.5, -3.0])  # goal, light at −2, prior around (−1.5, −3)
UP = np.array([0.0, 1.0])
GHOST = np.array([1.0, 50.0, 50.0])
COUNT = 3000


def light_dark(**given):
    return Belief.initial(make("light-dark"), CONTEXT, COUNT, **{"surprise": 20.0, **given})


def walk(belief, steps, start, see=lambda i, true: true):
    """Go up in the light; what came of each look, and the true position at the end."""
    true, found = np.array(start), []
    for i in range(steps):
        true = true + 0.5 * UP
        found.append(belief.update(UP, np.array([1.0, *see(i, true)])))
    return found, true


def error(belief, true):
    return np.abs(belief.particles[:, :2].mean(axis=0) - true).max()


@pytest.mark.parametrize("choice", ["recover", "ignore"])
@pytest.mark.parametrize("when", [0, 2])
def test_a_ghost_is_ignored(choice, when):
    belief = light_dark(impossible=choice)
    found, true = walk(belief, 5, (-2.1, -3.2), lambda i, true: GHOST[1:] if i == when else true)
    assert found == ["ignored" if i == when else "explained" for i in range(5)]
    assert error(belief, true) < 0.15
    assert belief.particles[:, 1].std() < 0.1


def test_a_ghost_can_be_refused():
    belief = light_dark(impossible="raise")
    belief.update(UP, np.array([1.0, -2.1, -2.7]))
    before = belief.particles.copy()
    with pytest.raises(ImpossibleObservation, match="No particle of the belief explains"):
        belief.update(UP, GHOST)
    np.testing.assert_array_equal(belief.particles, before)


def test_a_robot_that_was_carried_away_is_found_at_the_second_look():
    belief = light_dark()
    walk(belief, 3, (-2.1, -3.2))
    found, true = walk(belief, 4, (-2.0, 3.0))
    assert found == ["ignored", "recovered", "explained", "explained"]
    assert error(belief, true) < 0.15
    found, true = walk(belief, 3, (-2.2, -1.0))  # and once more
    assert found == ["ignored", "recovered", "explained"]
    assert error(belief, true) < 0.15
    assert (belief.particles[:, 2] == 10.0).all()  # the steps that were taken


def test_ghosts_that_do_not_agree_move_nobody():
    belief = light_dark()
    ghosts = {1: (-2.0, 3.0), 2: (-2.1, -0.5), 4: (-1.9, 2.0)}
    found, true = walk(belief, 6, (-2.1, -3.2), lambda i, true: ghosts.get(i, true))
    assert found == ["explained", "ignored", "ignored", "explained", "ignored", "explained"]
    assert error(belief, true) < 0.15


@pytest.mark.parametrize("name", ["light-dark", "tiger", "rock-sample"])
def test_what_is_explained_is_not_changed(name):
    task = make(name)
    world = SimulatedWorld(task)
    for episode in range(2):
        context = world.begin(3, episode).context
        plain = Belief.initial(task, context, COUNT, seed=episode)
        wary = Belief.initial(task, context, COUNT, seed=episode, surprise=20.0)
        actions, luck = task.actions(), np.random.default_rng(episode)
        for _ in range(12):
            action = actions[luck.integers(len(actions))]
            happened = world.act(action)
            if happened.outcome != Outcome.RUNNING:
                break
            assert plain.update(action, happened.observation) == wary.update(action, happened.observation)
            np.testing.assert_array_equal(plain.particles, wary.particles)


@pytest.mark.parametrize("count", [30, 300])
def test_few_particles_are_no_reason_for_surprise(count):
    """Honest looks, some of them far out, where hardly any particle is: then fresh ones are found."""
    surprises = 0
    for seed in range(30):
        belief = Belief.initial(make("light-dark", light_half_width=6.0), CONTEXT, count, seed, surprise=20.0)
        luck = np.random.default_rng(seed)
        true = CONTEXT[3:] + luck.normal(size=2) + 0.5 * UP
        told = belief.update(UP, np.array([1.0, *(true + 0.1 * luck.normal(size=2))]))
        assert told in ("explained", "recovered")
        surprises += told == "recovered"
    assert surprises <= 3


def test_what_cannot_surprise_is_explained():
    """A discrete observation is as likely as its probability, however often it comes."""
    belief = Belief.initial(make("tiger"), np.zeros(0), 500, surprise=20.0)
    assert {belief.update(np.array([LISTEN]), np.array([float(i % 2)])) for i in range(20)} == {"explained"}


def test_without_it_all_that_could_be_is_explained():
    assert light_dark(surprise=None).update(UP, GHOST) == "explained"
    assert light_dark(surprise=math.inf).update(UP, GHOST) == "explained"


@pytest.mark.parametrize("nats", [0.0, -1.0, math.nan])
def test_a_surprise_is_above_0(nats):
    with pytest.raises(ValueError, match="a number of nats above 0"):
        light_dark(surprise=nats)


@pytest.mark.parametrize("nats", [None, 20.0, math.inf])
def test_a_stored_belief_goes_on_alike(nats):
    belief = light_dark(surprise=nats)
    walk(belief, 2, (-2.1, -3.2))
    walk(belief, 1, (-2.0, 3.0))
    twin = Belief.from_arrays(belief.task, belief.to_arrays())
    assert walk(belief, 3, (-2.0, 3.5))[0] == walk(twin, 3, (-2.0, 3.5))[0]
    np.testing.assert_array_equal(belief.particles, twin.particles)
    broken = belief.to_arrays() | {"before_ignored": belief.particles, "numbers": np.full(6, 99, np.uint64)}
    with pytest.raises(ValueError, match="what is not in its past"):
        Belief.from_arrays(belief.task, broken)
