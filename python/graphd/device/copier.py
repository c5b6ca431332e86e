# SPDX-License-Identifier: Apache-2.0
"""Copies of many tensors at once, on a stream of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .packing import Packing
from .pinned_pool import PinnedPool
from .platform import Platform


@dataclass
class Copy:
    """A copy that may still be in progress."""

    packing: Packing
    target: torch.Tensor
    event: Any


class Copier:
    """A stream of copies from the host to a device. One thread starts copies at a time; another may
    finish them.

    Parameters
    ----------
    platform : Platform
    pool : PinnedPool
    """

    def __init__(self, platform: Platform, pool: PinnedPool) -> None:
        self._platform, self._pool = platform, pool
        self._stream = platform.new_stream()

    def start(self, tensors: Sequence[torch.Tensor]) -> Copy:
        """Begins to copy tensors. When this function has returned, the caller may change the
        tensors."""
        packing = Packing(tensors)
        buffer = self._pool.take(packing.size)
        is_pooled = buffer is not None
        if buffer is None:  # pageable memory has been read when the call of its copy returns
            buffer = torch.empty(packing.size, dtype=torch.uint8)
        event = None
        try:
            packing.write(tensors, buffer)
            target = self._platform.allocate(packing.size, self._stream)
            event = self._platform.copy(target, buffer[: packing.size], self._stream)
        finally:
            if is_pooled:
                self._pool.give_back(buffer, event)
        return Copy(packing, target, event)

    def finish(self, copy: Copy) -> list[torch.Tensor]:
        """Returns the tensors on the device. The caller's stream waits for them, the caller does not."""
        stream = self._platform.current_stream()
        self._platform.wait(stream, copy.event)
        # The memory belongs to the stream of copies. Without this call, that stream would use the
        # memory again without waiting for the caller's work.
        self._platform.record(copy.target, stream)
        return copy.packing.read(copy.target)
