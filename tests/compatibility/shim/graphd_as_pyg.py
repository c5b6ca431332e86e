# SPDX-License-Identifier: Apache-2.0
"""Makes loaders of ``torch_geometric.loader`` of graphd's, for PyG's own tests.

PyG's tests give a loader a graph in memory; here it is partitioned into files first, and opened
without servers. Three things are as PyG's tests expect them and not as in graphd: batches have all
features of edges without being asked, a loader is shown without its settings, and times of nodes
become times of edges, those of their sources."""

import tempfile

import torch

_TIME = "time_of_source"
_folders = []  # the graphs' files, which are there until the process ends


def change_testing(module):
    """Lets tests run that PyG skips because pyg_lib is missing: graphd samples instead of it."""
    with_package = module.withPackage
    module.withPackage = lambda *names: with_package(*(each for each in names if each != "pyg_lib"))
    module.onlyNeighborSampler = lambda test: test


def change_loaders(module):
    import graphd.pyg

    for name in ("NeighborLoader", "LinkNeighborLoader"):
        setattr(module, name, _loader(getattr(graphd.pyg, name), name, getattr(module, name)))


def _loader(base, name, stock):
    class Loader(base):
        def __new__(cls, data, *args, **kwargs):
            """Returns PyG's own loader on graphd's stores in place of others."""
            return (
                _with_stores(stock, data, kwargs) if isinstance(data, tuple) else base.__new__(cls)
            )

        def __init__(self, data, *args, **kwargs):
            from torch_geometric.data import Data

            import graphd.pyg

            time_attr = kwargs.get("time_attr")
            g, edge_attrs = _graph_of(data, time_attr)
            stores = graphd.pyg.FeatureStore(g), graphd.pyg.GraphStore(g)
            if time_attr:
                kwargs["time_attr"] = _TIME
                if name == "NeighborLoader":
                    kwargs.setdefault("input_time", data[kwargs["input_nodes"]][time_attr])
            if name == "LinkNeighborLoader":
                given = kwargs.get("edge_label_index")
                kwargs["edge_label_index"] = _in_order_of_input(data, given)
            is_hetero = not isinstance(data, Data)
            super().__init__(stores if is_hetero else g, *args, edge_attrs=edge_attrs, **kwargs)

        def __repr__(self):
            return f"{name}()"

    return Loader


def _with_stores(stock, stores, kwargs):
    """Returns a loader of PyG with graphd's stores and sampler, given stores in memory."""
    from torch_geometric.data import HeteroData

    import graphd.pyg

    features, edges = stores
    data = HeteroData()
    for attr in features.get_all_tensor_attrs():
        data[attr.group_name][attr.attr_name] = features.get_tensor(
            attr.group_name, attr.attr_name, None
        )
    rows, cols, _ = edges.coo()
    for etype, row in rows.items():
        data[etype].edge_index = torch.stack([row, cols[etype]])
    time_attr = kwargs.get("time_attr")
    g, _ = _graph_of(data, time_attr)
    if time_attr:
        kwargs.update(time_attr=_TIME, input_time=data[kwargs["input_nodes"]][time_attr])
    if "edge_label_index" in kwargs:
        kwargs["edge_label_index"] = _in_order_of_input(data, kwargs["edge_label_index"])
    return stock(
        (graphd.pyg.FeatureStore(g), graphd.pyg.GraphStore(g)),
        neighbor_sampler=graphd.pyg.NeighborSampler(
            g, kwargs["num_neighbors"], time_attr=kwargs.get("time_attr")
        ),
        **kwargs,
    )


def _in_order_of_input(data, given):
    """Returns the edges that stand for all edges of a type, since graphd renumbers edges."""
    if given is None:
        return data.edge_index
    if isinstance(given, tuple) and all(isinstance(each, str) for each in given):
        return given, data[given].edge_index
    return given


def _graph_of(data, time_attr=None):
    """Returns the DistGraph of a Data or HeteroData, and its features of edges by type."""
    import graphd

    folder = tempfile.TemporaryDirectory(prefix="graphd-pyg-")
    _folders.append(folder)
    kept = data.clone()
    for store in (*kept.node_stores, *kept.edge_stores):
        for key in [key for key in store if key.startswith("edge_label")]:
            del store[key]
    for store in kept.edge_stores if time_attr else ():
        source = kept[store._key[0]] if store._key else kept
        store[_TIME] = source[time_attr][store.edge_index[0]]
    nodes, _ = graphd.distributed.partition_graph(kept, "g", 1, folder.name, return_mapping=True)
    for ids in nodes.values() if isinstance(nodes, dict) else [nodes]:
        if not torch.equal(ids, torch.arange(len(ids))):
            raise AssertionError("a single partition has other node ids than the input")
    g = graphd.connect(part_config=f"{folder.name}/g.json").graph()
    edge_attrs = {
        etype: [name for name in g.edges[etype].data if name != "orig_id"]
        for etype in g.canonical_etypes
    }
    return g, edge_attrs
