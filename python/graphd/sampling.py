# SPDX-License-Identifier: Apache-2.0
"""Samplers of mini-batches, of neighbours and of negative edges. Names and arguments are those of
``dgl.dataloading``; the loaders that use them are in `graphd.distributed` and here, too."""
import collections.abc
import functools

from . import _graphd, backend, seeds
from .arguments import draws, whole_number
from .batch_data import layers_of
from .block import Block
from .distributed.current_graph import graph_of
from .distributed.loaders import DistDataLoader, DistEdgeDataLoader, DistNodeDataLoader
from .distributed.queries import column_of, needed_column
from .errors import InvalidError
from .names import EID
from .negative import negative_sampler
from .neighbors import PinSAGESampler, RandomWalkNeighborSampler, select_topk
from .walks import node2vec_random_walk, random_walk

__all__ = ["BlockSampler", "BoundSampler", "NeighborSampler", "MultiLayerNeighborSampler",
           "MultiLayerFullNeighborSampler", "LaborSampler", "TopKSampler", "LayerSampler",
           "ShadowSampler", "TemporalSampler", "DistDataLoader", "DistNodeDataLoader",
           "DistEdgeDataLoader", "negative_sampler", "PinSAGESampler", "RandomWalkNeighborSampler",
           "node2vec_random_walk", "random_walk", "select_topk"]


class BlockSampler:
    """What makes the blocks of a mini-batch.

    Derive from it and define ``sample_blocks(g, seed_nodes, exclude_eids)``, returning (input
    nodes, output nodes, blocks), to have a sampler of your own; loaders call it from several
    threads. The samplers of this module run without the interpreter.

    Parameters
    ----------
    prefetch_node_feats : list of str, or dict of node type to list, optional
        Features that come with the batch, in ``blocks[0].srcdata``.
    prefetch_labels : list of str, or dict, optional
        In ``blocks[-1].dstdata``.
    prefetch_edge_feats : list of str, or dict of edge type to list, optional
        In ``edata`` of every block.
    output_device
        DGL's; blocks are in host memory, and `Block.to` moves them.

    Raises
    ------
    graphd.errors.InvalidError
        If `output_device` is not the CPU.
    """

    def __init__(self, prefetch_node_feats=None, prefetch_labels=None, prefetch_edge_feats=None,
                 output_device=None):
        self.prefetch_node_feats = prefetch_node_feats or []
        self.prefetch_labels = prefetch_labels or []
        self.prefetch_edge_feats = prefetch_edge_feats or []
        if output_device is not None and str(output_device) != "cpu":
            raise InvalidError(f"output_device {output_device}: blocks are sampled in host memory; "
                               "move them with block.to(device)")

    def sample_blocks(self, g, seed_nodes, exclude_eids=None):
        """Samples the blocks of one mini-batch.

        Parameters
        ----------
        g : DistGraph
        seed_nodes : int64 tensor, or dict of node type to tensor
            Duplicates are dropped.
        exclude_eids : int64 tensor, or dict of edge type to tensor, optional
            Edges never to sample.

        Returns
        -------
        input_nodes, output_nodes : tensor, or dict of node type to tensor
        blocks : list of Block
            Input layer first.

        Raises
        ------
        NotImplementedError
            In this class.
        """
        raise NotImplementedError

    def sample(self, g, seed_nodes, exclude_eids=None):
        """`sample_blocks`, with the features that were asked for. DGL's loaders call it.

        Parameters
        ----------
        g : DistGraph
        seed_nodes : int64 tensor, or dict of node type to tensor
            Duplicates are dropped.
        exclude_eids : int64 tensor, or dict of edge type to tensor, optional
            Edges never to sample.

        Returns
        -------
        input_nodes, output_nodes : tensor, or dict of node type to tensor
        blocks : list of Block
            Input layer first.
        """
        found = self.sample_blocks(g, seed_nodes, exclude_eids)
        self.assign_lazy_features(g, found)
        return found

    def bind(self, g):
        """The sampler of one graph, as DGL's examples of distributed training write theirs: its
        ``sample_blocks`` can be the ``collate_fn`` of a `DistDataLoader`.

        Parameters
        ----------
        g : DistGraph

        Returns
        -------
        BoundSampler
        """
        return BoundSampler(self, graph_of(g))

    def assign_lazy_features(self, g, found):
        """Puts functions into the blocks that read what was asked for, when it is looked at.

        Parameters
        ----------
        g : DistGraph
        found : (input_nodes, output_nodes, blocks)
        """
        input_nodes, output_nodes, blocks = found
        for names, ids, frames in ((self.prefetch_node_feats, input_nodes, blocks[0].src_frames),
                                   (self.prefetch_labels, output_nodes, blocks[-1].dst_frames)):
            for t, name in of_node_types(g.types, names):
                some = ids[g.types.ntypes[t]] if isinstance(ids, dict) else ids
                tensor = g.nodes[g.types.ntypes[t]].data[name]
                frames[t].lazy(name, functools.partial(tensor.__getitem__, some))
        for e, name in of_edge_types(g.types, self.prefetch_edge_feats):
            tensor = g.edges[g.types.canonical_etypes[e]].data[name]
            for block in blocks:
                block.edge_frames[e].lazy(name, tensor.__getitem__, of=EID)


class BoundSampler:
    """A sampler together with its graph. `BlockSampler.bind` makes it.

    Attributes
    ----------
    sampler : BlockSampler
    g : DistGraph
    """

    def __init__(self, sampler, g):
        self.sampler, self.g = sampler, g

    def sample_blocks(self, seeds):
        """The blocks of a mini-batch, with the features that were asked for.

        Parameters
        ----------
        seeds : int64 tensor or list of int, or dict of node type to either

        Returns
        -------
        list of Block
            Input layer first.
        """
        return self.sampler.sample(self.g, seeds)[2]


def check_times(sampler, seed_times):
    """Refuses a sampler of the past that is not told when seeds ask, and any other that is."""
    needs_times = getattr(sampler, "needs_times", False)
    if seed_times is not None and not needs_times:
        raise InvalidError(f"seed_times: a {type(sampler).__name__} has no use for them; take a "
                           "TemporalSampler, or leave them away")
    if seed_times is None and needs_times:
        raise InvalidError("seed_times None: a TemporalSampler needs the time at which each seed "
                           "asks; give a tensor of as many")


def of_node_types(types, names):
    """[(type number, feature)] of what a sampler's prefetch arguments say."""
    return _of_types(types.ntype_id, names)


def of_edge_types(types, names):
    return _of_types(types.etype_id, names)


def _of_types(number_of, names):
    by_type = names if isinstance(names, dict) else ({None: names} if names else {})
    return [(number_of(of), name) for of, some in by_type.items()
            for name in ([some] if isinstance(some, str) else _names(some))]


def _names(some):
    if not isinstance(some, (list, tuple)) or not all(isinstance(name, str) for name in some):
        raise InvalidError(f"names of features {some!r}: expected a list of str")
    return some


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
                draws(num_seeds, whole_number(each, "fanout"), "fanout")

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
    from .distributed.queries import fanout_number, fanouts_of

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
    fanouts, edge_dir, prob, prefetch_node_feats, prefetch_labels, prefetch_edge_feats, output_device
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
