# SPDX-License-Identifier: Apache-2.0
"""Distributed graphs for training graph neural networks, under the names that DGL users know.

>>> import graphd
>>> g = graphd.distributed.DistGraph("cora", part_config="parts/cora.json")   # doctest: +SKIP
>>> sampler = graphd.sampling.NeighborSampler([10, 25])                       # doctest: +SKIP

``graphd.distributed`` has what ``dgl.distributed`` has, ``graphd.sampling`` has the samplers and
the loaders, and ``graphd.inference`` computes the outputs of a model for all nodes. docs/dgl.md
lists the differences from DGL, name by name. ``graphd.nn`` needs PyTorch, ``graphd.pyg`` PyG,
``graphd.plot`` matplotlib and ``graphd.spark`` PySpark; they are imported on first access.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from . import checkpoint, dataloading, device, distributed, errors, inference, sampling
from ._graphd import __version__ as __version__
from .backend import use
from .block import Block
from .convert import to_pyg
from .distributed.connection import Session, connect
from .distributed.dgl_remedies import no_attribute
from .errors import GraphdError
from .errors import GraphdError as DGLError
from .history import History
from .names import ALL, EID, ETYPE, NID, NTYPE
from .sampled import to_block
from .seeds import seed

# Modules that are imported on first access, and what they need.
_OPTIONAL = {
    "nn": "torch",
    "plot": "matplotlib",
    "pyg": "torch_geometric",
    "spark": "pyspark",
}

if TYPE_CHECKING:
    from . import nn as nn
    from . import plot as plot
    from . import pyg as pyg
    from . import spark as spark
else:

    def __getattr__(name: str) -> Any:
        if name in _OPTIONAL:
            return importlib.import_module(f"graphd.{name}")
        raise no_attribute("graphd", name)


__all__ = [
    "ALL",
    "EID",
    "ETYPE",
    "NID",
    "NTYPE",
    "Block",
    "DGLError",
    "GraphdError",
    "History",
    "Session",
    "checkpoint",
    "connect",
    "dataloading",
    "device",
    "distributed",
    "errors",
    "inference",
    "sampling",
    "seed",
    "to_block",
    "to_pyg",
    "use",
]


def __dir__() -> list[str]:
    """Lists the names that users need, for completion, without internal modules and imports."""
    found = [name for name, needed in _OPTIONAL.items() if importlib.util.find_spec(needed)]
    return sorted([*__all__, "__version__", *found])
