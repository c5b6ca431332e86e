# SPDX-License-Identifier: Apache-2.0
"""The result of sampling one hop: edges of the original graph."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from . import _graphd, backend
from .batch_data import layers_of
from .block import Block
from .convert import subgraph_to_dgl
from .dgl_form import DglForm, dgl_frames
from .errors import InvalidError
from .frame import Frame, frame_of
from .graph_base import GraphBase
from .names import EID
from .schema import Types
from .typed_graph import EdgeListGraph
from .typing import Ids, NodeIds, Tensor


class SampledGraph(DglForm, EdgeListGraph):
    """Edges found for some nodes, with the ids of the original graph.

    Matches the graph that ``dgl.distributed.sample_neighbors`` and ``in_subgraph`` return, which
    has all nodes of the original graph and some of its edges. The edges of one node are
    consecutive, in the order in which the nodes were given. DGL's functions take it as it is: see
    `graphd.dgl_form.DglForm`.

    Attributes
    ----------
    edata : mapping
        ``edata[graphd.EID]`` are the edges' ids; with several types a dict by canonical type.
    """

    def __init__(
        self,
        g: GraphBase,
        seeds: Sequence[Tensor],
        found: Iterable[tuple[int, Tensor, Tensor, Tensor]],
        is_out: bool = False,
        types: Types | None = None,
        edata: Mapping[str, Tensor] | None = None,
    ) -> None:
        # found has (edge type, indptr, neighbours, edge ids), with a row for each of the type's
        # `seeds`. Edges that the graph does not have come with their own types, with their
        # positions as ids, and with more data by name.
        self._g, self._seeds, self._is_out = g, seeds, is_out
        self.types = types or g.types
        self._found = {e: (indptr, neighbors, ids) for e, indptr, neighbors, ids in found}
        self._edata = dict(edata or {})
        self._edge_frames = [
            Frame({EID: functools.partial(_ids_of, etype_id=e)}, self._found)
            for e in range(len(self.types.canonical_etypes))
        ]
        self._edge_frames[0].update(self._edata)

    def _count_nodes(self, ntype_id: int) -> int:
        return self._g.num_nodes(self.types.ntypes[ntype_id])

    def _count_edges(self, etype_id: int) -> int:
        return len(self._found[etype_id][1]) if etype_id in self._found else 0

    def _edges(self, etype_id: int) -> tuple[Tensor, Tensor, Tensor]:
        u, v = self._ends(etype_id)
        return backend.from_numpy(u), backend.from_numpy(v), self._edge_ids(etype_id)

    def _frames_of_edges(self) -> Sequence[Frame]:
        return self._edge_frames

    @property
    def edata(self) -> MutableMapping[str, Any]:
        """The data of the edges by name."""
        return frame_of(self.canonical_etypes, self._edge_frames)

    def to_dgl(self) -> Any:
        """Returns the graph with the same nodes, edges and data as a graph of DGL. Needs DGL.

        Returns
        -------
        dgl.DGLGraph
        """
        return subgraph_to_dgl(self, [Frame() for _ in self.ntypes], self._edge_frames)

    def _share_data(self, made: Any) -> None:
        self._edge_frames = dgl_frames(made.edges, self.canonical_etypes)

    def _edge_ids(self, etype_id: int) -> Tensor:
        return _ids_of(self._found, etype_id)

    def _ends(self, etype_id: int) -> tuple[Any, Any]:
        """Returns the sources and destinations as arrays."""
        import numpy

        if etype_id not in self._found:
            return _no_ids(), _no_ids()
        indptr, neighbors, _ = (backend.to_numpy(each) for each in self._found[etype_id])
        seed_types = self.types.src_types if self._is_out else self.types.dst_types
        nodes = backend.to_numpy(self._seeds[seed_types[etype_id]])
        seeds = numpy.repeat(nodes, numpy.diff(indptr))
        return (seeds, neighbors) if self._is_out else (neighbors, seeds)

    def to_block(self, dst_nodes: NodeIds = None) -> Block:
        """Returns the edges as a block. See `graphd.to_block`.

        Parameters
        ----------
        dst_nodes : tensor, or dict of node type to tensor, optional

        Returns
        -------
        Block
        """
        import numpy

        backend.chosen()
        if dst_nodes is None:
            destinations = [_no_ids()] * len(self.ntypes)
            for e in self._found:
                t = self.types.dst_types[e]
                destinations[t] = numpy.union1d(destinations[t], self._ends(e)[1])
        else:
            destinations = [
                _no_ids() if ids is None else _as_numpy(ids)
                for ids in self.types.by_ntype(dst_nodes, "dst_nodes")
            ]
        samples = [self._rows(e, destinations[t]) for e, t in enumerate(self.types.dst_types)]
        batch = _graphd.to_block(self.types.handle, destinations, samples)
        block = Block(batch, *layers_of(self.types, batch))
        for name, values in self._edata.items():
            block.edge_frames[0].lazy(name, values.__getitem__, of=EID)
        return block

    def _rows(self, etype_id: int, destinations: Any) -> tuple[int, Any, Any, Any]:
        """Returns the edges of a type in rows, one per destination."""
        import numpy

        u, v = self._ends(etype_id)
        order = numpy.argsort(destinations, kind="stable")
        place = numpy.searchsorted(destinations, v, sorter=order)
        row = order[numpy.minimum(place, max(len(order) - 1, 0))] if len(order) else place
        if len(v) and (not len(order) or (destinations[row] != v).any()):
            raise InvalidError(
                "to_block: an edge ends in a node that is not among dst_nodes; give "
                "all ends of edges, or omit dst_nodes"
            )
        by_row = numpy.argsort(row, kind="stable")
        indptr = numpy.zeros(len(destinations) + 1, numpy.int64)
        numpy.cumsum(numpy.bincount(row, minlength=len(destinations)), out=indptr[1:])
        ids = backend.to_numpy(self._edge_ids(etype_id))
        return etype_id, indptr, u[by_row], ids[by_row]

    def __repr__(self) -> str:
        counts = {c: self.num_edges(c) for c in self.canonical_etypes}
        return f"SampledGraph(num_edges={counts})"


def _ids_of(found: Mapping[int, tuple[Tensor, Tensor, Tensor]], etype_id: int) -> Tensor:
    """Returns the ids of the edges of a type."""
    return found[etype_id][2] if etype_id in found else backend.from_numpy(_no_ids())


def _no_ids() -> Any:
    import numpy

    return numpy.empty(0, numpy.int64)


def _as_numpy(ids: Ids) -> Any:
    import numpy

    if isinstance(ids, (list, tuple)):
        return numpy.asarray(ids, numpy.int64)
    if not hasattr(ids, "dtype"):
        raise InvalidError(f"dst_nodes {ids!r}: expected an int64 tensor, or a list")
    return backend.to_numpy(ids)


def to_block(
    g: SampledGraph,
    dst_nodes: NodeIds = None,
    include_dst_in_src: bool = True,
    src_nodes: Any = None,
) -> Block:
    """Makes a block from sampled neighbours. Matches ``dgl.to_block``.

    Parameters
    ----------
    g : SampledGraph
        The result of `graphd.distributed.sample_neighbors` or a similar function, along in-edges.
    dst_nodes : tensor, or dict of node type to tensor, optional
        Destinations, without duplicates; every edge must end in one of them. Default: the ends of
        the edges, in ascending order (DGL: in order of appearance). Seeds without an edge are not
        among them; give the seeds here to get a row for each seed, in their order.
    include_dst_in_src : bool
        Only True is supported.
    src_nodes
        An argument of DGL; the sources follow from the edges, and can't be given.

    Returns
    -------
    Block

    Raises
    ------
    graphd.errors.InvalidError
        If an edge ends in none of `dst_nodes`, or these have duplicates.
    """
    if not isinstance(g, SampledGraph):
        raise InvalidError(f"g {g!r}: expected a SampledGraph, as sample_neighbors gives it")
    if not include_dst_in_src:
        raise InvalidError(
            "to_block: sources always include the destinations; leave include_dst_in_src at True"
        )
    if src_nodes is not None:
        raise InvalidError("to_block: sources are found, in order of appearance; omit src_nodes")
    return g.to_block(dst_nodes)
