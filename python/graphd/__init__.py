# SPDX-License-Identifier: Apache-2.0
"""Distributed graphs for training graph neural networks, under the names that DGL users know.

>>> import graphd
>>> g = graphd.distributed.DistGraph("cora", part_config="parts/cora.json")   # doctest: +SKIP
>>> sampler = graphd.sampling.NeighborSampler([10, 25])                       # doctest: +SKIP

``graphd.distributed`` has what ``dgl.distributed`` has, ``graphd.sampling`` the samplers and the
loaders. What differs from DGL stands in docs/dgl.md, name by name.
"""
import importlib

from ._graphd import __version__
from .backend import use
from .errors import GraphdError
from .names import ALL, EID, NID
from .seeds import seed

_LAZY = ("distributed", "sampling", "dataloading", "checkpoint", "errors", "nn")
_FROM = {"Block": "block", "to_block": "block", "to_pyg": "convert"}

__all__ = ["ALL", "EID", "NID", "GraphdError", "seed", "use", *_LAZY[:4], *_FROM]


def __getattr__(name):
    if name in _LAZY:
        return importlib.import_module(f"graphd.{name}")
    if name in _FROM:
        return getattr(importlib.import_module(f"graphd.{_FROM[name]}"), name)
    raise AttributeError(f"module 'graphd' has no attribute {name!r}")
