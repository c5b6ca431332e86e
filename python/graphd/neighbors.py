# SPDX-License-Identifier: Apache-2.0
"""Neighbours chosen by value, or by random walks, under the names of ``dgl.sampling``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _graphd, backend, seeds
from .arguments import needed_column, not_negative, one_of, whole_number
from .distributed.queries import fanouts_of, vectors
from .errors import InvalidError
from .graph_base import GraphBase, graph_of
from .html import properties
from .sampled import SampledGraph
from .schema import Types
from .typing import EdgeType, Fanout, Ids, NodeIds, Triple


def select_topk(
    g: GraphBase,
    k: Fanout,
    weight: str,
    nodes: NodeIds = None,
    edge_dir: str = "in",
    ascending: bool = False,
    copy_ndata: bool = True,
    copy_edata: bool = True,
    output_device: Any = None,
) -> SampledGraph:
    """Selects the edges of each node with the largest values. Matches ``dgl.sampling.select_topk``.

    Parameters
    ----------
    g : DistGraph
    k : int, or dict of edge type to int
        Number of edges per node and edge type; -1: all, best first. A dict has to name every edge
        type; 0 omits a type.
    weight : str
        Edge feature with the values: numbers of any dtype, one per edge. Every edge type with a `k`
        other than 0 must have it.
    nodes : int64 tensor, or dict of node type to tensor, optional
        Default: all nodes.
    edge_dir : {"in", "out"}
    ascending : bool
        Whether to select the smallest values.
    copy_ndata, copy_edata, output_device
        Accepted for DGL; has no effect.

    Returns
    -------
    SampledGraph
        The edges of one node are consecutive, best first; ties are in order of edge ids.
    """
    backend.chosen()
    graph_of(g)
    is_out = one_of(edge_dir, "edge_dir", ("in", "out")) == "out"
    weight = needed_column(weight, "weight")
    if nodes is None:
        nodes = {ntype: range(g.num_nodes(ntype)) for ntype in g.ntypes}
    lists = vectors(g.types.by_ntype(nodes, "nodes"))
    options = fanouts_of(g.types, k, "k"), weight, is_out, bool(ascending)
    with g.calls.clock(f"selecting edges by {weight!r}", g.types.count(lists)):
        found = _graphd.select_topk(g.handle, lists, *options)
    return SampledGraph(g, lists, found, is_out)


class RandomWalkNeighborSampler:
    """A sampler of the nodes that random walks from a node visit most often.

    Matches ``dgl.sampling.RandomWalkNeighborSampler``. A walk goes along the metapath repeatedly,
    and visits the node at which each traversal ends. Called with nodes, the sampler returns a graph
    of edges from their neighbours.

    Parameters
    ----------
    G : DistGraph
    num_traversals : int
        Maximum number of traversals of the metapath in one walk.
    termination_prob : float
        Probability of ending after each traversal.
    num_random_walks : int
        Number of walks from each node.
    num_neighbors : int
        Number of neighbours to keep: those visited most, ties by lower id. -1: all.
    metapath : list of str or (str, str, str), optional
        A path from a node type back to it. Default: the edge type, if there is only one.
    weight_column : str
        The name in the result's ``edata`` for the number of visits of a neighbour.
    """

    def __init__(
        self,
        G: GraphBase,
        num_traversals: int,
        termination_prob: float,
        num_random_walks: int,
        num_neighbors: int,
        metapath: Sequence[EdgeType] | None = None,
        weight_column: str = "weights",
    ) -> None:
        self.g, self.weight_column = graph_of(G), weight_column
        self._walks: dict[str, Any] = {
            "num_traversals": whole_number(num_traversals, "num_traversals"),
            "termination_prob": not_negative(termination_prob, "termination_prob"),
            "num_random_walks": whole_number(num_random_walks, "num_random_walks"),
            "num_neighbors": whole_number(num_neighbors, "num_neighbors"),
        }
        self._metapath = G.types.steps(metapath or [None])
        ntype = G.types.canonical_etypes[self._metapath[0]][0]
        self._types = Types(_graphd.Schema([ntype], [(ntype, "_E", ntype)]))

    def __call__(self, seed_nodes: Ids, *, seed: int | None = None) -> SampledGraph:
        """Samples the neighbours of nodes.

        Parameters
        ----------
        seed_nodes : int64 tensor
            A node that is listed twice has its own walks each time.
        seed : int, optional
            The same seed gives the same neighbours, wherever the partitions are.

        Returns
        -------
        SampledGraph
            It has one node type; `graphd.to_block` makes a block of it, ``edata`` included.
        """
        import numpy

        backend.chosen()
        lists = vectors([seed_nodes])
        options = *self._walks.values(), self._metapath, seeds.given_or_next(seed)
        with self.g.calls.clock("walking", len(lists[0])):
            indptr, neighbors, visits = _graphd.pinsage_neighbors(self.g.handle, lists[0], *options)
        places = backend.from_numpy(numpy.arange(len(neighbors), dtype=numpy.int64))
        return SampledGraph(
            self.g,
            lists,
            [(0, indptr, neighbors, places)],
            types=self._types,
            edata={self.weight_column: visits},
        )

    def _shown(self) -> list[tuple[str, Any]]:
        metapath = [self.g.canonical_etypes[e] for e in self._metapath]
        return [*self._walks.items(), ("metapath", metapath)]

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self._shown())
        return f"{type(self).__name__}({options})"

    def _repr_html_(self) -> str:
        shown = [("graph", self.g), *self._shown(), ("weight_column", self.weight_column)]
        return properties(type(self).__name__, shown)


class PinSAGESampler(RandomWalkNeighborSampler):
    """A sampler of PinSAGE's neighbours in a graph of two node types, by walks there and back.

    Matches ``dgl.sampling.PinSAGESampler``.

    Parameters
    ----------
    G : DistGraph
    ntype, other_type : str
        The type of the nodes, and the type that the walks go over; there must be an edge type each
        way.
    num_traversals, termination_prob, num_random_walks, num_neighbors, weight_column
        See `RandomWalkNeighborSampler`.
    """

    def __init__(
        self,
        G: GraphBase,
        ntype: str,
        other_type: str,
        num_traversals: int,
        termination_prob: float,
        num_random_walks: int,
        num_neighbors: int,
        weight_column: str = "weights",
    ) -> None:
        metapath = [_edge_type(G, ntype, other_type), _edge_type(G, other_type, ntype)]
        super().__init__(
            G,
            num_traversals,
            termination_prob,
            num_random_walks,
            num_neighbors,
            metapath,
            weight_column,
        )


def _edge_type(g: GraphBase, src: str, dst: str) -> Triple:
    for etype in graph_of(g).canonical_etypes:
        if (etype[0], etype[2]) == (src, dst):
            return etype
    raise InvalidError(
        f"PinSAGESampler: no edge type leads from {src!r} to {dst!r}; there are "
        f"{g.canonical_etypes}"
    )
