# SPDX-License-Identifier: Apache-2.0
"""Iterating over mini-batches."""
import collections
import functools

from .. import _graphd, backend, seeds
from ..arguments import graph_of, whole_number, whole_number_in
from ..batch_data import layers_of
from ..block import Block
from ..block_sampler import check_times, of_edge_types, of_node_types
from ..errors import InvalidError
from ..subgraph import Subgraph
from . import session


class DistDataLoader:
    """Cuts a dataset into batches and collates them on threads, ahead of the caller. Matches
    ``dgl.distributed.DistDataLoader``.

    Batches come in order; leaving an epoch in the middle leaves nothing behind; what ``collate_fn``
    raises is raised by the step whose batch it concerns.

    Parameters
    ----------
    dataset : tensor, array or list
        A batch is a list of its items.
    batch_size : int
    shuffle : bool
        Another order in each epoch.
    collate_fn : callable, optional
        Makes a batch of a list of items; called from several threads at once. Default: the list.
    drop_last : bool
    queue_size : int, optional
        Batches made ahead; 2 per sampler thread.
    num_workers : int, optional
        Threads. Default: what ``graphctl launch --num_samplers`` or `initialize` says.
    seed : int, optional
        Of the orders.

    Raises
    ------
    graphd.errors.InvalidError
        If an argument makes no sense.
    """

    def __init__(self, dataset, batch_size, shuffle=False, collate_fn=None, drop_last=False,
                 queue_size=None, *, num_workers=None, seed=None):
        if whole_number(batch_size, "batch_size") < 1:
            raise InvalidError(f"batch_size {batch_size}: expected 1 or more")
        if not hasattr(dataset, "__len__"):
            raise InvalidError(f"dataset {dataset!r}: expected a tensor, an array or a list")
        if collate_fn is not None and not callable(collate_fn):
            raise InvalidError(f"collate_fn {collate_fn!r}: expected a function of a list of items")
        self.dataset, self.batch_size, self.shuffle = dataset, batch_size, shuffle
        self.collate_fn, self.drop_last = collate_fn or list, drop_last
        self.num_workers = _workers(num_workers)
        if self.num_workers < 0:
            raise InvalidError(f"num_workers {self.num_workers}: expected 0 or more")
        self.queue_size = (whole_number_in(queue_size or 0, "queue_size", 0, 1 << 20)
                           or max(2 * self.num_workers, 1))
        self._seed, self._epoch = seeds.given_or_next(seed), 0

    def __len__(self):
        """Batches in an epoch."""
        size = len(self.dataset)
        return size // self.batch_size if self.drop_last else -(-size // self.batch_size)

    def __iter__(self):
        items = self._items()
        starts = [i * self.batch_size for i in range(len(self))]
        batches = (items[begin:begin + self.batch_size] for begin in starts)
        if self.num_workers == 0:
            yield from map(self.collate_fn, batches)
            return
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(self.num_workers, thread_name_prefix="graphd-sampler")
        waiting = collections.deque()
        try:
            for batch in batches:
                waiting.append(pool.submit(self.collate_fn, batch))
                if len(waiting) >= self.queue_size:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _items(self):
        """The epoch's items in its order."""
        items = self.dataset.tolist() if hasattr(self.dataset, "tolist") else list(self.dataset)
        if self.shuffle:
            import random as python_random

            python_random.Random(self._seed + self._epoch).shuffle(items)
        self._epoch += 1
        return items


def _workers(num_workers):
    if num_workers is not None:
        return whole_number(num_workers, "num_workers")
    here = session.peek()
    return here.num_samplers if here else 0


class _Loader:
    """What loaders of nodes and of edges share: epochs of batches of the extension's loader."""

    def __init__(self, g, sampler, device):
        if device is not None and str(device) != "cpu":
            raise InvalidError(f"device {device}: batches are made in host memory; move what you "
                               "need with .to(device)")
        if not hasattr(sampler, "prefetch_node_feats") or isinstance(sampler, type):
            raise InvalidError(f"graph_sampler {sampler!r}: expected a BlockSampler, as "
                               "graphd.sampling.NeighborSampler([10, 25])")
        backend.chosen()
        self.g, self.sampler, self._epoch = graph_of(g), sampler, -1

    def _options(self, batch_size, shuffle, drop_last, num_workers, queue_size, seed, seed_times):
        """What the extension takes; ``seed_times`` by type."""
        types, sampler = self.g.types, self.sampler
        check_times(sampler, seed_times)
        inputs = of_node_types(types, sampler.prefetch_node_feats)
        labels = of_node_types(types, sampler.prefetch_labels)
        edges = of_edge_types(types, sampler.prefetch_edge_feats)
        self._features, self._layers = (inputs, labels, edges), None
        self._ntypes = types.ntypes
        return {"batch_size": whole_number(batch_size, "batch_size"),
                "shuffle": bool(shuffle), "drop_last": bool(drop_last),
                "seed": seeds.given_or_next(seed), "num_workers": _workers(num_workers),
                "queue_size": whole_number(queue_size or 0, "queue_size"),
                "input_features": inputs, "seed_features": labels, "edge_features": edges,
                "seed_times": seed_times}

    def __len__(self):
        """Batches in an epoch."""
        return self._loader.num_batches

    def __iter__(self):
        self._epoch += 1
        self._loader.start_epoch(self._epoch)
        # No generator: its variables would keep a batch while the next is made.
        return map(self._unpack, iter(functools.partial(self._loader.next, self._epoch), None))

    def _blocks(self, batch):
        """Blocks with the features that came with the batch."""
        if self._layers is None:
            self._layers = layers_of(self.g.types, batch, *self._features)
        return [Block(batch, of) for of in self._layers]


class DistNodeDataLoader(_Loader):
    """Iterates over mini-batches of nodes. Matches ``dgl.distributed.DistNodeDataLoader``.

    Yields (input_nodes, output_nodes, blocks). Batches are made ahead by threads of libgraphclient,
    which hold no lock of Python; the same ``seed`` gives the same batches, for any number of them.
    A batch's memory goes back with the last tensor of it, and is used again: a graph keeps at most
    512 MiB that nobody uses, for batches to come.

    Parameters
    ----------
    g : DistGraph
    nids : int64 tensor, or dict of node type to tensor
    graph_sampler : BlockSampler
    device : optional
        Only the CPU.
    batch_size : int
    shuffle, drop_last : bool
    num_workers : int, optional
        Threads. Default: what ``graphctl launch --num_samplers`` or `initialize` says.
    queue_size : int, optional
        Batches made ahead; 2 per thread.
    seed : int, optional
    seed_times : int64 or float64 tensor, or dict of node type to tensor, optional
        When each of `nids` asks, for a `TemporalSampler`; a node may be listed several times.
    pin_memory, gb_padding, use_ddp
        DGL's; without effect.

    Raises
    ------
    graphd.errors.InvalidError
        If an argument makes no sense for the graph.
    """

    def __init__(self, g, nids, graph_sampler, device=None, *, batch_size, shuffle=False,
                 drop_last=False, num_workers=None, queue_size=None, seed=None, seed_times=None,
                 pin_memory=False, gb_padding=1, use_ddp=False):
        super().__init__(g, graph_sampler, device)
        if nids is None:
            raise InvalidError("nids: expected node ids: a tensor, or a dict by node type")
        times = None if seed_times is None else g.types.by_ntype(seed_times, "seed_times")
        options = self._options(batch_size, shuffle, drop_last, num_workers, queue_size, seed,
                                times)
        if hasattr(graph_sampler, "handle"):
            lists = g.types.by_ntype(nids, "nids")
            graph_sampler.check_draws(min(options["batch_size"], g.types.count(lists)))
            self._loader = _graphd.NodeLoader(g.handle, lists, graph_sampler.handle(g.types),
                                              options)
        else:
            self._loader = None
            self._python = self._loader_of_python(nids, options)

    def _loader_of_python(self, nids, options):
        """For samplers that are written in Python."""
        if isinstance(nids, dict):
            items = [(ntype, node) for ntype, ids in nids.items()
                     for node in backend.to_numpy(ids).tolist()]
        else:
            items = nids
        return DistDataLoader(items, options["batch_size"], options["shuffle"], self._collate,
                              options["drop_last"], options["queue_size"],
                              num_workers=options["num_workers"], seed=options["seed"])

    def _collate(self, items):
        import numpy

        if items and isinstance(items[0], tuple):
            seeds = {}
            for ntype, node in items:
                seeds.setdefault(ntype, []).append(node)
            seeds = {ntype: backend.from_numpy(numpy.asarray(ids, numpy.int64))
                     for ntype, ids in seeds.items()}
        else:
            seeds = backend.from_numpy(numpy.asarray(items, numpy.int64))
        return self.sampler.sample(self.g, seeds)

    def __len__(self):
        return self._loader.num_batches if self._loader else len(self._python)

    def __iter__(self):
        return super().__iter__() if self._loader else iter(self._python)

    def _unpack(self, batch):
        input_nodes, output_nodes = batch.nodes(self._ntypes)
        return input_nodes, output_nodes, self._blocks(batch)


class DistEdgeDataLoader(_Loader):
    """Iterates over mini-batches of edges. Matches ``dgl.distributed.DistEdgeDataLoader``.

    Yields (input_nodes, pair_graph, blocks), or with negatives (input_nodes, pair_graph,
    neg_pair_graph, blocks). The pair graphs have the batch's nodes, in the order of the last
    block's destinations, with the batch's edges, and the negative ones.

    Parameters
    ----------
    g : DistGraph
    eids : int64 tensor, or dict of edge type to tensor
    graph_sampler : BlockSampler
        One of `graphd.sampling`.
    device : optional
        Only the CPU.
    batch_size, shuffle, drop_last, num_workers, queue_size, seed
        As `DistNodeDataLoader` has them.
    g_sampling : DistGraph, optional
        Sample from this graph instead; nothing is excluded then.
    exclude : {None, "self", "reverse_id", "reverse_types"}
        Which edges the blocks must not have.
    reverse_eids : int64 tensor, or dict, optional
        Of "reverse_id": the reverse of each edge of the type.
    reverse_etypes : dict of edge type to edge type, optional
        Of "reverse_types".
    negative_sampler : optional
        Of `graphd.sampling.negative_sampler`.
    seed_times : int64 or float64 tensor, or dict of edge type to tensor, optional
        When each of `eids` asks, for a `TemporalSampler`: the ends of an edge, and of its
        negatives, ask at its time, and a node is among the batch's for each time at which it asks.
    pin_memory, gb_padding, use_ddp
        DGL's; without effect.

    Raises
    ------
    graphd.errors.InvalidError
        If an argument makes no sense for the graph.
    """

    def __init__(self, g, eids, graph_sampler, device=None, *, batch_size, shuffle=False,
                 drop_last=False, num_workers=None, queue_size=None, seed=None, g_sampling=None,
                 exclude=None, reverse_eids=None, reverse_etypes=None, negative_sampler=None,
                 seed_times=None, pin_memory=False, gb_padding=1, use_ddp=False):
        super().__init__(g, graph_sampler, device)
        if exclude not in (None, "self", "reverse_id", "reverse_types"):
            raise InvalidError(f"exclude {exclude!r}: use None, 'self', 'reverse_id' or "
                               "'reverse_types'")
        if eids is None:
            raise InvalidError("eids: expected edge ids: a tensor, or a dict by edge type")
        for what, given, example in (
                ("graph_sampler", graph_sampler, "NeighborSampler([10, 25])"),
                ("negative_sampler", negative_sampler, "negative_sampler.Uniform(5)")):
            if given is not None and not hasattr(given, "handle"):
                raise InvalidError(f"{what} {given!r}: expected one of graphd.sampling, as "
                                   f"graphd.sampling.{example}; batches of edges are made without "
                                   "the interpreter")
        if not isinstance(reverse_etypes, (dict, type(None))):
            raise InvalidError(f"reverse_etypes {reverse_etypes!r}: expected a dict of edge type "
                               "to its reverse")
        times = None if seed_times is None else g.types.by_etype(seed_times, "seed_times")
        options = self._options(batch_size, shuffle, drop_last, num_workers, queue_size, seed,
                                times)
        number = g.types.etype_id
        options.update(
            exclude=exclude or "",
            reverse_eids=(() if reverse_eids is None
                          else g.types.by_etype(reverse_eids, "reverse_eids")),
            reverse_etypes=[(number(a), number(b)) for a, b in (reverse_etypes or {}).items()],
            negative_sampler=negative_sampler and negative_sampler.handle,
            g_sampling=None if g_sampling is None else graph_of(g_sampling).handle)
        self._has_negatives = negative_sampler is not None
        lists = g.types.by_etype(eids, "eids")
        graph_sampler.check_draws(2 * min(options["batch_size"], g.types.count(lists)))
        self._loader = _graphd.EdgeLoader(g.handle, lists, graph_sampler.handle(g.types), options)

    def _unpack(self, batch):
        types = self.g.types
        input_nodes, nodes = batch.nodes(types.ntypes)
        nodes = list(nodes.values()) if isinstance(nodes, dict) else [nodes]
        edges = range(len(types.canonical_etypes))
        pair_graph = Subgraph(types, nodes, [batch.pairs(False, e) for e in edges])
        negative = ()
        if self._has_negatives:
            negative = (Subgraph(types, nodes, [batch.pairs(True, e) for e in edges]),)
        return (input_nodes, pair_graph, *negative, self._blocks(batch))
