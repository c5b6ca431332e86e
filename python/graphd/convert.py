# SPDX-License-Identifier: Apache-2.0
"""Conversion of blocks to objects of DGL and PyG, which are imported on first use."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from .errors import InvalidError
from .frame import Frame
from .layer import Layer
from .names import EID, NID, PYG_NAMES
from .typed_graph import EdgeListGraph
from .typing import Tensor


def _import(name: str, package: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InvalidError(
            f"{name} can't be imported ({error}); install it: pip install {package}"
        ) from error


def block_to_dgl(block: Layer) -> Any:
    """Does the work of `graphd.Block.to_dgl`."""
    dgl = _import("dgl", "dgl")
    types = block.types
    edges = {etype: block.coo(etype) for etype in types.canonical_etypes}
    made = dgl.create_block(
        edges,
        num_src_nodes={t: block.num_src_nodes(t) for t in types.ntypes},
        num_dst_nodes={t: block.num_dst_nodes(t) for t in types.ntypes},
    )
    for t, ntype in enumerate(types.ntypes):
        made.srcnodes[ntype].data.update(block.src_frames[t])
        made.dstnodes[ntype].data.update(block.dst_frames[t])
    for frame, etype in zip(block.edge_frames, types.canonical_etypes):
        made.edges[etype].data.update(_whole(frame, block.num_edges(etype)))
    return made


def subgraph_to_dgl(graph: EdgeListGraph, nodes: Sequence[Frame], edges: Sequence[Frame]) -> Any:
    """Does the work of `graphd.subgraph.Subgraph.to_dgl`, with the data of each type."""
    dgl = _import("dgl", "dgl")
    made = dgl.heterograph(
        {etype: graph.edges(etype=etype) for etype in graph.canonical_etypes},
        {ntype: graph.num_nodes(ntype) for ntype in graph.ntypes},
    )
    for ntype, frame in zip(graph.ntypes, nodes):
        made.nodes[ntype].data.update(frame)
    for etype, frame in zip(graph.canonical_etypes, edges):
        made.edges[etype].data.update(_whole(frame, graph.num_edges(etype)))
    return made


def _whole(frame: Frame, count: int) -> dict[str, Tensor]:
    """Returns the data that have a row per edge; there are no ids of negative edges, or if a sampler
    has left them out."""
    return {name: rows for name, rows in frame.items() if len(rows) == count}


def to_pyg(blocks: Sequence[Layer]) -> Any:
    """Returns the blocks of a mini-batch as one graph, as PyG's ``NeighborLoader`` yields it.

    Nodes are numbered by hop: first the seeds, then those that each hop found. Each node has the
    in-edges that were sampled when it was found first. In-edges that an outer block sampled for it
    again are omitted, since PyG's models use every edge in every layer.

    Parameters
    ----------
    blocks : list of Block
        The input layer first.

    Returns
    -------
    torch_geometric.data.Data or HeteroData
        It has ``edge_index``, ``n_id``, ``e_id``, ``batch_size``, ``num_sampled_nodes`` and
        ``num_sampled_edges``; the data of the input nodes by name, "feat" also as ``x``; the labels
        of the seeds, "label" also as ``y``. If the sampler fetched "label" for the input nodes, ``y``
        has all of them. With a `TemporalSampler` it also has ``batch``, the
        seed of each node, and ``seed_time``.

    Raises
    ------
    graphd.errors.InvalidError
        If `blocks` is not a list of blocks, or PyG is not installed.
    """
    if not isinstance(blocks, (list, tuple)) or not all(isinstance(b, Layer) for b in blocks):
        raise InvalidError(
            f"blocks {type(blocks)}: expected the list of blocks that a loader "
            "yields last; block.to_pyg() is for a single one"
        )
    if blocks[0].types.is_homogeneous:
        data = _import("torch_geometric.data", "torch_geometric").Data()
        _put_nodes(data, blocks, 0)
        _put_edges(data, blocks, 0)
        return data
    return to_hetero_data(blocks)


def to_hetero_data(blocks: Sequence[Layer]) -> Any:
    """Returns the same as a ``HeteroData``, also for one type of nodes and edges."""
    data = _import("torch_geometric.data", "torch_geometric").HeteroData()
    for t, ntype in enumerate(blocks[0].types.ntypes):
        _put_nodes(data[ntype], blocks, t)
    for e, etype in enumerate(blocks[0].types.canonical_etypes):
        _put_edges(data[etype], blocks, e)
    return data


def _put_nodes(store: Any, blocks: Sequence[Layer], t: int) -> None:
    ntype = blocks[0].types.ntypes[t]
    frame = blocks[0].src_frames[t]
    store.n_id = frame[NID]
    store.num_nodes = len(store.n_id)
    store.batch_size = blocks[-1].num_dst_nodes(ntype)
    counts = [block.num_src_nodes(ntype) for block in reversed(blocks)]
    store.num_sampled_nodes = [store.batch_size] + [
        after - before for before, after in zip([store.batch_size, *counts], counts)
    ]
    for name, rows in frame.items():
        if name != NID:
            store[name] = rows
    for name, rows in blocks[-1].dst_frames[t].items():
        if name != NID and name not in frame:
            store[name] = rows
    for name, theirs in PYG_NAMES.items():
        if name in frame:
            store[theirs] = frame[name]
    if "root" in frame:
        store.batch = frame["root"]
    if "label" in blocks[-1].dst_frames[t] and "label" not in frame:
        store.y = blocks[-1].dst_frames[t]["label"]


def _put_edges(store: Any, blocks: Sequence[Layer], e: int) -> None:
    import torch

    types = blocks[0].types
    etype, dst_type = types.canonical_etypes[e], types.ntypes[types.dst_types[e]]
    indices: list[Tensor] = []
    data: dict[str, list[Tensor]] = {}
    counts: list[int] = []
    known = 0
    for block in reversed(blocks):
        u, v = block.coo(etype)
        begin = int(block.csc(etype)[0][known])  # the first edge of the nodes that this hop found
        indices.append(torch.stack([u[begin:], v[begin:]]))
        for name, rows in _whole(block.edge_frames[e], len(u)).items():
            data.setdefault(name, []).append(rows[begin:])
        counts.append(len(u) - begin)
        known = block.num_dst_nodes(dst_type)
    store.edge_index = torch.cat(indices, dim=1)
    store.num_sampled_edges = counts
    for name, parts in data.items():
        if len(parts) == len(blocks):
            store["e_id" if name == EID else name] = torch.cat(parts)
