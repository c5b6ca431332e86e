# SPDX-License-Identifier: Apache-2.0
"""The edges and data of one layer of a mini-batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import _graphd
from .batch_data import LayerData
from .frame import Frame
from .typed_graph import TypedGraph
from .typing import EdgeType, Tensor


class Layer(TypedGraph):
    """The edges and data of one layer, as they are in the batch. `Block` adds DGL's names.

    Local ids are positions among the sources, or the destinations, of a type.
    """

    # Frames are made on first access, since most frames of a batch are never used.
    _src_frames: list[Frame] | None = None
    _dst_frames: list[Frame] | None = None
    _edge_frames: list[Frame] | None = None
    # The results of csc(), indexed by edge type, if they were copied to the device with the batch;
    # otherwise None.
    _structure: list[tuple[Tensor, Tensor]] | None = None

    def __init__(self, batch: _graphd.Batch, of: LayerData, device: Any = None) -> None:
        self._batch, self._of, self._device = batch, of, device
        self.types = of.types

    @property
    def src_frames(self) -> list[Frame]:
        """The data of the sources, by number of the node type."""
        if self._src_frames is None:
            self._src_frames = [Frame(makers, self._batch) for makers in self._of.src]
        return self._src_frames

    @property
    def dst_frames(self) -> list[Frame]:
        """The data of the destinations, by number of the node type."""
        if self._dst_frames is None:
            self._dst_frames = [Frame(makers, self._batch) for makers in self._of.dst]
        return self._dst_frames

    @property
    def edge_frames(self) -> list[Frame]:
        """The data of the edges, by number of the edge type."""
        if self._edge_frames is None:
            batch, layer = self._batch, self._of.layer
            self._edge_frames = [Frame(makers, batch) for makers in self._of.edges]
            for e, frame in enumerate(self._edge_frames):
                if batch.has_weights(layer, e):
                    frame.lazy("weight", functools.partial(batch.weights, layer, e))
        return self._edge_frames

    def place(self, tensor: Tensor) -> Tensor:
        """Moves a tensor to the device of this block.

        Parameters
        ----------
        tensor : tensor

        Returns
        -------
        tensor
        """
        return tensor if self._device is None else tensor.to(self._device)

    def num_src_nodes(self, ntype: str | None = None) -> int:
        """Returns the number of source nodes.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type, or all of them together.

        Returns
        -------
        int
        """
        return self._num_nodes(self._batch.num_src, ntype)

    def num_dst_nodes(self, ntype: str | None = None) -> int:
        """Returns the number of destination nodes.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type, or all of them together.

        Returns
        -------
        int
        """
        return self._num_nodes(self._batch.num_dst, ntype)

    number_of_src_nodes = num_src_nodes
    number_of_dst_nodes = num_dst_nodes

    def _num_nodes(self, count: Callable[[int, int], int], ntype: str | None) -> int:
        if ntype is None:
            return sum(count(self._of.layer, t) for t in range(len(self.types.ntypes)))
        return count(self._of.layer, self.types.ntype_id(ntype))

    def _count_edges(self, etype_id: int) -> int:
        return self._batch.num_edges(self._of.layer, etype_id)

    def csc(self, etype: EdgeType | None = None) -> tuple[Tensor, Tensor]:
        """Returns the edges by destination.

        Parameters
        ----------
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        indptr : int64 tensor, [destinations + 1]
        indices : int32 tensor, [edges]
            Local ids of sources: those of destination i are ``indices[indptr[i]:indptr[i + 1]]``.
        """
        if self._structure is not None:
            return self._structure[self.types.etype_id(etype)]
        indptr, indices = self._batch.csc(self._of.layer, self.types.etype_id(etype))
        return self.place(indptr), self.place(indices)

    def coo(self, etype: EdgeType | None = None) -> tuple[Tensor, Tensor]:
        """Returns the ends of the edges as local ids.

        Parameters
        ----------
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        src, dst : int64 tensor, [edges]
        """
        if self._structure is not None:
            return _ends(*self._structure[self.types.etype_id(etype)])
        u, v = self._batch.coo(self._of.layer, self.types.etype_id(etype))
        return self.place(u), self.place(v)


def _ends(indptr: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the ends of the edges of a CSC matrix. Makes them on the device, without waiting for
    it."""
    import torch

    rows = torch.arange(len(indptr) - 1, device=indptr.device)
    counts = indptr[1:] - indptr[:-1]
    return indices.long(), torch.repeat_interleave(rows, counts, output_size=len(indices))
