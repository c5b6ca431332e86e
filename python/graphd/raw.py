# SPDX-License-Identifier: Apache-2.0
"""Conversion of other libraries' graphs to the partitioner's input."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import arrow_tables, dataframes, input_names
from .arguments import whole_number
from .errors import InvalidError
from .input_names import Names, ids_or_names, lone_names_note
from .labels import Labels, labels_of, texts_in
from .typing import Ids, Tensor, Triple

NTYPE, ETYPE = "_N", ("_N", "_E", "_N")

Features = dict[str, Tensor]


class RawGraph:
    """The numbers of nodes, the edges and the features of a graph by type.

    Attributes
    ----------
    num_nodes : dict of node type to int
    edges : dict of canonical edge type to (src, dst)
    ndata, edata : dict of type to dict of name to tensor or `Labels`
    names : dict of node type to list of str
        The names of the nodes of types that have names in place of ids.
    notes : list of str
        Descriptions of doubtful things in the input.
    """

    def __init__(
        self,
        num_nodes: dict[str, int],
        edges: dict[Triple, tuple[Any, Any]],
        ndata: Mapping[str, Features] | None = None,
        edata: Mapping[Triple, Features] | None = None,
        names: Mapping[str, Names] | None = None,
        notes: Iterable[str] = (),
    ) -> None:
        self.num_nodes, self.edges, self.names = num_nodes, edges, names or {}
        self.notes = [note for note in notes if note]
        self.ndata = {ntype: dict((ndata or {}).get(ntype, {})) for ntype in num_nodes}
        self.edata = {etype: dict((edata or {}).get(etype, {})) for etype in edges}


def raw_graph(g: Any, num_nodes: Any = None, ndata: Any = None, edata: Any = None) -> RawGraph:
    """Converts a graph of any library. See `graphd.distributed.partition_graph`."""
    module = type(g).__module__.partition(".")[0]
    tables, rows, ndata = _without_frames(ndata)
    if isinstance(g, RawGraph):
        raw = g
    elif module == "dgl":
        raw = _from_dgl(g)
    elif module == "torch_geometric":
        raw = _from_pyg(g)
    elif module == "networkx":
        raw = _from_networkx(g)
    elif module == "scipy":
        raw = _from_scipy(g)
    elif (
        isinstance(g, (tuple, list, dict))
        or module in ("numpy", "pandas", "torch")
        or arrow_tables.is_table(g)
    ):
        raw = _from_coo(g, num_nodes, tables, rows)
        _check_tables(raw.names, tables, ndata)
    else:
        raise InvalidError(
            f"partition_graph can't read a {type(g)}; give (src, dst), an edge_index [2, E], a "
            "frame of pandas or polars, a table or dataset of pyarrow, a dict of edge type to one of "
            "these, or a graph of SciPy, NetworkX, PyG or DGL"
        )
    _check_names(raw, tables)
    for ntype, of_type in raw.names.items():
        if note := lone_names_note(ntype, of_type):
            raw.notes.append(note)
    if not raw.edges:
        raise InvalidError("g has no edge types; a graph needs one, even if it has no edges")
    _merge(raw.ndata, ndata, NTYPE)
    _merge(raw.edata, edata, ETYPE)
    _check_features(raw.ndata)
    _check_features(raw.edata)
    return raw


def _check_features(by_type: Mapping[Any, Features]) -> None:
    """Refuses features that are not numbers, and replaces arrays of text by labels."""
    import numpy

    for of, features in by_type.items():
        for name, given in features.items():
            texts = texts_in(given) if isinstance(given, numpy.ndarray) else None
            if texts is not None:
                features[name] = given = labels_of(name, texts)
            values = given.numbers if isinstance(given, Labels) else given
            if not isinstance(values, numpy.ndarray) and not hasattr(values, "detach"):
                raise InvalidError(
                    f"feature {name!r} of {of!r}: expected a tensor of torch or an "
                    f"array of NumPy, got {type(values)}"
                )
            if isinstance(values, numpy.ndarray) and values.dtype.kind not in "biuf":
                raise InvalidError(
                    f"feature {name!r} of {of!r} has the dtype {values.dtype} and the shape "
                    f"{values.shape}; expected numbers, bool, or one text per row; convert it with "
                    "astype, or leave it out"
                )


def _merge(known: Mapping[Any, Features], more: Any, only_type: Any) -> None:
    """Adds features that are given by type, or by name alone for a graph with one type."""
    if not more:
        return
    if not isinstance(more, Mapping):
        raise InvalidError(
            f"features {more!r}: expected a dict of name to tensor, or of type to such a dict"
        )
    more = dict(more)  # an NpzFile reads an array each time
    if not all(isinstance(value, Mapping) for value in more.values()):
        more = {only_type: more}
    for of, features in more.items():
        if of not in known:
            raise InvalidError(f"features of {of!r}: the graph has the types {list(known)}")
        known[of].update(features)


def _without_frames(ndata: Any) -> tuple[dict[str, Names], dict[str, int], Any]:
    """Returns the names that frames and tables in `ndata` have, the numbers of rows of these frames
    and tables, and `ndata` with dicts in their place."""
    if dataframes.is_frame(ndata) or arrow_tables.is_table(ndata):
        ndata = {NTYPE: ndata}
    names: dict[str, Names] = {}
    counts: dict[str, int] = {}
    if isinstance(ndata, dict):
        ndata = dict(ndata)
        for ntype, value in ndata.items():
            if dataframes.is_frame(value):
                counts[ntype], of_type, ndata[ntype] = dataframes.nodes_of(ntype, value)
            elif arrow_tables.is_table(value):
                counts[ntype], of_type, ndata[ntype] = arrow_tables.nodes_of(ntype, value)
            else:
                continue
            if of_type is not None:
                names[ntype] = of_type
    return names, counts, ndata


def _check_names(raw: RawGraph, tables: Mapping[str, Names]) -> None:
    """Refuses tables of nodes whose rows do not belong to the graph's nodes in their order."""
    for ntype, names in tables.items():
        if raw.names.get(ntype) != names:
            raise InvalidError(
                f"nodes of {ntype!r}: the index of the frame, or the first column of the table, has "
                "names, which are not those of the graph's nodes in their order; give it these, or "
                "ids"
            )
    input_names.check(raw.names)


def _check_tables(names: Iterable[str], tables: Mapping[str, Names], ndata: Any) -> None:
    """Refuses features that are given by position for nodes that are numbered by appearance."""
    for ntype in names:
        given = isinstance(ndata, dict) and (ntype in ndata or (ntype == NTYPE and ndata))
        if given and ntype not in tables:
            raise InvalidError(
                f"features of nodes of {ntype!r}, which have names: give a frame of pandas whose "
                "index has the names, or a table whose first column has them"
            )


def _int64(ids: Ids) -> Any:
    """Converts ids of any integer type to int64, without a copy if they are int64 already."""
    array = ids_or_names(ids)
    if isinstance(array, list):
        raise InvalidError("ends of edges must be integers here, got names")
    return array


def _from_coo(
    g: Any, num_nodes: Any, tables: Mapping[str, Names], rows: Mapping[str, int]
) -> RawGraph:
    given = g if isinstance(g, dict) else {ETYPE: g}
    edata: dict[Triple, Features] = {}
    ends: dict[Triple, tuple[Any, Any]] = {}
    notes = []
    for etype, value in given.items():
        pair, edata[_triple(etype)], note = value, {}, ""
        if dataframes.is_frame(value):
            *pair, edata[etype], note = dataframes.edges_of(etype, value)
        elif arrow_tables.is_table(value):
            *pair, edata[etype], note = arrow_tables.edges_of(etype, value)
        notes.append(note)
        ends[etype] = _ends(etype, pair)
    edges, names = input_names.numbered(ends, tables)
    if num_nodes is not None and not isinstance(num_nodes, dict):
        num_nodes = {NTYPE: whole_number(num_nodes, "num_nodes")}
    counts = {**rows, **(num_nodes or {})}
    seen: dict[str, int] = {}
    for (src_type, _, dst_type), (src, dst) in edges.items():
        for ntype, ids in ((src_type, src), (dst_type, dst)):
            seen[ntype] = max(seen.get(ntype, 0), int(ids.max()) + 1 if len(ids) else 0)
    for ntype, count in counts.items():
        if whole_number(count, f"num_nodes of {ntype!r}") < 0:
            raise InvalidError(f"num_nodes of {ntype!r} is {count}; give 0 or more")
        if count < seen.get(ntype, 0):
            raise InvalidError(
                f"num_nodes of {ntype!r} is {count}, and an edge ends in node "
                f"{seen[ntype] - 1}; give {seen[ntype]} or more"
            )
    for ntype, of_type in names.items():
        if counts.setdefault(ntype, len(of_type)) != len(of_type):
            raise InvalidError(
                f"num_nodes of {ntype!r} is {counts[ntype]}, and {len(of_type)} nodes have names; "
                "omit it, or give a frame of the nodes whose index has all names"
            )
    ntypes = sorted(counts.keys() | seen.keys())
    num_nodes = {ntype: counts.get(ntype, seen.get(ntype, 0)) for ntype in ntypes}
    return RawGraph(num_nodes, edges, None, edata, names, notes)


def _triple(etype: Any) -> Triple:
    if (
        not isinstance(etype, (tuple, list))
        or len(etype) != 3
        or not all(isinstance(name, str) for name in etype)
    ):
        raise InvalidError(
            f"edge type {etype!r}: expected a triple of names, as ('user', 'follows', 'user')"
        )
    src, relation, dst = etype
    return src, relation, dst


def _ends(etype: Any, pair: Any) -> tuple[Any, Any]:
    """Returns the (sources, destinations) of a type's edges, as `ids_or_names` returns them."""
    if len(getattr(pair, "shape", ())) == 2:
        if pair.shape[0] != 2:
            raise InvalidError(
                f"edges of {etype!r}: got the shape {tuple(pair.shape)}, expected [2, E]; give the "
                "transpose of [E, 2], or an adjacency matrix as one of SciPy"
            )
        pair = tuple(pair)
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        got = f"{len(pair)} of them" if isinstance(pair, (tuple, list)) else str(type(pair))
        raise InvalidError(f"edges of {etype!r}: expected two tensors (src, dst), got {got}")
    src, dst = map(ids_or_names, pair)
    shapes = [(len(ids),) if isinstance(ids, list) else ids.shape for ids in (src, dst)]
    if len(shapes[0]) != 1 or shapes[0] != shapes[1]:
        raise InvalidError(
            f"edges of {etype!r}: src has the shape {shapes[0]} and dst "
            f"{shapes[1]}; expected two vectors of the same length"
        )
    least = min(
        (ids.min() for ids in (src, dst) if not isinstance(ids, list) and len(ids)), default=0
    )
    if least < 0:
        raise InvalidError(f"edges of {etype!r} end in node {least}; node ids are 0 or more")
    return src, dst


def _from_scipy(matrix: Any) -> RawGraph:
    """Converts an adjacency matrix. Entry (i, j) is an edge from i to j. The entries' values become
    the weight "w" unless all of them are 1."""
    if matrix.shape[0] != matrix.shape[1]:
        raise InvalidError(
            f"an adjacency matrix is square, this one is {matrix.shape}; give a "
            "bipartite graph as {edge type: (src, dst)}"
        )
    coo = matrix.tocoo()
    edata = {} if (coo.data == 1).all() else {ETYPE: {"w": coo.data}}
    edges = {ETYPE: (_int64(coo.row), _int64(coo.col))}
    return RawGraph({NTYPE: matrix.shape[0]}, edges, edata=edata)


def _from_networkx(g: Any) -> RawGraph:
    """Numbers nodes by their order in the graph, and makes two edges of each undirected edge. Nodes
    that are all str keep these as their names. Attributes that all nodes, or all edges, have as
    numbers or texts become features; a warning names the others."""
    import numpy

    number = {node: i for i, node in enumerate(g.nodes)}
    names = list(number)
    are_names = bool(names) and all(isinstance(name, str) for name in names)
    both_ways = not g.is_directed()
    ends = [(number[u], number[v]) for u, v in g.edges()]
    attributes = [data for _, _, data in g.edges(data=True)]
    if both_ways:
        ends += [(v, u) for u, v in ends]
        attributes += attributes
    array = numpy.asarray(ends, numpy.int64).reshape(-1, 2)
    return RawGraph(
        {NTYPE: len(number)},
        {ETYPE: (_int64(array[:, 0]), _int64(array[:, 1]))},
        {NTYPE: _columns("nodes", [data for _, data in g.nodes(data=True)])},
        {ETYPE: _columns("edges", attributes)},
        {NTYPE: names} if are_names else None,
    )


def _columns(what: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Converts a list of rows, {name: number, array or text}, to columns, {name: array or labels}.
    Only names that all rows have become columns."""
    import numpy

    names = set.intersection(*map(set, rows)) if rows else set()
    kept: dict[str, Any] = {}
    reasons = []
    for name in sorted(names):
        values = [row[name] for row in rows]
        texts = texts_in(values)
        if texts is not None:
            try:
                kept[name] = labels_of(str(name), texts)
            except InvalidError as error:
                reasons.append(str(error))
            continue
        column = numpy.asarray(values)
        if column.dtype.kind in "biuf":
            kept[name] = column
    left_out = sorted({str(name) for row in rows for name in row if name not in kept})
    if left_out:
        warnings.warn(
            f"attributes {left_out} of {what} are left out: features are numbers or texts that all "
            f"{what} have{''.join(f'; {reason}' for reason in reasons)}",
            stacklevel=5,  # the caller of partition_graph
        )
    return kept


def _from_pyg(data: Any) -> RawGraph:
    if not hasattr(data, "node_types"):
        features = [(name, value) for name, value in data.items() if name != "edge_index"]
        return RawGraph(
            {NTYPE: data.num_nodes},
            {ETYPE: _pyg_ends(data, ETYPE)},
            {NTYPE: _pyg_names((n, v) for n, v in features if data.is_node_attr(n))},
            {ETYPE: {n: v for n, v in features if data.is_edge_attr(n)}},
        )
    ndata = {
        ntype: _pyg_names((n, v) for n, v in data[ntype].items() if data[ntype].is_node_attr(n))
        for ntype in data.node_types
    }
    edata = {
        etype: {
            n: v
            for n, v in data[etype].items()
            if n != "edge_index" and data[etype].is_edge_attr(n)
        }
        for etype in data.edge_types
    }
    return RawGraph(
        {ntype: data[ntype].num_nodes for ntype in data.node_types},
        {etype: _pyg_ends(data[etype], etype) for etype in data.edge_types},
        ndata,
        edata,
    )


def _pyg_ends(store: Any, etype: Triple) -> tuple[Any, Any]:
    if getattr(store, "edge_index", None) is None:
        raise InvalidError(
            f"edges of {etype!r}: there is no edge_index; give one (if there is an adj_t, "
            "omit the transform ToSparseTensor)"
        )
    src, dst = store.edge_index
    return _int64(src), _int64(dst)


def _pyg_names(features: Iterable[tuple[str, Tensor]]) -> Features:
    """Renames PyG's x and y to feat and label, as DGL and graphd call them."""
    return {{"x": "feat", "y": "label"}.get(name, name): value for name, value in features}


def _from_dgl(g: Any) -> RawGraph:
    edges = {}
    for etype in g.canonical_etypes:
        src, dst = g.edges(etype=etype, order="eid")
        edges[etype] = (_int64(src), _int64(dst))
    return RawGraph(
        {ntype: g.num_nodes(ntype) for ntype in g.ntypes},
        edges,
        {ntype: dict(g.nodes[ntype].data) for ntype in g.ntypes},
        {etype: dict(g.edges[etype].data) for etype in g.canonical_etypes},
    )
