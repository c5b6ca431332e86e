# SPDX-License-Identifier: Apache-2.0
"""Base classes of everything that has node and edge types, and their documentation."""

from __future__ import annotations

from typing import Any

from .arguments import FORMS, one_of
from .html import table
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


class EdgeListGraph(SizedGraph):
    """The base class of graphs whose edges are in this process."""

    def _edges(self, etype_id: int) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the sources, destinations and ids of the edges of a type, given by its number."""
        raise NotImplementedError

    def edges(self, form: str = "uv", order: str = "eid", etype: EdgeType | None = None) -> Any:
        """Returns the edges.

        Parameters
        ----------
        form : {"uv", "eid", "all"}
            Which of them to return: the ends, the ids, or both.
        order
            DGL's; without effect.
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        tensor, or tuple of tensors
            Sources and destinations, ids, or all three.
        """
        one_of(form, "form", FORMS)
        u, v, ids = self._edges(self.types.etype_id(etype))
        return {"uv": (u, v), "eid": ids, "all": (u, v, ids)}[form]

    all_edges = edges

    def _repr_html_(self) -> str:
        nodes = [(ntype, self.num_nodes(ntype)) for ntype in self.ntypes]
        edges = [(etype, self.num_edges(etype)) for etype in self.canonical_etypes]
        return table(type(self).__name__, ("node type", "nodes"), nodes) + table(
            "", ("edge type", "edges"), edges
        )
