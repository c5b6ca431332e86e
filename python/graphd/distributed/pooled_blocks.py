# SPDX-License-Identifier: Apache-2.0
"""Blocks whose fanouts count the edges of all types of a node together."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from .. import backend, seeds
from ..block import Block, mark_last
from ..block_sampler import Sample
from ..graph_base import GraphBase, graph_of
from ..names import NID
from ..schema import Types
from ..typing import EdgeIds, Fanout, Ids, NodeIds, Tensor
from .queries import sample_neighbors, vectors


def pooled_blocks(
    g: GraphBase,
    seed_nodes: NodeIds,
    fanouts: Sequence[Fanout],
    replace: bool,
    exclude_eids: EdgeIds,
    seed: int | None,
) -> Sample:
    """Samples the blocks of one mini-batch, layer by layer, with ``sample_neighbors(pooled=True)``.

    Parameters
    ----------
    fanouts : list of int
        One per layer, the input layer first.
    g, seed_nodes, exclude_eids, seed
        See `NeighborSampler.sample_blocks`.
    replace : bool

    Returns
    -------
    input_nodes, output_nodes : tensor, or dict of node type to tensor
    blocks : list of Block
        The input layer first.
    """
    backend.chosen()
    types = graph_of(g).types
    output_nodes = [_distinct(each) for each in vectors(types.by_ntype(seed_nodes, "seed_nodes"))]
    # Each layer needs a random seed of its own: with the same seed, equal rows of two layers would
    # get the same edges.
    draw = random.Random(seeds.given_or_next(seed))
    nodes: Sequence[Tensor] = output_nodes
    blocks: list[Block] = []
    for fanout in reversed(fanouts):
        by_type = dict(zip(types.ntypes, nodes))
        found = sample_neighbors(
            g,
            by_type,
            fanout,
            exclude_edges=exclude_eids,
            replace=replace,
            pooled=True,
            seed=draw.getrandbits(63),
        )
        block = found.to_block(by_type)
        blocks.insert(0, block)
        nodes = [frame[NID] for frame in block.src_frames]
    return _by_type(types, nodes), _by_type(types, output_nodes), mark_last(blocks)


def _distinct(ids: Ids) -> Tensor:
    """Returns ids in the order of their first appearance, each once."""
    import numpy

    array = numpy.empty(0, numpy.int64) if ids is None else backend.to_numpy(ids)
    first = numpy.unique(array, return_index=True)[1]
    return backend.from_numpy(array if len(first) == len(array) else array[numpy.sort(first)])


def _by_type(types: Types, nodes: Sequence[Tensor]) -> Any:
    """Returns nodes as batches have them: a tensor, or a dict if there are several types."""
    return nodes[0] if len(nodes) == 1 else dict(zip(types.ntypes, nodes))
