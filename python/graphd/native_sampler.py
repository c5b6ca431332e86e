# SPDX-License-Identifier: Apache-2.0
"""The base class of the samplers that libgraphclient implements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from . import _graphd, backend, progress, seeds
from .arguments import check_draws, whole_number
from .batch_data import layers_of
from .block import blocks_of
from .block_sampler import BlockSampler, Sample
from .graph_base import GraphBase, graph_of
from .html import properties
from .schema import Types
from .typing import EdgeIds, Fanout, FeatureNames, NodeIds, Tensor, Triple


class NativeSampler(BlockSampler):
    """A sampler of libgraphclient, which loaders call without Python's interpreter."""

    fanouts: Sequence[Fanout]

    def __init__(
        self,
        prefetch_node_feats: FeatureNames = None,
        prefetch_labels: FeatureNames = None,
        prefetch_edge_feats: FeatureNames = None,
        output_device: Any = None,
    ) -> None:
        super().__init__(prefetch_node_feats, prefetch_labels, prefetch_edge_feats, output_device)
        self._handles: dict[tuple[Triple, ...], _graphd.Sampler] = {}
        self._calls = progress.Calls()

    def is_native(self, types: Types) -> bool:
        """Returns whether libgraphclient samples from graphs with these types; otherwise loaders
        call methods of the sampler, as for a sampler that is written in Python.

        Parameters
        ----------
        types : Types

        Returns
        -------
        bool
        """
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.fanouts)})"

    def _repr_html_(self) -> str:
        options = [(name, value) for name, value in vars(self).items() if not name.startswith("_")]
        return properties(type(self).__name__, options)

    def _make(self, types: Types) -> _graphd.Sampler:
        """Makes the extension module's sampler for a graph with these types."""
        raise NotImplementedError

    def check_draws(self, num_seeds: int) -> None:
        """Refuses a batch size for which sampling with replacement would exceed memory.

        Parameters
        ----------
        num_seeds : int
        """
        if not getattr(self, "replace", False):
            return
        for fanout in self.fanouts:
            each_type: Iterable[Any] = fanout.values() if isinstance(fanout, dict) else (fanout,)
            for each in each_type:
                check_draws(num_seeds, whole_number(each, "fanout"), "fanout")

    def handle(self, types: Types) -> _graphd.Sampler:
        """Returns the extension module's sampler for a graph with these types.

        Parameters
        ----------
        types : Types

        Returns
        -------
        The extension's sampler.
        """
        key = tuple(types.canonical_etypes)
        if key not in self._handles:
            self._handles[key] = self._make(types)
        return self._handles[key]

    def sample_blocks(
        self,
        g: GraphBase,
        seed_nodes: NodeIds,
        exclude_eids: EdgeIds = None,
        *,
        seed: int | None = None,
    ) -> Sample:
        """Samples the blocks of one mini-batch.

        Parameters
        ----------
        g : DistGraph
        seed_nodes : int64 tensor, or dict of node type to tensor
            Duplicates are dropped.
        exclude_eids : int64 tensor, or dict of edge type to tensor, optional
            Edges never to sample.
        seed : int, optional
            The same seed gives the same blocks, wherever the partitions are.

        Returns
        -------
        input_nodes, output_nodes : tensor, or dict of node type to tensor
        blocks : list of Block
            The input layer first.
        """
        return self._sample(g, seed_nodes, exclude_eids, seed)

    def _sample(
        self,
        g: GraphBase,
        seed_nodes: NodeIds,
        exclude_eids: EdgeIds,
        seed: int | None,
        seed_times: Tensor | dict[str, Tensor] | None = None,
    ) -> Sample:
        backend.chosen()
        lists = graph_of(g).types.by_ntype(seed_nodes, "seed_nodes")
        self.check_draws(g.types.count(lists))
        exclude = [] if exclude_eids is None else g.types.by_etype(exclude_eids, "exclude_eids")
        times = None if seed_times is None else g.types.by_ntype(seed_times, "seed_times")
        sampler, seed = self.handle(g.types), seeds.given_or_next(seed)
        with self._calls.clock("sampling a batch", g.types.count(lists)):
            batch = sampler.sample(g.handle, lists, seed, exclude, times)
        input_nodes, output_nodes = batch.nodes(g.types.ntypes)
        return input_nodes, output_nodes, blocks_of(batch, layers_of(g.types, batch))
