# SPDX-License-Identifier: Apache-2.0
"""Sampling of one hop, and subgraphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import _graphd, backend, seeds
from ..arguments import check_draws, column_of, fanout_number, one_of
from ..errors import InvalidError
from ..graph_base import GraphBase, graph_of
from ..sampled import SampledGraph
from ..schema import Types
from ..subgraph import Subgraph
from ..typing import EdgeIds, EdgeType, Fanout, Ids, NodeIds, Tensor


def sample_neighbors(
    g: GraphBase,
    nodes: NodeIds,
    fanout: Fanout,
    edge_dir: str = "in",
    prob: str | None = None,
    exclude_edges: EdgeIds = None,
    replace: bool = False,
    use_graphbolt: bool = False,
    *,
    seed: int | None = None,
) -> SampledGraph:
    """Samples in- or out-edges of nodes. Matches ``dgl.distributed.sample_neighbors``.

    Parameters
    ----------
    g : DistGraph
    nodes : int64 tensor, or dict of node type to tensor
        A node that is listed twice gets the same neighbours twice.
    fanout : int
        Number of edges per node and edge type; -1: all, 0: none. (DGL pools the edge types of a
        node.)
    edge_dir : {"in", "out"}
    prob : str, optional
        Edge feature: weights (float32, float64) or a mask (bool, uint8, int8).
    exclude_edges : int64 tensor, or dict of edge type to tensor, optional
        Edges never to sample.
    replace : bool
    use_graphbolt
        DGL's; without effect.
    seed : int, optional
        The same seed gives the same sample, wherever the partitions are.

    Returns
    -------
    SampledGraph
    """
    return sample_etype_neighbors(
        g, nodes, fanout, edge_dir, prob, exclude_edges, replace, seed=seed
    )


def sample_etype_neighbors(
    g: GraphBase,
    nodes: NodeIds,
    fanout: Fanout,
    edge_dir: str = "in",
    prob: str | None = None,
    exclude_edges: EdgeIds = None,
    replace: bool = False,
    etype_sorted: bool = True,
    use_graphbolt: bool = False,
    *,
    seed: int | None = None,
) -> SampledGraph:
    """Does the same as `sample_neighbors` with a fanout for each edge type.

    Matches ``dgl.distributed.sample_etype_neighbors``.

    Parameters
    ----------
    fanout : int, or dict of edge type to int
        A dict has to name every edge type, by relation or by canonical type.
    etype_sorted, use_graphbolt
        DGL's; without effect.
    g, nodes, edge_dir, prob, exclude_edges, replace, seed
        Those of `sample_neighbors`.

    Returns
    -------
    SampledGraph

    Raises
    ------
    graphd.errors.InvalidError
        If `edge_dir` is neither "in" nor "out".
    """
    backend.chosen()
    graph_of(g)
    is_out = one_of(edge_dir, "edge_dir", ("in", "out")) == "out"
    lists = vectors(g.types.by_ntype(nodes, "nodes"))
    exclude = [] if exclude_edges is None else g.types.by_etype(exclude_edges, "exclude_edges")
    numbers = fanouts_of(g.types, fanout)
    if replace:
        check_draws(g.types.count(lists), max(numbers), "fanout")
    found = _graphd.sample_edges(
        g.handle,
        lists,
        numbers,
        column_of(prob),
        bool(replace),
        is_out,
        seeds.given_or_next(seed),
        exclude,
    )
    return SampledGraph(g, lists, found, is_out)


def fanouts_of(types: Types, fanout: Fanout, what: str = "fanout") -> list[int]:
    """Returns a fanout for each edge type, given one number or a dict."""
    if isinstance(fanout, Mapping):
        by_type = {
            types.etype_id(name): fanout_number(number, what) for name, number in fanout.items()
        }
        missing = [c for e, c in enumerate(types.canonical_etypes) if e not in by_type]
        if missing:
            raise InvalidError(
                f"{what}: no number for the edge types {missing}; name every edge "
                "type (0: none of its edges)"
            )
        return [by_type[e] for e in range(len(types.canonical_etypes))]
    return [fanout_number(fanout, what)] * len(types.canonical_etypes)


def vectors(lists: Sequence[Ids]) -> list[Tensor]:
    """Converts ids to tensors, since seeds are used twice: to sample, and as ends of edges."""
    import numpy

    return [
        backend.from_numpy(numpy.asarray([each] if isinstance(each, int) else each, numpy.int64))
        if isinstance(each, (int, list, tuple, range))
        else each
        for each in lists
    ]


def in_subgraph(g: GraphBase, nodes: NodeIds) -> SampledGraph:
    """Returns all in-edges of nodes.

    Matches ``dgl.distributed.in_subgraph``, and supports any number of types.

    Parameters
    ----------
    g : DistGraph
    nodes : int64 tensor, or dict of node type to tensor

    Returns
    -------
    SampledGraph
    """
    return sample_neighbors(g, nodes, -1, seed=0)


def find_edges(g: GraphBase, edge_ids: Ids, etype: EdgeType | None = None) -> tuple[Tensor, Tensor]:
    """Returns the ends of edges, in the order given. Matches ``dgl.distributed.find_edges``.

    Parameters
    ----------
    g : DistGraph
    edge_ids : int64 tensor or list
    etype : str or (str, str, str), optional
        Default: the only type.

    Returns
    -------
    src, dst : int64 tensor
    """
    backend.chosen()
    return graph_of(g).handle.find_edges(edge_ids, g.types.etype_id(etype))


def edge_subgraph(
    g: GraphBase, edges: EdgeIds, relabel_nodes: bool = True, store_ids: bool = True
) -> Subgraph:
    """Returns the graph of some edges with their ends. Matches ``DistGraph.edge_subgraph``.

    Parameters
    ----------
    g : DistGraph
    edges : int64 tensor, or dict of edge type to tensor
    relabel_nodes : bool
        Whether the result has only the ends as nodes, numbered in order of appearance. Otherwise
        it has all nodes, with their ids in the graph.
    store_ids : bool
        Only True is supported.

    Returns
    -------
    Subgraph

    Raises
    ------
    graphd.errors.InvalidError
        If `store_ids` is False.
    """
    backend.chosen()
    if not store_ids:
        raise InvalidError("edge_subgraph: store_ids=False is not supported; leave it at True")
    lists = graph_of(g).types.by_etype(edges, "edges")
    made = _graphd.edge_subgraph(g.handle, lists, bool(relabel_nodes))
    return Subgraph(g.types, *made, None if relabel_nodes else g)


def node_subgraph(g: GraphBase, nodes: NodeIds) -> Subgraph:
    """Returns the graph of some nodes with every edge between two of them.

    Matches ``dgl.node_subgraph``.

    Parameters
    ----------
    g : DistGraph
    nodes : int64 tensor, or dict of node type to tensor

    Returns
    -------
    Subgraph
    """
    backend.chosen()
    lists = graph_of(g).types.by_ntype(nodes, "nodes")
    return Subgraph(g.types, *_graphd.node_subgraph(g.handle, lists))
