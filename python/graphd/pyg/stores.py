# SPDX-License-Identifier: Apache-2.0
"""A graph's features and edges in PyG's interface of a remote backend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch_geometric import data as pyg
from torch_geometric.data.graph_store import EdgeLayout

from .. import backend
from ..block_sampler import of_edge_types
from ..device import DeviceRowCache
from ..distributed.graph_data import Data
from ..distributed.original_ids import ORIGINAL_ID
from ..distributed.tensor import DistTensor
from ..errors import InvalidError, NotFoundError
from ..graph_base import GraphBase, graph_of
from ..html import table
from ..names import PYG_EDGE_NAMES, PYG_NAMES
from ..typing import EdgeType

_GRAPHD_NAMES = {theirs: ours for ours, theirs in (*PYG_NAMES.items(), *PYG_EDGE_NAMES.items())}


def torch_graph_of(g: GraphBase) -> GraphBase:
    """Returns the graph. Raises InvalidError unless graphd returns PyTorch's tensors, as PyG
    needs."""
    if backend.chosen() != "torch":
        raise InvalidError('graphd.pyg needs PyTorch\'s tensors; call graphd.use("torch")')
    return graph_of(g)


def local_tensor(values: Any) -> torch.Tensor:
    """Returns values as a tensor. The values of a DistTensor are read from the servers."""
    return values[...] if isinstance(values, DistTensor) else torch.as_tensor(values)


class FeatureStore(pyg.FeatureStore):  # type: ignore[misc, unused-ignore]
    """The features of a graph's nodes and edges, for PyG. They can be read only.

    "feat" is also called "x", and "label" also "y", as in PyG's examples.

    Parameters
    ----------
    g : DistGraph
    names : list of str, optional
        The node features that loaders put into batches. Default: all features; each costs a
        request.
    row_caches : list of graphd.device.DeviceRowCache
        Features whose most used rows a device has. If rows of these features are requested by ids
        or a mask, the store returns them on that device, and so do PyG's loaders. The loaders of
        this module use the caches like their own argument `row_caches`.

    Raises
    ------
    graphd.errors.NotFoundError
        If no node type has a feature of one of the names.
    graphd.errors.InvalidError
        If a cache is of another graph.
    """

    def __init__(
        self,
        g: GraphBase,
        names: Sequence[str] | None = None,
        *,
        row_caches: Sequence[DeviceRowCache] = (),
    ) -> None:
        super().__init__()
        # PyG's base class turns other attributes into views.
        self.__dict__["g"] = torch_graph_of(g)
        self.__dict__["attrs"] = list(self._attrs(names))
        self.__dict__["row_caches"] = _checked(self.g, row_caches)

    def _attrs(self, names: Sequence[str] | None) -> Iterator[tuple[str, str]]:
        wanted = None if names is None else {_GRAPHD_NAMES.get(name, name) for name in names}
        found = set()
        for t, ntype in enumerate(self.g.types.ntypes):
            for name, _, _ in self.g.handle.schemes(False, t):
                if wanted is None or name in wanted:
                    found.add(name)
                    yield ntype, name
        if wanted is not None and wanted - found:
            raise NotFoundError(f"no node type has a feature {sorted(wanted - found)[0]!r}")

    def _tensor(self, attr: Any) -> DistTensor | None:
        types, of, name = self.g.types, attr.group_name, attr.attr_name
        is_edge = not isinstance(of, str)
        data = Data(self.g, is_edge, types.etype_id(of) if is_edge else types.ntype_id(of))
        tensor = data.get(name)
        return data.get(_GRAPHD_NAMES[name]) if tensor is None and name in _GRAPHD_NAMES else tensor

    def _get_tensor(self, attr: Any) -> Any:
        tensor = self._tensor(attr)
        if tensor is None:
            return None
        if attr.index is None or isinstance(attr.index, slice):
            return tensor[...] if attr.index is None else tensor[attr.index]
        cache = self._cache_of(tensor)
        return tensor[attr.index] if cache is None else cache.get(attr.index)

    def _cache_of(self, tensor: DistTensor) -> DeviceRowCache | None:
        kept = None if tensor.handle.is_edge else (tensor.handle.type, tensor.handle.name)
        return next((each for each in self.row_caches if (each.type, each.name) == kept), None)

    def _get_tensor_size(self, attr: Any) -> tuple[int, ...] | None:
        tensor = self._tensor(attr)
        return None if tensor is None else tensor.shape

    def _put_tensor(self, tensor: Any, attr: Any) -> bool:
        raise InvalidError(
            f"{attr.attr_name!r}: features can't be changed; create a DistTensor for values that the "
            "job changes"
        )

    def _remove_tensor(self, attr: Any) -> bool:
        raise InvalidError(f"{attr.attr_name!r}: features can't be removed")

    def get_all_tensor_attrs(self) -> list[Any]:
        """Returns the node features that loaders put into batches.

        Returns
        -------
        list of torch_geometric.data.TensorAttr
        """
        return [pyg.TensorAttr(ntype, PYG_NAMES.get(name, name)) for ntype, name in self.attrs]

    def __len__(self) -> int:
        return len(self.attrs)

    def __repr__(self) -> str:
        return f"FeatureStore({self.attrs})"

    def _repr_html_(self) -> str:
        types = self.g.types
        shown = [(of, Data(self.g, False, types.ntype_id(of))[name]) for of, name in self.attrs]
        return table(
            "FeatureStore",
            ("node type", "name", "dtype", "shape"),
            [(of, each.name, each.handle.dtype, repr(each.shape)) for of, each in shown],
        )


class GraphStore(pyg.GraphStore):  # type: ignore[misc, unused-ignore]
    """The edges of a graph, for PyG. They can be read only.

    Loaders with a `NeighborSampler` of this module read no edges from it. PyG's own sampler copies
    all edges of the graph into the process, when the loader is made.

    Parameters
    ----------
    g : DistGraph
    """

    def __init__(self, g: GraphBase) -> None:
        super().__init__()
        self.__dict__["g"] = torch_graph_of(g)

    def _get_edge_index(self, edge_attr: Any) -> Any:
        types = self.g.types
        if edge_attr.layout != EdgeLayout.COO or edge_attr.edge_type not in types.canonical_etypes:
            return None
        e = types.etype_id(edge_attr.edge_type)
        return self.g.handle.find_edges(torch.arange(self.g.handle.num_edges(e)), e)

    def _put_edge_index(self, edge_index: Any, edge_attr: Any) -> bool:
        raise InvalidError(f"{edge_attr.edge_type}: the graph can't be changed")

    def _remove_edge_index(self, edge_attr: Any) -> bool:
        raise InvalidError(f"{edge_attr.edge_type}: the graph can't be changed")

    def get_all_edge_attrs(self) -> list[Any]:
        """Returns the edge types, with the numbers of their source and destination nodes.

        Returns
        -------
        list of torch_geometric.data.EdgeAttr
            In COO, in the order of edge ids.
        """
        types = self.g.types
        return [
            pyg.EdgeAttr(
                etype,
                EdgeLayout.COO,
                size=tuple(
                    self.g.handle.num_nodes(end[e]) for end in (types.src_types, types.dst_types)
                ),
            )
            for e, etype in enumerate(types.canonical_etypes)
        ]

    def __repr__(self) -> str:
        return f"GraphStore({self.g.types.canonical_etypes})"

    def _repr_html_(self) -> str:
        shown = [
            (attr.edge_type, *attr.size, self.g.handle.num_edges(e))
            for e, attr in enumerate(self.get_all_edge_attrs())
        ]
        return table("GraphStore", ("edge type", "sources", "destinations", "edges"), shown)


def _checked(g: GraphBase, caches: Sequence[DeviceRowCache]) -> list[DeviceRowCache]:
    for cache in caches:
        if not isinstance(cache, DeviceRowCache):
            raise InvalidError(f"row_caches: {cache!r} is not a graphd.device.DeviceRowCache")
        cache.check_graph(g)
    return list(caches)


def without_cached(
    store: FeatureStore, row_caches: Sequence[DeviceRowCache] | None
) -> tuple[FeatureStore, list[DeviceRowCache]]:
    """Returns a store without the features that are cached, and the caches: those of the loader and
    those of the store.

    Parameters
    ----------
    store : FeatureStore
    row_caches : list of DeviceRowCache, optional
        The row caches of the loader.

    Returns
    -------
    FeatureStore
    list of DeviceRowCache
    """
    caches = _checked(store.g, [*store.row_caches, *(row_caches or ())])
    kept = {(store.g.types.ntypes[cache.type], cache.name) for cache in caches}
    others = FeatureStore(store.g, [])
    others.__dict__["attrs"] = [attr for attr in store.attrs if attr not in kept]
    return others, caches


def edge_features(
    g: GraphBase,
    edge_attrs: Sequence[str] | Mapping[EdgeType, Sequence[str]] | None,
    has_all: bool,
) -> dict[EdgeType, list[str]]:
    """Returns the features of edges that batches have, by type.

    Parameters
    ----------
    g : DistGraph
    edge_attrs : list of str, or dict of edge type to list, optional
        The argument of a loader.
    has_all : bool
        Whether None stands for all features but the original ids, and not for none.

    Returns
    -------
    dict of edge type to list of str
    """
    types = g.types
    have = [[name for name, _, _ in g.handle.schemes(True, e)] for e in range(len(types.etypes))]
    if edge_attrs is None:
        wanted = [
            (e, name)
            for e, names in enumerate(have if has_all else [])
            for name in names
            if name != ORIGINAL_ID
        ]
    else:
        wanted = of_edge_types(types, edge_attrs)
    found: dict[EdgeType, list[str]] = {}
    for e, name in wanted:
        ours = name if name in have[e] else _GRAPHD_NAMES.get(name, name)
        found.setdefault(types.canonical_etypes[e], []).append(ours)
    return found
