# SPDX-License-Identifier: Apache-2.0
"""Reference layers in plain torch, for the examples. They take blocks without conversion.

Models of real size come from DGL, whose layers take blocks too, or from PyG: see `graphd.to_pyg`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import nn

from .block import Block
from .typing import EdgeType, Tensor, Triple


def mean_over_neighbors(block: Block, values: Tensor, etype: EdgeType | None = None) -> Tensor:
    """Returns the mean over each destination's sampled neighbours, or zeros if it has none.

    Parameters
    ----------
    block : Block
    values : tensor, [source nodes, n]
    etype : edge type, optional

    Returns
    -------
    tensor, [destination nodes, n]
    """
    u, v = block.coo(etype)
    indptr, _ = block.csc(etype)
    count = (indptr[1:] - indptr[:-1]).clamp(min=1).to(values.dtype)
    total = values.new_zeros(len(count), values.shape[1]).index_add(0, v, values.index_select(0, u))
    return total / count.unsqueeze(1)


class SAGEConv(nn.Module):
    """GraphSAGE with the mean aggregator. Arguments are those of ``dgl.nn.SAGEConv``.

    The paper is Hamilton et al., "Inductive Representation Learning on Large Graphs", 2017.

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
        If the aggregator is not supported.
    """

    def __init__(
        self,
        in_feats: int,
        out_feats: int,
        aggregator_type: str = "mean",
        feat_drop: float = 0.0,
        bias: bool = True,
        norm: Callable[[Tensor], Tensor] | None = None,
        activation: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__()
        if aggregator_type != "mean":
            raise ValueError(
                f"aggregator_type {aggregator_type!r}: only 'mean' is supported; take a "
                "layer of PyG or DGL for others"
            )
        self.fc_self = nn.Linear(in_feats, out_feats, bias=False)
        self.fc_neigh = nn.Linear(in_feats, out_feats, bias=False)
        self.bias = nn.Parameter(torch.zeros(out_feats)) if bias else None
        self.feat_drop, self.norm, self.activation = nn.Dropout(feat_drop), norm, activation
        gain = nn.init.calculate_gain("relu")
        nn.init.xavier_uniform_(self.fc_self.weight, gain=gain)
        nn.init.xavier_uniform_(self.fc_neigh.weight, gain=gain)

    def forward(self, block: Block, feat: Tensor | tuple[Tensor, Tensor]) -> Tensor:
        """Returns new features of the destinations.

        Parameters
        ----------
        block : Block
        feat : tensor, [source nodes, in_feats], or a pair of it and [destination nodes, in_feats]
            Without a pair, the first rows of the sources are the features of the destinations.

        Returns
        -------
        tensor, [destination nodes, out_feats]
        """
        if isinstance(feat, tuple):
            feat, here = (self.feat_drop(each) for each in feat)
        else:
            feat = self.feat_drop(feat)
            here = feat[: block.num_dst_nodes()]
        # The order of the two steps is chosen so that the smaller rows are averaged.
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
    """R-GCN on blocks of several types.

    It has a weight per edge type, and takes the mean over the neighbours of each edge type and the
    sum over edge types. The paper is Schlichtkrull et al., "Modeling Relational Data with Graph
    Convolutional Networks", 2018.

    Parameters
    ----------
    in_feats, out_feats : int
    etypes : list of canonical edge types
    ntypes : list of str
    activation : callable, optional
    """

    def __init__(
        self,
        in_feats: int,
        out_feats: int,
        etypes: Sequence[Triple],
        ntypes: Sequence[str],
        activation: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.etypes: list[Triple] = [(src, rel, dst) for src, rel, dst in etypes]
        self.weights = nn.ModuleList(nn.Linear(in_feats, out_feats, bias=False) for _ in etypes)
        self.self_loops = nn.ModuleDict({ntype: nn.Linear(in_feats, out_feats) for ntype in ntypes})
        self.activation = activation

    def forward(self, block: Block, feats: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns new features of the destinations.

        Parameters
        ----------
        block : Block
        feats : dict of node type to tensor, [source nodes, in_feats]

        Returns
        -------
        dict of node type to tensor, [destination nodes, out_feats]
        """
        out = {
            ntype: self.self_loops[ntype](feat[: block.num_dst_nodes(ntype)])
            for ntype, feat in feats.items()
        }
        for etype, weight in zip(self.etypes, self.weights):
            src, _, dst = etype
            if block.num_edges(etype):
                out[dst] = out[dst] + mean_over_neighbors(block, weight(feats[src]), etype)
        if self.activation is None:
            return out
        return {ntype: self.activation(feat) for ntype, feat in out.items()}
