# SPDX-License-Identifier: Apache-2.0
"""Tests changes of features of nodes: the job gets a copy, which all its trainers see, and the graph
keeps its own."""

import os
import signal
import subprocess
import sys
import time

import torch

import graphd
import jobs
import support
from graphd.distributed import DistGraph, DistNodeDataLoader, DistTensor
from graphd.sampling import BlockSampler, MultiLayerFullNeighborSampler, NeighborSampler

# Every trainer changes its rows at once; after the barrier all have all changes.
WRITERS = """
import sys, torch, graphd
graphd.distributed.initialize()
g = graphd.distributed.DistGraph(sys.argv[2])
held = g.ndata["feat"]
sealed = held[:]
mine = torch.arange(g.rank(), g.num_nodes(), 4)
g.barrier()
g.ndata["feat"][mine] = sealed[mine] + g.rank()
g.barrier()
wanted = sealed + (torch.arange(g.num_nodes()) % 4).unsqueeze(1)
assert torch.equal(g.ndata["feat"][:], wanted) and torch.equal(held[:], wanted)
g.barrier()
print("all changes are there")
"""

# A trainer of a job of its own name makes a copy, slowly, and prints a line for each piece.
SLOW = """
import sys, time, torch, graphd
from graphd.distributed import feature_copies
read = feature_copies._reader
def slow(feature):
    rows = read(feature)
    def piece(begin, shape):
        print("piece", flush=True)
        time.sleep(1000)
        return rows(begin, shape)
    return piece
feature_copies._reader = slow
graphd.distributed.initialize(sys.argv[1], server_name=sys.argv[2])
g = graphd.distributed.DistGraph()
g.ndata["feat"][[0]] = torch.zeros(1, g.ndata["feat"].shape[1])
"""


class Copies(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_a_changed_feature_takes_the_place_of_the_graphs(self):
        for g in self.each_way():
            held = g.ndata["feat"]
            sealed, ids = held[:], torch.tensor([3, 199, 5])
            rows = torch.full((3, sealed.shape[1]), 7.0)
            g.ndata["feat"][ids] = rows
            wanted = sealed.clone()
            wanted[ids] = rows
            for tensor in (g.ndata["feat"], held):
                self.assertTrue(torch.equal(tensor[:], wanted))
                self.assertEqual(tensor.shape, tuple(sealed.shape))
            held.add([3], rows[:1])
            wanted[3] += 7
            self.assertTrue(torch.equal(g.ndata["feat"][torch.arange(200)], wanted[:200]))
            self.assertEqual(sorted(g.ndata), sorted(set(g.ndata)))
            self.assertTrue(torch.equal(held.local_partition, held[held.part_policy.local_ids()]))
            again = DistGraph(g.graph_name)  # finds the copy
            self.assertTrue(torch.equal(again.ndata["feat"][:], wanted))
            graphd.distributed.exit_client()
        self.assertTrue(torch.equal(self.standalone().ndata["feat"][:], sealed))

    def test_masks_and_other_dtypes_are_copied_bit_by_bit(self):
        for g in self.each_way():
            for name in sorted(g.ndata):
                tensor = g.ndata[name]
                sealed = tensor[:]
                tensor[[0]] = sealed[[1]]
                found = g.ndata[name][:]
                self.assertFalse(g.ndata[name].handle.is_feature)
                self.assertEqual(found.dtype, sealed.dtype)
                self.assertTrue(torch.equal(found[1:], sealed[1:]), name)
                self.assertTrue(torch.equal(found[0], sealed[1]), name)

    def test_loaders_and_samplers_read_the_copy(self):
        class Own(BlockSampler):
            def sample_blocks(self, g, seed_nodes, exclude_eids=None):
                return NeighborSampler([2]).sample_blocks(g, seed_nodes)

        for g in self.each_way():
            options = {"prefetch_node_feats": ["feat"], "prefetch_labels": ["label"]}
            loaders = [
                DistNodeDataLoader(g, torch.arange(40), sampler, batch_size=20)
                for sampler in (NeighborSampler([2], **options), Own(**options))
            ]
            g.ndata["feat"][:] = torch.zeros(g.ndata["feat"].shape)
            g.ndata["label"][:] = torch.arange(g.num_nodes()).to(g.ndata["label"].dtype)
            loaders.append(
                DistNodeDataLoader(
                    g, torch.arange(40), NeighborSampler([2], **options), batch_size=20
                )
            )
            for loader in loaders:
                for _, seeds, (block,) in loader:
                    self.assertEqual(block.srcdata["feat"].count_nonzero(), 0)
                    self.assertEqual(block.dstdata["label"].tolist(), seeds.tolist())
            out = graphd.inference.layerwise(g, [lambda b, h: h[: b.num_dst_nodes()] + 1], "feat")
            self.assertTrue(bool((out[:] == 1).all()))

    def test_a_tensor_can_be_assigned_to_the_name_of_a_feature(self):
        for g in self.each_way():
            sealed, held = g.ndata["feat"][:], g.ndata["feat"]
            tensor = DistTensor((g.num_nodes(), 2), torch.float32, name="other")
            tensor[:] = torch.arange(2.0 * g.num_nodes()).reshape(-1, 2)
            g.ndata["feat"] = tensor
            self.assertEqual(g.ndata["feat"].shape, (g.num_nodes(), 2))
            self.assertEqual(g.node_attr_schemes()["feat"].shape, (2,))
            sampler = MultiLayerFullNeighborSampler(1, prefetch_node_feats=["feat"])
            ((nodes, _, (block,)),) = DistNodeDataLoader(g, [1, 2], sampler, batch_size=2)
            self.assertTrue(torch.equal(block.srcdata["feat"], tensor[nodes]))
            self.assertTrue(torch.equal(held[:], sealed))
            del g.ndata["feat"]
            self.assertTrue(torch.equal(g.ndata["feat"][:], sealed))
            with self.assertRaises(graphd.errors.NotFoundError):
                del g.ndata["feat"]

    def test_tensors_that_are_no_features_come_with_batches(self):
        for g in self.each_way():
            tensor = DistTensor((g.num_nodes(),), torch.float32, name="extra")
            tensor[:] = torch.arange(float(g.num_nodes()))
            g.ndata["extra"] = tensor
            sampler = NeighborSampler([2], prefetch_node_feats=["feat", "extra"])
            for nodes, _, (block,) in DistNodeDataLoader(g, torch.arange(9), sampler, batch_size=4):
                self.assertEqual(block.srcdata["extra"].tolist(), nodes.tolist())
                self.assertTrue(torch.equal(block.srcdata["feat"], g.ndata["feat"][nodes]))

    def test_a_change_of_one_type_leaves_the_others(self):
        g = DistGraph(part_config=support.fixture("hetero_2p").config)
        before = {ntype: tensor[:].clone() for ntype, tensor in g.ndata["feat"].items()}
        g.nodes["user"].data["feat"][[0]] = before["user"][[1]]
        for ntype, tensor in g.ndata["feat"].items():
            self.assertEqual(torch.equal(tensor[:], before[ntype]), ntype != "user")
        self.assertTrue(torch.equal(g.ndata["feat"]["user"][[0]], before["user"][[1]]))

    def test_features_of_edges_stay_and_so_do_those_of_graphs_without_new_ids(self):
        g = DistGraph(part_config=support.fixture("hetero_2p").config)
        feature = g.edges["follows"].data["w"]
        with self.assertRaisesRegex(graphd.errors.DeniedError, r'sampling.*g\.edata\["new"\]'):
            feature[[0]] = feature[[1]]
        tensor = DistTensor(feature.shape, part_policy=feature.part_policy)
        with self.assertRaises(graphd.errors.ExistsError):
            g.edges["follows"].data["w"] = tensor
        graphd.distributed.exit_client()
        g = DistGraph(part_config=support.unpacked("legacy091_noreshuffle_2p")[0])
        with self.assertRaisesRegex(graphd.errors.DeniedError, r'new ids.*g\.ndata\["new"\]'):
            g.ndata["feat"][[0]] = g.ndata["feat"][[1]]

    def test_another_trainer_fills_the_copy_if_one_dies(self):
        daemons = support.Daemons(self.fixture)
        self.addCleanup(daemons.stop)
        variables = {"GRAPHD_JOB_ID": "two_trainers", "RANK": "0", "WORLD_SIZE": "2"}
        os.environ.update(variables, GRAPHD_RUNTIME_DIR=daemons.runtime)
        for name in variables:
            self.addCleanup(os.environ.pop, name)
        slow = subprocess.Popen(
            [sys.executable, "-c", SLOW, daemons.ip_config, daemons.server_name],
            stdout=subprocess.PIPE,
            env=daemons.environment(RANK="1", WORLD_SIZE="2"),
        )
        self.addCleanup(slow.stdout.close)
        self.addCleanup(slow.kill)
        self.assertEqual(slow.stdout.readline(), b"piece\n")
        graphd.distributed.initialize(daemons.ip_config, server_name=daemons.server_name)
        sealed = self.sealed()
        begin = time.monotonic()
        killer = subprocess.Popen(["/bin/sh", "-c", f"sleep 1; kill -9 {slow.pid}"])
        self.addCleanup(killer.wait)
        g = DistGraph()  # waits for the copy
        g.ndata["feat"][[5]] = sealed[[6]]
        self.assertGreater(time.monotonic() - begin, 0.5)
        slow.wait()
        self.assertEqual(slow.returncode, -signal.SIGKILL)
        sealed[5] = sealed[6]
        self.assertTrue(torch.equal(g.ndata["feat"][:], sealed))

    def sealed(self):
        config = support.fixture(self.fixture).config
        return graphd.connect(part_config=config).graph().ndata["feat"][:].clone()


class Writers(jobs.JobTest):
    def test_all_trainers_of_a_job_change_a_feature_at_once(self):
        self.small("writers")
        script = self.path("writers.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(WRITERS)
        os.environ.pop("GRAPHD_TRANSPORT", None)  # the other tests set it
        output = self.job(script, "writers")
        self.assertEqual(output.count("all changes are there"), 4, output)


if __name__ == "__main__":
    support.main()
