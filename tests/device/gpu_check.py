# SPDX-License-Identifier: Apache-2.0
"""Checks deliveries on a machine with a GPU: PYTHONPATH=build/dev/python tests/device/gpu_check.py

Prints a line with PASS or FAIL for each check; the exit status is 1 if any fails. It needs
torch_geometric. ctest runs it where PyTorch finds a GPU when the build is configured.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

import deliveries
import torch
from torch.profiler import ProfilerActivity, profile

import graphd
from graphd.distributed import DistGraph

NODES, EDGES, WIDTH = 200_000, 4_000_000, 256
results: list[bool] = []


def check(name: str, passed: bool, detail: str = "") -> None:
    results.append(passed)
    print(f"{'PASS' if passed else 'FAIL'} {name} {detail}", flush=True)


def compare(g: DistGraph, typed: DistGraph) -> None:
    """Compares what arrives on the GPU with what stays on the host."""
    for each in (
        deliveries.loaders(g, "cuda"),
        deliveries.typed_loaders(typed, "cuda"),
        deliveries.gradients(g, "cuda"),
    ):
        for result in each:
            check(*result)
    try:
        for result in deliveries.pyg_loaders(g, typed, "cuda"):
            check(*result)
    except ImportError as error:
        check("graphd.pyg", False, f"{error}; install it: pip install torch_geometric")
    pinned = next(iter(deliveries.nodes_loader(g, pin_memory=True)))
    check("pin_memory gives pinned tensors", pinned[2][0].srcdata["feat"].is_pinned())


class Model(torch.nn.Module):
    """A model of two layers of means, which also multiplies matrices `repeats` times for each batch."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(
            [torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, 16)]
        )
        self.deep = torch.nn.Linear(4096, 4096)
        self.repeats = 1
        self.register_buffer("noise", torch.randn(4096, 4096))

    def forward(self, blocks: list[graphd.Block], h: torch.Tensor) -> torch.Tensor:
        for block, layer in zip(blocks, self.layers):
            u, v = block.coo()
            sums = torch.zeros(block.num_dst_nodes(), h.shape[1], device=h.device)
            h = layer(sums.index_add_(0, v, h[u]) + h[: block.num_dst_nodes()])
        deep = self.noise
        for _ in range(self.repeats):
            deep = self.deep(deep)
        return h + 0 * deep.mean()


def train(model: Model, optimizer: torch.optim.Optimizer, batches: Iterable[Any]) -> None:
    """Trains with some batches, and waits for the GPU."""
    for _, _, blocks in batches:
        logits = model(blocks, blocks[0].srcdata["feat"])
        loss = torch.nn.functional.cross_entropy(logits, blocks[-1].dstdata["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()


def seconds(function: Callable[..., Any], *arguments: Any) -> float:
    """Returns how long a function takes."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - begin


def overlap(events: Iterable[Any]) -> float:
    """Returns which part of the copies from the host has run beside kernels."""
    copies: list[tuple[float, float]] = []
    kernels: list[tuple[float, float]] = []
    for event in events:
        # PyTorch 2 lists the spans of annotations, such as that of an optimiser's step, on the GPU, too.
        is_annotation = getattr(event, "is_user_annotation", False)
        if event.device_type != torch.autograd.DeviceType.CUDA or is_annotation:
            continue
        span = (event.time_range.start, event.time_range.end)
        if "HtoD" in event.name:
            copies.append(span)
        elif "Mem" not in event.name:
            kernels.append(span)
    kernels.sort()
    total = hidden = 0.0
    for begin, end in copies:
        total += end - begin
        at = begin
        for start, stop in kernels:
            if stop > at and start < end:
                hidden += max(0, min(stop, end) - max(start, at))
                at = max(at, min(stop, end))
    return hidden / total if total else 0.0


def speed(g: DistGraph) -> None:
    """Compares an epoch with the model alone, and finds out whether copies run beside kernels."""
    model = Model().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    loader = deliveries.nodes_loader(g, device="cuda")
    train(model, optimizer, loader)  # warms everything up
    loading = seconds(lambda: [None for _ in loader])
    one = [next(iter(loader))]
    shortest = min(seconds(train, model, optimizer, one) for _ in range(5))
    # The model has to take longer than sampling, or an epoch says nothing about copies.
    per_repeat = max(shortest, 1e-4)
    model.repeats = max(1, round(1.5 * loading / len(loader) / per_repeat))
    while seconds(train, model, optimizer, one * 5) / 5 < 1.2 * loading / len(loader):
        model.repeats *= 2
    kept = [batch for batch, _ in zip(loader, range(8))]
    alone = (kept * (len(loader) // len(kept) + 1))[: len(loader)]
    compute = min(seconds(train, model, optimizer, alone) for _ in range(2))
    epoch = min(seconds(train, model, optimizer, loader) for _ in range(2))
    check(
        "an epoch takes at most 1.1 of the model alone",
        epoch <= 1.1 * compute,
        f"{epoch:.3f} s, {compute:.3f} s alone: {epoch / compute:.3f}",
    )
    batches = (batch for batch, _ in zip(loader, range(15)))
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as made:
        train(model, optimizer, batches)
    part = overlap(made.events())
    check("copies run beside kernels", part > 0.8, f"{part:.2f} of their time")
    if loader._delivery is not None:
        print("pinned memory:", loader._delivery.pool.statistics())


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit(f"gpu_check: torch {torch.__version__} has no CUDA here")
    print(torch.cuda.get_device_name(), torch.__version__)
    with tempfile.TemporaryDirectory() as folder:
        g = deliveries.make_graph(f"{folder}/one", NODES, EDGES, WIDTH)
        compare(g, deliveries.make_typed_graph(f"{folder}/typed", NODES // 4, EDGES // 4, 64))
        speed(g)
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
