# SPDX-License-Identifier: Apache-2.0
"""What samplers of mini-batches have in common: blocks, and the features that come with them."""
import functools

from .arguments import graph_of
from .errors import InvalidError
from .names import EID


class BlockSampler:
    """What makes the blocks of a mini-batch.

    Derive from it and define ``sample_blocks(g, seed_nodes, exclude_eids)``, returning (input
    nodes, output nodes, blocks), to have a sampler of your own; loaders call it from several
    threads. Those of `graphd.sampling` run without the interpreter.

    Parameters
    ----------
    prefetch_node_feats : list of str, or dict of node type to list, optional
        Features that come with the batch, in ``blocks[0].srcdata``.
    prefetch_labels : list of str, or dict, optional
        In ``blocks[-1].dstdata``.
    prefetch_edge_feats : list of str, or dict of edge type to list, optional
        In ``edata`` of every block.
    output_device
        DGL's; blocks are in host memory, and `Block.to` moves them.

    Raises
    ------
    graphd.errors.InvalidError
        If `output_device` is not the CPU.
    """

    def __init__(self, prefetch_node_feats=None, prefetch_labels=None, prefetch_edge_feats=None,
                 output_device=None):
        self.prefetch_node_feats = prefetch_node_feats or []
        self.prefetch_labels = prefetch_labels or []
        self.prefetch_edge_feats = prefetch_edge_feats or []
        if output_device is not None and str(output_device) != "cpu":
            raise InvalidError(f"output_device {output_device}: blocks are sampled in host memory; "
                               "move them with block.to(device)")

    def sample_blocks(self, g, seed_nodes, exclude_eids=None):
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
            Input layer first.

        Raises
        ------
        NotImplementedError
            In this class.
        """
        raise NotImplementedError

    def sample(self, g, seed_nodes, exclude_eids=None):
        """`sample_blocks`, with the features that were asked for. DGL's loaders call it.

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
            Input layer first.
        """
        found = self.sample_blocks(g, seed_nodes, exclude_eids)
        self.assign_lazy_features(g, found)
        return found

    def bind(self, g):
        """The sampler of one graph, as DGL's examples of distributed training write theirs: its
        ``sample_blocks`` can be the ``collate_fn`` of a `DistDataLoader`.

        Parameters
        ----------
        g : DistGraph

        Returns
        -------
        BoundSampler
        """
        return BoundSampler(self, graph_of(g))

    def assign_lazy_features(self, g, found):
        """Puts functions into the blocks that read what was asked for, when it is looked at.

        Parameters
        ----------
        g : DistGraph
        found : (input_nodes, output_nodes, blocks)
        """
        input_nodes, output_nodes, blocks = found
        for names, ids, frames in ((self.prefetch_node_feats, input_nodes, blocks[0].src_frames),
                                   (self.prefetch_labels, output_nodes, blocks[-1].dst_frames)):
            for t, name in of_node_types(g.types, names):
                some = ids[g.types.ntypes[t]] if isinstance(ids, dict) else ids
                tensor = g.nodes[g.types.ntypes[t]].data[name]
                frames[t].lazy(name, functools.partial(tensor.__getitem__, some))
        for e, name in of_edge_types(g.types, self.prefetch_edge_feats):
            tensor = g.edges[g.types.canonical_etypes[e]].data[name]
            for block in blocks:
                block.edge_frames[e].lazy(name, tensor.__getitem__, of=EID)


class BoundSampler:
    """A sampler together with its graph. `BlockSampler.bind` makes it.

    Attributes
    ----------
    sampler : BlockSampler
    g : DistGraph
    """

    def __init__(self, sampler, g):
        self.sampler, self.g = sampler, g

    def sample_blocks(self, seeds):
        """The blocks of a mini-batch, with the features that were asked for.

        Parameters
        ----------
        seeds : int64 tensor or list of int, or dict of node type to either

        Returns
        -------
        list of Block
            Input layer first.
        """
        return self.sampler.sample(self.g, seeds)[2]


def check_times(sampler, seed_times):
    """Refuses a sampler of the past that is not told when seeds ask, and any other that is."""
    needs_times = getattr(sampler, "needs_times", False)
    if seed_times is not None and not needs_times:
        raise InvalidError(f"seed_times: a {type(sampler).__name__} has no use for them; take a "
                           "TemporalSampler, or leave them away")
    if seed_times is None and needs_times:
        raise InvalidError("seed_times None: a TemporalSampler needs the time at which each seed "
                           "asks; give a tensor of as many")


def of_node_types(types, names):
    """[(type number, feature)] of what a sampler's prefetch arguments say."""
    return _of_types(types.ntype_id, names)


def of_edge_types(types, names):
    return _of_types(types.etype_id, names)


def _of_types(number_of, names):
    by_type = names if isinstance(names, dict) else ({None: names} if names else {})
    return [(number_of(of), name) for of, some in by_type.items()
            for name in ([some] if isinstance(some, str) else _names(some))]


def _names(some):
    if not isinstance(some, (list, tuple)) or not all(isinstance(name, str) for name in some):
        raise InvalidError(f"names of features {some!r}: expected a list of str")
    return some
