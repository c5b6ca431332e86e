# SPDX-License-Identifier: Apache-2.0
"""`graphd.sampling` under the name that it has in DGL, with DGL's earlier names of the loaders."""

from .sampling import *  # noqa: F403
from .sampling import DistEdgeDataLoader, DistNodeDataLoader
from .sampling import __all__ as _all

NodeDataLoader = DistNodeDataLoader
EdgeDataLoader = DistEdgeDataLoader

__all__ = [*_all, "EdgeDataLoader", "NodeDataLoader"]
