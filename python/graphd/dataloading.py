# SPDX-License-Identifier: Apache-2.0
"""`graphd.sampling` under the name that it has in DGL, with DGL's earlier names of the loaders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .distributed.dgl_remedies import no_attribute
from .sampling import *  # noqa: F403
from .sampling import DistEdgeDataLoader, DistNodeDataLoader
from .sampling import __all__ as _all

NodeDataLoader = DistNodeDataLoader
EdgeDataLoader = DistEdgeDataLoader

__all__ = [*_all, "EdgeDataLoader", "NodeDataLoader"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise no_attribute(__name__, name)
