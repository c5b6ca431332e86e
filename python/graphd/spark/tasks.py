# SPDX-License-Identifier: Apache-2.0
"""The functions that the tasks of Spark execute, from batches of Arrow to batches of Arrow. Each may be
repeated, and may run twice at the same time."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import _graphd

# A row's first key has its section, which is its type, above the bits of an id.
ID_BITS = 40
_ID_MASK = (1 << ID_BITS) - 1

Batches = Iterable[Any]

SUMMARIES = "column string, summary string"
RESULTS = "part int, bytes bigint, edge_cut bigint, seconds double, peak_bytes bigint"
NAMES = "rows bigint"


def _stream(schema: Any, batches: Batches) -> Any:
    import pyarrow

    return pyarrow.RecordBatchReader.from_batches(schema, batches).__arrow_c_stream__()


def _batch(columns: dict[str, list[Any]]) -> Any:
    import pyarrow

    return pyarrow.RecordBatch.from_pydict(columns)


def _attempt() -> str:
    """Returns a name that no other attempt of any task of this application has."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return f"attempt-{context.taskAttemptId()}" if context else f"process-{os.getpid()}"


def summarize(batches: Batches) -> Iterator[Any]:
    """Summarises the columns of some rows (`SUMMARIES`)."""
    found: dict[str, list[Any]] = {"column": [], "summary": []}
    iterator = iter(batches)
    for first in iterator:

        def all_batches(first: Any = first) -> Iterator[Any]:
            yield first
            yield from iterator

        for name, summary in _graphd.summarize_table(
            _stream(first.schema, all_batches()), "the DataFrame"
        ):
            found["column"].append(name)
            found["summary"].append(json.dumps(summary))
    if found["column"]:
        yield _batch(found)


def owners(ntype: int, seed: int, num_parts: int) -> Callable[[Any], Any]:
    """Returns a function from a series of ids to the partitions that `graphctl partition
    --part_method random` gives to the nodes."""
    import pandas

    def of(ids: Any) -> Any:
        numbers = ids.to_numpy(dtype="int64", na_value=0)
        return pandas.Series(_graphd.random_owners(numbers, ntype, seed, num_parts))

    of.__annotations__ = {"ids": pandas.Series, "return": pandas.Series}
    return of


def write_partition(plan: dict[str, Any], staging: str) -> Callable[[Batches], Iterator[Any]]:
    """Returns a function that writes the partition whose rows a task has, in their final order, and
    yields one row (`RESULTS`). The partition is that of the task's number."""

    def write(batches: Batches) -> Iterator[Any]:
        from pyspark import TaskContext

        part = TaskContext.get().partitionId()
        final = os.path.join(staging, f"part{part}")
        own = f"{final}.{_attempt()}"
        begin = time.monotonic()
        try:
            writer = _graphd.PartWriter(plan, part, own)
            for batch in batches:
                _add(writer, batch, part, len(plan["nodes"]))
            size = writer.finish()
            publish(own, final)
        finally:
            shutil.rmtree(own, ignore_errors=True)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        yield _batch(
            {
                "part": [part],
                "bytes": [size],
                "edge_cut": [writer.edge_cut],
                "seconds": [time.monotonic() - begin],
                "peak_bytes": [peak],
            }
        ).cast(_results_schema())

    return write


def _results_schema() -> Any:
    import pyarrow

    types = (pyarrow.int32(), pyarrow.int64(), pyarrow.int64(), pyarrow.float64(), pyarrow.int64())
    names = ("part", "bytes", "edge_cut", "seconds", "peak_bytes")
    return pyarrow.schema(list(zip(names, types)))


def publish(own: str, final: str) -> None:
    """Gives a complete directory its name, unless another attempt has done so: attempts write the
    same bytes."""
    try:
        os.rename(own, final)
    except OSError:
        if not os.path.exists(os.path.join(final, "partition.json")):
            raise


def _add(writer: Any, batch: Any, part: int, num_ntypes: int) -> None:
    """Appends the rows of a batch, section by section."""
    import numpy

    k1 = batch.column(batch.schema.get_field_index("k1")).to_numpy()
    sections = k1 >> ID_BITS
    begins = numpy.flatnonzero(numpy.diff(sections, prepend=sections[:1] - 1))
    for begin, end in zip(begins, [*begins[1:], len(k1)]):
        section = int(sections[begin])
        if section < 0:
            continue  # the row that each partition has, so that its task runs
        rows = batch.slice(begin, end - begin)
        if section < num_ntypes:
            writer.add_nodes(section, _table(rows, k1[begin:end] & _ID_MASK, (), section))
        else:
            ids = k1[begin:end] & _ID_MASK
            writer.add_edges(section - num_ntypes, _table(rows, ids, ("k2", "k3"), section))


def _table(rows: Any, ids: Any, keys: tuple[str, ...], section: int) -> Any:
    """Returns a stream of the ids, the further keys and the features of a section's rows."""
    import pyarrow

    columns = [pyarrow.array(ids), *(rows.column(rows.schema.get_field_index(k)) for k in keys)]
    at = rows.schema.get_field_index(f"f{section}")
    if at >= 0:
        columns += rows.column(at).flatten()
    batch = pyarrow.RecordBatch.from_arrays(columns, [f"c{i}" for i in range(len(columns))])
    return _stream(batch.schema, [batch])


def write_names(path: str) -> Callable[[Batches], Iterator[Any]]:
    """Returns a function that writes the names of all nodes of a type, in their order, which one
    task has, and yields their number."""

    def write(batches: Batches) -> Iterator[Any]:
        own = f"{path}.{_attempt()}"
        rows = 0
        try:
            file = _graphd.NamesFile(path, own)
            for batch in batches:
                column = batch.select(["name"])
                file.add(_stream(column.schema, [column]))
                rows += batch.num_rows
            file.finish()
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(own)
        yield _batch({"rows": [rows]})

    return write
