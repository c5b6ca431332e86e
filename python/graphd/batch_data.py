# SPDX-License-Identifier: Apache-2.0
"""The names of the data of a batch's blocks, and the functions that make them from the batch."""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller

from . import _graphd
from .frame import Maker
from .names import EID, NID
from .schema import Types


class LayerData:
    """The names of the data of the blocks of one layer, which are the same in all batches, and the
    functions that make the data.

    Parameters
    ----------
    types : Types
    layer : int
    has_edge_ids : bool
        Whether the batches have ids of edges, or can get them.

    Attributes
    ----------
    types : Types
    layer : int
    src, dst, edges : list of dict
        For each type a dict from a name to a function of the batch.
    """

    def __init__(self, types: Types, layer: int, has_edge_ids: bool) -> None:
        self.types, self.layer = types, layer
        self.src, self.dst = (
            [_maker(NID, nodes, layer, t) for t in range(len(types.ntypes))]
            for nodes in ("src_nodes", "dst_nodes")
        )
        self.edges = [
            _maker(EID, "edge_ids", layer, e) if has_edge_ids else {}
            for e in range(len(types.canonical_etypes))
        ]


def _maker(name: str, method: str, layer: int, number: int) -> dict[str, Maker]:
    return {name: methodcaller(method, layer, number)}


def layers_of(
    types: Types,
    batch: _graphd.Batch,
    input_feats: Sequence[tuple[int, str]] = (),
    seed_feats: Sequence[tuple[int, str]] = (),
    edge_feats: Sequence[tuple[int, str]] = (),
) -> list[LayerData]:
    """Returns the data of each layer, which are the same for all batches of a sampler.

    Parameters
    ----------
    types : Types
    batch
        The batch of the extension module.
    input_feats, seed_feats, edge_feats : list of (int, str)
        (type number, name) of the features that the batch contains, in the order of the batch.
    """
    layers = [LayerData(types, layer, batch.has_edge_ids) for layer in range(batch.num_layers)]
    if not layers:
        return layers
    for i, (t, name) in enumerate(input_feats):
        layers[0].src[t][name] = methodcaller("input_feature", i)
    for i, (t, name) in enumerate(seed_feats):
        layers[-1].dst[t][name] = methodcaller("seed_feature", i)
    for each in layers:
        for i, (e, name) in enumerate(edge_feats):
            each.edges[e][name] = methodcaller("edge_feature", each.layer, i)
        if batch.has_roots:
            for t, (of_src, of_dst) in enumerate(zip(each.src, each.dst)):
                of_src["root"] = methodcaller("src_roots", each.layer, t)
                of_dst["root"] = methodcaller("dst_roots", each.layer, t)
    if batch.has_seed_times:
        for t, of_type in enumerate(layers[-1].dst):
            of_type["seed_time"] = methodcaller("seed_times", t)
    return layers
