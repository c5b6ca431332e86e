# SPDX-License-Identifier: Apache-2.0
"""A loader with the arguments of PyG's ``LinkNeighborLoader``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch_geometric.data import Data
from torch_geometric.loader import LinkLoader

from ..device import DeviceRowCache, delivered, delivery_for
from ..distributed.data_loader import DistDataLoader, number_of_workers
from ..distributed.graph_data import Data as EdgeData
from ..errors import InvalidError
from ..graph_base import GraphBase
from ..html import properties
from ..names import PYG_EDGE_NAMES
from ..schema import Types
from ..typing import EdgeType
from .arguments import check_others, seed_from
from .loader import stores_of
from .sampler import NeighborSampler
from .stores import FeatureStore, GraphStore, edge_features, local_tensor, without_cached


class LinkNeighborLoader:
    """A loader of mini-batches of edges with the arguments of PyG's ``LinkNeighborLoader``.

    It yields what PyG's yields: the sampled neighbours of the ends of the edges and of negative edges,
    with ``edge_label_index`` and ``edge_label``, or ``src_index``, ``dst_pos_index`` and
    ``dst_neg_index``. The edges may be any pairs of nodes. If there are workers, batches are made
    ahead, in threads of Python; `graphd.distributed.DistEdgeDataLoader`, for edges of the graph, makes
    them without the interpreter, and can leave a batch's edges out of its blocks.

    Parameters
    ----------
    data, num_neighbors, replace, subgraph_type, disjoint, temporal_strategy, weight_attr, transform
        See `NeighborLoader`.
    transform_sampler_output, is_sorted, filter_per_worker, neighbor_sampler, directed
        See `NeighborLoader`.
    edge_label_index : optional
        The edges: a tensor with a row of sources and one of destinations, an edge type, or a tuple
        of an edge type and a tensor or None. Default: all edges, whose ends are then copied into the
        process. In a job of several trainers, give each its share.
    edge_label : tensor, optional
        A label for each edge.
    edge_label_time : tensor, optional
        The time of each edge, with `time_attr`.
    time_attr : str, optional
        The edge feature with the time of each edge of the graph: both ends of an edge have trees with
        edges up to the edge's own time, `edge_label_time`.
    neg_sampling : torch_geometric.sampler.NegativeSampling or str, optional
        "binary", "triplet", or a NegativeSampling with further settings. PyTorch draws the negative
        nodes.
    neg_sampling_ratio : int or float, optional
        The number of negative edges for each edge; implies the sampling "binary".
    batch_size : int
    shuffle, drop_last : bool
    num_workers : int, optional
        Number of threads. Default: that of `graphd.distributed.DistDataLoader`.
    seed : int, optional
        The seed of the order of edges. Neighbours and negative nodes do not depend on it.
    generator, edge_attrs, device, pin_memory, row_caches, **others
        See `NeighborLoader`.

    Raises
    ------
    graphd.errors.InvalidError
        If an argument is not valid, or is one of PyG's that graphd does not have.
    """

    def __init__(
        self,
        data: GraphBase | tuple[FeatureStore, GraphStore],
        num_neighbors: Sequence[int] | Mapping[EdgeType, Sequence[int]],
        edge_label_index: Any = None,
        edge_label: Any = None,
        edge_label_time: Any = None,
        replace: bool = False,
        subgraph_type: Any = "directional",
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        neg_sampling: Any = None,
        neg_sampling_ratio: float | None = None,
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
        check_others("LinkNeighborLoader", others)
        features, edges = stores_of(data)
        features, self._caches = without_cached(features, row_caches)
        self.g, self._transform = features.g, transform
        self._delivery = delivery_for(device, pin_memory, self._caches, self.g)
        types = self.g.types
        self._is_hetero = isinstance(data, tuple) or not types.is_homogeneous
        etype, pairs = _edges(types, edge_label_index)
        count = self.g.handle.num_edges(types.etype_id(etype)) if pairs is None else len(pairs[0])
        if edge_label is not None:
            edge_label = local_tensor(edge_label)
            if len(edge_label) != count:
                raise InvalidError(f"edge_label: {len(edge_label)} labels for {count} edges")
        if edge_label_time is not None:
            edge_label_time = local_tensor(edge_label_time)
            if len(edge_label_time) != count:
                raise InvalidError(
                    f"edge_label_time: {len(edge_label_time)} times for {count} edges"
                )
        if (edge_label_time is None) != (time_attr is None):
            missing = "time_attr" if time_attr is None else "edge_label_time"
            raise InvalidError(
                f"{missing!r} is not set: time_attr and edge_label_time belong together"
            )
        self._edge_attrs = edge_features(self.g, edge_attrs, not isinstance(data, tuple))
        sampler = NeighborSampler(
            self.g,
            num_neighbors,
            disjoint=disjoint,
            time_attr=time_attr,
            temporal_strategy=temporal_strategy,
            subgraph_type=subgraph_type,
            replace=replace,
            prob=weight_attr,
        )
        try:
            self._link_loader = LinkLoader(
                (features, edges),
                sampler,
                (etype, pairs),
                edge_label,
                edge_label_time,
                neg_sampling=neg_sampling,
                neg_sampling_ratio=neg_sampling_ratio,
            )
        except ValueError as error:  # PyG refuses the negatives
            raise InvalidError(str(error)) from error
        self._loader = DistDataLoader(
            range(len(self._link_loader.dataset)),
            batch_size,
            shuffle,
            self._collate,
            drop_last,
            num_workers=number_of_workers(num_workers, self.g.session),
            seed=seed_from(seed, generator),
        )

    def __len__(self) -> int:
        """Returns the number of batches in an epoch."""
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        if self._transform is None:
            return delivered(self._delivery, self._loader.__iter__)
        if self._caches:
            return map(self._transform, delivered(self._delivery, self._loader.__iter__))
        return delivered(self._delivery, functools.partial(map, self._transform, self._loader))

    def __call__(self, index: Any) -> Any:
        """Returns the batch of chosen edges.

        Parameters
        ----------
        index : list of int, or tensor
            Positions in `edge_label_index`.

        Returns
        -------
        torch_geometric.data.Data or HeteroData
        """
        data = self._collate(index)
        for cache in self._caches:
            cache.add_rows(data)
        return data if self._transform is None else self._transform(data)

    def _collate(self, positions: list[int]) -> Any:
        data = self._link_loader(positions)
        for etype, names in self._edge_attrs.items():
            store, e = data[etype], self.g.types.etype_id(etype)
            for name in names if "e_id" in store else ():
                store[name] = EdgeData(self.g, True, e)[name][store.e_id]
            for name, theirs in PYG_EDGE_NAMES.items():
                if name in store and theirs not in store:
                    store[theirs] = store[name]
        return data if self._is_hetero else _as_homogeneous(data)

    def __repr__(self) -> str:
        return (
            f"LinkNeighborLoader({len(self)} batches, {self._link_loader.link_sampler.sampler!r})"
        )

    def _repr_html_(self) -> str:
        shown = [
            ("batches", len(self)),
            ("graph", self.g),
            ("sampler", self._link_loader.link_sampler.sampler),
        ]
        return properties("LinkNeighborLoader", shown)


def _edges(types: Types, given: Any) -> tuple[EdgeType, Any]:
    """Returns the edge type and the pairs of nodes that PyG's `edge_label_index` stands for."""
    etype, pairs = None, given
    if isinstance(given, tuple) and len(given) == 2 and not isinstance(given[1], str):
        etype, pairs = given
    elif isinstance(given, (str, tuple)):
        etype, pairs = given, None
    if isinstance(etype, tuple) and len(etype) == 2:  # PyG allows the two node types alone
        fitting = [each for each in types.canonical_etypes if (each[0], each[2]) == etype]
        etype = fitting[0] if len(fitting) == 1 else etype
    if pairs is not None:
        pairs = torch.as_tensor(pairs)
        if pairs.dim() != 2 or len(pairs) != 2 or pairs.is_floating_point():
            raise InvalidError(
                f"edge_label_index has the shape {tuple(pairs.shape)} and {pairs.dtype}; expected "
                "node ids, a row of sources and one of destinations"
            )
        pairs = pairs.to(torch.int64)
    return types.canonical_etypes[types.etype_id(etype)], pairs


def _as_homogeneous(hetero: Any) -> Data:
    """Returns a graph with one type of nodes and edges as PyG's ``Data``."""
    data = Data()
    for store in (*hetero.node_stores, *hetero.edge_stores):
        for name, value in store.items():
            data[name] = value
    return data
