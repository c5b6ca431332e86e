# SPDX-License-Identifier: Apache-2.0
"""A `DistGraph` as PyG's remote backend: its stores, and a sampler for its loaders.

PyG's loaders take the stores in place of a ``HeteroData``, and the sampler in place of their own:

>>> data = (FeatureStore(g, ["feat", "label"]), GraphStore(g))                # doctest: +SKIP
>>> loader = torch_geometric.loader.NeighborLoader(                           # doctest: +SKIP
...     data, [10, 5], input_nodes=("paper", ids), batch_size=100,
...     neighbor_sampler=NeighborSampler(g, [10, 5]))

Batches are ``HeteroData``; a graph with one type of nodes has the types "_N" and ("_N", "_E", "_N").
They are made one after another, when the loader asks for them;
`graphd.distributed.DistNodeDataLoader` with `graphd.to_pyg` makes them ahead, in threads. Leave
``num_workers`` at 0: a forked worker can't use its parent's graph. Needs PyG and PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch_geometric import data as pyg
from torch_geometric.data.graph_store import EdgeLayout
from torch_geometric.sampler import BaseSampler, HeteroSamplerOutput, NodeSamplerInput

from . import sampling
from .convert import to_hetero_data
from .distributed.graph_data import Data
from .distributed.tensor import DistTensor
from .errors import InvalidError, NotFoundError
from .graph_base import GraphBase, graph_of
from .typing import EdgeType

# Names that PyG's models and examples use, and those of the features that they stand for.
_PYG_NAMES = {"x": "feat", "y": "label"}
_GRAPHD_NAMES = {ours: theirs for theirs, ours in _PYG_NAMES.items()}


class FeatureStore(pyg.FeatureStore):  # type: ignore[misc, unused-ignore]
    """The features of a graph's nodes and edges, for PyG. They can be read only.

    "feat" is also called "x", and "label" also "y", as in PyG's examples.

    Parameters
    ----------
    g : DistGraph
    names : list of str, optional
        The node features that loaders put into batches. Default: all, which costs a request each.

    Raises
    ------
    graphd.errors.NotFoundError
        If no node type has a feature of one of the names.
    """

    def __init__(self, g: GraphBase, names: Sequence[str] | None = None) -> None:
        super().__init__()
        # PyG's base class turns other attributes into views.
        self.__dict__["g"] = graph_of(g)
        self.__dict__["attrs"] = list(self._attrs(names))

    def _attrs(self, names: Sequence[str] | None) -> Iterator[tuple[str, str]]:
        wanted = None if names is None else {_PYG_NAMES.get(name, name) for name in names}
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
        return data.get(_PYG_NAMES[name]) if tensor is None and name in _PYG_NAMES else tensor

    def _get_tensor(self, attr: Any) -> Any:
        tensor = self._tensor(attr)
        if tensor is None:
            return None
        return tensor[...] if attr.index is None else tensor[attr.index]

    def _get_tensor_size(self, attr: Any) -> tuple[int, ...] | None:
        tensor = self._tensor(attr)
        return None if tensor is None else tensor.shape

    def _put_tensor(self, tensor: Any, attr: Any) -> bool:
        raise InvalidError(
            f"{attr.attr_name!r}: features can't be changed; make a DistTensor for values of the job"
        )

    def _remove_tensor(self, attr: Any) -> bool:
        raise InvalidError(f"{attr.attr_name!r}: features can't be removed")

    def get_all_tensor_attrs(self) -> list[Any]:
        """Returns the node features that loaders put into batches.

        Returns
        -------
        list of torch_geometric.data.TensorAttr
        """
        return [pyg.TensorAttr(ntype, _GRAPHD_NAMES.get(name, name)) for ntype, name in self.attrs]

    def __len__(self) -> int:
        return len(self.attrs)

    def __repr__(self) -> str:
        return f"FeatureStore({self.attrs})"


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
        self.__dict__["g"] = graph_of(g)

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
        self.g = graph_of(g)
        self.sampler = sampling.NeighborSampler(_input_layer_first(num_neighbors), **options)

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
        _, _, blocks = self.sampler.sample(self.g, {ntype: index.node})
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
            metadata=(index.input_id, index.time),
        )

    def sample_from_edges(self, *_: Any, **__: Any) -> HeteroSamplerOutput:
        """Refuses loaders of edges.

        Returns
        -------
        torch_geometric.sampler.HeteroSamplerOutput
            Never.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(
            "only nodes are sampled for PyG's loaders; for edges, use "
            "graphd.distributed.DistEdgeDataLoader with graphd.to_pyg"
        )

    @property
    def edge_permutation(self) -> dict[Any, None]:
        """The permutation of edges, by edge type: none, since edges have the ids of the graph."""
        return dict.fromkeys(self.g.types.canonical_etypes)


def _input_layer_first(num_neighbors: Any) -> list[Any]:
    """Returns the fanouts of each layer in DGL's order."""
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
