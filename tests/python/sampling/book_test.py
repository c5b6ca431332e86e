# SPDX-License-Identifier: Apache-2.0
"""Compares partition books with the recorded answers of DGL's."""

import unittest

import graphd
import support
from graphd.distributed import load_partition_book

FIXTURES = ("hetero_2p", "sbm_4p_random", "isolated_3p")


class Book(unittest.TestCase):
    def each(self):
        for name in FIXTURES:
            found = support.fixture(name)
            for of_part in found.expected["books"]:
                with self.subTest(name, part=of_part["part_id"]):
                    yield load_partition_book(found.config, of_part["part_id"]), of_part

    def test_metadata_and_types(self):
        for (book, _, ntypes, etypes), dgl in self.each():
            self.assertEqual(book.num_partitions(), dgl["num_partitions"])
            self.assertEqual(book.metadata(), dgl["metadata"])
            self.assertEqual(book.partid, dgl["part_id"])
            self.assertEqual(book.canonical_etypes, [tuple(c) for c in dgl["canonical_etypes"]])
            self.assertEqual(list(ntypes), dgl["ntypes"])
            self.assertEqual(list(etypes.values()), list(range(len(dgl["etypes"]))))

    def test_homogeneous_ids(self):
        for (book, *_), dgl in self.each():
            nodes, edges = dgl["homo_nodes"], dgl["homo_edges"]
            self.assertEqual(book.nid2partid(nodes["ids"]).tolist(), nodes["nid2partid"])
            self.assertEqual(book.eid2partid(edges["ids"]).tolist(), edges["eid2partid"])
            part = dgl["part_id"]
            self.assertEqual(
                book.nid2localnid(nodes["local_ids_asked"], part).tolist(), nodes["nid2localnid"]
            )
            self.assertEqual(
                book.eid2localeid(edges["local_ids_asked"], part).tolist(), edges["eid2localeid"]
            )
            for numbers, found in (
                (nodes, book.map_to_per_ntype(nodes["ids"])),
                (edges, book.map_to_per_etype(edges["ids"])),
            ):
                typed = numbers.get("map_to_per_ntype") or numbers["map_to_per_etype"]
                self.assertEqual(found[0].tolist(), typed["type_ids"])
                self.assertEqual(found[1].tolist(), typed["per_type_ids"])

    def test_ids_of_types(self):
        for (book, *_), dgl in self.each():
            for ntype, nodes in dgl["typed_nodes"].items():
                self.assertEqual(book.num_nodes(ntype), nodes["total"])
                self.assertEqual(book.nid2partid(nodes["ids"], ntype).tolist(), nodes["nid2partid"])
                self.assertEqual(
                    book.map_to_homo_nid(nodes["ids"], ntype).tolist(), nodes["map_to_homo_nid"]
                )
                owned = book.partid2nids(dgl["part_id"], ntype)
                if len(owned):
                    self.assertEqual(
                        [int(owned[0]), int(owned[-1])],
                        nodes["partid2nids_first_last"][dgl["part_id"]],
                    )
            for name, edges in dgl["typed_edges"].items():
                etype = tuple(name.split(":"))
                self.assertEqual(book.num_edges(etype), edges["total"])
                self.assertEqual(book.eid2partid(edges["ids"], etype).tolist(), edges["eid2partid"])
                self.assertEqual(
                    book.map_to_homo_eid(edges["ids"], etype).tolist(), edges["map_to_homo_eid"]
                )

    def test_ids_that_a_partition_owns(self):
        for (book, *_), dgl in self.each():
            for part, (first, last) in enumerate(dgl["partid2"]["partid2nids_first_last"]):
                nodes = book.partid2nids(part)
                self.assertEqual(len(nodes), dgl["partid2"]["partid2nids_count"][part])
                self.assertEqual((int(nodes[0]), int(nodes[-1])), (first, last))

    def test_ids_out_of_range_raise_an_error(self):
        book = load_partition_book(support.fixture("hetero_2p").config, 0)[0]
        with self.assertRaises(graphd.errors.InvalidError):
            book.nid2partid([560])
        with self.assertRaises(graphd.errors.InvalidError):
            book.nid2partid([300], "user")


if __name__ == "__main__":
    support.main()
