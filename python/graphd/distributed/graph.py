# SPDX-License-Identifier: Apache-2.0
"""A graph that is stored on several servers, used as one."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from .. import _graphd, backend, input_names, progress
from ..arguments import part_config_path, text
from ..errors import CorruptError, InvalidError
from ..frame import frame_of
from ..graph_base import GraphBase
from ..names import ALL
from ..sampled import SampledGraph
from ..subgraph import Subgraph
from ..typing import EdgeIds, EdgeType, Fanout, Ids, NodeIds, Path, Tensor
from . import current_graph, queries, session
from .book import GraphPartitionBook
from .dgl_client import Client
from .feature_copies import find_copies
from .graph_data import Data, Scheme, View, schemes, shown_graph
from .node_names import NodeNames
from .partition import Partition
from .policy import PartitionPolicy
from .range_book import book_of


class DistGraph(GraphBase):
    """A graph in several partitions. Matches ``dgl.distributed.DistGraph``.

    Ids are int64, from 0, and by type. Sizes are those of all partitions together. Making a graph
    is not collective, several may exist, and every method may be called from any thread.

    Parameters
    ----------
    graph_name : str
        The name that it was partitioned with; "" takes the graph that the servers serve.
    gpb : GraphPartitionBook, optional
        Accepted for DGL; has no effect. (A path, as in DGL 0.5's examples, counts as part_config.)
    part_config : str, optional
        For standalone mode: the part config to open in this process.
    persistent_features : bool
        Whether a change of a feature of nodes (``g.ndata["feat"][ids] = rows``) belongs to the servers
        and outlives the job, as a persistent `DistTensor` does. A graph that is opened with True has
        the changes that all jobs have made in this way. With False, changes belong to the job, and the
        graph does not have the changes of other jobs. In both cases the graph's own feature stays as it
        is.

    Raises
    ------
    graphd.errors.InvalidError
        If `graph_name` or `part_config` is not valid, or there are neither servers nor a
        part_config.
    """

    def __init__(
        self,
        graph_name: str = "",
        gpb: Any = None,
        part_config: Path | None = None,
        *,
        persistent_features: bool = False,
    ) -> None:
        if isinstance(gpb, str) and part_config is None:
            part_config = gpb
        if not isinstance(graph_name, str):
            raise InvalidError(
                f'graph_name {graph_name!r}: expected a name; "" takes what the servers serve'
            )
        if part_config:
            part_config = part_config_path(part_config)
        opened = session.with_new_files(part_config)
        super().__init__(opened, graph_name, persistent_features)
        self._begin(session.known_part_config())

    @classmethod
    def _of(
        cls,
        opened: _graphd.Session,
        graph_name: str,
        part_config: str | None,
        persistent_features: bool,
    ) -> DistGraph:
        """Returns the graph of a session that `graphd.connect` has opened."""
        g = cls.__new__(cls)
        GraphBase.__init__(g, opened, graph_name, persistent_features)
        g._begin(part_config)
        return g

    def _begin(self, part_config: str | None) -> None:
        self._part_config = part_config  # None if only the servers know it
        find_copies(self)
        current_graph.remember(self)

    @property
    def graph_name(self) -> str:
        """The name that it was partitioned with."""
        return self.handle.name

    def get_ntype_id(self, ntype: str | None) -> int:
        """Returns the number of a node type.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type.

        Returns
        -------
        int
        """
        return self.types.ntype_id(ntype)

    def get_etype_id(self, etype: EdgeType | None) -> int:
        """Returns the number of an edge type.

        Parameters
        ----------
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        int
        """
        return self.types.etype_id(etype)

    # Data.
    @property
    def ndata(self) -> MutableMapping[str, Any]:
        """The tensors of the nodes by name, as in a DGLGraph. With several node types, the value of
        a name is a dict from type to tensor."""
        return frame_of(self.ntypes, [Data(self, False, i) for i in range(len(self.ntypes))])

    @property
    def edata(self) -> MutableMapping[str, Any]:
        """The tensors of the edges by name, as in a DGLGraph. With several edge types, the value of
        a name is a dict from canonical edge type to tensor."""
        etypes = self.canonical_etypes
        return frame_of(etypes, [Data(self, True, i) for i in range(len(etypes))])

    @property
    def nodes(self) -> View:
        """``g.nodes["user"].data`` are the tensors of a type."""
        return View(self, False)

    @property
    def edges(self) -> View:
        """``g.edges[etype].data`` are the tensors of a type."""
        return View(self, True)

    def node_attr_schemes(self, ntype: str | None = None) -> dict[str, Scheme]:
        """Returns the schemes of the nodes' data.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type.

        Returns
        -------
        dict of str to Scheme
            Shape of a row and dtype, by name.
        """
        return schemes(self, False, self.types.ntype_id(ntype))

    def edge_attr_schemes(self, etype: EdgeType | None = None) -> dict[str, Scheme]:
        """Returns the schemes of the edges' data.

        Parameters
        ----------
        etype : str or (str, str, str), optional
            Default: the only type.

        Returns
        -------
        dict of str to Scheme
            Shape of a row and dtype, by name.
        """
        return schemes(self, True, self.types.etype_id(etype))

    def node_names(self, ntype: str | None = None, part_config: Path | None = None) -> NodeNames:
        """Reads the names that nodes had in the input, of ``graphctl partition`` or `partition_graph`.

        They are in a file beside the part config, which ``graphctl copy`` copies to every machine.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type.
        part_config : str, optional
            Default: the one that this graph was opened with, or for servers that of ``graphctl
            launch --part_config``. The graph of `graphd.connect` to servers needs it.

        Returns
        -------
        NodeNames

        Raises
        ------
        graphd.errors.InvalidError
            If no part config is known.
        graphd.errors.NotFoundError
            If the nodes have no names.
        """
        config = self._config_for("node_names", part_config)
        number = self.types.ntype_id(ntype)
        path = input_names.path_beside(config, self.graph_name, self.ntypes[number])
        return NodeNames(self, number, path)

    def label_names(
        self,
        feature: str,
        ntype: str | None = None,
        *,
        etype: EdgeType | None = None,
        part_config: Path | None = None,
    ) -> list[str]:
        """Reads the texts that labels stand for, if the labels were a column of text or of
        categories in the input of ``graphctl partition`` or `partition_graph`.

        They are in a file beside the part config, which ``graphctl copy`` copies to every machine.

        Parameters
        ----------
        feature : str
        ntype : str, optional
            The node type that has the feature. Default: the only type.
        etype : str or (str, str, str), optional
            The edge type that has the feature, if it is one of edges.
        part_config : str, optional
            See `node_names`.

        Returns
        -------
        list of str
            The text of label i is at i.

        Raises
        ------
        graphd.errors.InvalidError
            If no part config is known, or a node type and an edge type are given.
        graphd.errors.NotFoundError
            If there is no such feature, or its labels have no texts.
        graphd.errors.CorruptError
            If the file is damaged.

        Examples
        --------
        >>> texts = g.label_names("kind")                                     # doctest: +SKIP
        >>> [texts[label] for label in scores[[4, 7]].argmax(1).tolist()]     # doctest: +SKIP
        ['tea', 'jam']
        """
        if ntype is not None and etype is not None:
            raise InvalidError(f"label_names: give ntype {ntype!r} or etype {etype!r}, not both")
        config, is_edge = self._config_for("label_names", part_config), etype is not None
        number = self.types.etype_id(etype) if is_edge else self.types.ntype_id(ntype)
        self.data(is_edge, number, text(feature, "feature"))  # raises an error if there is none
        of = ":".join(self.canonical_etypes[number]) if is_edge else self.ntypes[number]
        path = input_names.labels_path_beside(config, self.graph_name, of, feature)
        with progress.clock(f"reading texts of {feature!r}"):
            lines = input_names.read(path, f"labels of {feature!r} of {of!r} have no texts")
        try:
            return lines.decode().split("\n")[:-1]
        except UnicodeDecodeError as error:
            raise CorruptError(f"{path}: byte {error.start} is not UTF-8; copy it again") from None

    def _config_for(self, method: str, part_config: Path | None) -> str:
        """Returns the path of the part config beside which files are read."""
        config = part_config or self._part_config
        if not config:
            raise InvalidError(
                f"{method}: the names are in a file beside the part config; give its path: "
                "part_config='parts/mine.json'"
            )
        return part_config_path(config)

    # Structure.
    def in_degrees(self, v: Ids = None, etype: EdgeType | None = None) -> Any:
        """Returns the in-degrees of nodes.

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

    def out_degrees(self, u: Ids = None, etype: EdgeType | None = None) -> Any:
        """Returns the out-degrees of nodes. It queries every partition, so that all edges count.

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

    def _degrees(self, is_out: bool, nodes: Ids, etype: EdgeType | None) -> Any:
        import numpy

        backend.chosen()
        e = self.types.etype_id(etype)
        if nodes is None or (isinstance(nodes, str) and nodes == ALL):
            end = (self.types.src_types if is_out else self.types.dst_types)[e]
            nodes = numpy.arange(self.handle.num_nodes(end), dtype=numpy.int64)
        kind = "out-degrees" if is_out else "in-degrees"
        with self.calls.clock(f"counting {kind}", self.types.count([nodes])):
            degrees = self.handle.degrees(is_out, nodes, e)
        return int(degrees[0]) if isinstance(nodes, int) else degrees

    def find_edges(self, edges: Ids, etype: EdgeType | None = None) -> tuple[Tensor, Tensor]:
        """See `graphd.distributed.find_edges`."""
        return queries.find_edges(self, edges, etype)

    def has_edges_between(self, u: Ids, v: Ids, etype: EdgeType | None = None) -> Tensor:
        """Returns whether there is an edge ``u[i] -> v[i]``.

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
        e = self.types.etype_id(etype)
        with self.calls.clock("looking for edges", self.types.count([u])):
            return self.handle.has_edges_between(u, v, e)

    def edge_subgraph(
        self, edges: EdgeIds, relabel_nodes: bool = True, store_ids: bool = True
    ) -> Subgraph:
        """See `graphd.distributed.edge_subgraph`."""
        return queries.edge_subgraph(self, edges, relabel_nodes, store_ids)

    def add_edge_attribute(self, name: str, padding: float = 0) -> None:
        """Checks that an edge feature can be a weight. In DGL, GraphBolt must first copy the
        feature. Here every edge feature of a suitable dtype can be a weight without that:
        ``prob=name``.

        Parameters
        ----------
        name : str
        padding
            Accepted for DGL; has no effect.

        Raises
        ------
        graphd.errors.InvalidError
            If no edge type has a feature of this name.
        """
        if name not in self.edata:
            raise InvalidError(
                f"edge attribute {name!r}: no edge type has it; there are {sorted(self.edata)}"
            )

    def sample_neighbors(
        self,
        seed_nodes: NodeIds,
        fanout: Fanout,
        edge_dir: str = "in",
        prob: str | None = None,
        exclude_edges: EdgeIds = None,
        replace: bool = False,
        etype_sorted: bool = True,
        output_device: Any = None,
        *,
        pooled: bool = False,
        seed: int | None = None,
    ) -> SampledGraph:
        """See `graphd.distributed.sample_neighbors`."""
        return queries.sample_neighbors(
            self,
            seed_nodes,
            fanout,
            edge_dir,
            prob,
            exclude_edges,
            replace,
            etype_sorted=etype_sorted,
            output_device=output_device,
            pooled=pooled,
            seed=seed,
        )

    # Partitions and trainers.
    def get_partition_book(self) -> GraphPartitionBook:
        """Returns the partition book.

        Returns
        -------
        GraphPartitionBook
        """
        return book_of(self.handle.book, self.handle.local_partition, self)

    def get_node_partition_policy(self, ntype: str | None = None) -> PartitionPolicy:
        """Returns the policy of tensors whose rows are stored with the nodes of a type.

        Parameters
        ----------
        ntype : str, optional
            Default: the only type.

        Returns
        -------
        PartitionPolicy
        """
        return PartitionPolicy("node", self, self.types.ntype_id(ntype))

    def get_edge_partition_policy(self, etype: EdgeType | None = None) -> PartitionPolicy:
        """Returns the policy of tensors whose rows are stored with the edges of a type.

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
    def local_partition(self) -> Partition:
        """The partition of this trainer's machine, a `Partition`. Raises InvalidError if it is not
        in this machine's memory."""
        part = self.handle.local_partition
        return Partition(self.handle.mapped_partition(part), part)

    def rank(self) -> int:
        """Returns this trainer's number in its job, from 0.

        Returns
        -------
        int
        """
        return self.session.rank

    def barrier(self) -> None:
        """Waits for every trainer of the job. After the barrier, all trainers read what any trainer
        has written before the barrier, including changed features."""
        self.session.barrier()
        if self.session.world_size > 1 or self.persistent_features:
            find_copies(self)

    @property
    def _client(self) -> Client:
        return Client(self, self.barrier)

    def row_cache_statistics(self) -> dict[str, int]:
        """Returns what this process has done with the row cache of its machine since `initialize`:
        ``hits``, ``misses``, ``hit_bytes``, ``inserted``, ``evicted`` and ``kept`` rows, and the
        cache's ``capacity_bytes`` and ``used_bytes``. All are 0 without a cache.

        Returns
        -------
        dict of str to int
        """
        return self.handle.row_cache_statistics()

    # Attributes of DGLGraph that other code reads.
    @property
    def idtype(self) -> Any:
        """The dtype of ids: int64."""
        return backend.dtype_of("int64")

    @property
    def device(self) -> Any:
        """The CPU."""
        if backend.chosen() == "torch":
            import torch

            return torch.device("cpu")
        return "cpu"

    def is_pinned(self) -> bool:
        """Returns whether its memory is pinned for a GPU: never.

        Returns
        -------
        bool
        """
        return False

    def __repr__(self) -> str:
        return (
            f"DistGraph('{self.graph_name}', num_nodes={self.num_nodes()}, "
            f"num_edges={self.num_edges()}, "
            f"partitions={self.handle.book.num_partitions})"
        )

    def _repr_html_(self) -> str:
        return shown_graph(self)
