# SPDX-License-Identifier: Apache-2.0
"""Blocks: the layers of a mini-batch under DGL's names."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from .arguments import FORMS, one_of
from .convert import block_to_dgl, to_pyg
from .dgl_form import DglForm, dgl_frames
from .frame import Frame, frame_of, moved
from .html import table
from .layer import Layer
from .names import EID
from .typed_graph import EdgeView, NodeView, local_ids
from .typing import EdgeType, Ids, Tensor, Triple

if TYPE_CHECKING:
    from . import _graphd
    from .batch_data import LayerData
    from .device.parts import Parts, Rebuild


class _EdgeView(EdgeView):
    """The view of a block's edges, which makes their local ids only if they are wanted."""

    def __call__(self, form: str = "uv", order: str = "eid", etype: EdgeType | None = None) -> Any:
        u, v = self._graph.coo(etype)
        one_of(form, "form", FORMS)
        if form == "uv":
            return u, v
        ids = self._graph.place(local_ids(len(u)))
        return ids if form == "eid" else (u, v, ids)


class Block(DglForm, Layer):
    """One layer of a mini-batch: edges from source nodes to destination nodes.

    The first sources are the destinations; their neighbours follow in order of appearance. Local
    ids are positions among the sources, or the destinations, of a type. Tensors share the memory of
    the sampled batch, and are made on first access.

    Loaders make blocks; `to_block` makes them from sampled neighbours. DGL's layers take them as they
    are: see `graphd.dgl_form.DglForm`.

    Attributes
    ----------
    srcdata, dstdata, edata : mapping of str to tensor
        Ids in the original graph under `graphd.NID` and `graphd.EID`, features that the sampler
        fetched, and data that the caller assigned. With several types the values are dicts by type.
    """

    is_block = True

    _is_last = False  # its destinations are the seeds of a mini-batch
    _etype_ids: list[int] | None = None  # numbers of the edge types that `canonical_etypes` has

    @property
    def etypes(self) -> list[str]:
        """Relations of `canonical_etypes`."""
        return [self.types.etypes[e] for e in self._present_etype_ids()]

    @property
    def canonical_etypes(self) -> list[Triple]:
        """The edge types of the graph.

        The last block of a mini-batch lacks the edge types whose destination type has no seed.
        DGL's layers then have outputs only for the types of the seeds, as with DGL's distributed
        graphs. If the last block has no edge at all, it has all types. `num_edges`, `edges`, `csc`,
        `coo`, `in_degrees` and `edata` also take the types that the block lacks; ``block[etype]``
        and functions of DGL do not.
        """
        return [self.types.canonical_etypes[e] for e in self._present_etype_ids()]

    def _present_etype_ids(self) -> list[int]:
        if self._etype_ids is None:
            self._etype_ids = list(range(len(self.types.etypes)))
            if self._is_last and self.num_edges():
                self._etype_ids = [
                    e
                    for e in self._etype_ids
                    if self.num_dst_nodes(self.types.canonical_etypes[e][2])
                ]
        return self._etype_ids

    @property
    def srctypes(self) -> list[str]:
        """Names of the node types."""
        return self.types.ntypes

    @property
    def dsttypes(self) -> list[str]:
        """Names of the node types."""
        return self.types.ntypes

    @property
    def edges(self) -> _EdgeView:
        """``edges(form="uv", etype=None)`` are ends, ids or both; ``edges[etype].data`` is
        ``edata`` of a type.
        """
        return _EdgeView(self)

    @property
    def all_edges(self) -> _EdgeView:
        """The same as `edges`."""
        return _EdgeView(self)

    def in_degrees(self, v: Ids = None, etype: EdgeType | None = None) -> Tensor:
        """Returns the numbers of sampled in-edges of destinations.

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

    @property
    def srcdata(self) -> MutableMapping[str, Any]:
        """The data of the sources by name."""
        return frame_of(self.types.ntypes, self.src_frames)

    @property
    def dstdata(self) -> MutableMapping[str, Any]:
        """The data of the destinations by name."""
        return frame_of(self.types.ntypes, self.dst_frames)

    @property
    def edata(self) -> MutableMapping[str, Any]:
        """The data of the edges by name."""
        return frame_of(self.types.canonical_etypes, self.edge_frames)

    def _view(self, counts: Sequence[int], frames: Sequence[Frame]) -> NodeView:
        return NodeView(self.types, counts, frames, self.place)

    def _frames_of_edges(self) -> Sequence[Frame]:
        return self.edge_frames

    @property
    def srcnodes(self) -> NodeView:
        """``srcnodes(ntype)`` are local ids of sources, ``srcnodes[ntype].data`` is ``srcdata`` of
        a type.
        """
        return self._view([self.num_src_nodes(t) for t in self.ntypes], self.src_frames)

    @property
    def dstnodes(self) -> NodeView:
        """``dstnodes(ntype)`` are local ids of destinations, ``dstnodes[ntype].data`` is
        ``dstdata`` of a type.
        """
        return self._view([self.num_dst_nodes(t) for t in self.ntypes], self.dst_frames)

    @property
    def device(self) -> Any:
        """The torch.device of the tensors."""
        import torch

        return torch.device("cpu" if self._device is None else self._device)

    def to(self, device: Any, non_blocking: bool = False) -> Block:
        """Returns the block with its tensors on another device. They are copied on first access.

        Parameters
        ----------
        device : torch.device or str
        non_blocking : bool
            Whether to copy at once, through new pinned memory and without waiting, everything but
            the ids of edges. The copy runs on the current stream, after the work that was added to
            it before. Loaders with ``device=`` copy while that work runs.

        Returns
        -------
        Block
            The block itself, for the CPU.
        """
        if non_blocking:
            from .device.parts import sent
            from .device.platform import is_cuda

            if is_cuda(device):
                return cast(Block, sent(self, device))
        return self if str(device) == "cpu" and self._device is None else self._on(device)

    def _on(self, device: Any) -> Block:
        """Returns a block whose data are moved on first access, as its edges are, unless they were
        copied to a device before."""
        structure = self._structure
        if structure is not None:
            structure = [(indptr.to(device), indices.to(device)) for indptr, indices in structure]
        return self._of_parts(device, structure, [[{} for _ in each] for each in self._frames()])

    def _of_parts(
        self,
        device: Any,
        structure: list[tuple[Tensor, Tensor]] | None,
        made: list[list[dict[str, Tensor]]],
    ) -> Block:
        """Returns a block on a device, with the edges and data that are there already."""
        there = Block(self._batch, self._of, device)
        there._is_last = self._is_last
        there._structure = structure
        there._src_frames, there._dst_frames, there._edge_frames = (
            [moved(frame, device, some) for frame, some in zip(frames, of_types)]
            for frames, of_types in zip(self._frames(), made)
        )
        return there

    def _frames(self) -> tuple[list[Frame], list[Frame], list[Frame]]:
        return self.src_frames, self.dst_frames, self.edge_frames

    def take_apart(self, parts: Parts) -> Rebuild:
        """Adds the tensors of the block to the tensors that one copy moves: edges and data, but not
        the ids of edges. These take more memory than the rest of the structure, and few models need
        them.

        Parameters
        ----------
        parts : graphd.device.parts.Parts

        Returns
        -------
        callable
            Makes the block on the device from the moved tensors.
        """
        if self.device.type != "cpu":
            return lambda there: self if parts.is_pinning else self.to(parts.device)
        structure = [[parts.add(each) for each in self.csc(c)] for c in self.types.canonical_etypes]
        frames = [
            [{name: parts.take(f[name]) for name in f.fixed() if name != EID} for f in of_types]
            for of_types in self._frames()
        ]
        return lambda there: self._of_parts(
            parts.device,
            [(there[indptr], there[indices]) for indptr, indices in structure],
            [
                [{name: part(there) for name, part in names.items()} for names in of_types]
                for of_types in frames
            ],
        )

    def int(self) -> Block:
        """Refuses DGL's conversion of a graph's ids to int32, since blocks have int64 ids.

        Returns
        -------
        Block
            Never.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("blocks have int64 ids; take csc()[1], which is int32")

    def to_dgl(self) -> Any:
        """Returns the block with the same nodes, edges and data as a block of DGL. Needs DGL.

        DGL's layers take a `Block` itself as well, which makes a block of DGL for them.

        Returns
        -------
        dgl.DGLBlock
        """
        return block_to_dgl(self)

    def _share_data(self, made: Any) -> None:
        self._src_frames = dgl_frames(made.srcnodes, self.ntypes)
        self._dst_frames = dgl_frames(made.dstnodes, self.ntypes)
        edge_frames = list(self.edge_frames)
        for e, frame in zip(
            self._present_etype_ids(), dgl_frames(made.edges, self.canonical_etypes)
        ):
            edge_frames[e] = frame
        self._edge_frames = edge_frames

    def to_pyg(self) -> Any:
        """Returns this layer alone in the form of `graphd.to_pyg`.

        Returns
        -------
        torch_geometric.data.Data or HeteroData
        """
        return to_pyg([self])

    def __repr__(self) -> str:
        if self.types.is_homogeneous:
            return (
                f"Block(num_src_nodes={self.num_src_nodes()}, "
                f"num_dst_nodes={self.num_dst_nodes()}, num_edges={self.num_edges()})"
            )
        src = {t: self.num_src_nodes(t) for t in self.ntypes}
        dst = {t: self.num_dst_nodes(t) for t in self.ntypes}
        edges = {c: self.num_edges(c) for c in self.types.canonical_etypes}
        return f"Block(num_src_nodes={src}, num_dst_nodes={dst}, num_edges={edges})"

    def _repr_html_(self) -> str:
        nodes = [(t, self.num_src_nodes(t), self.num_dst_nodes(t)) for t in self.ntypes]
        edges = [(c, self.num_edges(c)) for c in self.types.canonical_etypes]
        return table("Block", ("node type", "source nodes", "destination nodes"), nodes) + table(
            "", ("edge type", "edges"), edges
        )


def mark_last(blocks: list[Block]) -> list[Block]:
    """Marks the last of a mini-batch's blocks as the block whose destinations are the seeds, and
    returns all blocks.
    """
    blocks[-1]._is_last = True
    return blocks


def blocks_of(batch: _graphd.Batch, layers: list[LayerData]) -> list[Block]:
    """Returns the blocks of a mini-batch."""
    return mark_last([Block(batch, of) for of in layers])
