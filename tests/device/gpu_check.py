# SPDX-License-Identifier: Apache-2.0
"""Checks deliveries on a machine with a GPU: PYTHONPATH=build/dev/python tests/device/gpu_check.py

Prints a line with PASS or FAIL for each check; the exit status is 1 if any fails. ctest does not run it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy
import torch
from torch.profiler import ProfilerActivity, profile

import graphd
from graphd.device import DeviceRowCache
from graphd.distributed import DistEmbedding, DistGraph, DistNodeDataLoader, nodes_by_degree
from graphd.sampling import NeighborSampler

NODES, EDGES, WIDTH, BATCH = 200_000, 4_000_000, 256, 1024
results: list[bool] = []


def check(name: str, passed: bool, detail: str = "") -> None:
    results.append(passed)
    print(f"{'PASS' if passed else 'FAIL'} {name} {detail}", flush=True)


def make_graph(folder: str) -> DistGraph:
    """Partitions a random graph with features, and opens it in this process."""
    draw = numpy.random.default_rng(1)
    edges = draw.integers(0, NODES, (2, EDGES))
    feat = draw.standard_normal((NODES, WIDTH), dtype=numpy.float32)
    label = draw.integers(0, 16, NODES)
    config = graphd.distributed.partition_graph(
        (edges[0], edges[1]),
        "check",
        1,
        folder,
        part_method="random",
        num_nodes=NODES,
        ndata={"feat": feat, "label": label},
    )
    return DistGraph("check", part_config=config)


def loader_of(g: DistGraph, prefetch: bool = True, **options: Any) -> DistNodeDataLoader:
    sampler = NeighborSampler(
        [10, 5], prefetch_node_feats=["feat"] if prefetch else [], prefetch_labels=["label"]
    )
    return DistNodeDataLoader(
        g, torch.arange(NODES // 4), sampler, batch_size=BATCH, num_workers=8, seed=1, **options
    )


def compare(g: DistGraph) -> None:
    """Compares every tensor of the first batches."""
    equal = True
    for (a, b, here), (c, d, there), _ in zip(loader_of(g), loader_of(g, device="cuda"), range(20)):
        pairs = [(a, c), (b, d), (here[0].srcdata["feat"], there[0].srcdata["feat"])]
        pairs.append((here[-1].dstdata["label"], there[-1].dstdata["label"]))
        for one, two in zip(here, there):
            pairs += [*zip(one.csc(), two.csc()), *zip(one.coo(), two.coo())]
            pairs.append((one.edata[graphd.EID], two.edata[graphd.EID]))
        equal &= all(y.is_cuda and x.dtype == y.dtype and torch.equal(x, y.cpu()) for x, y in pairs)
    check("batches are equal", equal)

    cache = DeviceRowCache(g.ndata["feat"], nodes_by_degree(g, NODES // 4, everywhere=True), "cuda")
    equal = all(
        torch.equal(blocks[0].srcdata["feat"].cpu(), g.ndata["feat"][inputs.cpu()])
        for (inputs, _, blocks), _ in zip(
            loader_of(g, prefetch=False, device="cuda", row_caches=[cache]), range(10)
        )
    )
    check("cached rows are equal", equal, f"hit rate {cache.stats()['hit_rate']:.2f}")
    pinned = next(iter(loader_of(g, pin_memory=True)))
    check("pin_memory gives pinned tensors", pinned[2][0].srcdata["feat"].is_pinned())
    _, _, (block, *_) = next(iter(loader_of(g)))
    there = block.to("cuda", non_blocking=True)
    check("Block.to moves all", torch.equal(there.srcdata["feat"].cpu(), block.srcdata["feat"]))


def gradients(g: DistGraph) -> None:
    """Compares the rows that embeddings get by gradients of the host and of the GPU."""
    rows = []
    for device in (None, "cuda"):
        embedding = DistEmbedding(g.num_nodes(), 8, init_func=lambda shape, _: torch.ones(shape))
        optimizer = graphd.distributed.SparseSGD([embedding], lr=0.1)
        for i in range(5):
            (embedding(torch.arange(i, i + 100), device) ** 2).sum().backward()
            optimizer.step()
        rows.append(embedding.weight[:200])
    check("gradients of embeddings are equal", torch.allclose(*rows))


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
        if event.device_type != torch.autograd.DeviceType.CUDA:
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
    loader = loader_of(g, device="cuda")
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
        g = make_graph(folder)
        compare(g)
        gradients(g)
        speed(g)
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
