# SPDX-License-Identifier: Apache-2.0
"""Tests the loader with the arguments of PyG's LinkNeighborLoader, and PyG's own on our stores."""

import threading

import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.loader import LinkNeighborLoader as StockLoader
from torch_geometric.nn import GraphSAGE
from torch_geometric.sampler import NegativeSampling

import support
from graphd.errors import GraphdError, InvalidError
from graphd.pyg import FeatureStore, GraphStore, LinkNeighborLoader, NeighborSampler
from html_cells import Cells
from late_device import LateDevice

LIKES = ("user", "likes", "post")
FOLLOWS = ("user", "follows", "user")
SAMPLER = "NeighborSampler([3, 4])"  # in the order of DGL


class Batches(support.GraphTest):
    def pairs(self, g, etype, count=60):
        return torch.stack(g.find_edges(torch.arange(0, 2 * count, 2), etype))

    def check(self, g, batch, etype, pairs):
        """Compares a batch with the graph; returns the ids of the ends of all its label edges."""
        self.assertIsInstance(batch, HeteroData)
        for each in g.canonical_etypes:
            store = batch[each]
            u, v = g.find_edges(store.e_id, each)
            self.assertTrue(torch.equal(batch[each[0]].n_id[store.edge_index[0]], u))
            self.assertTrue(torch.equal(batch[each[2]].n_id[store.edge_index[1]], v))
        at = batch[etype].edge_label_index
        ends = torch.stack([batch[etype[0]].n_id[at[0]], batch[etype[2]].n_id[at[1]]])
        positives = len(batch[etype].input_id)
        self.assertTrue(torch.equal(ends[:, :positives], pairs[:, batch[etype].input_id]))
        return ends

    def test_batches_have_the_ends_of_their_edges_and_negative_edges(self):
        for g in self.each_way():
            feat = g.nodes["user"].data["feat"][:]
            for etype in (LIKES, FOLLOWS):
                pairs = self.pairs(g, etype)
                loader = LinkNeighborLoader(
                    g, [4, 3], (etype, pairs), neg_sampling_ratio=2, batch_size=16, num_workers=2
                )
                self.assertEqual(len(loader), 4)
                sizes = []
                for batch in loader:
                    ends = self.check(g, batch, etype, pairs)
                    sizes.append(len(batch[etype].input_id))
                    self.assertEqual(ends.shape[1], 3 * sizes[-1])
                    expected = torch.cat([torch.ones(sizes[-1]), torch.zeros(2 * sizes[-1])])
                    self.assertTrue(torch.equal(batch[etype].edge_label, expected))
                    self.assertTrue(torch.equal(batch["user"].x, feat[batch["user"].n_id]))
                self.assertEqual(sizes, [16, 16, 16, 12])

    def test_a_loader_shows_its_batches_graph_and_sampler(self):
        g = self.standalone()
        loader = LinkNeighborLoader(g, [4, 3], (LIKES, self.pairs(g, LIKES)), batch_size=16)
        self.assertEqual(repr(loader), f"LinkNeighborLoader(4 batches, {SAMPLER})")
        caption, _, *shown = Cells(loader._repr_html_()).rows
        self.assertEqual(caption, ["LinkNeighborLoader"])
        self.assertEqual(shown, [["batches", "4"], ["graph", repr(g)], ["sampler", SAMPLER]])

    def test_batches_on_a_device_fit_the_graph(self):
        g = self.standalone()
        feat = g.nodes["user"].data["feat"][:]
        pairs = self.pairs(g, FOLLOWS)
        device = LateDevice()
        loader = LinkNeighborLoader(
            g, [4, 3], (FOLLOWS, pairs), neg_sampling_ratio=2, batch_size=16, device=device
        )
        for batch in loader:
            self.check(g, batch, FOLLOWS, pairs)
            self.assertTrue(torch.equal(batch["user"].x, feat[batch["user"].n_id]))
        self.assertEqual(device.copies, len(loader))

    def test_edges_may_be_arrays_and_a_transform_runs_in_the_callers_thread(self):
        g = self.standalone()
        pairs = self.pairs(g, LIKES)
        threads = set()

        def transform(batch):
            threads.add(threading.current_thread())
            return batch

        for given in (pairs.numpy(), pairs.tolist(), pairs.to(torch.int32)):
            loader = LinkNeighborLoader(
                g, [1], (LIKES, given), transform=transform, batch_size=20, num_workers=2
            )
            for batch in loader:
                self.check(g, batch, LIKES, pairs)
        self.assertEqual(threads, {threading.current_thread()})

    def test_triplets_have_negative_destinations(self):
        g = self.standalone()
        pairs = self.pairs(g, LIKES)
        loader = LinkNeighborLoader(
            g, [2], (LIKES, pairs), neg_sampling=NegativeSampling("triplet", 3), batch_size=20
        )
        for batch in loader:
            users, posts = batch["user"], batch["post"]
            ids = batch[LIKES].input_id
            self.assertTrue(torch.equal(users.n_id[users.src_index], pairs[0, ids]))
            self.assertTrue(torch.equal(posts.n_id[posts.dst_pos_index], pairs[1, ids]))
            self.assertEqual(posts.dst_neg_index.shape, (20, 3))

    def test_ends_of_an_edge_have_trees_up_to_its_time(self):
        for g in self.each_way():
            when = g.edges[FOLLOWS].data["ts"][:]
            ids = torch.arange(0, 120, 2)
            for etype in (FOLLOWS, LIKES):
                loader = LinkNeighborLoader(
                    g,
                    [3, 2],
                    (etype, self.pairs(g, etype)),
                    edge_label_time=when[ids],
                    time_attr="ts",
                    neg_sampling="binary",
                    batch_size=20,
                )
                edges = 0
                for batch in loader:
                    self.check(g, batch, etype, self.pairs(g, etype))
                    at, store = batch[etype].edge_label_index, batch[FOLLOWS]
                    for end, ntype in enumerate((etype[0], etype[2])):
                        trees = batch[ntype].batch[at[end]]
                        self.assertEqual(trees.tolist(), [*range(20), *range(20)])
                    times = when[ids][batch[etype].input_id]
                    root = batch["user"].batch[store.edge_index[1]]
                    self.assertTrue(bool((when[store.e_id] <= times[root]).all()))
                    edges += len(root)
                self.assertGreater(edges, 100)

    def test_disjoint_triplets_and_chosen_edges(self):
        g = self.standalone()
        pairs = self.pairs(g, LIKES)
        loader = LinkNeighborLoader(
            *(g, [2], (LIKES, pairs)),
            neg_sampling=NegativeSampling("triplet", 2),
            disjoint=True,
        )
        batch = loader([4, 9, 2])
        self.assertEqual(batch[LIKES].input_id.tolist(), [4, 9, 2])
        users, posts = batch["user"], batch["post"]
        self.assertTrue(torch.equal(users.n_id[users.src_index], pairs[0, [4, 9, 2]]))
        self.assertEqual(users.batch[users.src_index].tolist(), [0, 1, 2])
        self.assertEqual(posts.batch[posts.dst_pos_index].tolist(), [0, 1, 2])
        self.assertEqual(posts.batch[posts.dst_neg_index].tolist(), [[0, 0], [1, 1], [2, 2]])

    def test_edge_features_are_those_of_the_sampled_edges(self):
        g = self.standalone()
        score = g.edges[LIKES].data["score"][:]
        loader = LinkNeighborLoader(
            g, [3], (LIKES, self.pairs(g, LIKES)), edge_attrs={LIKES: ["score"]}, batch_size=20
        )
        for batch in loader:
            self.assertTrue(torch.equal(batch[LIKES].score, score[batch[LIKES].e_id]))

    def test_labels_and_order(self):
        g = self.standalone()
        pairs, labels = self.pairs(g, LIKES), torch.arange(60)
        epochs = []
        loader = LinkNeighborLoader(
            g, [1], (LIKES, pairs), edge_label=labels, batch_size=7, shuffle=True, seed=3
        )
        for _ in range(2):
            ids = []
            for batch in loader:
                self.check(g, batch, LIKES, pairs)
                self.assertTrue(torch.equal(batch[LIKES].edge_label, batch[LIKES].input_id))
                ids.append(batch[LIKES].input_id)
            epochs.append(torch.cat(ids))
        self.assertFalse(torch.equal(*epochs))
        for epoch in epochs:
            self.assertTrue(torch.equal(epoch.sort().values, labels))

    def test_labels_may_be_distributed(self):
        g = self.standalone()
        score = g.edges[LIKES].data["score"]
        for batch in LinkNeighborLoader(g, [1], LIKES, edge_label=score, batch_size=256):
            label, ids = batch[LIKES].edge_label, batch[LIKES].input_id
            self.assertTrue(torch.equal(label, score[ids]))

    def test_an_edge_type_stands_for_all_its_edges(self):
        g = self.standalone()
        pairs = torch.stack(g.find_edges(torch.arange(g.num_edges(LIKES)), LIKES))
        for edges in (LIKES, (LIKES, None), ":".join(LIKES), ("user", "post")):
            for batch in LinkNeighborLoader(g, [1], edges, batch_size=256):
                self.check(g, batch, LIKES, pairs)

    def test_a_stock_loader_gives_the_same_kind_of_batch(self):
        for g in self.each_way():
            pairs = self.pairs(g, LIKES)
            stores = (FeatureStore(g, ["x"]), GraphStore(g))
            loader = StockLoader(
                stores,
                [4, 3],
                (LIKES, pairs),
                neg_sampling="binary",
                batch_size=16,
                neighbor_sampler=NeighborSampler(g, [4, 3]),
            )
            ours = LinkNeighborLoader(
                stores, [4, 3], (LIKES, pairs), neg_sampling="binary", batch_size=16
            )
            for theirs, mine in zip(loader, ours):
                self.check(g, theirs, LIKES, pairs)
                self.check(g, mine, LIKES, pairs)
                for store in (*theirs.node_stores, *theirs.edge_stores):
                    self.assertEqual(set(store.keys()), set(mine[store._key].keys()))

    def test_wrong_arguments_are_errors(self):
        g = self.standalone()
        for edges in (("user", "usr"), "likes", ("lieks", None), None):
            with self.assertRaises(GraphdError):
                LinkNeighborLoader(g, [1], edges)
        pairs = self.pairs(g, LIKES)
        for wrong, message in (
            ({"edge_label": torch.ones(59)}, "59 labels for 60 edges"),
            ({"edge_label_time": torch.ones(61)}, "61 times for 60 edges"),
            ({"neg_sampling": "bin"}, "not a valid NegativeSamplingMode"),
            ({"neg_sampling": "triplet", "edge_label": torch.ones(60)}, "triplet"),
        ):
            with self.assertRaisesRegex(InvalidError, message):
                LinkNeighborLoader(g, [1], (LIKES, pairs), **wrong)
        for pairs in (torch.arange(6), torch.ones(6, 2, dtype=torch.int64), torch.ones(2, 1)):
            with self.assertRaisesRegex(InvalidError, "a row of sources"):
                LinkNeighborLoader(g, [1], (LIKES, pairs))
        with self.assertRaises(GraphdError):
            next(iter(LinkNeighborLoader(g, [1], (LIKES, torch.full((2, 1), 10**9)))))
        for wrong, message in (
            ({"edge_label_time": torch.ones(60)}, "'time_attr' is not set"),
            ({"time_attr": "ts"}, "'edge_label_time' is not set"),
            ({"directed": False}, "LinkNeighborLoader does not have it"),
            ({"negsampling": 1}, "LinkNeighborLoader has no argument 'negsampling'"),
        ):
            with self.assertRaisesRegex(InvalidError, message):
                LinkNeighborLoader(g, [1], (LIKES, self.pairs(g, LIKES)), **wrong)


class Training(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_a_model_of_pyg_learns_to_tell_edges_from_others(self):
        torch.manual_seed(3)
        g = self.served()
        model = GraphSAGE(g.ndata["feat"].shape[1], 32, 2, 16)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        pairs = torch.stack(g.find_edges(torch.arange(0, g.num_edges(), 3)))
        loader = LinkNeighborLoader(
            g, [5, 5], pairs, neg_sampling="binary", batch_size=200, shuffle=True, seed=1
        )

        def scores(batch):
            h = model(batch.x, batch.edge_index)
            u, v = batch.edge_label_index
            return (h[u] * h[v]).sum(1)

        for _ in range(6):
            for batch in loader:
                self.assertIsInstance(batch, Data)
                loss = torch.nn.functional.binary_cross_entropy_with_logits(
                    scores(batch), batch.edge_label
                )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        right = count = 0
        with torch.no_grad():
            for batch in loader:
                right += int(((scores(batch) > 0) == batch.edge_label.bool()).sum())
                count += len(batch.edge_label)
        self.assertGreater(right / count, 0.65)


if __name__ == "__main__":
    support.main()
