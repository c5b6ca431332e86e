# SPDX-License-Identifier: Apache-2.0
"""Tests loaders of edges whose sampler counts the edges of all types together."""

import collections
import gc
import itertools
import threading
import weakref

import torch

import graphd
import shop
import support
from graphd.dataloading import EdgeDataLoader
from graphd.distributed import DistEdgeDataLoader, in_subgraph
from graphd.errors import InvalidError, NotFoundError
from graphd.sampling import NeighborSampler, as_edge_prediction_sampler, negative_sampler

EIDS = {shop.BUYS: torch.arange(0, 300, 2), shop.KNOWS: torch.arange(40)}
REVERSES = {shop.BUYS: shop.SOLD, shop.SOLD: shop.BUYS, shop.KNOWS: shop.KNOWS}


def loader_of(g, pooled=True, fanouts=(4, 3), replace=False, **options):
    options = {"batch_size": 32, "seed": 5, **options}
    sampler = NeighborSampler(list(fanouts), replace=replace, pooled=pooled)
    return DistEdgeDataLoader(g, EIDS, sampler, **options)


def pairs_of(graph):
    """Returns the nodes of a pair graph, and the ends and the ids of its edges."""
    nodes = {ntype: graph.nodes[ntype].data[graphd.NID].tolist() for ntype in graph.ntypes}
    edges = [
        [each.tolist() for each in graph.edges("all", etype=c)] for c in graph.canonical_etypes
    ]
    return nodes, edges


def lists_of(batch):
    """Returns a batch as lists."""
    inputs, *graphs, blocks = batch
    inputs = {ntype: ids.tolist() for ntype, ids in inputs.items()}
    return inputs, [pairs_of(graph) for graph in graphs], shop.edges_of(blocks)


def ids_of(pairs):
    return {c: pairs.edges[c].data[graphd.EID] for c in pairs.canonical_etypes}


class Backwards:
    """A negative sampler as DGL's users write them."""

    def __init__(self):
        self.threads = set()

    def __call__(self, g, eids):
        ((etype, ids),) = eids.items()
        self.threads.add(threading.get_ident())
        src, _ = g.find_edges(ids, etype)
        src = src.repeat_interleave(2)
        return {etype: (src, (7 * src + 1) % g.num_nodes(etype[2]))}


class PooledEdges(shop.ShopTest):
    def check_batch(self, g, batch, exclude=None, replace=False, fanouts=(4, 3)):
        """Checks a batch's blocks, and that they belong to its pair graphs."""
        inputs, *graphs, blocks = batch
        self.assertEqual(len(blocks), len(fanouts))
        for block, fanout in zip(blocks, fanouts):
            self.check(g, block, fanout, replace, exclude)
        ends = collections.defaultdict(set)
        for graph in graphs:
            for etype in g.canonical_etypes:
                u, v = graph.edges(etype=etype)
                ends[etype[0]] |= set(graph.nodes[etype[0]].data[graphd.NID][u].tolist())
                ends[etype[2]] |= set(graph.nodes[etype[2]].data[graphd.NID][v].tolist())
        for ntype in g.ntypes:
            seeds = blocks[-1].dstnodes[ntype].data[graphd.NID].tolist()
            self.assertEqual(len(seeds), len(set(seeds)))
            self.assertEqual(set(seeds), ends[ntype])
            for graph in graphs:
                self.assertEqual(graph.nodes[ntype].data[graphd.NID].tolist(), seeds)
            for above, below in zip(blocks, blocks[1:]):
                self.assertEqual(
                    above.dstnodes[ntype].data[graphd.NID].tolist(),
                    below.srcnodes[ntype].data[graphd.NID].tolist(),
                )
            first = blocks[0].srcnodes[ntype].data[graphd.NID]
            self.assertEqual(inputs[ntype].tolist(), first.tolist())
        for etype, ids in ids_of(graphs[0]).items():
            u, v = graphs[0].edges(etype=etype)
            src, dst = g.find_edges(ids, etype)
            self.assertTrue(torch.equal(graphs[0].nodes[etype[0]].data[graphd.NID][u], src))
            self.assertTrue(torch.equal(graphs[0].nodes[etype[2]].data[graphd.NID][v], dst))

    def test_batches_have_the_edges_negatives_and_blocks_of_their_ends(self):
        for g in self.each_way():
            for workers, negatives in itertools.product(
                (0, 2), (None, negative_sampler.Uniform(2), Backwards())
            ):
                for replace in (False, True):
                    loader = loader_of(
                        g,
                        replace=replace,
                        shuffle=True,
                        num_workers=workers,
                        negative_sampler=negatives,
                    )
                    seen = collections.defaultdict(list)
                    for batch in loader:
                        self.assertEqual(len(batch), 3 if negatives is None else 4)
                        self.check_batch(g, batch, replace=replace)
                        for etype, ids in ids_of(batch[1]).items():
                            seen[etype] += ids.tolist()
                            if negatives is not None:
                                self.assertEqual(batch[2].num_edges(etype), 2 * len(ids))
                    for etype in g.canonical_etypes:
                        wanted = EIDS.get(etype, torch.arange(0)).tolist()
                        self.assertEqual(sorted(seen[etype]), wanted)

    def test_edges_and_negatives_are_those_of_a_sampler_that_is_not_pooled(self):
        for g in self.each_way():
            for options in (
                {"shuffle": True, "drop_last": True},
                {"shuffle": True, "num_workers": 3, "queue_size": 2},
                {"drop_last": True, "num_workers": 2, "queue_size": 1},
                {"batch_size": 1000},
            ):
                options["negative_sampler"] = negative_sampler.Uniform(1)
                pooled, other = (loader_of(g, is_pooled, **options) for is_pooled in (True, False))
                self.assertEqual(len(pooled), len(other))
                epochs = []
                for _ in range(3):
                    found, wanted = (
                        [[pairs_of(graph) for graph in batch[1:3]] for batch in loader]
                        for loader in (pooled, other)
                    )
                    self.assertEqual(len(found), len(pooled))
                    self.assertEqual(found, wanted)
                    epochs.append(found)
                self.assertNotEqual(epochs[0], epochs[1])

    def test_a_seed_gives_the_same_batches_in_every_way(self):
        found = []
        for g in self.each_way():
            for workers in (-1, 0, 1, 3):
                loader = loader_of(
                    g,
                    shuffle=True,
                    num_workers=workers,
                    exclude="self",
                    negative_sampler=negative_sampler.Uniform(1),
                )
                found.append([[lists_of(batch) for batch in loader] for _ in range(2)])
        for each in found[1:]:
            self.assertEqual(found[0], each)

    def test_other_seeds_epochs_and_batches_draw_apart(self):
        g = self.standalone()

        def edges(*loaders):
            return [[shop.edges_of(batch[-1]) for batch in loader] for loader in loaders]

        one = loader_of(g)
        first, second, other = edges(one, one, loader_of(g, seed=6))
        self.assertNotEqual(first, second)  # without shuffle the batches have the same edges
        self.assertNotEqual(first, other)
        twice = {shop.BUYS: [3] * 8}  # the same edge in each batch
        sampler = NeighborSampler([3], pooled=True)
        (drawn,) = edges(DistEdgeDataLoader(g, twice, sampler, batch_size=1))
        self.assertGreater(len({str(each) for each in drawn}), 3)

    def excluded(self, g, pairs, exclude, reverse_eids):
        """Returns the edges that blocks of a batch must not have, found one by one."""
        found = {c: ids.tolist() for c, ids in ids_of(pairs).items()}
        if exclude == "reverse_id":
            for etype, ids in found.items():
                ids += reverse_eids[etype][ids].tolist() if etype in reverse_eids else []
        if exclude == "reverse_types":
            batch = {
                c: set(zip(*map(torch.Tensor.tolist, g.find_edges(found[c], c)))) for c in EIDS
            }
            for etype, ends in batch.items():
                back = REVERSES[etype]
                every = zip(*map(torch.Tensor.tolist, g.find_edges(range(g.num_edges(back)), back)))
                found[back] += [i for i, (u, v) in enumerate(every) if (v, u) in ends]
        return found

    def test_excluded_edges_are_not_in_blocks(self):
        for g in self.each_way():
            reverse_eids = {c: torch.arange(g.num_edges(c)).flip(0) for c in EIDS}
            for exclude, more in (
                ("self", {}),
                ("reverse_id", {"reverse_eids": reverse_eids}),
                ("reverse_types", {"reverse_etypes": REVERSES}),
            ):
                for replace, workers in ((False, 0), (True, 2)):
                    loader = loader_of(
                        g,
                        fanouts=(9, 9),
                        replace=replace,
                        shuffle=True,
                        num_workers=workers,
                        exclude=exclude,
                        negative_sampler=negative_sampler.Uniform(1),
                        **more,
                    )
                    for batch in loader:
                        out = self.excluded(g, batch[1], exclude, reverse_eids)
                        if exclude == "reverse_types":
                            self.assertGreater(len(out[shop.SOLD]), 0)
                        self.check_batch(g, batch, out, replace, (9, 9))

    def test_without_exclude_the_edges_of_a_batch_are_in_blocks(self):
        g = self.standalone()
        for more in ({}, {"exclude": "self", "g_sampling": g}):
            for _, pairs, blocks in loader_of(g, fanouts=(-1,), **more):
                self.check_batch(g, (blocks_inputs(blocks), pairs, blocks), fanouts=(10**6,))
                for etype, ids in ids_of(pairs).items():
                    found = blocks[0].edges[etype].data[graphd.EID].tolist()
                    self.assertLessEqual(set(ids.tolist()), set(found))

    def test_sets_of_edges_that_are_not_excluded_are_equally_likely_in_all_epochs(self):
        g = self.standalone()
        both = torch.minimum(*(g.in_degrees(etype=c) for c in (shop.BUYS, shop.LIKES)))
        item = int((both - 3).abs().argmin())  # has about three edges of each type
        graph = in_subgraph(g, {"item": [item]})
        edges = {c: graph.edges(form="eid", etype=c).tolist() for c in (shop.BUYS, shop.LIKES)}
        left = sorted((c, i) for c in edges for i in edges[c] if (c, i) != (shop.BUYS, edges[c][0]))
        counts = collections.Counter()
        sampler = NeighborSampler([2], pooled=True)
        loader = DistEdgeDataLoader(
            g, {shop.BUYS: edges[shop.BUYS][:1]}, sampler, batch_size=1, exclude="self", seed=1
        )
        rounds = 4000
        for _ in range(rounds):
            ((_, _, (block,)),) = loader
            drawn = []
            for c in edges:
                at_item = block.dstnodes["item"].data[graphd.NID][block.edges(etype=c)[1]] == item
                ids = block.edges[c].data[graphd.EID][at_item]
                drawn += [(c, i) for i in ids.tolist()]
            counts[tuple(sorted(drawn))] += 1
        pairs = list(itertools.combinations(left, 2))
        self.assertLessEqual(set(counts), set(pairs))
        expected = torch.full((len(pairs),), rounds / len(pairs))
        self.assertGreater(float(expected[0]), 20)
        self.assertLess(shop.deviation([float(counts[each]) for each in pairs], expected), 4)

    def test_samplers_of_edges_have_the_options_and_batches_the_features(self):
        for g in self.each_way():
            feat = {ntype: g.nodes[ntype].data["feat"][:] for ntype in g.ntypes}
            w = {etype: g.edges[etype].data["w"][:] for etype in g.canonical_etypes}
            sampler = NeighborSampler(
                [4, 3],
                prefetch_node_feats={ntype: ["feat"] for ntype in g.ntypes},
                prefetch_labels={"user": ["feat"]},
                prefetch_edge_feats={etype: ["w"] for etype in g.canonical_etypes},
                pooled=True,
            )
            of_edges = as_edge_prediction_sampler(
                sampler,
                exclude="self",
                negative_sampler=negative_sampler.GlobalUniform(1),
                prefetch_labels={shop.BUYS: ["w"]},
            )
            for batch in EdgeDataLoader(g, EIDS, of_edges, batch_size=50, num_workers=2):
                inputs, pairs, _, blocks = batch
                ids = ids_of(pairs)
                self.check_batch(g, batch, ids)
                for ntype, rows in feat.items():
                    found = blocks[0].srcnodes[ntype].data["feat"]
                    self.assertTrue(torch.equal(found, rows[inputs[ntype]]))
                seeds = blocks[-1].dstnodes["user"].data
                self.assertTrue(torch.equal(seeds["feat"], feat["user"][seeds[graphd.NID]]))
                for block, (etype, rows) in itertools.product(blocks, w.items()):
                    data = block.edges[etype].data
                    self.assertTrue(torch.equal(data["w"], rows[data[graphd.EID]]))
                labels = pairs.edges[shop.BUYS].data["w"]
                self.assertTrue(torch.equal(labels, w[shop.BUYS][ids[shop.BUYS]]))

    def test_an_epoch_ends_with_the_next_and_may_be_left_unfinished(self):
        g = self.standalone()
        for workers in (0, 2):
            loader = loader_of(g, num_workers=workers)
            one = iter(loader)
            next(one)
            other = iter(loader)
            self.assertEqual((len(list(one)), len(list(other))), (0, len(loader)))
            self.assertEqual(len(list(loader)), len(loader))

    def test_a_batch_is_freed_with_its_last_reference(self):
        g = self.standalone()
        for workers in (0, 2):
            loader = loader_of(
                g,
                num_workers=workers,
                queue_size=1,
                exclude="reverse_types",
                reverse_etypes=REVERSES,
                negative_sampler=negative_sampler.Uniform(1),
            )
            list(loader)  # makes the objects that are made only once
            gc.collect()
            gc.disable()
            self.addCleanup(gc.enable)
            batches = iter(loader)
            batch = next(batches)
            kept = [weakref.ref(each) for each in (batch[1], batch[2], batch[3][0])]
            del batch
            self.assertEqual([each() for each in kept], [None] * 3)
            list(batches)
            self.assertEqual(gc.collect(), 0)
            gc.enable()

    def test_errors_of_a_negative_sampler_come_in_the_place_of_their_batch(self):
        g = self.standalone()

        def fails(g, eids):
            ((etype, ids),) = eids.items()
            if 2 * 64 in ids.tolist():
                raise ZeroDivisionError("no such negatives")
            return g.find_edges(ids, etype)

        for workers in (0, 2):
            batches = iter(loader_of(g, num_workers=workers, negative_sampler=fails))
            for _ in range(2):
                self.assertEqual(len(next(batches)), 4)
            with self.assertRaisesRegex(ZeroDivisionError, "no such negatives"):
                next(batches)

    def test_mistakes(self):
        g = self.standalone()
        wrong = {c: torch.zeros(3, dtype=torch.int64) for c in EIDS}
        outside = {c: torch.full((g.num_edges(c),), 10**6) for c in EIDS}
        for options, message in (
            ({"exclude": "all"}, "exclude 'all'"),
            ({"exclude": "reverse_id"}, "reverse_eids of edge type .* has 0 ids"),
            ({"exclude": "reverse_id", "reverse_eids": wrong}, "has 3 ids, expected one per edge"),
            ({"exclude": "reverse_id", "reverse_eids": outside}, "reverse edge 1000000"),
            ({"exclude": "reverse_types"}, "no reverse_etypes"),
            (
                {"exclude": "reverse_types", "reverse_etypes": {shop.BUYS: shop.LIKES}},
                "is not a reverse of",
            ),
            ({"negative_sampler": 5}, "negative_sampler 5"),
            ({"num_workers": -5}, "num_workers -5"),
            ({"fanouts": [1 << 30], "replace": True}, "smaller fanout"),
            ({"seed_times": EIDS}, "seed_times"),
        ):
            with self.subTest(message), self.assertRaisesRegex(InvalidError, message):
                loader_of(g, **options)
        for names, error in (({"prefetch_edge_feats": {shop.BUYS: ["x"]}}, NotFoundError),):
            sampler = NeighborSampler([2], pooled=True, **names)
            with self.assertRaises(error):
                DistEdgeDataLoader(g, EIDS, sampler, batch_size=2)
        sampler = graphd.sampling.BlockSampler()
        with self.assertRaisesRegex(InvalidError, "no samplers that are written in Python"):
            DistEdgeDataLoader(g, EIDS, sampler, batch_size=2)


def blocks_inputs(blocks):
    return {t: blocks[0].srcnodes[t].data[graphd.NID] for t in blocks[0].srctypes}


class OneType(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_batches_are_those_of_a_sampler_that_is_not_pooled(self):
        for g in self.each_way():
            reverse_eids = torch.arange(g.num_edges()).flip(0)
            for replace in (False, True):
                batches = [
                    [
                        (
                            inputs.tolist(),
                            pairs_of(pairs),
                            pairs_of(negatives),
                            shop.edges_of(blocks),
                        )
                        for inputs, pairs, negatives, blocks in DistEdgeDataLoader(
                            g,
                            torch.arange(0, g.num_edges(), 20),
                            NeighborSampler([4, 3], replace=replace, pooled=is_pooled),
                            batch_size=64,
                            shuffle=True,
                            seed=3,
                            num_workers=2,
                            exclude="reverse_id",
                            reverse_eids=reverse_eids,
                            negative_sampler=negative_sampler.Uniform(2),
                        )
                    ]
                    for is_pooled in (True, False)
                ]
                self.assertGreater(len(batches[0]), 1)
                self.assertEqual(*batches)


if __name__ == "__main__":
    support.main()
