# SPDX-License-Identifier: Apache-2.0
"""Negative edges. Names and arguments are those of ``dgl.dataloading.negative_sampler``."""
from . import _graphd, backend, seeds
from .arguments import graph_of, not_negative, whole_number


class _Negatives:
    def __init__(self, handle):
        self.handle = handle

    def __call__(self, g, eids, *, seed=None):
        """Negative edges for positive ones, as DGL's samplers give them.

        Parameters
        ----------
        eids : int64 tensor, or dict of edge type to tensor

        Returns
        -------
        (src, dst), or a dict of canonical edge type to such a pair
        """
        backend.chosen()
        graph_of(g)
        seed = seeds.given_or_next(seed)
        if not isinstance(eids, dict):
            return self._of_type(g, g.types.etype_id(None), eids, seed)
        numbers = {g.types.etype_id(name): ids for name, ids in eids.items()}
        return {g.types.canonical_etypes[e]: self._of_type(g, e, ids, seed)
                for e, ids in numbers.items()}

    def _of_type(self, g, e, ids, seed):
        src, dst = g.handle.find_edges(ids, e)
        return self.handle.sample(g.handle, e, src, dst, seed)


class negative_sampler:  # a namespace, as DGL has it
    """Makers of negative edges, for `DistEdgeDataLoader`."""

    class PerSourceUniform(_Negatives):
        """k edges for each positive one, from its source to uniform nodes.

        Parameters
        ----------
        k : int
        """

        def __init__(self, k):
            super().__init__(_graphd.per_source_uniform(whole_number(k, "k")))

    Uniform = PerSourceUniform

    class GlobalUniform(_Negatives):
        """k pairs for each positive edge that are no edge of any partition.

        Parameters
        ----------
        k : int
        exclude_self_loops, replace : bool
        redundancy : float, optional
            How many more pairs to draw than are missing; by the graph's density if not given.
        """

        def __init__(self, k, exclude_self_loops=True, replace=False, redundancy=None):
            redundancy = 0.0 if redundancy is None else not_negative(redundancy, "redundancy")
            super().__init__(_graphd.global_uniform(
                whole_number(k, "k"), bool(exclude_self_loops), bool(replace), redundancy))
