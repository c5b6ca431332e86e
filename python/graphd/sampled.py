# SPDX-License-Identifier: Apache-2.0
"""What sampling one hop returns: edges of the large graph."""
import functools

from . import _graphd, backend
from .arguments import FORMS, one_of
from .batch_data import layers_of
from .block import Block
from .errors import InvalidError
from .frame import Frame, TypedFrame
from .names import EID


class SampledGraph:
    """Edges found for some nodes, with the ids of the large graph.

    Matches the graph that ``dgl.distributed.sample_neighbors`` and ``in_subgraph`` return, which
    keeps all nodes of the large one and some of its edges.

    Attributes
    ----------
    edata : mapping
        ``edata[graphd.EID]`` are the edges' ids; with several types a dict by canonical type.
    """

    def __init__(self, g, seeds, found, is_out=False, types=None, edata=()):
        # found: (etype, indptr, neighbours, edge ids), rows being those of `seeds` of the type.
        # Edges that are none of the graph's have types of their own, their positions as ids, and
        # more data by name.
        self._g, self._types, self._seeds, self._is_out = g, types or g.types, seeds, is_out
        self._found = {each[0]: each[1:] for each in found}
        self._edata = dict(edata)

    @property
    def ntypes(self):
        """Names of the node types."""
        return self._types.ntypes

    @property
    def etypes(self):
        """Relations of the edge types."""
        return self._types.etypes

    @property
    def canonical_etypes(self):
        """(source type, relation, destination type) of each edge type."""
        return self._types.canonical_etypes

    def num_nodes(self, ntype=None):
        """How many nodes the large graph has.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type, or all of them together.

        Returns
        -------
        int
        """
        return self._g.num_nodes(ntype or (self.ntypes[0] if len(self.ntypes) == 1 else None))

    def num_edges(self, etype=None):
        """How many edges were found.

        Parameters
        ----------
        etype : str or (str, str, str), optional
            Default: the only type, or all of them together.

        Returns
        -------
        int
        """
        if etype is None:
            return sum(len(neighbors) for _, neighbors, _ in self._found.values())
        return len(self._edge_ids(self._types.etype_id(etype)))

    number_of_nodes, number_of_edges = num_nodes, num_edges

    def edges(self, form="uv", order="eid", etype=None):
        """The edges, as ids of the large graph.

        Those of one node stand together, in the order in which the nodes were given.

        Parameters
        ----------
        form : {"uv", "eid", "all"}
            Ends, ids, or both.
        order
            DGL's; without effect.
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        tensor, or tuple of tensors
            Sources and destinations, ids, or all three.
        """
        e = self._types.etype_id(etype)
        u, v = (backend.from_numpy(ends) for ends in self._ends(e))
        ids = self._edge_ids(e)
        return {"uv": (u, v), "eid": ids, "all": (u, v, ids)}[one_of(form, "form", FORMS)]

    all_edges = edges

    @property
    def edata(self):
        """Data of the edges by name."""
        frames = [Frame({EID: functools.partial(SampledGraph._edge_ids, e=e)}, self)
                  for e in range(len(self.canonical_etypes))]
        frames[0].update(self._edata)
        return frames[0] if len(frames) == 1 else TypedFrame(self.canonical_etypes, frames)

    def _edge_ids(self, e):
        return self._found[e][2] if e in self._found else _empty()

    def _ends(self, e):
        import numpy

        if e not in self._found:
            return numpy.empty(0, numpy.int64), numpy.empty(0, numpy.int64)
        indptr, neighbors, _ = (backend.to_numpy(each) for each in self._found[e])
        type_of_seeds = (self._types.src_types if self._is_out else self._types.dst_types)[e]
        seeds = numpy.repeat(backend.to_numpy(self._seeds[type_of_seeds]), numpy.diff(indptr))
        return (seeds, neighbors) if self._is_out else (neighbors, seeds)

    def to_block(self, dst_nodes=None):
        """The edges as a block. See `graphd.to_block`.

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
            destinations = [numpy.empty(0, numpy.int64)] * len(self.ntypes)
            for e in self._found:
                t = self._types.dst_types[e]
                destinations[t] = numpy.union1d(destinations[t], self._ends(e)[1])
        else:
            destinations = [numpy.empty(0, numpy.int64) if ids is None else _as_numpy(ids)
                            for ids in self._types.by_ntype(dst_nodes, "dst_nodes")]
        samples = [self._rows(e, destinations[t]) for e, t in enumerate(self._types.dst_types)]
        batch = _graphd.to_block(self._types.handle, destinations, samples)
        block = Block(batch, *layers_of(self._types, batch))
        for name, values in self._edata.items():
            block.edge_frames[0].lazy(name, values.__getitem__, of=EID)
        return block

    def _rows(self, e, destinations):
        """The edges of a type in rows, one per destination."""
        import numpy

        u, v = self._ends(e)
        order = numpy.argsort(destinations, kind="stable")
        place = numpy.searchsorted(destinations, v, sorter=order)
        row = order[numpy.minimum(place, max(len(order) - 1, 0))] if len(order) else place
        if len(v) and (not len(order) or (destinations[row] != v).any()):
            raise InvalidError("to_block: an edge ends in a node that is not among dst_nodes; give "
                               "all ends of edges, or leave dst_nodes away")
        by_row = numpy.argsort(row, kind="stable")
        indptr = numpy.zeros(len(destinations) + 1, numpy.int64)
        numpy.cumsum(numpy.bincount(row, minlength=len(destinations)), out=indptr[1:])
        ids = backend.to_numpy(self._edge_ids(e))
        return e, indptr, u[by_row], ids[by_row]

    def __repr__(self):
        counts = {c: self.num_edges(c) for c in self.canonical_etypes}
        return f"SampledGraph(num_edges={counts})"


def _empty():
    import numpy

    return backend.from_numpy(numpy.empty(0, numpy.int64))


def _as_numpy(ids):
    import numpy

    if isinstance(ids, (list, tuple)):
        return numpy.asarray(ids, numpy.int64)
    if not hasattr(ids, "dtype"):
        raise InvalidError(f"dst_nodes {ids!r}: expected an int64 tensor, or a list")
    return backend.to_numpy(ids)
