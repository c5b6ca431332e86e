# SPDX-License-Identifier: Apache-2.0
"""Partition books, which say which partition owns a node or an edge."""

from __future__ import annotations

from .. import _graphd, backend
from ..arguments import whole_number_in
from ..graph_base import GraphBase
from ..html import table
from ..schema import Types
from ..typed_graph import SizedGraph
from ..typing import EdgeType, Ids, Tensor
from .constants import DEFAULT_ETYPE, DEFAULT_NTYPE

_HOMOGENEOUS = -1


class GraphPartitionBook(SizedGraph):
    """The owners of nodes and edges, and the conversions between id spaces.

    Matches DGL's class of this name. Without a type, ids are homogeneous: numbers over all types.
    In a graph with one type these are the same as the type's own. Ids out of range raise
    `graphd.errors.InvalidError`.

    Attributes
    ----------
    g : DistGraph or None
        The graph that returned the book; None for a book that was read from a file.
    """

    def __init__(self, handle: _graphd.Book, partid: int = 0, g: GraphBase | None = None) -> None:
        backend.chosen()
        self.handle = handle
        self.types = Types(handle.schema)
        self._partid = partid
        self.g = g

    def _count_nodes(self, ntype_id: int) -> int:
        return self.handle.count(False, ntype_id)

    def _count_edges(self, etype_id: int) -> int:
        return self.handle.count(True, etype_id)

    def shared_memory(self, graph_name: str) -> None:
        """Does nothing; it exists for code that calls DGL's method.

        Parameters
        ----------
        graph_name : str
        """

    def num_partitions(self) -> int:
        """Returns the number of partitions.

        Returns
        -------
        int
        """
        return self.handle.num_partitions

    @property
    def partid(self) -> int:
        """The partition of this trainer's machine."""
        return self._partid

    def metadata(self) -> list[dict[str, int]]:
        """Returns the numbers of nodes and edges that each partition owns.

        Returns
        -------
        list of dict
            machine_id, num_nodes and num_edges.
        """
        return [
            {
                "machine_id": p,
                "num_nodes": self.handle.count_in(False, _HOMOGENEOUS, p),
                "num_edges": self.handle.count_in(True, _HOMOGENEOUS, p),
            }
            for p in range(self.num_partitions())
        ]

    def ntype_id(self, ntype: str | None) -> int:
        """Returns the number of a node type.

        Parameters
        ----------
        ntype : str

        Returns
        -------
        int
            -1 for DGL's default name in a graph that has no type of this name: homogeneous ids.
        """
        if ntype == DEFAULT_NTYPE and DEFAULT_NTYPE not in self.types.ntypes:
            return _HOMOGENEOUS
        return self.types.ntype_id(ntype)

    def etype_id(self, etype: EdgeType | None) -> int:
        """Returns the number of an edge type.

        Parameters
        ----------
        etype : str or (str, str, str)

        Returns
        -------
        int
            -1 for DGL's default name in a graph that has no type of this name: homogeneous ids.
        """
        if etype in (DEFAULT_ETYPE, "_E") and "_E" not in self.types.etypes:
            return _HOMOGENEOUS
        return self.types.etype_id(etype)

    def nid2partid(self, nids: Ids, ntype: str | None = DEFAULT_NTYPE) -> Tensor:
        """Returns the partitions that own nodes.

        Parameters
        ----------
        nids : int64 tensor or list
            Ids within the type; homogeneous ids without a type.
        ntype : str

        Returns
        -------
        int64 tensor
        """
        return self.handle.owners(False, self.ntype_id(ntype), nids)

    def eid2partid(self, eids: Ids, etype: EdgeType | None = DEFAULT_ETYPE) -> Tensor:
        """Returns the partitions that own edges.

        Parameters
        ----------
        eids : int64 tensor or list
            Ids within the type; homogeneous ids without a type.
        etype : str or (str, str, str)

        Returns
        -------
        int64 tensor
        """
        return self.handle.owners(True, self.etype_id(etype), eids)

    def partid2nids(self, partid: int, ntype: str | None = DEFAULT_NTYPE) -> Tensor:
        """Returns the nodes that a partition owns.

        Parameters
        ----------
        partid : int
        ntype : str

        Returns
        -------
        int64 tensor, ascending
        """
        return self.handle.ids_of(False, self.ntype_id(ntype), self._part(partid))

    def partid2eids(self, partid: int, etype: EdgeType | None = DEFAULT_ETYPE) -> Tensor:
        """Returns the edges that a partition owns.

        Parameters
        ----------
        partid : int
        etype : str or (str, str, str)

        Returns
        -------
        int64 tensor, ascending
        """
        return self.handle.ids_of(True, self.etype_id(etype), self._part(partid))

    def _part(self, partid: int) -> int:
        return whole_number_in(partid, "partid", 0, self.num_partitions() - 1)

    def nid2localnid(
        self, nids: Ids, partid: int | None = None, ntype: str | None = DEFAULT_NTYPE
    ) -> Tensor:
        """Returns the local ids of nodes, which are their rows in the partition that owns them.

        Parameters
        ----------
        nids : int64 tensor or list
            Ids within the type; homogeneous ids without a type.
        partid : int, optional
            Accepted for DGL; has no effect, since nodes of any partition are accepted.
        ntype : str

        Returns
        -------
        int64 tensor
        """
        return self.handle.local_rows(False, self.ntype_id(ntype), nids)

    def eid2localeid(
        self, eids: Ids, partid: int | None = None, etype: EdgeType | None = DEFAULT_ETYPE
    ) -> Tensor:
        """Returns the local ids of edges, which are their rows in the partition that owns them.

        Parameters
        ----------
        eids : int64 tensor or list
            Ids within the type; homogeneous ids without a type.
        partid : int, optional
            Accepted for DGL; has no effect, since edges of any partition are accepted.
        etype : str or (str, str, str)

        Returns
        -------
        int64 tensor
        """
        return self.handle.local_rows(True, self.etype_id(etype), eids)

    def map_to_per_ntype(self, ids: Ids) -> tuple[Tensor, Tensor]:
        """Converts homogeneous node ids to types and ids within these.

        Parameters
        ----------
        ids : int64 tensor or list

        Returns
        -------
        types, ids : int64 tensor
        """
        return self.handle.to_typed(False, ids)

    def map_to_per_etype(self, ids: Ids) -> tuple[Tensor, Tensor]:
        """Converts homogeneous edge ids to types and ids within these.

        Parameters
        ----------
        ids : int64 tensor or list

        Returns
        -------
        types, ids : int64 tensor
        """
        return self.handle.to_typed(True, ids)

    def map_to_homo_nid(self, ids: Ids, ntype: str | None) -> Tensor:
        """Converts ids of a type's nodes to homogeneous ids.

        Parameters
        ----------
        ids : int64 tensor or list
        ntype : str

        Returns
        -------
        int64 tensor
        """
        return self.handle.to_homo(False, self.types.ntype_id(ntype), ids)

    def map_to_homo_eid(self, ids: Ids, etype: EdgeType | None) -> Tensor:
        """Converts ids of a type's edges to homogeneous ids.

        Parameters
        ----------
        ids : int64 tensor or list
        etype : str or (str, str, str)

        Returns
        -------
        int64 tensor
        """
        return self.handle.to_homo(True, self.types.etype_id(etype), ids)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}('{self.handle.graph_name}', {self.num_partitions()} partitions)"
        )

    def _repr_html_(self) -> str:
        return table(
            f"{type(self).__name__} {self.handle.graph_name!r}",
            ("partition", "nodes", "edges"),
            [(p["machine_id"], p["num_nodes"], p["num_edges"]) for p in self.metadata()],
        )
