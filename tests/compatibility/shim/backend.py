# SPDX-License-Identifier: Apache-2.0
"""Stands for the module ``backend`` of DGL's tests: DGL's own backend with a few functions more."""

import contextlib

import torch
from dgl.backend import *  # noqa: F403
from dgl.backend import asnumpy, cpu  # noqa: F401

_default_context_str = "cpu"


def array_equal(a, b):
    return torch.equal(a, b)


def allclose(a, b, rtol=1e-4, atol=1e-4):
    return torch.allclose(a.float(), b.float(), rtol=rtol, atol=atol)


def zeros(shape, dtype=torch.float32, ctx="cpu"):
    return torch.zeros(shape, dtype=dtype, device=ctx)


def ones(shape, dtype=torch.float32, ctx="cpu"):
    return torch.ones(shape, dtype=dtype, device=ctx)


def randn(shape):
    return torch.randn(*shape)


def uniform(shape, dtype, ctx, low, high):
    return torch.empty(shape, dtype=dtype, device=ctx).uniform_(low, high)


def squeeze(x, dim):
    return torch.squeeze(x, dim)


def sum(x, dim, keepdims=False):
    return x.sum(dim=dim, keepdim=keepdims)


def floor_div(a, b):
    return a // b


def record_grad():
    return contextlib.nullcontext()


no_grad = torch.no_grad
