"""Mirror images, against ones that are made by hand of states, contexts and actions."""

import dataclasses

import numpy as np
import pytest
from test_trainer import TINY, state_of
from toy import Target

import magic_pomdp as mp
from magic_pomdp.learning import Mirror, train
from magic_pomdp.learning.mirroring import check_mirrors, reflected
from magic_pomdp.learning.replay import Experience
from magic_pomdp.learning.state import TrainingState
from magic_pomdp.magic.shape import GeneratorShape
from magic_pomdp.planners import MacroDespotSettings
from magic_pomdp.random import new_stream
from magic_pomdp.tasks import light_dark, puck_push

QUIET = {"speed_noise": 0.0, "heading_noise": 0.0, "creep_noise": 0.0, "gap_noise": 0.0}


def negative(numbers, *places):
    numbers = numbers.copy()
    numbers[list(places)] *= -1.0
    return numbers


def upside_down(numbers, *places):
    """About the middle of Puck-Push's board."""
    numbers = numbers.copy()
    numbers[list(places)] = 598.0 - numbers[list(places)]
    return numbers


def test_who_is_not_told_the_context_learns_from_no_mirror_images(tmp_path):
    """A hidden context stays as it is, so the image of a particle's features would not be that of any situation."""
    for conditioning, mirrors in (("belief", 0), ("context", 1), ("belief+context", 1), ("none", 1)):
        settings = dataclasses.replace(TINY, conditioning=conditioning)
        state = TrainingState(mp.make("puck-push"), settings, tmp_path)
        assert len(state.learner.mirrors) == mirrors


LEFT_RIGHT, UP_DOWN = np.array([-1.0, 1.0]), np.array([1.0, -1.0])
CASES = {
    "light-dark, left and right": (
        mp.make("light-dark"),
        0,
        lambda context: negative(context, light_dark.GOAL_X, light_dark.LIGHT, light_dark.START_X),
        lambda state: negative(state, light_dark.X),
        LEFT_RIGHT,
    ),
    "light-dark, up and down": (
        mp.make("light-dark"),
        1,
        lambda context: negative(context, light_dark.GOAL_Y, light_dark.START_Y),
        lambda state: negative(state, light_dark.Y),
        UP_DOWN,
    ),
    "puck-push": (
        mp.make("puck-push", **QUIET),
        0,
        lambda context: upside_down(context, puck_push.GOAL_Y),
        lambda state: upside_down(state, puck_push.BOT_Y, puck_push.PUCK_Y),
        UP_DOWN,
    ),
}


def features(task, context, state):
    of_particle, of_context = np.empty(task.particle_features_size), np.empty(task.context_features_size)
    task.particle_features(context, state, of_particle)
    task.context_features(context, of_context)
    return of_particle, of_context


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(5))
def test_a_mirror_shows_what_the_networks_would_see_and_do_there(case, seed):
    task, number, mirror_context, mirror_state, signs = CASES[case]
    mirror, space = task.mirrors()[number], task.macro_space(MacroDespotSettings.advised(task).macro_length)
    random = np.random.default_rng(seed)
    context, state = np.empty(task.context_size), np.empty(task.state_size)
    task.draw_context(new_stream(seed), context)
    task.draw_state(context, new_stream(seed, 1), state)
    parameters = space.start[random.integers(space.count)] + 0.3 * random.normal(size=space.size)
    parameters = np.tile(parameters / np.linalg.norm(parameters), (space.count, 1))
    there = mirror_context(context), mirror_state(state)
    np.testing.assert_allclose(
        space.decode(parameters * mirror.parameter_signs).actions[0], space.decode(parameters).actions[0] * signs
    )
    for time in range(12):
        of_particle, of_context = features(task, context, state)
        seen = (
            mirror.particle_signs * of_particle + mirror.particle_shifts,
            mirror.context_signs * of_context + mirror.context_shifts,
        )
        for shown, expected in zip(seen, features(task, *there), strict=True):
            np.testing.assert_allclose(shown, expected, atol=1e-9)
        action = space.decode(parameters).actions[0, time % space.length]
        observation = np.empty(task.observation_size)
        here = task.step(context, state, action, new_stream(seed, 2, time), observation)
        over_there = task.step(*there, action * signs, new_stream(seed, 2, time), observation)
        assert here == over_there
        np.testing.assert_allclose(mirror_state(state), there[1], atol=1e-6)


def test_only_what_is_turned_is_reflected():
    plans = Experience(
        particles=np.arange(12.0, dtype=np.float32).reshape(3, 2, 2),
        context=np.arange(3.0, dtype=np.float32).reshape(3, 1),
        parameters=np.arange(6.0, dtype=np.float32).reshape(3, 2, 1),
        value=np.zeros(3, np.float32),
        values=np.zeros((3, 2), np.float32),
        floor=np.zeros(3, np.float32),
    )
    mirrors = Mirror((-1.0, 1.0), (1.0,), (-1.0,), (0.0, 5.0)), Mirror((1.0, -1.0), (-1.0,), (1.0,), (0.0,), (7.0,))
    seen = reflected(plans, mirrors, np.array([[True, False, True], [False, False, True]]))
    np.testing.assert_array_equal(seen.particles[0], [[-0.0, 6.0], [-2.0, 8.0]])
    np.testing.assert_array_equal(seen.particles[1], plans.particles[1])
    np.testing.assert_array_equal(seen.particles[2], [[-8.0, -14.0], [-10.0, -16.0]])
    np.testing.assert_array_equal(seen.context[:, 0], [0.0, 1.0, 5.0])
    np.testing.assert_array_equal(seen.parameters[:, :, 0], [[-0.0, -1.0], [2.0, 3.0], [-4.0, -5.0]])
    assert seen.particles.dtype == np.float32


class TwoSided(Target):
    """A target to the left is one to the right in a mirror."""

    name = "two-sided"

    def mirrors(self):
        return (Mirror((-1.0,), (-1.0,), (-1.0,)),)


@pytest.mark.slow
def test_a_training_learns_from_mirror_images_unless_it_is_told_not_to(tmp_path):
    for name, mirror in (("with", True), ("without", False)):
        train(TwoSided(), dataclasses.replace(TINY, mirror=mirror), tmp_path / name)
    train(Target(), TINY, tmp_path / "plain")
    learned = {name: state_of(tmp_path / name)[0]["generator.head.weight"] for name in ("with", "without", "plain")}
    assert not np.array_equal(learned["with"], learned["without"])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"particle_signs": ()}, "The particle_signs of a mirror of two-sided must be 1 numbers, not 0"),
        ({"context_signs": (1.0, 1.0)}, "The context_signs of a mirror of two-sided must be 1 numbers, not 2"),
        ({"parameter_signs": (1.0, 1.0)}, "The parameter_signs of a mirror"),
        ({"particle_shifts": (1.0, 1.0)}, "The particle_shifts of a mirror"),
        ({"context_shifts": (1.0, 1.0)}, "The context_shifts of a mirror"),
    ],
)
def test_a_mirror_of_another_size_is_refused(monkeypatch, change, sentence):
    task = TwoSided()
    shape = GeneratorShape.for_task(task, task.macro_space(1))
    (mirror,) = check_mirrors(task, shape, task.macro_space(1))
    monkeypatch.setattr(TwoSided, "mirrors", lambda self: (mirror._replace(**change),))
    with pytest.raises(ValueError, match=sentence):
        check_mirrors(task, shape, task.macro_space(1))


def test_a_training_that_knew_no_mirror_images_goes_on_without_them():
    older = {name: value for name, value in TINY.values().items() if name != "mirror"}
    assert TINY.differences(older) == ["mirror"]
    assert dataclasses.replace(TINY, mirror=False).differences(older) == []
