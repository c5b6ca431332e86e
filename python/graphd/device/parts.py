# SPDX-License-Identifier: Apache-2.0
"""The tensors of what a loader yields, and the same step made of other tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from .packing import Packing

Rebuild = Callable[[list[torch.Tensor]], Any]


class Parts:
    """The host tensors of a step, each once, in the order in which they were found.

    Parameters
    ----------
    device : torch.device
        The device of the steps that are rebuilt.

    Attributes
    ----------
    tensors : list of tensor
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
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
            A tensor, a block, a pair graph, a batch of PyG, or a tuple, list or dict of such. Other
            things with a method ``to`` are moved by it, and the rest stays as it is.

        Returns
        -------
        callable
            Makes the value of the tensors on the device, in the order of `tensors`.
        """
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if callable(getattr(type(value), "take_apart", None)):  # a block or a subgraph
            rebuild: Rebuild = value.take_apart(self)
            return rebuild
        if isinstance(value, Mapping):
            items = {key: self.take(each) for key, each in value.items()}
            return lambda there: {key: each(there) for key, each in items.items()}
        if isinstance(value, (tuple, list)):
            return self._sequence(value)
        if hasattr(value, "stores") and hasattr(value, "apply"):
            return self._pyg(value)
        if callable(getattr(value, "to", None)):
            return lambda there: value.to(self.device)
        return lambda there: value

    def _tensor(self, value: torch.Tensor) -> Rebuild:
        # Copies into a buffer would lose gradients, classes and layouts.
        is_plain = type(value) is torch.Tensor and value.layout == torch.strided
        if not is_plain or value.requires_grad or value.device.type != "cpu":
            return lambda there: value.to(self.device)
        place = self.add(value)
        return lambda there: there[place]

    def _sequence(self, value: Any) -> Rebuild:
        parts = [self.take(each) for each in value]
        kind = type(value)
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
    """Returns a value on a CUDA device, copied through new pinned memory on the current stream.

    PyTorch keeps the pinned memory until the copy has ended.
    """
    parts = Parts(torch.device(device))
    rebuild = parts.take(value)
    packing = Packing(parts.tensors)
    buffer = torch.empty(packing.size, dtype=torch.uint8, pin_memory=True)
    packing.write(parts.tensors, buffer)
    return rebuild(packing.read(buffer.to(device, non_blocking=True)))
