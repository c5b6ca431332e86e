# SPDX-License-Identifier: Apache-2.0
"""Steps of a loader on a device, one ahead of the model."""

from __future__ import annotations

import collections
import functools
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch

from ..errors import InvalidError
from .copier import Copier, Copy
from .packing import Packing
from .parts import Parts, Rebuild
from .pinned_pool import PinnedPool
from .platform import Platform
from .row_cache import AddRows, DeviceRowCache

_END = object()  # a step may be None


@dataclass
class _Started:
    """A step whose tensors are on their way."""

    copy: Copy
    rebuild: Rebuild
    cached: list[AddRows]


class Delivery:
    """A mover of a loader's steps to a device.

    A thread of its own takes a step from the loader, writes its tensors to a buffer of pinned
    memory, and starts one copy, while the caller computes the step before. What may change between
    steps, such as rows of a `DistTensor` that is no feature, is read by the caller on first access.

    Parameters
    ----------
    platform : Platform
    row_caches : list of DeviceRowCache
        The features that it adds to the first blocks' sources.
    is_pinning : bool
        Whether steps stay in host memory instead, each in new pinned memory of its own.
    """

    def __init__(
        self,
        platform: Platform,
        row_caches: Sequence[DeviceRowCache] = (),
        is_pinning: bool = False,
    ) -> None:
        self.platform, self.row_caches = platform, list(row_caches)
        for cache in self.row_caches:
            if not isinstance(cache, DeviceRowCache) or cache.platform.device != platform.device:
                raise InvalidError(
                    f"row_caches: {cache!r} is no DeviceRowCache on {platform.device}; make one "
                    "with the loader's device"
                )
        self.pool = PinnedPool(platform)
        self._is_pinning = is_pinning
        self._copier: Copier | None = None  # made late, since it makes the device's context
        self._process = os.getpid()

    def steps(self, host: Iterator[Any]) -> Iterator[Any]:
        """Returns the steps of an iterator, on the device.

        Raises
        ------
        graphd.errors.InvalidError
            In a process that was forked after the loader was made.
        """
        if os.getpid() != self._process:
            raise InvalidError(
                f"device {self.platform.device}: the loader was made before this process was "
                "forked, where CUDA can't be used; make it here in a process that spawn starts, or "
                "leave device and pin_memory out"
            )
        return map(self._pinned, host) if self._is_pinning else self._ahead(host)

    def close(self) -> None:
        """Frees the pinned memory."""
        self.pool.close()

    def _pinned(self, step: Any) -> Any:
        parts = Parts(torch.device("cpu"))
        rebuild = parts.take(step)
        packing = Packing(parts.tensors)
        buffer = self.platform.pinned(packing.size)
        packing.write(parts.tensors, buffer)
        return rebuild(packing.read(buffer))

    def _ahead(self, host: Iterator[Any]) -> Iterator[Any]:
        if self._copier is None:
            self._copier = Copier(self.platform, self.pool)
        start = functools.partial(self._start, self._copier, host)
        worker = ThreadPoolExecutor(1, thread_name_prefix="graphd-delivery")
        waiting = collections.deque([worker.submit(start)])
        try:
            # No variable refers to a step: it would keep the batch while the next is made.
            while waiting[0].result() is not None:
                waiting.append(worker.submit(start))
                yield self._finish(self._copier, waiting.popleft())
        finally:
            worker.shutdown(wait=True, cancel_futures=True)
            close = getattr(host, "close", None)
            if close is not None:
                close()

    def _start(self, copier: Copier, host: Iterator[Any]) -> _Started | None:
        """Starts the copy of the next step; returns None if there is none."""
        step = next(host, _END)
        if step is _END:
            return None
        parts = Parts(self.platform.device)
        rebuild = parts.take(step)
        cached = [cache.plan(step, parts) for cache in self.row_caches]
        return _Started(copier.start(parts.tensors), rebuild, cached)

    def _finish(self, copier: Copier, future: Future[_Started | None]) -> Any:
        started = future.result()
        assert started is not None
        there = copier.finish(started.copy)
        step = started.rebuild(there)
        for add_rows in started.cached:
            add_rows(step, there)
        return step
