# SPDX-License-Identifier: Apache-2.0
"""Blocks: the layers of a mini-batch."""
import functools

from . import backend
from .arguments import FORMS, one_of
from .errors import InvalidError
from .frame import Frame, TypedFrame


class _Space:
    """``.data`` of one type, as ``block.srcnodes["user"]`` gives it."""

    def __init__(self, data):
        self.data = data


class _NodeView:
    """``block.srcnodes("user")`` are local ids, ``block.srcnodes["user"].data`` is the data."""

    def __init__(self, types, counts, frames, place):
        self._types, self._counts, self._frames, self._place = types, counts, frames, place

    def __call__(self, ntype=None):
        return self._place(_arange(self._counts[self._types.ntype_id(ntype)]))

    def __getitem__(self, ntype):
        return _Space(self._frames[self._types.ntype_id(ntype)])


class _EdgeView:
    """``block.edges(etype=...)`` are local ids of ends, ``block.edges[etype].data`` is the data."""

    def __init__(self, block):
        self._block = block

    def __call__(self, form="uv", order="eid", etype=None):
        u, v = self._block.coo(etype)
        one_of(form, "form", FORMS)
        if form == "uv":
            return u, v
        ids = self._block.place(_arange(len(u)))
        return ids if form == "eid" else (u, v, ids)

    def __getitem__(self, etype):
        return _Space(self._block.edge_frames[self._block.types.etype_id(etype)])


def _arange(count):
    import numpy

    return backend.from_numpy(numpy.arange(count, dtype=numpy.int64))


class Block:
    """One layer of a mini-batch: edges from source nodes to destination nodes.

    Sources begin with the destinations, then neighbours in order of appearance. Local ids are
    positions among the sources, or the destinations, of a type. Tensors share the memory of the
    batch that was sampled, and are made when they are asked for.

    Loaders make blocks; `to_block` makes them of sampled neighbours.

    Attributes
    ----------
    srcdata, dstdata, edata : mapping of str to tensor
        Ids in the large graph under `graphd.NID` and `graphd.EID`, features that the sampler
        fetched, and what the caller puts there. With several types the values are dicts by type.
    """

    is_block = True

    # Made when they are looked at: most of a batch's never are.
    _src_frames = _dst_frames = _edge_frames = None

    def __init__(self, batch, of, device=None):
        self._batch, self._of, self._device = batch, of, device  # of: LayerData
        self.types = of.types  # the graph's `Types`

    @property
    def src_frames(self):
        """[ntype] data of the sources."""
        if self._src_frames is None:
            self._src_frames = [Frame(makers, self._batch) for makers in self._of.src]
        return self._src_frames

    @property
    def dst_frames(self):
        """[ntype] data of the destinations."""
        if self._dst_frames is None:
            self._dst_frames = [Frame(makers, self._batch) for makers in self._of.dst]
        return self._dst_frames

    @property
    def edge_frames(self):
        """[etype] data of the edges."""
        if self._edge_frames is None:
            batch, layer = self._batch, self._of.layer
            self._edge_frames = [Frame(makers, batch) for makers in self._of.edges]
            for e, frame in enumerate(self._edge_frames):
                if batch.has_weights(layer, e):
                    frame.lazy("weight", functools.partial(batch.weights, layer, e))
        return self._edge_frames

    def place(self, tensor):
        """Brings a tensor to where the block is.

        Parameters
        ----------
        tensor : tensor

        Returns
        -------
        tensor
            On this block's device.
        """
        return tensor if self._device is None else tensor.to(self._device)

    # Types, as in a DGLGraph.
    @property
    def ntypes(self):
        """Names of the node types."""
        return self.types.ntypes

    srctypes = dsttypes = ntypes

    @property
    def etypes(self):
        """Relations of the edge types."""
        return self.types.etypes

    @property
    def canonical_etypes(self):
        """(source type, relation, destination type) of each edge type."""
        return self.types.canonical_etypes

    # Sizes.
    def num_src_nodes(self, ntype=None):
        """How many source nodes there are.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type, or all of them together.

        Returns
        -------
        int
        """
        return self._sum(self._batch.num_src, self.types.ntype_id, len(self.ntypes), ntype)

    def num_dst_nodes(self, ntype=None):
        """How many destination nodes there are.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type, or all of them together.

        Returns
        -------
        int
        """
        return self._sum(self._batch.num_dst, self.types.ntype_id, len(self.ntypes), ntype)

    def num_edges(self, etype=None):
        """How many edges there are.

        Parameters
        ----------
        etype : str or (str, str, str), optional
            Default: the only type, or all of them together.

        Returns
        -------
        int
        """
        return self._sum(self._batch.num_edges, self.types.etype_id, len(self.etypes), etype)

    number_of_src_nodes, number_of_dst_nodes, number_of_edges = (
        num_src_nodes, num_dst_nodes, num_edges)

    def _sum(self, count, number_of, num_types, name):
        if name is None:
            return sum(count(self._of.layer, t) for t in range(num_types))
        return count(self._of.layer, number_of(name))

    # Structure.
    def csc(self, etype=None):
        """Edges by destination.

        Parameters
        ----------
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        indptr : int64 tensor, [destinations + 1]
        indices : int32 tensor, [edges]
            Sources, as local ids: those of destination i are ``indices[indptr[i]:indptr[i + 1]]``.
        """
        pair = self._batch.csc(self._of.layer, self.types.etype_id(etype))
        return pair if self._device is None else tuple(map(self.place, pair))

    def coo(self, etype=None):
        """Ends of the edges, as local ids.

        Parameters
        ----------
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        src, dst : int64 tensor, [edges]
        """
        u, v = self._batch.coo(self._of.layer, self.types.etype_id(etype))
        return self.place(u), self.place(v)

    @property
    def edges(self):
        """``edges(form="uv", etype=None)`` are ends, ids or both; ``edges[etype].data`` is
        ``edata`` of a type.
        """
        return _EdgeView(self)

    all_edges = edges

    def in_degrees(self, v=None, etype=None):
        """Numbers of sampled in-edges of destinations.

        Parameters
        ----------
        v : int64 tensor, optional
            Local ids of destinations. Default: all.
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        tensor of int64
        """
        indptr = self.csc(etype)[0]
        degrees = indptr[1:] - indptr[:-1]
        return degrees if v is None else degrees[v]

    # Data.
    @property
    def srcdata(self):
        """Data of the sources by name."""
        frames = self._src_frames or self.src_frames
        return frames[0] if len(frames) == 1 else TypedFrame(self.ntypes, frames)

    @property
    def dstdata(self):
        """Data of the destinations by name."""
        frames = self._dst_frames or self.dst_frames
        return frames[0] if len(frames) == 1 else TypedFrame(self.ntypes, frames)

    @property
    def edata(self):
        """Data of the edges by name."""
        frames = self.edge_frames
        return frames[0] if len(frames) == 1 else TypedFrame(self.canonical_etypes, frames)

    @property
    def srcnodes(self):
        """``srcnodes(ntype)`` are local ids of sources, ``srcnodes[ntype].data`` is ``srcdata`` of
        a type.
        """
        counts = [self._batch.num_src(self._of.layer, t) for t in range(len(self.ntypes))]
        return _NodeView(self.types, counts, self.src_frames, self.place)

    @property
    def dstnodes(self):
        """``dstnodes(ntype)`` are local ids of destinations, ``dstnodes[ntype].data`` is
        ``dstdata`` of a type.
        """
        counts = [self._batch.num_dst(self._of.layer, t) for t in range(len(self.ntypes))]
        return _NodeView(self.types, counts, self.dst_frames, self.place)

    # Elsewhere.
    def to(self, device):
        """The block with its tensors on another device.

        Parameters
        ----------
        device : torch.device or str

        Returns
        -------
        Block
            Itself, for the CPU.
        """
        if str(device) == "cpu" and self._device is None:
            return self
        moved = Block(self._batch, self._of, device)
        moved._src_frames, moved._dst_frames, moved._edge_frames = (
            [_moved(frame, device) for frame in frames]
            for frames in (self.src_frames, self.dst_frames, self.edge_frames))
        return moved

    def int(self):
        """DGL's conversion of a graph's ids; ours are int64 outside, so that it is refused.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("blocks have int64 ids; take csc()[1], which is int32")

    def to_dgl(self):
        """The block with the same nodes, edges and data, for DGL's layers. Needs DGL.

        Returns
        -------
        dgl.DGLBlock
        """
        from .convert import block_to_dgl

        return block_to_dgl(self)

    def to_pyg(self):
        """This layer alone, as `graphd.to_pyg` has it for several.

        Returns
        -------
        torch_geometric.data.Data or HeteroData
        """
        from .convert import to_pyg

        return to_pyg([self])

    def __repr__(self):
        if self.types.is_homogeneous:
            return (f"Block(num_src_nodes={self.num_src_nodes()}, "
                    f"num_dst_nodes={self.num_dst_nodes()}, num_edges={self.num_edges()})")
        return (f"Block(num_src_nodes={ {t: self.num_src_nodes(t) for t in self.ntypes} }, "
                f"num_dst_nodes={ {t: self.num_dst_nodes(t) for t in self.ntypes} }, "
                f"num_edges={ {c: self.num_edges(c) for c in self.canonical_etypes} })")


def _moved(frame, device):
    return Frame({name: lambda source, name=name: source[name].to(device) for name in frame}, frame)


def to_block(g, dst_nodes=None, include_dst_in_src=True, src_nodes=None):
    """Makes a block of sampled neighbours. Matches ``dgl.to_block``.

    Parameters
    ----------
    g : SampledGraph
        What `graphd.distributed.sample_neighbors` and its kind return, along in-edges.
    dst_nodes : tensor, or dict of node type to tensor, optional
        Destinations, without duplicates; every edge must end in one of them. Default: the ends of
        the edges, in order of appearance.
    include_dst_in_src : bool
        Only True is supported.
    src_nodes
        DGL's; sources are found, and can't be given.

    Returns
    -------
    Block

    Raises
    ------
    graphd.errors.InvalidError
        If an edge ends in none of `dst_nodes`, or these hold duplicates.
    """
    if not hasattr(g, "to_block"):
        raise InvalidError(f"g {g!r}: expected a SampledGraph, as sample_neighbors gives it")
    if not include_dst_in_src:
        raise InvalidError("to_block: sources always include the destinations; leave "
                           "include_dst_in_src at True")
    if src_nodes is not None:
        raise InvalidError("to_block: sources are found, in order of appearance; leave src_nodes "
                           "away")
    return g.to_block(dst_nodes)
