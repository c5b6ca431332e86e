# SPDX-License-Identifier: Apache-2.0
"""The most recent DistGraph, to which tensors belong if the caller names no graph."""

from __future__ import annotations

import weakref

from ..errors import InvalidError
from ..graph_base import GraphBase

_latest: weakref.ref[GraphBase] | None = None


def remember(g: GraphBase) -> None:
    """Makes a graph the most recent one."""
    global _latest
    _latest = weakref.ref(g)


def latest() -> GraphBase:
    """Returns the most recent graph."""
    g = _latest() if _latest is not None else None
    if g is None:
        raise InvalidError("a distributed tensor needs a graph; make a DistGraph first")
    return g
