# SPDX-License-Identifier: Apache-2.0
"""Tests the stores and the sampler for PyG's own loaders: batches are subgraphs of the graph, and a
model of PyG learns from them."""

import copy
import os
import re

import torch
from torch_geometric.data import HeteroData
from torch_geometric.loader import NeighborLoader, NodeLoader
from torch_geometric.nn import SAGEConv, to_hetero

import graphd
import jobs
import support
from graphd.device import DeviceRowCache
from graphd.pyg import FeatureStore, GraphStore, NeighborSampler
from html_cells import Cells
from late_device import LateDevice

LIKES = ("user", "likes", "post")
SBM = ("_N", "_E", "_N")


class Stores(support.GraphTest):
    def test_features_are_rows_by_either_name(self):
        for g in self.each_way():
            store, ids = FeatureStore(g), torch.tensor([5, 0, 299, 5])
            whole = g.nodes["user"].data["feat"][:]
            for name in ("x", "feat"):
                self.assertTrue(torch.equal(store.get_tensor("user", name, ids), whole[ids]))
                self.assertTrue(torch.equal(store["user", name, None], whole))
                self.assertEqual(store.get_tensor_size("user", name, None), tuple(whole.shape))
            self.assertTrue(torch.equal(store["user", "x", slice(2, 9)], whole[2:9]))
            self.assertTrue(torch.equal(store["user", "x", slice(2, 9, 3)], whole[[2, 5, 8]]))
            mask = torch.arange(len(whole)) % 2 == 0
            self.assertTrue(torch.equal(store["user", "x", mask], whole[mask]))
            score = g.edges["user", "likes", "post"].data["score"]
            self.assertTrue(torch.equal(store[("user", "likes", "post"), "score", None], score[:]))

    def test_the_stores_answer_as_those_of_pyg_in_memory(self):
        g = self.standalone()
        memory = HeteroData()  # implements both interfaces of PyG
        for ntype in g.ntypes:
            memory[ntype].num_nodes = g.num_nodes(ntype)
            for name, tensor in g.nodes[ntype].data.items():
                memory[ntype][name] = tensor[:]
        for etype in g.canonical_etypes:
            ends = g.find_edges(torch.arange(g.num_edges(etype)), etype)
            memory[etype].edge_index = torch.stack(ends)
        features, edges = FeatureStore(g), GraphStore(g)
        attrs = [copy.copy(attr) for attr in memory.get_all_tensor_attrs()]
        own = {(a.group_name, a.attr_name) for a in features.get_all_tensor_attrs()}
        names = {"feat": "x", "label": "y"}
        wanted = {(a.group_name, names.get(a.attr_name, a.attr_name)) for a in attrs}
        self.assertEqual(own, wanted)
        for index in (
            None,
            slice(1, 6),
            torch.tensor([4, 0, 4]),
            torch.tensor([], dtype=torch.int64),
        ):
            for attr in attrs:
                attr.index = index
                self.assertTrue(torch.equal(features.get_tensor(attr), memory.get_tensor(attr)))
                self.assertTrue(
                    torch.equal(
                        features[attr],
                        memory[attr.group_name][attr.attr_name][
                            slice(None) if index is None else index
                        ],
                    )
                )
            for mine, theirs in zip(
                features.multi_get_tensor(attrs), memory.multi_get_tensor(attrs), strict=True
            ):
                self.assertTrue(torch.equal(mine, theirs))
        for attr in attrs:
            sizes = (
                each.get_tensor_size(attr.group_name, attr.attr_name) for each in (features, memory)
            )
            self.assertEqual(*map(tuple, sizes))
            view = features.view(attr.group_name)
            self.assertTrue(
                torch.equal(view[attr.attr_name][2:4], memory[attr.group_name][attr.attr_name][2:4])
            )
        for convert in ("coo", "csr", "csc"):
            for mine, theirs in zip(
                getattr(edges, convert)(), getattr(memory, convert)(), strict=True
            ):
                for etype in g.canonical_etypes:
                    if mine.get(etype) is not None or theirs.get(etype) is not None:
                        self.assertTrue(torch.equal(mine[etype], theirs[etype]), convert)
        for call in (
            lambda store: store.get_edge_index(LIKES, "csr"),
            lambda store: store.get_edge_index(("user", "hates", "post"), "coo"),
        ):
            for store in (edges, memory):
                self.assertRaises(KeyError, call, store)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "can't be changed"):
            edges.csc(store=True)

    def test_a_stock_loader_has_rows_of_a_cache(self):
        g = self.standalone()
        feat = g.nodes["user"].data["feat"]
        cache = DeviceRowCache(feat, torch.arange(150), LateDevice())
        store = FeatureStore(g, ["feat"], row_caches=[cache])
        loader = NodeLoader(
            (store, GraphStore(g)),
            NeighborSampler(g, [3]),
            ("user", torch.arange(40)),
            batch_size=20,
        )
        rows = 0
        for batch in loader:
            self.assertTrue(torch.equal(batch["user"].x, feat[batch["user"].n_id]))
            rows += len(batch["user"].x)
        stats = cache.stats()
        self.assertEqual(stats["hits"] + stats["misses"], rows)
        self.assertTrue(torch.equal(store["user", "x", None], feat[:]))
        self.assertTrue(torch.equal(store["user", "x", slice(3, 9)], feat[3:9]))
        score = g.edges[LIKES].data["score"]
        self.assertTrue(torch.equal(store[LIKES, "score", torch.tensor([3])], score[[3]]))

    def test_stores_and_samplers_show_their_properties(self):
        g = self.standalone()
        caption, head, *rows = Cells(FeatureStore(g, ["feat"])._repr_html_()).rows
        self.assertEqual(
            (caption, head), (["FeatureStore"], ["node type", "name", "dtype", "shape"])
        )
        self.assertIn(["user", "feat", "float32", "(300, 16)"], rows)
        caption, head, *rows = Cells(GraphStore(g)._repr_html_()).rows
        self.assertEqual(caption, ["GraphStore"])
        self.assertEqual(head, ["edge type", "sources", "destinations", "edges"])
        for etype in g.canonical_etypes:
            counts = g.num_nodes(etype[0]), g.num_nodes(etype[2]), g.num_edges(etype)
            self.assertIn([" : ".join(etype), *(f"{count:,}" for count in counts)], rows)
        sampler = NeighborSampler(g, [3, 5], disjoint=True)
        caption, head, *rows = Cells(sampler._repr_html_()).rows
        self.assertEqual((caption, head), (["NeighborSampler"], ["property", "value"]))
        shown = {"graph": repr(g), "sampler": repr(sampler.sampler)}
        shown.update(disjoint="True", is_bidirectional="False")
        self.assertEqual(dict(rows), shown)

    def test_a_wrong_name_is_a_key_error_and_nothing_can_be_changed(self):
        store = FeatureStore(self.standalone())
        with self.assertRaisesRegex(KeyError, "fear"):
            store.get_tensor("user", "fear", None)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "create a DistTensor"):
            store.put_tensor(torch.ones(3), "user", "new", None)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "can't be removed"):
            store.remove_tensor("user", "x", None)
        with self.assertRaisesRegex(graphd.errors.NotFoundError, "fear"):
            FeatureStore(self.standalone(), ["feat", "fear"])

    def test_edges_are_those_of_the_graph_in_order_of_ids(self):
        for g in self.each_way():
            store = GraphStore(g)
            attrs = {attr.edge_type: attr for attr in store.get_all_edge_attrs()}
            self.assertEqual(sorted(attrs), sorted(g.canonical_etypes))
            for etype, attr in attrs.items():
                u, v = store.get_edge_index(attr)
                mine = g.find_edges(torch.arange(g.num_edges(etype)), etype)
                self.assertTrue(torch.equal(u, mine[0]) and torch.equal(v, mine[1]))
                self.assertEqual(attr.size, (g.num_nodes(etype[0]), g.num_nodes(etype[2])))

    def test_the_first_call_of_a_process_gives_tensors_of_pytorch(self):
        g = self.standalone()
        self.addCleanup(graphd.use, "torch")
        graphd.use("numpy")
        for make in (FeatureStore, GraphStore, lambda g: NeighborSampler(g, [1])):
            with self.assertRaisesRegex(graphd.errors.InvalidError, r'graphd.use\("torch"\)'):
                make(g)
        # A process that has made no tensor yet is in this state.
        graphd.backend._chosen = None
        store = GraphStore(g)
        u, _ = store.get_edge_index(store.get_all_edge_attrs()[0])
        self.assertIsInstance(u, torch.Tensor)

    def test_the_edges_that_a_sampler_of_pyg_copies_are_those_of_the_graph(self):
        g = self.standalone()
        rows, colptrs, perms = GraphStore(g).csc()
        for etype in g.canonical_etypes:
            v = torch.repeat_interleave(colptrs[etype].diff())
            mine = g.find_edges(perms[etype], etype)
            self.assertTrue(torch.equal(rows[etype], mine[0]) and torch.equal(v, mine[1]))

    def test_batches_of_a_stock_loader_are_subgraphs(self):
        for g in self.each_way():
            data = (FeatureStore(g, ["feat", "label"]), GraphStore(g))
            fanouts = {etype: [4, 3] for etype in g.canonical_etypes}
            ids = torch.arange(7, 300, 3)
            loader = NeighborLoader(
                data,
                fanouts,
                input_nodes=("user", ids),
                batch_size=16,
                neighbor_sampler=NeighborSampler(g, fanouts),
            )
            feat = g.nodes["user"].data["feat"][:]
            seen = []
            for batch in loader:
                self.assertIsInstance(batch, HeteroData)
                users = batch["user"]
                seen.append(users.n_id[: users.batch_size])
                self.assertTrue(torch.equal(ids[users.input_id], seen[-1]))
                self.assertTrue(torch.equal(users.x, feat[users.n_id]))
                for etype in g.canonical_etypes:
                    store = batch[etype]
                    u, v = g.find_edges(store.e_id, etype)
                    self.assertTrue(torch.equal(batch[etype[0]].n_id[store.edge_index[0]], u))
                    self.assertTrue(torch.equal(batch[etype[2]].n_id[store.edge_index[1]], v))
                    self.assertEqual(sum(store.num_sampled_edges), store.edge_index.shape[1])
                    self.assertEqual(len(store.num_sampled_edges), 2)
                self.assertEqual(sum(users.num_sampled_nodes), len(users.n_id))
            self.assertTrue(torch.equal(torch.cat(seen), ids))

    def test_a_stock_loader_samples_by_time(self):
        for g in self.each_way():
            etype = ("user", "follows", "user")
            when = g.edges[etype].data["ts"][:]
            ids, times = torch.arange(40), when.sort().values[::30][:40]
            loader = NeighborLoader(
                (FeatureStore(g, ["feat"]), GraphStore(g)),
                [4, 3],
                input_nodes=("user", ids),
                input_time=times,
                time_attr="ts",
                batch_size=16,
                neighbor_sampler=NeighborSampler(g, [4, 3], time_attr="ts"),
            )
            edges = 0
            for batch in loader:
                store = batch[etype]
                root = batch["user"].batch[store.edge_index[1]]
                limit = times[batch["user"].input_id][root]
                self.assertTrue(bool((when[store.e_id] <= limit).all()))
                edges += len(root)
            self.assertGreater(edges, 100)

    def test_the_first_fanout_is_that_of_the_seeds(self):
        g = self.standalone()
        loader = NodeLoader(
            (FeatureStore(g, []), GraphStore(g)),
            NeighborSampler(g, [1, 50]),
            input_nodes=("user", torch.arange(20)),
            batch_size=20,
        )
        (batch,) = loader
        v = batch["user", "follows", "user"].edge_index[1]
        counts = torch.bincount(v, minlength=21)
        self.assertLessEqual(counts[:20].max(), 1)
        self.assertGreater(counts[20:].max(), 1)

    def test_wrong_arguments_are_errors(self):
        g = self.standalone()
        with self.assertRaisesRegex(graphd.errors.InvalidError, "lists of one length"):
            NeighborSampler(g, {etype: [1] * (1 + i) for i, etype in enumerate(g.canonical_etypes)})
        for wrong in (5, {etype: 5 for etype in g.canonical_etypes}, {}):
            with self.assertRaisesRegex(graphd.errors.InvalidError, "one fanout for each hop"):
                NeighborSampler(g, wrong)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "expected a DistGraph"):
            GraphStore("g")
        self.assertIn("pyg", dir(graphd))


class Training(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_a_model_learns_from_a_stock_loader(self):
        torch.manual_seed(3)
        g = self.served()
        store = FeatureStore(g, ["x", "y"])
        ids = torch.arange(g.num_nodes())

        def loader():
            return NeighborLoader(
                (store, GraphStore(g)),
                [5, 5],
                input_nodes=("_N", ids),
                batch_size=100,
                shuffle=True,
                neighbor_sampler=NeighborSampler(g, [5, 5]),
            )

        classes = int(g.ndata["label"][:].max()) + 1

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                width = store.get_tensor_size("_N", "x", None)[1]
                self.first, self.second = SAGEConv(width, 32), SAGEConv(32, classes)

            def forward(self, x, edge_index):
                return self.second(self.first(x, edge_index).relu(), edge_index)

        model = to_hetero(Model(), (["_N"], [SBM]))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(6):
            right = 0
            for batch in loader():
                count = batch["_N"].batch_size
                scores = model(batch.x_dict, batch.edge_index_dict)["_N"][:count]
                labels = batch["_N"].y[:count]
                loss = torch.nn.functional.cross_entropy(scores, labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                right += int((scores.argmax(1) == labels).sum())
        self.assertGreater(right / len(ids), 0.8)


class Job(jobs.JobTest):
    def test_a_script_with_pygs_loader_alone_learns_on_two_hosts(self):
        script = "train_dist_pyg_stores.py"
        with open(os.path.join(jobs.ROOT, "examples", script), encoding="utf-8") as file:
            loaders = re.findall(r"^(?:from|import) .*oader.*$", file.read(), re.MULTILINE)
        self.assertEqual(loaders, ["from torch_geometric.loader import NeighborLoader"])
        self.small()
        output = self.job(script, "small", "--num_epochs", "6", *jobs.SMALL)
        self.assertGreater(self.result(output), 0.85)


if __name__ == "__main__":
    support.main()
