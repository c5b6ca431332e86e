# SPDX-License-Identifier: Apache-2.0
"""Partitioning of DataFrames of Spark."""

from __future__ import annotations

import functools
import os
import shutil
import uuid
from collections.abc import Mapping
from typing import Any

from .. import _graphd, input_names
from ..arguments import one_of, path, text, whole_number, whole_number_in
from ..distributed.partition import _arguments_named, _stored_dtypes
from ..errors import ExistsError, InvalidError
from ..raw import ETYPE, NTYPE
from ..typing import Path, Triple
from . import columns, label_propagation, numbers, requirements, tasks
from .edges import Edges
from .nodes import Nodes, random_owners

_METHODS = ("random", "hash", "column", "label_propagation")


def partition_graph(
    nodes: Any,
    edges: Any,
    graph_name: str,
    num_parts: int,
    out_path: Path,
    *,
    part_method: str = "random",
    partition: str = "part",
    edge_id: str | Mapping[Triple, str] | None = None,
    seed: int = 0,
    iterations: int = 10,
    imbalance: float = 0.03,
    edge_orig_id: bool = True,
    store_as: Any = None,
    force: bool = False,
) -> str:
    """Partitions a graph of Spark DataFrames and writes it in graphd's native format.

    The partitions have the same bytes as those that ``graphctl partition`` writes for the same
    assignment. Each is written by one task, whose memory does not grow with the number of edges;
    nothing but counts passes through the driver. Tasks may be repeated.

    Parameters
    ----------
    nodes : DataFrame, or dict of node type to DataFrame
        A row for each node: its id in the first column, then features. Ids are the whole numbers 0,
        1, ..., each once, or text (names), which are numbered in the order of their UTF-8 bytes.
        Features are numbers, bool, or arrays of the same number of these, and get the dtypes that
        ``graphctl partition`` gives to columns of Parquet files.
    edges : DataFrame, or dict of canonical edge type to DataFrame
        The first two columns are sources and destinations (or those named like the two node types,
        if the types differ); the others are features.
    graph_name : str
    num_parts : int
    out_path : str
        A directory that all machines of Spark and this one have under this path.
    part_method : {"random", "hash", "column", "label_propagation"}
        "random" and "hash" are those of ``graphctl partition``; "column" uses the column
        `partition`; "label_propagation" puts neighbours into the same partition.
    partition : str
        The column of nodes that has their partitions, for "column".
    edge_id : str, or dict of edge type to str, optional
        The column of edges that has their numbers in the input: 0, 1, ..., each once. Default: edges
        are numbered in the order in which Spark reads them, which must be the same each time, as that
        of files is.
    seed : int
    iterations : int
        The most rounds of label propagation.
    imbalance : float
        By how much a partition may exceed the average number of nodes, for label propagation.
    edge_orig_id : bool
        Whether edges keep their ids of the input as the feature "orig_id".
    store_as : dict of str to {"float16", "bfloat16", "int8"}, optional
        Features, "name" or "type/name", of float32 that take less memory and disk.
    force : bool
        Whether to replace an existing graph. It is replaced at the end, when the partitions are
        complete.

    Returns
    -------
    str
        Path of the part config.

    Raises
    ------
    ImportError
        If PySpark, pandas or pyarrow is missing.
    graphd.errors.InvalidError
        If an argument, an id or a column is not valid.
    graphd.errors.ExistsError
        If there is a graph already, or another run writes it, and `force` is False.
    """
    requirements.check()
    output = os.path.abspath(path(out_path, "out_path", "the path of a directory"))
    job = _Job(
        _by_type(nodes, "nodes", NTYPE),
        _by_type(edges, "edges", ETYPE),
        text(graph_name, "graph_name"),
        whole_number_in(num_parts, "num_parts", 1, 1 << 14),
        output,
    )
    one_of(part_method, "part_method", _METHODS)
    with _arguments_named():
        _graphd.check_publishing(job.graph_name, job.num_parts, output, bool(force))
    with _Staging(output, job.graph_name, bool(force)) as staging:
        try:
            job.read(partition if part_method == "column" else None, edge_id)
            if part_method in ("random", "hash"):
                job.assign_randomly(whole_number(seed, "seed"))
            elif part_method == "column":
                for of_type in job.nodes.values():
                    of_type.check_column(job.num_parts)
            else:
                label_propagation.assign(
                    job.nodes, job.edges, job.num_parts, iterations, imbalance, seed, staging
                )
            job.locate()
            method = part_method if part_method in ("random", "hash") else "file"
            plan = job.plan(method, edge_orig_id, store_as)
            job.write(plan, staging)
            with _arguments_named():
                return _graphd.publish_partitions(plan, staging, output, bool(force))
        finally:
            job.release()


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


class _Staging:
    """The directory of a run that is not complete. It is removed at the end."""

    def __init__(self, output: str, graph_name: str, force: bool) -> None:
        begin = f"{graph_name}.spark-"
        self.path = os.path.join(output, begin + uuid.uuid4().hex[:12])
        if os.path.isdir(output):
            for name in os.listdir(output):
                if not name.startswith(begin):
                    continue
                other = os.path.join(output, name)
                if not force:
                    raise ExistsError(
                        f"{other} exists: another run writes this graph, or was killed; remove the "
                        "directory, or give force=True, if none does"
                    )
                shutil.rmtree(other, ignore_errors=True)

    def __enter__(self) -> str:
        os.makedirs(self.path)
        return self.path

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


class _Job:
    """The steps of partitioning one graph."""

    def __init__(
        self,
        node_frames: dict[str, Any],
        edge_frames: dict[Triple, Any],
        graph_name: str,
        num_parts: int,
        output: str,
    ) -> None:
        self.node_frames, self.edge_frames = node_frames, edge_frames
        self.graph_name, self.num_parts, self.output = graph_name, num_parts, output
        # The order is that of graphctl partition.
        self.ntypes = list(dict.fromkeys(n for src, _, dst in edge_frames for n in (src, dst)))
        self.ntypes += [ntype for ntype in node_frames if ntype not in self.ntypes]
        for ntype in self.ntypes:
            if ntype not in node_frames:
                raise InvalidError(
                    f"nodes: there is no DataFrame of the type {ntype!r}, which edges have; give one, "
                    "such as spark.range(number of nodes)"
                )
        self.spark = next(iter(node_frames.values())).sparkSession
        self.nodes: dict[str, Nodes] = {}
        self.edges: dict[Triple, Edges] = {}
        self.owner_of: dict[str, Any] = {}

    def read(self, partition: str | None, edge_id: Any) -> None:
        for ntype in self.ntypes:
            self.nodes[ntype] = Nodes(ntype, self.node_frames[ntype], partition)
            if self.nodes[ntype].named:
                input_names.path_beside("", "", ntype)
        for etype, frame in self.edge_frames.items():
            column = edge_id.get(etype) if isinstance(edge_id, Mapping) else edge_id
            self.edges[etype] = Edges(etype, frame, column)

    def assign_randomly(self, seed: int) -> None:
        for number, (ntype, nodes) in enumerate(self.nodes.items()):
            nodes.assign_randomly(number, seed, self.num_parts)
            if not nodes.named:
                self.owner_of[ntype] = functools.partial(
                    random_owners, ntype_id=number, seed=seed, num_parts=self.num_parts
                )

    def locate(self) -> None:
        for nodes in self.nodes.values():
            nodes.locate(self.num_parts)
        for (src, _, dst), edges in self.edges.items():
            owner = self.owner_of.get(dst)
            edges.locate(self.nodes[src], self.nodes[dst], self.num_parts, owner)

    def plan(self, method: str, edge_orig_id: bool, store_as: Any) -> dict[str, Any]:
        """Returns what each task has to know of the whole graph."""
        stored = _Stored(store_as)
        return {
            "graph_name": self.graph_name,
            "part_method": method,
            "ntypes": self.ntypes,
            "etypes": [tuple(etype) for etype in self.edges],
            "nodes": [(n.counts, stored.features(n, ntype)) for ntype, n in self.nodes.items()],
            "edges": [(e.counts, stored.features(e, ":".join(t))) for t, e in self.edges.items()],
            "edge_orig_id": bool(edge_orig_id),
            **stored.check(),
        }

    def write(self, plan: dict[str, Any], staging: str) -> list[Any]:
        """Moves all rows to the tasks of their partitions, which write them."""
        for ntype, nodes in self.nodes.items():
            if nodes.named:
                file = input_names.path_beside("", self.graph_name, ntype)
                nodes.write_names(os.path.join(staging, file))
        rows = self._rows()
        ordered = rows.repartition(self.num_parts, "key").sortWithinPartitions("k1", "k2", "k3")
        results = ordered.mapInArrow(tasks.write_partition(plan, staging), tasks.RESULTS)
        return list(results.collect())

    def _rows(self) -> Any:
        """Returns the rows of all types: "key", which determines the task; k1, k2 and k3, which
        determine the order within it; and features, in a column for each type that has some."""
        from pyspark.sql import functions as F

        keys = numbers.literals(numbers.keys_of_partitions(self.spark, self.num_parts), "int")

        def key(part: Any) -> Any:
            return F.element_at(keys, part + 1).alias("key")

        def section(number: int, ids: str) -> Any:
            return (F.lit(number << tasks.ID_BITS) + F.col(ids)).alias("k1")

        none = F.lit(-1).cast("bigint")
        # Without this row, a partition that has no nodes would have no task.
        part = F.col("id").cast("int")
        begin = self.spark.range(self.num_parts).select(
            key(part), none.alias("k1"), none.alias("k2"), none.alias("k3")
        )
        frames = [begin]
        for number, nodes in enumerate(self.nodes.values()):
            features = [F.col("f").alias(f"f{number}")] if nodes.features else []
            ends = [none.alias("k2"), none.alias("k3")]
            frames.append(
                nodes.frame.select(key(F.col("part")), section(number, "id"), *ends, *features)
            )
        for number, edges in enumerate(self.edges.values(), len(self.nodes)):
            features = [F.col("f").alias(f"f{number}")] if edges.features else []
            ends = [F.col("src").alias("k2"), F.col("edge").alias("k3")]
            frames.append(
                edges.located.select(key(F.col("part")), section(number, "dst"), *ends, *features)
            )
        return functools.reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)

    def release(self) -> None:
        for nodes in self.nodes.values():
            nodes.release()
        for edges in self.edges.values():
            edges.release()


class _Stored:
    """The dtypes that the user wants for features."""

    def __init__(self, given: Any) -> None:
        _stored_dtypes(given)
        self.given = {name: str(d).rpartition(".")[2] for name, d in (given or {}).items()}
        self.used: set[str] = set()
        self.all: list[str] = []

    def features(self, of: Nodes | Edges, type_name: str) -> list[columns.Feature]:
        if not of.features:
            return []
        chosen = {}
        for name in of.features:
            self.all.append(f"{type_name}/{name}")
            for key in (name, f"{type_name}/{name}"):
                if key in self.given:
                    self.used.add(key)
                    chosen[name] = self.given[key]
        with _arguments_named():
            return columns.plan(of.feature_frame(), chosen, of.what)

    def check(self) -> dict[str, Any]:
        """Raises InvalidError if a name has matched no feature."""
        for name in self.given.keys() - self.used:
            raise InvalidError(f"store_as {name!r}: there are the features {self.all}")
        return {}
