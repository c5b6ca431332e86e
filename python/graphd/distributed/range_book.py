# SPDX-License-Identifier: Apache-2.0
"""The partition books of graphs and of files, most of which have a range of ids per partition."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from typing import Any

from .. import _graphd
from ..arguments import part_config_file, whole_number, whole_number_in
from ..errors import GraphdError, InvalidError
from ..graph_base import GraphBase
from ..typing import Path, Tensor, Triple
from .book import GraphPartitionBook


class RangePartitionBook(GraphPartitionBook):
    """A partition book in which a partition owns a range of the ids of each type.

    Matches DGL's class of this name. `DistGraph.get_partition_book` and `load_partition_book`
    return one, unless the graph was partitioned without new ids, as DGL did up to 0.9 with
    ``reshuffle=False``. A book that is made from ranges, and policies that are made from it, can
    only look up owners: tensors need policies that are made from the book of a graph.

    Parameters
    ----------
    part_id, num_parts : int
    node_map : dict of str to tensor, [num_parts, 2]
        For each node type the first homogeneous id in each partition, and the end.
    edge_map : dict of (str, str, str) to tensor, [num_parts, 2]
        The same for each canonical edge type.
    ntypes : dict of str to int
        Numbers of the node types, from 0.
    etypes : dict of (str, str, str) to int
        Numbers of the edge types, from 0.

    Raises
    ------
    graphd.errors.InvalidError
        If the ranges do not cover the ids from 0, or do not fit the types.
    """

    def __init__(
        self,
        part_id: int,
        num_parts: int,
        node_map: Mapping[str, Tensor],
        edge_map: Mapping[Triple, Tensor],
        ntypes: Mapping[str, int],
        etypes: Mapping[Triple, int],
    ) -> None:
        whole_number_in(num_parts, "num_parts", 1, 1 << 14)
        whole_number_in(part_id, "part_id", 0, num_parts - 1)
        nodes = _ranges(node_map, "node_map", num_parts)
        edges = _ranges(edge_map, "edge_map", num_parts)
        no_file = {"part_graph": "-", "node_feats": "-", "edge_feats": "-"}
        config = {
            "graph_name": "ranges",
            "part_method": "ranges",
            "num_parts": num_parts,
            "halo_hops": 1,
            "num_nodes": _end(nodes),
            "num_edges": _end(edges),
            "node_map": nodes,
            "edge_map": edges,
            "ntypes": _numbers(ntypes, "ntypes"),
            "etypes": _numbers(etypes, "etypes"),
            **{f"part-{p}": no_file for p in range(num_parts)},
        }
        super().__init__(_book_of_config(config), part_id)

    @classmethod
    def of(
        cls, handle: _graphd.Book, partid: int = 0, g: GraphBase | None = None
    ) -> RangePartitionBook:
        """Returns a book that exists, by its handle in the extension module.

        Parameters
        ----------
        handle
        partid : int
        g : DistGraph, optional

        Returns
        -------
        RangePartitionBook
        """
        self = cls.__new__(cls)
        GraphPartitionBook.__init__(self, handle, partid, g)
        return self


def book_of(
    handle: _graphd.Book, partid: int = 0, g: GraphBase | None = None
) -> GraphPartitionBook:
    """Returns a book by its handle in the extension module: a `RangePartitionBook` if each
    partition has a range of ids."""
    if handle.is_range:
        return RangePartitionBook.of(handle, partid, g)
    return GraphPartitionBook(handle, partid, g)


def load_partition_book(
    part_config: Path, part_id: int = 0
) -> tuple[GraphPartitionBook, str, dict[str, int], dict[Triple, int]]:
    """Reads the partition book of a part config.

    Parameters
    ----------
    part_config : str
    part_id : int
        The book's own partition.

    Returns
    -------
    GraphPartitionBook
    str
        The graph's name.
    dict, dict
        Numbers of node types and of canonical edge types, by name.
    """
    handle = _graphd.load_book(part_config_file(part_config))
    part_id = whole_number_in(part_id, "part_id", 0, handle.num_partitions - 1)
    book = book_of(handle, part_id)
    return (
        book,
        handle.graph_name,
        {name: i for i, name in enumerate(book.ntypes)},
        {name: i for i, name in enumerate(book.canonical_etypes)},
    )


def _key(name: Any, what: str) -> str:
    """Returns the name of a type as part configs have it."""
    if isinstance(name, str) and what in ("node_map", "ntypes"):
        return name
    is_triple = isinstance(name, tuple) and len(name) == 3
    if is_triple and all(isinstance(each, str) for each in name) and what in ("edge_map", "etypes"):
        return ":".join(name)
    raise InvalidError(
        f"{what}: type {name!r}; expected names of node types, or for edges (source type, relation, "
        "destination type)"
    )


def _ranges(by_type: Any, what: str, num_parts: int) -> dict[str, list[list[int]]]:
    import numpy

    if not isinstance(by_type, Mapping):
        raise InvalidError(f"{what}: expected a dict of type to ranges, got {type(by_type)}")
    found = {}
    for name, ranges in by_type.items():
        array = numpy.asarray(ranges)
        if array.shape != (num_parts, 2) or array.dtype.kind not in "iu":
            raise InvalidError(
                f"{what}[{name!r}]: got {array.dtype} of the shape {array.shape}; expected integers "
                f"of the shape ({num_parts}, 2): begin and end for each of the {num_parts} partitions"
            )
        found[_key(name, what)] = array.tolist()
    return found


def _end(ranges: dict[str, list[list[int]]]) -> int:
    return max((end for each in ranges.values() for _, end in each), default=0)


def _numbers(by_type: Any, what: str) -> dict[str, int]:
    if not isinstance(by_type, Mapping):
        raise InvalidError(f"{what}: expected a dict of type to number, got {type(by_type)}")
    return {_key(name, what): whole_number(number, what) for name, number in by_type.items()}


def _book_of_config(config: dict[str, Any]) -> _graphd.Book:
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "ranges.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(config, out)
        try:
            return _graphd.load_book(file)
        except GraphdError as error:  # the name of the temporary file would not help the caller
            raise InvalidError(str(error).replace(file, "RangePartitionBook")) from None
