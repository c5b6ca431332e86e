# SPDX-License-Identifier: Apache-2.0
"""Cutting graphs into partitions, and looking at one."""
import contextlib
import os
import re
import tempfile

from .. import _graphd, backend, seeds
from ..arguments import FORMS, one_of, part_config_file, path, text, whole_number, whole_number_in
from ..errors import GraphdError, InvalidError
from ..raw import raw_graph
from ..schema import Types
from .book import GraphPartitionBook


_METHODS = ("metis", "ldg", "fennel", "random", "hash")


def partition_graph(g, graph_name, num_parts, out_path, num_hops=1, part_method="metis",
                    balance_ntypes=None, balance_edges=False, return_mapping=False,
                    num_trainers_per_machine=1, objtype="cut", graph_formats=None,
                    use_graphbolt=False, *, num_nodes=None, ndata=None, edata=None,
                    add_reverse=False, seed=0, force=False):
    """Cuts a graph into partitions in graphd's native format. Matches
    ``dgl.distributed.partition_graph``; for graphs on disk there is ``graphctl partition``.

    Tensors are read where they lie; nothing of the input is changed.

    Parameters
    ----------
    g : graph
        (src, dst) tensors; a dict of canonical edge type to such pairs; a SciPy sparse matrix
        (entry i, j: an edge from i to j); a graph of NetworkX, PyG (Data, HeteroData: x and y become
        "feat" and "label") or DGL.
    graph_name : str
    num_parts : int
    out_path : str
        Gets <graph_name>.json and a directory per partition.
    part_method : {"metis", "ldg", "fennel", "random", "hash"}
    balance_ntypes : str, tensor, or dict of node type to either, optional
        A class for each node; each class is balanced by itself. A str names a feature.
    balance_edges : bool
        Balances in-degrees, too.
    return_mapping : bool
        Also return the original ids of nodes and edges.
    num_trainers_per_machine : int
        More than 1: the feature "trainer_id" says for which trainer a node is.
    objtype : {"cut", "vol"}
    num_hops, graph_formats, use_graphbolt
        DGL's; without effect, for the native format stores no halo and needs no formats.
    num_nodes : int or dict, optional
        For edges given as tensors; default: up to the largest id.
    ndata, edata : dict of name to tensor, or dict of type to such a dict, optional
        More features.
    add_reverse : bool
        Adds a reverse to every edge.
    seed : int
    force : bool
        Replace a graph that is there.

    Returns
    -------
    str
        Path of the part config; with return_mapping a tuple of it, original node ids and original
        edge ids (tensors, or dicts by type; of reverses: the edge's plus the number of edges).

    Raises
    ------
    graphd.errors.InvalidError
        If an argument makes no sense, or `g` is no graph.
    graphd.errors.ExistsError
        If there is a part config already, without `force`.
    """
    options = {
        "graph_name": text(graph_name, "graph_name"),
        "output": path(out_path, "out_path", "the path of a directory"),
        "num_parts": whole_number_in(num_parts, "num_parts", 1, 1 << 14),
        "part_method": one_of(part_method, "part_method", _METHODS),
        "objtype": one_of(objtype, "objtype", ("cut", "vol")),
        "balance_edges": bool(balance_edges), "force": bool(force),
        "num_trainers_per_machine": whole_number_in(
            num_trainers_per_machine, "num_trainers_per_machine", 1, 1 << 14)}
    raw = raw_graph(g, num_nodes, ndata, edata)
    nodes = [(ntype, count, raw.ndata[ntype]) for ntype, count in raw.num_nodes.items()]
    edges = [(*etype, *ends, raw.edata[etype]) for etype, ends in raw.edges.items()]
    with tempfile.TemporaryDirectory() as scratch, _arguments_named():
        part_config, _ = _graphd.partition_graph(nodes, edges, bool(add_reverse), {
            **options, "balance_ntypes": _classes(balance_ntypes, raw, scratch),
            "seed": seeds.given_or_next(seed)})
    return (part_config, *_original_ids(part_config)) if return_mapping else part_config


@contextlib.contextmanager
def _arguments_named():
    """The partitioner's errors speak of graphctl's options; here these are arguments."""
    try:
        yield
    except GraphdError as error:
        words = (("--output", "out_path"), ("--force", "force=True"),
                 (r"--(part_method|num_hops) (\w+)", r"\1='\2'"), (r"--(\w+)", r"\1"))
        message = str(error)
        for option, argument in words:
            message = re.sub(option, argument, message)
        raise type(error)(message) from None


def _classes(given, raw, scratch):
    """balance_ntypes as the partitioner takes it: names of features, and files for tensors."""
    import numpy

    if given is None:
        return []
    ntypes = list(raw.num_nodes)
    if not isinstance(given, dict):
        if len(ntypes) != 1:
            raise InvalidError(f"balance_ntypes: the graph has the node types {ntypes}; give a "
                               "dict by type")
        given = {ntypes[0]: given}
    classes = []
    for i, (ntype, value) in enumerate(given.items()):
        if ntype not in raw.num_nodes:
            raise InvalidError(f"balance_ntypes: no node type {ntype!r}; there are {ntypes}")
        if isinstance(value, str):
            if value not in raw.ndata[ntype]:
                raise InvalidError(f"balance_ntypes {value!r}: nodes of type {ntype!r} have the "
                                   f"features {list(raw.ndata[ntype])}; name one, or give a class "
                                   "for each node")
            classes.append(f"{ntype}/{value}" if len(ntypes) > 1 else value)
        else:
            file = os.path.join(scratch, f"{i}.npy")
            numpy.save(file, _class_numbers(value, ntype, raw.num_nodes[ntype]))
            classes.append(f"{ntype}={file}")
    return classes


def _class_numbers(values, ntype, count):
    import numpy

    array = backend.to_numpy(values) if hasattr(values, "detach") else numpy.asarray(values)
    if array.shape != (count,) or array.dtype.kind not in "biu":
        got = f"{array.dtype} of the shape {array.shape}" if array.shape else repr(values)
        raise InvalidError(f"balance_ntypes: got {got} for nodes of type {ntype!r}; expected the "
                           f"name of a feature, or integers or bool, one for each of the {count}")
    return array.astype(numpy.uint8) if array.dtype.kind == "b" else array


def _original_ids(part_config):
    backend.chosen()
    g = _graphd.Graph(_graphd.Session({"part_config": part_config, "server_name": ""}), "")
    types = Types(g.schema)

    def of(is_edge, count):
        tensors = (g.data(is_edge, t, "orig_id") for t in range(count))
        return [tensor.slice(0, tensor.shape[0]) for tensor in tensors]

    return (types.ntypes_dict(of(False, len(types.ntypes))),
            types.etypes_dict(of(True, len(types.etypes))))


class Partition:
    """One partition of a graph, without a server. What `load_partition` returns.

    Ids are those of the large graph, by type.

    Attributes
    ----------
    part_id : int
    """

    def __init__(self, handle, part_id):
        backend.chosen()
        self.handle, self.part_id = handle, part_id
        self.types = Types(handle.schema)

    @property
    def ntypes(self):
        """Names of the node types."""
        return self.types.ntypes

    @property
    def canonical_etypes(self):
        """(source type, relation, destination type) of each edge type."""
        return self.types.canonical_etypes

    def num_nodes(self, ntype=None):
        """How many nodes the partition owns.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type, or all of them together.

        Returns
        -------
        int
        """
        if ntype is None:
            return sum(map(self.handle.num_nodes, range(len(self.ntypes))))
        return self.handle.num_nodes(self.types.ntype_id(ntype))

    def num_edges(self, etype=None):
        """How many edges it owns: those that end in its nodes.

        Parameters
        ----------
        etype : str or (str, str, str), optional
            Default: the only type, or all of them together.

        Returns
        -------
        int
        """
        if etype is None:
            return sum(map(self.handle.num_edges, range(len(self.canonical_etypes))))
        return self.handle.num_edges(self.types.etype_id(etype))

    def nodes(self, ntype=None):
        """The nodes that it owns.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type.

        Returns
        -------
        int64 tensor, ascending
        """
        return self.handle.nodes(self.types.ntype_id(ntype))

    def edges(self, form="uv", order="eid", etype=None):
        """The edges that it owns.

        Parameters
        ----------
        form : {"uv", "eid", "all"}
            Ends, ids, or both.
        order
            DGL's; without effect.
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        tensor, or tuple of tensors
            Sources and destinations, ids, or all three.
        """
        u, v, ids = self.handle.edges(self.types.etype_id(etype))
        return {"uv": (u, v), "eid": ids, "all": (u, v, ids)}[one_of(form, "form", FORMS)]

    def __repr__(self):
        return f"Partition({self.part_id}, nodes={self.num_nodes()}, edges={self.num_edges()})"


def load_partition(part_config, part_id, load_feats=True):
    """Reads one partition from its files, of any format. Matches ``dgl.distributed.load_partition``.

    Parameters
    ----------
    part_config : str
    part_id : int
    load_feats : bool
        Whether features are wanted, too.

    Returns
    -------
    Partition
    dict of str to tensor
        Features of its nodes: "type/name". They share the mapped memory, copied on write.
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
    handle = _graphd.load_partition(part_config_file(part_config),
                                    whole_number(part_id, "part_id"))
    part = Partition(handle, part_id)
    nodes, edges = handle.features() if load_feats else ({}, {})
    return (part, nodes, edges, GraphPartitionBook(handle.book, part_id), handle.book.graph_name,
            part.ntypes, part.canonical_etypes)


def load_partition_feats(part_config, part_id, load_nodes=True, load_edges=True):
    """Features of one partition. Matches ``dgl.distributed.load_partition_feats``.

    Parameters
    ----------
    part_config : str
    part_id : int
    load_nodes, load_edges : bool
        Of which features are wanted.

    Returns
    -------
    dict of str to tensor, or None
        Of its nodes: "type/name".
    dict of str to tensor, or None
        Of its edges: "src:rel:dst/name".
    """
    _, nodes, edges, *_ = load_partition(part_config, part_id)
    return (nodes if load_nodes else None), (edges if load_edges else None)
