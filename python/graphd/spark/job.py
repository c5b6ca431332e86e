# SPDX-License-Identifier: Apache-2.0
"""The steps of partitioning one graph on Spark."""

from __future__ import annotations

import functools
import json
import os
from typing import Any, Union

from .. import _graphd, input_names
from ..distributed.partition import arguments_named
from ..errors import InvalidError
from ..typing import Triple
from . import columns, label_propagation, numbers, tasks
from .edges import Edges
from .kept import KeptFrames
from .nodes import Nodes, random_owners
from .request import Request
from .staging import Staging
from .stored_features import StoredFeatures

_Type = Union[str, Triple]  # of nodes, or of edges
_Features = dict[_Type, list[columns.Feature]]


def _name(of: _Type) -> str:
    """Returns the name of a type as store_as has it."""
    return of if isinstance(of, str) else ":".join(of)


class Job:
    """The partitioning of one graph. The constructor finds the mistakes that the schemas show,
    before Spark computes anything. The DataFrames that several steps read are added to `kept`.

    Raises
    ------
    graphd.errors.InvalidError
        If a column or a name is not valid.
    graphd.errors.ExistsError
        If there is a graph already that must not be replaced.
    """

    def __init__(self, request: Request, kept: KeptFrames) -> None:
        self.request, self.num_parts = request, request.num_parts
        self.spark = next(iter(request.nodes.values())).sparkSession
        self.nodes: dict[str, Nodes] = {}
        self.edges: dict[Triple, Edges] = {}
        self.owner_of: dict[str, Any] = {}
        for ntype in request.ntypes:
            self.nodes[ntype] = Nodes(ntype, request.nodes[ntype], request.partition, kept)
            if self.nodes[ntype].named:
                input_names.path_beside("", "", ntype)
        for etype, frame in request.edges.items():
            self.edges[etype] = Edges(etype, frame, request.edge_ids.get(etype), kept)
            self.edges[etype].check_ends(self.nodes[etype[0]], self.nodes[etype[2]])
        types = self._types().items()
        names = [(_name(of), list(each.features)) for of, each in types]
        self.stored = StoredFeatures(request.store_as, names)
        plain: _Features = {
            of: [(name, 0, "int64", "int64", 1.0) for name in each.features] for of, each in types
        }
        self._check(self._plan(plain))

    def run(self, staging: Staging) -> str:
        """Partitions the graph, and returns the path of the part config."""
        for nodes in self.nodes.values():
            nodes.number()
            if self.request.partition is not None:
                nodes.check_column(self.num_parts)
        features = self._plan_features()
        self._assign(staging.path)
        self._locate()
        plan = self._plan(features)
        self._check(plan)
        self.verify(self.write(plan, staging.path))
        with staging.publishing(), arguments_named():
            return _graphd.publish_partitions(
                plan, staging.path, self.request.output, self.request.force
            )

    def write(self, plan: dict[str, Any], staging: str) -> list[Any]:
        """Moves all rows to the tasks of their partitions, which write them. Returns the results of
        the tasks (`tasks.RESULTS`)."""
        for ntype, nodes in self.nodes.items():
            if nodes.named:
                file = input_names.path_beside("", self.request.graph_name, ntype)
                nodes.write_names(os.path.join(staging, file))
        rows = self._rows()
        ordered = rows.repartition(self.num_parts, "key").sortWithinPartitions("k1", "k2", "k3")
        results = ordered.mapInArrow(tasks.write_partition(plan, staging), tasks.RESULTS)
        return list(results.collect())

    def verify(self, results: list[Any]) -> None:
        """Raises InvalidError unless the partitions have each node and each edge once. Spark may have
        computed rows twice, and differently, since they were checked."""
        if sorted(row.part for row in results) != list(range(self.num_parts)):
            raise InvalidError(
                f"{len(results)} tasks have written partitions, expected {self.num_parts}; call "
                "partition_graph again"
            )
        sums = [json.loads(row.sums) for row in results]
        for t, nodes in enumerate(self.nodes.values()):
            numbers.check_written([part[0][t] for part in sums], nodes.count, nodes.what)
            # The new ids of sources depend on which nodes each partition has.
            for row, part in zip(results, sums):
                if part[0][t][1] != nodes.id_sums[row.part] % (1 << 64):
                    raise InvalidError(
                        f"{nodes.what}: partition {row.part} has got other nodes than before; "
                        f"{tasks.OTHER_ROWS}"
                    )
        for e, edges in enumerate(self.edges.values()):
            numbers.check_written([part[1][e] for part in sums], sum(edges.counts), edges.what)

    def _types(self) -> dict[_Type, Nodes | Edges]:
        types: dict[_Type, Nodes | Edges] = {}
        types.update(self.nodes.items())
        types.update(self.edges.items())
        return types

    def _plan(self, features: _Features) -> dict[str, Any]:
        """Returns what each task has to know of the whole graph. Counts that are not known are 0."""
        method, none = self.request.method, [0] * self.num_parts
        return {
            "graph_name": self.request.graph_name,
            "part_method": method if method in ("random", "hash") else "file",
            "ntypes": self.request.ntypes,
            "etypes": [tuple(etype) for etype in self.edges],
            "nodes": [(n.counts or none, features[ntype]) for ntype, n in self.nodes.items()],
            "edges": [(e.counts or none, features[etype]) for etype, e in self.edges.items()],
            "edge_orig_id": self.request.edge_orig_id,
        }

    def _check(self, plan: dict[str, Any]) -> None:
        with arguments_named():
            _graphd.check_publishing(plan, self.request.output, self.request.force)

    def _plan_features(self) -> _Features:
        planned: _Features = {}
        for of, each in self._types().items():
            planned[of] = []
            if each.features:
                chosen = self.stored.of_type(_name(of), list(each.features))
                with arguments_named():
                    planned[of] = columns.plan(each.feature_frame, chosen, each.what)
        return planned

    def _assign(self, scratch: str) -> None:
        request = self.request
        if request.method == "label_propagation":
            label_propagation.assign(
                self.nodes,
                self.edges,
                self.num_parts,
                request.rounds,
                request.share,
                request.seed,
                scratch,
            )
        elif request.method in ("random", "hash"):
            for number, (ntype, nodes) in enumerate(self.nodes.items()):
                nodes.assign_randomly(number, request.seed, self.num_parts)
                if not nodes.named:
                    self.owner_of[ntype] = functools.partial(
                        random_owners,
                        ntype_id=number,
                        seed=request.seed,
                        num_parts=self.num_parts,
                    )

    def _locate(self) -> None:
        for nodes in self.nodes.values():
            nodes.locate(self.num_parts)
        for (src, _, dst), edges in self.edges.items():
            owner = self.owner_of.get(dst)
            edges.locate(self.nodes[src], self.nodes[dst], self.num_parts, owner)

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
