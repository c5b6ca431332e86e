# SPDX-License-Identifier: Apache-2.0
"""Gradients of embeddings on their way from a device to the host."""

from __future__ import annotations

import threading
from typing import Any

import torch

from .. import _graphd
from .platform import platform_of


class Gradients:
    """The gradients of an embedding that autograd has computed on a device since the last step.

    They are copied on the stream that computed them, so that nothing waits for them until `collect`.
    A lock guards the list, because autograd has threads of its own.

    Parameters
    ----------
    handle
        The embedding of the extension module.
    """

    def __init__(self, handle: _graphd.Embedding) -> None:
        self._handle = handle
        self._lock = threading.Lock()
        self._waiting: list[tuple[Any, torch.Tensor, Any]] = []

    def rows(self, idx: Any, rows: torch.Tensor, device: Any) -> torch.Tensor:
        """Returns rows on a device, with the gradients' way back where autograd records."""
        platform = platform_of(device)
        there = rows.to(platform.device)
        if there is rows:  # a device in host memory; the rows must not be the embedding's
            there = rows.clone()
        if not torch.is_grad_enabled():
            return there

        def bring(gradients: torch.Tensor) -> None:
            gradients = gradients.detach().contiguous()
            size = gradients.numel() * gradients.element_size()
            here = platform.pinned(size).view(gradients.dtype).view(gradients.shape)
            stream = platform.current_stream()
            platform.record(gradients, stream)
            event = platform.copy(here, gradients, stream)
            with self._lock:
                self._waiting.append((idx, here, event))

        there.requires_grad_()
        there.register_hook(bring)
        return there

    def collect(self) -> None:
        """Waits for the copies, and hands the gradients to the embedding."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for idx, gradients, event in waiting:
            event.synchronize()
            self._handle.backward(idx, gradients)

    def discard(self) -> None:
        """Forgets the gradients; memory that a copy still writes is kept until it has ended."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for _, _, event in waiting:
            event.synchronize()
