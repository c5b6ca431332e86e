# SPDX-License-Identifier: Apache-2.0
"""The base class of samplers of mini-batches, and the features that come with a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .block import Block
from .errors import InvalidError
from .graph_base import GraphBase, graph_of
from .html import properties
from .names import EID, NID
from .schema import Types
from .typing import EdgeIds, FeatureNames, NodeIds

Sample = tuple[Any, Any, list[Block]]  # input nodes, output nodes, blocks


class BlockSampler:
    """A sampler that makes the blocks of a mini-batch.

    To write a sampler, derive from this class and define ``sample_blocks(g, seed_nodes,
    exclude_eids)``, which returns (input nodes, output nodes, blocks); loaders call it from several
    threads. The samplers of `graphd.sampling` run without the interpreter.

    Parameters
    ----------
    prefetch_node_feats : list of str, or dict of node type to list, optional
        Features to fetch with the batch, found in ``blocks[0].srcdata``.
    prefetch_labels : list of str, or dict, optional
        Features to fetch with the batch, found in ``blocks[-1].dstdata``.
    prefetch_edge_feats : list of str, or dict of edge type to list, optional
        Features to fetch with the batch, found in ``edata`` of every block.
    output_device
        Accepted for DGL; has no effect: blocks are in host memory, and `Block.to` moves them.

    Raises
    ------
    graphd.errors.InvalidError
        If `output_device` is not the CPU.
    """

    def __init__(
        self,
        prefetch_node_feats: FeatureNames = None,
        prefetch_labels: FeatureNames = None,
        prefetch_edge_feats: FeatureNames = None,
        output_device: Any = None,
    ) -> None:
        self.prefetch_node_feats = prefetch_node_feats or []
        self.prefetch_labels = prefetch_labels or []
        self.prefetch_edge_feats = prefetch_edge_feats or []
        if output_device is not None and str(output_device) != "cpu":
            raise InvalidError(
                f"output_device {output_device}: blocks are sampled in host memory; "
                "move them with block.to(device)"
            )

    def sample_blocks(
        self, g: GraphBase, seed_nodes: NodeIds, exclude_eids: EdgeIds = None
    ) -> Sample:
        """Samples the blocks of one mini-batch.

        Parameters
        ----------
        g : DistGraph
        seed_nodes : int64 tensor, or dict of node type to tensor
            Duplicates are dropped.
        exclude_eids : int64 tensor, or dict of edge type to tensor, optional
            Edges never to sample.

        Returns
        -------
        input_nodes, output_nodes : tensor, or dict of node type to tensor
        blocks : list of Block
            The input layer first.

        Raises
        ------
        NotImplementedError
            In this class.
        """
        raise NotImplementedError

    def sample(self, g: GraphBase, seed_nodes: NodeIds, exclude_eids: EdgeIds = None) -> Sample:
        """Does the same as `sample_blocks`, and adds the requested features. DGL's loaders call it.

        Parameters
        ----------
        g : DistGraph
        seed_nodes : int64 tensor, or dict of node type to tensor
            Duplicates are dropped.
        exclude_eids : int64 tensor, or dict of edge type to tensor, optional
            Edges never to sample.

        Returns
        -------
        input_nodes, output_nodes : tensor, or dict of node type to tensor
        blocks : list of Block
            The input layer first.
        """
        found = self.sample_blocks(g, seed_nodes, exclude_eids)
        self.assign_lazy_features(g, found)
        return found

    def bind(self, g: GraphBase) -> BoundSampler:
        """Returns the sampler for one graph, like those in DGL's examples of distributed training.

        Its ``sample_blocks`` can be the ``collate_fn`` of a `DistDataLoader`.

        Parameters
        ----------
        g : DistGraph

        Returns
        -------
        BoundSampler
        """
        return BoundSampler(self, graph_of(g))

    def assign_lazy_features(self, g: GraphBase, found: Sample) -> None:
        """Adds the requested features to the blocks, to be read on first access.

        Parameters
        ----------
        g : DistGraph
        found : (input_nodes, output_nodes, blocks)
        """
        input_nodes, output_nodes, blocks = found
        for names, ids, frames in (
            (self.prefetch_node_feats, input_nodes, blocks[0].src_frames),
            (self.prefetch_labels, output_nodes, blocks[-1].dst_frames),
        ):
            for t, name in of_node_types(g.types, names):
                tensor = g.data(False, t, name)
                if tensor.is_feature:
                    some = ids[g.types.ntypes[t]] if isinstance(ids, dict) else ids
                    frames[t].lazy(name, functools.partial(tensor.read, some))
                else:
                    frames[t].lazy(name, tensor.read, of=NID)  # every block has these ids
        for e, name in of_edge_types(g.types, self.prefetch_edge_feats):
            tensor = g.data(True, e, name)
            for block in blocks:
                block.edge_frames[e].lazy(name, tensor.read, of=EID)

    def _prefetched(self) -> list[tuple[str, Any]]:
        """Returns the features that come with a batch; none if a derived class does not call
        `__init__` of this class."""
        names = ("prefetch_node_feats", "prefetch_labels", "prefetch_edge_feats")
        return [(name, getattr(self, name, [])) for name in names]

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._prefetched() if value)
        return f"{type(self).__name__}({given})"

    def _repr_html_(self) -> str:
        return properties(type(self).__name__, self._prefetched())


class BoundSampler:
    """A sampler together with its graph. `BlockSampler.bind` makes it.

    Attributes
    ----------
    sampler : BlockSampler
    g : DistGraph
    """

    def __init__(self, sampler: BlockSampler, g: GraphBase) -> None:
        self.sampler, self.g = sampler, g

    def sample_blocks(self, seeds: NodeIds) -> list[Block]:
        """Returns the blocks of a mini-batch with the requested features.

        Parameters
        ----------
        seeds : int64 tensor or list of int, or dict of node type to either

        Returns
        -------
        list of Block
            The input layer first.
        """
        return self.sampler.sample(self.g, seeds)[2]

    def __repr__(self) -> str:
        return f"BoundSampler({self.sampler!r}, {self.g!r})"

    def _repr_html_(self) -> str:
        return properties("BoundSampler", [("sampler", self.sampler), ("graph", self.g)])


def check_times(sampler: BlockSampler, seed_times: Any) -> None:
    """Raises InvalidError if a sampler needs the times of seeds and gets none, or the reverse."""
    needs_times = getattr(sampler, "needs_times", False)
    if seed_times is not None and not needs_times:
        raise InvalidError(
            f"seed_times: a {type(sampler).__name__} has no use for them; use a "
            "TemporalSampler, or omit them"
        )
    if seed_times is None and needs_times:
        raise InvalidError(
            "seed_times None: a TemporalSampler needs the time of each seed; give a tensor with a "
            "time for each of them"
        )


def of_node_types(types: Types, names: FeatureNames) -> list[tuple[int, str]]:
    """Returns the (type number, feature) pairs of a prefetch argument."""
    return _of_types(types.ntype_id, names)


def of_edge_types(types: Types, names: FeatureNames) -> list[tuple[int, str]]:
    """Does the same as `of_node_types` for edge types."""
    return _of_types(types.etype_id, names)


def _of_types(number_of: Callable[[Any], int], names: FeatureNames) -> list[tuple[int, str]]:
    by_type = names if isinstance(names, Mapping) else ({None: names} if names else {})
    return [
        (number_of(of), name)
        for of, some in by_type.items()
        for name in ([some] if isinstance(some, str) else _names(some))
    ]


def _names(some: Any) -> Sequence[str]:
    if not isinstance(some, (list, tuple)) or not all(isinstance(name, str) for name in some):
        raise InvalidError(f"names of features {some!r}: expected a list of str")
    return some
