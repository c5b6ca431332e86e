# SPDX-License-Identifier: Apache-2.0
"""The arguments of `partition_graph`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from ..arguments import (
    not_negative,
    one_of,
    path,
    text,
    true_or_false,
    whole_number_in,
)
from ..distributed.partition import stored_dtypes
from ..errors import InvalidError
from ..raw import ETYPE, NTYPE
from ..typing import Path, Triple
from . import label_propagation

_METHODS = ("random", "hash", "column", "label_propagation")
_STORED = ("float16", "bfloat16", "int8")


@dataclasses.dataclass(frozen=True)
class Request:
    """Checked arguments; `of` makes one.

    Attributes
    ----------
    nodes, edges : dict of type to DataFrame
    ntypes : list of str
        All node types, in the order of graphctl partition.
    partition : str or None
        The column of partitions, for the method "column".
    edge_ids : dict of edge type to str
        The column with the edges' numbers, for each type that has one.
    share : float
        The most nodes of a partition, as a multiple of the average.
    """

    nodes: dict[str, Any]
    edges: dict[Triple, Any]
    ntypes: list[str]
    graph_name: str
    num_parts: int
    output: str
    method: str
    partition: str | None
    edge_ids: dict[Triple, str]
    seed: int
    rounds: int
    share: float
    edge_orig_id: bool
    store_as: dict[str, str]
    force: bool

    @staticmethod
    def of(
        *,
        nodes: Any,
        edges: Any,
        graph_name: Any,
        num_parts: Any,
        out_path: Path,
        part_method: Any,
        partition: Any,
        edge_id: Any,
        seed: Any,
        iterations: Any,
        imbalance: Any,
        edge_orig_id: Any,
        store_as: Any,
        force: Any,
    ) -> Request:
        """Checks the arguments of `partition_graph`.

        Raises
        ------
        graphd.errors.InvalidError
            If an argument is not valid.
        """
        by_ntype = _by_type(nodes, "nodes", NTYPE)
        by_etype = _by_type(edges, "edges", ETYPE)
        request = Request(
            nodes=by_ntype,
            edges=by_etype,
            ntypes=_ntypes(by_ntype, by_etype),
            graph_name=text(graph_name, "graph_name"),
            num_parts=whole_number_in(num_parts, "num_parts", 1, 1 << 14),
            output=os.path.abspath(path(out_path, "out_path", "the path of a directory")),
            method=one_of(part_method, "part_method", _METHODS),
            partition=text(partition, "partition") if part_method == "column" else None,
            edge_ids=_edge_ids(edge_id, by_etype),
            seed=whole_number_in(seed, "seed", 0, (1 << 63) - 1),
            rounds=whole_number_in(iterations, "iterations", 1, 1000),
            share=1 + not_negative(imbalance, "imbalance"),
            edge_orig_id=true_or_false(edge_orig_id, "edge_orig_id"),
            store_as=_stored(store_as),
            force=true_or_false(force, "force"),
        )
        if request.method == "label_propagation":
            label_propagation.levels_of(request.num_parts, len(request.ntypes))
        return request


def _by_type(given: Any, what: str, only: Any) -> dict[Any, Any]:
    """Returns DataFrames by type."""
    frames = dict(given) if isinstance(given, Mapping) else {only: given}
    for of, frame in frames.items():
        if not hasattr(frame, "sparkSession"):
            raise InvalidError(
                f"{what} of {of!r}: got {type(frame)}; expected a DataFrame of Spark"
            )
        triple = isinstance(of, tuple) and len(of) == 3 and all(isinstance(n, str) for n in of)
        if not (triple if what == "edges" else isinstance(of, str)):
            raise InvalidError(
                f"{what} of {of!r}: expected a dict of node type (str) to DataFrame for nodes, and of "
                "(source type, relation, destination type) for edges"
            )
    if not frames:
        raise InvalidError(f"{what}: there are no types; a graph needs one")
    return frames


def _ntypes(nodes: Mapping[str, Any], edges: Mapping[Triple, Any]) -> list[str]:
    ntypes = list(dict.fromkeys(ntype for src, _, dst in edges for ntype in (src, dst)))
    ntypes += [ntype for ntype in nodes if ntype not in ntypes]
    for ntype in ntypes:
        if ntype not in nodes:
            raise InvalidError(
                f"nodes: there is no DataFrame of the type {ntype!r}, which edges have; give one, "
                "such as spark.range(number of nodes)"
            )
    return ntypes


def _edge_ids(given: Any, edges: Mapping[Triple, Any]) -> dict[Triple, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return dict.fromkeys(edges, text(given, "edge_id", "a str, or a dict of edge type to str"))
    for etype, column in given.items():
        if etype not in edges:
            raise InvalidError(f"edge_id of {etype!r}: there are the edge types {list(edges)}")
        text(column, f"edge_id of {etype!r}", "the name of a column")
    return dict(given)


def _stored(given: Any) -> dict[str, str]:
    stored = stored_dtypes(given)
    for name, dtype in stored.items():
        text(name, "store_as", "the name of a feature")
        one_of(dtype, f"store_as of {name!r}:", _STORED)
    return stored
