# SPDX-License-Identifier: Apache-2.0
"""A sampler for PyG's own loaders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch_geometric.sampler import (
    BaseSampler,
    EdgeSamplerInput,
    HeteroSamplerOutput,
    NegativeSampling,
    NodeSamplerInput,
)
from torch_geometric.sampler.neighbor_sampler import edge_sample

from .. import sampling
from ..arguments import one_of
from ..convert import to_hetero_data
from ..errors import InvalidError
from ..graph_base import GraphBase
from ..html import properties
from ..typing import EdgeType
from .bidirectional import with_reverses
from .stores import torch_graph_of


class NeighborSampler(BaseSampler):  # type: ignore[misc, unused-ignore]
    """PyG's interface of `graphd.sampling.NeighborSampler`, for PyG's loaders.

    Parameters
    ----------
    g : DistGraph
    num_neighbors : list, or dict of edge type to list
        The fanout of each hop, from the seeds outwards, as in PyG.
    disjoint, time_attr, temporal_strategy, subgraph_type
        See `NeighborLoader`. Give the same values to a loader of PyG.
    **options
        Other arguments of `graphd.sampling.NeighborSampler`, such as ``prob`` and ``replace``; of
        `graphd.sampling.TemporalSampler` if seeds have trees of their own.

    Raises
    ------
    graphd.errors.InvalidError
        If an argument is not valid.
    """

    def __init__(
        self,
        g: GraphBase,
        num_neighbors: Sequence[int] | Mapping[EdgeType, Sequence[int]],
        *,
        disjoint: bool = False,
        time_attr: str | None = None,
        temporal_strategy: str = "uniform",
        subgraph_type: Any = "directional",
        **options: Any,
    ) -> None:
        self.g = torch_graph_of(g)
        self.sampler = block_sampler(
            self.g, num_neighbors, disjoint, time_attr, temporal_strategy, **options
        )
        self.disjoint = isinstance(self.sampler, sampling.TemporalSampler)
        self.is_bidirectional = is_bidirectional(subgraph_type)

    def __repr__(self) -> str:
        return f"NeighborSampler({self.sampler!r})"

    def _repr_html_(self) -> str:
        names = ("sampler", "disjoint", "is_bidirectional")
        shown = [("graph", self.g), *((name, getattr(self, name)) for name in names)]
        return properties("NeighborSampler", shown)

    def sample_from_nodes(self, index: NodeSamplerInput, **_: Any) -> HeteroSamplerOutput:
        """Samples the neighbours of a mini-batch's seeds.

        Parameters
        ----------
        index : torch_geometric.sampler.NodeSamplerInput

        Returns
        -------
        torch_geometric.sampler.HeteroSamplerOutput

        Raises
        ------
        graphd.errors.InvalidError
            If the seeds have times, but edges have not, or the reverse.
        """
        ntype = index.input_type or self.g.types.ntypes[self.g.types.ntype_id(None)]
        times = None if index.time is None else {ntype: index.time}
        out = self._sample({ntype: index.node}, times)
        out.metadata = (index.input_id, index.time)
        return out

    def _sample(
        self, seeds: dict[str, torch.Tensor], times: dict[str, torch.Tensor] | None = None
    ) -> HeteroSamplerOutput:
        """Samples the neighbours of seeds, which are given by node type. PyG's edge_sample calls
        it, too."""
        if times is not None and getattr(self.sampler, "column", None) is None:
            raise InvalidError("seeds have times, but the sampler has no time_attr; give it one")
        if isinstance(self.sampler, sampling.TemporalSampler):
            _, _, blocks = self.sampler.sample(self.g, seeds, seed_times=times)
        else:
            _, _, blocks = self.sampler.sample(self.g, seeds)
        out = self._output(to_hetero_data(blocks, all_nodes=False), seeds)
        return with_reverses(out) if self.is_bidirectional else out

    def _output(self, data: Any, seeds: dict[str, torch.Tensor]) -> HeteroSamplerOutput:
        types = self.g.types
        edges = {etype: data[etype] for etype in types.canonical_etypes}
        batch = None
        if self.disjoint:
            lengths = torch.tensor([len(seeds.get(t, ())) for t in types.ntypes])
            batch = {t: _within_type(data[t].batch, lengths) for t in types.ntypes}
        return HeteroSamplerOutput(
            batch=batch,
            node={t: data[t].n_id for t in types.ntypes},
            row={etype: store.edge_index[0] for etype, store in edges.items()},
            col={etype: store.edge_index[1] for etype, store in edges.items()},
            edge={etype: store.get("e_id") for etype, store in edges.items()},
            num_sampled_nodes={t: data[t].num_sampled_nodes for t in types.ntypes},
            num_sampled_edges={etype: store.num_sampled_edges for etype, store in edges.items()},
        )

    def sample_from_edges(
        self, index: EdgeSamplerInput, neg_sampling: NegativeSampling | None = None
    ) -> HeteroSamplerOutput:
        """Samples the neighbours of the ends of a mini-batch's edges, and negative edges.

        The edges of the mini-batch may be among the sampled ones, as in PyG.

        Parameters
        ----------
        index : torch_geometric.sampler.EdgeSamplerInput
        neg_sampling : torch_geometric.sampler.NegativeSampling, optional

        Returns
        -------
        torch_geometric.sampler.HeteroSamplerOutput

        Raises
        ------
        graphd.errors.InvalidError
            If the edges have times, but the sampler has no time_attr, or the reverse.
        """
        types = self.g.types
        index.input_type = index.input_type or types.canonical_etypes[types.etype_id(None)]
        counts = {t: self.g.handle.num_nodes(i) for i, t in enumerate(types.ntypes)}
        if index.time is not None and not self.disjoint:
            raise InvalidError("edges have times, but the sampler has no time_attr; give it one")
        return edge_sample(index, self._sample, counts, self.disjoint, neg_sampling=neg_sampling)

    @property
    def edge_permutation(self) -> dict[Any, None]:
        """The permutation of edges, by edge type: none, because edges already have the ids of the
        graph."""
        return dict.fromkeys(self.g.types.canonical_etypes)


def _within_type(roots: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Converts positions among the seeds of all types to positions among the seeds of one type."""
    ends = lengths.cumsum(0)
    return roots - (ends - lengths)[torch.searchsorted(ends, roots, right=True)]


def block_sampler(
    g: GraphBase,
    num_neighbors: Any,
    disjoint: bool,
    time_attr: str | None,
    temporal_strategy: str,
    prob: str | None = None,
    **options: Any,
) -> sampling.NeighborSampler | sampling.TemporalSampler:
    """Returns the sampler of blocks for these arguments of PyG's loaders."""
    fanouts = input_layer_first(num_neighbors)
    one_of(temporal_strategy, "temporal_strategy", ("uniform", "last"))
    if time_attr is None and not disjoint:
        return sampling.NeighborSampler(fanouts, prob=prob, **options)
    if prob is not None:
        raise InvalidError(
            f"weight {prob!r}: trees of single seeds (disjoint, time_attr) are sampled without "
            "weights; leave it out"
        )
    if time_attr is not None:
        _check_times(g, time_attr)
    recent = time_attr is not None and temporal_strategy == "last"
    return sampling.TemporalSampler(fanouts, time_attr, recent, inclusive=True, **options)


def _check_times(g: GraphBase, time_attr: str) -> None:
    """Raises InvalidError if no edge type has a feature of this name."""
    names = {name for e in range(len(g.types.etypes)) for name, _, _ in g.handle.schemes(True, e)}
    if time_attr not in names:
        raise InvalidError(
            f"time_attr {time_attr!r}: edges have the features {sorted(names)}; graphd samples by "
            "times of edges. For times of nodes, partition the graph with an edge feature that has "
            "the time of each edge's source"
        )


def is_bidirectional(subgraph_type: Any) -> bool:
    """Returns whether sampled edges get a reverse, for PyG's `subgraph_type`."""
    name = str(getattr(subgraph_type, "value", subgraph_type))
    if name == "induced":
        raise InvalidError(
            "subgraph_type='induced': batches have sampled edges alone; use "
            "graphd.sampling.ShadowSampler, which takes all edges between the sampled nodes"
        )
    return one_of(name, "subgraph_type", ("directional", "bidirectional")) == "bidirectional"


def input_layer_first(num_neighbors: Any) -> list[Any]:
    """Returns PyG's fanouts, which begin at the seeds, in the order of `sampling.NeighborSampler`."""
    by_type = num_neighbors if isinstance(num_neighbors, Mapping) else {None: num_neighbors}
    lists = list(by_type.values())
    if not all(isinstance(each, Sequence) for each in lists) or len(set(map(len, lists))) != 1:
        raise InvalidError(
            f"num_neighbors {num_neighbors!r}: expected a list with one fanout for each hop, or "
            "lists of one length by edge type: the number of hops must be the same across all of "
            "them"
        )
    if by_type is not num_neighbors:
        return list(num_neighbors)[::-1]
    return [dict(zip(by_type, hop)) for hop in zip(*lists)][::-1]
