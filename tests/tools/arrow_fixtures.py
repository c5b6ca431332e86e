#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/fixtures/arrow, streams of Arrow's IPC format, with pyarrow 16:
build/python/bin/python3 tests/tools/arrow_fixtures.py"""
import datetime
import decimal
import pathlib

import numpy
import pyarrow

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "arrow"


def batch(first):
    """Returns three rows; the second has nulls."""
    whole = [first, None, first + 2]
    real = [first + 0.5, None, 0.1]
    texts = ["short", None, "a text of more than twelve bytes"]
    columns = {"null": pyarrow.nulls(3), "bool": pyarrow.array([True, None, False])}
    for bits in (8, 16, 32, 64):
        columns[f"int{bits}"] = pyarrow.array(whole, getattr(pyarrow, f"int{bits}")())
        columns[f"uint{bits}"] = pyarrow.array(whole, getattr(pyarrow, f"uint{bits}")())
    columns["float16"] = pyarrow.array([numpy.float16(1.5), None, numpy.float16(-2)])
    columns["float32"] = pyarrow.array(real, pyarrow.float32())
    columns["float64"] = pyarrow.array(real)
    columns["string"] = pyarrow.array(texts)
    columns["large_string"] = pyarrow.array(texts, pyarrow.large_string())
    columns["string_view"] = pyarrow.array(texts, pyarrow.string_view())
    columns["label"] = pyarrow.array(["b", None, "a"] if first else ["a", None, "c"]).dictionary_encode()
    columns["year"] = pyarrow.array([2024, None, 2025]).dictionary_encode()
    columns["list"] = pyarrow.array([[1.0, 2.5], None, [3.0, None]], pyarrow.list_(pyarrow.float32()))
    columns["large_list"] = pyarrow.array([[1, 2], [3, 4], [5, 6]], pyarrow.large_list(pyarrow.int64()))
    columns["fixed_list"] = pyarrow.array([[1, 2], None, [5, 6]], pyarrow.list_(pyarrow.float64(), 2))
    columns["date"] = pyarrow.array([datetime.date(2026, 1, 1)] * 3)
    columns["decimal"] = pyarrow.array([decimal.Decimal("1.5")] * 3)
    columns["struct"] = pyarrow.array([{"a": 1, "b": "x"}] * 3)
    columns["binary"] = pyarrow.array([b"x"] * 3)
    return pyarrow.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def write(name, batches, **options):
    """Writes a stream."""
    options = pyarrow.ipc.IpcWriteOptions(**options)
    out = str(FOLDER / name)
    with pyarrow.ipc.new_stream(out, batches[0].schema, options=options) as stream:
        for each in batches:
            stream.write_batch(each)


FOLDER.mkdir(exist_ok=True)
write("types.arrows", [batch(0), batch(3)])
small = pyarrow.RecordBatch.from_pydict({"src": [0, 1], "dst": [1, 0], "weight": [0.5, 2.0]})
write("edges.arrows", [small])
write("sliced.arrows", [small.slice(1, 1)])
many = pyarrow.RecordBatch.from_pydict({"src": [0] * 999})
write("compressed.arrows", [many], compression="lz4")
