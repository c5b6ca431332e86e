# SPDX-License-Identifier: Apache-2.0
"""Samplers of mini-batches, of neighbours and of negative edges. Names and arguments are those of
``dgl.dataloading``; the loaders that use them are in `graphd.distributed` and here, too."""
import collections.abc

from . import _graphd, backend, seeds
from .arguments import (check_draws, column_of, fanout_number, graph_of, needed_column,
                        whole_number)
from .batch_data import layers_of
from .block import Block
from .block_sampler import BlockSampler, BoundSampler, check_times
from .distributed.loaders import DistDataLoader, DistEdgeDataLoader, DistNodeDataLoader
from .distributed.queries import fanouts_of
from .errors import InvalidError
from .negative import negative_sampler
from .neighbors import PinSAGESampler, RandomWalkNeighborSampler, select_topk
from .walks import node2vec_random_walk, random_walk

__all__ = ["BlockSampler", "BoundSampler", "NeighborSampler", "MultiLayerNeighborSampler",
           "MultiLayerFullNeighborSampler", "LaborSampler", "TopKSampler", "LayerSampler",
           "ShadowSampler", "TemporalSampler", "DistDataLoader", "DistNodeDataLoader",
           "DistEdgeDataLoader", "negative_sampler", "PinSAGESampler", "RandomWalkNeighborSampler",
           "node2vec_random_walk", "random_walk", "select_topk"]


class _NativeSampler(BlockSampler):
    """A sampler of libgraphclient. `handle(types)` is the one for a graph with these types."""

    def __init__(self, **prefetch):
        super().__init__(**prefetch)
        self._handles = {}

    def _make(self, types):
        raise NotImplementedError

    def check_draws(self, num_seeds):
        """Refuses batches of so many seeds with replacement that memory would not hold.

        Parameters
        ----------
        num_seeds : int
        """
        if not getattr(self, "replace", False):
            return
        for fanout in self.fanouts:
            for each in fanout.values() if isinstance(fanout, dict) else (fanout,):
                check_draws(num_seeds, whole_number(each, "fanout"), "fanout")

    def handle(self, types):
        """What the extension samples with.

        Parameters
        ----------
        types : Types
            Of the graph.

        Returns
        -------
        The extension's sampler.
        """
        key = tuple(types.canonical_etypes)
        if key not in self._handles:
            self._handles[key] = self._make(types)
        return self._handles[key]

    def sample_blocks(self, g, seed_nodes, exclude_eids=None, *, seed=None):
        """Samples the blocks of one mini-batch.

        Parameters
        ----------
        g : DistGraph
        seed_nodes : int64 tensor, or dict of node type to tensor
            Duplicates are dropped.
        exclude_eids : int64 tensor, or dict of edge type to tensor, optional
            Edges never to sample.
        seed : int, optional
            The same seed gives the same blocks, wherever the partitions are.

        Returns
        -------
        input_nodes, output_nodes : tensor, or dict of node type to tensor
        blocks : list of Block
            Input layer first.
        """
        return self._sample(g, seed_nodes, exclude_eids, seed)

    def _sample(self, g, seed_nodes, exclude_eids, seed, seed_times=None):
        backend.chosen()
        lists = graph_of(g).types.by_ntype(seed_nodes, "seed_nodes")
        self.check_draws(g.types.count(lists))
        exclude = () if exclude_eids is None else g.types.by_etype(exclude_eids, "exclude_eids")
        times = None if seed_times is None else g.types.by_ntype(seed_times, "seed_times")
        batch = self.handle(g.types).sample(
            g.handle, lists, seeds.given_or_next(seed), exclude, times)
        input_nodes, output_nodes = batch.nodes(g.types.ntypes)
        return input_nodes, output_nodes, [Block(batch, of) for of in layers_of(g.types, batch)]


def _layers(fanouts):
    if isinstance(fanouts, (str, dict)) or not isinstance(fanouts, collections.abc.Iterable):
        raise InvalidError(f"fanouts {fanouts!r}: expected a list with one for each layer")
    fanouts = list(fanouts)
    if not fanouts:
        raise InvalidError("fanouts []: expected one for each layer, of one layer or more")
    return fanouts


def _typed_fanouts(types, fanouts):
    """Fanouts as the extension takes them: numbers, or lists by edge type."""
    if not any(isinstance(each, dict) for each in fanouts):
        return [fanout_number(each) for each in fanouts]
    return [fanouts_of(types, each) for each in fanouts]


class NeighborSampler(_NativeSampler):
    """Samples neighbours, layer by layer. Matches ``dgl.dataloading.NeighborSampler``.

    Parameters
    ----------
    fanouts : list of int, or list of dict of edge type to int
        Per layer, input layer first; -1: all neighbours. A number is for each edge type.
    edge_dir : str
        Only "in".
    prob : str, optional
        Edge feature with weights. Edge types without it are sampled uniformly.
    mask : str, optional
        Edge feature that says which edges may be chosen. Not together with prob.
    replace : bool
    prefetch_node_feats, prefetch_labels, prefetch_edge_feats, output_device
        See `BlockSampler`.
    fused : bool
        DGL's; without effect.
    edge_ids : bool
        Whether blocks tell ``edata[graphd.EID]``.

    Raises
    ------
    graphd.errors.InvalidError
        If fanouts or features are none, or options do not go together.
    """

    _method, _largest = None, True

    def __init__(self, fanouts, edge_dir="in", prob=None, mask=None, replace=False,
                 prefetch_node_feats=None, prefetch_labels=None, prefetch_edge_feats=None,
                 output_device=None, fused=True, *, edge_ids=True):
        super().__init__(prefetch_node_feats=prefetch_node_feats, prefetch_labels=prefetch_labels,
                         prefetch_edge_feats=prefetch_edge_feats, output_device=output_device)
        if edge_dir != "in":
            raise InvalidError("edge_dir: blocks are made of in-edges; leave it at 'in'")
        if prob is not None and mask is not None:
            raise InvalidError("prob and mask: give one of them")
        self.fanouts, self.replace, self.edge_ids = _layers(fanouts), replace, edge_ids
        self.column = column_of(prob) or column_of(mask, "mask")

    def _make(self, types):
        method = self._method or ("weighted" if self.column else "uniform")
        return _graphd.neighbor_sampler(_typed_fanouts(types, self.fanouts), bool(self.replace),
                                        bool(self.edge_ids), method, self.column, self._largest)


MultiLayerNeighborSampler = NeighborSampler


class MultiLayerFullNeighborSampler(NeighborSampler):
    """All neighbours in every layer. Matches DGL's class of this name.

    Parameters
    ----------
    num_layers : int
    **options
        Those of `NeighborSampler`.
    """

    def __init__(self, num_layers, **options):
        super().__init__([-1] * whole_number(num_layers, "num_layers"), **options)


class LaborSampler(NeighborSampler):
    """LABOR-0: seeds of a layer choose the same neighbours where they can. Matches
    ``dgl.dataloading.LaborSampler``, except that a row's number of neighbours is exact.

    Parameters
    ----------
    fanouts, edge_dir, prob
        Those of `NeighborSampler`.
    prefetch_node_feats, prefetch_labels, prefetch_edge_feats, output_device
        Those of `NeighborSampler`.
    importance_sampling, layer_dependency, batch_dependency
        DGL's; only as they are by default.
    edge_ids : bool
        Whether blocks tell ``edata[graphd.EID]``.

    Raises
    ------
    graphd.errors.InvalidError
        If it is not LABOR-0.
    """

    _method = "labor"

    def __init__(self, fanouts, edge_dir="in", prob=None, importance_sampling=0,
                 layer_dependency=False, batch_dependency=1, prefetch_node_feats=None,
                 prefetch_labels=None, prefetch_edge_feats=None, output_device=None, *,
                 edge_ids=True):
        super().__init__(fanouts, edge_dir, prob, prefetch_node_feats=prefetch_node_feats,
                         prefetch_labels=prefetch_labels, prefetch_edge_feats=prefetch_edge_feats,
                         output_device=output_device, edge_ids=edge_ids)
        if (importance_sampling, layer_dependency, batch_dependency) != (0, False, 1):
            raise InvalidError("LaborSampler: only LABOR-0; leave importance_sampling at 0, "
                               "layer_dependency at False and batch_dependency at 1")


class TopKSampler(NeighborSampler):
    """The edges of the largest, or smallest, values in every layer, as `select_topk` finds them.

    Parameters
    ----------
    fanouts : list of int, or list of dict of edge type to int
        Per layer, input layer first.
    weight : str
        Edge feature with the values. Edge types without it are sampled uniformly.
    ascending : bool
        The smallest values.
    edge_ids, **prefetch
        Those of `NeighborSampler`.
    """

    _method = "topk"

    def __init__(self, fanouts, weight, ascending=False, *, edge_ids=True, **prefetch):
        super().__init__(fanouts, prob=needed_column(weight, "weight"), edge_ids=edge_ids,
                         **prefetch)
        self._largest = not ascending


class LayerSampler(_NativeSampler):
    """Layer-dependent importance sampling (LADIES): `fanouts` sources per node type and layer.

    ``edata["weight"]`` of the blocks are the edges' weights, summing to 1 in each row.

    Parameters
    ----------
    fanouts : list of int
        Per layer, input layer first.
    prob : str, optional
        Edge feature with the adjacency matrix's entries; default 1 / in-degree.
    edge_ids : bool
        Whether blocks tell ``edata[graphd.EID]``.
    **prefetch
        Those of `BlockSampler`.
    """

    def __init__(self, fanouts, prob=None, *, edge_ids=True, **prefetch):
        super().__init__(**prefetch)
        self.fanouts, self.column, self.edge_ids = _layers(fanouts), column_of(prob), edge_ids

    def _make(self, types):
        return _graphd.layer_sampler(_typed_fanouts(types, self.fanouts), self.column,
                                     bool(self.edge_ids))


class ShadowSampler(_NativeSampler):
    """ShaDow: hops of neighbours, then the subgraph that all of these nodes induce, as one block.

    Parameters
    ----------
    fanouts : list of int
        Per hop, last hop first.
    replace : bool
        Of the hops.
    prob : str, optional
        Edge feature with weights of the hops.
    edge_ids : bool
        Whether blocks tell ``edata[graphd.EID]``.
    **prefetch
        Those of `BlockSampler`.
    """

    def __init__(self, fanouts, replace=False, prob=None, *, edge_ids=True, **prefetch):
        super().__init__(**prefetch)
        self.fanouts, self.replace, self.column = _layers(fanouts), replace, column_of(prob)
        self.edge_ids = edge_ids

    def _make(self, types):
        return _graphd.shadow_sampler(_typed_fanouts(types, self.fanouts), bool(self.replace),
                                      bool(self.edge_ids),
                                      "weighted" if self.column else "uniform", self.column)


class TemporalSampler(_NativeSampler):
    """Neighbourhoods as they were when each seed asks, for models of events.

    Every hop takes only edges older than the time of the seed. Each seed has a tree of its own: a
    node that several trees reach stands in a block once for each, ``srcdata["root"]`` is the seed
    in whose tree a node is (as a position among the seeds, those of earlier node types first), and
    seeds may be listed several times. Matches PyG's ``NeighborLoader`` with times of edges, which
    also takes edges at the time itself (``inclusive``); DGL has no such sampler.

    Loaders take the seeds' times as ``seed_times``, and ``blocks[-1].dstdata["seed_time"]`` has
    those of a batch.

    Parameters
    ----------
    fanouts : list of int, or list of dict of edge type to int
        Per layer, input layer first; -1: all that are old enough.
    column : str
        Edge feature with the time of each edge. Edge types without it are always there.
    recent : bool
        The latest of those edges; False: any of them.
    replace : bool
        Only without `recent`.
    inclusive : bool
        Also edges at the seed's time itself.
    edge_ids : bool
        Whether blocks tell ``edata[graphd.EID]``.
    **prefetch
        Those of `BlockSampler`.
    """

    needs_times = True

    def __init__(self, fanouts, column, recent=True, replace=False, inclusive=False, *,
                 edge_ids=True, **prefetch):
        super().__init__(**prefetch)
        self.fanouts, self.recent = _layers(fanouts), recent
        self.column = needed_column(column, "column")
        self.replace, self.inclusive, self.edge_ids = replace, inclusive, edge_ids

    def _make(self, types):
        return _graphd.temporal_sampler(
            _typed_fanouts(types, self.fanouts), self.column, bool(self.recent),
            bool(self.replace), bool(self.inclusive), bool(self.edge_ids))

    def sample_blocks(self, g, seed_nodes, exclude_eids=None, *, seed_times=None, seed=None):
        """Samples the blocks of one mini-batch, as each seed's time has them.

        Parameters
        ----------
        g : DistGraph
        seed_nodes : int64 tensor, or dict of node type to tensor
            Each has a tree of its own, duplicates too.
        exclude_eids : int64 tensor, or dict of edge type to tensor, optional
            Edges never to sample.
        seed_times : int64 or float64 tensor, or dict of node type to tensor
            When each seed asks. Whole numbers also do for a column of floating-point ones.
        seed : int, optional
            The same seed gives the same blocks, wherever the partitions are.

        Returns
        -------
        input_nodes, output_nodes : tensor, or dict of node type to tensor
        blocks : list of Block
            Input layer first.
        """
        check_times(self, seed_times)
        return self._sample(g, seed_nodes, exclude_eids, seed, seed_times)

    def sample(self, g, seed_nodes, exclude_eids=None, *, seed_times=None):
        """`sample_blocks`, with the features that were asked for.

        Parameters
        ----------
        g, seed_nodes, exclude_eids, seed_times
            As `sample_blocks` has them.

        Returns
        -------
        input_nodes, output_nodes : tensor, or dict of node type to tensor
        blocks : list of Block
            Input layer first.
        """
        found = self.sample_blocks(g, seed_nodes, exclude_eids, seed_times=seed_times)
        self.assign_lazy_features(g, found)
        return found
