# SPDX-License-Identifier: Apache-2.0
"""Gradients of embeddings on their way from a device to the host."""

from __future__ import annotations

import collections
import copy
import threading
from typing import Any

import torch

from .. import _graphd
from .platform import platform_of

_MOST_COPIES = 64  # copies in progress at once


class Gradients:
    """The gradients of an embedding that autograd has computed on a device since the last step.

    They are copied on the stream that computed them, so that nothing waits for them until
    `collect`. When the next gradients are added, those that have arrived are handed to the
    embedding; if too many are still on their way, the first of them are waited for. A lock guards
    the list, because autograd has threads of its own.

    Parameters
    ----------
    handle
        The embedding of the extension module.
    """

    def __init__(self, handle: _graphd.Embedding) -> None:
        self._handle = handle
        self._lock = threading.Lock()
        self._waiting: collections.deque[tuple[Any, torch.Tensor, Any]] = collections.deque()

    def rows(self, idx: Any, rows: torch.Tensor, device: Any) -> torch.Tensor:
        """Returns rows on a device. Where autograd records, their gradients are brought back to the
        host."""
        platform = platform_of(device)
        there = rows.to(platform.device)
        if there is rows:  # a device in host memory; the rows must not be the embedding's
            there = rows.clone()
        if not torch.is_grad_enabled():
            return there
        # The caller may change the ids before the gradients are there.
        idx = idx.clone() if isinstance(idx, torch.Tensor) else copy.copy(idx)

        def bring(gradients: torch.Tensor) -> None:
            gradients = gradients.detach().contiguous()
            size = gradients.numel() * gradients.element_size()
            here = platform.pinned(size).view(gradients.dtype).view(gradients.shape)
            stream = platform.current_stream()
            platform.record(gradients, stream)
            event = platform.copy(here, gradients, stream)
            with self._lock:
                self._waiting.append((idx, here, event))
                while len(self._waiting) > _MOST_COPIES or (
                    self._waiting and self._waiting[0][2].query()
                ):
                    self._hand_over()

        there.requires_grad_()
        there.register_hook(bring)
        return there

    def collect(self) -> None:
        """Waits for the copies, and hands the gradients to the embedding."""
        with self._lock:
            while self._waiting:
                self._hand_over()

    def _hand_over(self) -> None:
        """Waits for the first copy, and hands its gradients to the embedding."""
        idx, gradients, event = self._waiting[0]
        event.synchronize()  # an interruption leaves the copy in the list
        self._waiting.popleft()
        self._handle.backward(idx, gradients)

    def discard(self) -> None:
        """Forgets the gradients; memory that a copy still writes is kept until it has ended."""
        with self._lock:
            waiting, self._waiting = self._waiting, collections.deque()
        for _, _, event in waiting:
            event.synchronize()
