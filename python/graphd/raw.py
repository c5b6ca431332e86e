# SPDX-License-Identifier: Apache-2.0
"""Conversion of other libraries' graphs to the partitioner's input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import backend
from .arguments import whole_number
from .errors import InvalidError
from .typing import Ids, Tensor, Triple

NTYPE, ETYPE = "_N", ("_N", "_E", "_N")

Features = dict[str, Tensor]


class RawGraph:
    """The numbers of nodes, the edges and the features of a graph by type.

    Attributes
    ----------
    num_nodes : dict of node type to int
    edges : dict of canonical edge type to (src, dst)
    ndata, edata : dict of type to dict of name to tensor
    """

    def __init__(
        self,
        num_nodes: dict[str, int],
        edges: dict[Triple, tuple[Any, Any]],
        ndata: Mapping[str, Features] | None = None,
        edata: Mapping[Triple, Features] | None = None,
    ) -> None:
        self.num_nodes, self.edges = num_nodes, edges
        self.ndata = {ntype: dict((ndata or {}).get(ntype, {})) for ntype in num_nodes}
        self.edata = {etype: dict((edata or {}).get(etype, {})) for etype in edges}


def raw_graph(g: Any, num_nodes: Any = None, ndata: Any = None, edata: Any = None) -> RawGraph:
    """Converts a graph of any library. See `graphd.distributed.partition_graph`."""
    module = type(g).__module__.partition(".")[0]
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
    elif isinstance(g, (tuple, list, dict)):
        raw = _from_coo(g, num_nodes)
    else:
        raise InvalidError(
            f"partition_graph can't read a {type(g)}; give (src, dst), a dict of "
            "edge type to (src, dst), or a graph of SciPy, NetworkX, PyG or DGL"
        )
    if not raw.edges:
        raise InvalidError("g has no edge types; a graph needs one, even if it has no edges")
    _merge(raw.ndata, ndata, NTYPE)
    _merge(raw.edata, edata, ETYPE)
    _check_features(raw.ndata)
    _check_features(raw.edata)
    return raw


def _check_features(by_type: Mapping[Any, Features]) -> None:
    import numpy

    for of, features in by_type.items():
        for name, values in features.items():
            if not isinstance(values, numpy.ndarray) and not hasattr(values, "detach"):
                raise InvalidError(
                    f"feature {name!r} of {of!r}: expected a tensor of torch or an "
                    f"array of NumPy, got {type(values)}"
                )
            if isinstance(values, numpy.ndarray) and values.dtype.kind not in "biuf":
                raise InvalidError(
                    f"feature {name!r} of {of!r} has the dtype {values.dtype}; "
                    "expected numbers or bool"
                )


def _merge(known: Mapping[Any, Features], more: Any, only_type: Any) -> None:
    """Adds features that are given by type, or by name alone for a graph with one type."""
    if not more:
        return
    if not isinstance(more, dict):
        raise InvalidError(
            f"features {more!r}: expected a dict of name to tensor, or of type to such a dict"
        )
    if not all(isinstance(value, dict) for value in more.values()):
        more = {only_type: more}
    for of, features in more.items():
        if of not in known:
            raise InvalidError(f"features of {of!r}: the graph has the types {list(known)}")
        known[of].update(features)


def _int64(ids: Ids) -> Any:
    """Converts ids of any integer type to int64, without a copy if they are int64 already."""
    import numpy

    array = numpy.asarray(backend.to_numpy(ids) if hasattr(ids, "detach") else ids)
    if array.size and array.dtype.kind not in "iu":
        raise InvalidError(f"ends of edges must be integers, got {array.dtype}")
    return numpy.ascontiguousarray(array, numpy.int64)


def _from_coo(g: Any, num_nodes: Any) -> RawGraph:
    given = g if isinstance(g, dict) else {ETYPE: g}
    edges = {_triple(etype): _ends(etype, pair) for etype, pair in given.items()}
    if num_nodes is not None and not isinstance(num_nodes, dict):
        num_nodes = {NTYPE: whole_number(num_nodes, "num_nodes")}
    counts = dict(num_nodes or {})
    seen: dict[str, int] = {}
    for (src_type, _, dst_type), ends in edges.items():
        for ntype, ids in ((src_type, ends[0]), (dst_type, ends[1])):
            seen[ntype] = max(seen.get(ntype, 0), int(ids.max()) + 1 if len(ids) else 0)
    for ntype, count in counts.items():
        if whole_number(count, f"num_nodes of {ntype!r}") < 0:
            raise InvalidError(f"num_nodes of {ntype!r} is {count}; give 0 or more")
        if count < seen.get(ntype, 0):
            raise InvalidError(
                f"num_nodes of {ntype!r} is {count}, and an edge ends in node "
                f"{seen[ntype] - 1}; give {seen[ntype]} or more"
            )
    ntypes = sorted(counts.keys() | seen.keys())
    return RawGraph({ntype: counts.get(ntype, seen.get(ntype, 0)) for ntype in ntypes}, edges)


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
    """Returns the (sources, destinations) of a type's edges."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        got = f"{len(pair)} of them" if isinstance(pair, (tuple, list)) else str(type(pair))
        raise InvalidError(f"edges of {etype!r}: expected two tensors (src, dst), got {got}")
    src, dst = map(_int64, pair)
    if src.ndim != 1 or src.shape != dst.shape:
        raise InvalidError(
            f"edges of {etype!r}: src has the shape {src.shape} and dst "
            f"{dst.shape}; expected two vectors of the same length"
        )
    if len(src) and min(src.min(), dst.min()) < 0:
        raise InvalidError(
            f"edges of {etype!r} end in node {min(src.min(), dst.min())}; node ids are 0 or more"
        )
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
    """Numbers nodes by their order in the graph, and makes two edges of an undirected one.
    Attributes that all nodes, or all edges, have as numbers become features."""
    import numpy

    number = {node: i for i, node in enumerate(g.nodes)}
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
        {NTYPE: _columns([data for _, data in g.nodes(data=True)])},
        {ETYPE: _columns(attributes)},
    )


def _columns(rows: Sequence[Mapping[str, Any]]) -> Features:
    """Converts [{name: number or array}] to {name: array}, for the names that all rows have."""
    import numpy

    names = set.intersection(*map(set, rows)) if rows else set()
    columns = {name: numpy.asarray([row[name] for row in rows]) for name in sorted(names)}
    return {name: column for name, column in columns.items() if column.dtype.kind in "biuf"}


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
