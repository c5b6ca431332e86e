# SPDX-License-Identifier: Apache-2.0
"""Graphs that are stored on several servers. Matches ``dgl.distributed``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import init, optim
from .book import GraphPartitionBook
from .data_loader import DistDataLoader
from .dgl_remedies import no_attribute
from .embedding import DistEmbedding
from .graph import DistGraph
from .hot_nodes import nodes_by_access, nodes_by_degree
from .loaders import DistEdgeDataLoader, DistNodeDataLoader
from .optim import SparseAdagrad, SparseAdam, SparseSGD
from .partition import Partition, load_partition, load_partition_feats, partition_graph
from .policy import EdgePartitionPolicy, NodePartitionPolicy, PartitionPolicy
from .queries import (
    edge_subgraph,
    find_edges,
    in_subgraph,
    node_subgraph,
    sample_etype_neighbors,
    sample_neighbors,
)
from .range_book import RangePartitionBook, load_partition_book
from .role import get_global_rank, get_num_trainers, get_rank, get_role, get_trainer_rank
from .session import exit_client, finalize_client, initialize, shutdown_servers
from .split import edge_split, node_split
from .tensor import DistTensor

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise no_attribute(__name__, name)


__all__ = [
    "DistDataLoader",
    "DistEdgeDataLoader",
    "DistEmbedding",
    "DistGraph",
    "DistNodeDataLoader",
    "DistTensor",
    "EdgePartitionPolicy",
    "GraphPartitionBook",
    "NodePartitionPolicy",
    "Partition",
    "PartitionPolicy",
    "RangePartitionBook",
    "SparseAdagrad",
    "SparseAdam",
    "SparseSGD",
    "edge_split",
    "edge_subgraph",
    "exit_client",
    "finalize_client",
    "find_edges",
    "get_global_rank",
    "get_num_trainers",
    "get_rank",
    "get_role",
    "get_trainer_rank",
    "in_subgraph",
    "init",
    "initialize",
    "load_partition",
    "load_partition_book",
    "load_partition_feats",
    "node_split",
    "node_subgraph",
    "nodes_by_access",
    "nodes_by_degree",
    "optim",
    "partition_graph",
    "sample_etype_neighbors",
    "sample_neighbors",
    "shutdown_servers",
]
