# SPDX-License-Identifier: Apache-2.0
"""Samplers for batches of edges, as DGL describes them."""

from __future__ import annotations

from .block_sampler import BlockSampler
from .errors import InvalidError
from .html import properties
from .negative import Function, NegativeSampler
from .typing import EdgeIds, EdgeType, FeatureNames


def check_exclude(exclude: str | None) -> None:
    """Raises InvalidError if `exclude` does not say which edges the blocks must not have."""
    if exclude not in (None, "self", "reverse_id", "reverse_types"):
        raise InvalidError(
            f"exclude {exclude!r}: use None, 'self', 'reverse_id' or 'reverse_types'"
        )


class EdgePredictionSampler:
    """A sampler of nodes' neighbourhoods with what a `DistEdgeDataLoader` needs to know about edges.

    `as_edge_prediction_sampler` makes it, and documents the attributes.
    """

    def __init__(
        self,
        sampler: BlockSampler,
        exclude: str | None,
        reverse_eids: EdgeIds,
        reverse_etypes: dict[EdgeType, EdgeType] | None,
        negative_sampler: NegativeSampler | Function | None,
        prefetch_labels: FeatureNames,
    ) -> None:
        self.sampler, self.exclude = sampler, exclude
        self.reverse_eids, self.reverse_etypes = reverse_eids, reverse_etypes
        self.negative_sampler, self.prefetch_labels = negative_sampler, prefetch_labels or []

    def __repr__(self) -> str:
        return f"EdgePredictionSampler({self.sampler!r}, exclude={self.exclude!r})"

    def _repr_html_(self) -> str:
        names = ("sampler", "exclude", "reverse_etypes", "negative_sampler", "prefetch_labels")
        return properties("EdgePredictionSampler", [(name, getattr(self, name)) for name in names])


def as_edge_prediction_sampler(
    sampler: BlockSampler,
    exclude: str | None = None,
    reverse_eids: EdgeIds = None,
    reverse_etypes: dict[EdgeType, EdgeType] | None = None,
    negative_sampler: NegativeSampler | Function | None = None,
    prefetch_labels: FeatureNames = None,
) -> EdgePredictionSampler:
    """Makes a sampler for edges out of one for nodes. Matches
    ``dgl.dataloading.as_edge_prediction_sampler``.

    Parameters
    ----------
    sampler : BlockSampler
        A sampler of `graphd.sampling`.
    exclude, reverse_eids, reverse_etypes, negative_sampler
        See `graphd.distributed.DistEdgeDataLoader`.
    prefetch_labels : list of str, or dict of edge type to list, optional
        Features of the batch's edges, found in ``pair_graph.edata``.

    Returns
    -------
    EdgePredictionSampler
        The `graph_sampler` of a `DistEdgeDataLoader`.

    Raises
    ------
    graphd.errors.InvalidError
        If an argument is not valid.
    """
    if not isinstance(sampler, BlockSampler):
        raise InvalidError(
            f"sampler {sampler!r}: expected a BlockSampler, as "
            "graphd.sampling.NeighborSampler([10, 25])"
        )
    check_exclude(exclude)
    return EdgePredictionSampler(
        sampler, exclude, reverse_eids, reverse_etypes, negative_sampler, prefetch_labels
    )
