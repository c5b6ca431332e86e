# SPDX-License-Identifier: Apache-2.0
"""Names of DGL that graphd does not have, and what to use in their place."""

from __future__ import annotations

_ONE_PROCESS = (
    "it is about a graph in one process: import it from dgl, and give the graph to "
    "graphd.distributed.partition_graph"
)
_MESSAGES = "import it from dgl: a Block has all attributes of DGL's while DGL is imported"
_SERVERS = "`graphctl launch` and `graphctl server start` start the servers, which run no script"
_STORE = "graphd has no key-value store; read and write rows by the brackets of a DistTensor"
_RPC = "servers run no code of scripts; use the methods of DistGraph, and DistTensor"
_MODULES = "take it from graphd.distributed"
_DISTRIBUTED = "use graphd.distributed.{name}"
_LOADERS = "use DistNodeDataLoader or DistEdgeDataLoader"
_NONE = "graphd has no such sampler for distributed graphs; its own are in graphd.sampling"

# The names by module, in groups with the same remedy.
_REMEDIES: dict[str, tuple[tuple[str, str], ...]] = {
    "graphd": (
        (
            "DGLGraph DGLHeteroGraph graph heterograph create_block rand_graph rand_bipartite "
            "from_networkx from_scipy bipartite_from_networkx bipartite_from_scipy load_graphs "
            "save_graphs batch unbatch add_edges add_nodes remove_edges remove_nodes "
            "add_self_loop remove_self_loop add_reverse_edges to_bidirected to_simple reverse "
            "to_homogeneous to_heterogeneous reorder_graph metis_partition transforms data "
            "knn_graph edge_type_subgraph node_type_subgraph khop_in_subgraph",
            _ONE_PROCESS,
        ),
        ("function ops readout mean_nodes sum_nodes max_nodes", _MESSAGES),
        ("edge_subgraph in_subgraph node_subgraph", _DISTRIBUTED),
        (
            "out_subgraph",
            "use in_subgraph of graphd.distributed: edges are stored with destinations",
        ),
        ("optim", "use graphd.distributed.optim"),
        ("random", "use graphd.seed"),
        ("graphbolt", "use the samplers and loaders of graphd.sampling"),
    ),
    "graphd.distributed": (
        ("DistGraphServer ServerState start_server rpc_server server_state", _SERVERS),
        ("connect_to_server rpc_client dist_context", "use initialize and exit_client"),
        ("KVClient KVServer kvstore standalone_kvstore", _STORE),
        (
            "Request Response register_service send_request recv_request send_response "
            "recv_response remote_call send_request_to_machine remote_call_to_machine fast_pull rpc",
            _RPC,
        ),
        ("read_ip_config", "initialize reads the file"),
        ("DistConnectError", "catch graphd.errors.UnavailableError"),
        ("client_barrier", "use the barrier of a DistGraph"),
        ("get_num_client", "use get_num_trainers"),
        ("get_num_machines", "use num_partitions of a partition book"),
        ("get_machine_id", "use partid of a partition book"),
        ("get_group_id", "a job has an id: job_id of initialize, or GRAPHD_JOB_ID"),
        ("set_rank set_machine_id set_num_machines set_num_client", "give initialize the job"),
        ("nn", "use graphd.distributed.DistEmbedding"),
        ("dist_graph dist_tensor dist_dataloader graph_services graph_partition_book", _MODULES),
        ("BasicPartitionBook", "load_partition_book returns a GraphPartitionBook for such data"),
        (
            "convert_dgl_partition_to_csc_sampling_graph dgl_partition_to_graphbolt "
            "gb_convert_single_dgl_partition",
            "samples are drawn from the files that partition_graph writes, or DGL's does",
        ),
        ("id_map", "use the map_to functions of a partition book"),
    ),
    "graphd.dataloading": (
        ("DataLoader GraphDataLoader NodeCollator EdgeCollator Collator", _LOADERS),
        ("ShaDowKHopSampler", "use ShadowSampler"),
        ("ClusterGCNSampler SAINTSampler", _NONE),
        ("Sampler", "derive from BlockSampler"),
        ("EdgePredictionSampler", "use as_edge_prediction_sampler"),
    ),
    "graphd.sampling": (
        ("sample_neighbors sample_etype_neighbors", _DISTRIBUTED),
        ("sample_labors", "use LaborSampler"),
        ("sample_neighbors_biased", "use the argument prob of graphd.distributed.sample_neighbors"),
        ("global_uniform_negative_sampling", "use negative_sampler.GlobalUniform"),
        ("pack_traces", "import it from dgl: random_walk returns such traces"),
    ),
}


def no_attribute(module: str, name: str) -> AttributeError:
    """Returns the error for an attribute that a module does not have. If it is a name of DGL, the
    error says what to use instead.

    Parameters
    ----------
    module : str
    name : str

    Returns
    -------
    AttributeError
    """
    text = f"module {module!r} has no attribute {name!r}"
    for names, remedy in _REMEDIES.get(module, ()):
        if name in names.split():
            return AttributeError(f"{text}, which DGL has; {remedy.format(name=name)}")
    return AttributeError(text)
