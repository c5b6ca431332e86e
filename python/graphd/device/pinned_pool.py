# SPDX-License-Identifier: Apache-2.0
"""Pinned host memory that is used again."""

from __future__ import annotations

import threading
from typing import Any

import torch

from .platform import Platform

DEFAULT_LIMIT = 1 << 30  # of bytes
_LEAST = 1 << 16


class PinnedPool:
    """Buffers of pinned memory, up to a number of bytes.

    `take` lends a buffer, and `give_back` takes it back together with the event of a copy's end.
    The buffer is used again only after that event. One lock guards the whole pool, so that any
    thread may call it.

    Parameters
    ----------
    platform : Platform
    limit : int
        The greatest number of bytes.
    """

    def __init__(self, platform: Platform, limit: int = DEFAULT_LIMIT) -> None:
        self._platform, self._limit = platform, limit
        self._lock = threading.Lock()
        self._free: list[torch.Tensor] = []
        self._copying: list[tuple[torch.Tensor, Any]] = []  # in the order of their copies
        self._lent = 0  # bytes
        self._allocations = self._reuses = self._refusals = 0

    def take(self, size: int) -> torch.Tensor | None:
        """Lends a buffer of `size` bytes or more.

        If the limit leaves no room, it frees unused buffers, then waits for copies in progress.

        Returns
        -------
        uint8 tensor or None
            None if there is no room even then, and at once if the pool as a whole is too small.
        """
        with self._lock:
            self._collect()
            while True:
                fitting = [i for i, each in enumerate(self._free) if len(each) >= size]
                if fitting:
                    buffer = self._free.pop(min(fitting, key=lambda i: len(self._free[i])))
                    self._reuses += 1
                    break
                needed = _rounded(size)
                if needed <= self._limit < self._held() + needed:
                    self._free.clear()
                if self._held() + needed <= self._limit:
                    buffer = self._platform.pinned(needed)
                    self._allocations += 1
                    break
                if needed > self._limit or not self._copying:
                    self._refusals += 1
                    return None
                self._copying[0][1].synchronize()
                self._collect()
            self._lent += len(buffer)
            return buffer

    def give_back(self, buffer: torch.Tensor, event: Any = None) -> None:
        """Takes a buffer back, to be used again after an event: the end of the copy that reads it."""
        with self._lock:
            self._lent -= len(buffer)
            if event is None:
                self._free.append(buffer)
            else:
                self._copying.append((buffer, event))

    def statistics(self) -> dict[str, int]:
        """Returns the bytes that are lent, being copied and free, and how often buffers were
        allocated, used again, and refused for lack of room.
        """
        with self._lock:
            self._collect()
            return {
                "lent_bytes": self._lent,
                "copying_bytes": sum(len(each) for each, _ in self._copying),
                "free_bytes": sum(map(len, self._free)),
                "allocations": self._allocations,
                "reuses": self._reuses,
                "refusals": self._refusals,
            }

    def _held(self) -> int:
        copying = sum(len(each) for each, _ in self._copying)
        return self._lent + copying + sum(map(len, self._free))

    def _collect(self) -> None:
        """Frees the buffers whose copies have ended."""
        still = []
        for buffer, event in self._copying:
            if event.query():
                self._free.append(buffer)
            else:
                still.append((buffer, event))
        self._copying = still


def _rounded(size: int) -> int:
    """Returns a size with at most an eighth more, so that batches of similar sizes share buffers."""
    step = max(_LEAST, 1 << max(size.bit_length() - 4, 0))
    return max(-(-size // step), 1) * step
