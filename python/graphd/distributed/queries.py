# SPDX-License-Identifier: Apache-2.0
"""Sampling of one hop, and subgraphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import _graphd, backend, seeds
from ..arguments import check_draws, column_of, fanout_number, one_of
from ..errors import InvalidError
from ..graph_base import GraphBase, graph_of
from ..sampled import SampledGraph
from ..schema import Types
from ..subgraph import Subgraph
from ..typing import EdgeIds, EdgeType, Fanout, Ids, NodeIds, Tensor
from .pooled import degrees_without, draw_counts, keep_counts


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
    etype_sorted: bool = True,
    output_device: Any = None,
    pooled: bool = False,
    seed: int | None = None,
) -> SampledGraph:
    """Samples in- or out-edges of nodes. Matches ``dgl.distributed.sample_neighbors``.

    Parameters
    ----------
    g : DistGraph
    nodes : int64 tensor, or dict of node type to tensor
        A node that is listed twice gets the same neighbours twice.
    fanout : int
        Number of edges per node and edge type; -1: all, 0: none.
    edge_dir : {"in", "out"}
    prob : str, optional
        Edge feature: weights (float32, float64) or a mask (bool, uint8, int8).
    exclude_edges : int64 tensor, or dict of edge type to tensor, optional
        Edges never to sample.
    replace : bool
    use_graphbolt, etype_sorted
        Accepted for DGL; has no effect.
    output_device : optional
        Only the CPU is supported.
    pooled : bool
        Whether the fanout is the number of edges of all types of a node together, as in DGL: each
        edge of the node that is not excluded is equally likely. Only without `prob`. A node that is
        listed twice may get different neighbours.
    seed : int, optional
        The same seed gives the same sample, wherever the partitions are.

    Returns
    -------
    SampledGraph

    Raises
    ------
    graphd.errors.InvalidError
        If an argument is not valid, or `pooled` is combined with others.
    """
    check_output_device(output_device)
    options = edge_dir, prob, exclude_edges, replace
    if not pooled or len(graph_of(g).types.canonical_etypes) == 1 or fanout == -1:
        return sample_etype_neighbors(g, nodes, fanout, *options, seed=seed)
    if prob is not None or isinstance(fanout, Mapping):
        raise InvalidError(
            "pooled=True: the fanout is one number, without prob; leave prob out, or give a fanout for "
            "each edge type and leave out pooled"
        )
    backend.chosen()
    is_out = one_of(edge_dir, "edge_dir", ("in", "out")) == "out"
    seeds_by_type = vectors(g.types.by_ntype(nodes, "nodes"))
    exclude = [] if exclude_edges is None else g.types.by_etype(exclude_edges, "exclude_edges")
    seed = seeds.given_or_next(seed)
    counts = draw_counts(
        g.types,
        seeds_by_type,
        fanout_number(fanout),
        bool(replace),
        is_out,
        degrees_without(g.handle, exclude, is_out),
        seed,
    )
    most: dict[EdgeType, int] = {
        etype: int(counts[e].max(initial=0)) if e in counts else 0
        for e, etype in enumerate(g.types.canonical_etypes)
    }
    found = _sampled(g, seeds_by_type, most, None, replace, is_out, seed, exclude)
    return SampledGraph(g, seeds_by_type, keep_counts(found, counts, seed), is_out)


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
    output_device: Any = None,
    seed: int | None = None,
) -> SampledGraph:
    """Does the same as `sample_neighbors` with a fanout for each edge type.

    Matches ``dgl.distributed.sample_etype_neighbors``.

    Parameters
    ----------
    fanout : int, or dict of edge type to int
        A dict has to name every edge type, by relation or by canonical type.
    etype_sorted, use_graphbolt
        Accepted for DGL; has no effect.
    g, nodes, edge_dir, prob, exclude_edges, replace, output_device, seed
        See `sample_neighbors`.

    Returns
    -------
    SampledGraph

    Raises
    ------
    graphd.errors.InvalidError
        If `edge_dir` is neither "in" nor "out", or another argument is not valid.
    """
    backend.chosen()
    check_output_device(output_device)
    graph_of(g)
    is_out = one_of(edge_dir, "edge_dir", ("in", "out")) == "out"
    lists = vectors(g.types.by_ntype(nodes, "nodes"))
    exclude = [] if exclude_edges is None else g.types.by_etype(exclude_edges, "exclude_edges")
    seed = seeds.given_or_next(seed)
    found = _sampled(g, lists, fanout, prob, replace, is_out, seed, exclude)
    return SampledGraph(g, lists, found, is_out)


def _sampled(
    g: GraphBase,
    lists: Sequence[Tensor],
    fanout: Fanout,
    prob: str | None,
    replace: bool,
    is_out: bool,
    seed: int,
    exclude: Sequence[Ids],
) -> list[tuple[int, Tensor, Tensor, Tensor]]:
    """Returns the sampled edges in rows, one for each seed, by edge type."""
    numbers = fanouts_of(g.types, fanout)
    if replace:
        check_draws(g.types.count(lists), max(numbers), "fanout")
    options = column_of(prob), bool(replace), is_out, seed, exclude
    with g.calls.clock("sampling edges", g.types.count(lists)):
        return _graphd.sample_edges(g.handle, lists, numbers, *options)


def check_output_device(output_device: Any) -> None:
    """Raises InvalidError unless the device is the CPU, or none is given."""
    if output_device is not None and str(output_device) != "cpu":
        raise InvalidError(
            f"output_device {output_device}: edges are sampled in host memory; move what you need "
            "with .to(device)"
        )


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
    e = graph_of(g).types.etype_id(etype)
    with g.calls.clock("finding edges", g.types.count([edge_ids])):
        return g.handle.find_edges(edge_ids, e)


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
    with g.calls.clock("finding edges", g.types.count(lists)):
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
    with g.calls.clock("finding edges between nodes", g.types.count(lists)):
        return Subgraph(g.types, *_graphd.node_subgraph(g.handle, lists))
