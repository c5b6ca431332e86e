# SPDX-License-Identifier: Apache-2.0
"""Names in place of ids in inputs, their numbers, and the files of names and of labels' texts."""

from __future__ import annotations

import contextlib
import gzip
import os
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from . import _graphd, backend
from .errors import CorruptError, InvalidError, NotFoundError
from .typing import Triple

Names = list[str]


def ids_or_names(values: Any) -> Any:
    """Returns ids of any integer type as an int64 array, without a copy if they are int64 already,
    or names as a list of str."""
    import numpy

    if isinstance(values, list) and values and all(isinstance(name, str) for name in values):
        return values
    array = numpy.asarray(backend.to_numpy(values) if hasattr(values, "detach") else values)
    if array.size and array.dtype.kind in "OU" and array.ndim == 1:
        names = array.tolist()
        other = next((name for name in names if not isinstance(name, str)), None)
        if other is not None or None in names:
            raise InvalidError(f"ids of nodes: got {other!r} among names; expected str alone")
        return names
    if array.size and array.dtype.kind not in "iu":
        raise InvalidError(
            f"ends of edges must be integers, or str for nodes with names; got {array.dtype}"
        )
    return numpy.ascontiguousarray(array, numpy.int64)


def numbered(
    ends: Mapping[Triple, tuple[Any, Any]], known: Mapping[str, Names]
) -> tuple[dict[Triple, tuple[Any, Any]], dict[str, Names]]:
    """Replaces names by numbers: by their positions in `known` or, for types without known names,
    by the order of their first appearance.

    Parameters
    ----------
    ends : dict of edge type to (sources, destinations)
        Each is what `ids_or_names` returns.
    known : dict of node type to list of str
        All names of the types whose names are given.

    Returns
    -------
    dict of edge type to (src, dst), dict of node type to list of str
        The ids of the ends, and the names of the nodes of types that have names.

    Raises
    ------
    graphd.errors.InvalidError
        If the nodes of a type have names in one place and ids in another, or a name is unknown.
    """
    import numpy

    numbers = {ntype: {name: i for i, name in enumerate(names)} for ntype, names in known.items()}
    for (src_type, _, dst_type), pair in ends.items():
        for ntype, given in zip((src_type, dst_type), pair):
            if isinstance(given, list) and ntype not in known:
                of_type = numbers.setdefault(ntype, {})
                for name in given:
                    of_type.setdefault(name, len(of_type))

    def ids(etype: Triple, ntype: str, given: Any) -> Any:
        if isinstance(given, list) != (ntype in numbers) and len(given):
            raise InvalidError(
                f"edges of {etype!r}: nodes of type {ntype!r} have names elsewhere; give names "
                "everywhere, or ids everywhere"
            )
        if not isinstance(given, list):
            return given
        of_type = numbers[ntype]
        try:
            return numpy.fromiter(map(of_type.__getitem__, given), numpy.int64, len(given))
        except KeyError as error:
            raise InvalidError(
                f"edges of {etype!r}: the table of nodes of type {ntype!r} has no "
                f"{error.args[0]!r}; add a row, or drop its edges"
            ) from None

    converted = {
        etype: (ids(etype, etype[0], src), ids(etype, etype[2], dst))
        for etype, (src, dst) in ends.items()
    }
    return converted, {ntype: list(of_type) for ntype, of_type in numbers.items()}


def write(path: str, names: Sequence[str]) -> None:
    """Writes the file of a type's names, in the form that graphctl-partition(1) describes."""
    part = f"{path}.tmp"
    try:
        with gzip.GzipFile(part, "wb", compresslevel=1, mtime=0) as file:
            for begin in range(0, len(names), 4096):
                file.write("".join(f"{name}\n" for name in names[begin : begin + 4096]).encode())
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise


def read(path: str, missing: str) -> bytes:
    """Returns the lines of such a file.

    Raises
    ------
    graphd.errors.NotFoundError
        If it does not exist; the message begins with `missing`.
    graphd.errors.CorruptError
        If it is damaged.
    """
    try:
        with gzip.open(path) as file:
            return file.read()
    except FileNotFoundError:
        raise NotFoundError(
            f"{missing}: {path} does not exist; if there were some, copy it beside the part config, "
            "as graphctl copy does"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise CorruptError(f"{path}: {error}; copy it again") from error


def check(names: Mapping[str, Names]) -> None:
    """Raises InvalidError for names that the file cannot hold, and for types whose names can't be
    part of the name of a file."""
    for ntype, of_type in names.items():
        path_beside("", "", ntype)
        for name in of_type:
            try:
                name.encode()
            except UnicodeEncodeError as error:
                raise InvalidError(
                    f"name {name!r} of a node of type {ntype!r}: {error.reason}; give names that "
                    "UTF-8 can encode"
                ) from None
            if "\n" in name:
                raise InvalidError(
                    f"name {name!r} of a node of type {ntype!r}: names are lines; remove the line "
                    "break"
                )


def path_beside(part_config: str, graph_name: str, ntype: str) -> str:
    """Returns the path of the file with a type's names, which is beside the part config."""
    file = _graphd.node_names_file_name(graph_name, ntype)
    if "/" in file:
        raise InvalidError(
            f"node type {ntype!r}: nodes of a type with a slash in its name have no names; rename the "
            "type, or give ids"
        )
    return os.path.join(os.path.dirname(part_config), file)


def labels_path_beside(part_config: str, graph_name: str, type_name: str, feature: str) -> str:
    """Returns the path of the file with the texts of a feature's labels, as defined in
    label_texts.h. `type_name` is a node type, or "src:rel:dst"."""
    file = f"{graph_name}.{type_name}.{feature}.labels.txt.gz"
    if "/" in file:
        raise InvalidError(
            f"feature {feature!r} of {type_name!r}: labels have no texts where a name has a slash"
        )
    return os.path.join(os.path.dirname(part_config), file)


def lone_names_note(ntype: str, names: Sequence[str]) -> str:
    """Returns a note that counts the names of nodes that are not whole numbers, if more than half
    of the names are whole numbers."""
    first, others = "", 0
    for name in names:
        if not (name.isascii() and name.isdigit()):
            first, others = first or name, others + 1
            if 2 * others >= len(names):
                return ""
    if not others:
        return ""
    return (
        f"{others} of {len(names)} names of {ntype} are not whole numbers, the first {first[:40]!r}; if "
        "these stand for missing values, drop them and convert the rest to integers, to use those as ids"
    )
