# SPDX-License-Identifier: Apache-2.0
"""The delivery of batches to a device, one batch ahead of the model."""

from __future__ import annotations

import collections
import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch

from ..errors import InvalidError
from ..graph_base import GraphBase
from .copier import Copier, Copy
from .packing import pinned
from .parts import Parts, Rebuild
from .pinned_pool import PinnedPool
from .platform import Platform
from .row_cache import AddRows, DeviceRowCache

_END = object()  # a batch may be None


@dataclass
class _Started:
    """A batch whose tensors are on their way."""

    copy: Copy
    rebuild: Rebuild
    cached: list[AddRows]


class Delivery:
    """A mover of a loader's batches to a device.

    A thread of its own takes a batch from the loader, writes its tensors to a buffer of pinned memory,
    and starts one copy, while the caller computes with the previous batch. Data that may change between
    batches, such as rows of a `DistTensor` that is not a feature, are read by the caller on first
    access. Only this thread calls the loader of the extension module, however many iterators there are,
    because such a loader allows one caller at a time.

    Parameters
    ----------
    platform : Platform
    row_caches : list of DeviceRowCache, optional
        The features that the delivery adds to the sources of the first block.
    is_pinning : bool
        Whether batches stay in host memory instead, each in new pinned memory of its own.
    g : DistGraph, optional
        The graph of the loader; the caches must belong to the same graph.
    """

    def __init__(
        self,
        platform: Platform,
        row_caches: Sequence[DeviceRowCache] | None = (),
        is_pinning: bool = False,
        g: GraphBase | None = None,
    ) -> None:
        self.platform, self.row_caches, self._g = platform, list(row_caches or ()), g
        for cache in self.row_caches:
            if not isinstance(cache, DeviceRowCache) or cache.platform.device != platform.device:
                raise InvalidError(
                    f"row_caches: {cache!r} is not a DeviceRowCache on {platform.device}; make one "
                    "with the loader's device"
                )
            if g is not None:
                cache.check_graph(g)
        self.pool = PinnedPool(platform)
        self._is_pinning = is_pinning
        # The executor starts its thread with the first epoch, and ends it with the last reference.
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="graphd-delivery")
        self._copier: Copier | None = None  # made late, since it makes the device's context
        self._process = os.getpid()

    def batches(self, make: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        """Begins an epoch, and returns its batches on the device.

        Parameters
        ----------
        make : callable
            Begins the epoch, and returns the batches in host memory.

        Returns
        -------
        iterator

        Raises
        ------
        graphd.errors.InvalidError
            In a process that was forked after the loader was made.
        """
        if self._is_forked():
            raise InvalidError(
                f"device {self.platform.device}: the loader was made before this process was "
                "forked, where CUDA can't be used; make it here in a process that spawn starts, or "
                "leave device and pin_memory out"
            )
        if self._is_pinning:
            return map(self._pinned, make())
        return self._ahead(*self._worker.submit(self._begin, make).result())

    def _is_forked(self) -> bool:
        return os.getpid() != self._process

    def _pinned(self, batch: Any) -> Any:
        parts = Parts(torch.device("cpu"), is_pinning=True)
        rebuild = parts.take(batch)
        packing, buffer = pinned(self.platform, parts.tensors)
        return rebuild(packing.read(buffer))

    def _begin(self, make: Callable[[], Iterator[Any]]) -> tuple[Copier, Iterator[Any]]:
        if self._copier is None:
            self.platform.enter_thread()
            self._copier = Copier(self.platform, self.pool)
        return self._copier, make()

    def _ahead(self, copier: Copier, host: Iterator[Any]) -> Iterator[Any]:
        start = functools.partial(self._start, copier, host)
        waiting = collections.deque([self._worker.submit(start)])
        try:
            # No variable refers to a batch, because it would keep the batch in memory while the
            # next one is made.
            while waiting[0].result() is not None:
                waiting.append(self._worker.submit(start))
                yield self._finish(copier, waiting.popleft())
        finally:
            if not self._is_forked():  # the thread and the locks are the parent's
                self._leave(waiting, host)

    def _leave(self, waiting: Iterable[Future[_Started | None]], host: Iterator[Any]) -> None:
        """Drops the batches ahead without waiting for the one that is being made."""
        for future in waiting:
            future.cancel()
        close = getattr(host, "close", None)
        # While the interpreter ends, submit raises RuntimeError; then the last reference closes `host`.
        if close is not None:
            with contextlib.suppress(RuntimeError):
                self._worker.submit(close)  # runs after the batch that is being made

    def _start(self, copier: Copier, host: Iterator[Any]) -> _Started | None:
        """Starts the copy of the next batch; returns None if there is none."""
        batch = next(host, _END)
        if batch is _END:
            return None
        parts = Parts(self.platform.device)
        rebuild = parts.take(batch)
        cached = [cache.plan(batch, parts, self._g) for cache in self.row_caches]
        return _Started(copier.start(parts.tensors), rebuild, cached)

    def _finish(self, copier: Copier, future: Future[_Started | None]) -> Any:
        started = future.result()
        assert started is not None
        there = copier.finish(started.copy)
        batch = started.rebuild(there)
        for add_rows in started.cached:
            add_rows(batch, there)
        return batch
