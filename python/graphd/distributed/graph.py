# SPDX-License-Identifier: Apache-2.0
"""A graph that lies in several servers, seen as one."""
from .. import _graphd, backend
from ..arguments import part_config_path
from ..errors import InvalidError
from ..names import ALL
from ..schema import Types
from . import current_graph, session
from .book import GraphPartitionBook
from .graph_data import Data, Scheme, View
from .policy import PartitionPolicy


class DistGraph:
    """A graph in several partitions. Matches ``dgl.distributed.DistGraph``.

    Ids are int64, from 0, and by type. Making one is no collective, several may exist, and every
    method may be called from any thread.

    Parameters
    ----------
    graph_name : str
        As it was partitioned; "" takes what the servers serve.
    gpb : GraphPartitionBook, optional
        DGL's; without effect. (A path, as DGL 0.5's examples have it, counts as part_config.)
    part_config : str, optional
        Standalone mode: the part config to open in this process.

    Raises
    ------
    graphd.errors.InvalidError
        If `graph_name` or `part_config` is none, or there are neither servers nor a part_config.
    """

    def __init__(self, graph_name="", gpb=None, part_config=None):
        if isinstance(gpb, str) and part_config is None:
            part_config = gpb
        if not isinstance(graph_name, str):
            raise InvalidError(f"graph_name {graph_name!r}: expected a name; \"\" takes what the "
                               "servers serve")
        if part_config:
            part_config = part_config_path(part_config)
        self.session = session.current(part_config)
        self.handle = _graphd.Graph(self.session, graph_name)
        self.types = Types(self.handle.schema)
        current_graph.set(self)

    @property
    def graph_name(self):
        """The name by which it was partitioned."""
        return self.handle.name

    # Types.
    @property
    def ntypes(self):
        """Names of the node types."""
        return self.types.ntypes

    @property
    def etypes(self):
        """Relations of the edge types."""
        return self.types.etypes

    @property
    def canonical_etypes(self):
        """(source type, relation, destination type) of each edge type."""
        return self.types.canonical_etypes

    def to_canonical_etype(self, etype):
        """The triple that a relation stands for.

        Parameters
        ----------
        etype : str or (str, str, str)

        Returns
        -------
        (str, str, str)
        """
        return self.types.canonical_etypes[self.types.etype_id(etype)]

    def get_ntype_id(self, ntype):
        """The number of a node type.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type.

        Returns
        -------
        int
        """
        return self.types.ntype_id(ntype)

    def get_etype_id(self, etype):
        """The number of an edge type.

        Parameters
        ----------
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        int
        """
        return self.types.etype_id(etype)

    # Sizes.
    def num_nodes(self, ntype=None):
        """How many nodes there are in all partitions.

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
        """How many edges there are in all partitions.

        Parameters
        ----------
        etype : str or (str, str, str), optional
            Default: the only type, or all of them together.

        Returns
        -------
        int
        """
        if etype is None:
            return sum(map(self.handle.num_edges, range(len(self.etypes))))
        return self.handle.num_edges(self.types.etype_id(etype))

    number_of_nodes, number_of_edges = num_nodes, num_edges

    # Data.
    @property
    def ndata(self):
        """Tensors of the nodes by name, for a graph with one node type."""
        return Data(self, False, self.types.ntype_id(None))

    @property
    def edata(self):
        """Tensors of the edges by name, for a graph with one edge type."""
        return Data(self, True, self.types.etype_id(None))

    @property
    def nodes(self):
        """``g.nodes["user"].data`` are the tensors of a type."""
        return View(self, False)

    @property
    def edges(self):
        """``g.edges[etype].data`` are the tensors of a type."""
        return View(self, True)

    def node_attr_schemes(self, ntype=None):
        """What data nodes have.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type.

        Returns
        -------
        dict of str to Scheme
            Shape of a row and dtype, by name.
        """
        return self._schemes(False, self.types.ntype_id(ntype))

    def edge_attr_schemes(self, etype=None):
        """What data edges have.

        Parameters
        ----------
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        dict of str to Scheme
            Shape of a row and dtype, by name.
        """
        return self._schemes(True, self.types.etype_id(etype))

    def _schemes(self, is_edge, number):
        return {name: Scheme(tuple(shape), backend.dtype_of(dtype))
                for name, dtype, shape in self.handle.schemes(is_edge, number)}

    # Structure.
    def in_degrees(self, v=None, etype=None):
        """In-degrees of nodes.

        Parameters
        ----------
        v : int, int64 tensor or list, optional
            Default, as with `graphd.ALL`: all nodes.
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        int64 tensor, or an int for an int
        """
        return self._degrees(False, v, etype)

    def out_degrees(self, u=None, etype=None):
        """Out-degrees of nodes. Every partition is asked, so that all edges count.

        Parameters
        ----------
        u : int, int64 tensor or list, optional
            Default, as with `graphd.ALL`: all nodes.
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        int64 tensor, or an int for an int
        """
        return self._degrees(True, u, etype)

    def _degrees(self, is_out, nodes, etype):
        import numpy

        backend.chosen()
        e = self.types.etype_id(etype)
        if nodes is None or isinstance(nodes, str) and nodes == ALL:
            end = (self.types.src_types if is_out else self.types.dst_types)[e]
            nodes = numpy.arange(self.handle.num_nodes(end), dtype=numpy.int64)
        degrees = self.handle.degrees(is_out, nodes, e)
        return int(degrees[0]) if isinstance(nodes, int) else degrees

    def find_edges(self, edges, etype=None):
        """Ends of edges, in the order given.

        Parameters
        ----------
        edges : int64 tensor or list
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        src, dst : int64 tensor
        """
        backend.chosen()
        return self.handle.find_edges(edges, self.types.etype_id(etype))

    def has_edges_between(self, u, v, etype=None):
        """Whether there is an edge ``u[i] -> v[i]``.

        Parameters
        ----------
        u, v : int64 tensor or list
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        bool tensor
        """
        backend.chosen()
        return self.handle.has_edges_between(u, v, self.types.etype_id(etype))

    def edge_subgraph(self, edges, relabel_nodes=True, store_ids=True):
        """See `graphd.distributed.edge_subgraph`."""
        from .queries import edge_subgraph

        return edge_subgraph(self, edges, relabel_nodes, store_ids)

    def sample_neighbors(self, seed_nodes, fanout, edge_dir="in", prob=None, exclude_edges=None,
                         replace=False, etype_sorted=True, output_device=None):
        """See `graphd.distributed.sample_neighbors`."""
        from .queries import sample_neighbors

        return sample_neighbors(self, seed_nodes, fanout, edge_dir, prob, exclude_edges, replace)

    # Partitions and trainers.
    def get_partition_book(self):
        """Who owns what.

        Returns
        -------
        GraphPartitionBook
        """
        return GraphPartitionBook(self.handle.book, self.handle.local_partition)

    def get_node_partition_policy(self, ntype=None):
        """The policy of tensors whose rows go with the nodes of a type.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type.

        Returns
        -------
        PartitionPolicy
        """
        return PartitionPolicy("node", self, self.types.ntype_id(ntype))

    def get_edge_partition_policy(self, etype=None):
        """The policy of tensors whose rows go with the edges of a type.

        Parameters
        ----------
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        PartitionPolicy
        """
        return PartitionPolicy("edge", self, self.types.etype_id(etype))

    @property
    def local_partition(self):
        """The partition of this trainer's machine, a `Partition`. Raises InvalidError if it is not
        in this machine's memory."""
        from .partition import Partition

        part = self.handle.local_partition
        return Partition(self.handle.mapped_partition(part), part)

    def rank(self):
        """This trainer's number in its job, from 0.

        Returns
        -------
        int
        """
        return self.session.rank

    def barrier(self):
        """Waits for every trainer of the job."""
        self.session.barrier()

    # DGLGraph's, for code that asks.
    @property
    def idtype(self):
        """Of ids: int64."""
        return backend.dtype_of("int64")

    @property
    def device(self):
        """The CPU."""
        if backend.chosen() == "torch":
            import torch

            return torch.device("cpu")
        return "cpu"

    def is_pinned(self):
        """Whether its memory is pinned for a GPU: never.

        Returns
        -------
        bool
        """
        return False

    def __repr__(self):
        return (f"DistGraph('{self.graph_name}', num_nodes={self.num_nodes()}, "
                f"num_edges={self.num_edges()}, "
                f"partitions={self.handle.book.num_partitions})")
