"""Layers of networks, as torch has them, with products and gradients that take less time."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

_BY_ONEDNN = hasattr(torch.ops.mkldnn, "_linear_pointwise")
"""Not every build of torch has oneDNN."""


def _product(rows: Tensor, weight: Tensor, bias: Tensor | None = None, then: str = "none") -> Tensor:
    """`functional.linear`, then "relu" or "none". By oneDNN if possible: MKL, to which torch gives products of float32,
    takes twice the time on processors of other makers than its own."""
    if _BY_ONEDNN and rows.dtype == torch.float32 and rows.numel() > 0:
        product: Tensor = torch.ops.mkldnn._linear_pointwise(rows, weight, bias, then, [], "")
        return product
    product = functional.linear(rows, weight, bias)
    return product.relu_() if then == "relu" else product


_Gradients = tuple[Tensor | None, Tensor | None, Tensor | None]
"""By x, weight and bias; None of those that nobody asked for."""


def _gradients(ctx: Any, x: Tensor, weight: Tensor, gradient: Tensor) -> _Gradients:
    """Of `_product(x, weight, bias)` from that by what it gave."""
    by_x, by_weight, by_bias = ctx.needs_input_grad
    rows, seen = gradient.flatten(0, -2), x.flatten(0, -2)
    of_weight = None
    if by_weight:  # a product takes longer if it is narrow than if it is low
        narrow = weight.shape[1] < weight.shape[0]
        of_weight = _product(seen.t(), rows.t()).t() if narrow else _product(rows.t(), seen.t())
    return _product(gradient, weight.t()) if by_x else None, of_weight, rows.sum(0) if by_bias else None


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> _Gradients:
        x, weight = ctx.saved_tensors
        return _gradients(ctx, x, weight, gradient)


class _PooledLayer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, each: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        layer = _product(each, weight, bias, "relu")
        ctx.save_for_backward(each, weight, layer)
        return layer.mean(-2)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> _Gradients:
        each, weight, layer = ctx.saved_tensors
        of_layer = torch.gt(layer, 0.0, out=torch.empty_like(layer)).mul_((gradient / layer.shape[-2]).unsqueeze(-2))
        return _gradients(ctx, each, weight, of_layer)


class _MeanAndLargest(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, each: Tensor) -> Tensor:
        largest = each.amax(-2)
        ctx.save_for_backward(each, largest)
        return torch.cat([each.mean(-2), largest], dim=-1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        each, largest = ctx.saved_tensors
        of_mean, of_largest = gradient.chunk(2, dim=-1)
        share = torch.eq(each, largest.unsqueeze(-2), out=torch.empty_like(each))
        share *= (of_largest / share.sum(-2)).unsqueeze(-2)
        return share.add_((of_mean / each.shape[-2]).unsqueeze(-2))


linear: Callable[[Tensor, Tensor, Tensor | None], Tensor] = _Linear.apply
"""W x + b of every x in the last dimension."""
pooled_layer: Callable[[Tensor, Tensor, Tensor], Tensor] = _PooledLayer.apply
"""The mean of relu(W x + b) over all x of the last dimension but one."""
mean_and_largest: Callable[[Tensor], Tensor] = _MeanAndLargest.apply
"""Over the last dimension but one, behind each other. What is largest together shares the gradient."""


class Linear(nn.Linear):
    """`linear` with weights of its own."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)
