# SPDX-License-Identifier: Apache-2.0
"""Tests the choice of rows that a row cache keeps."""

import collections
import os
import unittest
import unittest.mock

import torch

import graphd
import support
from graphd.distributed import DistNodeDataLoader, DistTensor, nodes_by_access, nodes_by_degree
from graphd.sampling import NeighborSampler


class HotNodes(unittest.TestCase):
    def connect(self, daemons, **options):
        with unittest.mock.patch.dict(os.environ, GRAPHD_TRANSPORT="tcp"):
            session = daemons.connect(**options)
        self.addCleanup(session.close)
        return session.graph()

    def serve(self, name):
        daemons = support.Daemons(name)
        self.addCleanup(daemons.stop)
        return daemons

    def test_chosen_rows_are_kept(self):
        g = self.connect(self.serve("sbm_2p_metis"), row_cache="8MiB")
        degrees = g.out_degrees()
        by_degree = nodes_by_degree(g, 50)
        self.assertEqual(degrees[by_degree].tolist(), torch.topk(degrees, 50).values.tolist())
        self.assertEqual(len(set(by_degree.tolist())), 50)
        self.assertEqual(len(nodes_by_degree(g, 10**9)), g.num_nodes())
        self.assertEqual(len(nodes_by_degree(g, 0)), 0)

        loader = DistNodeDataLoader(
            g, torch.arange(200), NeighborSampler([3, 3]), batch_size=40, seed=1
        )
        batches = list(loader)
        counts = collections.Counter(node for batch in batches for node in batch[0].tolist())
        by_access = nodes_by_access(g, batches, 30)
        expected = sorted(counts.values(), reverse=True)[:30]
        self.assertEqual([counts[node] for node in by_access.tolist()], expected)
        self.assertEqual(len(nodes_by_access(g, batches, 10**9)), len(counts))
        first = nodes_by_access(g, batches, 10**9, num_batches=1)
        self.assertEqual(set(first.tolist()), set(batches[0][0].tolist()))

        feat = g.ndata["feat"]
        self.assertEqual(feat.keep_cached(by_access), 30)
        other = next(i for i in range(1, g.num_nodes()) if g.num_nodes() - i not in by_access)
        self.assertEqual(feat.keep_cached([-other, *by_access[:3].tolist()]), 4)
        self.assertEqual(g.row_cache_statistics()["kept"], 31)
        feat[by_access]
        self.assertGreaterEqual(g.row_cache_statistics()["hits"], 30)

    def test_types_of_nodes_are_told_apart(self):
        g = self.connect(self.serve("hetero_2p"), row_cache="1MiB")
        ntype = g.canonical_etypes[0][0]
        degrees = sum(g.out_degrees(etype=e) for e in g.canonical_etypes if e[0] == ntype)
        chosen = nodes_by_degree(g, 5, ntype)
        self.assertEqual(degrees[chosen].tolist(), torch.topk(degrees, 5).values.tolist())
        batches = [({ntype: torch.tensor([1, 2])}, None), ({ntype: torch.tensor([2])}, None), ({},)]
        self.assertEqual(nodes_by_access(g, batches, 5, ntype).tolist(), [2, 1])

    def test_what_cannot_be_kept_is_said(self):
        daemons = self.serve("sbm_2p_metis")
        g = self.connect(daemons, row_cache="1MiB")
        tensor = DistTensor((g.num_nodes(), 2), torch.float32, name="changing")
        with self.assertRaisesRegex(graphd.errors.InvalidError, "'changing' can change"):
            tensor.keep_cached([1])
        with self.assertRaises(graphd.errors.OutOfRangeError):
            g.ndata["feat"].keep_cached([g.num_nodes()])
        with self.assertRaisesRegex(graphd.errors.InvalidError, "begin with their input nodes"):
            nodes_by_access(g, [torch.arange(3)], 3)
        self.assertEqual(self.connect(daemons).ndata["feat"].keep_cached([1, 2]), 0)  # no cache

    def test_nodes_of_this_machine_are_not_chosen(self):
        daemons = self.serve("sbm_2p_metis")
        with unittest.mock.patch.dict(os.environ, {"GRAPHD_RUNTIME_DIR": daemons.runtime}):
            session = graphd.connect(daemons.server_name, ip_config=daemons.ip_config)
        self.addCleanup(session.close)
        g = session.graph()
        self.assertEqual(len(nodes_by_degree(g, 5)), 0)
        self.assertEqual(len(nodes_by_access(g, [(torch.arange(3),)], 5)), 0)


if __name__ == "__main__":
    unittest.main()
