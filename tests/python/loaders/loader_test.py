# SPDX-License-Identifier: Apache-2.0
"""Tests loaders, samplers and the blocks that they make."""

import gc
import os
import threading
import weakref

import torch

import graphd
import support
from graphd.distributed import (
    DistDataLoader,
    DistEdgeDataLoader,
    DistNodeDataLoader,
    sample_neighbors,
)
from graphd.sampling import (
    BlockSampler,
    LaborSampler,
    LayerSampler,
    MultiLayerFullNeighborSampler,
    NeighborSampler,
    RandomWalkNeighborSampler,
    ShadowSampler,
    negative_sampler,
)

FOLLOWS = ("user", "follows", "user")


class Blocks(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_blocks_fit_together_and_their_edges_exist(self):
        edges = support.fixture(self.fixture).edges[("_N", "_E", "_N")]
        for g in self.each_way():
            seeds = torch.arange(0, 1500, 100)
            inputs, outputs, blocks = NeighborSampler([4, 3]).sample(g, seeds)
            self.assertEqual(outputs.tolist(), seeds.tolist())
            self.assertEqual(blocks[0].srcdata[graphd.NID].tolist(), inputs.tolist())
            self.assertEqual(
                blocks[0].dstdata[graphd.NID].tolist(), blocks[1].srcdata[graphd.NID].tolist()
            )
            self.assertEqual(blocks[1].dstdata[graphd.NID].tolist(), seeds.tolist())
            for block, fanout in zip(blocks, (4, 3)):
                nodes = block.srcdata[graphd.NID]
                u, v = block.edges()
                ends = list(zip(nodes[u].tolist(), nodes[v].tolist()))
                self.assertEqual(ends, [edges[i] for i in block.edata[graphd.EID].tolist()])
                self.assertLessEqual(int(block.in_degrees().max()), fanout)
                indptr, indices = block.csc()
                self.assertEqual(indices.tolist(), u.tolist())
                self.assertEqual(
                    (indptr[1:] - indptr[:-1]).tolist(),
                    torch.bincount(v, minlength=block.num_dst_nodes()).tolist(),
                )
                self.assertEqual(len(set(nodes.tolist())), block.num_src_nodes())

    def test_data_of_a_block_is_a_mapping(self):
        g = self.standalone()
        _, _, (block,) = NeighborSampler([2]).sample(g, [1, 2, 3])
        block.srcdata["h"] = torch.ones(block.num_src_nodes(), 2)
        self.assertEqual(sorted(block.srcdata), ["_ID", "h"])
        del block.srcdata["h"]
        with self.assertRaises(KeyError):
            block.srcdata["h"]
        block.srcdata["h"] = torch.ones(block.num_src_nodes(), 2)
        self.assertEqual((len(block.srcdata), "h" in block.srcdata), (2, True))
        moved = block.to(torch.device("cpu", 0))
        self.assertEqual(sorted(moved.srcdata), ["_ID", "h"])
        self.assertTrue(torch.equal(moved.srcdata["_ID"], block.srcdata["_ID"]))
        del block.srcdata["h"], block.srcdata["_ID"]
        self.assertEqual(dict(block.srcdata), {})
        self.assertIn("_ID", block.dstdata)
        self.assertIs(block.to("cpu"), block)
        self.assertEqual(block.srcnodes().tolist(), list(range(block.num_src_nodes())))

    def test_requested_features_come_with_the_batch(self):
        for g in self.each_way():
            sampler = NeighborSampler(
                [3, 3], prefetch_node_feats=["feat"], prefetch_labels=["label"]
            )
            feat, label = g.ndata["feat"][:], g.ndata["label"][:]
            loader = DistNodeDataLoader(g, torch.arange(200), sampler, batch_size=64, seed=1)
            batches = [sampler.sample(g, torch.arange(50)), *loader]
            self.assertEqual(len(batches), 5)
            for inputs, outputs, blocks in batches:
                self.assertTrue(torch.equal(blocks[0].srcdata["feat"], feat[inputs]))
                self.assertTrue(torch.equal(blocks[-1].dstdata["label"], label[outputs]))

    def test_every_sampler_makes_blocks(self):
        g = self.standalone()
        for sampler in (
            NeighborSampler([2, 2], replace=True),
            MultiLayerFullNeighborSampler(2),
            LaborSampler([2, 2]),
            LayerSampler([50, 50]),
            ShadowSampler([2, 2]),
            NeighborSampler([{"_E": 2}, {("_N", "_E", "_N"): 1}]),
        ):
            _, _, blocks = sampler.sample(g, torch.arange(10))
            self.assertEqual(blocks[-1].dstdata[graphd.NID][:10].tolist(), list(range(10)))
            self.assertGreater(blocks[0].num_edges(), 0)
        weights = LayerSampler([50]).sample(g, torch.arange(10))[2][0].edata["weight"]
        self.assertEqual(weights.dtype, torch.float32)
        full = MultiLayerFullNeighborSampler(1).sample(g, torch.arange(10))[2][0]
        self.assertEqual(full.in_degrees().tolist(), g.in_degrees(torch.arange(10)).tolist())


class NodeLoader(support.GraphTest):
    def test_every_node_comes_once_in_each_epoch(self):
        for g in self.each_way():
            loader = DistNodeDataLoader(
                g,
                {"user": torch.arange(300)},
                NeighborSampler([2]),
                batch_size=32,
                shuffle=True,
                num_workers=2,
            )
            self.assertEqual(len(loader), 10)
            epochs = []
            for _ in range(2):
                seen = [node for _, out, _ in loader for node in out["user"].tolist()]
                self.assertEqual(sorted(seen), list(range(300)))
                epochs.append(seen)
            self.assertNotEqual(*epochs)

    def test_the_same_seed_gives_the_same_batches(self):
        found = []
        for g in self.each_way():
            loader = DistNodeDataLoader(
                g,
                {"user": torch.arange(300)},
                NeighborSampler([3, 2]),
                batch_size=50,
                shuffle=True,
                seed=5,
                num_workers=2,
            )
            found.append([inputs["user"].tolist() for inputs, _, _ in loader])
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])

    def test_an_unfinished_epoch_leaves_nothing_behind(self):
        g = self.standalone()
        loader = DistNodeDataLoader(
            g, {"user": torch.arange(300)}, NeighborSampler([2]), batch_size=10, num_workers=2
        )
        for _ in loader:
            break
        seen = [node for _, out, _ in loader for node in out["user"].tolist()]
        self.assertEqual(seen, list(range(300)))

    def test_drop_last_and_types(self):
        g = self.standalone()
        nids = {"user": torch.arange(5), "post": torch.arange(6)}
        loader = DistNodeDataLoader(g, nids, NeighborSampler([2]), batch_size=4, drop_last=True)
        self.assertEqual(sum(len(ids) for _, out, _ in loader for ids in out.values()), 8)

    def test_a_sampler_in_python(self):
        class Twice(BlockSampler):
            def sample_blocks(self, g, seed_nodes, exclude_eids=None):
                return NeighborSampler([1]).sample_blocks(g, seed_nodes)

        g = self.standalone()
        for workers in (0, 2):
            loader = DistNodeDataLoader(
                g, {"user": torch.arange(50)}, Twice(), batch_size=20, num_workers=workers
            )
            self.assertEqual([len(out["user"]) for _, out, _ in loader], [20, 20, 10])

    def test_invalid_arguments_raise_an_error(self):
        g = self.standalone()
        for change in (
            {"batch_size": 0},
            {"nids": {"user": [300]}},
            {"nids": [1]},
            {"device": "cuda"},
        ):
            arguments = dict(nids={"user": [1]}, batch_size=1, device=None)
            arguments.update(change)
            with self.assertRaises(graphd.errors.InvalidError, msg=repr(change)):
                DistNodeDataLoader(
                    g,
                    arguments["nids"],
                    NeighborSampler([1]),
                    arguments["device"],
                    batch_size=arguments["batch_size"],
                )

    def test_options_that_labor_lacks_raise_an_error(self):
        for more in (
            {"importance_sampling": 1},
            {"layer_dependency": True},
            {"batch_dependency": 2},
        ):
            with self.assertRaises(graphd.errors.InvalidError):
                LaborSampler([2], **more)
        found = sample_neighbors(self.standalone(), {"user": [1]}, 2)
        with self.assertRaisesRegex(graphd.errors.InvalidError, "omit src_nodes"):
            graphd.to_block(found, src_nodes=[1])

    def test_arguments_raise_an_error_and_are_not_changed(self):
        g = self.standalone()
        nids = {"user": torch.arange(9)}
        for change in (
            {"batch_size": 2.5},
            {"batch_size": None},
            {"batch_size": "2"},
            {"num_workers": "2"},
            {"num_workers": -5},
            {"queue_size": -1},
            {"queue_size": 1.5},
            {"seed": -1},
            {"seed": "x"},
            {"nids": None},
            {"sampler": None},
            {"sampler": NeighborSampler},
            {"sampler": negative_sampler.Uniform(1)},
        ):
            arguments = {"nids": nids, "sampler": NeighborSampler([1]), "batch_size": 2, **change}
            with self.assertRaises(graphd.errors.InvalidError, msg=repr(change)):
                DistNodeDataLoader(g, arguments.pop("nids"), arguments.pop("sampler"), **arguments)
        for fanouts in (5, "5", [2.5], ["2"], [None], [1 << 31], [1 << 80], [-2], [True]):
            with self.assertRaises(graphd.errors.InvalidError, msg=repr(fanouts)):
                DistNodeDataLoader(g, nids, NeighborSampler(fanouts), batch_size=2)
        for eids, sampler, negatives in (
            (None, NeighborSampler([1]), None),
            ({FOLLOWS: [1]}, BlockSampler(), None),
            ({FOLLOWS: [1]}, NeighborSampler([1]), 5),
        ):
            with self.assertRaises(graphd.errors.InvalidError):
                DistEdgeDataLoader(g, eids, sampler, batch_size=1, negative_sampler=negatives)
        for more in ({"batch_size": 2.5}, {"batch_size": 1, "num_workers": -1}):
            with self.assertRaises(graphd.errors.InvalidError):
                DistDataLoader([1, 2], **more)

    def test_loaders_leave_nothing(self):
        def count():
            gc.collect()
            with open("/proc/self/maps") as maps:
                return (
                    len(os.listdir("/proc/self/task")),
                    len(os.listdir("/proc/self/fd")),
                    len(maps.readlines()),
                    len(gc.get_objects()),
                )

        def use(g, times):
            sampler = NeighborSampler([2], prefetch_labels={"post": ["label"]})
            for i in range(times):
                loader = DistNodeDataLoader(
                    g, {"user": torch.arange(300)}, sampler, batch_size=10, num_workers=2
                )
                batches = iter(loader)
                for _ in range(i % 3):  # some loaders stop in the middle, some never start
                    next(batches)

        for way in ("standalone", "tcp"):
            with self.subTest(way):
                g = self.standalone() if way == "standalone" else self.served(way)
                use(g, 50)
                before = count()
                use(g, 500)
                for what, old, new, more in zip(
                    ("threads", "descriptors", "mappings", "objects"),
                    before,
                    count(),
                    (0, 0, 20, 50),
                ):
                    self.assertLessEqual(new, old + more, what)
            graphd.distributed.exit_client()


class Lifetime(support.GraphTest):
    """Tests that a batch, which may be large, is freed with its last reference, without the garbage
    collector."""

    def check(self, use):
        use()  # makes the objects that are made only once
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        use()
        self.assertEqual(gc.collect(), 0)

    def look(self, blocks):
        for block in blocks:
            for frames in (block.src_frames, block.dst_frames, block.edge_frames):
                for frame in frames[:2]:  # some data are used, some are not
                    dict(frame)
            block.csc(FOLLOWS)
            block.edges(etype=FOLLOWS)

    def test_samplers(self):
        g = self.standalone()
        feats = {
            "prefetch_node_feats": {"user": ["feat"]},
            "prefetch_labels": {"user": ["age"]},
            "prefetch_edge_feats": {FOLLOWS: ["w"]},
        }
        self.check(
            lambda: self.look(
                NeighborSampler([2, 2], **feats).sample(g, {"user": torch.arange(20)})[2]
            )
        )
        self.check(lambda: NeighborSampler([2, 2], **feats).sample(g, {"user": [1]}))

    def test_loaders(self):
        g = self.standalone()
        sampler = NeighborSampler(
            [2, 2],
            prefetch_node_feats={"user": ["feat"]},
            prefetch_labels={"user": ["age"]},
            prefetch_edge_feats={FOLLOWS: ["w"]},
        )
        nodes = DistNodeDataLoader(g, {"user": torch.arange(60)}, sampler, batch_size=20)
        edges = DistEdgeDataLoader(
            g,
            {FOLLOWS: torch.arange(60)},
            sampler,
            batch_size=20,
            negative_sampler=negative_sampler.Uniform(1),
        )
        for loader in (nodes, edges):
            self.check(lambda loader=loader: [self.look(batch[-1]) for batch in loader])
            self.check(lambda loader=loader: [len(batch) for batch in loader])

    def test_a_loop_that_deletes_its_batch_frees_it(self):
        g = self.standalone()
        sampler = NeighborSampler([2])
        for loader in (
            DistNodeDataLoader(g, {"user": torch.arange(60)}, sampler, batch_size=20),
            DistEdgeDataLoader(g, {FOLLOWS: torch.arange(60)}, sampler, batch_size=20),
        ):
            batches = iter(loader)
            batch = next(batches)
            kept = weakref.ref(batch[-1][0]._batch)
            del batch
            self.assertIsNone(kept())
            next(batches)

    def test_an_iterator_ends_when_another_one_begins(self):
        loader = DistNodeDataLoader(
            self.standalone(), {"user": torch.arange(60)}, NeighborSampler([2]), batch_size=20
        )
        one = iter(loader)
        next(one)
        other = iter(loader)
        self.assertEqual((len(list(one)), len(list(other))), (0, 3))

    def test_one_hop(self):
        g = self.standalone()
        self.check(
            lambda: dict(
                graphd.to_block(
                    graphd.distributed.sample_neighbors(g, {"user": [1, 2, 3]}, 2)
                ).edata
            )
        )
        walks = RandomWalkNeighborSampler(g, 1, 0.5, 3, 2, ["follows"])
        self.check(lambda: dict(graphd.to_block(walks([1, 2, 3])).edata))


class EdgeLoader(support.GraphTest):
    def test_pair_graphs_have_the_edges_and_blocks_exclude_them(self):
        edges = support.fixture(self.fixture).edges[FOLLOWS]
        for g in self.each_way():
            loader = DistEdgeDataLoader(
                g,
                {FOLLOWS: torch.arange(0, 1200, 3)},
                NeighborSampler([-1]),
                batch_size=100,
                shuffle=True,
                exclude="self",
                num_workers=2,
                negative_sampler=negative_sampler.Uniform(2),
            )
            self.assertEqual(len(loader), 4)
            seen = []
            for _, pairs, negatives, (block,) in loader:
                ids = pairs.edata[graphd.EID][FOLLOWS].tolist()
                nodes = pairs.ndata[graphd.NID]["user"]
                u, v = pairs.edges(etype=FOLLOWS)
                self.assertEqual(
                    list(zip(nodes[u].tolist(), nodes[v].tolist())), [edges[i] for i in ids]
                )
                self.assertEqual(block.dstdata[graphd.NID]["user"].tolist(), nodes.tolist())
                self.assertFalse(set(ids) & set(block.edges[FOLLOWS].data[graphd.EID].tolist()))
                self.assertEqual(negatives.num_edges(FOLLOWS), 2 * len(ids))
                self.assertTrue(
                    torch.equal(negatives.edges(etype=FOLLOWS)[0], u.repeat_interleave(2))
                )
                seen += ids
            self.assertEqual(sorted(seen), list(range(0, 1200, 3)))

    def test_pair_graphs_and_samples_have_views_of_nodes_and_edges(self):
        for g in self.each_way():
            loader = DistEdgeDataLoader(
                g, {FOLLOWS: [4, 9]}, NeighborSampler([1]), batch_size=2, shuffle=False
            )
            ((_, pairs, _),) = loader
            self.assertEqual(pairs.edges[FOLLOWS].data[graphd.EID].tolist(), [4, 9])
            self.assertEqual(pairs.edges["follows"].data.keys(), {graphd.EID})
            self.assertEqual(pairs.edges("all", etype=FOLLOWS)[2].tolist(), [4, 9])
            count = pairs.num_nodes("user")
            self.assertEqual(pairs.nodes("user").tolist(), list(range(count)))
            nodes = pairs.nodes["user"].data
            self.assertIs(nodes[graphd.NID], pairs.ndata[graphd.NID]["user"])
            nodes["weight"] = torch.ones(count)
            self.assertEqual(pairs.ndata["weight"]["user"].tolist(), [1] * count)
            self.assertIn("follows", repr(pairs.edges))
            self.assertIn(f"'user': {count}", repr(pairs.nodes))
            with self.assertRaises(graphd.errors.NotFoundError):
                _ = pairs.edges["nobody"]
            sample = graphd.distributed.sample_neighbors(g, {"user": [1, 2, 3]}, 2)
            ids = sample.edges[FOLLOWS].data[graphd.EID]
            self.assertEqual(ids.tolist(), sample.edges("eid", etype=FOLLOWS).tolist())
            self.assertTrue(len(ids))

    def test_without_negatives_a_batch_has_three_parts(self):
        g = self.standalone()
        loader = DistEdgeDataLoader(g, {FOLLOWS: [1, 2]}, NeighborSampler([1]), batch_size=2)
        ((_, pairs, _),) = loader
        self.assertEqual(pairs.num_edges(), 2)
        with self.assertRaises(graphd.errors.InvalidError):
            DistEdgeDataLoader(g, {FOLLOWS: [1]}, NeighborSampler([1]), batch_size=2, exclude="all")

    def test_negative_samplers_can_be_called(self):
        pairs = set(support.fixture(self.fixture).edges[FOLLOWS].values())
        g = self.standalone()
        src, dst = negative_sampler.PerSourceUniform(3)(g, {FOLLOWS: [0, 1]})[FOLLOWS]
        u, _ = g.find_edges([0, 1], FOLLOWS)
        self.assertTrue(torch.equal(src, u.repeat_interleave(3)))
        src, dst = negative_sampler.GlobalUniform(5)(g, {FOLLOWS: list(range(100))})[FOLLOWS]
        self.assertEqual(len(src), 500)
        self.assertFalse(pairs & set(zip(src.tolist(), dst.tolist())))


class DataLoader(support.GraphTest):
    def test_items_and_orders(self):
        for workers in (0, 3):
            loader = DistDataLoader(torch.arange(10), 4, num_workers=workers)
            self.assertEqual(list(loader), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]])
            loader = DistDataLoader(list("abc"), 2, drop_last=True, num_workers=workers)
            self.assertEqual(list(loader), [["a", "b"]])
            loader = DistDataLoader(torch.arange(100), 7, shuffle=True, num_workers=workers, seed=1)
            first, second = ([x for batch in loader for x in batch] for _ in range(2))
            self.assertEqual(sorted(first), list(range(100)))
            self.assertNotEqual(first, second)

    def test_collate_runs_ahead_and_its_error_is_raised_for_its_batch(self):
        threads = set()

        def collate(items):
            threads.add(threading.current_thread())
            if items == [3]:
                raise ValueError("three")
            return items[0]

        batches = iter(DistDataLoader(list(range(6)), 1, collate_fn=collate, num_workers=2))
        self.assertEqual([next(batches) for _ in range(3)], [0, 1, 2])
        with self.assertRaisesRegex(ValueError, "three"):
            next(batches)
        self.assertNotIn(threading.main_thread(), threads)

    def test_sample_blocks_as_the_collate_function(self):
        g = self.standalone()

        def sample_blocks(seeds):
            seeds = {"user": torch.LongTensor(seeds)}
            blocks = []
            for fanout in [3, 2]:
                frontier = graphd.distributed.sample_neighbors(g, seeds, fanout)
                block = graphd.to_block(frontier, seeds)
                seeds = block.srcdata[graphd.NID]
                blocks.insert(0, block)
            return blocks

        loader = DistDataLoader(
            dataset=torch.arange(40),
            batch_size=16,
            collate_fn=sample_blocks,
            shuffle=True,
            num_workers=2,
        )
        seen = []
        for blocks in loader:
            self.assertEqual(
                blocks[0].dstdata[graphd.NID]["user"].tolist(),
                blocks[1].srcdata[graphd.NID]["user"].tolist(),
            )
            seen += blocks[1].dstdata[graphd.NID]["user"].tolist()
        self.assertEqual(sorted(seen), list(range(40)))


if __name__ == "__main__":
    support.main()
