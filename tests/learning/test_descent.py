"""Adam on one vector, against torch's on every tensor."""

import torch

from magic_pomdp.learning.descent import Descent

SIZES = ((5, 3), (5,), (), (2, 0))


def some_weights():
    torch.manual_seed(1)
    return [torch.randn(size, requires_grad=True) for size in SIZES]


def objective(weights, goal):
    return sum(((weight - goal) ** 4).sum() for weight in weights)


def descend(descent, goals):
    for goal in goals:
        descent.step(descent.gradient(objective(descent.weights, goal)))


def test_steps_are_those_of_torch():
    descent, weights = Descent(some_weights(), 0.1), some_weights()
    adam = torch.optim.Adam(weights, 0.1)
    for goal in (1.0, 3.0, -2.0, 0.5, 0.5):
        descend(descent, [goal])
        adam.zero_grad()
        objective(weights, goal).backward()
        adam.step()
        torch.testing.assert_close(descent.weights, weights, atol=1e-6, rtol=1e-5)
    known, state = adam.state_dict()["state"], descent.state()
    for name, moment in state.items():
        number, _, key = name.partition(".")
        torch.testing.assert_close(moment, known[int(number)][key], atol=1e-6, rtol=1e-4)
    assert len(state) == 3 * len(SIZES)


def test_who_remembers_the_same_goes_on_alike():
    first, second = Descent(some_weights(), 0.1), Descent(some_weights(), 0.1)
    assert first.state() == {}
    descend(first, [1.0, 2.0])
    for weight, known in zip(second.weights, first.weights, strict=True):
        weight.data.copy_(known)
    second.restore({name: moment.clone() for name, moment in first.state().items()})
    for descent in (first, second):
        descend(descent, [3.0, 4.0])
    assert all(torch.equal(*pair) for pair in zip(first.weights, second.weights, strict=True))
    second.restore({})
    assert second.state() == {}


def test_what_is_computed_of_frozen_weights_has_no_gradients_by_them():
    descent, x = Descent(some_weights(), 0.1), torch.ones(3, requires_grad=True)
    with descent.frozen():
        y = descent.weights[0] @ x
    y.sum().backward()
    assert x.grad is not None
    assert descent.weights[0].grad is None
    assert all(weight.requires_grad for weight in descent.weights)
