# SPDX-License-Identifier: Apache-2.0
"""Tests the loader with the arguments of PyG's NeighborLoader."""

import tempfile

import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import GraphConv, GraphSAGE
from torch_geometric.utils import trim_to_layer

import graphd
import support
from graphd.device import DeviceRowCache
from graphd.distributed import in_subgraph
from graphd.errors import InvalidError
from graphd.pyg import FeatureStore, GraphStore, LinkNeighborLoader, NeighborLoader
from html_cells import Cells
from late_device import LateDevice

LIKES = ("user", "likes", "post")
FOLLOWS = ("user", "follows", "user")
SAMPLER = "NeighborSampler([3, 4])"  # in the order of DGL


class Batches(support.GraphTest):
    def check(self, g, loader, ids):
        """Compares each batch with the graph, and the seeds of all batches with `ids`."""
        seen = []
        for batch in loader:
            self.assertIsInstance(batch, HeteroData)
            seeds = batch["user"].n_id[: batch["user"].batch_size]
            self.assertTrue(torch.equal(ids[batch["user"].input_id], seeds))
            seen.append(seeds)
            for ntype in g.ntypes:
                self.assertEqual(sum(batch[ntype].num_sampled_nodes), len(batch[ntype].n_id))
            for etype in g.canonical_etypes:
                store = batch[etype]
                u, v = g.find_edges(store.e_id, etype)
                self.assertTrue(torch.equal(batch[etype[0]].n_id[store.edge_index[0]], u))
                self.assertTrue(torch.equal(batch[etype[2]].n_id[store.edge_index[1]], v))
                self.assertEqual(sum(store.num_sampled_edges), len(u))
        return torch.cat(seen)

    def test_batches_are_subgraphs_with_the_features_of_their_nodes(self):
        for g in self.each_way():
            ids = torch.arange(7, 300, 3)
            feat = g.nodes["user"].data["feat"][:]
            for data in (g, (FeatureStore(g, ["x"]), GraphStore(g))):
                loader = NeighborLoader(data, [4, 3], ("user", ids), batch_size=16)
                self.assertEqual(len(loader), 7)
                self.assertTrue(torch.equal(self.check(g, loader, ids), ids))
                for batch in loader:
                    self.assertTrue(torch.equal(batch["user"].x, feat[batch["user"].n_id]))

    def test_batches_on_a_device_are_the_same(self):
        for g in self.each_way():
            ids = torch.arange(7, 300, 3)

            def loader(g=g, ids=ids, **options):
                return NeighborLoader(g, [4, 3], ("user", ids), batch_size=16, seed=1, **options)

            device = LateDevice()
            expected = [repr(batch.to_dict()) for batch in loader()]
            found = [repr(batch.to_dict()) for batch in loader(device=device)]
            self.assertEqual(found, expected)
            self.assertEqual(device.copies, 7)
            feat = g.nodes["user"].data["feat"][:]
            for batch in loader(device=LateDevice()):
                self.assertTrue(torch.equal(batch["user"].x, feat[batch["user"].n_id]))

    def test_shuffled_epochs_differ_and_have_every_seed_once(self):
        g = self.standalone()
        ids = torch.arange(50, 0, -1)
        loader = NeighborLoader(g, [2], ("user", ids), batch_size=7, shuffle=True, seed=5)
        epochs = [self.check(g, loader, ids) for _ in range(2)]
        self.assertFalse(torch.equal(epochs[0], epochs[1]))
        for epoch in epochs:
            self.assertTrue(torch.equal(epoch.sort().values, ids.flip(0)))
        again = NeighborLoader(g, [2], ("user", ids), batch_size=7, shuffle=True, seed=5)
        self.assertTrue(torch.equal(self.check(g, again, ids), epochs[0]))

    def test_seeds_are_ids_masks_types_or_all_nodes(self):
        g = self.standalone()
        count = g.num_nodes("user")
        mask = torch.arange(count) % 3 == 1
        for nodes, expected in (
            (("user", mask), mask.nonzero().view(-1)),
            (("user", mask.to(torch.uint8)), mask.nonzero().view(-1)),
            (("user", [5, 2]), torch.tensor([5, 2])),
            (("user", None), torch.arange(count)),
            ("user", torch.arange(count)),
        ):
            loader = NeighborLoader(g, [1], nodes, batch_size=64)
            self.assertTrue(torch.equal(self.check(g, loader, expected), expected))

    def test_a_node_that_is_listed_twice_has_its_first_position(self):
        g = self.standalone()
        ids = torch.tensor([9, 4, 9])
        batches = list(NeighborLoader(g, [1], ("user", ids), batch_size=1))
        self.assertEqual([int(b["user"].input_id) for b in batches], [0, 1, 0])

    def test_fanouts_begin_at_the_seeds_and_may_differ_by_type(self):
        g = self.standalone()
        for fanouts in ([1, 50], {etype: [1, 50] for etype in g.canonical_etypes}):
            loader = NeighborLoader(g, fanouts, ("user", torch.arange(20)), batch_size=20)
            (batch,) = loader
            counts = torch.bincount(batch["user", "follows", "user"].edge_index[1], minlength=21)
            self.assertLessEqual(counts[:20].max(), 1)
            self.assertGreater(counts[20:].max(), 1)

    def test_minus_one_takes_every_neighbour(self):
        g = self.standalone()
        ids = torch.arange(10)
        (batch,) = NeighborLoader(g, [-1], ("user", ids), batch_size=10)
        for etype in g.canonical_etypes:
            expected = g.in_degrees(ids, etype).sum() if etype[2] == "user" else 0
            self.assertEqual(batch[etype].edge_index.shape[1], expected)

    def test_edge_features_come_in_the_order_of_edges(self):
        g = self.standalone()
        score = g.edges[LIKES].data["score"][:]
        posts = torch.arange(g.num_nodes("post"))
        loader = NeighborLoader(
            g, [3], ("post", posts), edge_attrs={LIKES: ["score"]}, batch_size=32
        )
        for batch in loader:
            self.assertTrue(torch.equal(batch[LIKES].score, score[batch[LIKES].e_id]))

    def test_edge_features_of_a_graph_come_by_default_as_those_of_pygs_data(self):
        g = self.standalone()
        stores = FeatureStore(g), GraphStore(g)
        for options, has_features in (
            ({"data": g}, True),
            ({"data": g, "edge_attrs": ()}, False),
            ({"data": stores}, False),
            ({"data": stores, "edge_attrs": {LIKES: ["score"]}}, True),
        ):
            options = {"num_neighbors": [3], "batch_size": 32, **options}
            posts, count = torch.arange(g.num_nodes("post")), g.num_edges(LIKES)
            for loader in (
                NeighborLoader(input_nodes=("post", posts), **options),
                LinkNeighborLoader(edge_label_index=LIKES, **options),
            ):
                store = next(iter(loader))[LIKES]
                self.assertLess(0, len(store.e_id))
                self.assertLess(len(store.e_id), count)
                self.assertEqual(has_features, "score" in store)
                self.assertNotIn("orig_id", store)
                if has_features:
                    score = g.edges[LIKES].data["score"][store.e_id]
                    self.assertTrue(torch.equal(store.score, score))

    def test_the_feature_feat_of_edges_is_also_edge_attr(self):
        with tempfile.TemporaryDirectory() as folder:
            ends, feat = torch.arange(50), torch.rand(50, 3)
            config = graphd.distributed.partition_graph(
                (ends, (ends + 1) % 50), "ring", 1, folder, edata={"feat": feat}
            )
            g = graphd.distributed.DistGraph(part_config=config)
            feat = g.edata["feat"][:]
            for options in ({}, {"edge_attrs": ["edge_attr"]}):
                for loader in (
                    NeighborLoader(g, [1], batch_size=10, **options),
                    NeighborLoader(g, [1], batch_size=10, subgraph_type="bidirectional", **options),
                    LinkNeighborLoader(g, [1], batch_size=10, **options),
                ):
                    batch = next(iter(loader))
                    self.assertTrue(torch.equal(batch.edge_attr, feat[batch.e_id]))
                    self.assertTrue(torch.equal(batch.feat, batch.edge_attr))
            store = FeatureStore(g)
            self.assertTrue(torch.equal(store[("_N", "_E", "_N"), "edge_attr", None], feat))

    def test_rows_that_the_device_has_are_not_copied(self):
        for g in self.each_way():
            feat = g.nodes["user"].data["feat"]
            ids = torch.arange(100)
            device = LateDevice()
            options = {"batch_size": 16, "device": device}
            for made_with in ("loader", "store"):
                cache = DeviceRowCache(feat, torch.arange(0, 300, 2), device)
                store = FeatureStore(g, ["feat"], row_caches=[cache] * (made_with == "store"))
                data = store, GraphStore(g)
                if made_with == "loader":
                    options["row_caches"] = [cache]
                else:
                    del options["row_caches"]
                seen = []
                for loader in (
                    NeighborLoader(data, [4, 3], ("user", ids), **options),
                    LinkNeighborLoader(data, [4, 3], FOLLOWS, **options),
                    NeighborLoader(data, [4], "user", transform=self.doubled, **options),
                    LinkNeighborLoader(data, [4], FOLLOWS, transform=self.doubled, **options),
                ):
                    for batch in (next(iter(loader)), loader([3, 1])):
                        rows = feat[batch["user"].n_id]
                        wanted = 2 * rows if "is_doubled" in batch["user"] else rows
                        self.assertTrue(torch.equal(batch["user"].x, wanted))
                        self.assertTrue(torch.equal(batch["user"].feat, rows))
                        seen.append(len(rows))
                stats = cache.stats()
                self.assertGreaterEqual(stats["hits"] + stats["misses"], sum(seen))
                self.assertGreater(stats["hit_rate"], 0.3)
        with self.assertRaisesRegex(InvalidError, "row_caches need a device"):
            NeighborLoader(g, [1], "user", row_caches=[cache])
        with self.assertRaisesRegex(InvalidError, "5 is not a graphd.device.DeviceRowCache"):
            NeighborLoader(g, [1], "user", row_caches=[5], device=device)
        with self.assertRaisesRegex(InvalidError, "another DistGraph"):
            FeatureStore(self.standalone(), row_caches=[cache])

    @staticmethod
    def doubled(batch):
        batch["user"].x = 2 * batch["user"].x
        batch["user"].is_doubled = True
        return batch

    def test_every_node_but_a_seed_has_an_edge(self):
        for g in self.each_way():
            left_out = 0
            for batch in NeighborLoader(g, [3, 3, 2], ("user", torch.arange(60)), batch_size=20):
                used = {ntype: set() for ntype in g.ntypes}
                for etype in g.canonical_etypes:
                    used[etype[0]].update(batch[etype].edge_index[0].tolist())
                for ntype in g.ntypes:
                    others = range(batch[ntype].batch_size, batch[ntype].num_nodes)
                    self.assertLessEqual(set(others), used[ntype])
            sampler = graphd.sampling.NeighborSampler([2, 3, 3])
            _, _, blocks = sampler.sample(g, {"user": torch.arange(20)})
            whole, some = graphd.to_pyg(blocks), graphd.to_pyg(blocks, all_nodes=False)
            for ntype in g.ntypes:
                self.assertLessEqual(
                    set(some[ntype].n_id.tolist()), set(whole[ntype].n_id.tolist())
                )
                left_out += whole[ntype].num_nodes - some[ntype].num_nodes
            self.assertGreater(left_out, 0)

    def test_chosen_seeds_are_a_batch(self):
        g = self.standalone()
        ids = torch.arange(50, 20, -1)
        batch = NeighborLoader(g, [2, 2], ("user", ids))([3, 0, 7])
        self.assertEqual(batch["user"].n_id[:3].tolist(), [47, 50, 43])
        self.assertEqual(batch["user"].input_id.tolist(), [3, 0, 7])
        feat = g.nodes["user"].data["feat"][:]
        self.assertTrue(torch.equal(batch["user"].x, feat[batch["user"].n_id]))

    def test_a_transform_makes_what_is_yielded(self):
        loader = NeighborLoader(
            self.standalone(), [1], ("user", [3, 8]), transform=lambda batch: batch["user"].n_id[0]
        )
        self.assertEqual([int(each) for each in loader], [3, 8])

    def test_arguments_of_pyg_are_accepted_or_refused_by_name(self):
        g = self.standalone()
        NeighborLoader(
            g,
            [1],
            "user",
            is_sorted=True,
            pin_memory=True,
            persistent_workers=False,
            prefetch_factor=2,
            directed=True,
        )
        for wrong, message in (
            ({"subgraph_type": "induced"}, "ShadowSampler"),
            ({"directed": False}, "directed=False"),
            ({"input_time": torch.ones(3)}, "'time_attr' is not set"),
            ({"time_attr": "ts"}, "'input_time' is not set"),
            (
                {"time_attr": "ts", "input_time": torch.ones(3)},
                r"shape \(3,\), for 300 input_nodes",
            ),
            (
                {"time_attr": "feat", "input_time": torch.ones(300)},
                "the time of each edge's source",
            ),
            ({"temporal_strategy": "first"}, "temporal_strategy"),
            ({"disjoint": True, "weight_attr": "w"}, "sampled without weights"),
            ({"input_nodse": 1}, "no argument 'input_nodse'"),
        ):
            with self.assertRaisesRegex(InvalidError, message):
                NeighborLoader(g, [1], "user", **wrong)
        with self.assertRaisesRegex(InvalidError, "the mask has the shape"):
            NeighborLoader(g, [1], ("user", torch.ones(5, dtype=torch.bool)))
        for wrong, message in (([0.5], "torch.float32"), (5, "a list of node ids")):
            with self.assertRaisesRegex(InvalidError, message):
                NeighborLoader(g, [1], ("user", wrong))
        with self.assertRaisesRegex(InvalidError, "a tuple of a node type"):
            NeighborLoader(g, [1], ("user", [1], [2]))
        with self.assertRaisesRegex(InvalidError, "one fanout for each hop"):
            NeighborLoader(g, 5, "user")
        with self.assertRaisesRegex(InvalidError, "FeatureStore"):
            NeighborLoader((g, g), [1], "user")
        with self.assertRaises(graphd.errors.GraphdError):
            NeighborLoader(g, [1], ("usr", [1]))

    def test_a_loader_shows_its_batches_graph_and_sampler(self):
        g = self.standalone()
        loader = NeighborLoader(g, [4, 3], ("user", torch.arange(40)), batch_size=16)
        self.assertEqual(repr(loader), f"NeighborLoader(3 batches, {SAMPLER})")
        caption, _, *shown = Cells(loader._repr_html_()).rows
        self.assertEqual(caption, ["NeighborLoader"])
        self.assertEqual(shown, [["batches", "3"], ["graph", repr(g)], ["sampler", SAMPLER]])


class Trees(support.GraphTest):
    """Batches in which every seed has a tree of its own."""

    seeds = torch.tensor([5, 17, 5, 40, 3, 17, 200])

    def trees(self, g, batch):
        """Checks that edges stay within trees; returns (tree, source, destination, edge id)."""
        for ntype in g.ntypes:
            pairs = list(zip(batch[ntype].batch.tolist(), batch[ntype].n_id.tolist()))
            self.assertEqual(len(set(pairs)), len(pairs))  # once in each tree
        count = batch["user"].batch_size
        self.assertEqual(batch["user"].batch[:count].tolist(), list(range(count)))
        found = []
        for etype in g.canonical_etypes:
            store = batch[etype]
            u, v = store.edge_index
            root = batch[etype[2]].batch[v]
            self.assertTrue(torch.equal(batch[etype[0]].batch[u], root))
            ends = g.find_edges(store.e_id, etype)
            self.assertTrue(torch.equal(batch[etype[0]].n_id[u], ends[0]))
            self.assertTrue(torch.equal(batch[etype[2]].n_id[v], ends[1]))
            if etype == FOLLOWS:
                found += zip(root.tolist(), *(each.tolist() for each in ends), store.e_id.tolist())
        return found

    def test_seeds_share_no_nodes_if_they_are_disjoint(self):
        for g in self.each_way():
            (batch,) = NeighborLoader(g, [-1, 2], ("user", self.seeds), disjoint=True, batch_size=7)
            self.assertEqual(batch["user"].n_id[:7].tolist(), self.seeds.tolist())
            found = self.trees(g, batch)
            for tree, seed in enumerate(self.seeds.tolist()):
                mine = sorted(e for root, _, v, e in found if (root, v) == (tree, seed))
                into = g.in_degrees([seed], FOLLOWS)
                self.assertEqual(len(mine), into)

    def test_equal_seeds_draw_different_neighbours(self):
        g = self.standalone()
        most = int(g.in_degrees(etype=FOLLOWS).argmax())
        (batch,) = NeighborLoader(g, [2], ("user", [most] * 12), disjoint=True, batch_size=12)
        drawn = {}
        for root, _, _, e in self.trees(g, batch):
            drawn.setdefault(root, set()).add(e)
        self.assertEqual({len(each) for each in drawn.values()}, {2})
        self.assertGreater(len(set(map(frozenset, drawn.values()))), 1)

    def test_trees_end_at_the_time_of_their_seed(self):
        for g in self.each_way():
            when = g.edges[FOLLOWS].data["ts"][:]
            times = when.sort().values[[200, 900, 600, 400, 700, 300, 1000]]
            for strategy in ("uniform", "last"):
                loader = NeighborLoader(
                    g,
                    [3, 2],
                    ("user", self.seeds),
                    times,
                    time_attr="ts",
                    temporal_strategy=strategy,
                    batch_size=4,
                    shuffle=True,
                    seed=2,
                )
                edges, places = 0, []
                for batch in loader:
                    users = batch["user"]
                    places.append(users.input_id)
                    self.assertTrue(torch.equal(times[users.input_id], users.seed_time))
                    self.assertTrue(
                        torch.equal(self.seeds[users.input_id], users.n_id[: users.batch_size])
                    )
                    for root, _, v, e in self.trees(g, batch):
                        edges += 1
                        self.assertLessEqual(when[e], users.seed_time[root])
                        if strategy == "last" and v == users.n_id[root]:
                            into = when[in_subgraph(g, {"user": [v]}).edges("eid", etype=FOLLOWS)]
                            may = into[into <= users.seed_time[root]].sort().values
                            self.assertGreaterEqual(when[e], may[-3:][0])
                self.assertGreater(edges, 10)
                self.assertEqual(torch.cat(places).sort().values.tolist(), list(range(7)))

    def test_chosen_seeds_have_their_times(self):
        g = self.standalone()
        times = g.edges[FOLLOWS].data["ts"][:].sort().values[::150][:7]
        loader = NeighborLoader(g, [3], ("user", self.seeds), times, time_attr="ts")
        batch = loader([4, 1])
        self.assertEqual(batch["user"].n_id[:2].tolist(), [3, 17])
        self.assertEqual(batch["user"].seed_time.tolist(), times[[4, 1]].tolist())
        self.assertEqual(batch["user"].input_id.tolist(), [4, 1])


class BothWays(support.GraphTest):
    def test_sampled_edges_of_one_type_have_their_reverse(self):
        g = self.standalone()
        (batch,) = NeighborLoader(
            g, [3, 3], ("user", [3, 8, 9]), subgraph_type="bidirectional", batch_size=3
        )
        (plain,) = NeighborLoader(g, [-1, -1], ("user", [3, 8, 9]), batch_size=3)
        edges = set(zip(*batch[FOLLOWS].edge_index.tolist()))
        self.assertEqual(edges, {(v, u) for u, v in edges})
        self.assertNotIn("e_id", batch[FOLLOWS])
        self.assertNotIn("num_sampled_edges", batch[FOLLOWS])
        ids = batch["user"].n_id.tolist()
        known = set(zip(*(each.tolist() for each in g.find_edges(
            torch.arange(g.num_edges(FOLLOWS)), FOLLOWS))))  # fmt: skip
        for u, v in edges:
            self.assertTrue({(ids[u], ids[v]), (ids[v], ids[u])} & known)
        self.assertEqual(plain["user"].n_id[:3].tolist(), [3, 8, 9])


class BothWaysOfOneType(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_a_reverse_has_the_id_of_its_edge(self):
        g = self.standalone()
        seeds = torch.arange(0, 50, 7)
        (batch,) = NeighborLoader(g, [4], seeds, subgraph_type="bidirectional", batch_size=20)
        edges = set(zip(*batch.edge_index.tolist()))
        self.assertEqual(edges, {(v, u) for u, v in edges})
        self.assertEqual(len(batch.e_id), batch.edge_index.shape[1])
        u, v = g.find_edges(batch.e_id)
        mine = batch.n_id[batch.edge_index]
        same = (mine[0] == u) & (mine[1] == v)
        self.assertTrue(bool((same | ((mine[0] == v) & (mine[1] == u))).all()))
        self.assertTrue(bool(same.any()))


class WholeNeighborhoods(support.GraphTest):
    fixture = "sbm_2p_metis"
    seeds = torch.arange(3, 200, 9)

    def batch(self, g):
        (batch,) = NeighborLoader(g, [-1, -1], self.seeds, batch_size=len(self.seeds))
        return batch

    def test_a_model_computes_the_same_as_on_the_whole_graph(self):
        torch.manual_seed(1)
        for g in self.each_way():
            x = g.ndata["feat"][:]
            conv1, conv2 = GraphConv(x.shape[1], 16), GraphConv(16, 4)

            def model(x, edge_index, e_id, conv1=conv1, conv2=conv2):
                weight = (e_id % 7 + 1) / 7
                return conv2(conv1(x, edge_index, weight).relu(), edge_index, weight)

            e_id = torch.arange(g.num_edges())
            batch = self.batch(g)
            with torch.no_grad():
                whole = model(x, torch.stack(g.find_edges(e_id)), e_id)[self.seeds]
                mine = model(batch.x, batch.edge_index, batch.e_id)[: batch.batch_size]
            torch.testing.assert_close(mine, whole)

    def test_hops_have_the_numbers_of_new_nodes_and_their_edges(self):
        g = self.standalone()
        batch = self.batch(g)
        u, v = g.find_edges(torch.arange(g.num_edges()))
        known, frontier = set(self.seeds.tolist()), self.seeds
        nodes, edges = [len(known)], []
        for _ in range(2):
            sources = u[torch.isin(v, frontier)]
            edges.append(len(sources))
            found = set(sources.tolist()) - known
            nodes.append(len(found))
            known |= found
            frontier = torch.tensor(sorted(found))
        self.assertEqual(batch.num_sampled_nodes, nodes)
        self.assertEqual(batch.num_sampled_edges, edges)


class Training(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_a_model_of_pyg_learns_and_trims_its_layers(self):
        torch.manual_seed(3)
        for g in self.each_way():
            labels = g.ndata["label"][:]
            model = GraphSAGE(g.ndata["feat"].shape[1], 32, 2, int(labels.max()) + 1)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
            loader = NeighborLoader(g, [5, 5], batch_size=100, shuffle=True, seed=1)
            for _ in range(8):
                for batch in loader:
                    self.assertIsInstance(batch, Data)
                    out = model(
                        batch.x,
                        batch.edge_index,
                        num_sampled_nodes_per_hop=batch.num_sampled_nodes,
                        num_sampled_edges_per_hop=batch.num_sampled_edges,
                    )
                    seeds = batch.batch_size
                    loss = torch.nn.functional.cross_entropy(out[:seeds], batch.y[:seeds])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
            right = 0
            for batch in NeighborLoader(g, [-1, -1], batch_size=200):
                self.assertTrue(torch.equal(batch.y, labels[batch.n_id]))
                out = model(batch.x, batch.edge_index)[: batch.batch_size]
                right += int((out.argmax(1) == batch.y[: batch.batch_size]).sum())
                x, edges, _ = trim_to_layer(
                    1, batch.num_sampled_nodes, batch.num_sampled_edges, batch.x, batch.edge_index
                )
                self.assertLessEqual(int(edges.max()), len(x) - 1)
            self.assertGreater(right / len(labels), 0.8)


if __name__ == "__main__":
    support.main()
