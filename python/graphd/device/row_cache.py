# SPDX-License-Identifier: Apache-2.0
"""Rows of a feature that stay on a device."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

from .. import progress
from ..errors import InvalidError, OverloadedError
from ..graph_base import GraphBase
from ..html import properties
from ..names import NID, PYG_NAMES
from ..rows import from_the_end, row_ids
from ..typing import Ids
from .parts import Parts
from .platform import platform_of

AddRows = Callable[[Any, list[torch.Tensor]], None]


class DeviceRowCache:
    """Rows of a feature of nodes that a device keeps, so that they are not copied with each batch.

    The rows are chosen once: by `graphd.distributed.nodes_by_degree` or `nodes_by_access`, with
    ``everywhere=True``. Other rows are read and copied when they are needed, and are not kept.
    Several threads may use the cache at once; a lock guards its counts.

    Parameters
    ----------
    tensor : DistTensor
        A feature of nodes that has not been changed, as ``g.ndata["feat"]``.
    rows : int64 tensor
        The rows to keep, or a mask of them; those that occur twice are kept once.
    device : str, int or torch.device
    max_bytes : int, optional
        The greatest number of bytes of the device that the cache may take.

    Raises
    ------
    graphd.errors.InvalidError
        If the tensor is not such a feature, or there is no such device.
    graphd.errors.OverloadedError
        If the rows take more than `max_bytes`.
    """

    def __init__(self, tensor: Any, rows: Ids, device: Any, max_bytes: int | None = None) -> None:
        if not getattr(getattr(tensor, "handle", None), "is_feature", False):
            raise InvalidError(
                f"tensor {tensor!r}: rows that can change are not kept; give a feature, as "
                'g.ndata["feat"]'
            )
        if tensor.handle.is_edge:
            raise InvalidError(f"tensor {tensor!r}: give a feature of nodes; this one is of edges")
        self.platform, self._tensor = platform_of(device), tensor
        self.name, self.type = tensor.handle.name, tensor.handle.type
        self._ids = torch.unique(self._row_ids(rows, "rows"))
        row_bytes = tensor[:0].element_size()
        for size in tensor.shape[1:]:
            row_bytes *= size
        self.num_bytes = len(self._ids) * row_bytes
        if max_bytes is not None and self.num_bytes > max_bytes:
            raise OverloadedError(
                f"a cache of {len(self._ids)} rows takes {self.num_bytes} bytes of "
                f"{self.platform.device}, more than max_bytes={max_bytes}; choose "
                f"{max_bytes // max(row_bytes, 1)} rows or fewer"
            )
        with progress.clock(f"caching rows of {self.name!r} on {self.platform.device}"):
            self._rows = tensor[self._ids].to(self.platform.device)
        self._lock = threading.Lock()
        self._hits = self._misses = 0

    def get(self, ids: Ids) -> torch.Tensor:
        """Returns rows on the device.

        Parameters
        ----------
        ids : int64 tensor
            In host memory. From a device it is copied, which waits for the device.

        Returns
        -------
        tensor

        Raises
        ------
        graphd.errors.InvalidError
            If they are not int64 ids, or the feature was changed after its rows were kept.
        """
        self._check_unchanged(None)
        parts = Parts(self.platform.device)
        rows = self._plan(self._row_ids(ids, "ids"), parts)
        return rows([each.to(self.platform.device) for each in parts.tensors])

    def check_graph(self, g: GraphBase) -> None:
        """Checks that the rows belong to a graph, so that changes of this graph are noticed.

        Parameters
        ----------
        g : DistGraph

        Raises
        ------
        graphd.errors.InvalidError
            If the rows belong to another `DistGraph`.
        """
        if self._tensor.g is not g:
            raise InvalidError(
                f"row_caches: {self!r} was made of a tensor of another DistGraph than the loader's; "
                "make one of the loader's graph"
            )

    def plan(self, batch: Any, parts: Parts, g: GraphBase | None) -> AddRows:
        """Adds what the device needs to make the rows of a batch's input nodes.

        Parameters
        ----------
        batch : tuple, or torch_geometric.data.Data or HeteroData
            A batch of PyG, or one that ends with blocks, in host memory.
        parts : Parts
        g : DistGraph, optional
            The graph of the loader.

        Returns
        -------
        callable
            Adds the rows to the batch, given the tensors of `parts` on the device.

        Raises
        ------
        graphd.errors.InvalidError
            If the batch has no such nodes, or the feature's name now stands for other rows.
        """
        self._check_unchanged(g)
        is_pyg = hasattr(batch, "node_stores")
        rows = self._plan(self._inputs(batch)["n_id" if is_pyg else NID], parts)
        names = {self.name, PYG_NAMES.get(self.name, self.name)} if is_pyg else {self.name}

        def add(made: Any, there: list[torch.Tensor]) -> None:
            self._check_unchanged(g)  # the batch was planned while the previous one was computed
            inputs, found = self._inputs(made), rows(there)
            for name in names:
                inputs[name] = found

        return add

    def add_rows(self, batch: Any) -> None:
        """Adds the rows of a batch's input nodes to it, in host memory.

        Parameters
        ----------
        batch : tuple, or torch_geometric.data.Data or HeteroData
            A batch of PyG, or one that ends with blocks, in host memory.

        Raises
        ------
        graphd.errors.InvalidError
            If the batch has no such nodes, or the feature was changed after its rows were kept.
        """
        parts = Parts(self.platform.device)
        add = self.plan(batch, parts, None)
        add(batch, [each.to(self.platform.device) for each in parts.tensors])
        inputs = self._inputs(batch)
        for name in {self.name, PYG_NAMES.get(self.name, self.name)} & set(inputs.keys()):
            inputs[name] = inputs[name].cpu()

    def _inputs(self, batch: Any) -> Any:
        """Returns the data of a batch's input nodes of the feature's type."""
        if hasattr(batch, "node_stores"):  # PyG's Data has one, without a name
            ntype = self._tensor.g.types.ntypes[self.type]
            for each in batch.node_stores:
                if each._key in (None, ntype):
                    return each
            raise InvalidError(f"row_caches: the batch has no nodes of type {ntype!r}")
        blocks = batch[-1] if isinstance(batch, (tuple, list)) and batch else None
        if (
            not isinstance(blocks, (tuple, list))
            or not blocks
            or not hasattr(blocks[0], "src_frames")
        ):
            raise InvalidError(
                "row_caches: expected batches that end with blocks, as those of DistNodeDataLoader; "
                "leave row_caches out, and call the cache's get"
            )
        return blocks[0].src_frames[self.type]

    def _row_ids(self, rows: Any, what: str) -> torch.Tensor:
        """Returns the ids of rows that were given as ids or a mask, in host memory."""
        count = self._tensor.shape[0]
        ids = torch.as_tensor(row_ids(rows, self._tensor))
        if len(ids.shape) == 1 and len(ids) == 0:
            return torch.empty(0, dtype=torch.int64)  # an empty list is one of floats for PyTorch
        if ids.dim() != 1 or ids.dtype != torch.int64:
            raise InvalidError(
                f"{what}: expected a list of int64 ids, got {ids.dtype} of shape {tuple(ids.shape)}"
            )
        counted = from_the_end(ids.numpy(), count)
        return ids if counted is None else torch.as_tensor(counted)

    def _check_unchanged(self, g: GraphBase | None) -> None:
        """Raises InvalidError if the name of the feature now stands for other rows, because another
        tensor has this name in the loader's graph or because the feature was changed."""
        is_replaced = g is not None and not g.data(False, self.type, self.name).is_feature
        if is_replaced or not self._tensor.handle.is_feature:
            raise InvalidError(
                f"{self!r}: the feature was changed or replaced after its rows were kept; leave the "
                "cache out, since rows that can change are not kept"
            )

    def _plan(
        self, ids: torch.Tensor, parts: Parts
    ) -> Callable[[list[torch.Tensor]], torch.Tensor]:
        if len(self._ids):
            slots = torch.searchsorted(self._ids, ids).clamp_(max=len(self._ids) - 1)
            missed = (self._ids[slots] != ids).nonzero().view(-1)
        else:
            slots, missed = torch.zeros_like(ids), torch.arange(len(ids))
        with self._lock:
            self._misses += len(missed)
            self._hits += len(ids) - len(missed)
        others = None if len(missed) == 0 else self._tensor[ids[missed]]
        if len(missed) == len(ids):
            if others is None:
                return lambda there: self._rows[:0]
            at = parts.add(others)
            return lambda there: there[at]
        slots_at = parts.add(slots)
        if others is None:
            return lambda there: self._rows[there[slots_at]]
        missed_at, others_at = parts.add(missed), parts.add(others)

        def make(there: list[torch.Tensor]) -> torch.Tensor:
            rows = self._rows.index_select(0, there[slots_at])
            return rows.index_copy_(0, there[missed_at], there[others_at])

        return make

    def stats(self) -> dict[str, Any]:
        """Returns the numbers of rows and bytes that are kept, of rows that were asked for and found
        (``hits``) or not (``misses``), and the ``hit_rate``, 0 if none was asked for.

        Returns
        -------
        dict
        """
        with self._lock:
            hits, misses = self._hits, self._misses
        return {
            "rows": len(self._ids),
            "bytes": self.num_bytes,
            "hits": hits,
            "misses": misses,
            "hit_rate": hits / (hits + misses) if hits + misses else 0.0,
        }

    def __repr__(self) -> str:
        return f"DeviceRowCache({self.name!r}, {len(self._ids)} rows on {self.platform.device})"

    def _repr_html_(self) -> str:
        shown = [("device", str(self.platform.device)), *self.stats().items()]
        return properties(f"DeviceRowCache {self.name!r}", shown)
