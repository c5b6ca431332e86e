# SPDX-License-Identifier: Apache-2.0
"""A `DistGraph` for scripts that are written for PyG.

`NeighborLoader` and `LinkNeighborLoader` have the arguments of PyG's, and yield what PyG's yield; their
workers are threads:

>>> loader = graphd.pyg.NeighborLoader(                                       # doctest: +SKIP
...     g, [10, 5], input_nodes=("paper", ids), batch_size=100, shuffle=True)

PyG's own loaders take the stores in place of a ``HeteroData``, and `NeighborSampler` in place of
their own sampler:

>>> data = (FeatureStore(g, ["feat", "label"]), GraphStore(g))                # doctest: +SKIP
>>> loader = torch_geometric.loader.NeighborLoader(                           # doctest: +SKIP
...     data, [10, 5], input_nodes=("paper", ids), batch_size=100,
...     neighbor_sampler=NeighborSampler(g, [10, 5]))

Their batches are made one after another, when the loader asks for them. Leave their ``num_workers``
at 0: a forked worker can't use its parent's graph. Needs PyG and PyTorch.
"""

from .link_loader import LinkNeighborLoader
from .loader import NeighborLoader
from .sampler import NeighborSampler
from .stores import FeatureStore, GraphStore

__all__ = ["FeatureStore", "GraphStore", "LinkNeighborLoader", "NeighborLoader", "NeighborSampler"]
