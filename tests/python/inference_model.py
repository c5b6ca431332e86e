# SPDX-License-Identifier: Apache-2.0
"""Models for the tests of graphd.inference, computed over the whole graph with torch's algebra."""

import torch

from graphd.nn import RelGraphConv, SAGEConv


def sage(in_feats, hidden, out_feats):
    """Returns the layers of a GraphSAGE of two layers with fixed weights."""
    torch.manual_seed(5)
    return torch.nn.ModuleList(
        [SAGEConv(in_feats, hidden, activation=torch.relu), SAGEConv(hidden, out_feats)]
    ).eval()


def edges_of(g, etype=None):
    """Returns the sources and destinations of all edges of a type."""
    return g.find_edges(torch.arange(g.num_edges(etype)), etype)


def mean(u, v, rows, num_dst):
    """Returns the mean over in-neighbours as the product of a sparse matrix; zeros without any."""
    matrix = torch.sparse_coo_tensor(
        torch.stack([v, u]), torch.ones(len(u)), (num_dst, len(rows))
    ).coalesce()
    degree = torch.bincount(v, minlength=num_dst).clamp(min=1)
    return torch.sparse.mm(matrix, rows) / degree.unsqueeze(1)


def sage_forward(g, layers, rows):
    """Returns the outputs of all nodes of a GraphSAGE."""
    u, v = edges_of(g)
    for layer in layers:
        rows = layer.fc_self(rows) + layer.fc_neigh(mean(u, v, rows, len(rows))) + layer.bias
        if layer.activation is not None:
            rows = layer.activation(rows)
    return rows.detach()


def rgcn(g, in_feats, hidden, out_feats):
    """Returns the layers of an R-GCN of two layers with fixed weights."""
    torch.manual_seed(6)
    types = (g.canonical_etypes, g.ntypes)
    return torch.nn.ModuleList(
        [
            RelGraphConv(in_feats, hidden, *types, torch.relu),
            RelGraphConv(hidden, out_feats, *types),
        ]
    ).eval()


def typed_inputs(g):
    """Returns fixed inputs of all nodes by type, of 6 columns."""
    draw = torch.Generator().manual_seed(3)
    return {t: torch.randn(g.num_nodes(t), 6, generator=draw) for t in g.ntypes}


def rgcn_forward(g, layers, rows):
    """Returns the outputs of all nodes of an R-GCN by type."""
    edges = {etype: edges_of(g, etype) for etype in g.canonical_etypes}
    for layer in layers:
        out = {ntype: layer.self_loops[ntype](rows[ntype]) for ntype in g.ntypes}
        for weight, (etype, (u, v)) in zip(layer.weights, edges.items()):
            src, _, dst = etype
            out[dst] = out[dst] + mean(u, v, weight(rows[src]), len(rows[dst]))
        rows = out if layer.activation is None else {t: layer.activation(h) for t, h in out.items()}
    return {ntype: h.detach() for ntype, h in rows.items()}
