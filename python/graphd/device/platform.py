# SPDX-License-Identifier: Apache-2.0
"""The part of ``torch.cuda`` that deliveries use, behind an interface.

Tests give loaders a platform whose copies end as late as those of a device may.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

from ..errors import InvalidError


class Platform:
    """A device with its streams, its events and the host memory that it reads without the CPU.

    Attributes
    ----------
    device : torch.device
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def __str__(self) -> str:
        return f"platform of {self.device}"

    def enter_thread(self) -> None:
        """Prepares a new thread, whose current device would otherwise be the first device."""

    def new_stream(self) -> Any:
        """Returns a new stream, whose work runs concurrently with the work of other streams."""
        raise NotImplementedError

    def current_stream(self) -> Any:
        """Returns the stream on which the calling thread computes."""
        raise NotImplementedError

    def pinned(self, size: int) -> torch.Tensor:
        """Returns new pinned host memory of `size` bytes."""
        raise NotImplementedError

    def allocate(self, size: int, stream: Any) -> torch.Tensor:
        """Returns memory of the device, which belongs to a stream."""
        raise NotImplementedError

    def copy(self, target: torch.Tensor, source: torch.Tensor, stream: Any) -> Any:
        """Adds a copy to a stream, and returns the event of its end, which has ``query()`` and
        ``synchronize()``.
        """
        raise NotImplementedError

    def wait(self, stream: Any, event: Any) -> None:
        """Makes the work that is added to a stream from now on wait for an event."""
        raise NotImplementedError

    def record(self, tensor: torch.Tensor, stream: Any) -> None:
        """Lets nobody use the memory of a tensor again after it was freed, until the work that the
        stream has at that time is done."""
        raise NotImplementedError


class CudaPlatform(Platform):
    """A CUDA device."""

    def enter_thread(self) -> None:
        """See `Platform.enter_thread`."""
        torch.cuda.set_device(self.device)

    def new_stream(self) -> Any:
        """See `Platform.new_stream`."""
        return torch.cuda.Stream(self.device)

    def current_stream(self) -> Any:
        """See `Platform.current_stream`."""
        return torch.cuda.current_stream(self.device)

    def pinned(self, size: int) -> torch.Tensor:
        """See `Platform.pinned`."""
        # The current device of a new thread is the first device. Without the `with` statement, the
        # call would make a context there, which takes memory.
        with torch.cuda.device(self.device):
            return torch.empty(size, dtype=torch.uint8, pin_memory=True)

    def allocate(self, size: int, stream: Any) -> torch.Tensor:
        """See `Platform.allocate`."""
        with torch.cuda.stream(stream):
            return torch.empty(size, dtype=torch.uint8, device=self.device)

    def copy(self, target: torch.Tensor, source: torch.Tensor, stream: Any) -> Any:
        """See `Platform.copy`."""
        with torch.cuda.stream(stream):
            target.copy_(source, non_blocking=True)
            return stream.record_event()

    def wait(self, stream: Any, event: Any) -> None:
        """See `Platform.wait`."""
        stream.wait_event(event)

    def record(self, tensor: torch.Tensor, stream: Any) -> None:
        """See `Platform.record`."""
        tensor.record_stream(stream)


def is_cuda(device: Any) -> bool:
    """Returns whether a device is a CUDA device in any form, or a platform."""
    return isinstance(device, (Platform, int)) or str(device).startswith("cuda")


def platform_of(device: Any) -> Platform:
    """Returns the platform of a device: "cuda", "cuda:1", 1, a torch.device, or a platform.

    Raises
    ------
    graphd.errors.InvalidError
        If there is no such device.
    """
    if isinstance(device, Platform):
        return device
    try:
        is_number = isinstance(device, int) and not isinstance(device, bool)
        found = torch.device("cuda", device) if is_number else torch.device(device)
    except (TypeError, RuntimeError):
        raise InvalidError(f"device {device!r}: expected 'cpu', or as 'cuda' or 'cuda:1'") from None
    if found.type != "cuda":
        raise InvalidError(
            f"device {device}: batches are delivered to CUDA devices; leave device out, and move "
            "what you need with .to(device)"
        )
    if not torch.cuda.is_available():
        raise InvalidError(
            f"device {device}: torch {torch.__version__} has no CUDA here; install a PyTorch and a "
            "driver with CUDA, or leave device out"
        )
    count = torch.cuda.device_count()
    if found.index is not None and not 0 <= found.index < count:
        raise InvalidError(f"device {device}: this machine has {count}; use 'cuda:0' or another")
    return CudaPlatform(found if found.index is not None else _current_device())


def pinning_platform(stacklevel: int) -> Platform | None:
    """Returns the platform whose host memory is pinned; None, with a warning, if there is none. The
    warning names the caller that is `stacklevel` calls above.
    """
    if torch.cuda.is_available():
        return CudaPlatform(_current_device())
    warnings.warn(
        f"pin_memory=True: torch {torch.__version__} has no CUDA here, so that memory is not pinned; "
        "leave pin_memory out",
        stacklevel=stacklevel,
    )
    return None


def _current_device() -> torch.device:
    return torch.device("cuda", torch.cuda.current_device())
