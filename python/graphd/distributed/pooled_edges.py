# SPDX-License-Identifier: Apache-2.0
"""Blocks of batches of edges, by a sampler that runs in Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .. import _graphd, backend
from ..graph_base import GraphBase
from ..names import NID
from ..native_sampler import NativeSampler
from ..subgraph import Subgraph
from ..typing import Ids, Triple
from .data_loader import made_ahead


def sampler_of_no_edge() -> _graphd.Sampler:
    """Returns a sampler with which the library's loader makes everything of a batch but its blocks."""
    return _graphd.neighbor_sampler([0], False, False, "uniform", "", True)


class ExcludedEdges:
    """The edges that the blocks of a batch must not have.

    Parameters
    ----------
    g : DistGraph
    exclude : {None, "self", "reverse_id", "reverse_types"}
    reverse_eids : list
        For "reverse_id": for each edge type the reverse of each edge.
    reverse_etypes : list of (int, int)
        For "reverse_types": pairs of an edge type and its reverse.
    """

    def __init__(
        self,
        g: GraphBase,
        exclude: str | None,
        reverse_eids: Sequence[Ids],
        reverse_etypes: Sequence[tuple[int, int]],
    ) -> None:
        import numpy

        self._g, self._exclude, self._reverse_etypes = g, exclude, reverse_etypes
        self._reverse_eids = [
            numpy.asarray([] if each is None else each, numpy.int64) for each in reverse_eids
        ]

    def of(self, pair_graph: Subgraph) -> dict[Triple, Any] | None:
        """Returns the ids of the edges to leave out for a batch, by edge type.

        Parameters
        ----------
        pair_graph : Subgraph
            The batch's edges.
        """
        import numpy

        if self._exclude is None:
            return None
        types = self._g.types
        edges = [
            [backend.to_numpy(each) for each in pair_graph.edges("all", etype=etype)]
            for etype in types.canonical_etypes
        ]
        ids = [[of_type[2]] for of_type in edges]
        if self._exclude == "reverse_id":
            for some, reverse in zip(ids, self._reverse_eids):
                some.append(reverse[some[0]])
        if self._exclude == "reverse_types":
            for e, found in self._between(pair_graph, edges):
                ids[e].append(found)
        return {
            etype: backend.from_numpy(numpy.concatenate(some))
            for etype, some in zip(types.canonical_etypes, ids)
            if any(map(len, some))
        }

    def _between(self, pair_graph: Subgraph, edges: list[list[Any]]) -> list[tuple[int, Any]]:
        """Returns the edges of reverse types between the ends of the batch's edges, parallel ones
        included. Partitioning changes ids, so the reverse of an edge may have another id than the
        edge."""
        import numpy

        types = self._g.types
        wanted = [(e, back) for e, back in self._reverse_etypes if len(edges[e][0])]
        nodes = [backend.to_numpy(pair_graph.nodes[t].data[NID]) for t in types.ntypes]
        ends: list[Any] = [None] * len(nodes)
        for e, _ in wanted:
            for t, local in ((types.src_types[e], edges[e][0]), (types.dst_types[e], edges[e][1])):
                some = nodes[t][local]
                ends[t] = numpy.unique(some if ends[t] is None else numpy.append(ends[t], some))
        _, between = _graphd.node_subgraph(self._g.handle, ends)
        found = []
        for e, back in wanted:
            src, dst = types.src_types[e], types.dst_types[e]
            u, v = (
                numpy.searchsorted(ends[t], nodes[t][local])
                for t, local in ((src, edges[e][0]), (dst, edges[e][1]))
            )
            from_dst, to_src, ids = map(backend.to_numpy, between[back])
            is_reverse = numpy.isin(from_dst * len(ends[src]) + to_src, v * len(ends[src]) + u)
            found.append((back, ids[is_reverse]))
        return found


class BlockMaker:
    """A maker of the blocks of batches.

    Parameters
    ----------
    g : DistGraph
        The graph to sample from.
    sampler : NativeSampler
    excluded : ExcludedEdges
    options : dict
        The options of the extension module's loader. With the same seed, batches of the same number
        have the same blocks, for any number of threads.
    """

    def __init__(
        self,
        g: GraphBase,
        sampler: NativeSampler,
        excluded: ExcludedEdges,
        options: Mapping[str, Any],
    ) -> None:
        self._g, self._sampler, self._excluded = g, sampler, excluded
        self._seed, self._num_workers = options["seed"], options["num_workers"]
        self._queue_size = options["queue_size"] or max(2 * self._num_workers, 1)

    def completed(
        self, epoch: int, batches: Iterable[tuple[Any, ...]]
    ) -> Iterator[tuple[Any, ...]]:
        """Yields the batches of an epoch with their blocks, which threads make ahead of the caller.

        Parameters
        ----------
        epoch : int
        batches : iterable of tuple
            (nodes, pair graphs, blocks) with the seeds as nodes, and blocks without edges.
        """
        # A function makes the pairs, because zip and enumerate would keep the latest batch in
        # memory.
        numbered = map(lambda *both: both, itertools.count(), batches)
        return made_ahead(
            lambda both: self._complete(epoch, *both),
            numbered,
            self._num_workers,
            self._queue_size,
        )

    def _complete(self, epoch: int, index: int, batch: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns a batch with its blocks and their input nodes."""
        import numpy

        seed_nodes, *pair_graphs, _ = batch
        # Each batch needs a random seed of its own: with the same seed, equal rows would get the
        # same edges.
        draw = numpy.random.default_rng([self._seed, epoch, index])
        input_nodes, output_nodes, blocks = self._sampler.sample_blocks(
            self._g, seed_nodes, self._excluded.of(pair_graphs[0]), seed=int(draw.integers(1 << 63))
        )
        self._sampler.assign_lazy_features(self._g, (input_nodes, output_nodes, blocks))
        return (input_nodes, *pair_graphs, blocks)
