# SPDX-License-Identifier: Apache-2.0
"""Reads Parquet, Arrow and .npz files for `graphctl partition`, which runs this text with python3 -c.

Each line of standard input asks for a table: {"path": a file, a pattern or a directory, "rows": the
number of first rows, or null for all, "columns": names, or null for all}. The answer on standard
output is a stream in Arrow's IPC format. After an error the process ends; the last line of standard
error is then {"code": ..., "message": ...}.
"""

import sys

# Python puts the current directory first, where a file json.py would hide the module.
sys.path[:] = [folder for folder in sys.path if folder]

import glob  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import zipfile  # noqa: E402
import zlib  # noqa: E402

ENDINGS = (".parquet", ".parq", ".pq", ".arrow", ".feather", ".ipc")
BATCH_BYTES = 16 << 20
DAMAGE = (ValueError, EOFError, zipfile.BadZipFile, zlib.error)
ZIP = b"PK\x03\x04"
MAGIC = {b"PAR1": "parquet", b"ARRO": "ipc"}


class InputError(Exception):
    """An error of the input, with the word for its kind."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Pipe:
    """The answers' end of the pipe, as a file that pyarrow can write: one that has a position."""

    closed = False

    def __init__(self, descriptor):
        self.file, self.position = os.fdopen(descriptor, "wb", buffering=1 << 18), 0

    def write(self, data):
        """Writes bytes."""
        self.position += len(data)
        return self.file.write(data)

    def tell(self):
        """Returns the number of bytes so far."""
        return self.position

    def flush(self):
        """Writes what is buffered."""
        self.file.flush()


def files_below(folder):
    """Returns the files of a directory, in the order of their paths, without hidden ones."""
    found = []
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        found += [os.path.join(parent, name) for name in files if name[0] not in "._"]
    return sorted(name for name in found if name.endswith(ENDINGS))


def files_of(path):
    """Returns the files that a path names, and the directory below which folders key=value give
    columns; None for a single file."""
    if os.path.isdir(path):
        files = files_below(path)
        if not files:
            raise InputError("not_found", f"{path} has no files {', '.join(ENDINGS)}")
        return files, path
    if os.path.exists(path):
        return [path], None
    files = []
    for match in sorted(glob.glob(path, recursive=True)):
        files += files_below(match) if os.path.isdir(match) else [match]
    if not files:
        raise InputError("not_found", f"{path}: no file matches")
    base = path
    while glob.has_magic(base):
        base = os.path.dirname(base)
    return sorted(set(files)), base


def begin_of(file):
    """Returns the bytes by which formats are told apart."""
    with open(file, "rb") as opened:
        return opened.read(4)


def format_of(file):
    """Returns the name that pyarrow has for the format of a file."""
    begin = begin_of(file)
    if begin not in MAGIC:
        raise InputError(
            "invalid",
            f"{file} is neither a Parquet nor an Arrow file; name other files one by one, each with "
            "an option --edges or --nodes",
        )
    return MAGIC[begin]


def open_table(pyarrow, dataset, path):
    """Returns the dataset of a path's files, which have the same columns."""
    files, base = files_of(path)
    formats = {format_of(file): file for file in files}
    if len(formats) > 1:
        raise InputError("invalid", f"{path}: {' and '.join(formats.values())} differ in format")
    hive = None
    if base is not None:
        hive = dataset.HivePartitioning.discover(infer_dictionary=True)
    options = {
        "format": next(iter(formats)),
        "partitioning": hive,
        "partition_base_dir": base,
    }
    table = dataset.dataset(files, **options)
    schemas = [fragment.physical_schema for fragment in table.get_fragments()]
    for file, schema in zip(files, schemas):
        if schema.names != schemas[0].names:
            raise InputError(
                "invalid",
                f"{file} has the columns {', '.join(schema.names)}, expected those of {files[0]}: "
                f"{', '.join(schemas[0].names)}; files of one pattern or directory are one table",
            )
    if any(not schema.equals(schemas[0]) for schema in schemas):
        # Types may differ in width: the widest of them is that of the table.
        own = pyarrow.unify_schemas(schemas, promote_options="permissive")
        folders = [field for field in table.schema if field.name not in own.names]
        table = dataset.dataset(files, schema=pyarrow.schema(list(own) + folders), **options)
    return table


class Table:
    """A dataset that is read in batches of a bounded size."""

    def __init__(self, dataset, table):
        self.table, self.batch_size = table, 1 << 16
        self.options = {}
        if table.format.default_extname == "parquet":
            # By default, all of a row group is read before its first rows are decoded.
            self.options["fragment_scan_options"] = dataset.ParquetFragmentScanOptions(
                use_buffered_stream=True, pre_buffer=False
            )

    def head(self, rows):
        """Returns the schema and the first rows, whose size determines that of batches."""
        found = self.table.head(
            rows, batch_size=rows, batch_readahead=1, fragment_readahead=1, **self.options
        )
        row_bytes = found.nbytes // max(found.num_rows, 1) + 1
        self.batch_size = min(max(BATCH_BYTES // row_bytes, 1 << 10), 1 << 16)
        return found.schema, found.to_batches()

    def batches(self, columns):
        """Returns the schema and the batches of all rows."""
        scanner = self.table.scanner(
            columns=columns,
            batch_size=self.batch_size,
            batch_readahead=4,
            fragment_readahead=2,
            **self.options,
        )
        return scanner.projected_schema, scanner.to_batches()


class ArchiveTable:
    """The arrays of an .npz file as one table, all of them in memory: arrays with a row for each edge
    or node, an edge_index, or the sparse matrix that scipy.sparse.save_npz has written."""

    def __init__(self, pyarrow, path):
        try:
            import numpy
        except ImportError as error:
            raise InputError("invalid", f"{path} is read with NumPy, which {sys.executable} can't "
                             f"import ({error}); install it: {sys.executable} -m pip install numpy"
                             ) from None  # fmt: skip
        self.pyarrow, self.path = pyarrow, path
        with numpy.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        for name, array in arrays.items():
            if not isinstance(array, numpy.ndarray):  # the bytes of a file of another kind
                raise InputError(
                    "invalid", f"{path}: '{name}' is not an array; unpack an archive of other files"
                )
        if {"format", "shape", "data"} <= arrays.keys():
            arrays = self.entries(numpy, arrays)
        elif "edge_index" in arrays:
            arrays = self.with_ends(arrays)
        elif not {"id", "src", "source"} & arrays.keys():
            arrays = {"id": numpy.arange(self.rows(arrays)), **arrays}
        elif "id" in arrays:
            arrays = {"id": arrays.pop("id"), **arrays}
        self.rows(arrays)
        columns = {name: self.column(name, array) for name, array in arrays.items()}
        self.table = pyarrow.table(columns)

    def wrong(self, name, expected):
        """Returns the error of an array."""
        return InputError("invalid", f"{self.path}: array '{name}' {expected}")

    def rows(self, arrays):
        """Returns the number of rows, which all arrays have."""
        first, array = next(iter(arrays.items()))
        for name, other in arrays.items():
            if other.ndim == 0:
                raise self.wrong(name, "is a single value, expected a row for each node or edge")
            if len(other) != len(array):
                raise self.wrong(
                    name, f"has {len(other)} rows, but '{first}' has {len(array)}; the arrays of an "
                    ".npz file are the columns of one table",
                )  # fmt: skip
        return len(array)

    def column(self, name, array):
        """Returns an array as a column; a row of several numbers becomes a list."""
        if array.ndim > 2:
            raise self.wrong(
                name, f"has {array.ndim} dimensions, expected 1 or 2; write it as .npy and give it "
                "with --nodes TYPE.NAME=FILE.npy",
            )  # fmt: skip
        if array.dtype.kind not in "biufU":
            raise self.wrong(name, f"has dtype {array.dtype}, expected numbers or text")
        if array.ndim == 2 and array.shape[1] == 0:
            raise self.wrong(name, "has no columns")
        flat = self.pyarrow.array(array.ravel())
        if array.ndim == 1:
            return flat
        return self.pyarrow.FixedSizeListArray.from_arrays(flat, array.shape[1])

    def with_ends(self, arrays):
        """Returns the arrays with sources and destinations in place of the edge_index."""
        index = arrays.pop("edge_index")
        if index.ndim != 2 or index.shape[0] != 2:
            raise self.wrong("edge_index", f"has shape {list(index.shape)}, expected [2, edges]")
        return {"src": index[0], "dst": index[1], **arrays}

    def entries(self, numpy, arrays):
        """Returns the entries of a sparse matrix as edges from row to column. Values other than 1 are
        the feature w, as in graphd.distributed.partition_graph."""
        kind = arrays["format"].item()
        kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        needed = {"coo": {"row", "col"}, "csr": {"indices", "indptr"}, "csc": {"indices", "indptr"}}
        if kind not in needed or not needed[kind] <= arrays.keys():
            raise self.wrong(
                "format", f"is '{kind}', expected a matrix of the kind coo, csr or csc"
            )
        if kind == "coo":
            found = {"src": arrays["row"], "dst": arrays["col"]}
        else:
            counts = numpy.diff(arrays["indptr"])
            own = numpy.repeat(numpy.arange(len(counts)), counts)
            ends = (own, arrays["indices"]) if kind == "csr" else (arrays["indices"], own)
            found = dict(zip(("src", "dst"), ends))
        return found if (arrays["data"] == 1).all() else {**found, "w": arrays["data"]}

    def head(self, rows):
        """Returns the schema and the first rows."""
        return self.table.schema, self.table.slice(0, rows).to_batches()

    def batches(self, columns):
        """Returns the schema and the batches of all rows."""
        chosen = self.table.select(columns) if columns is not None else self.table
        return chosen.schema, chosen.to_batches(max_chunksize=1 << 16)


def open_any(pyarrow, dataset, path):
    """Returns the table of a path."""
    if os.path.isfile(path) and begin_of(path) == ZIP:
        return ArchiveTable(pyarrow, path)
    return Table(dataset, open_table(pyarrow, dataset, path))


def answer(pyarrow, table, request, out):
    """Writes the stream of a request."""
    if request["rows"] is not None:
        schema, batches = table.head(request["rows"])
    else:
        schema, batches = table.batches(request["columns"])
    with pyarrow.ipc.new_stream(pyarrow.PythonFile(out, mode="w"), schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    out.flush()


def serve():
    """Answers requests until standard input ends."""
    # Output of libraries must not get among the data.
    out_fd = os.dup(1)
    os.dup2(2, 1)
    try:
        import pyarrow
        import pyarrow.dataset as dataset
    except ImportError as error:
        raise InputError(
            "invalid",
            f"Parquet, Arrow and .npz files are read with pyarrow, which {sys.executable} can't import "
            f"({error}); install it: {sys.executable} -m pip install pyarrow, or name another "
            "interpreter with --python",
        ) from None
    if int(pyarrow.__version__.split(".")[0]) < 14:
        raise InputError(
            "invalid",
            f"pyarrow {pyarrow.__version__} is too old, expected 14 or newer; {sys.executable} -m "
            "pip install --upgrade pyarrow",
        )
    out = Pipe(out_fd)
    tables = {}
    for line in sys.stdin:
        request = json.loads(line)
        path = request["path"]
        try:
            if path not in tables:
                tables[path] = open_any(pyarrow, dataset, path)
            answer(pyarrow, tables[path], request, out)
        except (pyarrow.ArrowException, *DAMAGE) as error:
            raise InputError("corrupt", f"{path}: {error}") from None
        except OSError as error:
            # This is how pyarrow reports damaged files, too; only errors of the system have numbers.
            if error.errno is not None:
                raise
            raise InputError("corrupt", f"{path}: {error}") from None


def main():
    """Serves, and reports the error that ends it."""
    try:
        serve()
    except InputError as error:
        code, message = error.code, str(error)
    except FileNotFoundError as error:
        code, message = "not_found", f"{error.filename}: {error.strerror}"
    except OSError as error:
        code, message = "io", str(error)
    except MemoryError:
        code, message = "overloaded", "Python has no memory to read the table"
    else:
        return
    # The message is one line, whatever a library put into it.
    print("\n" + json.dumps({"code": code, "message": message}), file=sys.stderr, flush=True)
    os._exit(1)


main()
