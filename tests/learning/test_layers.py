"""Layers, against what torch makes of them: the values, and the gradients by everything that goes in."""

import dataclasses

import pytest
import torch
from test_networks import SPACES, fitted, make_shape, some_experience
from torch.nn import functional

from magic_pomdp.learning import layers, networks
from magic_pomdp.learning.layers import linear, mean_and_largest, pooled_layer
from magic_pomdp.learning.learner import Learner
from magic_pomdp.learning.settings import TrainSettings


def plain_pooled_layer(each, weight, bias):
    return torch.relu(functional.linear(each, weight, bias)).mean(-2)


def plain_mean_and_largest(each):
    return torch.cat([each.mean(-2), each.amax(-2)], dim=-1)


def tensors(*sizes, dtype=torch.float32):
    torch.manual_seed(3)
    return [torch.randn(size, dtype=dtype, requires_grad=True) for size in sizes]


def assert_same(function, plain, inputs):
    mine, torchs = function(*inputs), plain(*inputs)
    torch.testing.assert_close(mine, torchs, atol=1e-5, rtol=1e-5)
    asked = [tensor for tensor in inputs if tensor is not None]
    direction = torch.randn_like(mine)
    gradients = (torch.autograd.grad((result * direction).sum(), asked) for result in (mine, torchs))
    for gradient, torchs in zip(*gradients, strict=True):
        torch.testing.assert_close(gradient, torchs, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("before", "after"), [(3, 8), (8, 3), (1, 1), (0, 4), (64, 128), (128, 64)])
@pytest.mark.parametrize("rows", [(1,), (20,), (4, 5)])
def test_a_linear_layer(before, after, rows):
    x, weight, bias = tensors((*rows, before), (after, before), (after,))
    assert_same(linear, functional.linear, [x, weight, bias])
    assert_same(lambda x, weight: linear(x, weight, None), functional.linear, [x, weight])


@pytest.mark.parametrize("before", [0, 4, 30])
def test_a_pooled_layer(before):
    assert_same(pooled_layer, plain_pooled_layer, tensors((70, 5, before), (6, before), (6,)))


def test_mean_and_largest():
    assert_same(mean_and_largest, plain_mean_and_largest, tensors((7, 5, 4)))
    each = torch.tensor([[[2.0, 1.0], [2.0, 3.0], [0.0, 3.0]]], requires_grad=True)  # the largest are two
    assert_same(mean_and_largest, plain_mean_and_largest, [each])


def test_gradients_are_finite_differences():
    double = torch.float64
    each, weight, bias = tensors((7, 5, 4), (6, 4), (6,), dtype=double)
    assert torch.autograd.gradcheck(linear, (each, weight, bias))
    assert torch.autograd.gradcheck(pooled_layer, (each, weight, bias))
    assert torch.autograd.gradcheck(mean_and_largest, (each,))


@pytest.mark.parametrize("kind", ["sphere", "box", "sphere and length"])
@pytest.mark.parametrize("members", [0, 1])
@pytest.mark.parametrize("critic", ["set", "flat"])
def test_networks_learn_as_they_would_of_torchs_layers(kind, members, critic, monkeypatch):
    shape = dataclasses.replace(make_shape(kind), members=members, member_features=2 * members)
    experience = some_experience(shape)
    _, inputs = fitted(shape, experience)
    learner = Learner(shape, SPACES[kind].start, TrainSettings(critic=critic))
    floor, chosen = torch.from_numpy(experience.floor), torch.from_numpy(experience.parameters)

    def gradients():
        judged = learner.critic(learner.critic.describe(inputs), chosen, floor)
        drawn, std = learner.generator.sample(inputs, torch.Generator().manual_seed(1))
        expected = learner.critic(learner.critic.describe(inputs).detach(), drawn, floor).value
        of_critic = torch.autograd.grad((judged.value / judged.value_std).mean(), list(learner.critic.parameters()))
        of_generator = torch.autograd.grad((expected + std.sum(1)).mean(), list(learner.generator.parameters()))
        return *of_critic, *of_generator

    mine = gradients()
    monkeypatch.setattr(layers, "linear", functional.linear)
    monkeypatch.setattr(networks, "pooled_layer", plain_pooled_layer)
    monkeypatch.setattr(networks, "mean_and_largest", plain_mean_and_largest)
    for gradient, torchs in zip(mine, gradients(), strict=True):
        torch.testing.assert_close(gradient, torchs, atol=1e-5, rtol=1e-4)
