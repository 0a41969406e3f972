import dataclasses
import time

import numpy as np
import pytest
import torch

import magic_pomdp as mp
from magic_pomdp import Belief
from magic_pomdp.learning.networks import (
    FlatCritic,
    GeneratorNetwork,
    Normaliser,
    SetCritic,
    _IntoBox,
)
from magic_pomdp.learning.replay import Experience
from magic_pomdp.macros import BezierSpace, HeldActionSpace, LearnedLengths
from magic_pomdp.magic.generator import Features, Generator, place
from magic_pomdp.magic.shape import GeneratorShape
from magic_pomdp.random import new_stream

SPACES = {
    "sphere": BezierSpace(4, 3),
    "box": HeldActionSpace(2, (-1.0, 0.0), (1.0, 3.0), ((0.0, 1.0), (1.0, 3.0))),
    "sphere and length": LearnedLengths(BezierSpace(4, 3), (3, 1)),
}


def make_shape(kind="sphere", **changes):
    space = SPACES[kind]
    sizes = {"particles": 5, "encoder": 7, "trunk": (11, 6), **changes}
    return GeneratorShape(4, 2, space.count, space.size, space.kind, **sizes)


def some_experience(shape, count=40):
    random = np.random.default_rng(1)
    sizes = Experience.shapes(shape).items()
    return Experience(**{name: random.normal(2.0, 3.0, (count, *size)).astype(np.float32) for name, size in sizes})


def fitted(shape, experience):
    normaliser = Normaliser(shape)
    normaliser.fit(experience)
    return normaliser, normaliser(torch.from_numpy(experience.particles), torch.from_numpy(experience.context))


def make_generator(shape, std=0.1, seed=0, start="handcrafted"):
    torch.manual_seed(seed)
    return GeneratorNetwork(shape, SPACES[shape.kind].start if start == "handcrafted" else None, std)


@pytest.mark.parametrize("inputs", ["relative", "plain"])
@pytest.mark.parametrize("members", [0, 1])
@pytest.mark.parametrize("conditioning", ["belief+context", "belief", "context", "none"])
@pytest.mark.parametrize("kind", SPACES)
def test_the_compiled_generator_is_the_trained_one(kind, conditioning, members, inputs):
    shape = make_shape(kind, conditioning=conditioning, members=members, member_features=2, inputs=inputs)
    experience, network = some_experience(shape), make_generator(shape)
    normaliser, inputs = fitted(shape, experience)
    with torch.no_grad():
        for weight in network.parameters():  # every weight matters
            weight += 0.3 * torch.randn_like(weight)
        means, stds = network(inputs)
    arrays = {f"normaliser.{name}": value for name, value in normaliser.state_dict().items()} | network.state_dict()
    generator = Generator(shape, shape.pack({name: value.numpy() for name, value in arrays.items()}))
    for i in range(10):
        particles, context = experience.particles[i], experience.context[i]
        np.testing.assert_allclose(generator.mean(particles, context), place(means[i].numpy(), kind), atol=1e-5)
        np.testing.assert_allclose(generator._run(particles, context)[1], stds[i].numpy(), rtol=1e-4)


def test_the_order_of_members_does_not_matter():
    shape = dataclasses.replace(make_shape(), particle_features=8, members=3, member_features=2)
    experience, network = some_experience(shape), make_generator(shape)
    normaliser, inputs = fitted(shape, experience)
    own, members = np.split(experience.particles, [2], axis=-1)
    turned = np.concatenate([own, np.roll(members, 2, axis=-1)], axis=-1)
    other = normaliser(torch.from_numpy(turned), torch.from_numpy(experience.context))
    for mine, same in zip(network(inputs), network(other), strict=True):
        torch.testing.assert_close(mine, same)
    assert not torch.allclose(inputs.members, other.members)


@pytest.mark.parametrize("kind", SPACES)
def test_a_generator_begins_at_the_handcrafted_set(kind):
    shape = make_shape(kind)
    _, inputs = fitted(shape, some_experience(shape))
    with torch.no_grad():
        means, stds = make_generator(shape, std=0.08)(inputs)
    assert np.abs(place(means.numpy(), kind) - SPACES[kind].start).max() < 0.3
    assert 0.06 < stds.mean() < 0.1


@pytest.mark.parametrize("kind", SPACES)
def test_a_generator_may_begin_anywhere(kind):
    shape = make_shape(kind)
    _, inputs = fitted(shape, some_experience(shape))
    with torch.no_grad():
        (one, stds), (other, _) = (make_generator(shape, 0.08, seed, "random")(inputs) for seed in range(2))
    assert np.abs(place(one.numpy(), kind) - SPACES[kind].start).max() > 0.3
    assert np.abs(place(one.numpy(), kind) - place(other.numpy(), kind)).max() > 0.3
    assert 0.06 < stds.mean() < 0.1


def test_plain_inputs_are_the_numbers_as_they_are():
    shape = make_shape(inputs="plain")
    experience = some_experience(shape)
    _, inputs = fitted(shape, experience)
    np.testing.assert_array_equal(inputs.each.numpy(), experience.particles)
    np.testing.assert_array_equal(inputs.context.numpy(), experience.context)
    assert inputs.belief.shape == (40, 0)


def test_a_task_names_the_numbers_that_plain_inputs_are():
    task = mp.make("light-dark")
    shape = GeneratorShape.for_task(task, task.macro_space(4), particles=5, inputs="plain")
    context = np.array([3.0, 1.0, -2.0, 2.5, -3.0])
    states = np.column_stack([np.arange(50.0), np.full(50, -1.0), np.full(50, 7.0), np.zeros(50)])
    particles, known = Features(task, shape)(states, context)
    np.testing.assert_array_equal(particles, [[7.0, x, -1.0] for x in (5, 15, 25, 35, 45)])
    np.testing.assert_array_equal(known, [3.0, 1.0, -2.0])
    cars = mp.make("crowd-driving")
    plain, relative = (
        GeneratorShape.for_task(cars, cars.macro_space(3), inputs=inputs) for inputs in ("plain", "relative")
    )
    assert (plain.particle_features, plain.members) == (relative.particle_features, relative.members)


def test_numbers_that_a_state_does_not_have_are_refused():
    class Beyond(type(mp.make("light-dark"))):
        name = "beyond"
        plain_features = ((0, 4), ())

    task = Beyond()
    with pytest.raises(ValueError, match="plain_features of beyond must name numbers of a state, 0 to 3, and of"):
        GeneratorShape.for_task(task, task.macro_space(4), inputs="plain")
    GeneratorShape.for_task(task, task.macro_space(4))


def test_what_a_generator_is_told():
    for conditioning in ("belief+context", "belief", "context", "none"):
        shape = make_shape(conditioning=conditioning)
        experience, network = some_experience(shape), make_generator(shape)
        moved = dataclasses.replace(experience, particles=experience.particles + 1.0)
        elsewhere = dataclasses.replace(experience, context=experience.context + 1.0)
        normaliser, inputs = fitted(shape, experience)
        same = []
        for changed in (moved, elsewhere):
            others = normaliser(torch.from_numpy(changed.particles), torch.from_numpy(changed.context))
            same.append(torch.equal(network(inputs)[0], network(others)[0]))
        assert same == ["belief" not in conditioning, "context" not in conditioning]


def test_particles_and_macro_actions_have_no_order():
    shape = make_shape()
    experience = some_experience(shape)
    normaliser, inputs = fitted(shape, experience)
    shuffled = normaliser(torch.from_numpy(experience.particles[:, ::-1].copy()), torch.from_numpy(experience.context))
    network, critic = make_generator(shape), SetCritic(shape, 16)
    torch.testing.assert_close(network(inputs)[0], network(shuffled)[0], atol=1e-5, rtol=1e-4)
    parameters, floor = torch.from_numpy(experience.parameters), torch.from_numpy(experience.floor)
    one = critic(critic.describe(inputs), parameters, floor)
    other = critic(critic.describe(shuffled), parameters.flip(1), floor)
    torch.testing.assert_close(one.value, other.value, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(one.values, other.values.flip(1), atol=1e-4, rtol=1e-4)


def test_samples_are_spread_as_told_and_carry_gradients():
    for kind in SPACES:
        shape = make_shape(kind)
        _, inputs = fitted(shape, some_experience(shape, 2000))
        network = make_generator(shape)
        parameters, std = network.sample(inputs, torch.Generator().manual_seed(1))
        assert parameters.shape == (2000, shape.count, shape.size)
        assert (std > shape.std_range[0]).all()
        assert (std < shape.std_range[1]).all()
        inside = parameters.abs() < 1.0  # all but those that were clipped
        spread = (parameters - network(inputs)[0])[inside].std().item()
        assert spread == pytest.approx(std.mean().item(), rel=0.15)
        assert (parameters.abs() <= 1.0).all()
        gradients = torch.autograd.grad(parameters.sum(), list(network.parameters()))
        assert all(torch.isfinite(gradient).all() for gradient in gradients)
        assert all(gradient.abs().sum() > 0 for gradient in gradients)


def test_the_compiled_generator_samples_with_the_same_spread():
    shape = make_shape()
    experience, network = some_experience(shape), make_generator(shape)
    normaliser, _ = fitted(shape, experience)
    arrays = {f"normaliser.{name}": value for name, value in normaliser.state_dict().items()} | network.state_dict()
    generator = Generator(shape, shape.pack({name: value.numpy() for name, value in arrays.items()}))
    seen = experience.particles[0], experience.context[0]
    samples = np.array([generator.sample(*seen, new_stream(i)) for i in range(500)])
    np.testing.assert_allclose(np.linalg.norm(samples, axis=-1), 1.0, atol=1e-9)
    tangent = (samples - generator.mean(*seen)).std(axis=0).mean(axis=1)  # 5 of 6 directions are left on the sphere
    np.testing.assert_allclose(tangent, generator._run(*seen)[1] * np.sqrt(5 / 6), rtol=0.15)
    np.testing.assert_array_equal(samples[3], generator.sample(*seen, new_stream(3)))


def test_critics_judge():
    shape = make_shape()
    experience = some_experience(shape)
    _, inputs = fitted(shape, experience)
    parameters, floor = torch.from_numpy(experience.parameters), torch.from_numpy(experience.floor)
    judged = SetCritic(shape, 16)(SetCritic(shape, 16).describe(inputs), parameters, floor)
    assert judged.value.shape == judged.value_std.shape == (40,)
    assert judged.values.shape == judged.values_std.shape == (40, shape.count)
    assert (judged.values_std > 0.0).all()
    flat = FlatCritic(shape, 8)
    judged = flat(flat.describe(inputs), parameters, floor)
    assert judged.value.shape == (40,)
    assert judged.values is None


def test_what_is_worth_less_than_what_is_always_there_hardly_counts():
    shape = make_shape()
    experience, critic = some_experience(shape), SetCritic(shape, 16)
    _, inputs = fitted(shape, experience)
    with torch.no_grad():
        for weight in critic.correct.parameters():  # the soft maximum alone
            weight.zero_()
    parameters = torch.from_numpy(experience.parameters).requires_grad_()

    def judge(floor):
        judged = critic(critic.describe(inputs), parameters, torch.full((40,), floor))
        return judged, torch.autograd.grad(judged.value.sum(), parameters)[0].abs().sum()

    alone, pull = judge(-np.inf)
    best = alone.values.max(1).values
    assert (alone.value >= best).all()
    torch.testing.assert_close(alone.value, best, atol=0.12, rtol=0.0)
    under, weaker = judge(best.max().item() + 1.0)
    torch.testing.assert_close(under.value, torch.full((40,), best.max().item() + 1.0), atol=1e-3, rtol=0.0)
    assert weaker < 1e-3 * pull


def test_a_parameter_at_its_limit_can_come_back():
    free = torch.tensor([-1.5, -0.5, 0.5, 1.5], requires_grad=True)
    placed = _IntoBox.apply(free)
    np.testing.assert_array_equal(placed.detach(), place(free.detach().numpy(), "box"))
    for direction, passed in ((1.0, [0, 1, 1, 1]), (-1.0, [-1, -1, -1, 0])):  # descent goes against the gradient
        assert torch.autograd.grad(direction * placed.sum(), free, retain_graph=True)[0].tolist() == passed


def test_normalised_features_are_of_order_one_even_where_they_do_not_vary():
    shape = make_shape()
    experience = some_experience(shape, 500)
    experience.particles[:, :, 1] = 7.0
    experience.particles[:, :, 2] *= 1e4
    _, inputs = fitted(shape, experience)
    assert all(torch.isfinite(part).all() for part in inputs[:3])
    assert inputs.each.abs().max() < 20.0
    assert inputs.belief[:, :4].std(0).tolist() == pytest.approx([1.0, 0.0, 1.0, 1.0], abs=0.05)


def test_features_hide_the_context_from_a_generator_of_beliefs():
    task = mp.make("light-dark")
    here, there = np.array([3.0, 1.0, -2.0, 2.5, -3.0]), np.array([-1.0, 2.0, 3.0, 2.5, -3.0])
    belief = Belief.initial(task, here, 100)
    for conditioning, same in (("belief", True), ("belief+context", False)):
        features = Features(task, GeneratorShape.for_task(task, task.macro_space(4), conditioning=conditioning))
        assert np.array_equal(features(belief.particles, here)[0], features(belief.particles, there)[0]) == same
    particles, context = features(belief, here)
    assert particles.shape == (32, 4)
    np.testing.assert_allclose(context, [0.75, 0.25, -0.5])
    np.testing.assert_allclose(particles[:, 0], (3.0 - belief.particles[1::3, 0][:32]) / 4.0, atol=0.8)
    assert features(belief.particles[:3], here)[0].shape == (32, 4)  # fewer particles than are looked at


def test_making_macro_actions_takes_less_than_a_millisecond(jit):
    task = mp.make("light-dark")
    space = task.macro_space(8)
    shape = GeneratorShape.for_task(task, space)
    generator = Generator(shape, np.full(shape.weight_count, 0.01, np.float32))
    features, context = Features(task, shape), np.array([3.0, 1.0, -2.0, 2.5, -3.0])
    belief, times = Belief.initial(task, context), []
    for _ in range(200):
        started = time.perf_counter()
        space.decode(generator.mean(*features(belief, context)))
        times.append(time.perf_counter() - started)
    assert np.median(times) < 1e-3


def test_bad_shapes_are_refused():
    with pytest.raises(ValueError, match="cannot be conditioned on 'all'"):
        make_shape(conditioning="all")
    with pytest.raises(ValueError, match="particles must be at least 1, not 0"):
        make_shape(particles=0)
    with pytest.raises(ValueError, match="positive, in order and up to 1000"):
        make_shape(std_range=(0.3, 0.1))
    shape = make_shape()
    with pytest.raises(ValueError, match="weights, not"):
        Generator(shape, np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="NaN or infinity"):
        Generator(shape, np.full(shape.weight_count, np.nan, np.float32))
    with pytest.raises(ValueError, match=r"normaliser.centre must have shape \(4,\), but is missing"):
        shape.pack({})
