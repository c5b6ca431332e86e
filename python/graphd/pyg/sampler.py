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
from ..convert import to_hetero_data
from ..errors import InvalidError
from ..graph_base import GraphBase
from ..typing import EdgeType
from .stores import torch_graph_of


class NeighborSampler(BaseSampler):  # type: ignore[misc, unused-ignore]
    """PyG's interface of `graphd.sampling.NeighborSampler`, for PyG's loaders.

    Parameters
    ----------
    g : DistGraph
    num_neighbors : list, or dict of edge type to list
        The fanout of each hop, from the seeds outwards, as in PyG.
    **options
        Other arguments of `graphd.sampling.NeighborSampler`, such as ``prob`` and ``replace``.

    Raises
    ------
    graphd.errors.InvalidError
        If an argument is not valid.
    """

    def __init__(
        self,
        g: GraphBase,
        num_neighbors: Sequence[int] | Mapping[EdgeType, Sequence[int]],
        **options: Any,
    ) -> None:
        self.g = torch_graph_of(g)
        self.sampler = sampling.NeighborSampler(input_layer_first(num_neighbors), **options)

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
            If the seeds have times.
        """
        if index.time is not None:
            raise InvalidError("input_time: use graphd.sampling.TemporalSampler and graphd.to_pyg")
        ntype = index.input_type or self.g.types.ntypes[self.g.types.ntype_id(None)]
        out = self._sample({ntype: index.node})
        out.metadata = (index.input_id, index.time)
        return out

    def _sample(self, seeds: dict[str, torch.Tensor], times: None = None) -> HeteroSamplerOutput:
        """Samples for seeds by node type; edge_sample passes their times, too, which are None."""
        _, _, blocks = self.sampler.sample(self.g, seeds)
        data = to_hetero_data(blocks)
        types = self.g.types
        edges = {etype: data[etype] for etype in types.canonical_etypes}
        return HeteroSamplerOutput(
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
            If the edges have times.
        """
        if index.time is not None:
            raise InvalidError(
                "edge_label_time: use graphd.sampling.TemporalSampler and graphd.to_pyg"
            )
        types = self.g.types
        index.input_type = index.input_type or types.canonical_etypes[types.etype_id(None)]
        counts = {t: self.g.handle.num_nodes(i) for i, t in enumerate(types.ntypes)}
        return edge_sample(index, self._sample, counts, False, neg_sampling=neg_sampling)

    @property
    def edge_permutation(self) -> dict[Any, None]:
        """The permutation of edges, by edge type: none, since edges have the ids of the graph."""
        return dict.fromkeys(self.g.types.canonical_etypes)


def input_layer_first(num_neighbors: Any) -> list[Any]:
    """Returns PyG's fanouts, which begin at the seeds, in the order of `sampling.NeighborSampler`."""
    by_type = num_neighbors if isinstance(num_neighbors, Mapping) else {None: num_neighbors}
    lists = list(by_type.values())
    if not all(isinstance(each, Sequence) for each in lists) or len(set(map(len, lists))) != 1:
        raise InvalidError(
            f"num_neighbors {num_neighbors!r}: expected a list with one fanout for each hop, or "
            "lists of one length by edge type"
        )
    if by_type is not num_neighbors:
        return list(num_neighbors)[::-1]
    return [dict(zip(by_type, hop)) for hop in zip(*lists)][::-1]
