# SPDX-License-Identifier: Apache-2.0
"""Blocks as the objects of DGL and PyG. Imported when one of them is asked for."""
import importlib

from .block import Block
from .errors import InvalidError
from .names import EID, NID


def _import(name, package):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InvalidError(f"{name} can't be imported ({error}); install it: pip install {package}"
                           ) from error


def block_to_dgl(block):
    """See `graphd.Block.to_dgl`."""
    dgl = _import("dgl", "dgl")
    types = block.types
    edges = {etype: block.edges(etype=etype) for etype in types.canonical_etypes}
    made = dgl.create_block(
        edges, num_src_nodes={t: block.num_src_nodes(t) for t in types.ntypes},
        num_dst_nodes={t: block.num_dst_nodes(t) for t in types.ntypes})
    for t, ntype in enumerate(types.ntypes):
        made.srcnodes[ntype].data.update(block.src_frames[t])
        made.dstnodes[ntype].data.update(block.dst_frames[t])
    for frame, etype in zip(block.edge_frames, types.canonical_etypes):
        made.edges[etype].data.update(_whole(frame, block.num_edges(etype)))
    return made


def _whole(frame, count):
    """Data with a row per edge; a sampler that tells no edge ids gives none."""
    return {name: rows for name, rows in frame.items() if len(rows) == count}


def to_pyg(blocks):
    """The blocks of a mini-batch as one graph, as PyG's ``NeighborLoader`` yields it.

    Nodes are numbered seeds first, then those that each hop found. Each node has the in-edges that
    were sampled when it was met first; those that an outer block sampled for it again are left out,
    for PyG's models have every edge in every layer.

    Parameters
    ----------
    blocks : list of Block
        Input layer first.

    Returns
    -------
    torch_geometric.data.Data or HeteroData
        With ``edge_index``, ``n_id``, ``e_id``, ``batch_size``, ``num_sampled_nodes`` and
        ``num_sampled_edges``; data of the input nodes by name, "feat" as ``x``, too; labels of the
        seeds, "label" as ``y``, too. Of a `TemporalSampler` also ``batch``, the seed of each
        node, and ``seed_time``.

    Raises
    ------
    graphd.errors.InvalidError
        If `blocks` is no list of them, or PyG is not installed.
    """
    if not isinstance(blocks, (list, tuple)) or not all(isinstance(b, Block) for b in blocks):
        raise InvalidError(f"blocks {type(blocks)}: expected the list of blocks that a loader "
                           "yields last; block.to_pyg() is for a single one")
    pyg = _import("torch_geometric.data", "torch_geometric")
    types = blocks[0].types
    if types.is_homogeneous:
        data = pyg.Data()
        _put_nodes(data, blocks, 0)
        _put_edges(data, blocks, 0)
        return data
    data = pyg.HeteroData()
    for t, ntype in enumerate(types.ntypes):
        _put_nodes(data[ntype], blocks, t)
    for e, etype in enumerate(types.canonical_etypes):
        _put_edges(data[etype], blocks, e)
    return data


def _put_nodes(store, blocks, t):
    ntype = blocks[0].types.ntypes[t]
    frame = blocks[0].src_frames[t]
    store.n_id = frame[NID]
    store.num_nodes = len(store.n_id)
    store.batch_size = blocks[-1].num_dst_nodes(ntype)
    counts = [block.num_src_nodes(ntype) for block in reversed(blocks)]
    store.num_sampled_nodes = [store.batch_size] + [
        after - before for before, after in zip([store.batch_size] + counts, counts)]
    for name, rows in frame.items():
        if name != NID:
            store[name] = rows
    for name, rows in blocks[-1].dst_frames[t].items():
        if name != NID and name not in frame:
            store[name] = rows
    if "feat" in frame:
        store.x = frame["feat"]
    if "root" in frame:
        store.batch = frame["root"]
    if "label" in blocks[-1].dst_frames[t]:
        store.y = blocks[-1].dst_frames[t]["label"]


def _put_edges(store, blocks, e):
    import torch

    types = blocks[0].types
    etype, dst_type = types.canonical_etypes[e], types.ntypes[types.dst_types[e]]
    indices, data, counts, known = [], {}, [], 0
    for block in reversed(blocks):
        u, v = block.coo(etype)
        begin = int(block.csc(etype)[0][known])  # rows of nodes that this hop has met first
        indices.append(torch.stack([u[begin:], v[begin:]]))
        for name, rows in _whole(block.edge_frames[e], len(u)).items():
            data.setdefault(name, []).append(rows[begin:])
        counts.append(len(u) - begin)
        known = block.num_dst_nodes(dst_type)
    store.edge_index = torch.cat(indices, dim=1)
    store.num_sampled_edges = counts
    for name, parts in data.items():
        if len(parts) == len(blocks):
            store["e_id" if name == EID else name] = torch.cat(parts)
