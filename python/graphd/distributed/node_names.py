# SPDX-License-Identifier: Apache-2.0
"""The names that nodes had in the input, in place of ids."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from .. import backend, input_names, progress
from ..errors import CorruptError, InvalidError, NotFoundError
from ..graph_base import GraphBase
from ..html import properties
from ..rows import row_ids
from ..typing import Ids, Tensor
from .original_ids import ORIGINAL_ID, by_original_id, original_ids

__all__ = ["NodeNames"]


class NodeNames:
    """The names of the nodes of one type; `DistGraph.node_names` reads them.

    The names take as much memory as their text, and 8 bytes for each. `ids_of` builds an index on
    its first call, which takes about 150 bytes more for each name. Every method may be called from
    any thread.

    Parameters
    ----------
    g : DistGraph
    type_id : int
        The number of the node type.
    path : str
        The file: a name per line, compressed by gzip, in the order of original ids.

    Raises
    ------
    graphd.errors.NotFoundError
        If the file does not exist, or the nodes have no original ids.
    graphd.errors.CorruptError
        If the file is damaged, or has another number of names than there are nodes.
    """

    def __init__(self, g: GraphBase, type_id: int, path: str) -> None:
        self._ntype = g.ntypes[type_id]
        with progress.clock(f"reading names of {self._ntype!r}"):
            self._original = self._original_ids(g, type_id)
            missing = f"nodes of type {self._ntype!r} had no names in the input"
            self._text = input_names.read(path, missing)
            self._ends = self._line_ends(path, g.handle.num_nodes(type_id))
        self._lock = threading.Lock()
        self._index: tuple[dict[bytes, int], Any] | None = None  # guarded by the lock

    def _original_ids(self, g: GraphBase, type_id: int) -> Any:
        original = original_ids(g, False, type_id)
        if original is None:
            raise NotFoundError(
                f"nodes of type {self._ntype!r} have no feature {ORIGINAL_ID!r}, by which names are "
                "ordered; partition the graph with graphctl partition"
            )
        return original

    def _line_ends(self, path: str, count: int) -> Any:
        """Returns the position of each line's end in the text."""
        import numpy

        ends = numpy.flatnonzero(numpy.frombuffer(self._text, dtype=numpy.uint8) == ord("\n"))
        if len(ends) != count:
            raise CorruptError(
                f"{path}: {len(ends)} names, expected {count}, one per node of type {self._ntype!r}; "
                "give the part config of the graph that is served"
            )
        return ends

    def __len__(self) -> int:
        """Returns the number of names."""
        return len(self._ends)

    def __repr__(self) -> str:
        return f"NodeNames({self._ntype!r}, {len(self)} names)"

    def _repr_html_(self) -> str:
        first = self.in_order(0, min(3, len(self)))
        return properties(f"NodeNames {self._ntype!r}", [("names", len(self)), ("first", first)])

    def in_order(self, begin: int, end: int) -> list[str]:
        """Returns the names of the nodes with original ids from `begin` to `end` - 1.

        Parameters
        ----------
        begin, end : int

        Returns
        -------
        list of str
        """
        return [self._name(number).decode() for number in range(begin, end)]

    def names_of(self, ids: Ids) -> list[str]:
        """Returns the names of nodes.

        Parameters
        ----------
        ids : int64 tensor or list
            Ids in the partitioned graph, as all functions take them.

        Returns
        -------
        list of str

        Raises
        ------
        graphd.errors.OutOfRangeError
            If there is no such node.
        """
        numbers = backend.to_numpy(self._original[row_ids(ids, self)]).reshape(-1)
        return [self._name(number).decode() for number in numbers.tolist()]

    def ids_of(self, names: Sequence[str]) -> Tensor:
        """Returns the ids of the nodes with these names.

        Parameters
        ----------
        names : list of str

        Returns
        -------
        int64 tensor
            Ids in the partitioned graph, in the order of the names.

        Raises
        ------
        graphd.errors.NotFoundError
            If no node has one of the names.
        graphd.errors.InvalidError
            If `names` is not a list of str.
        """
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise InvalidError(f"names {names!r}: expected a list of str")
        import numpy

        numbers, ids = self._indexed()
        try:
            found = [numbers[name.encode()] for name in names]
        except KeyError as error:
            raise NotFoundError(
                f"no node is named {error.args[0].decode()!r}; names are those of the input"
            ) from None
        return backend.from_numpy(ids[numpy.asarray(found, dtype=numpy.int64)])

    def _name(self, number: int) -> bytes:
        begin = self._ends[number - 1] + 1 if number else 0
        return self._text[begin : self._ends[number]]

    def _indexed(self) -> tuple[dict[bytes, int], Any]:
        """Returns original ids by name, and ids by original id."""
        with self._lock:
            if self._index is None:
                with progress.clock(f"indexing names of {self._ntype!r}"):
                    names = self._text.split(b"\n")[:-1]
                    numbers = {name: number for number, name in enumerate(names)}
                    self._index = numbers, by_original_id(self._original)
            return self._index
