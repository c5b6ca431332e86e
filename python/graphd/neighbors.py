# SPDX-License-Identifier: Apache-2.0
"""Neighbours by other rules than chance alone. Names and arguments are those of ``dgl.sampling``."""
from . import _graphd, backend, seeds
from .arguments import graph_of, needed_column, not_negative, one_of, whole_number
from .distributed.queries import fanouts_of, vectors
from .errors import InvalidError
from .sampled import SampledGraph
from .schema import Types


def select_topk(g, k, weight, nodes=None, edge_dir="in", ascending=False, copy_ndata=True,
                copy_edata=True, output_device=None):
    """The edges of each node with the largest values. Matches ``dgl.sampling.select_topk``.

    Parameters
    ----------
    g : DistGraph
    k : int, or dict of edge type to int
        Edges per node and edge type; -1: all, best first. A dict has to name every edge type; 0
        leaves a type out.
    weight : str
        Edge feature with the values: numbers of any dtype, one per edge. Every edge type of whose
        edges some are wanted must have it.
    nodes : int64 tensor, or dict of node type to tensor, optional
        Default: all nodes.
    edge_dir : {"in", "out"}
    ascending : bool
        The smallest values.
    copy_ndata, copy_edata, output_device
        DGL's; without effect.

    Returns
    -------
    SampledGraph
        Edges of one node stand together, best first; ties by edge id.
    """
    backend.chosen()
    graph_of(g)
    is_out = one_of(edge_dir, "edge_dir", ("in", "out")) == "out"
    weight = needed_column(weight, "weight")
    if nodes is None:
        nodes = {ntype: range(g.num_nodes(ntype)) for ntype in g.ntypes}
    lists = vectors(g.types.by_ntype(nodes, "nodes"))
    found = _graphd.select_topk(g.handle, lists, fanouts_of(g.types, k, "k"), weight, is_out,
                                bool(ascending))
    return SampledGraph(g, lists, found, is_out)


class RandomWalkNeighborSampler:
    """The nodes that random walks from a node visit most. Matches
    ``dgl.sampling.RandomWalkNeighborSampler``.

    A walk goes along the metapath, again and again; the nodes are counted at which it is when it
    has gone along it whole. Called with nodes, it returns a graph of edges from their neighbours.

    Parameters
    ----------
    G : DistGraph
    num_traversals : int
        Of the metapath in one walk, at most.
    termination_prob : float
        Of ending after each traversal.
    num_random_walks : int
        From each node.
    num_neighbors : int
        To keep, those visited most; ties by lower id. -1: all.
    metapath : list of str or (str, str, str), optional
        From a node type back to it. Default: the edge type, if there is only one.
    weight_column : str
        How often a neighbour was visited, in the ``edata`` of the result.
    """

    def __init__(self, G, num_traversals, termination_prob, num_random_walks, num_neighbors,
                 metapath=None, weight_column="weights"):
        self.g, self.weight_column = graph_of(G), weight_column
        self._walks = (whole_number(num_traversals, "num_traversals"),
                       not_negative(termination_prob, "termination_prob"),
                       whole_number(num_random_walks, "num_random_walks"),
                       whole_number(num_neighbors, "num_neighbors"))
        self._metapath = G.types.steps(metapath or [None])
        ntype = G.types.canonical_etypes[self._metapath[0]][0]
        self._types = Types(_graphd.Schema([ntype], [(ntype, "_E", ntype)]))

    def __call__(self, seed_nodes, *, seed=None):
        """
        Parameters
        ----------
        seed_nodes : int64 tensor
            One that is listed twice has walks of its own each time.
        seed : int, optional
            The same seed gives the same neighbours, wherever the partitions are.

        Returns
        -------
        SampledGraph
            Of one node type; `graphd.to_block` makes a block of it, ``edata`` included.
        """
        from .distributed.queries import vectors

        backend.chosen()
        lists = vectors([seed_nodes])
        indptr, neighbors, visits = _graphd.pinsage_neighbors(
            self.g.handle, lists[0], *self._walks, self._metapath,
            seeds.given_or_next(seed))
        import numpy

        places = backend.from_numpy(numpy.arange(len(neighbors), dtype=numpy.int64))
        return SampledGraph(self.g, lists, [(0, indptr, neighbors, places)], types=self._types,
                            edata={self.weight_column: visits})


class PinSAGESampler(RandomWalkNeighborSampler):
    """PinSAGE's neighbours in a graph of two node types, by walks there and back. Matches
    ``dgl.sampling.PinSAGESampler``.

    Parameters
    ----------
    G : DistGraph
    ntype, other_type : str
        Of the nodes, and of those over which walks go; with an edge type each way.
    num_traversals, termination_prob, num_random_walks, num_neighbors, weight_column
        Of `RandomWalkNeighborSampler`.
    """

    def __init__(self, G, ntype, other_type, num_traversals, termination_prob, num_random_walks,
                 num_neighbors, weight_column="weights"):
        metapath = [_edge_type(G, ntype, other_type), _edge_type(G, other_type, ntype)]
        super().__init__(G, num_traversals, termination_prob, num_random_walks, num_neighbors,
                         metapath, weight_column)


def _edge_type(g, src, dst):
    for etype in graph_of(g).canonical_etypes:
        if (etype[0], etype[2]) == (src, dst):
            return etype
    raise InvalidError(f"PinSAGESampler: no edge type leads from {src!r} to {dst!r}; there are "
                       f"{g.canonical_etypes}")
