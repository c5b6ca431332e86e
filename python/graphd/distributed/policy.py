# SPDX-License-Identifier: Apache-2.0
"""Policies that say how the rows of a tensor are spread over partitions."""

from __future__ import annotations

from typing import Any

from .. import _graphd, backend
from ..arguments import one_of, text, whole_number_in
from ..errors import InvalidError
from ..graph_base import GraphBase
from ..html import table
from ..typing import EdgeType, Ids, Tensor, Triple
from .book import GraphPartitionBook
from .constants import DEFAULT_ETYPE, DEFAULT_NTYPE
from .range_book import book_of


class PartitionPolicy:
    """The nodes or edges with which the rows of a tensor are stored.

    Matches DGL's class of this name. `DistGraph.get_node_partition_policy` and
    `DistGraph.get_edge_partition_policy` return policies.

    Parameters
    ----------
    policy_str : str
        "node~user" or "edge~user:follows:user", or in a graph with one type "node" or "edge".
        "range" stands for neither: of N rows, partition p of P has the rows from p*N/P to
        (p+1)*N/P.
    partition_book : GraphPartitionBook or DistGraph
        A DistGraph, or a partition book. Tensors need the policy of a graph or of its book; the policy
        of a book that was read from a file or made from ranges can only look up owners.
    type_id : int, optional
        The number of the node or edge type, in place of its name in `policy_str`.

    Raises
    ------
    graphd.errors.InvalidError
        If `policy_str` or `partition_book` is not valid, or no type is named and there are several.
    graphd.errors.NotFoundError
        If there is no such type.
    """

    _rows: int | None = None  # the number of rows of the tensor, for "range"

    def __init__(
        self,
        policy_str: str,
        partition_book: GraphPartitionBook | GraphBase,
        type_id: int | None = None,
    ) -> None:
        expected = "a policy, as 'node~user', 'edge~user:follows:user' or 'range'"
        kind, _, name = text(policy_str, "policy_str", expected).partition("~")
        self.kind = one_of(kind, "policy_str", ("node", "edge", "range"))
        self._source, self.type_id = _source_of(partition_book), 0
        if name and (kind == "range" or type_id is not None):
            raise InvalidError(f"policy_str {policy_str!r}: expected {kind!r} without a name")
        if kind == "range":
            return
        types = self._source.types
        if type_id is None:
            find = types.ntype_id if self.is_node else types.etype_id
            self.type_id = find(name or None)
        else:
            count = len(types.ntypes if self.is_node else types.etypes)
            self.type_id = whole_number_in(type_id, "type_id", 0, count - 1)

    def with_rows(self, rows: int) -> PartitionPolicy:
        """Returns the policy of a tensor with this number of rows; for "range" a new one.

        Parameters
        ----------
        rows : int

        Returns
        -------
        PartitionPolicy
        """
        if self.kind != "range":
            return self
        policy = PartitionPolicy(self.kind, self._source)
        policy._rows = rows
        return policy

    @property
    def g(self) -> GraphBase:
        """The DistGraph to which the policy belongs. Raises InvalidError if the policy's book
        belongs to no graph."""
        if not isinstance(self._source, GraphBase):
            raise InvalidError(
                f"{self!r} is of {self._source!r}, which belongs to no graph; for tensors, give the "
                "policy of a DistGraph, as g.get_node_partition_policy(ntype)"
            )
        return self._source

    @property
    def _book(self) -> _graphd.Book:
        """The extension module's book."""
        source = self._source
        return source.handle.book if isinstance(source, GraphBase) else source.handle

    def _num_rows(self) -> int:
        """Returns the number of rows of a "range" policy."""
        if self._rows is None:
            raise InvalidError(
                'a PartitionPolicy("range", g) has no rows without a tensor; use tensor.part_policy'
            )
        return self._rows

    def _bounds(self) -> Any:
        """Returns the first row of each partition, and the end, for a "range" policy."""
        import numpy

        parts = self.partition_book.num_partitions()
        return numpy.arange(parts + 1, dtype=numpy.int64) * self._num_rows() // parts

    def _range_owners(self, ids: Ids) -> tuple[Any, Any]:
        """Returns (ids, their partitions) as arrays, for a "range" policy."""
        import numpy

        bounds = self._bounds()
        ids = numpy.asarray(backend.to_numpy(ids) if hasattr(ids, "dtype") else ids)
        if len(ids) and not (ids.min() >= 0 and ids.max() < self._num_rows()):
            raise InvalidError(
                f"ids from {ids.min()} to {ids.max()}: expected 0 to {self._num_rows() - 1}"
            )
        return ids, numpy.searchsorted(bounds, ids, side="right") - 1

    @classmethod
    def of_size(cls, size: int, g: GraphBase) -> PartitionPolicy:
        """Returns the only policy with this number of objects.

        Parameters
        ----------
        size : int
        g : DistGraph

        Returns
        -------
        PartitionPolicy

        Raises
        ------
        graphd.errors.InvalidError
            If no policy, or more than one, has this size.
        """
        found = [
            cls(kind, g, t)
            for kind, count in (("node", len(g.ntypes)), ("edge", len(g.etypes)))
            for t in range(count)
            if cls(kind, g, t).get_size() == size
        ]
        if not found:
            raise InvalidError(
                f"no type of nodes or edges has {size} objects; give as many rows as one has, or "
                'part_policy=PartitionPolicy("range", g) for rows that belong to neither'
            )
        if len(found) > 1:
            raise InvalidError(
                f"{len(found)} types of nodes and edges have {size} objects; choose one with "
                "part_policy=g.get_node_partition_policy(ntype)"
            )
        return found[0]

    @property
    def policy_str(self) -> str:
        """The policy as a string: "node~user", "edge~user:follows:user", "range"."""
        if self.kind == "range":
            return self.kind
        name = self.type_name
        return f"{self.kind}~{name if isinstance(name, str) else ':'.join(name)}"

    @property
    def type_name(self) -> str | Triple:
        """Name of the node type, or triple of the edge type; "" for a "range" policy."""
        types = self._source.types
        if self.kind == "node":
            return types.ntypes[self.type_id]
        return types.canonical_etypes[self.type_id] if self.kind == "edge" else ""

    @property
    def is_node(self) -> bool:
        """Whether the rows are stored with nodes."""
        return self.kind == "node"

    @property
    def part_id(self) -> int:
        """The partition of this trainer's machine. For a book that belongs to no graph, the book's
        own partition."""
        source = self._source
        return source.handle.local_partition if isinstance(source, GraphBase) else source.partid

    @property
    def partition_book(self) -> GraphPartitionBook:
        """The graph's `GraphPartitionBook`, or the book that the policy was made from."""
        source = self._source
        return (
            book_of(self._book, self.part_id, source) if isinstance(source, GraphBase) else source
        )

    def get_size(self) -> int:
        """Returns the number of objects in all partitions.

        Returns
        -------
        int
        """
        if self.kind == "range":
            return self._num_rows()
        return self._book.count(self.kind == "edge", self.type_id)

    def get_part_size(self) -> int:
        """Returns the number of objects in this trainer's partition.

        Returns
        -------
        int
        """
        return self._part_sizes()[self.part_id]

    def _part_sizes(self) -> list[int]:
        """Returns the number of objects in each partition."""
        if self.kind == "range":
            bounds = self._bounds().tolist()
            return [end - begin for begin, end in zip(bounds, bounds[1:])]
        book = self._book
        return [
            book.count_in(self.kind == "edge", self.type_id, p) for p in range(book.num_partitions)
        ]

    def local_ids(self) -> Tensor:
        """Returns the objects of this trainer's partition.

        Returns
        -------
        int64 tensor
        """
        if self.kind == "range":
            import numpy

            begin, end = self._bounds()[self.part_id : self.part_id + 2]
            return backend.from_numpy(numpy.arange(begin, end, dtype=numpy.int64))
        return self._book.ids_of(self.kind == "edge", self.type_id, self.part_id)

    def to_partid(self, ids: Ids) -> Tensor:
        """Returns the partitions that own objects.

        Parameters
        ----------
        ids : int64 tensor or list

        Returns
        -------
        int64 tensor
        """
        if self.kind == "range":
            return backend.from_numpy(self._range_owners(ids)[1])
        return self._book.owners(self.kind == "edge", self.type_id, ids)

    def to_local(self, ids: Ids) -> Tensor:
        """Returns the local ids of objects, which are their rows in the partition that owns them.

        Parameters
        ----------
        ids : int64 tensor or list

        Returns
        -------
        int64 tensor
        """
        if self.kind == "range":
            ids, owners = self._range_owners(ids)
            return backend.from_numpy(ids - self._bounds()[owners])
        return self._book.local_rows(self.kind == "edge", self.type_id, ids)

    def __repr__(self) -> str:
        return f"PartitionPolicy('{self.policy_str}')"

    def _repr_html_(self) -> str:
        has_rows = self.kind != "range" or self._rows is not None
        sizes = self._part_sizes() if has_rows else []
        return table(repr(self), ("partition", "rows"), enumerate(sizes))


class NodePartitionPolicy(PartitionPolicy):
    """The policy of rows that are stored with nodes, made from a book, as in DGL.

    Parameters
    ----------
    partition_book : GraphPartitionBook
        The book of a DistGraph, to which the policy belongs, or another one, for lookups.
    ntype : str
        Default: the only type.
    """

    def __init__(
        self, partition_book: GraphPartitionBook, ntype: str | None = DEFAULT_NTYPE
    ) -> None:
        number = _book_of(partition_book).ntype_id(ntype)
        super().__init__("node", partition_book, None if number < 0 else number)


class EdgePartitionPolicy(PartitionPolicy):
    """The policy of rows that are stored with edges, made from a book, as in DGL.

    Parameters
    ----------
    partition_book : GraphPartitionBook
        The book of a DistGraph, to which the policy belongs, or another one, for lookups.
    etype : str or (str, str, str)
        Default: the only type.
    """

    def __init__(
        self, partition_book: GraphPartitionBook, etype: EdgeType | None = DEFAULT_ETYPE
    ) -> None:
        number = _book_of(partition_book).etype_id(etype)
        super().__init__("edge", partition_book, None if number < 0 else number)


def _source_of(given: Any) -> GraphBase | GraphPartitionBook:
    """Returns the graph to which a book belongs, or a graph that is given in place of its book, or
    a book that belongs to no graph."""
    return given if isinstance(given, GraphBase) else _book_of(given).g or given


def _book_of(book: Any) -> GraphPartitionBook:
    """Returns a book."""
    if not isinstance(book, GraphPartitionBook):
        raise InvalidError(
            f"partition_book {book!r}: expected a book, as g.get_partition_book() gives that of a "
            "DistGraph"
        )
    return book
