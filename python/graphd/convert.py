# SPDX-License-Identifier: Apache-2.0
"""Conversion of blocks to objects of DGL and PyG, which are imported on first use."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from . import _graphd, backend
from .errors import InvalidError
from .frame import Frame
from .layer import Layer
from .names import EID, NID, PYG_EDGE_NAMES, PYG_NAMES
from .schema import Types
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
    edges = {etype: block.coo(etype) for etype in block.canonical_etypes}
    made = dgl.create_block(
        edges,
        num_src_nodes={t: block.num_src_nodes(t) for t in types.ntypes},
        num_dst_nodes={t: block.num_dst_nodes(t) for t in types.ntypes},
    )
    for t, ntype in enumerate(types.ntypes):
        made.srcnodes[ntype].data.update(block.src_frames[t])
        made.dstnodes[ntype].data.update(block.dst_frames[t])
    for frame, etype in zip(block.edge_frames, types.canonical_etypes):
        if etype in edges:
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


def partition_to_dgl(types: Types, handle: _graphd.LocalPartition) -> Any:
    """Does the work of `graphd.distributed.Partition.to_dgl`."""
    import numpy

    dgl = _import("dgl", "dgl")
    book, no_ids = handle.book, numpy.empty(0, numpy.int64)

    def homogeneous(is_edge: bool, type_id: int, ids: Any) -> Any:
        return backend.to_numpy(book.to_homo(is_edge, type_id, ids))

    own = [homogeneous(False, t, handle.nodes(t)) for t in range(len(types.ntypes))]
    ends: tuple[list[Any], list[Any]] = ([], [])
    edges = []
    for e in range(len(types.etypes)):
        u, v, ids = (backend.to_numpy(each) for each in handle.edges(e))
        order = numpy.argsort(ids)
        ends[0].append(homogeneous(False, types.src_types[e], u[order]))
        ends[1].append(homogeneous(False, types.dst_types[e], v[order]))
        edges.append(homogeneous(True, e, ids[order]))
    inner = numpy.concatenate([no_ids, *own])
    src, dst = (numpy.concatenate([no_ids, *each]) for each in ends)
    nodes = numpy.concatenate([inner, numpy.setdiff1d(src, inner)])
    order = numpy.argsort(nodes)

    def local(ids: Any) -> Any:
        return backend.from_numpy(order[numpy.searchsorted(nodes, ids, sorter=order)])

    made = dgl.graph((local(src), local(dst)), num_nodes=len(nodes))
    made.ndata[dgl.NID] = backend.from_numpy(nodes)
    made.ndata[dgl.NTYPE] = backend.from_numpy(_type_numbers(book, False, nodes))
    made.ndata["inner_node"] = backend.from_numpy(
        (numpy.arange(len(nodes)) < len(inner)).astype(numpy.uint8)
    )
    ids = numpy.concatenate([no_ids, *edges])
    made.edata[dgl.EID] = backend.from_numpy(ids)
    made.edata[dgl.ETYPE] = backend.from_numpy(_type_numbers(book, True, ids))
    made.edata["inner_edge"] = backend.from_numpy(numpy.ones(len(ids), numpy.uint8))
    return made


def _type_numbers(book: _graphd.Book, is_edge: bool, ids: Any) -> Any:
    """Returns the numbers of the types of homogeneous ids, in the dtype of DGL."""
    return backend.to_numpy(book.to_typed(is_edge, ids)[0]).astype("int32")


def _whole(frame: Frame, count: int) -> dict[str, Tensor]:
    """Returns the data that have a row per edge. Ids are missing for negative edges, and if a
    sampler has left them out."""
    return {name: rows for name, rows in frame.items() if len(rows) == count}


def to_pyg(blocks: Sequence[Layer], all_nodes: bool = True) -> Any:
    """Returns the blocks of a mini-batch as one graph, as PyG's ``NeighborLoader`` yields it.

    Nodes are numbered by hop: first the seeds, then those that each hop found. Each node has the
    in-edges that were sampled when it was found first. In-edges that an outer block sampled for it
    again are omitted, since PyG's models use every edge in every layer. Nodes that only such edges
    reach then have no edges; ``all_nodes=False`` omits these nodes, too.

    Parameters
    ----------
    blocks : list of Block
        The input layer first.
    all_nodes : bool
        Whether ``n_id`` are the input nodes that the loader gives. Otherwise every node but the
        seeds has an edge, as in PyG's batches.

    Returns
    -------
    torch_geometric.data.Data or HeteroData
        It has ``edge_index``, ``n_id``, ``e_id``, ``batch_size``, ``num_sampled_nodes`` and
        ``num_sampled_edges``; the data of the input nodes by name, "feat" also as ``x``, and of the
        edges, "feat" also as ``edge_attr``; the labels
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
        tree = _Tree(blocks, all_nodes)
        _put_nodes(data, blocks, tree, 0)
        _put_edges(data, blocks, tree, 0)
        return data
    return to_hetero_data(blocks, all_nodes)


def to_hetero_data(blocks: Sequence[Layer], all_nodes: bool = True) -> Any:
    """Returns the same as a ``HeteroData``, also for one type of nodes and edges."""
    data = _import("torch_geometric.data", "torch_geometric").HeteroData()
    tree = _Tree(blocks, all_nodes)
    for t, ntype in enumerate(blocks[0].types.ntypes):
        _put_nodes(data[ntype], blocks, tree, t)
    for e, etype in enumerate(blocks[0].types.canonical_etypes):
        _put_edges(data[etype], blocks, tree, e)
    return data


class _Tree:
    """The edges by which blocks reach their nodes from the seeds, hop by hop.

    An outer block has in-edges of all nodes that were found before. PyG's graph has only the
    in-edges of the nodes that the last hop found. A node that only other edges reach would have no
    edges in PyG's graph.
    """

    def __init__(self, blocks: Sequence[Layer], all_nodes: bool) -> None:
        import torch

        types = blocks[0].types
        reached = []
        for ntype in types.ntypes:
            reached.append(torch.full((blocks[0].num_src_nodes(ntype),), all_nodes))
            reached[-1][: blocks[-1].num_dst_nodes(ntype)] = True
        # [edge type][hop] sources, destinations, the first edge, and which edges belong to the tree
        # (None: all of them).
        self.edges: list[list[tuple[Tensor, Tensor, int, Tensor | None]]] = [
            [] for _ in types.etypes
        ]
        known = [0] * len(types.ntypes)
        for block in reversed(blocks):
            found = []
            for e, etype in enumerate(types.canonical_etypes):
                dst = types.dst_types[e]
                u, v = block.coo(etype)
                begin = int(block.csc(etype)[0][known[dst]])  # the nodes that the last hop found
                u, v, mine = u[begin:], v[begin:], None
                if not all_nodes:
                    mine = reached[dst][v.cpu()]
                    found.append((types.src_types[e], u.cpu()[mine]))
                    mine = None if bool(mine.all()) else mine.to(u.device)
                self.edges[e].append((u, v, begin, mine))
            for src, ids in found:
                reached[src][ids] = True
            known = [block.num_dst_nodes(ntype) for ntype in types.ntypes]
        # [node type] which nodes belong to the tree, and the new numbers of these nodes; None if
        # all nodes do.
        self.reached = [None if bool(each.all()) else each for each in reached]
        self._numbers = [None if each is None else each.cumsum(0) - 1 for each in self.reached]

    def count(self, t: int, before: int) -> int:
        """Returns how many of the first `before` nodes of a type belong to the tree."""
        numbers = self._numbers[t]
        return before if numbers is None or before == 0 else int(numbers[before - 1]) + 1

    def rows(self, t: int, rows: Tensor) -> Tensor:
        """Returns the rows of the nodes that belong to the tree."""
        mine = self.reached[t]
        return rows if mine is None else rows[mine.to(rows.device)]

    def ends(self, t: int, nodes: Tensor) -> Tensor:
        """Returns the new numbers of nodes."""
        numbers = self._numbers[t]
        return nodes if numbers is None else numbers.to(nodes.device)[nodes]


def _put_nodes(store: Any, blocks: Sequence[Layer], tree: _Tree, t: int) -> None:
    ntype = blocks[0].types.ntypes[t]
    frame = blocks[0].src_frames[t]
    store.n_id = tree.rows(t, frame[NID])
    store.num_nodes = len(store.n_id)
    store.batch_size = blocks[-1].num_dst_nodes(ntype)
    counts = [tree.count(t, block.num_src_nodes(ntype)) for block in reversed(blocks)]
    store.num_sampled_nodes = [store.batch_size] + [
        after - before for before, after in zip([store.batch_size, *counts], counts)
    ]
    made = {name: tree.rows(t, rows) for name, rows in frame.items() if name != NID}
    for name, rows in made.items():
        store[name] = rows
    for name, rows in blocks[-1].dst_frames[t].items():
        if name != NID and name not in frame:
            store[name] = rows
    for name, theirs in PYG_NAMES.items():
        if name in made:
            store[theirs] = made[name]
    if "root" in made:
        store.batch = made["root"]
    if "label" in blocks[-1].dst_frames[t] and "label" not in frame:
        store.y = blocks[-1].dst_frames[t]["label"]


def _put_edges(store: Any, blocks: Sequence[Layer], tree: _Tree, e: int) -> None:
    import torch

    types = blocks[0].types
    src, dst = types.src_types[e], types.dst_types[e]
    indices: list[Tensor] = []
    data: dict[str, list[Tensor]] = {}
    counts: list[int] = []
    for block, (u, v, begin, mine) in zip(reversed(blocks), tree.edges[e]):
        for name, rows in _whole(block.edge_frames[e], begin + len(u)).items():
            rows = rows[begin:] if mine is None else rows[begin:][mine.to(rows.device)]
            data.setdefault(name, []).append(rows)
        if mine is not None:
            u, v = u[mine], v[mine]
        indices.append(torch.stack([tree.ends(src, u), tree.ends(dst, v)]))
        counts.append(len(u))
    store.edge_index = torch.cat(indices, dim=1)
    store.num_sampled_edges = counts
    for name, parts in data.items():
        if len(parts) == len(blocks):
            store["e_id" if name == EID else name] = torch.cat(parts)
    for name, theirs in PYG_EDGE_NAMES.items():
        if name in store and theirs not in store:
            store[theirs] = store[name]
