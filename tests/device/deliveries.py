# SPDX-License-Identifier: Apache-2.0
"""Comparisons of what arrives on a device with what stays on the host.

gpu_check.py runs them with a GPU, and gpu_check_test.py with a device in host memory. Each function
takes a graph that `make_graph` or `make_typed_graph` has made, and a device; it yields the name of each
check, whether it has passed, and a detail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy
import torch

import graphd
from graphd.device import DeviceRowCache
from graphd.device.platform import platform_of
from graphd.distributed import (
    DistEdgeDataLoader,
    DistEmbedding,
    DistGraph,
    DistNodeDataLoader,
    SparseAdagrad,
    SparseAdam,
    SparseSGD,
    nodes_by_degree,
    partition_graph,
)
from graphd.sampling import NeighborSampler, negative_sampler

Checks = Iterator[tuple[str, bool, str]]

BUYS, SOLD = ("user", "buys", "item"), ("item", "sold_to", "user")
_MOST_BATCHES = 20


def make_graph(folder: str, nodes: int, edges: int, width: int) -> DistGraph:
    """Partitions a random graph with features, and opens it in this process."""
    draw = numpy.random.default_rng(1)
    u, v = draw.integers(0, nodes, (2, edges))
    feat = draw.standard_normal((nodes, width), dtype=numpy.float32)
    ndata = {"feat": feat, "label": draw.integers(0, 16, nodes)}
    config = partition_graph(
        (u, v), "check", 1, folder, part_method="random", num_nodes=nodes, ndata=ndata
    )
    return graphd.connect(part_config=config).graph()


def make_typed_graph(folder: str, nodes: int, edges: int, width: int) -> DistGraph:
    """Does the same for a graph with two types of nodes and of edges."""
    draw = numpy.random.default_rng(2)
    counts = {"user": nodes, "item": nodes // 2}
    config = partition_graph(
        {
            etype: tuple(draw.integers(0, counts[end], edges) for end in (etype[0], etype[2]))
            for etype in (BUYS, SOLD)
        },
        "typed",
        1,
        folder,
        part_method="random",
        num_nodes=counts,
        ndata={
            ntype: {"feat": draw.standard_normal((count, width), dtype=numpy.float32)}
            for ntype, count in counts.items()
        },
        edata={BUYS: {"time": draw.integers(0, 99, edges)}},
    )
    return graphd.connect(part_config=config).graph()


def nodes_loader(g: DistGraph, prefetch: bool = True, **options: Any) -> DistNodeDataLoader:
    """Returns a loader of a quarter of the nodes of a graph with one type."""
    sampler = NeighborSampler(
        [10, 5], prefetch_node_feats=["feat"] if prefetch else [], prefetch_labels=["label"]
    )
    options = {"batch_size": 1024, "num_workers": 8, "seed": 1, **options}
    return DistNodeDataLoader(g, torch.arange(g.num_nodes() // 4), sampler, **options)


def tensors_of(value: Any) -> Iterator[torch.Tensor]:
    """Yields all tensors of a batch, in an order that its structure determines."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for key in value:
            yield from tensors_of(value[key])
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from tensors_of(each)
    elif isinstance(value, graphd.Block):
        for etype in value.canonical_etypes:
            yield from tensors_of([value.csc(etype), value.coo(etype)])
        yield from tensors_of([value.src_frames, value.dst_frames, value.edge_frames])
    elif hasattr(value, "canonical_etypes"):  # a pair graph
        for etype in value.canonical_etypes:
            yield from value.edges(form="all", etype=etype)
        yield from tensors_of([value.ndata, value.edata])
    elif hasattr(value, "stores"):  # a batch of PyG
        for store in value.stores:
            yield from tensors_of(store.to_dict())


def compare(what: str, make: Callable[..., Any], device: Any) -> Checks:
    """Compares every tensor of the first batches of a loader with those of one on the host."""
    count, equal, there = 0, True, platform_of(device).device
    for one, two, _ in zip(make(), make(device=device), range(_MOST_BATCHES)):
        kept, moved = list(tensors_of(one)), list(tensors_of(two))
        equal &= len(kept) == len(moved)
        for x, y in zip(kept, moved):
            equal &= y.device == there and x.dtype == y.dtype and torch.equal(x, y.cpu())
        count += len(kept)
    yield f"batches of {what} are equal", equal and count > 0, f"{count} tensors"


def loaders(g: DistGraph, device: Any) -> Checks:
    """Compares batches of nodes and of edges, cached rows, and a block that is moved."""
    yield from compare("nodes", lambda **more: nodes_loader(g, **more), device)

    def edges(**more: Any) -> DistEdgeDataLoader:
        return DistEdgeDataLoader(
            g,
            torch.arange(g.num_edges() // 100),
            NeighborSampler([5, 5], prefetch_node_feats=["feat"]),
            batch_size=512,
            seed=1,
            exclude="self",
            negative_sampler=negative_sampler.Uniform(2),
            **more,
        )

    yield from compare("edges with negatives", edges, device)
    hot = nodes_by_degree(g, g.num_nodes() // 4, everywhere=True)
    cache = DeviceRowCache(g.ndata["feat"], hot, device)
    equal = all(
        torch.equal(blocks[0].srcdata["feat"].cpu(), g.ndata["feat"][inputs.cpu()])
        for (inputs, _, blocks), _ in zip(
            nodes_loader(g, prefetch=False, device=device, row_caches=[cache]), range(10)
        )
    )
    yield "cached rows are equal", equal, f"hit rate {cache.stats()['hit_rate']:.2f}"
    _, _, (block, *_) = next(iter(nodes_loader(g)))
    found, wanted = tensors_of(block.to(device, non_blocking=True)), tensors_of(block)
    equal = all(torch.equal(x.cpu(), y) for x, y in zip(found, wanted))
    yield "Block.to moves all", equal, ""


def typed_loaders(g: DistGraph, device: Any) -> Checks:
    """Compares batches of a graph with several types."""
    sampler = NeighborSampler(
        [5, 5],
        prefetch_node_feats={"user": ["feat"], "item": ["feat"]},
        prefetch_edge_feats={BUYS: ["time"]},
    )

    def nodes(**more: Any) -> DistNodeDataLoader:
        seeds = {"user": torch.arange(g.num_nodes("user") // 4)}
        return DistNodeDataLoader(g, seeds, sampler, batch_size=512, seed=2, **more)

    def edges(**more: Any) -> DistEdgeDataLoader:
        return DistEdgeDataLoader(
            g,
            {BUYS: torch.arange(g.num_edges(BUYS) // 100)},
            sampler,
            batch_size=256,
            seed=2,
            negative_sampler=negative_sampler.Uniform(2),
            **more,
        )

    yield from compare("typed nodes", nodes, device)
    yield from compare("typed edges with negatives", edges, device)


def pyg_loaders(g: DistGraph, typed: DistGraph, device: Any) -> Checks:
    """Compares batches of the loaders of graphd.pyg."""
    from graphd.pyg import LinkNeighborLoader, NeighborLoader

    def nodes(**more: Any) -> NeighborLoader:
        return NeighborLoader(
            g, [5, 5], torch.arange(g.num_nodes() // 4), batch_size=512, seed=3, **more
        )

    def typed_nodes(**more: Any) -> NeighborLoader:
        return NeighborLoader(typed, [5, 5], "user", batch_size=512, seed=3, **more)

    yield from compare("PyG's nodes", nodes, device)
    yield from compare("PyG's typed nodes", typed_nodes, device)
    # Each loader draws its own negative nodes, so that batches are compared with the graph.
    pairs = torch.stack(g.find_edges(torch.arange(0, g.num_edges(), 100)))
    loader = LinkNeighborLoader(
        g, [5, 5], pairs, neg_sampling_ratio=1, batch_size=512, device=device
    )
    equal, there, feat = True, platform_of(device).device, g.ndata["feat"]
    for batch, _ in zip(loader, range(_MOST_BATCHES)):
        equal &= all(each.device == there for each in tensors_of(batch))
        ids, ends = batch.n_id.cpu(), batch.edge_label_index.cpu()
        count = len(batch.input_id)
        equal &= torch.equal(batch.x.cpu(), feat[ids])
        equal &= torch.equal(ids[ends[:, :count]], pairs[:, batch.input_id.cpu()])
        equal &= ends.shape[1] == 2 * count
    yield "batches of PyG's edges fit the graph", equal, ""


def gradients(g: DistGraph, device: Any) -> Checks:
    """Compares the rows that embeddings get by gradients of the host and of the device."""
    there = platform_of(device).device

    def by_autograd(embedding: DistEmbedding, ids: torch.Tensor, where: Any) -> None:
        (embedding(ids, where) ** 2).sum().backward()

    def by_hand(embedding: DistEmbedding, ids: torch.Tensor, where: Any) -> None:
        target = "cpu" if where is None else there
        with torch.no_grad():
            rows = 2 * embedding(ids).to(target)
        embedding.backward(ids.to(target), rows)

    for kind in (SparseSGD, SparseAdagrad, SparseAdam):
        for way in (by_autograd, by_hand):
            found = [_trained(g, kind, way, where) for where in (None, device)]
            passed = torch.allclose(*found) and not bool((found[0] == 1).all())
            yield f"{kind.__name__} {way.__name__} gives equal rows", passed, ""


def _trained(g: DistGraph, kind: Any, step: Callable[..., None], where: Any) -> torch.Tensor:
    policy = g.get_node_partition_policy()
    embedding = DistEmbedding(
        g.num_nodes(), 8, init_func=lambda shape, _: torch.ones(shape), part_policy=policy
    )
    optimizer = kind([embedding], lr=0.1)
    for i in range(5):
        step(embedding, torch.arange(i, i + 100), where)
        optimizer.step()
    rows: torch.Tensor = embedding.weight[:200]
    return rows
