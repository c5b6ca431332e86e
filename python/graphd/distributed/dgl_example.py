# SPDX-License-Identifier: Apache-2.0
"""The arguments of the class NeighborSampler in DGL's examples of distributed training.

Scripts for DGL 0.5 to 0.7 have this class, and DGL's guide uses it: ``NeighborSampler(g, [10, 25],
dgl.distributed.sample_neighbors, device)``.
"""

from __future__ import annotations

from typing import Any

from ..errors import InvalidError
from . import queries


def fanouts_of_example(g: Any, fanouts: Any, sample_neighbors: Any, device: Any = None) -> Any:
    """Checks the other arguments of the example's class, and returns its fanouts, those of the seeds
    first.

    The class has no use for the device: its blocks are in host memory, and the script moves them.
    """
    if sample_neighbors is not queries.sample_neighbors:
        raise InvalidError(
            f"sample_neighbors {sample_neighbors!r}: expected graphd.distributed.sample_neighbors; "
            "for another function, write a class whose sample_blocks(seeds) calls it and "
            "graphd.to_block"
        )
    is_device = device is None or isinstance(device, (str, int)) or hasattr(device, "type")
    if isinstance(device, bool) or not is_device:
        raise InvalidError(f"device {device!r}: expected a device, as 'cpu' or 'cuda:0'")
    return fanouts
