# SPDX-License-Identifier: Apache-2.0
"""A loader with the arguments of PyG's ``NeighborLoader``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from ..convert import to_hetero_data, to_pyg
from ..device import DeviceRowCache, delivered, delivery_for
from ..distributed.loaders import DistNodeDataLoader
from ..errors import InvalidError
from ..graph_base import GraphBase
from ..html import properties
from ..names import PYG_EDGE_NAMES
from ..sampling import TemporalSampler
from ..typing import EdgeType
from .arguments import check_others, seed_from
from .bidirectional import make_bidirectional
from .sampler import block_sampler, is_bidirectional
from .stores import FeatureStore, GraphStore, edge_features, local_tensor, without_cached


class NeighborLoader:
    """A loader of mini-batches of nodes with the arguments of PyG's ``NeighborLoader``.

    It yields what PyG's yields, a ``Data`` for a `DistGraph` with one type of nodes and edges and
    otherwise a ``HeteroData``. Features of nodes that are called "feat" and "label" are also ``x``
    and ``y``, and "feat" of edges is also ``edge_attr``. Threads make the batches ahead, as in
    `graphd.distributed.DistNodeDataLoader`, which the loader uses.

    Parameters
    ----------
    data : DistGraph, or tuple of FeatureStore and GraphStore
        With a `FeatureStore`, batches have the features that it names, and otherwise all features
        of nodes.
    num_neighbors : list, or dict of edge type to list
        The fanout of each hop, from the seeds outwards; -1 takes all neighbours.
    input_nodes : optional
        The seeds: node ids, a mask, a node type, or a tuple of a node type and ids, a mask or None.
        Default: all nodes. A batch has a node once, however often it is listed, unless seeds have
        trees of their own. In a job of several trainers, give each its share
        (`graphd.distributed.node_split`).
    input_time : tensor, optional
        The time of each of `input_nodes`, with `time_attr`.
    replace : bool
    subgraph_type : {"directional", "bidirectional"}
        Whether a batch also has the reverse of each sampled edge, of the reverse edge type.
    disjoint : bool
        Whether each seed has a tree of its own, which shares no nodes with others; ``batch`` is the
        seed of each node.
    time_attr : str, optional
        The edge feature with the time of each edge: the tree of a seed has only edges up to the
        seed's time, `input_time`. PyG also has times of nodes, which graphd does not.
    temporal_strategy : {"uniform", "last"}
        Whether to take any of these edges, or the latest.
    weight_attr : str, optional
        The edge feature with the weights by which neighbours are sampled.
    transform : callable, optional
        Called with each batch; its result is yielded.
    transform_sampler_output, neighbor_sampler, directed
        Arguments of PyG; refused unless they have their defaults.
    is_sorted, filter_per_worker
        Accepted for PyG; have no effect.
    edge_attrs : list of str, or dict of edge type to list, optional
        The edge features that batches have; "feat" is also ``edge_attr``. Default: with a
        `DistGraph`, all but the original ids, as with PyG's ``Data``; with stores, none, as in PyG.
    batch_size : int
    shuffle, drop_last : bool
    num_workers : int, optional
        Number of threads. Default: that of `graphd.distributed.DistNodeDataLoader`.
    seed : int, optional
    generator : torch.Generator, optional
        Replaces `seed`: one number is drawn from the generator here, and is the seed.
    device : str, int or torch.device, optional
        The device of batches, which PyG's loader does not have. A CUDA device gets each batch by
        one copy, which runs while the previous batch is computed.
    pin_memory : bool
        Whether batches that stay in host memory are in pinned memory.
    row_caches : list of graphd.device.DeviceRowCache
        Features of nodes whose most used rows the device has. Batches have these features, and only
        their other rows are copied. `transform` is then called with batches on the device.
    **others
        ``collate_fn``, ``dataset``, ``in_order``, ``multiprocessing_context``, ``persistent_workers``,
        ``pin_memory_device`` and ``prefetch_factor`` are without effect. Other arguments of PyTorch's
        ``DataLoader`` are refused unless they have their defaults, with what to do instead.

    Raises
    ------
    graphd.errors.InvalidError
        If an argument is not valid, or is one of PyG's that graphd does not have.
    """

    def __init__(
        self,
        data: GraphBase | tuple[FeatureStore, GraphStore],
        num_neighbors: Sequence[int] | Mapping[EdgeType, Sequence[int]],
        input_nodes: Any = None,
        input_time: torch.Tensor | None = None,
        replace: bool = False,
        subgraph_type: Any = "directional",
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        time_attr: str | None = None,
        weight_attr: str | None = None,
        transform: Callable[[Any], Any] | None = None,
        transform_sampler_output: None = None,
        is_sorted: bool = False,
        filter_per_worker: bool | None = None,
        neighbor_sampler: None = None,
        directed: bool = True,
        *,
        edge_attrs: Sequence[str] | Mapping[EdgeType, Sequence[str]] | None = None,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        num_workers: int | None = None,
        seed: int | None = None,
        generator: torch.Generator | None = None,
        device: Any = None,
        pin_memory: bool = False,
        row_caches: Sequence[DeviceRowCache] | None = (),
        **others: Any,
    ) -> None:
        others.update(
            transform_sampler_output=transform_sampler_output,
            neighbor_sampler=neighbor_sampler,
            directed=directed,
        )
        check_others("NeighborLoader", others)
        store, self._caches = without_cached(stores_of(data)[0], row_caches)
        self.g, self._transform = store.g, transform
        self._delivery = delivery_for(device, pin_memory, self._caches, self.g)
        self._is_hetero = isinstance(data, tuple) or not self.g.types.is_homogeneous
        self._ntype, self._ids = self._seeds(input_nodes)
        self._times = _times_of(input_time, time_attr, len(self._ids))
        self._is_bidirectional = is_bidirectional(subgraph_type)
        features: dict[str, list[str]] = {}
        for ntype, name in store.attrs:
            features.setdefault(ntype, []).append(name)
        edges = edge_features(self.g, edge_attrs, not isinstance(data, tuple))
        self._sampler = block_sampler(
            self.g,
            num_neighbors,
            disjoint,
            time_attr,
            temporal_strategy,
            weight_attr,
            replace=replace,
            prefetch_node_feats=features,
            prefetch_edge_feats=edges,
        )
        self._edge_names = {name for names in edges.values() for name in names}
        self._edge_names |= {PYG_EDGE_NAMES.get(name, name) for name in self._edge_names}
        self._places = _Places(self._ids, self._times)
        self._loader = DistNodeDataLoader(
            self.g,
            {self._ntype: self._ids},
            self._sampler,
            batch_size=batch_size,
            shuffle=shuffle,
            drop_last=drop_last,
            num_workers=num_workers,
            seed=seed_from(seed, generator),
            seed_times=None if self._times is None else {self._ntype: self._times},
        )

    def _seeds(self, input_nodes: Any) -> tuple[str, torch.Tensor]:
        """Returns the node type and the ids that PyG's `input_nodes` stands for."""
        types, ntype, nodes = self.g.types, None, input_nodes
        if isinstance(input_nodes, str):
            ntype, nodes = input_nodes, None
        elif isinstance(input_nodes, tuple):
            if len(input_nodes) != 2 or not isinstance(input_nodes[0], str):
                raise InvalidError("input_nodes: expected a tuple of a node type and ids or a mask")
            ntype, nodes = input_nodes
        t = types.ntype_id(ntype)
        count = self.g.handle.num_nodes(t)
        if nodes is None:
            return types.ntypes[t], torch.arange(count)
        ids = local_tensor(nodes)
        if ids.dtype in (torch.bool, torch.uint8):
            if ids.shape != (count,):
                raise InvalidError(
                    f"input_nodes: the mask has the shape {tuple(ids.shape)}, but there are {count} "
                    f"nodes of type {types.ntypes[t]!r}"
                )
            ids = ids.nonzero().view(-1)
        if ids.dim() != 1 or (ids.is_floating_point() and ids.numel() > 0):
            raise InvalidError(
                "input_nodes: expected a list of node ids or a mask, got a tensor of shape "
                f"{tuple(ids.shape)} and {ids.dtype}"
            )
        return types.ntypes[t], ids.to(torch.int64)

    def __len__(self) -> int:
        """Returns the number of batches in an epoch."""
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        # This is a map, because a variable of a generator would keep a batch while the next one is
        # made.
        make, transform = functools.partial(map, self._to_data, self._loader), self._transform
        if transform is None:
            return delivered(self._delivery, make)
        if self._caches:
            return map(transform, delivered(self._delivery, make))
        return delivered(self._delivery, lambda: map(transform, make()))

    def __call__(self, index: Any) -> Any:
        """Returns the batch of chosen seeds.

        Parameters
        ----------
        index : list of int, or tensor
            Positions in `input_nodes`.

        Returns
        -------
        torch_geometric.data.Data or HeteroData
        """
        index = torch.as_tensor(index)
        seeds = {self._ntype: self._ids[index]}
        if isinstance(self._sampler, TemporalSampler):
            times = None if self._times is None else {self._ntype: self._times[index]}
            data = self._to_data(self._sampler.sample(self.g, seeds, seed_times=times), index)
        else:
            data = self._to_data(self._sampler.sample(self.g, seeds), index)
        for cache in self._caches:
            cache.add_rows(data)
        return data if self._transform is None else self._transform(data)

    def _to_data(self, batch: tuple[Any, ...], index: torch.Tensor | None = None) -> Any:
        convert = to_hetero_data if self._is_hetero else to_pyg
        data = convert(batch[2], all_nodes=False)
        seeds = data[self._ntype] if self._is_hetero else data
        # The sampler takes each seed once, so a list with repeated positions does not have the
        # positions of the seeds.
        given = index is not None and len(index) == seeds.batch_size
        seeds.input_id = index if given else self._places.of(seeds)
        if self._is_bidirectional:
            make_bidirectional(data, self._edge_names)
        return data

    def __repr__(self) -> str:
        return f"NeighborLoader({len(self)} batches, {self._loader.sampler!r})"

    def _repr_html_(self) -> str:
        shown = [("batches", len(self)), ("graph", self.g), ("sampler", self._loader.sampler)]
        return properties("NeighborLoader", shown)


class _Places:
    """The positions of seeds in `input_nodes`: the first one, if a seed is listed twice."""

    def __init__(self, ids: torch.Tensor, times: torch.Tensor | None) -> None:
        self._first: dict[Any, int] = {}
        self._order = self._sorted = None
        if times is None:
            self._order = torch.argsort(ids, stable=True)
            self._sorted = ids[self._order]
        else:
            for place, key in enumerate(zip(ids.tolist(), times.tolist())):
                self._first.setdefault(key, place)

    def of(self, seeds: Any) -> torch.Tensor:
        """Returns the positions of the seeds of a batch, given the data of their type."""
        ids = seeds.n_id[: seeds.batch_size]
        if self._order is not None:
            return self._order[torch.searchsorted(self._sorted, ids)]
        keys = zip(ids.tolist(), seeds.seed_time.tolist())
        return torch.tensor([self._first[key] for key in keys], dtype=torch.int64)


def _times_of(input_time: Any, time_attr: str | None, count: int) -> torch.Tensor | None:
    """Returns the times of the seeds, or None if there are none."""
    if (input_time is None) != (time_attr is None):
        missing = "time_attr" if time_attr is None else "input_time"
        raise InvalidError(f"{missing!r} is not set: time_attr and input_time belong together")
    if input_time is None:
        return None
    times = local_tensor(input_time)
    if times.shape != (count,):
        raise InvalidError(
            f"input_time has the shape {tuple(times.shape)}, for {count} input_nodes"
        )
    return times


def stores_of(data: Any) -> tuple[FeatureStore, GraphStore]:
    """Returns the stores of a loader's `data`."""
    stores = data if isinstance(data, tuple) else (FeatureStore(data), GraphStore(data))
    if [type(each) for each in stores] != [FeatureStore, GraphStore]:
        raise InvalidError(f"data {data!r}: expected a DistGraph or (FeatureStore, GraphStore)")
    return stores
