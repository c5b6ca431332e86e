# SPDX-License-Identifier: Apache-2.0
"""Iteration over mini-batches."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _graphd, backend, progress, seeds
from ..arguments import whole_number
from ..batch_data import LayerData, layers_of
from ..block import Block, blocks_of
from ..block_sampler import BlockSampler, Sample, check_times, of_edge_types, of_node_types
from ..device import delivered, delivery_for
from ..edge_prediction import EdgePredictionSampler, check_exclude
from ..errors import InvalidError
from ..frame import Frame
from ..graph_base import GraphBase, graph_of
from ..html import properties
from ..names import EID, NID
from ..native_sampler import NativeSampler
from ..negative import Function, NegativeSampler, negative_handle
from ..subgraph import Subgraph
from ..typing import EdgeIds, EdgeType, FeatureNames, Ids, NodeIds, Tensor
from .data_loader import DistDataLoader, number_of_workers
from .pooled_edges import BlockMaker, ExcludedEdges, sampler_of_no_edge

if TYPE_CHECKING:
    from ..device import DeviceRowCache


class _Loader:
    """The common part of loaders of nodes and edges: epochs of the extension module's loader."""

    _loader: _graphd.NodeLoader | _graphd.EdgeLoader

    def __init__(
        self,
        g: GraphBase,
        sampler: BlockSampler,
        device: Any,
        pin_memory: bool,
        row_caches: Sequence[DeviceRowCache] | None,
    ) -> None:
        self.g = graph_of(g)
        self._delivery = delivery_for(device, pin_memory, row_caches, self.g, stacklevel=5)
        if not hasattr(sampler, "prefetch_node_feats") or isinstance(sampler, type):
            raise InvalidError(
                f"graph_sampler {sampler!r}: expected a BlockSampler, as "
                "graphd.sampling.NeighborSampler([10, 25])"
            )
        backend.chosen()
        self.sampler, self._epoch = sampler, -1
        self._calls = progress.Calls()

    def _options(
        self,
        batch_size: int,
        shuffle: bool,
        drop_last: bool,
        num_workers: int | None,
        queue_size: int | None,
        seed: int | None,
        seed_times: list[Tensor] | None,
    ) -> dict[str, Any]:
        """Returns the options of the extension module; `seed_times` is a list by type."""
        types, sampler = self.g.types, self.sampler
        check_times(sampler, seed_times)
        inputs = of_node_types(types, sampler.prefetch_node_feats)
        labels = of_node_types(types, sampler.prefetch_labels)
        self._node_data = inputs, labels
        inputs, labels = (
            [(t, name) for t, name in wanted if self.g.data(False, t, name).is_feature]
            for wanted in self._node_data
        )
        self._has_tensors = (inputs, labels) != self._node_data
        edges = of_edge_types(types, sampler.prefetch_edge_feats)
        self._features = (inputs, labels, edges)
        self._layers: list[LayerData] | None = None
        self._ntypes = types.ntypes
        return {
            "batch_size": whole_number(batch_size, "batch_size"),
            "shuffle": bool(shuffle),
            "drop_last": bool(drop_last),
            "seed": seeds.given_or_next(seed),
            # The library takes -1 for the default number of threads; for threads of Python, the
            # number is determined here.
            "num_workers": number_of_workers(
                None if num_workers == -1 else num_workers, self.g.session
            ),
            "queue_size": whole_number(queue_size or 0, "queue_size"),
            "input_features": inputs,
            "seed_features": labels,
            "edge_features": edges,
            "seed_times": seed_times,
        }

    def __len__(self) -> int:
        """Returns the number of batches in an epoch."""
        return self._loader.num_batches

    def __iter__(self) -> Iterator[Any]:
        return delivered(self._delivery, self._batches)

    def _batches(self) -> Iterator[Any]:
        self._epoch += 1
        self._loader.start_epoch(self._epoch)
        # This is a map, because a variable of a generator would keep a batch while the next one is
        # made.
        return map(self._unpack, iter(functools.partial(self._next, self._epoch), None))

    def _next(self, epoch: int) -> _graphd.Batch | None:
        with self._calls.clock("making the first batch"):
            return self._loader.next(epoch)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} batches, {self.sampler!r})"

    def _repr_html_(self) -> str:
        shown = [("batches", len(self)), ("graph", self.g), ("sampler", self.sampler)]
        return properties(type(self).__name__, shown)

    def _unpack(self, batch: Any) -> tuple[Any, ...]:
        """Returns the parts of a batch that the iterator yields."""
        raise NotImplementedError

    def _blocks(self, batch: _graphd.Batch) -> list[Block]:
        """Returns blocks with the features that came with the batch."""
        if self._layers is None:
            self._layers = layers_of(self.g.types, batch, *self._features)
        blocks = blocks_of(batch, self._layers)
        if self._has_tensors or self.g.copies or self.g.assigned:
            self._add_tensors(blocks)
        return blocks

    def _add_tensors(self, blocks: list[Block]) -> None:
        """Adds node data that are not features of the graph, such as copies of changed features, to
        be read on first access."""
        inputs, labels = self._node_data
        for wanted, frames in ((inputs, blocks[0].src_frames), (labels, blocks[-1].dst_frames)):
            for t, name in wanted:
                tensor = self.g.data(False, t, name)
                if not tensor.is_feature:
                    frames[t].lazy(name, tensor.read, of=NID)


class DistNodeDataLoader(_Loader):
    """A loader of mini-batches of nodes. Matches ``dgl.distributed.DistNodeDataLoader``.

    It yields (input_nodes, output_nodes, blocks). Threads of libgraphclient make batches ahead, and
    hold no lock of Python. The same ``seed`` gives the same batches, for any number of threads. The
    memory of a batch is used again once the batch's last tensor is gone: a graph keeps at most 512 MiB
    of unused memory for later batches.

    Parameters
    ----------
    g : DistGraph
    nids : int64 tensor, or dict of node type to tensor
    graph_sampler : BlockSampler
    device : str, int or torch.device, optional
        The device of all tensors of a batch. A CUDA device gets each batch by one copy, which runs
        while the previous batch is computed; see docs/howto/gpu.md. Default: the CPU.
    batch_size : int
    shuffle, drop_last : bool
    num_workers : int, optional
        Number of threads. Default: that of ``graphctl launch --num_samplers``, `initialize` or
        `graphd.connect`.
    queue_size : int, optional
        Number of batches made ahead. Default: 2 per thread.
    seed : int, optional
    seed_times : int64 or float64 tensor, or dict of node type to tensor, optional
        The time of each of `nids`, for a `TemporalSampler`; a node may be listed several times.
    pin_memory : bool
        Whether batches that stay in host memory are in pinned memory, which is new for each.
    row_caches : list of graphd.device.DeviceRowCache
        Features of input nodes whose hot rows the device has; batches have them in addition to the
        sampler's.
    gb_padding, use_ddp
        Accepted for DGL; has no effect.

    Raises
    ------
    graphd.errors.InvalidError
        If an argument is not valid for the graph.
    """

    _python: DistDataLoader | None = None  # used with samplers that are written in Python

    def __init__(
        self,
        g: GraphBase,
        nids: NodeIds,
        graph_sampler: BlockSampler,
        device: Any = None,
        *,
        batch_size: int,
        shuffle: bool = False,
        drop_last: bool = False,
        num_workers: int | None = None,
        queue_size: int | None = None,
        seed: int | None = None,
        seed_times: Tensor | dict[str, Tensor] | None = None,
        pin_memory: bool = False,
        row_caches: Sequence[DeviceRowCache] | None = (),
        gb_padding: int = 1,
        use_ddp: bool = False,
    ) -> None:
        super().__init__(g, graph_sampler, device, pin_memory, row_caches)
        if nids is None:
            raise InvalidError("nids: expected node ids: a tensor, or a dict by node type")
        times = None if seed_times is None else g.types.by_ntype(seed_times, "seed_times")
        options = self._options(
            batch_size, shuffle, drop_last, num_workers, queue_size, seed, times
        )
        if isinstance(graph_sampler, NativeSampler) and graph_sampler.is_native(g.types):
            lists = g.types.by_ntype(nids, "nids")
            graph_sampler.check_draws(min(options["batch_size"], g.types.count(lists)))
            self._loader = _graphd.NodeLoader(
                g.handle, lists, graph_sampler.handle(g.types), options
            )
        else:
            self._python = self._loader_of_python(nids, options)

    def _loader_of_python(self, nids: NodeIds, options: Mapping[str, Any]) -> DistDataLoader:
        items: Any = nids
        if isinstance(nids, Mapping):
            items = [
                (ntype, node)
                for ntype, ids in nids.items()
                for node in (ids.tolist() if hasattr(ids, "tolist") else ids)
            ]
        return DistDataLoader(
            items,
            options["batch_size"],
            options["shuffle"],
            self._collate,
            options["drop_last"],
            options["queue_size"],
            num_workers=options["num_workers"],
            seed=options["seed"],
        )

    def _collate(self, items: list[Any]) -> Sample:
        if items and isinstance(items[0], tuple):
            by_type: dict[str, list[int]] = {}
            for ntype, node in items:
                by_type.setdefault(ntype, []).append(node)
            return self.sampler.sample(
                self.g, {ntype: _tensor(ids) for ntype, ids in by_type.items()}
            )
        return self.sampler.sample(self.g, _tensor(items))

    def __len__(self) -> int:
        return super().__len__() if self._python is None else len(self._python)

    def __iter__(self) -> Iterator[Any]:
        if self._python is None:
            return super().__iter__()
        return delivered(self._delivery, self._python.__iter__)

    def _unpack(self, batch: _graphd.Batch) -> tuple[Any, ...]:
        input_nodes, output_nodes = batch.nodes(self._ntypes)
        return input_nodes, output_nodes, self._blocks(batch)


def _tensor(ids: Ids) -> Tensor:
    import numpy

    return backend.from_numpy(numpy.asarray(ids, numpy.int64))


class DistEdgeDataLoader(_Loader):
    """A loader of mini-batches of edges. Matches ``dgl.distributed.DistEdgeDataLoader``.

    It yields (input_nodes, pair_graph, blocks), or with negatives (input_nodes, pair_graph,
    neg_pair_graph, blocks). The pair graphs have the batch's nodes, in the order of the last
    block's destinations, with the batch's edges and the negative ones, respectively.

    Parameters
    ----------
    g : DistGraph
    eids : int64 tensor, or dict of edge type to tensor
    graph_sampler : BlockSampler or EdgePredictionSampler
        A sampler of `graphd.sampling`, or the result of
        `graphd.sampling.as_edge_prediction_sampler` for such a sampler. The result brings the
        arguments from `exclude` to `negative_sampler`, and names of features of the batch's edges,
        which the pair graph then has. With ``pooled=True`` the edges and negatives of batches are
        the same as without, but threads of Python make the blocks.
    device, pin_memory, row_caches
        See `DistNodeDataLoader`.
    batch_size, shuffle, drop_last, num_workers, queue_size, seed
        See `DistNodeDataLoader`.
    g_sampling : DistGraph, optional
        The graph from which blocks are sampled instead of `g`; nothing is excluded then.
    exclude : {None, "self", "reverse_id", "reverse_types"}
        The edges that the blocks must not have.
    reverse_eids : int64 tensor, or dict, optional
        For "reverse_id": the reverse of each edge of the type.
    reverse_etypes : dict of edge type to edge type, optional
        For "reverse_types": the reverse of each edge type.
    negative_sampler : optional
        A sampler of `graphd.sampling.negative_sampler`, or a function as in DGL: called with the
        graph and the batch's edge ids, it returns sources and destinations. In a graph with several
        edge types, ids are a dict with one type, and the result may be a dict. Several threads of
        the loader call the function at once, so a function with a state of its own needs a lock, or
        ``num_workers=0``. The function must not refer to the loader, which would then never be
        freed.
    seed_times : int64 or float64 tensor, or dict of edge type to tensor, optional
        The time of each of `eids`, for a `TemporalSampler`. The ends of an edge and of its
        negatives have the time of the edge, and a node is in the batch once for each of its times.
    gb_padding, use_ddp
        Accepted for DGL; has no effect.

    Raises
    ------
    graphd.errors.InvalidError
        If an argument is not valid for the graph.
    """

    _block_maker: BlockMaker | None = None  # used with samplers that run in Python

    def __init__(
        self,
        g: GraphBase,
        eids: EdgeIds,
        graph_sampler: BlockSampler | EdgePredictionSampler,
        device: Any = None,
        *,
        batch_size: int,
        shuffle: bool = False,
        drop_last: bool = False,
        num_workers: int | None = None,
        queue_size: int | None = None,
        seed: int | None = None,
        g_sampling: GraphBase | None = None,
        exclude: str | None = None,
        reverse_eids: EdgeIds = None,
        reverse_etypes: dict[EdgeType, EdgeType] | None = None,
        negative_sampler: NegativeSampler | Function | None = None,
        seed_times: Tensor | dict[EdgeType, Tensor] | None = None,
        pin_memory: bool = False,
        row_caches: Sequence[DeviceRowCache] | None = (),
        gb_padding: int = 1,
        use_ddp: bool = False,
    ) -> None:
        labels: FeatureNames = None
        if isinstance(graph_sampler, EdgePredictionSampler):
            if not all(
                each is None for each in (exclude, reverse_eids, reverse_etypes, negative_sampler)
            ):
                raise InvalidError(
                    "exclude, reverse_eids, reverse_etypes and negative_sampler belong to the "
                    "EdgePredictionSampler; give them to as_edge_prediction_sampler alone"
                )
            exclude, negative_sampler = graph_sampler.exclude, graph_sampler.negative_sampler
            reverse_eids = graph_sampler.reverse_eids
            reverse_etypes = graph_sampler.reverse_etypes
            labels, graph_sampler = graph_sampler.prefetch_labels, graph_sampler.sampler
        super().__init__(g, graph_sampler, device, pin_memory, row_caches)
        check_exclude(exclude)
        if eids is None:
            raise InvalidError("eids: expected edge ids: a tensor, or a dict by edge type")
        if not isinstance(graph_sampler, NativeSampler):
            raise InvalidError(
                f"graph_sampler {graph_sampler!r}: expected one of graphd.sampling, as "
                "graphd.sampling.NeighborSampler([10, 25]); loaders of edges take no samplers that are "
                "written in Python"
            )
        if not isinstance(reverse_etypes, (dict, type(None))):
            raise InvalidError(
                f"reverse_etypes {reverse_etypes!r}: expected a dict of edge type to its reverse"
            )
        self._labels = of_edge_types(g.types, labels)
        for e, name in self._labels:
            g.data(True, e, name)  # raises an error if there is none
        times = None if seed_times is None else g.types.by_etype(seed_times, "seed_times")
        options = self._options(
            batch_size, shuffle, drop_last, num_workers, queue_size, seed, times
        )
        number = g.types.etype_id
        reverses = [] if reverse_eids is None else g.types.by_etype(reverse_eids, "reverse_eids")
        pairs = [(number(a), number(b)) for a, b in (reverse_etypes or {}).items()]
        options.update(
            exclude=exclude or "",
            reverse_eids=reverses,
            reverse_etypes=pairs,
            negative_sampler=None
            if negative_sampler is None
            else negative_handle(self.g, negative_sampler),
            g_sampling=None if g_sampling is None else graph_of(g_sampling).handle,
        )
        self._has_negatives = negative_sampler is not None
        lists = g.types.by_etype(eids, "eids")
        graph_sampler.check_draws(2 * min(options["batch_size"], g.types.count(lists)))
        sampled = self.g if g_sampling is None else graph_of(g_sampling)
        is_native = graph_sampler.is_native(sampled.types)
        handle = graph_sampler.handle(g.types) if is_native else self._leave_out_blocks(options)
        # The library checks the reverse edges even if it makes no blocks that lack them.
        self._loader = _graphd.EdgeLoader(g.handle, lists, handle, options)
        if not is_native:
            for e, name in of_edge_types(sampled.types, graph_sampler.prefetch_edge_feats):
                sampled.data(True, e, name)  # raises an error if there is none
            excluded = ExcludedEdges(
                self.g, exclude if g_sampling is None else None, reverses, pairs
            )
            self._block_maker = BlockMaker(sampled, graph_sampler, excluded, options)

    def _leave_out_blocks(self, options: dict[str, Any]) -> _graphd.Sampler:
        """Changes options so that batches lack features, and returns a sampler that samples no
        edges."""
        options.update(input_features=[], seed_features=[], edge_features=[])
        self._node_data, self._features, self._has_tensors = ([], []), ([], [], []), False
        return sampler_of_no_edge()

    def _batches(self) -> Iterator[Any]:
        batches = super()._batches()
        if self._block_maker is None:
            return batches
        epoch = self._epoch
        made = self._block_maker.completed(epoch, batches)
        # Batches that were made ahead are left out when another epoch begins.
        return itertools.takewhile(lambda _: epoch == self._epoch, made)

    def _unpack(self, batch: _graphd.Batch) -> tuple[Any, ...]:
        types = self.g.types
        input_nodes, nodes = batch.nodes(types.ntypes)
        nodes = list(nodes.values()) if isinstance(nodes, dict) else [nodes]
        pair_graphs = [
            Subgraph(
                types,
                nodes,
                [batch.pairs(is_negative, e) for e in range(len(types.canonical_etypes))],
            )
            for is_negative in ((False, True) if self._has_negatives else (False,))
        ]
        self._add_labels(pair_graphs[0]._frames_of_edges())
        return (input_nodes, *pair_graphs, self._blocks(batch))

    def _add_labels(self, frames: Sequence[Frame]) -> None:
        """Adds the requested data of the batch's edges, to be read on first access."""
        for e, name in self._labels:
            tensor = self.g.data(True, e, name)
            if tensor.is_feature:
                frames[e].lazy(name, functools.partial(tensor.read, frames[e][EID]))
            else:
                frames[e].lazy(name, tensor.read, of=EID)
