# SPDX-License-Identifier: Apache-2.0
"""A device in host memory whose copies happen as late as they may.

A copy reads its source when something waits for it, not when it is started. A buffer that is used
again too early, and a consumer that does not wait, therefore give wrong tensors.
"""

import itertools
import threading
import weakref

import numpy
import torch

from graphd.device.platform import Platform

POISON = 0xA5


class _Event:
    def __init__(self, stream, number):
        self._stream, self._number = stream, number

    def query(self):
        return self._stream.done >= self._number

    def synchronize(self):
        self._stream.run(self._number)


class _Stream:
    def __init__(self):
        self.waiting, self.done, self.lock = [], 0, threading.RLock()

    def add(self, work):
        with self.lock:
            self.waiting.append(work)
            return _Event(self, self.done + len(self.waiting))

    def run(self, number):
        with self.lock:
            while self.done < number:
                self.waiting.pop(0)()
                self.done += 1


class LateDevice(Platform):
    """The device, with counts of what was allocated and of what is wrong."""

    def __init__(self):
        super().__init__(torch.device("cpu"))
        self.pinned_sizes, self.copies, self.recorded = [], 0, set()
        self._pinned, self._current = {}, _Stream()
        self._sizes = []  # allocations in their order; a negative size is that of a freed one

    def new_stream(self):
        return _Stream()

    def current_stream(self):
        return self._current

    def pinned(self, size):
        self.pinned_sizes.append(size)
        buffer = torch.full((size,), POISON, dtype=torch.uint8)
        if size:
            self._pinned[buffer.data_ptr()] = size
        return buffer

    def is_pinned(self, tensor):
        return any(
            begin <= tensor.data_ptr() < begin + size for begin, size in self._pinned.items()
        )

    def allocate(self, size, stream):
        memory = numpy.full(size + 63, POISON, numpy.uint8)
        self._sizes.append(size)
        weakref.finalize(memory, self._sizes.append, -size)  # called when no tensor has it any more
        return torch.from_numpy(memory[-memory.ctypes.data % 64 :][:size])  # aligned as PyTorch's

    def memory(self):
        """Returns the bytes that tensors hold of what was allocated, the most that they have held, and
        the largest allocation."""
        held = list(itertools.accumulate(self._sizes, initial=0))
        return held[-1], max(held), max(self._sizes, default=0)

    def copy(self, target, source, stream):
        self.copies += 1
        event = stream.add(lambda: target.copy_(source))
        is_pageable = not self.is_pinned(source) and not self.is_pinned(target)
        # CUDA has read pageable memory when the call returns. What the caller's stream computes next
        # comes after the copy, and this device computes at once.
        if is_pageable or (stream is self._current and not self.is_pinned(target)):
            event.synchronize()
        return event

    def wait(self, stream, event):
        event.synchronize()  # this device computes at once, so that now is the latest time

    def record(self, tensor, stream):
        self.recorded.add(tensor.data_ptr())
