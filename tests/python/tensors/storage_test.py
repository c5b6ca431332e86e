# SPDX-License-Identifier: Apache-2.0
"""Reads features that are stored in fewer bytes than they are read in: in this process, from mapped
memory, and over TCP."""

import itertools
import os
import shutil
import tempfile

import numpy as np
import torch

import graphd
import support
from graphd.distributed import DistGraph, load_partition_feats, partition_graph

NODES, EDGES = 500, 4000
_configs = {}


def config():
    """Partitions the graph, once."""
    if not _configs:
        folder = tempfile.mkdtemp(prefix="graphd-storage-")
        draw = np.random.default_rng(7)
        src, dst = draw.integers(0, NODES, (2, EDGES))
        # Quarters up to 127/4 are exact in each dtype.
        feat = draw.integers(-127, 128, (NODES, 37)).astype(np.float32) / 4
        feat[0, 0] = 127 / 4
        _configs.update(
            folder=folder,
            src=src,
            dst=dst,
            feat=feat,
            year=draw.integers(1900, 2030, NODES),
            weight=(draw.integers(0, 3, EDGES) / 2).astype(np.float32),
        )
        _configs["path"] = partition_graph(
            (src, dst),
            "stored",
            2,
            os.path.join(folder, "parts"),
            part_method="random",
            ndata={
                **{name: feat for name in ("plain", "half", "brain", "tiny")},
                "year": _configs["year"],
                "small": _configs["year"].astype(np.int32) - 1900,
            },
            edata={"weight": _configs["weight"]},
            store_as={
                "half": torch.float16,
                "_N/brain": "bfloat16",
                "tiny": "int8",
                "weight": "float16",
            },
        )
    return _configs


class Stored(support.GraphTest):
    @classmethod
    def daemons(cls):
        if "_daemons" not in cls.__dict__:
            cls._daemons = support.Daemons(config()["path"])
            cls.addClassCleanup(cls._daemons.stop)
        return cls._daemons

    def standalone(self):
        return DistGraph(part_config=config()["path"])

    def test_every_way_reads_the_values_of_the_input(self):
        for g in self.each_way():
            orig = g.ndata["orig_id"][:].numpy()
            self.assertEqual(sorted(orig), list(range(NODES)))
            ids = torch.tensor([3, 499, 3, 250, 0])
            for name in ("plain", "half", "brain", "tiny"):
                data = g.ndata[name]
                self.assertEqual(data.dtype, torch.float32)
                np.testing.assert_array_equal(data[:].numpy(), config()["feat"][orig])
                np.testing.assert_array_equal(data[ids].numpy(), config()["feat"][orig][ids])
                np.testing.assert_array_equal(
                    data[100:300].numpy(), config()["feat"][orig][100:300]
                )
            self.assertEqual(g.ndata["year"].dtype, torch.int64)
            np.testing.assert_array_equal(g.ndata["year"][:].numpy(), config()["year"][orig])
            self.assertEqual(g.ndata["small"].dtype, torch.int32)
            np.testing.assert_array_equal(
                g.ndata["small"][ids].numpy(), config()["year"][orig][ids] - 1900
            )

    def test_batches_have_the_rows_of_their_nodes(self):
        for g in self.each_way():
            sampler = graphd.sampling.NeighborSampler(
                [4, 4], prefetch_node_feats=["half", "tiny"], prefetch_labels=["year"]
            )
            loader = graphd.distributed.DistNodeDataLoader(
                g, torch.arange(NODES), sampler, batch_size=200
            )
            orig = g.ndata["orig_id"][:].numpy()
            for nodes, seeds, blocks in loader:
                for name in ("half", "tiny"):
                    np.testing.assert_array_equal(
                        blocks[0].srcdata[name].numpy(), config()["feat"][orig[nodes]]
                    )
                np.testing.assert_array_equal(
                    blocks[-1].dstdata["year"].numpy(), config()["year"][orig[seeds]]
                )

    def test_stored_weights_steer_sampling(self):
        for g in self.each_way():
            weight = g.edata["weight"][:].numpy()
            np.testing.assert_array_equal(weight, config()["weight"][g.edata["orig_id"][:].numpy()])
            sampled = g.sample_neighbors(torch.arange(NODES), 3, prob="weight")
            self.assertGreater(sampled.num_edges(), NODES)
            self.assertTrue((weight[sampled.edata[graphd.EID].numpy()] > 0).all())

    def test_features_of_one_partition_are_private_copies(self):
        nodes, edges = load_partition_feats(config()["path"], 1)
        orig = nodes["_N/orig_id"].numpy()
        np.testing.assert_array_equal(nodes["_N/tiny"].numpy(), config()["feat"][orig])
        self.assertEqual(edges["_N:_E:_N/weight"].dtype, torch.float32)
        nodes["_N/tiny"][:] = 0
        again, _ = load_partition_feats(config()["path"], 1)
        np.testing.assert_array_equal(again["_N/tiny"].numpy(), config()["feat"][orig])

    def test_files_have_the_bytes_of_the_stored_dtypes(self):
        sizes = {}
        for part, kind in itertools.product((0, 1), ("node_feat", "edge_feat")):
            path = os.path.join(config()["folder"], "parts", f"part{part}", f"{kind}.seg")
            sizes[kind] = sizes.get(kind, 0) + os.path.getsize(path)
        # A row of 37 numbers in 4, 2, 2 and 1 bytes, a year in 2, a small number in 1, an id in 2.
        wanted = NODES * (37 * 9 + 2 + 1 + 2)
        self.assertLess(abs(sizes["node_feat"] - wanted), 2 * 7 * 64)
        self.assertLess(abs(sizes["edge_feat"] - EDGES * (2 + 2)), 2 * 2 * 64)


class Arguments(support.GraphTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="graphd-storage-")
        self.addCleanup(shutil.rmtree, self.folder)

    def partition(self, **options):
        return partition_graph(
            ([0, 1, 2], [1, 2, 0]),
            "small",
            1,
            self.folder,
            ndata={"feat": np.ones((3, 2), np.float32)},
            force=True,
            **options,
        )

    def test_edges_without_original_ids(self):
        g = DistGraph(part_config=self.partition(edge_orig_id=False))
        self.assertNotIn("orig_id", g.edata)
        self.assertEqual(sorted(g.ndata["orig_id"][:].tolist()), [0, 1, 2])
        with self.assertRaisesRegex(graphd.errors.InvalidError, "edge_orig_id=False"):
            self.partition(edge_orig_id=False, return_mapping=True)

    def test_mistakes_name_the_remedy(self):
        for store_as, message in (
            ({"feet": "float16"}, "no type has the feature 'feet'; there are: _N/feat"),
            ({"feat": "float64"}, "expected float16, bfloat16 or int8"),
            ({"feat": "half"}, "expected float16, bfloat16 or int8"),
            (["feat"], "expected a dict such as"),
        ):
            with self.assertRaisesRegex(graphd.GraphdError, message) as raised:
                self.partition(store_as=store_as)
            self.assertNotIn("--", str(raised.exception))


if __name__ == "__main__":
    try:
        support.main()
    finally:
        if _configs:
            shutil.rmtree(_configs["folder"])
