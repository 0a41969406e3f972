import math

import pytest
import torch

from magic_pomdp.learning.objectives import (
    alpha_objective,
    free_entropy,
    generator_objective,
    negative_log_likelihood,
)


def tensor(*values, grad=False):
    return torch.tensor(values, dtype=torch.float64, requires_grad=grad)


def test_likelihood_of_a_standard_normal():
    assert negative_log_likelihood(tensor(0.0), tensor(1.0), tensor(0.0)).item() == pytest.approx(0.9189385332)
    # two deviations away, and a deviation of 2: 2 + ln 2 more
    assert negative_log_likelihood(tensor(1.0), tensor(2.0), tensor(5.0)).item() == pytest.approx(
        0.9189385332 + 2.0 + math.log(2.0)
    )
    both = negative_log_likelihood(tensor(0.0, 1.0), tensor(1.0, 2.0), tensor(0.0, 5.0)).item()
    assert both == pytest.approx(0.9189385332 + 0.5 * (2.0 + math.log(2.0)))


def test_entropy_of_a_normal():
    assert free_entropy(tensor(1.0)).item() == pytest.approx(1.4189385332)
    assert free_entropy(tensor(0.1)).item() == pytest.approx(1.4189385332 - math.log(10.0))


def test_generator_wants_value_and_entropy():
    objective = generator_objective(tensor(1.0, 3.0), torch.tensor([[0.5, 1.5], [1.0, 1.0]]), 0.1)
    assert objective.item() == pytest.approx(-(2.0 + 0.1 * 1.0))


def test_alpha_falls_when_there_is_too_much_entropy():
    for entropy, sign in ((2.0, 1.0), (0.5, -1.0)):
        log_alpha = tensor(0.3, grad=True)
        objective = alpha_objective(log_alpha, entropy, 1.0).sum()
        assert objective.item() == pytest.approx(0.3 * (entropy - 1.0))
        (gradient,) = torch.autograd.grad(objective, log_alpha)
        assert math.copysign(1.0, gradient.item()) == sign  # and descent goes the other way


def test_gradients_are_finite_differences():
    mean, std, target = tensor(0.3, -1.0, grad=True), tensor(0.5, 2.0, grad=True), tensor(1.0, 0.2)
    assert torch.autograd.gradcheck(lambda m, s: negative_log_likelihood(m, s, target), (mean, std))
    assert torch.autograd.gradcheck(lambda v, s: generator_objective(v, free_entropy(s), 0.7), (mean, std))
