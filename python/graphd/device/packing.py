# SPDX-License-Identifier: Apache-2.0
"""The layout of tensors in one piece of memory."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .platform import Platform

_ALIGNMENT = 256  # kernels of CUDA libraries expect it of a tensor


class Packing:
    """The places of tensors in one buffer, so that one copy moves all of them.

    Parameters
    ----------
    tensors : list of tensor
        In host memory; they need not be contiguous.

    Attributes
    ----------
    size : int
        The bytes of the buffer.
    """

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self._kinds = [(each.dtype, each.shape) for each in tensors]
        self._spans: list[tuple[int, int]] = []
        self.size = 0
        for each in tensors:
            length = each.numel() * each.element_size()
            self._spans.append((self.size, length))
            self.size += -(-length // _ALIGNMENT) * _ALIGNMENT

    def write(self, tensors: Sequence[torch.Tensor], buffer: torch.Tensor) -> None:
        """Copies the tensors to their places in a buffer of host memory."""
        for tensor, place in zip(tensors, self.read(buffer)):
            place.copy_(tensor)

    def read(self, buffer: torch.Tensor) -> list[torch.Tensor]:
        """Returns the tensors that a buffer of any device contains; they share its memory."""
        found = []
        for (begin, length), (dtype, shape) in zip(self._spans, self._kinds):
            if length == 0:
                found.append(torch.empty(shape, dtype=dtype, device=buffer.device))
                continue
            # `data` gives each tensor its own count of changes. If they shared the count of the
            # buffer, autograd would mistake a change of one tensor for a change of all.
            found.append(buffer[begin : begin + length].view(dtype).view(shape).data)
        return found


def pinned(platform: Platform, tensors: Sequence[torch.Tensor]) -> tuple[Packing, torch.Tensor]:
    """Returns tensors in new pinned memory: their places and the buffer."""
    packing = Packing(tensors)
    buffer = platform.pinned(packing.size)
    packing.write(tensors, buffer)
    return packing, buffer
