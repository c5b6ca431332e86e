# SPDX-License-Identifier: Apache-2.0
"""The delivery of batches to a device: pooled pinned memory, a stream of copies, and cached rows.

Nothing here imports PyTorch before a loader or a cache is made for a device. docs/howto/gpu.md
explains its use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .. import backend
from ..errors import InvalidError

if TYPE_CHECKING:
    from ..graph_base import GraphBase
    from .delivery import Delivery
    from .row_cache import DeviceRowCache as DeviceRowCache
else:

    def __getattr__(name: str) -> Any:
        if name == "DeviceRowCache":
            from .row_cache import DeviceRowCache

            return DeviceRowCache
        raise AttributeError(f"module 'graphd.device' has no attribute {name!r}")


__all__ = ["DeviceRowCache", "delivered", "delivery_for"]


def delivery_for(
    device: Any,
    pin_memory: bool,
    row_caches: Sequence[Any] | None = (),
    g: GraphBase | None = None,
    stacklevel: int = 4,
) -> Delivery | None:
    """Returns the delivery of the batches of a loader; None if batches stay where they are made.

    Parameters
    ----------
    device : str, int, torch.device or Platform, optional
    pin_memory : bool
    row_caches : list of DeviceRowCache
    g : DistGraph, optional
        The graph of the loader.
    stacklevel : int
        The number of calls from a warning up to the caller of the loader's constructor, which calls
        this.

    Returns
    -------
    Delivery or None

    Raises
    ------
    graphd.errors.InvalidError
        If there is no such device, or a cache is on another device.
    """
    pin_memory = bool(pin_memory)  # DGL and PyG take any value
    is_cpu = device is None or str(device).partition(":")[0] == "cpu"
    if is_cpu and row_caches:
        raise InvalidError("row_caches need a device; give the loader device=, as 'cuda'")
    if is_cpu and not pin_memory:
        return None
    if backend.chosen() != "torch":
        if is_cpu:
            return None
        raise InvalidError(
            f"device {device}: graphd.use('numpy') is in effect; leave device out, or use 'torch'"
        )
    from .delivery import Delivery
    from .platform import pinning_platform, platform_of

    if is_cpu:
        platform = pinning_platform(stacklevel)
        return None if platform is None else Delivery(platform, is_pinning=True)
    return Delivery(platform_of(device), row_caches=row_caches, g=g)


def delivered(delivery: Delivery | None, make: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Begins an epoch, and returns its batches where a delivery brings them.

    Parameters
    ----------
    delivery : Delivery, optional
    make : callable
        Begins the epoch, and returns the batches in host memory.

    Returns
    -------
    iterator
    """
    return make() if delivery is None else delivery.batches(make)
