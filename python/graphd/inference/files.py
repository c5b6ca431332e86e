# SPDX-License-Identifier: Apache-2.0
"""Files of the rows of distributed tensors, by original ids or names."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from .. import backend
from ..arguments import one_of
from ..arguments import path as path_of
from ..distributed.elementwise import pieces
from ..distributed.graph import DistGraph
from ..distributed.original_ids import by_original_id, original_ids
from ..distributed.tensor import DistTensor
from ..errors import InvalidError, NotFoundError
from ..graph_base import GraphBase, graph_of
from ..progress import counter
from ..typing import Path

Pieces = Iterator[tuple[int, Any]]  # the first row's place in the file, rows

_PIECE_ROWS = (
    1 << 20
)  # the most rows, even if they are short: a name takes more memory than a number


def export(
    g: GraphBase,
    tensor: DistTensor,
    path: Path,
    *,
    by: str | None = None,
    part_config: Path | None = None,
) -> None:
    """Writes the rows of a tensor of nodes or edges to a file, in the order of the ids of the input.

    One trainer calls it. It reads 2^24 elements at a time, and takes 8 bytes of memory for each row
    besides. The file gets its name when it is complete; it then replaces an old file of this name.
    ``graphctl tensors export`` writes the same .npy file of a persistent tensor, except that
    bfloat16 becomes float32 here.

    Parameters
    ----------
    g : DistGraph
    tensor : DistTensor
        Such as the result of `layerwise`.
    path : str
        A name that ends in ``.npy``: row i is that of the node or edge with id i. Or one that ends
        in ``.parquet``, which needs pyarrow: a column "id" (int64) or "name" (string), and a column
        "value" with the elements of a row in a list of fixed size, or one number.
    by : {"orig_id", "id", "name"}, optional
        "orig_id" are the ids of the input; "id" those in the partitioned graph; "name" the names
        that nodes had in the input, in the order of its ids (.parquet only). Default: "orig_id" if
        the graph has original ids, else "id".
    part_config : str, optional
        For names: see `DistGraph.node_names`.

    Raises
    ------
    graphd.errors.InvalidError
        If an argument is not valid, or pyarrow is missing.
    graphd.errors.NotFoundError
        If the graph has no original ids or no names, or the file's folder does not exist.
    """
    file = path_of(path, "path", "the path of a file, as 'out.npy' or 'out.parquet'")
    ending = os.path.splitext(file)[1]
    one_of(ending, "path: its ending", (".npy", ".parquet"))
    folder = os.path.dirname(file)
    if folder and not os.path.isdir(folder):
        raise NotFoundError(f"path {file!r}: there is no folder {folder!r}; make it first")
    if not isinstance(tensor, DistTensor):
        raise InvalidError(f"tensor {tensor!r}: expected a DistTensor, as layerwise returns it")
    order, names = _order(graph_of(g), tensor, by, part_config)
    if ending == ".npy":
        if names is not None:
            raise InvalidError(
                'by "name": an .npy file has no column for names; write a .parquet file, or use '
                'by="orig_id" and g.node_names().in_order(0, n), which is in the same order'
            )
        _replace(file, lambda part: _write_npy(part, tensor, _pieces(tensor, order)))
    else:
        _replace(file, lambda part: _write_parquet(part, tensor, _pieces(tensor, order), names))


def _order(g: GraphBase, tensor: DistTensor, by: Any, part_config: Any) -> tuple[Any, Any]:
    """Returns the ids in the order of the file, or None for the order of the ids themselves, and
    the names or None."""
    if by is not None:
        one_of(by, "by", ("orig_id", "id", "name"))
    is_of_graph = tensor.handle.policy != "range"
    original = None
    if by != "id" and is_of_graph:
        original = original_ids(g, tensor.handle.is_edge, tensor.handle.type)
    if original is None and by in ("orig_id", "name"):
        raise InvalidError(f"by {by!r}: the rows of {tensor!r} have no original ids; use by='id'")
    if by == "name":
        if tensor.handle.is_edge or not isinstance(g, DistGraph):
            raise InvalidError(f"by 'name': {tensor!r} has rows of edges, which have no names")
        names = g.node_names(g.ntypes[tensor.handle.type], part_config)
    else:
        names = None
    return None if original is None else by_original_id(original), names


def _pieces(tensor: DistTensor, order: Any) -> Pieces:
    """Yields the rows of a tensor as arrays of a bounded size, in the order of some ids."""
    with counter(len(tensor), f"exporting {tensor.name!r}") as show:
        for piece in pieces(tensor):
            for begin in range(piece.start, piece.stop, _PIECE_ROWS):
                rows = slice(begin, min(begin + _PIECE_ROWS, piece.stop))
                show(begin)
                found = tensor[rows if order is None else order[rows]]
                if tensor.handle.dtype == "bfloat16":  # NumPy does not have this dtype
                    found = found.float()
                yield begin, backend.to_numpy(found)


def _dtype(tensor: DistTensor) -> Any:
    import numpy

    name = tensor.handle.dtype
    return numpy.dtype("float32" if name == "bfloat16" else name)


def _replace(file: str, write: Callable[[str], None]) -> None:
    """Calls a function with the path of a new file, and then renames this file to `file`."""
    part = f"{file}.tmp{os.getpid()}"
    try:
        write(part)
        with open(part, "rb") as done:
            os.fsync(done.fileno())
        os.replace(part, file)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise


def _write_npy(part: str, tensor: DistTensor, rows: Pieces) -> None:
    import numpy

    form: Any = numpy.lib.format  # its functions have no annotations
    header = {
        "descr": form.dtype_to_descr(_dtype(tensor)),
        "fortran_order": False,
        "shape": tensor.shape,
    }
    with open(part, "wb") as out:
        form.write_array_header_1_0(out, header)
        for _, some in rows:
            out.write(numpy.ascontiguousarray(some).data)


def _write_parquet(part: str, tensor: DistTensor, rows: Pieces, names: Any) -> None:
    import numpy

    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise InvalidError(
            f"a .parquet file needs pyarrow, which can't be imported ({error}); install it: pip "
            "install pyarrow, or write an .npy file"
        ) from error
    width = int(numpy.prod(tensor.shape[1:], dtype=numpy.int64))
    element = pyarrow.from_numpy_dtype(_dtype(tensor))
    is_list = len(tensor.shape) > 1
    key = ("id", pyarrow.int64()) if names is None else ("name", pyarrow.string())
    schema = pyarrow.schema([key, ("value", pyarrow.list_(element, width) if is_list else element)])
    with parquet.ParquetWriter(part, schema) as writer:
        for begin, some in rows:
            end = begin + len(some)
            keys = numpy.arange(begin, end) if names is None else names.in_order(begin, end)
            values = pyarrow.array(some.reshape(-1), element)
            if is_list:
                values = pyarrow.FixedSizeListArray.from_arrays(values, width)
            writer.write_table(pyarrow.table([pyarrow.array(keys, key[1]), values], schema=schema))
