# SPDX-License-Identifier: Apache-2.0
"""The functions that the tasks of Spark execute, from batches of Arrow to batches of Arrow. Each may be
repeated, and may run twice at the same time."""

from __future__ import annotations

import contextlib
import errno
import filecmp
import itertools
import json
import os
import resource
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import _graphd
from ..errors import InvalidError

# A row's first key has its section, which is its type, above the bits of an id.
ID_BITS = 40
_ID_MASK = (1 << ID_BITS) - 1

# link(2) fails with one of these on a file system without hard links.
_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)

Batches = Iterable[Any]

SUMMARIES = "column string, summary string"
# "sums" are sums of the original ids, for each type of nodes and of edges, as JSON.
RESULTS = "part int, bytes bigint, edge_cut bigint, seconds double, peak_bytes bigint, sums string"
NAMES = "rows bigint"

OTHER_ROWS = (
    "Spark has evaluated a DataFrame again, as it does after the loss of a machine, and got other rows, "
    "or the same in another order: write it to files and read these, and give edges a column of "
    "numbers (edge_id)"
)


def _stream(schema: Any, batches: Batches) -> Any:
    import pyarrow

    return pyarrow.RecordBatchReader.from_batches(schema, batches).__arrow_c_stream__()


def _batch(columns: dict[str, list[Any]], schema: Any = None) -> Any:
    import pyarrow

    return pyarrow.RecordBatch.from_pydict(columns, schema=schema)


def _attempt() -> str:
    """Returns a name that no other attempt of any task of this application has."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return f"attempt-{context.taskAttemptId()}" if context else f"process-{os.getpid()}"


def summarize(batches: Batches) -> Iterator[Any]:
    """Summarises the columns of some rows (`SUMMARIES`)."""
    found: dict[str, list[Any]] = {"column": [], "summary": []}
    iterator = iter(batches)
    first = next(iterator, None)
    if first is None:
        return
    table = _stream(first.schema, itertools.chain([first], iterator))
    for name, summary in _graphd.summarize_table(table, "the DataFrame"):
        found["column"].append(name)
        found["summary"].append(json.dumps(summary))
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
        # If the run has ended, its directory is gone, and must not come back.
        os.mkdir(own)
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
                "sums": [json.dumps([writer.node_sums, writer.edge_sums])],
            },
            _results_schema(),
        )

    return write


def _results_schema() -> Any:
    import pyarrow

    return pyarrow.schema(
        {
            "part": pyarrow.int32(),
            "bytes": pyarrow.int64(),
            "edge_cut": pyarrow.int64(),
            "seconds": pyarrow.float64(),
            "peak_bytes": pyarrow.int64(),
            "sums": pyarrow.string(),
        }
    )


def publish(own: str, final: str) -> None:
    """Gives a complete directory its name, unless another attempt has done so with the same bytes.

    Raises
    ------
    graphd.errors.InvalidError
        If the other attempt has written other bytes. The headers have the checksums of all arrays.
    """
    try:
        os.rename(own, final)
    except OSError:
        mine, other = (os.path.join(each, "partition.json") for each in (own, final))
        if not os.path.exists(other):
            raise
        _check_same(mine, other, final)


def publish_file(own: str, final: str) -> None:
    """Gives a complete file its final name, as `publish` does for a directory. Its old name may
    stay.

    On a file system without hard links, two attempts that end at the same moment are not compared:
    the last one's file stays.
    """
    try:
        os.link(own, final)
    except FileExistsError:
        _check_same(own, final, final)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if os.path.exists(final):
            _check_same(own, final, final)
        else:
            os.rename(own, final)


def _check_same(mine: str, other: str, what: str) -> None:
    if not filecmp.cmp(mine, other, shallow=False):
        raise InvalidError(
            f"{what}: two attempts of a task have written different bytes; {OTHER_ROWS}"
        )


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
    """Returns a stream of the ids, the other keys and the features of a section's rows."""
    import pyarrow

    columns = [pyarrow.array(ids), *(rows.column(rows.schema.get_field_index(k)) for k in keys)]
    at = rows.schema.get_field_index(f"f{section}")
    if at >= 0:
        columns += rows.column(at).flatten()
    batch = pyarrow.RecordBatch.from_arrays(columns, [f"c{i}" for i in range(len(columns))])
    return _stream(batch.schema, [batch])


def write_names(path: str, count: int, what: str) -> Callable[[Batches], Iterator[Any]]:
    """Returns a function that writes the names of all nodes of a type, which one task has in the
    order of their ids, and yields their number. `what` is for messages."""

    def write(batches: Batches) -> Iterator[Any]:
        import numpy
        import pyarrow

        own = f"{path}.{_attempt()}"
        rows = 0
        try:
            file = _graphd.NamesFile(own, f"{own}.part")
            for batch in batches:
                ids = batch.column(batch.schema.get_field_index("id")).to_numpy()
                if not (ids == numpy.arange(rows, rows + len(ids))).all():
                    raise InvalidError(f"{what}: their names have changed; {OTHER_ROWS}")
                name = batch.column(batch.schema.get_field_index("name"))
                column = pyarrow.RecordBatch.from_arrays([name], ["name"])
                file.add(_stream(column.schema, [column]))
                rows += len(ids)
            if rows != count:
                raise InvalidError(f"{what}: got {rows}, but counted {count}; {OTHER_ROWS}")
            file.finish()
            publish_file(own, path)
        finally:
            for left in (own, f"{own}.part"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(left)
        yield _batch({"rows": [rows]})

    return write
