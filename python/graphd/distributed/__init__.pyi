# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

from ..sampled import SampledGraph
from ..sampling import BlockSampler
from ..subgraph import Subgraph
from ..typing import EdgeType, Ids, Tensor
from . import init as init
from . import optim as optim
from .init import Initializer
from .optim import SparseAdagrad as SparseAdagrad
from .optim import SparseAdam as SparseAdam
from .optim import SparseSGD as SparseSGD

class DistDataLoader:
    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        shuffle: bool = False,
        collate_fn: Callable[[list], Any] | None = None,
        drop_last: bool = False,
        queue_size: int | None = None,
        *,
        num_workers: int | None = None,
        seed: int | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...

class DistEdgeDataLoader:
    def __init__(
        self,
        g: DistGraph,
        eids: Ids | dict[EdgeType, Ids],
        graph_sampler: BlockSampler,
        device: Any = None,
        *,
        batch_size: int,
        shuffle: bool = False,
        drop_last: bool = False,
        num_workers: int | None = None,
        queue_size: int | None = None,
        seed: int | None = None,
        g_sampling: DistGraph | None = None,
        exclude: str | None = None,
        reverse_eids: Ids | dict[EdgeType, Ids] | None = None,
        reverse_etypes: dict[EdgeType, EdgeType] | None = None,
        negative_sampler: Any = None,
        seed_times: Tensor | dict[EdgeType, Tensor] | None = None,
        pin_memory: bool = False,
        gb_padding: int = 1,
        use_ddp: bool = False,
    ) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...

class DistEmbedding:
    g: DistGraph
    part_policy: PartitionPolicy
    embedding_dim: int
    num_embeddings: int
    name: str
    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        name: str | None = None,
        init_func: Callable[..., Tensor] | Initializer | None = None,
        part_policy: PartitionPolicy | None = None,
        *,
        persistent: bool | None = None,
        many_writers: bool = False,
    ) -> None: ...
    @property
    def weight(self) -> DistTensor: ...
    def __call__(self, idx: Ids, device: Any = None) -> Any: ...
    def backward(self, idx: Ids, gradients: Tensor) -> None: ...
    def reset_trace(self) -> None: ...

class DistGraph:
    def __init__(
        self,
        graph_name: str = '',
        gpb: Any = None,
        part_config: str | os.PathLike[str] | None = None,
    ) -> None: ...
    @property
    def graph_name(self) -> str: ...
    @property
    def ntypes(self) -> list[str]: ...
    @property
    def etypes(self) -> list[str]: ...
    @property
    def canonical_etypes(self) -> list[tuple[str, str, str]]: ...
    def to_canonical_etype(self, etype: EdgeType | None) -> Any: ...
    def get_ntype_id(self, ntype: str | None) -> Any: ...
    def get_etype_id(self, etype: EdgeType | None) -> Any: ...
    def num_nodes(self, ntype: str | None = None) -> int: ...
    def num_edges(self, etype: EdgeType | None = None) -> int: ...
    def number_of_nodes(self, ntype: str | None = None) -> Any: ...
    def number_of_edges(self, etype: EdgeType | None = None) -> Any: ...
    @property
    def ndata(self) -> MutableMapping[str, DistTensor]: ...
    @property
    def edata(self) -> MutableMapping[str, Any]: ...
    @property
    def nodes(self) -> Any: ...
    @property
    def edges(self) -> Any: ...
    def node_attr_schemes(self, ntype: str | None = None) -> Any: ...
    def edge_attr_schemes(self, etype: EdgeType | None = None) -> Any: ...
    def in_degrees(self, v: Ids = None, etype: EdgeType | None = None) -> Any: ...
    def out_degrees(self, u: Ids = None, etype: EdgeType | None = None) -> Any: ...
    def find_edges(
        self,
        edges: Ids | dict[EdgeType, Ids],
        etype: EdgeType | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    def has_edges_between(self, u: Ids, v: Ids, etype: EdgeType | None = None) -> Tensor: ...
    def edge_subgraph(
        self,
        edges: Ids | dict[EdgeType, Ids],
        relabel_nodes: bool = True,
        store_ids: bool = True,
    ) -> Subgraph: ...
    def sample_neighbors(
        self,
        seed_nodes: Ids | dict[str, Ids],
        fanout: int | dict[EdgeType, int],
        edge_dir: str = 'in',
        prob: str | None = None,
        exclude_edges: Ids | dict[EdgeType, Ids] | None = None,
        replace: bool = False,
        etype_sorted: bool = True,
        output_device: Any = None,
    ) -> SampledGraph: ...
    def get_partition_book(self) -> GraphPartitionBook: ...
    def get_node_partition_policy(self, ntype: str | None = None) -> PartitionPolicy: ...
    def get_edge_partition_policy(self, etype: EdgeType | None = None) -> PartitionPolicy: ...
    @property
    def local_partition(self) -> Any: ...
    def rank(self) -> int: ...
    def barrier(self) -> None: ...
    @property
    def idtype(self) -> Any: ...
    @property
    def device(self) -> Any: ...
    def is_pinned(self) -> Any: ...

class DistNodeDataLoader:
    def __init__(
        self,
        g: DistGraph,
        nids: Ids | dict[str, Ids],
        graph_sampler: BlockSampler,
        device: Any = None,
        *,
        batch_size: int,
        shuffle: bool = False,
        drop_last: bool = False,
        num_workers: int | None = None,
        queue_size: int | None = None,
        seed: int | None = None,
        seed_times: Tensor | dict[str, Tensor] | None = None,
        pin_memory: bool = False,
        gb_padding: int = 1,
        use_ddp: bool = False,
    ) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...

class DistTensor:
    g: DistGraph
    def __init__(
        self,
        shape: Sequence[int],
        dtype: Any = None,
        name: str | None = None,
        init_func: Callable[..., Tensor] | Initializer | None = None,
        part_policy: PartitionPolicy | None = None,
        persistent: bool | None = False,
        is_gdata: bool = True,
        attach: bool = True,
        *,
        many_writers: bool = False,
    ) -> None: ...
    @classmethod
    def of(cls, handle: Any, g: DistGraph) -> Any: ...
    @classmethod
    def open(cls, g: DistGraph, name: str | None) -> Any: ...
    @staticmethod
    def list(g: DistGraph) -> Any: ...
    @staticmethod
    def drop(g: DistGraph, name: str | None) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def tensor_name(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def persistent(self) -> bool: ...
    @property
    def part_policy(self) -> PartitionPolicy: ...
    def __len__(self) -> int: ...
    def __getitem__(self, rows: Ids | slice) -> Any: ...
    def __setitem__(self, rows: Ids | slice, values: Tensor) -> None: ...
    def add(self, rows: Ids | slice, values: Tensor) -> None: ...
    @property
    def local_partition(self) -> Any: ...
    def __or__(self, other: Any) -> Any: ...
    def count_nonzero(self) -> int: ...

class GraphPartitionBook:
    def __init__(self, handle: Any, partid: int | None = 0) -> None: ...
    def shared_memory(self, graph_name: str) -> Any: ...
    def num_partitions(self) -> int: ...
    @property
    def partid(self) -> int: ...
    @property
    def ntypes(self) -> list[str]: ...
    @property
    def etypes(self) -> list[str]: ...
    @property
    def canonical_etypes(self) -> list[tuple[str, str, str]]: ...
    @property
    def is_homogeneous(self) -> bool: ...
    def to_canonical_etype(self, etype: EdgeType | None) -> Any: ...
    def metadata(self) -> Any: ...
    def ntype_id(self, ntype: str | None) -> Any: ...
    def etype_id(self, etype: EdgeType | None) -> Any: ...
    def nid2partid(self, nids: Ids | dict[str, Ids], ntype: str | None = '_N') -> Tensor: ...
    def eid2partid(
        self,
        eids: Ids | dict[EdgeType, Ids],
        etype: EdgeType | None = ('_N', '_E', '_N'),
    ) -> Tensor: ...
    def partid2nids(self, partid: int | None, ntype: str | None = '_N') -> Tensor: ...
    def partid2eids(
        self,
        partid: int | None,
        etype: EdgeType | None = ('_N', '_E', '_N'),
    ) -> Tensor: ...
    def nid2localnid(
        self,
        nids: Ids | dict[str, Ids],
        partid: int | None = None,
        ntype: str | None = '_N',
    ) -> Any: ...
    def eid2localeid(
        self,
        eids: Ids | dict[EdgeType, Ids],
        partid: int | None = None,
        etype: EdgeType | None = ('_N', '_E', '_N'),
    ) -> Any: ...
    def map_to_per_ntype(self, ids: Ids) -> Any: ...
    def map_to_per_etype(self, ids: Ids) -> Any: ...
    def map_to_homo_nid(self, ids: Ids, ntype: str | None) -> Any: ...
    def map_to_homo_eid(self, ids: Ids, etype: EdgeType | None) -> Any: ...
    def num_nodes(self, ntype: str | None = None) -> int: ...
    def num_edges(self, etype: EdgeType | None = None) -> int: ...

class Partition:
    part_id: int
    @property
    def ntypes(self) -> list[str]: ...
    @property
    def canonical_etypes(self) -> list[tuple[str, str, str]]: ...
    def num_nodes(self, ntype: str | None = None) -> int: ...
    def num_edges(self, etype: EdgeType | None = None) -> int: ...
    def nodes(self, ntype: str | None = None) -> Any: ...
    def edges(
        self,
        form: str = 'uv',
        order: str = 'eid',
        etype: EdgeType | None = None,
    ) -> Any: ...

class PartitionPolicy:
    type_id: int
    g: DistGraph
    kind: str
    def __init__(self, kind: Any, g: DistGraph, type_id: int = 0) -> None: ...
    def with_rows(self, rows: int) -> PartitionPolicy: ...
    @classmethod
    def of_size(cls, size: Any, g: DistGraph) -> Any: ...
    @property
    def policy_str(self) -> Any: ...
    @property
    def type_name(self) -> Any: ...
    @property
    def part_id(self) -> Any: ...
    @property
    def partition_book(self) -> Any: ...
    def get_size(self) -> Any: ...
    def get_part_size(self) -> Any: ...
    def local_ids(self) -> Any: ...
    def to_partid(self, ids: Ids) -> Any: ...
    def to_local(self, ids: Ids) -> Any: ...

def edge_split(
    edges: Ids | dict[EdgeType, Ids],
    partition_book: GraphPartitionBook | None = None,
    etype: EdgeType | None = ('_N', '_E', '_N'),
    rank: int | None = None,
    force_even: bool = True,
    edge_trainer_ids: Any = None,
) -> Tensor: ...

def edge_subgraph(
    g: DistGraph,
    edges: Ids | dict[EdgeType, Ids],
    relabel_nodes: bool = True,
    store_ids: bool = True,
) -> Subgraph: ...

def exit_client() -> None: ...

def find_edges(
    g: DistGraph,
    edge_ids: Any,
    etype: EdgeType | None = None,
) -> tuple[Tensor, Tensor]: ...

def get_num_trainers() -> int: ...

def get_rank(role: str = 'default') -> int: ...

def get_role() -> str: ...

def get_global_rank() -> int: ...
def get_trainer_rank() -> int: ...

def in_subgraph(g: DistGraph, nodes: Ids | dict[str, Ids]) -> SampledGraph: ...

def initialize(
    ip_config: str | None = None,
    *legacy: Any,
    num_servers: Any = None,
    num_workers: int | None = None,
    max_queue_size: Any = None,
    net_type: Any = None,
    num_worker_threads: Any = None,
    use_graphbolt: Any = None,
    server_name: str | None = None,
    part_config: str | os.PathLike[str] | None = None,
    state_dir: str | None = None,
    timeout: float | None = None,
) -> None: ...

def load_partition(
    part_config: str | os.PathLike[str] | None,
    part_id: int,
    load_feats: bool = True,
) -> Any: ...

def load_partition_book(part_config: str | os.PathLike[str] | None, part_id: int = 0) -> Any: ...

def load_partition_feats(
    part_config: str | os.PathLike[str] | None,
    part_id: int,
    load_nodes: bool = True,
    load_edges: bool = True,
) -> Any: ...

def node_split(
    nodes: Ids | dict[str, Ids],
    partition_book: GraphPartitionBook | None = None,
    ntype: str | None = '_N',
    rank: int | None = None,
    force_even: bool = True,
    node_trainer_ids: Any = None,
) -> Tensor: ...

def node_subgraph(g: DistGraph, nodes: Ids | dict[str, Ids]) -> Subgraph: ...

def partition_graph(
    g: DistGraph,
    graph_name: str,
    num_parts: int,
    out_path: str | os.PathLike[str],
    num_hops: int = 1,
    part_method: str = 'metis',
    balance_ntypes: Any = None,
    balance_edges: bool = False,
    return_mapping: bool = False,
    num_trainers_per_machine: int = 1,
    objtype: str = 'cut',
    graph_formats: Any = None,
    use_graphbolt: bool = False,
    *,
    num_nodes: Any = None,
    ndata: Any = None,
    edata: Any = None,
    add_reverse: bool = False,
    seed: int | None = 0,
    force: bool = False,
) -> Any: ...

def sample_etype_neighbors(
    g: DistGraph,
    nodes: Ids | dict[str, Ids],
    fanout: int | dict[EdgeType, int],
    edge_dir: str = 'in',
    prob: str | None = None,
    exclude_edges: Ids | dict[EdgeType, Ids] | None = None,
    replace: bool = False,
    etype_sorted: bool = True,
    use_graphbolt: bool = False,
    *,
    seed: int | None = None,
) -> SampledGraph: ...

def sample_neighbors(
    g: DistGraph,
    nodes: Ids | dict[str, Ids],
    fanout: int | dict[EdgeType, int],
    edge_dir: str = 'in',
    prob: str | None = None,
    exclude_edges: Ids | dict[EdgeType, Ids] | None = None,
    replace: bool = False,
    use_graphbolt: bool = False,
    *,
    seed: int | None = None,
) -> SampledGraph: ...
