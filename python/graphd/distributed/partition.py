# SPDX-License-Identifier: Apache-2.0
"""Partitioning of graphs, and access to one partition."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

from .. import _graphd, backend, input_names, progress, seeds
from ..arguments import (
    one_of,
    part_config_file,
    path,
    text,
    true_or_false,
    whole_number,
    whole_number_in,
)
from ..convert import partition_to_dgl
from ..errors import GraphdError, InvalidError
from ..labels import Labels
from ..raw import RawGraph, raw_graph
from ..schema import Types
from ..typed_graph import EdgeListGraph
from ..typing import Path, Tensor, Triple
from .book import GraphPartitionBook
from .range_book import book_of

_METHODS = ("metis", "multilevel", "ldg", "fennel", "random", "hash")


def partition_graph(
    g: Any,
    graph_name: str,
    num_parts: int,
    out_path: Path,
    num_hops: int = 1,
    part_method: str = "metis",
    balance_ntypes: Any = None,
    balance_edges: bool = False,
    return_mapping: bool = False,
    num_trainers_per_machine: int = 1,
    objtype: str = "cut",
    graph_formats: Any = None,
    use_graphbolt: bool = False,
    *,
    num_nodes: Any = None,
    ndata: Any = None,
    edata: Any = None,
    add_reverse: bool = False,
    seed: int | None = 0,
    force: bool = False,
    edge_orig_id: bool = True,
    store_as: Any = None,
    reshuffle: bool = True,
    store_eids: bool = True,
    store_inner_node: bool = False,
    store_inner_edge: bool = False,
    n_jobs: int = 1,
) -> Any:
    """Partitions a graph and writes it in graphd's native format.

    Matches ``dgl.distributed.partition_graph``. For graphs on disk there is ``graphctl partition``.
    Tensors and columns in one piece are read without a copy, and the input is not changed.

    Parameters
    ----------
    g : graph
        (src, dst) tensors; an edge_index [2, E]; a pandas.DataFrame or a table of edges; a dict of
        canonical edge type to any of these; a SciPy sparse matrix (entry i, j: an edge from i to
        j); a graph of NetworkX, PyG or DGL. In PyG's Data and HeteroData, x and y become "feat" and
        "label". A table is a pyarrow.Table, RecordBatch, RecordBatchReader or Dataset, a
        polars.DataFrame, or any other object with ``__arrow_c_stream__``. The first two columns of
        a frame or table are sources and destinations (or those named like the two node types, if
        the types differ), and its other columns are features: numbers, lists of the same number of
        numbers, or text, which becomes labels 0, 1, ... in the order of its first appearance or,
        for categories, in the order of their dictionary. Arrays of text of NumPy become labels,
        too. The texts of labels are written to a file beside the part config, as
        graphctl-partition(1) describes. Nulls are NaN, and a warning counts those of each float32
        and float64 feature. Nodes may have names (str) in place of ids: `DistGraph.node_names`
        returns these later. Other warnings report columns of ids in which a few values are not
        numbers, and first columns that are probably not sources and destinations.
    graph_name : str
    num_parts : int
    out_path : str
        The directory for <graph_name>.json and a directory per partition.
    part_method : {"metis", "multilevel", "ldg", "fennel", "random", "hash"}
    balance_ntypes : str, tensor, or dict of node type to either, optional
        A class for each node; each class is balanced separately. A str names a feature.
    balance_edges : bool
        Whether to balance in-degrees, too.
    return_mapping : bool
        Whether to return the original ids of nodes and edges, as DGL does.
    num_trainers_per_machine : int
        If more than 1, the feature "trainer_id" has the trainer of each node.
    objtype : {"cut", "vol"}
    num_hops, graph_formats, use_graphbolt, store_eids, store_inner_node, store_inner_edge, n_jobs
        Accepted for DGL; has no effect, since the native format has no halo nodes and no formats.
    num_nodes : int or dict, optional
        Numbers of nodes, for edges given as tensors. Default: the largest id plus one.
    ndata, edata : dict of name to tensor, or dict of type to such a dict, optional
        More features; ``numpy.load`` of an .npz file is such a dict. Those of nodes may also be a
        pandas.DataFrame or a table, or a dict of node type to such. The index of a frame, or the
        first column of a table, has the ids of nodes, or their names, which are then numbered in
        this order; the other columns are features. Columns x.0, x.1, ... become one feature x.
    add_reverse : bool
        Whether to add a reverse to every edge.
    seed : int
    force : bool
        Whether to replace an existing graph.
    edge_orig_id : bool
        Whether edges keep their ids of the input as the feature "orig_id", which takes 4 bytes per
        edge if there are fewer than 2^32 edges. return_mapping needs it.
    store_as : dict of str to {"float16", "bfloat16", "int8"}, optional
        Features, "name" or "type/name", of float32 that take less memory and disk: 2 bytes per
        value, or 1 byte with one scale per feature. They are read as float32.
    reshuffle : bool
        The argument of DGL up to 0.9. Only True is supported: each partition gets a range of ids.

    Returns
    -------
    str, or tuple of tensors
        Path of the part config; with return_mapping, original node ids and original edge ids
        instead: tensors, or with several types of nodes or edges dicts by type. The id of a reverse
        edge is the id of its edge plus the number of edges.

    Raises
    ------
    graphd.errors.InvalidError
        If an argument is not valid, or `g` is not a graph.
    graphd.errors.ExistsError
        If there is a part config already, and `force` is False.
    """
    options = {
        "graph_name": text(graph_name, "graph_name"),
        "output": path(out_path, "out_path", "the path of a directory"),
        "num_parts": whole_number_in(num_parts, "num_parts", 1, 1 << 14),
        "part_method": one_of(part_method, "part_method", _METHODS),
        "objtype": one_of(objtype, "objtype", ("cut", "vol")),
        "balance_edges": bool(balance_edges),
        "force": bool(force),
        "edge_orig_id": true_or_false(edge_orig_id, "edge_orig_id"),
        "store_as": [f"{name}={dtype}" for name, dtype in stored_dtypes(store_as).items()],
        "num_trainers_per_machine": whole_number_in(
            num_trainers_per_machine, "num_trainers_per_machine", 1, 1 << 14
        ),
    }
    if not reshuffle:
        raise InvalidError(
            "reshuffle=False: nodes and edges always get new ids, a range for each partition; the "
            'features "orig_id" and return_mapping=True give those of the input'
        )
    if return_mapping and not edge_orig_id:
        raise InvalidError("return_mapping=True needs the ids that edge_orig_id=False leaves out")
    with progress.clock("converting the graph"):
        raw = raw_graph(g, num_nodes, ndata, edata)
    for note in raw.notes:  # now, because partitioning a large graph takes hours
        warnings.warn(note, stacklevel=2)
    nodes = [(ntype, count, _plain(raw.ndata[ntype])) for ntype, count in raw.num_nodes.items()]
    edges = [(*etype, *ends, _plain(raw.edata[etype])) for etype, ends in raw.edges.items()]
    with tempfile.TemporaryDirectory() as scratch, arguments_named(), progress.steps() as show:
        part_config, notes = _graphd.partition_graph(
            nodes,
            edges,
            bool(add_reverse),
            {
                **options,
                "balance_ntypes": _classes(balance_ntypes, raw, scratch),
                "seed": seeds.given_or_next(seed),
            },
            show,
        )
    for ntype, names in raw.names.items():
        with progress.clock(f"writing names of {ntype!r}"):
            input_names.write(input_names.path_beside(part_config, graph_name, ntype), names)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    if not return_mapping:
        return part_config
    with progress.clock("reading original ids"):
        return _original_ids(part_config)


def _plain(features: dict[str, Any]) -> dict[str, Any]:
    """Replaces labels by (numbers, texts)."""
    return {
        name: (value.numbers, value.texts) if isinstance(value, Labels) else value
        for name, value in features.items()
    }


def stored_dtypes(given: Any) -> dict[str, str]:
    """Returns the names of the dtypes in store_as."""
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise InvalidError(
            f"store_as: got {given!r}; expected a dict such as {{'feat': 'float16'}}"
        )
    return {name: str(dtype).rpartition(".")[2] for name, dtype in given.items()}


@contextlib.contextmanager
def arguments_named() -> Iterator[None]:
    """Replaces graphctl's options by the names of arguments in the partitioner's errors."""
    try:
        yield
    except GraphdError as error:
        words = (
            ("--output", "out_path"),
            ("--force", "force=True"),
            (r"--(part_method|num_hops) (\w+)", r"\1='\2'"),
            (r"--(\w+)", r"\1"),
            ("(; only float32 is stored .*)", r"\1; convert it first: .astype('float32')"),
        )
        message = str(error)
        for option, argument in words:
            message = re.sub(option, argument, message)
        raise type(error)(message) from None


def _classes(given: Any, raw: RawGraph, scratch: str) -> list[str]:
    """Converts balance_ntypes for the partitioner: to names of features, and files for tensors."""
    import numpy

    if given is None:
        return []
    ntypes = list(raw.num_nodes)
    if not isinstance(given, dict):
        if len(ntypes) != 1:
            raise InvalidError(
                f"balance_ntypes: the graph has the node types {ntypes}; give a dict by type"
            )
        given = {ntypes[0]: given}
    classes = []
    for i, (ntype, value) in enumerate(given.items()):
        if ntype not in raw.num_nodes:
            raise InvalidError(f"balance_ntypes: no node type {ntype!r}; there are {ntypes}")
        if isinstance(value, str):
            if value not in raw.ndata[ntype]:
                raise InvalidError(
                    f"balance_ntypes {value!r}: nodes of type {ntype!r} have the "
                    f"features {list(raw.ndata[ntype])}; name one, or give a class "
                    "for each node"
                )
            classes.append(f"{ntype}/{value}" if len(ntypes) > 1 else value)
        else:
            file = os.path.join(scratch, f"{i}.npy")
            numpy.save(file, _class_numbers(value, ntype, raw.num_nodes[ntype]))
            classes.append(f"{ntype}={file}")
    return classes


def _class_numbers(values: Any, ntype: str, count: int) -> Any:
    import numpy

    array = backend.to_numpy(values) if hasattr(values, "detach") else numpy.asarray(values)
    if array.shape != (count,) or array.dtype.kind not in "biu":
        got = f"{array.dtype} of the shape {array.shape}" if array.shape else repr(values)
        raise InvalidError(
            f"balance_ntypes: got {got} for nodes of type {ntype!r}; expected the "
            f"name of a feature, or integers or bool, one for each of the {count}"
        )
    return array.astype(numpy.uint8) if array.dtype.kind == "b" else array


def _original_ids(part_config: str) -> tuple[Any, Any]:
    backend.chosen()
    g = _graphd.Graph(_graphd.Session({"part_config": part_config, "server_name": ""}), "")
    types = Types(g.schema)

    def of(is_edge: bool, count: int) -> list[Tensor]:
        tensors = (g.data(is_edge, t, "orig_id") for t in range(count))
        return [tensor.slice(0, tensor.shape[0]) for tensor in tensors]

    nodes, edges = of(False, len(types.ntypes)), of(True, len(types.etypes))
    if types.is_homogeneous:
        return nodes[0], edges[0]
    return dict(zip(types.ntypes, nodes)), dict(zip(types.canonical_etypes, edges))


class Partition(EdgeListGraph):
    """One partition of a graph, without a server. `load_partition` returns it.

    It has the nodes that the partition owns, and the edges that end in them. Ids are those of the
    original graph, by type.

    Attributes
    ----------
    part_id : int
    """

    def __init__(self, handle: _graphd.LocalPartition, part_id: int) -> None:
        backend.chosen()
        self.handle, self.part_id = handle, part_id
        self.types = Types(handle.schema)

    def _count_nodes(self, ntype_id: int) -> int:
        return self.handle.num_nodes(ntype_id)

    def _count_edges(self, etype_id: int) -> int:
        return self.handle.num_edges(etype_id)

    def _edges(self, etype_id: int) -> tuple[Tensor, Tensor, Tensor]:
        return self.handle.edges(etype_id)

    def nodes(self, ntype: str | None = None) -> Tensor:
        """Returns the nodes.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type.

        Returns
        -------
        int64 tensor, ascending
        """
        return self.handle.nodes(self.types.ntype_id(ntype))

    def to_dgl(self) -> Any:
        """Returns the partition as a graph of DGL, as ``dgl.distributed.load_partition`` does.

        Nodes and edges of all types are numbered together, and have ``dgl.NID``, ``dgl.NTYPE`` and
        "inner_node", or ``dgl.EID``, ``dgl.ETYPE`` and "inner_edge". Nodes of other partitions that
        edges begin in come after the partition's own.

        Returns
        -------
        dgl.DGLGraph
        """
        return partition_to_dgl(self.types, self.handle)

    def __repr__(self) -> str:
        return f"Partition({self.part_id}, nodes={self.num_nodes()}, edges={self.num_edges()})"


def load_partition(
    part_config: Path, part_id: int, load_feats: bool = True, use_graphbolt: bool = False
) -> tuple[
    Partition,
    dict[str, Tensor],
    dict[str, Tensor],
    GraphPartitionBook,
    str,
    list[str],
    list[Triple],
]:
    """Reads one partition from its files, of any format.

    Matches ``dgl.distributed.load_partition``.

    Parameters
    ----------
    part_config : str
    part_id : int
    load_feats : bool
        Whether to return features, too.
    use_graphbolt : bool
        Accepted for DGL; has no effect.

    Returns
    -------
    Partition
    dict of str to tensor
        Features of its nodes: "type/name". They share the mapped memory, and are copied on write.
    dict of str to tensor
        Features of its edges: "src:rel:dst/name".
    GraphPartitionBook
    str
        The graph's name.
    list of str
        Node types.
    list of (str, str, str)
        Edge types.
    """
    backend.chosen()
    file, number = part_config_file(part_config), whole_number(part_id, "part_id")
    with progress.clock(f"loading partition {number}"):
        handle = _graphd.load_partition(file, number)
    part = Partition(handle, part_id)
    nodes, edges = handle.features() if load_feats else ({}, {})
    return (
        part,
        nodes,
        edges,
        book_of(handle.book, part_id),
        handle.book.graph_name,
        part.ntypes,
        part.canonical_etypes,
    )


def load_partition_feats(
    part_config: Path, part_id: int, load_nodes: bool = True, load_edges: bool = True
) -> tuple[dict[str, Tensor] | None, dict[str, Tensor] | None]:
    """Reads the features of one partition. Matches ``dgl.distributed.load_partition_feats``.

    Parameters
    ----------
    part_config : str
    part_id : int
    load_nodes, load_edges : bool
        Whether to return the features of nodes, and of edges.

    Returns
    -------
    dict of str to tensor, or None
        Features of its nodes: "type/name".
    dict of str to tensor, or None
        Features of its edges: "src:rel:dst/name".
    """
    _, nodes, edges, *_ = load_partition(part_config, part_id)
    return (nodes if load_nodes else None), (edges if load_edges else None)
