# SPDX-License-Identifier: Apache-2.0
"""Iteration over mini-batches that Python functions make before the caller needs them."""

from __future__ import annotations

import collections
import random
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from .. import _graphd, seeds
from ..arguments import whole_number, whole_number_in
from ..device import delivered, delivery_for
from ..errors import InvalidError
from ..html import properties
from . import session

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


class DistDataLoader:
    """A loader that cuts a dataset into batches and collates them on threads, ahead of the caller.

    Matches ``dgl.distributed.DistDataLoader``. Batches come in order. An epoch that is not finished
    leaves nothing behind. If ``collate_fn`` raises an error, the iterator raises it in the place of
    the batch.

    Parameters
    ----------
    dataset : tensor, array or list
        A batch is a list of its items.
    batch_size : int
    shuffle : bool
        Whether each epoch has a different order.
    collate_fn : callable, optional
        Makes a batch from a list of items; called from several threads at once. Default: the list.
    drop_last : bool
    queue_size : int, optional
        Number of batches made ahead. Default: 2 per sampler thread.
    num_workers : int, optional
        Number of threads. Default: that of ``graphctl launch --num_samplers``, `initialize` or
        `graphd.connect`.
    seed : int, optional
        The seed of the orders.
    device : str, int or torch.device, optional
        The device of the tensors in batches, as `DistNodeDataLoader` has it: tensors, blocks, and
        tuples, lists and dicts of them.
    pin_memory : bool
        Whether batches that stay in host memory are in pinned memory, which is new for each.

    Raises
    ------
    graphd.errors.InvalidError
        If an argument is not valid.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        shuffle: bool = False,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        drop_last: bool = False,
        queue_size: int | None = None,
        *,
        num_workers: int | None = None,
        seed: int | None = None,
        device: Any = None,
        pin_memory: bool = False,
    ) -> None:
        if whole_number(batch_size, "batch_size") < 1:
            raise InvalidError(f"batch_size {batch_size}: expected 1 or more")
        if not hasattr(dataset, "__len__"):
            raise InvalidError(f"dataset {dataset!r}: expected a tensor, an array or a list")
        if collate_fn is not None and not callable(collate_fn):
            raise InvalidError(f"collate_fn {collate_fn!r}: expected a function of a list of items")
        self.dataset, self.batch_size, self.shuffle = dataset, batch_size, shuffle
        self.collate_fn, self.drop_last = collate_fn or list, drop_last
        self.num_workers = number_of_workers(num_workers, session.peek())
        if self.num_workers < 0:
            raise InvalidError(f"num_workers {self.num_workers}: expected 0 or more")
        self.queue_size = whole_number_in(queue_size or 0, "queue_size", 0, 1 << 20) or max(
            2 * self.num_workers, 1
        )
        self._seed, self._epoch = seeds.given_or_next(seed), 0
        self._delivery = delivery_for(device, pin_memory)

    def __len__(self) -> int:
        """Returns the number of batches in an epoch."""
        size = len(self.dataset)
        return size // self.batch_size if self.drop_last else -(-size // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        return delivered(self._delivery, self._batches)

    def _batches(self) -> Iterator[Any]:
        items = self._items()
        starts = [i * self.batch_size for i in range(len(self))]
        batches = (items[begin : begin + self.batch_size] for begin in starts)
        yield from made_ahead(self.collate_fn, batches, self.num_workers, self.queue_size)

    def __repr__(self) -> str:
        return f"DistDataLoader({len(self)} batches, {len(self.dataset)} items)"

    def _repr_html_(self) -> str:
        names = ("batch_size", "shuffle", "drop_last", "num_workers", "queue_size")
        shown = [(name, getattr(self, name)) for name in names]
        sizes = [("batches", len(self)), ("items", len(self.dataset))]
        return properties("DistDataLoader", [*sizes, *shown])

    def _items(self) -> list[Any]:
        """Returns the items in the order of the epoch."""
        items = self.dataset.tolist() if hasattr(self.dataset, "tolist") else list(self.dataset)
        if self.shuffle:
            random.Random(self._seed + self._epoch).shuffle(items)
        self._epoch += 1
        return items


def number_of_workers(num_workers: int | None, here: _graphd.Session | None) -> int:
    """Returns a loader's number of threads, by default that of the session."""
    if num_workers is not None:
        return whole_number(num_workers, "num_workers")
    return here.num_samplers if here else 0


def made_ahead(
    make: Callable[[_Item], _Made], items: Iterable[_Item], num_workers: int, queue_size: int
) -> Iterator[_Made]:
    """Yields the result of `make` for each item, in the order of the items; threads are up to
    `queue_size` items ahead.

    If `make` raises an error, it is raised in the place of the item's result. An error of the
    iterator of items is raised after the results of the earlier items, and ends the iteration. The
    items themselves are not kept.
    """
    if num_workers == 0:
        yield from map(make, items)
        return
    pool = ThreadPoolExecutor(num_workers, thread_name_prefix="graphd-sampler")
    waiting: collections.deque[Future[_Made]] = collections.deque()
    try:
        for future in _submitted(pool, make, items):
            waiting.append(future)
            del future
            if len(waiting) >= queue_size:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _submitted(
    pool: ThreadPoolExecutor, make: Callable[[_Item], _Made], items: Iterable[_Item]
) -> Iterator[Future[_Made]]:
    """Yields the result of `make` for each item, and at the end the error of the iterator, if any."""
    # There is no variable for the item: the variable of a generator would keep the item, which may
    # be large.
    try:
        yield from map(lambda item: pool.submit(make, item), items)
    except Exception as error:  # earlier batches are still being made, and come first
        failed: Future[_Made] = Future()
        failed.set_exception(error)
        yield failed
