# SPDX-License-Identifier: Apache-2.0
"""Batches with the reverse of each sampled edge, as PyG's ``subgraph_type="bidirectional"`` gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch_geometric.sampler import HeteroSamplerOutput, SamplerOutput


def with_reverses(out: HeteroSamplerOutput) -> HeteroSamplerOutput:
    """Returns a sampler's output with the reverse of each edge.

    With one type of edges, a reverse has the id of its edge. With several, edges have no ids
    afterwards, since the reverse of an edge is of another type.

    Parameters
    ----------
    out : torch_geometric.sampler.HeteroSamplerOutput

    Returns
    -------
    torch_geometric.sampler.HeteroSamplerOutput
    """
    (etype, *others) = out.row
    if others or etype[0] != etype[2]:
        return out.to_bidirectional()
    one = SamplerOutput(
        out.node[etype[0]], out.row[etype], out.col[etype], out.edge[etype]
    ).to_bidirectional()
    out.row, out.col, out.edge = {etype: one.row}, {etype: one.col}, {etype: one.edge}
    out.num_sampled_nodes = out.num_sampled_edges = None
    return out


def make_bidirectional(data: Any, names: Iterable[str]) -> None:
    """Adds the reverse of each edge to a batch, in place, as PyG's loaders do.

    As there, a batch no longer has numbers of sampled nodes and edges, and edges without ids have
    no features either: see `with_reverses`.

    Parameters
    ----------
    data : torch_geometric.data.Data or HeteroData
    names : list of str
        The features of edges.
    """
    edges = {store._key or ("_N", "_E", "_N"): store for store in data.edge_stores}
    out = with_reverses(
        HeteroSamplerOutput(
            node={etype[0]: None for etype in edges},
            row={etype: store.edge_index[0] for etype, store in edges.items()},
            col={etype: store.edge_index[1] for etype, store in edges.items()},
            edge={etype: store.e_id for etype, store in edges.items()},
        )
    )
    for etype, store in edges.items():
        _take(store, [name for name in names if name in store], out.edge[etype])
        store.edge_index = torch.stack([out.row[etype], out.col[etype]])
    for store in (*data.node_stores, *data.edge_stores):
        for name in ("num_sampled_nodes", "num_sampled_edges"):
            if name in store:
                del store[name]


def _take(store: Any, names: list[str], ids: torch.Tensor | None) -> None:
    """Keeps only the features of the edges with these ids. If `ids` is None, removes all features
    of edges."""
    if ids is None:
        for name in ("e_id", *names):
            del store[name]
        return
    order = torch.argsort(store.e_id)
    place = order[torch.searchsorted(store.e_id[order], ids)]
    for name in ("e_id", *names):
        store[name] = store[name][place]
