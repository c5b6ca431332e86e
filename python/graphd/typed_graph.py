# SPDX-License-Identifier: Apache-2.0
"""Base classes of everything that has node and edge types, and their documentation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import backend
from .arguments import FORMS, one_of
from .frame import Frame
from .html import table
from .names import EID
from .schema import Types
from .typing import EdgeType, Tensor, Triple


class TypedGraph:
    """The base class of graphs, blocks and partition books: names of types, numbers of edges."""

    types: Types

    def _count_edges(self, etype_id: int) -> int:
        """Returns the number of edges of a type, given by its number."""
        raise NotImplementedError

    @property
    def ntypes(self) -> list[str]:
        """Names of the node types."""
        return self.types.ntypes

    @property
    def etypes(self) -> list[str]:
        """Relations of the edge types."""
        return self.types.etypes

    @property
    def canonical_etypes(self) -> list[Triple]:
        """(source type, relation, destination type) of each edge type."""
        return self.types.canonical_etypes

    @property
    def is_homogeneous(self) -> bool:
        """Whether there is one node type and one edge type."""
        return self.types.is_homogeneous

    def to_canonical_etype(self, etype: EdgeType) -> Triple:
        """Returns the canonical edge type of a relation.

        Parameters
        ----------
        etype : str or (str, str, str)

        Returns
        -------
        (str, str, str)
        """
        return self.types.canonical_etypes[self.types.etype_id(etype)]

    def num_edges(self, etype: EdgeType | None = None) -> int:
        """Returns the number of edges.

        Parameters
        ----------
        etype : str or (str, str, str), optional
            Default: the only type, or all of them together.

        Returns
        -------
        int
        """
        if etype is None:
            return sum(map(self._count_edges, range(len(self.types.etypes))))
        return self._count_edges(self.types.etype_id(etype))

    number_of_edges = num_edges


class SizedGraph(TypedGraph):
    """The base class of everything that has nodes of one kind, not sources and destinations."""

    def _count_nodes(self, ntype_id: int) -> int:
        """Returns the number of nodes of a type, given by its number."""
        raise NotImplementedError

    def num_nodes(self, ntype: str | None = None) -> int:
        """Returns the number of nodes.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type, or all of them together.

        Returns
        -------
        int
        """
        if ntype is None:
            return sum(map(self._count_nodes, range(len(self.types.ntypes))))
        return self._count_nodes(self.types.ntype_id(ntype))

    number_of_nodes = num_nodes


class TypeData:
    """The result of ``graph.edges["follows"]``: an object with the data of one type.

    Attributes
    ----------
    data : mapping of str to tensor
    """

    def __init__(self, data: Frame) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"TypeData(data={self.data!r})"


def local_ids(count: int) -> Tensor:
    """Returns the numbers from 0 to count - 1."""
    import numpy

    return backend.from_numpy(numpy.arange(count, dtype=numpy.int64))


class NodeView:
    """A view of nodes: ``view("user")`` are local ids, ``view["user"].data`` is the data.

    Parameters
    ----------
    types : Types
    counts : list of int
        Numbers of nodes, by number of the node type.
    frames : list of Frame
        Their data.
    place : function, optional
        Moves a tensor to the device of the nodes.
    """

    def __init__(
        self,
        types: Types,
        counts: Sequence[int],
        frames: Sequence[Frame],
        place: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        self._types, self._counts, self._frames, self._place = types, counts, frames, place

    def __repr__(self) -> str:
        return f"NodeView({dict(zip(self._types.ntypes, self._counts))})"

    def _repr_html_(self) -> str:
        return table("NodeView", ("node type", "nodes"), zip(self._types.ntypes, self._counts))

    def __call__(self, ntype: str | None = None) -> Tensor:
        ids = local_ids(self._counts[self._types.ntype_id(ntype)])
        return ids if self._place is None else self._place(ids)

    def __getitem__(self, ntype: str | None) -> TypeData:
        return TypeData(self._frames[self._types.ntype_id(ntype)])


class EdgeView:
    """A view of edges: ``view(etype=...)`` are their ends, ``view[etype].data`` is the data."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def __repr__(self) -> str:
        return f"EdgeView({self._graph.types.canonical_etypes})"

    def _repr_html_(self) -> str:
        edges = [(etype, self._graph.num_edges(etype)) for etype in self._graph.canonical_etypes]
        return table("EdgeView", ("edge type", "edges"), edges)

    def __call__(self, form: str = "uv", order: str = "eid", etype: EdgeType | None = None) -> Any:
        one_of(form, "form", FORMS)
        u, v, ids = self._graph._edges(self._graph.types.etype_id(etype))
        return {"uv": (u, v), "eid": ids, "all": (u, v, ids)}[form]

    def __getitem__(self, etype: EdgeType | None) -> TypeData:
        return TypeData(self._graph._frames_of_edges()[self._graph.types.etype_id(etype)])


class EdgeListGraph(SizedGraph):
    """The base class of graphs whose edges are in this process."""

    def _edges(self, etype_id: int) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the sources, destinations and ids of the edges of a type, given by its number."""
        raise NotImplementedError

    def _frames_of_edges(self) -> Sequence[Frame]:
        """Returns the data of the edges of each type."""
        makers = [functools.partial(_ids, etype_id=e) for e in range(len(self.types.etypes))]
        return [Frame({EID: make}, self) for make in makers]

    @property
    def edges(self) -> EdgeView:
        """``edges(form="uv", etype=None)`` returns sources and destinations; the form "eid" returns
        ids, and "all" returns all three. ``edges[etype].data`` is ``edata`` of a type.
        """
        return EdgeView(self)

    @property
    def all_edges(self) -> EdgeView:
        """The same as `edges`."""
        return self.edges

    def _repr_html_(self) -> str:
        nodes = [(ntype, self.num_nodes(ntype)) for ntype in self.ntypes]
        edges = [(etype, self.num_edges(etype)) for etype in self.canonical_etypes]
        return table(type(self).__name__, ("node type", "nodes"), nodes) + table(
            "", ("edge type", "edges"), edges
        )


def _ids(graph: EdgeListGraph, etype_id: int) -> Tensor:
    return graph._edges(etype_id)[2]
