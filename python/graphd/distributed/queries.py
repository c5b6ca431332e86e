# SPDX-License-Identifier: Apache-2.0
"""Sampling one hop, and small graphs cut out of the large one."""
from .. import _graphd, backend, seeds
from ..arguments import check_draws, column_of, fanout_number, graph_of, one_of
from ..errors import InvalidError
from ..sampled import SampledGraph
from ..subgraph import Subgraph


def sample_neighbors(g, nodes, fanout, edge_dir="in", prob=None, exclude_edges=None, replace=False,
                     use_graphbolt=False, *, seed=None):
    """Samples in- or out-edges of nodes. Matches ``dgl.distributed.sample_neighbors``.

    Parameters
    ----------
    g : DistGraph
    nodes : int64 tensor, or dict of node type to tensor
        A node that is listed twice gets the same neighbours twice.
    fanout : int
        Edges per node and edge type; -1: all, 0: none. (DGL pools the edge types of a node.)
    edge_dir : {"in", "out"}
    prob : str, optional
        Edge feature: weights (float32, float64) or a mask (bool, uint8, int8).
    exclude_edges : int64 tensor, or dict of edge type to tensor, optional
        Edges never to choose.
    replace : bool
    use_graphbolt
        DGL's; without effect.
    seed : int, optional
        The same seed gives the same sample, wherever the partitions are.

    Returns
    -------
    SampledGraph
    """
    return sample_etype_neighbors(g, nodes, fanout, edge_dir, prob, exclude_edges, replace,
                                  seed=seed)


def sample_etype_neighbors(g, nodes, fanout, edge_dir="in", prob=None, exclude_edges=None,
                           replace=False, etype_sorted=True, use_graphbolt=False, *, seed=None):
    """The same with a fanout for each edge type. Matches
    ``dgl.distributed.sample_etype_neighbors``.

    Parameters
    ----------
    fanout : int, or dict of edge type to int
        A dict has to name every edge type, by relation or by canonical type.
    etype_sorted, use_graphbolt
        DGL's; without effect.
    g, nodes, edge_dir, prob, exclude_edges, replace, seed
        As `sample_neighbors` has them.

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
    exclude = () if exclude_edges is None else g.types.by_etype(exclude_edges, "exclude_edges")
    numbers = fanouts_of(g.types, fanout)
    if replace:
        check_draws(g.types.count(lists), max(numbers), "fanout")
    found = _graphd.sample_edges(g.handle, lists, numbers, column_of(prob), bool(replace), is_out,
                                 seeds.given_or_next(seed), exclude)
    return SampledGraph(g, lists, found, is_out)


def fanouts_of(types, fanout, what="fanout"):
    """[etype] fanouts, out of one number or a dict."""
    if isinstance(fanout, dict):
        by_type = {types.etype_id(name): fanout_number(number, what)
                   for name, number in fanout.items()}
        missing = [c for e, c in enumerate(types.canonical_etypes) if e not in by_type]
        if missing:
            raise InvalidError(f"{what}: no number for the edge types {missing}; name every edge "
                               "type (0: none of its edges)")
        return [by_type[e] for e in range(len(types.canonical_etypes))]
    return [fanout_number(fanout, what)] * len(types.canonical_etypes)


def vectors(lists):
    """Seeds as they are needed twice: once to sample, once to name edges' ends."""
    import numpy

    return [backend.from_numpy(numpy.asarray([each] if isinstance(each, int) else each,
                                             numpy.int64))
            if isinstance(each, (int, list, tuple, range)) else each for each in lists]


def in_subgraph(g, nodes):
    """All in-edges of nodes. Matches ``dgl.distributed.in_subgraph``, for any number of types.

    Parameters
    ----------
    g : DistGraph
    nodes : int64 tensor, or dict of node type to tensor

    Returns
    -------
    SampledGraph
    """
    return sample_neighbors(g, nodes, -1, seed=0)


def find_edges(g, edge_ids, etype=None):
    """Ends of edges, in the order given. Matches ``dgl.distributed.find_edges``.

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
    return graph_of(g).find_edges(edge_ids, etype)


def edge_subgraph(g, edges, relabel_nodes=True, store_ids=True):
    """The edges with their ends. Matches ``DistGraph.edge_subgraph``.

    Parameters
    ----------
    g : DistGraph
    edges : int64 tensor, or dict of edge type to tensor
    relabel_nodes : bool
        True: nodes of the result are the ends, in order of appearance, and numbered anew.
    store_ids : bool
        Only True.

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
    return Subgraph(g.types, *_graphd.edge_subgraph(g.handle, lists, bool(relabel_nodes)),
                    None if relabel_nodes else g)


def node_subgraph(g, nodes):
    """Every edge between two of the nodes. Matches ``dgl.node_subgraph``.

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
