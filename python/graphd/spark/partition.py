# SPDX-License-Identifier: Apache-2.0
"""Partitioning of DataFrames of Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..typing import Path, Triple
from . import failures, requirements
from .job import Job
from .kept import KeptFrames
from .request import Request
from .staging import Staging


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
    only counts and summaries pass through the driver. Spark may repeat tasks; therefore what they
    have written is checked at the end.

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
        "random" and "hash" are the methods of ``graphctl partition``; "column" uses the column
        `partition`; "label_propagation" puts neighbours into the same partition.
    partition : str
        The column of nodes that has their partitions, for "column".
    edge_id : str, or dict of edge type to str, optional
        The column of edges that has their numbers in the input: 0, 1, ..., each once. Give it if you
        can. Default: edges are numbered in the order in which Spark reads them, which must be the
        same each time: only DataFrames that are plain files have such an order. Spark begins with the
        largest pieces of files, so that for several files the numbers are not those of graphctl.
    seed : int
        0 to 2^63 - 1.
    iterations : int
        The most rounds of label propagation.
    imbalance : float
        By how much a partition may exceed the average number of nodes, for label propagation.
    edge_orig_id : bool
        Whether edges keep their ids of the input as the feature "orig_id".
    store_as : dict of str to {"float16", "bfloat16", "int8"}, optional
        Features, "name" or "type/name", of float32 that take less memory and disk. If two names match
        a feature, the last one counts.
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
        If an argument, an id or a column is not valid, or if Spark got other rows when it evaluated
        a DataFrame a second time.
    graphd.errors.ExistsError
        If there is a graph already and `force` is False, or another run writes it.
    """
    requirements.check()
    request = Request.of(
        nodes=nodes,
        edges=edges,
        graph_name=graph_name,
        num_parts=num_parts,
        out_path=out_path,
        part_method=part_method,
        partition=partition,
        edge_id=edge_id,
        seed=seed,
        iterations=iterations,
        imbalance=imbalance,
        edge_orig_id=edge_orig_id,
        store_as=store_as,
        force=force,
    )
    with failures.of_tasks(), KeptFrames() as kept:
        job = Job(request, kept)
        with Staging(request.output, request.graph_name, request.force) as staging:
            return job.run(staging)
