# SPDX-License-Identifier: Apache-2.0
"""Tests arguments, classes and methods of DGL for which graphd needs less, or works differently."""

import copy
import inspect

import numpy as np
import torch

import graphd
import support
from graphd.distributed import (
    DistDataLoader,
    DistTensor,
    EdgePartitionPolicy,
    GraphPartitionBook,
    NodePartitionPolicy,
    PartitionPolicy,
    RangePartitionBook,
    load_partition_book,
    sample_etype_neighbors,
    sample_neighbors,
)
from graphd.sampling import NeighborSampler, TopKSampler


def homogeneous(book, part, ntype=None, etype=None):
    """Returns the begin and the end of the homogeneous ids of a type that a partition owns."""
    if ntype is not None:
        ids = book.map_to_homo_nid(book.partid2nids(part, ntype), ntype)
    else:
        ids = book.map_to_homo_eid(book.partid2eids(part, etype), etype)
    return int(ids[0]), int(ids[-1]) + 1


class Books(support.GraphTest):
    def test_books_of_graphs_and_files_are_range_partition_books(self):
        found = support.fixture("hetero_2p")
        for g in self.each_way():
            for book in (
                g.get_partition_book(),
                g.get_node_partition_policy("user").partition_book,
                load_partition_book(found.config)[0],
                graphd.distributed.load_partition(found.config, 1)[3],
            ):
                self.assertIsInstance(book, RangePartitionBook)
                self.assertRegex(repr(book), "^RangePartitionBook")

    def test_a_graph_without_new_ids_has_another_book(self):
        book = load_partition_book(support.unpacked("legacy091_noreshuffle_2p")[0])[0]
        self.assertIsInstance(book, GraphPartitionBook)
        self.assertNotIsInstance(book, RangePartitionBook)

    def test_a_book_is_made_of_ranges(self):
        for name in ("hetero_2p", "sbm_4p_random"):
            wanted, _, ntypes, etypes = load_partition_book(support.fixture(name).config, 1)
            parts = range(wanted.num_partitions())
            node_map = {t: [homogeneous(wanted, p, ntype=t) for p in parts] for t in ntypes}
            edge_map = {c: [homogeneous(wanted, p, etype=c) for p in parts] for c in etypes}
            arrays = [
                {of: make(each) for of, each in by_type.items()}
                for make, by_type in ((torch.tensor, node_map), (np.array, edge_map))
            ]
            book = RangePartitionBook(1, len(parts), *arrays, ntypes, etypes)
            self.assertEqual((book.partid, book.metadata()), (1, wanted.metadata()))
            self.assertEqual(book.canonical_etypes, wanted.canonical_etypes)
            nodes, edges = torch.arange(wanted.num_nodes()), torch.arange(wanted.num_edges())
            for method, ids in (
                ("nid2partid", nodes),
                ("nid2localnid", nodes),
                ("eid2partid", edges),
                ("eid2localeid", edges),
            ):
                found = getattr(book, method)(ids)
                self.assertTrue(torch.equal(found, getattr(wanted, method)(ids)), method)
            self.check_policies(book)

    def check_policies(self, book):
        """Compares the policies of a book that belongs to no graph with its other answers."""
        part = book.partid
        for of, policy, count, owners, rows, own in (
            *(
                (
                    ntype,
                    NodePartitionPolicy(book, ntype),
                    book.num_nodes(ntype),
                    book.nid2partid,
                    book.nid2localnid,
                    book.partid2nids(part, ntype),
                )
                for ntype in book.ntypes
            ),
            *(
                (
                    etype,
                    EdgePartitionPolicy(book, etype),
                    book.num_edges(etype),
                    book.eid2partid,
                    book.eid2localeid,
                    book.partid2eids(part, etype),
                )
                for etype in book.canonical_etypes
            ),
        ):
            kind, name = ("node", of) if isinstance(of, str) else ("edge", ":".join(of))
            option, ids = {f"{kind[0]}type": of}, torch.arange(count)
            for each in (policy, PartitionPolicy(f"{kind}~{name}", book)):
                self.assertEqual((each.policy_str, each.type_name), (f"{kind}~{name}", of))
                self.assertEqual((each.is_node, each.part_id), (kind == "node", part))
                self.assertEqual((each.get_size(), each.get_part_size()), (count, len(own)))
                self.assertTrue(torch.equal(each.to_partid(ids), owners(ids, **option)))
                self.assertTrue(torch.equal(each.to_local(ids), rows(ids, **option)))
                self.assertTrue(torch.equal(each.local_ids(), own))
                self.assertIs(each.partition_book, book)
            self.assertGreater(len(policy.to_partid(ids).unique()), 1)
            self.assertIn(f"{len(own):,}", policy._repr_html_())
            with self.assertRaisesRegex(graphd.errors.InvalidError, "belongs to no graph"):
                DistTensor((count, 2), torch.float32, part_policy=policy)
            with self.assertRaises(graphd.errors.GraphdError):
                policy.to_local([count])

    def test_policies_of_a_files_book_are_for_lookups(self):
        for name in ("hetero_2p", "sbm_4p_random", "legacy091_noreshuffle_2p"):
            with self.subTest(name):
                self.check_policies(load_partition_book(support.unpacked(name)[0], 1)[0])
        book = load_partition_book(support.fixture("sbm_4p_random").config, 1)[0]
        rows = PartitionPolicy("range", book).with_rows(10)  # 2, 3, 2 and 3 of them
        self.assertEqual(rows.to_partid(range(10)).tolist(), [0, 0, 1, 1, 1, 2, 2, 3, 3, 3])
        self.assertEqual(rows.to_local(range(10)).tolist(), [0, 1, 0, 1, 2, 0, 1, 0, 1, 2])
        self.assertEqual((rows.get_size(), rows.get_part_size()), (10, 3))

    def test_invalid_ranges_are_refused(self):
        nodes, edges = {"_N": [[0, 4], [4, 10]]}, {("_N", "_E", "_N"): [[0, 3], [3, 6]]}
        ntypes, etypes = {"_N": 0}, {("_N", "_E", "_N"): 0}
        book = RangePartitionBook(0, 2, nodes, edges, ntypes, etypes)
        self.assertEqual(book.nid2partid([3, 4]).tolist(), [0, 1])
        for arguments, message in (
            ((2, 2, nodes, edges, ntypes, etypes), "part_id 2"),
            ((0, 3, nodes, edges, ntypes, etypes), r"node_map\['_N'\].*\(3, 2\)"),
            ((0, 2, [], edges, ntypes, etypes), "node_map: expected a dict"),
            ((0, 2, nodes, {"_E": [[0, 3], [3, 6]]}, ntypes, etypes), "edge_map: type '_E'"),
            ((0, 2, nodes, edges, {"user": 0}, etypes), "^RangePartitionBook: .*user"),
            ((0, 2, {"_N": [[0, 4], [5, 10]]}, edges, ntypes, etypes), "^RangePartitionBook: "),
            ((0, 2, nodes, edges, ntypes, {("_N", "_E", "_N"): "a"}), "etypes.*'a'"),
        ):
            with self.subTest(message):
                self.assertRaisesRegex(
                    graphd.errors.InvalidError, message, RangePartitionBook, *arguments
                )


class Arguments(support.GraphTest):
    def test_pooled_fanouts_count_the_edges_of_all_types(self):
        for g in self.each_way():
            nodes = torch.arange(g.num_nodes("user"))
            for direction, degrees in (("in", g.in_degrees), ("out", g.out_degrees)):
                of = [
                    c for c in g.canonical_etypes if (c[2] if direction == "in" else c[0]) == "user"
                ]
                total = sum(degrees(nodes, c) for c in of)
                for replace in (False, True):
                    found = sample_neighbors(
                        g, {"user": nodes}, 3, direction, replace=replace, pooled=True, seed=5
                    )
                    counts = torch.zeros(len(nodes), dtype=torch.int64)
                    for c in of:
                        u, v, ids = found.edges(form="all", etype=c)
                        ends = g.find_edges(ids, c)
                        self.assertTrue(torch.equal(torch.stack(ends), torch.stack([u, v])))
                        seeds = v if direction == "in" else u
                        counts += torch.bincount(seeds, minlength=len(nodes))
                        if not replace:
                            self.assertEqual(len(set(ids.tolist())), len(ids))
                    wanted = torch.where(total > 0, 3, 0) if replace else total.clamp(max=3)
                    self.assertEqual(counts.tolist(), wanted.tolist())
                    again = sample_neighbors(
                        g, {"user": nodes}, 3, direction, replace=replace, pooled=True, seed=5
                    )
                    for c in of:
                        self.assertTrue(
                            torch.equal(
                                again.edges(form="eid", etype=c), found.edges(form="eid", etype=c)
                            )
                        )

    def test_pooled_samples_are_uniform_over_the_edges_of_all_types(self):
        g = self.standalone()
        of = [c for c in g.canonical_etypes if c[0] == "user"]
        node = int(sum(g.out_degrees(etype=c) for c in of).argmax())
        degrees = {c: int(g.out_degrees([node], c)) for c in of}
        total, rounds, fanout = sum(degrees.values()), 2000, 4
        self.assertGreater(min(degrees.values()), 0)
        for replace in (False, True):
            counts = {c: torch.zeros(g.num_edges(c)) for c in of}
            for seed in range(rounds):
                found = sample_neighbors(
                    g, {"user": [node]}, fanout, "out", replace=replace, pooled=True, seed=seed
                )
                for c in of:
                    counts[c] += torch.bincount(
                        found.edges(form="eid", etype=c), minlength=g.num_edges(c)
                    )
            wanted = rounds * fanout / total
            for c in of:
                seen = counts[c][counts[c] > 0]
                self.assertEqual(len(seen), degrees[c])
                self.assertLess(float((seen - wanted).abs().max()), 5 * wanted**0.5)

    def test_pooled_fanouts_exclude_other_arguments(self):
        g = self.standalone()
        for options in (
            {"prob": "weight"},
            {"fanout": {"follows": 2}},
        ):
            with self.assertRaisesRegex(graphd.errors.InvalidError, "pooled=True"):
                sample_neighbors(g, {"user": [0]}, **{"fanout": 2, "pooled": True, **options})
        everything = sample_neighbors(g, {"user": [0]}, -1, pooled=True)
        degrees = sum(int(g.in_degrees([0], c)) for c in g.canonical_etypes if c[2] == "user")
        self.assertEqual(everything.num_edges(), degrees)

    def test_other_arguments_of_dgl(self):
        g = self.standalone()
        options = {"etype_sorted": True, "output_device": "cpu"}
        g.sample_neighbors({"user": [0]}, 2, **options)
        for sample in (g.sample_neighbors, lambda *a, **o: sample_etype_neighbors(g, *a, **o)):
            with self.assertRaisesRegex(graphd.errors.InvalidError, "output_device cuda"):
                sample({"user": [0]}, 2, output_device="cuda")
        name = next(iter(g.edata))
        g.add_edge_attribute(name, 1)
        with self.assertRaisesRegex(graphd.errors.InvalidError, f"'fear'.*'{name}'"):
            g.add_edge_attribute("fear")
        graphd.distributed.exit_client()
        graphd.distributed.initialize(net_etype="tensorpipe", net_type="socket")
        with self.assertRaisesRegex(graphd.errors.InvalidError, "orig_id"):
            graphd.distributed.partition_graph(([0], [1]), "g", 1, "/no/where", reshuffle=False)


class SamplerOfExamples(support.GraphTest):
    """The class NeighborSampler of DGL's example scripts, which takes a graph."""

    fixture = "sbm_2p_metis"

    def test_it_samples_as_dgls_class_does(self):
        for g in self.each_way():
            seeds = [7, 3, 11, 5]
            sampler = NeighborSampler(g, [2, 40], sample_neighbors, torch.device("cpu"))
            loader = DistDataLoader(seeds, 4, collate_fn=sampler.sample_blocks)
            (blocks,) = loader
            # The class begins with the fanout of the seeds, and samples with replacement.
            for block, fanout in zip(reversed(blocks), [2, 40]):
                nodes = block.dstdata[graphd.NID]
                self.assertEqual(nodes.tolist(), torch.as_tensor(seeds).tolist())
                wanted = torch.where(g.in_degrees(nodes) > 0, fanout, 0)
                self.assertEqual(block.in_degrees().tolist(), wanted.tolist())
                seeds = block.srcdata[graphd.NID]
            u, v, ids = blocks[0].edges(form="all")
            ends = g.find_edges(blocks[0].edata[graphd.EID][ids])
            self.assertEqual(ends[0].tolist(), blocks[0].srcdata[graphd.NID][u].tolist())
            self.assertEqual(ends[1].tolist(), blocks[0].dstdata[graphd.NID][v].tolist())

    def test_names_of_arguments_and_three_of_them(self):
        g = self.standalone()
        for sampler in (
            NeighborSampler(g, fanouts=[2, 3], sample_neighbors=sample_neighbors, device="cuda:0"),
            NeighborSampler(g, [2, 3], sample_neighbors),
        ):
            self.assertEqual(len(sampler.sample_blocks([0, 1])), 2)

    def test_mistakes(self):
        g = self.standalone()
        for arguments, message in (
            (([2], sample_etype_neighbors, "cpu"), "expected graphd.distributed.sample_neighbors"),
            (([2], None, "cpu"), "sample_neighbors None"),
            (([2], sample_neighbors, 0.5), "device 0.5.*'cuda:0'"),
            ((2, sample_neighbors, "cpu"), "fanouts 2: expected a list"),
            (([], sample_neighbors, "cpu"), r"fanouts \[\]"),
        ):
            with self.assertRaisesRegex(graphd.errors.InvalidError, message):
                NeighborSampler(g, *arguments)
        with self.assertRaisesRegex(TypeError, "sample_neighbors"):
            NeighborSampler(g, [2])

    def test_the_signature_and_copies_are_those_of_a_sampler(self):
        names = list(inspect.signature(NeighborSampler).parameters)
        self.assertEqual(names[:3], ["fanouts", "edge_dir", "prob"])
        self.assertEqual(copy.copy(NeighborSampler([2, 3])).fanouts, [2, 3])
        self.assertEqual(list(inspect.signature(TopKSampler).parameters)[1], "weight")


if __name__ == "__main__":
    support.main()
