# SPDX-License-Identifier: Apache-2.0
"""Rows of a feature that stay on a device."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

from ..errors import InvalidError, OverloadedError
from ..names import NID
from ..typing import Ids
from .parts import Parts
from .platform import platform_of

AddRows = Callable[[Any, list[torch.Tensor]], None]


class DeviceRowCache:
    """Rows of a feature of nodes that a device keeps, so that they are not copied with each batch.

    The rows are chosen once: by `graphd.distributed.nodes_by_degree` or `nodes_by_access`, with
    ``everywhere=True``. Others are read and copied as they are needed, and are not kept. Threads
    may use it at once; a lock guards its counts.

    Parameters
    ----------
    tensor : DistTensor
        A feature of nodes that has not been changed, as ``g.ndata["feat"]``.
    rows : int64 tensor
        The rows to keep; those that occur twice are kept once.
    device : str, int or torch.device
    max_bytes : int, optional
        The greatest number of bytes of the device that it may take.

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
        self._ids = torch.unique(torch.as_tensor(rows, dtype=torch.int64).cpu())
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
        """
        parts = Parts(self.platform.device)
        rows = self._plan(torch.as_tensor(ids, dtype=torch.int64).cpu(), parts)
        return rows([each.to(self.platform.device) for each in parts.tensors])

    def plan(self, step: Any, parts: Parts) -> AddRows:
        """Adds what the device needs to make the rows of a step's input nodes.

        Parameters
        ----------
        step : tuple
            It ends with blocks in host memory.
        parts : Parts

        Returns
        -------
        callable
            Adds the rows to the step, given the tensors of `parts` on the device.

        Raises
        ------
        graphd.errors.InvalidError
            If the step does not end with blocks.
        """
        blocks = step[-1] if isinstance(step, (tuple, list)) and step else None
        if not isinstance(blocks, (tuple, list)) or not hasattr(blocks[0], "src_frames"):
            raise InvalidError(
                "row_caches: expected steps that end with blocks, as those of DistNodeDataLoader; "
                "leave row_caches out, and call the cache's get"
            )
        rows = self._plan(blocks[0].src_frames[self.type][NID], parts)

        def add(made: Any, there: list[torch.Tensor]) -> None:
            made[-1][0].src_frames[self.type][self.name] = rows(there)

        return add

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
