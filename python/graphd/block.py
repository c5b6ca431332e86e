# SPDX-License-Identifier: Apache-2.0
"""Blocks: the layers of a mini-batch."""
import functools

from . import backend
from .frame import Frame, TypedFrame
from .names import EID, NID


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

    def __init__(self, batch, layer, types, device=None):
        self._batch, self._layer, self.types, self._device = batch, layer, types, device

    # What a loader fetched with the batch: [type] {name: number of the feature}.
    input_feats = seed_feats = edge_feats = None
    # Made when they are looked at: most of a batch's never are.
    _src_frames = _dst_frames = _edge_frames = None

    @property
    def src_frames(self):
        """[ntype] data of the sources."""
        if self._src_frames is None:
            self._src_frames = [Frame({NID: self._maker(self._batch.src_nodes, self._layer, t)})
                                for t in range(len(self.types.ntypes))]
            if self.input_feats:
                self._put(self._src_frames, self.input_feats, self._batch.input_feature)
            if self._batch.has_roots:
                for t, frame in enumerate(self._src_frames):
                    frame.lazy("root", self._maker(self._batch.src_roots, self._layer, t))
        return self._src_frames

    @property
    def dst_frames(self):
        """[ntype] data of the destinations."""
        if self._dst_frames is None:
            self._dst_frames = [Frame({NID: self._maker(self._batch.dst_nodes, self._layer, t)})
                                for t in range(len(self.types.ntypes))]
            if self.seed_feats:
                self._put(self._dst_frames, self.seed_feats, self._batch.seed_feature)
            if self._batch.has_roots:
                for t, frame in enumerate(self._dst_frames):
                    frame.lazy("root", self._maker(self._batch.dst_roots, self._layer, t))
            if self._batch.has_seed_times and self._layer == self._batch.num_layers - 1:
                for t, frame in enumerate(self._dst_frames):
                    frame.lazy("seed_time", self._maker(self._batch.seed_times, t))
        return self._dst_frames

    @property
    def edge_frames(self):
        """[etype] data of the edges."""
        if self._edge_frames is None:
            self._edge_frames = []
            for e in range(len(self.types.canonical_etypes)):
                frame = Frame({EID: self._maker(self._batch.edge_ids, self._layer, e)})
                if self._batch.has_weights(self._layer, e):
                    frame.lazy("weight", self._maker(self._batch.weights, self._layer, e))
                self._edge_frames.append(frame)
            if self.edge_feats:
                self._put(self._edge_frames, self.edge_feats, self._batch.edge_feature, self._layer)
        return self._edge_frames

    def _put(self, frames, feats, method, *which):
        for frame, of_type in zip(frames, feats):
            for name, i in of_type.items():
                frame.lazy(name, self._maker(method, *which, i))

    def _maker(self, method, *which):
        make = functools.partial(method, *which)
        device = self._device  # a function that refers to the block would keep it; see Frame
        return make if device is None else lambda: make().to(device)

    def place(self, tensor):
        """The tensor on this block's device."""
        return tensor if self._device is None else tensor.to(self._device)

    # Types, as in a DGLGraph.
    @property
    def ntypes(self):
        return self.types.ntypes

    srctypes = dsttypes = ntypes

    @property
    def etypes(self):
        return self.types.etypes

    @property
    def canonical_etypes(self):
        return self.types.canonical_etypes

    # Sizes.
    def num_src_nodes(self, ntype=None):
        """Source nodes of a type, or of all."""
        return self._sum(self._batch.num_src, self.types.ntype_id, len(self.ntypes), ntype)

    def num_dst_nodes(self, ntype=None):
        return self._sum(self._batch.num_dst, self.types.ntype_id, len(self.ntypes), ntype)

    def num_edges(self, etype=None):
        return self._sum(self._batch.num_edges, self.types.etype_id, len(self.etypes), etype)

    number_of_src_nodes, number_of_dst_nodes, number_of_edges = (
        num_src_nodes, num_dst_nodes, num_edges)

    def _sum(self, count, number_of, num_types, name):
        if name is None:
            return sum(count(self._layer, t) for t in range(num_types))
        return count(self._layer, number_of(name))

    # Structure.
    def csc(self, etype=None):
        """Edges by destination.

        Returns
        -------
        indptr : int64 tensor, [destinations + 1]
        indices : int32 tensor, [edges]
            Sources, as local ids: those of destination i are ``indices[indptr[i]:indptr[i + 1]]``.
        """
        pair = self._batch.csc(self._layer, self.types.etype_id(etype))
        return pair if self._device is None else tuple(map(self.place, pair))

    def coo(self, etype=None):
        """Local ids of sources and destinations, edge by edge: two int64 tensors."""
        u, v = self._batch.coo(self._layer, self.types.etype_id(etype))
        return self.place(u), self.place(v)

    @property
    def edges(self):
        return _EdgeView(self)

    all_edges = edges

    def in_degrees(self, v=None, etype=None):
        """Numbers of sampled in-edges of destinations, all of them unless told which."""
        indptr = self.csc(etype)[0]
        degrees = indptr[1:] - indptr[:-1]
        return degrees if v is None else degrees[v]

    # Data.
    @property
    def srcdata(self):
        frames = self.src_frames
        return frames[0] if len(frames) == 1 else TypedFrame(self.ntypes, frames)

    @property
    def dstdata(self):
        frames = self.dst_frames
        return frames[0] if len(frames) == 1 else TypedFrame(self.ntypes, frames)

    @property
    def edata(self):
        frames = self.edge_frames
        return frames[0] if len(frames) == 1 else TypedFrame(self.canonical_etypes, frames)

    @property
    def srcnodes(self):
        counts = [self._batch.num_src(self._layer, t) for t in range(len(self.ntypes))]
        return _NodeView(self.types, counts, self.src_frames, self.place)

    @property
    def dstnodes(self):
        counts = [self._batch.num_dst(self._layer, t) for t in range(len(self.ntypes))]
        return _NodeView(self.types, counts, self.dst_frames, self.place)

    # Elsewhere.
    def to(self, device):
        """The block with its tensors on another device; itself, for the CPU."""
        if str(device) == "cpu" and self._device is None:
            return self
        moved = Block(self._batch, self._layer, self.types, device)
        for mine, theirs in zip(self.src_frames + self.dst_frames + self.edge_frames,
                                moved.src_frames + moved.dst_frames + moved.edge_frames):
            for name in mine:
                theirs.lazy(name, lambda mine=mine, name=name: mine[name].to(device))
        return moved

    def int(self):
        """DGL's conversion of a graph's ids; ours are int64 outside, so that it is refused."""
        raise NotImplementedError("blocks have int64 ids; take csc()[1], which is int32")

    def to_dgl(self):
        """A `dgl.DGLBlock` with the same nodes, edges and data. Needs DGL."""
        from .convert import block_to_dgl

        return block_to_dgl(self)

    def to_pyg(self):
        """This layer as a `torch_geometric.data.Data` (or HeteroData). See `graphd.to_pyg`."""
        from .convert import to_pyg

        return to_pyg([self])

    def __repr__(self):
        if self.types.is_homogeneous:
            return (f"Block(num_src_nodes={self.num_src_nodes()}, "
                    f"num_dst_nodes={self.num_dst_nodes()}, num_edges={self.num_edges()})")
        return (f"Block(num_src_nodes={ {t: self.num_src_nodes(t) for t in self.ntypes} }, "
                f"num_dst_nodes={ {t: self.num_dst_nodes(t) for t in self.ntypes} }, "
                f"num_edges={ {c: self.num_edges(c) for c in self.canonical_etypes} })")


def blocks_of(batch, types):
    """All blocks of a batch, input layer first."""
    return [Block(batch, layer, types) for layer in range(batch.num_layers)]


def to_block(g, dst_nodes=None, include_dst_in_src=True):
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

    Returns
    -------
    Block
    """
    from .errors import InvalidError

    if not include_dst_in_src:
        raise InvalidError("to_block: sources always include the destinations; leave "
                           "include_dst_in_src at True")
    return g.to_block(dst_nodes)
