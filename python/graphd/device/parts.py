# SPDX-License-Identifier: Apache-2.0
"""The extraction of the tensors of a batch, which may be any value that a loader yields, and the
rebuilding of the batch from other tensors."""

from __future__ import annotations

import copy
from collections import UserDict
from collections.abc import Callable, Mapping
from typing import Any

import torch

from .packing import pinned
from .platform import platform_of

Rebuild = Callable[[list[torch.Tensor]], Any]


class Parts:
    """The host tensors of a batch, each once, in the order in which they were found.

    Parameters
    ----------
    device : torch.device
        The device of the batches that are rebuilt.
    is_pinning : bool
        Whether only host tensors are moved, to pinned memory; others stay where they are.

    Attributes
    ----------
    tensors : list of tensor
    """

    def __init__(self, device: torch.device, is_pinning: bool = False) -> None:
        self.device, self.is_pinning = device, is_pinning
        self.tensors: list[torch.Tensor] = []
        self._places: dict[Any, int] = {}

    def add(self, tensor: torch.Tensor) -> int:
        """Returns the place of a tensor; tensors with the same memory share one."""
        key = (tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        if tensor.numel() == 0 or key not in self._places:
            self._places[key] = len(self.tensors)
            self.tensors.append(tensor)
        return self._places[key]

    def take(self, value: Any) -> Rebuild:
        """Adds the tensors of a value.

        Parameters
        ----------
        value
            A tensor, a block, a pair graph, a batch of PyG, or a tuple, list or mapping of such.
            Other values that have a method ``to`` are moved by it; all others stay as they are.

        Returns
        -------
        callable
            Makes the value from the tensors on the device, which are given in the order of
            `tensors`.
        """
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if callable(getattr(type(value), "take_apart", None)):  # a block or a subgraph
            rebuild: Rebuild = value.take_apart(self)
            return rebuild
        if hasattr(value, "stores") and hasattr(value, "apply"):
            return self._pyg(value)
        # PackedSequence, which is a tuple, and transformers' BatchEncoding, a mapping, have this method.
        if callable(getattr(value, "to", None)):
            return lambda there: value if self.is_pinning else value.to(self.device)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, (tuple, list)):
            return self._sequence(value)
        return lambda there: value

    def _tensor(self, value: torch.Tensor) -> Rebuild:
        # Copies into a buffer would lose gradients, classes and layouts.
        is_plain = type(value) is torch.Tensor and value.layout == torch.strided
        if not is_plain or value.requires_grad or value.device.type != "cpu":
            return lambda there: value if self.is_pinning else value.to(self.device)
        place = self.add(value)
        return lambda there: there[place]

    def _mapping(self, value: Any) -> Rebuild:
        items = {key: self.take(each) for key, each in value.items()}
        # Other mappings become a dict, since copy.copy may return one that shares the original's items.
        if type(value) is dict or not isinstance(value, (dict, UserDict)):
            return lambda there: {key: each(there) for key, each in items.items()}

        def rebuild(there: list[torch.Tensor]) -> Any:
            made = copy.copy(value)
            for key, each in items.items():
                made[key] = each(there)
            return made

        return rebuild

    def _sequence(self, value: Any) -> Rebuild:
        kind = type(value)
        if kind is torch.Size:
            return lambda there: value
        parts = [self.take(each) for each in value]
        if hasattr(kind, "_fields"):  # a named tuple
            return lambda there: kind(*(each(there) for each in parts))
        make = list if isinstance(value, list) else tuple
        return lambda there: make(each(there) for each in parts)

    def _pyg(self, value: Any) -> Rebuild:
        found: list[Rebuild] = []

        def note(tensor: Any) -> Any:
            found.append(self.take(tensor))
            return tensor

        value.apply(note)

        def rebuild(there: list[torch.Tensor]) -> Any:
            in_order = iter(found)
            return value.apply(lambda tensor: next(in_order)(there))

        return rebuild


def sent(value: Any, device: Any) -> Any:
    """Returns a value on a device, copied through new pinned memory on the current stream.

    PyTorch keeps the pinned memory until the copy has ended.
    """
    platform = platform_of(device)
    parts = Parts(platform.device)
    rebuild = parts.take(value)
    packing, buffer = pinned(platform, parts.tensors)
    stream = platform.current_stream()
    target = platform.allocate(packing.size, stream)
    platform.copy(target, buffer, stream)
    return rebuild(packing.read(target))
