# SPDX-License-Identifier: Apache-2.0
"""Samplers of negative edges, under the names of ``dgl.dataloading.negative_sampler``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Union

from . import _graphd, backend, seeds
from .arguments import not_negative, whole_number
from .errors import InvalidError
from .graph_base import GraphBase, graph_of
from .html import properties
from .typing import EdgeIds, Ids, Tensor, Triple

Pair = tuple[Tensor, Tensor]  # sources and destinations
# A negative sampler that a user has written: a function of a graph and of the ids of edges.
Function = Callable[[Any, Any], Union[Pair, Mapping[Any, Pair]]]


class NegativeSampler:
    """The base class of samplers of negative edges.

    Attributes
    ----------
    handle
        The sampler of the extension module.
    """

    def __init__(self, handle: _graphd.NegativeSampler, **options: Any) -> None:
        self.handle, self._options = handle, options

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self._options.items())
        return f"{type(self).__name__}({options})"

    def _repr_html_(self) -> str:
        return properties(type(self).__name__, self._options.items())

    def __call__(
        self, g: GraphBase, eids: EdgeIds, *, seed: int | None = None
    ) -> Pair | dict[Triple, Pair]:
        """Returns negative edges for positive ones, as DGL's samplers do.

        Parameters
        ----------
        g : DistGraph
        eids : int64 tensor, or dict of edge type to tensor
        seed : int, optional
            The same seed gives the same edges, wherever the partitions are.

        Returns
        -------
        (src, dst), or a dict of canonical edge type to such a pair
        """
        backend.chosen()
        graph_of(g)
        seed = seeds.given_or_next(seed)
        if not isinstance(eids, Mapping):
            return self._of_type(g, g.types.etype_id(None), eids, seed)
        numbers = {g.types.etype_id(name): ids for name, ids in eids.items()}
        return {
            g.types.canonical_etypes[e]: self._of_type(g, e, ids, seed)
            for e, ids in numbers.items()
        }

    def _of_type(self, g: GraphBase, e: int, ids: Ids, seed: int) -> Pair:
        src, dst = g.handle.find_edges(ids, e)
        return self.handle.sample(g.handle, e, src, dst, seed)


class negative_sampler:  # a namespace, as in DGL
    """Samplers of negative edges, for `DistEdgeDataLoader`."""

    class PerSourceUniform(NegativeSampler):
        """A sampler of k negative edges for each positive edge, from its source to random nodes.

        Parameters
        ----------
        k : int
        """

        def __init__(self, k: int) -> None:
            super().__init__(_graphd.per_source_uniform(whole_number(k, "k")), k=k)

    Uniform = PerSourceUniform

    class GlobalUniform(NegativeSampler):
        """A sampler of k pairs for each positive edge; the pairs are not edges in any partition.

        Parameters
        ----------
        k : int
        exclude_self_loops, replace : bool
        redundancy : float, optional
            Surplus of pairs to draw, as a fraction of those that are missing. Default: depends on
            the graph's density.
        """

        def __init__(
            self,
            k: int,
            exclude_self_loops: bool = True,
            replace: bool = False,
            redundancy: float | None = None,
        ) -> None:
            redundancy = 0.0 if redundancy is None else not_negative(redundancy, "redundancy")
            super().__init__(
                _graphd.global_uniform(
                    whole_number(k, "k"), bool(exclude_self_loops), bool(replace), redundancy
                ),
                k=k,
                exclude_self_loops=exclude_self_loops,
                replace=replace,
            )


def negative_handle(g: GraphBase, sampler: NegativeSampler | Function) -> _graphd.NegativeSampler:
    """Returns the extension module's sampler for a sampler of graphd or a function of the user."""
    if isinstance(sampler, NegativeSampler):
        return sampler.handle
    if isinstance(sampler, type) or not callable(sampler):
        raise InvalidError(
            f"negative_sampler {sampler!r}: expected one of graphd.sampling.negative_sampler, as "
            "negative_sampler.Uniform(5), or a function of (graph, edge ids)"
        )

    def sample(etype_id: int, eids: Tensor) -> Pair:
        etype = g.types.canonical_etypes[etype_id]
        is_only_type = len(g.types.canonical_etypes) == 1
        try:
            found: Any = sampler(g, eids if is_only_type else {etype: eids})
        except StopIteration as error:  # callers of a loader would take this for its end
            raise RuntimeError(f"negative_sampler {sampler!r} raised StopIteration") from error
        if isinstance(found, Mapping):
            by_type = {g.types.etype_id(name): pair for name, pair in found.items()}
            found = by_type.pop(etype_id, ([], []))
            if by_type:
                raise InvalidError(
                    f"negative_sampler {sampler!r}: it was asked about {etype} and returned edges "
                    "of other types, too; return those of the ids' type"
                )
        if isinstance(found, str) or not hasattr(found, "__len__") or len(found) != 2:
            raise InvalidError(
                f"negative_sampler {sampler!r}: it returned {type(found)} for edges of {etype}; "
                "expected (sources, destinations), or a dict of edge type to that"
            )
        return found[0], found[1]

    return _graphd.python_negatives(sample)
