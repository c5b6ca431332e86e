# SPDX-License-Identifier: Apache-2.0
"""Reference layers in plain torch, for the examples: they take our blocks as they are.

Models of real size come from PyG or DGL; see `graphd.Block.to_dgl` and `graphd.to_pyg`.
"""
import torch
from torch import nn


def mean_over_neighbors(block, values, etype=None):
    """For each destination the mean over its sampled neighbours; zeros where there are none.

    Parameters
    ----------
    block : Block
    values : tensor, [source nodes, n]
    etype : edge type, optional

    Returns
    -------
    tensor, [destination nodes, n]
    """
    u, v = block.edges(etype=etype)
    indptr, _ = block.csc(etype)
    count = (indptr[1:] - indptr[:-1]).clamp(min=1).to(values.dtype)
    total = values.new_zeros(len(count), values.shape[1]).index_add(0, v, values.index_select(0, u))
    return total / count.unsqueeze(1)


class SAGEConv(nn.Module):
    """GraphSAGE (Hamilton et al., "Inductive Representation Learning on Large Graphs", 2017) with
    the mean aggregator. Arguments are those of ``dgl.nn.SAGEConv``.

    Parameters
    ----------
    in_feats, out_feats : int
    aggregator_type : str
        Only "mean".
    feat_drop : float
    bias : bool
    norm, activation : callable, optional

    Raises
    ------
    ValueError
        For another aggregator.
    """

    def __init__(self, in_feats, out_feats, aggregator_type="mean", feat_drop=0.0, bias=True,
                 norm=None, activation=None):
        super().__init__()
        if aggregator_type != "mean":
            raise ValueError(f"aggregator_type {aggregator_type!r}: only 'mean' is here; take a "
                             "layer of PyG or DGL for others")
        self.fc_self = nn.Linear(in_feats, out_feats, bias=False)
        self.fc_neigh = nn.Linear(in_feats, out_feats, bias=False)
        self.bias = nn.Parameter(torch.zeros(out_feats)) if bias else None
        self.feat_drop, self.norm, self.activation = nn.Dropout(feat_drop), norm, activation
        gain = nn.init.calculate_gain("relu")
        nn.init.xavier_uniform_(self.fc_self.weight, gain=gain)
        nn.init.xavier_uniform_(self.fc_neigh.weight, gain=gain)

    def forward(self, block, feat):
        """New features of the destinations.

        Parameters
        ----------
        block : Block
        feat : tensor, [source nodes, in_feats]

        Returns
        -------
        tensor, [destination nodes, out_feats]
        """
        feat = self.feat_drop(feat)
        here = feat[:block.num_dst_nodes()]
        # Whichever order makes the smaller rows to be averaged.
        if self.fc_neigh.in_features > self.fc_neigh.out_features:
            neighbors = mean_over_neighbors(block, self.fc_neigh(feat))
        else:
            neighbors = self.fc_neigh(mean_over_neighbors(block, feat))
        out = self.fc_self(here) + neighbors
        if self.bias is not None:
            out = out + self.bias
        if self.activation is not None:
            out = self.activation(out)
        return out if self.norm is None else self.norm(out)


class RelGraphConv(nn.Module):
    """R-GCN (Schlichtkrull et al., "Modeling Relational Data with Graph Convolutional Networks",
    2018) on blocks of several types: a weight per edge type, the mean over its neighbours, the sum
    over edge types.

    Parameters
    ----------
    in_feats, out_feats : int
    etypes : list of canonical edge types
    ntypes : list of str
    activation : callable, optional
    """

    def __init__(self, in_feats, out_feats, etypes, ntypes, activation=None):
        super().__init__()
        self.etypes = [tuple(etype) for etype in etypes]
        self.weights = nn.ModuleList(nn.Linear(in_feats, out_feats, bias=False) for _ in etypes)
        self.self_loops = nn.ModuleDict({ntype: nn.Linear(in_feats, out_feats) for ntype in ntypes})
        self.activation = activation

    def forward(self, block, feats):
        """New features of the destinations.

        Parameters
        ----------
        block : Block
        feats : dict of node type to tensor, [source nodes, in_feats]

        Returns
        -------
        dict of node type to tensor, [destination nodes, out_feats]
        """
        out = {ntype: self.self_loops[ntype](feat[:block.num_dst_nodes(ntype)])
               for ntype, feat in feats.items()}
        for etype, weight in zip(self.etypes, self.weights):
            src, _, dst = etype
            if block.num_edges(etype):
                out[dst] = out[dst] + mean_over_neighbors(block, weight(feats[src]), etype)
        if self.activation is None:
            return out
        return {ntype: self.activation(feat) for ntype, feat in out.items()}
