# SPDX-License-Identifier: Apache-2.0
"""The graph that tensors belong to whose caller named none: the last one that was made."""
import weakref

from ..errors import InvalidError

_latest = None


def set(g):
    global _latest
    _latest = weakref.ref(g)


def graph_of(g):
    """`g`, if it is a DistGraph."""
    if not hasattr(g, "types") or not hasattr(g, "session"):
        raise InvalidError(f"g {g!r}: expected a DistGraph, as DistGraph(\"products\") gives it")
    return g


def get():
    g = _latest and _latest()
    if g is None:
        raise InvalidError("a distributed tensor needs a graph; make a DistGraph first")
    return g
