# SPDX-License-Identifier: Apache-2.0
"""What data the blocks of batches have, by name, and how each is made of a batch."""
from operator import methodcaller

from .names import EID, NID


class LayerData:
    """What the blocks of one layer have in common, batch after batch.

    Attributes
    ----------
    types : Types
    layer : int
    src, dst, edges : list of dict
        [type] {name: a function of the batch}.
    """

    def __init__(self, types, layer):
        self.types, self.layer = types, layer
        self.src, self.dst = ([{NID: methodcaller(nodes, layer, t)}
                               for t in range(len(types.ntypes))]
                              for nodes in ("src_nodes", "dst_nodes"))
        self.edges = [{EID: methodcaller("edge_ids", layer, e)}
                      for e in range(len(types.canonical_etypes))]


def layers_of(types, batch, input_feats=(), seed_feats=(), edge_feats=()):
    """[layer] data of a batch and of all that are like it.

    Parameters
    ----------
    types : Types
    batch
        The extension's.
    input_feats, seed_feats, edge_feats : list of (int, str)
        (type number, name) of the features that come with it, in their order in the batch.
    """
    layers = [LayerData(types, layer) for layer in range(batch.num_layers)]
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
