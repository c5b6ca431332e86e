# SPDX-License-Identifier: Apache-2.0
"""Samplers of mini-batches, of neighbours and of negative edges.

Names and arguments are those of ``dgl.dataloading``. The loaders that use the samplers are in
`graphd.distributed`, and here too.
"""

from __future__ import annotations

import collections.abc
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _graphd
from .arguments import column_of, fanout_number, method_for, needed_column, whole_number
from .block_sampler import BlockSampler, BoundSampler, Sample, check_times
from .distributed.data_loader import DistDataLoader
from .distributed.dgl_example import fanouts_of_example
from .distributed.dgl_remedies import no_attribute
from .distributed.loaders import DistEdgeDataLoader, DistNodeDataLoader
from .distributed.pooled_blocks import pooled_blocks
from .distributed.queries import fanouts_of
from .edge_prediction import as_edge_prediction_sampler
from .errors import InvalidError
from .graph_base import GraphBase, graph_of
from .native_sampler import NativeSampler
from .negative import negative_sampler
from .neighbors import PinSAGESampler, RandomWalkNeighborSampler, select_topk
from .schema import Types
from .typing import EdgeIds, Fanout, FeatureNames, NodeIds, Tensor
from .walks import node2vec_random_walk, random_walk

__all__ = [
    "BlockSampler",
    "BoundSampler",
    "DistDataLoader",
    "DistEdgeDataLoader",
    "DistNodeDataLoader",
    "LaborSampler",
    "LayerSampler",
    "MultiLayerFullNeighborSampler",
    "MultiLayerNeighborSampler",
    "NeighborSampler",
    "PinSAGESampler",
    "RandomWalkNeighborSampler",
    "ShadowSampler",
    "TemporalSampler",
    "TopKSampler",
    "as_edge_prediction_sampler",
    "negative_sampler",
    "node2vec_random_walk",
    "random_walk",
    "select_topk",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise no_attribute(__name__, name)


def _layers(fanouts: Any) -> list[Fanout]:
    if isinstance(fanouts, (str, dict)) or not isinstance(fanouts, collections.abc.Iterable):
        raise InvalidError(f"fanouts {fanouts!r}: expected a list with one for each layer")
    layers = list(fanouts)
    if not layers:
        raise InvalidError("fanouts []: expected one for each layer, of one layer or more")
    return layers


def _typed_fanouts(types: Types, fanouts: Sequence[Fanout]) -> list[int] | list[list[int]]:
    """Returns fanouts in the form of the extension module: numbers, or lists by edge type."""
    if not any(isinstance(each, dict) for each in fanouts):
        return [fanout_number(each) for each in fanouts]
    return [fanouts_of(types, each) for each in fanouts]


class NeighborSampler(NativeSampler):
    """A sampler of neighbours, layer by layer. Matches ``dgl.dataloading.NeighborSampler``.

    ``NeighborSampler(g, fanouts, graphd.distributed.sample_neighbors, device)`` matches the class
    of this name in DGL's examples of distributed training, up to DGL 0.7: it returns a
    `BoundSampler`, which samples with replacement, and its fanouts begin with the fanout of the
    seeds. The device has no effect, and ``pooled=True`` may follow it.

    Parameters
    ----------
    fanouts : list of int, or list of dict of edge type to int
        One per layer, the input layer first; -1: all neighbours. A number applies to each edge type
        by itself.
    edge_dir : str
        Only "in" is supported.
    prob : str, optional
        Edge feature with weights. Edge types without it are sampled uniformly.
    mask : str, optional
        Edge feature that says which edges may be sampled. Not together with prob.
    replace : bool
    prefetch_node_feats, prefetch_labels, prefetch_edge_feats, output_device
        See `BlockSampler`.
    fused : bool
        Accepted for DGL; has no effect.
    edge_ids : bool, optional
        Whether blocks have ``edata[graphd.EID]``. By default they do, but the ids are not read before
        they are used: the first batch whose ids are used is sampled again, and batches that the
        sampler makes from then on have them at once.
    pooled : bool
        Whether a fanout is the number of edges of all types of a node together, as in DGL's
        distributed sampling. Each edge of the node that is not excluded is then equally likely.
        Fanouts are numbers then, prob and mask can't be given, and blocks always have the ids of
        their edges. In a graph with one edge type it makes no difference. With several, such a
        sampler runs in Python, in the threads of a loader. The seed of a
        `graphd.distributed.DistNodeDataLoader` then decides the order of the seeds, and not which
        edges are drawn; the seed of a `DistEdgeDataLoader` decides both.

    Raises
    ------
    graphd.errors.InvalidError
        If fanouts or feature names are not valid, or options exclude each other.
    """

    _method: str | None = None
    _largest = True

    def __init__(
        self,
        fanouts: Sequence[Fanout],
        edge_dir: str = "in",
        prob: str | None = None,
        mask: str | None = None,
        replace: bool = False,
        prefetch_node_feats: FeatureNames = None,
        prefetch_labels: FeatureNames = None,
        prefetch_edge_feats: FeatureNames = None,
        output_device: Any = None,
        fused: bool = True,
        *,
        edge_ids: bool | None = None,
        pooled: bool = False,
    ) -> None:
        super().__init__(prefetch_node_feats, prefetch_labels, prefetch_edge_feats, output_device)
        if edge_dir != "in":
            raise InvalidError("edge_dir: blocks are made of in-edges; leave it at 'in'")
        if prob is not None and mask is not None:
            raise InvalidError("prob and mask: give one of them")
        self.fanouts, self.replace, self.edge_ids = _layers(fanouts), replace, edge_ids
        self.column = column_of(prob) or column_of(mask, "mask")
        self.pooled = bool(pooled)
        if self.pooled and (self.column or any(isinstance(each, dict) for each in self.fanouts)):
            raise InvalidError(
                "pooled=True: a fanout is one number, without prob and mask; leave these out, or give "
                "a fanout for each edge type and leave out pooled"
            )

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """Returns a new sampler, or a `BoundSampler` for the arguments of DGL's examples."""
        if cls is NeighborSampler and args and isinstance(args[0], GraphBase):
            pooled = options.pop("pooled", False)
            layers = _layers(fanouts_of_example(*args, **options))
            return NeighborSampler(layers[::-1], replace=True, pooled=pooled).bind(args[0])
        return super().__new__(cls)

    def is_native(self, types: Types) -> bool:
        """See `NativeSampler.is_native`."""
        # With one edge type, the edges of all types together are the edges of this type.
        return not self.pooled or len(types.canonical_etypes) == 1

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, pooled=True)" if self.pooled else super().__repr__()

    def sample_blocks(
        self,
        g: GraphBase,
        seed_nodes: NodeIds,
        exclude_eids: EdgeIds = None,
        *,
        seed: int | None = None,
    ) -> Sample:
        """See `BlockSampler.sample_blocks`."""
        if self.is_native(graph_of(g).types):
            return super().sample_blocks(g, seed_nodes, exclude_eids, seed=seed)
        numbers = [fanout_number(each) for each in self.fanouts]
        return pooled_blocks(g, seed_nodes, numbers, self.replace, exclude_eids, seed)

    def _make(self, types: Types) -> _graphd.Sampler:
        method = self._method or method_for(self.column)
        return _graphd.neighbor_sampler(
            _typed_fanouts(types, self.fanouts),
            bool(self.replace),
            self.edge_ids,
            method,
            self.column,
            self._largest,
        )


# Tools show the signature of __new__, so it is replaced by the signature of __init__.
functools.update_wrapper(NeighborSampler.__new__, NeighborSampler.__init__, assigned=(), updated=())
MultiLayerNeighborSampler = NeighborSampler


class MultiLayerFullNeighborSampler(NeighborSampler):
    """A sampler of all neighbours in every layer. Matches DGL's class of this name.

    Parameters
    ----------
    num_layers : int
    **options
        See `NeighborSampler`.
    """

    def __init__(self, num_layers: int, **options: Any) -> None:
        super().__init__([-1] * whole_number(num_layers, "num_layers"), **options)


class LaborSampler(NeighborSampler):
    """LABOR-0: the seeds of a layer sample the same neighbours where they can.

    Matches ``dgl.dataloading.LaborSampler``, except that a seed's number of neighbours is exact,
    and not only on average.

    Parameters
    ----------
    fanouts, edge_dir, prob
        See `NeighborSampler`.
    prefetch_node_feats, prefetch_labels, prefetch_edge_feats, output_device
        See `NeighborSampler`.
    importance_sampling, layer_dependency, batch_dependency
        Arguments of DGL; only their defaults are supported.
    edge_ids : bool, optional
        See `NeighborSampler`.

    Raises
    ------
    graphd.errors.InvalidError
        If the arguments ask for another variant than LABOR-0.
    """

    _method = "labor"

    def __init__(
        self,
        fanouts: Sequence[Fanout],
        edge_dir: str = "in",
        prob: str | None = None,
        importance_sampling: int = 0,
        layer_dependency: bool = False,
        batch_dependency: int = 1,
        prefetch_node_feats: FeatureNames = None,
        prefetch_labels: FeatureNames = None,
        prefetch_edge_feats: FeatureNames = None,
        output_device: Any = None,
        *,
        edge_ids: bool | None = None,
    ) -> None:
        super().__init__(
            fanouts,
            edge_dir,
            prob,
            prefetch_node_feats=prefetch_node_feats,
            prefetch_labels=prefetch_labels,
            prefetch_edge_feats=prefetch_edge_feats,
            output_device=output_device,
            edge_ids=edge_ids,
        )
        if (importance_sampling, layer_dependency, batch_dependency) != (0, False, 1):
            raise InvalidError(
                "LaborSampler: only LABOR-0; leave importance_sampling at 0, "
                "layer_dependency at False and batch_dependency at 1"
            )


class TopKSampler(NeighborSampler):
    """A sampler of the edges with the largest, or smallest, values, as `select_topk` finds them.

    Parameters
    ----------
    fanouts : list of int, or list of dict of edge type to int
        One per layer, the input layer first.
    weight : str
        Edge feature with the values. Edge types without it are sampled uniformly.
    ascending : bool
        Whether to take the smallest values.
    edge_ids, **prefetch
        See `NeighborSampler`.
    """

    _method = "topk"

    def __init__(
        self,
        fanouts: Sequence[Fanout],
        weight: str,
        ascending: bool = False,
        *,
        edge_ids: bool | None = None,
        **prefetch: Any,
    ) -> None:
        super().__init__(
            fanouts, prob=needed_column(weight, "weight"), edge_ids=edge_ids, **prefetch
        )
        self._largest = not ascending


class LayerSampler(NativeSampler):
    """Layer-dependent importance sampling (LADIES): `fanouts` sources per node type and layer.

    ``edata["weight"]`` of the blocks has the weights of the edges. The weights of the edges of one
    type to one destination have the sum 1.

    Parameters
    ----------
    fanouts : list of int
        One per layer, the input layer first.
    prob : str, optional
        Edge feature with the adjacency matrix's entries; default 1 / in-degree.
    edge_ids : bool, optional
        See `NeighborSampler`.
    **prefetch
        See `BlockSampler`.
    """

    def __init__(
        self,
        fanouts: Sequence[Fanout],
        prob: str | None = None,
        *,
        edge_ids: bool | None = None,
        **prefetch: Any,
    ) -> None:
        super().__init__(**prefetch)
        self.fanouts, self.column, self.edge_ids = _layers(fanouts), column_of(prob), edge_ids

    def _make(self, types: Types) -> _graphd.Sampler:
        return _graphd.layer_sampler(
            _typed_fanouts(types, self.fanouts), self.column, self.edge_ids
        )


class ShadowSampler(NativeSampler):
    """ShaDow: hops of neighbours, then the subgraph that all of these nodes induce, as one block.

    Parameters
    ----------
    fanouts : list of int
        One per hop, the last hop first.
    replace : bool
        Whether the hops sample with replacement.
    prob : str, optional
        Edge feature with the weights that the hops use.
    edge_ids : bool, optional
        See `NeighborSampler`.
    **prefetch
        See `BlockSampler`.
    """

    def __init__(
        self,
        fanouts: Sequence[Fanout],
        replace: bool = False,
        prob: str | None = None,
        *,
        edge_ids: bool | None = None,
        **prefetch: Any,
    ) -> None:
        super().__init__(**prefetch)
        self.fanouts, self.replace, self.column = _layers(fanouts), replace, column_of(prob)
        self.edge_ids = edge_ids

    def _make(self, types: Types) -> _graphd.Sampler:
        return _graphd.shadow_sampler(
            _typed_fanouts(types, self.fanouts),
            bool(self.replace),
            self.edge_ids,
            method_for(self.column),
            self.column,
        )


class TemporalSampler(NativeSampler):
    """A sampler of each seed's neighbourhood at the seed's time, for models of events.

    Every hop takes only edges that are older than the time of the seed. Each seed has its own tree:
    a node that several trees reach occurs in a block once for each, and seeds may be listed several
    times. ``srcdata["root"]`` is the seed in whose tree a node is, as a position among the seeds,
    those of earlier node types first. Matches PyG's ``NeighborLoader`` with times of edges, which
    also takes edges at the time itself (``inclusive``); DGL has no such sampler.

    Loaders take the seeds' times as ``seed_times``, and ``blocks[-1].dstdata["seed_time"]`` has the
    times of the seeds of a batch.

    Parameters
    ----------
    fanouts : list of int, or list of dict of edge type to int
        One per layer, the input layer first; -1: all edges that are old enough.
    column : str or None
        Edge feature with the time of each edge. Edge types without it exist at all times. With
        None, all edges exist at all times, and seeds have no times: the sampler only gives each
        seed a tree of its own, as PyG does with ``disjoint=True``. Give ``recent=False`` then.
    recent : bool
        Whether to take the latest of the edges that are old enough, or any of them.
    replace : bool
        Whether to sample with replacement; only without `recent`.
    inclusive : bool
        Whether to also take edges at the seed's time itself.
    edge_ids : bool, optional
        See `NeighborSampler`.
    **prefetch
        See `BlockSampler`.

    Raises
    ------
    graphd.errors.InvalidError
        If an argument is not valid, or `recent` is asked for without a column.
    """

    def __init__(
        self,
        fanouts: Sequence[Fanout],
        column: str | None,
        recent: bool = True,
        replace: bool = False,
        inclusive: bool = False,
        *,
        edge_ids: bool | None = None,
        **prefetch: Any,
    ) -> None:
        super().__init__(**prefetch)
        self.fanouts, self.recent = _layers(fanouts), recent
        if column is None and recent:
            raise InvalidError(
                "column None: expected the name of an edge feature with times; edges without times "
                "have no latest: give recent=False"
            )
        self.column = None if column is None else needed_column(column, "column")
        self.needs_times = column is not None
        self.replace, self.inclusive, self.edge_ids = replace, inclusive, edge_ids

    def _make(self, types: Types) -> _graphd.Sampler:
        return _graphd.temporal_sampler(
            _typed_fanouts(types, self.fanouts),
            self.column or "",
            bool(self.recent),
            bool(self.replace),
            bool(self.inclusive),
            self.edge_ids,
        )

    def sample_blocks(
        self,
        g: GraphBase,
        seed_nodes: NodeIds,
        exclude_eids: EdgeIds = None,
        *,
        seed_times: Tensor | dict[str, Tensor] | None = None,
        seed: int | None = None,
    ) -> Sample:
        """Samples the blocks of one mini-batch, as of the time of each seed.

        Parameters
        ----------
        g : DistGraph
        seed_nodes : int64 tensor, or dict of node type to tensor
            Each has its own tree, duplicates too.
        exclude_eids : int64 tensor, or dict of edge type to tensor, optional
            Edges never to sample.
        seed_times : int64 or float64 tensor, or dict of node type to tensor
            The time of each seed. Whole numbers also work with a floating-point column.
        seed : int, optional
            The same seed gives the same blocks, wherever the partitions are.

        Returns
        -------
        input_nodes, output_nodes : tensor, or dict of node type to tensor
        blocks : list of Block
            The input layer first.
        """
        check_times(self, seed_times)
        return self._sample(g, seed_nodes, exclude_eids, seed, seed_times)

    def sample(
        self,
        g: GraphBase,
        seed_nodes: NodeIds,
        exclude_eids: EdgeIds = None,
        *,
        seed_times: Tensor | dict[str, Tensor] | None = None,
    ) -> Sample:
        """Does the same as `sample_blocks`, and adds the requested features.

        Parameters
        ----------
        g, seed_nodes, exclude_eids, seed_times
            See `sample_blocks`.

        Returns
        -------
        input_nodes, output_nodes : tensor, or dict of node type to tensor
        blocks : list of Block
            The input layer first.
        """
        found = self.sample_blocks(g, seed_nodes, exclude_eids, seed_times=seed_times)
        self.assign_lazy_features(g, found)
        return found
