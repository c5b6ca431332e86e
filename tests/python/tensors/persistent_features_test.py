# SPDX-License-Identifier: Apache-2.0
"""Tests changes of features of nodes that belong to the servers: later jobs see them, one job at a
time makes them, and only users with the right to do so."""

import os
import re
import signal
import subprocess
import sys
import tempfile

import torch

import graphd
import support
from graphd.distributed import DistGraph, DistNodeDataLoader, DistTensor
from graphd.sampling import NeighborSampler

FIXTURE = "sbm_2p_metis"
COPY = "copy of feature _N/feat"
REFUSED = f"writes tensor '{COPY}'; wait for its end, or stop it (graphctl ps, graphctl stop)\n"
NOBODY = 65534

# Opens the graph with the servers' changes, does what its argument says, and prints the result.
JOB = """
import sys, numpy, graphd
graphd.use("numpy")  # PyTorch takes seconds to import
graphd.distributed.initialize()
g = graphd.distributed.DistGraph(persistent_features=True)
feature = g.ndata["feat"]
try:
    exec(sys.argv[1])
except graphd.GraphdError as error:
    print(type(error).__name__, error, flush=True)
"""

# Fills the first rows of the copy, and dies.
DIES = """
import os, signal
from graphd.distributed import feature_copies
def dies(of):
    return lambda begin, shape: os.kill(os.getpid(), signal.SIGKILL)
feature_copies._reader = dies
feature[[0]] = feature[[1]]
"""


class PersistentFeatures(support.GraphTest):
    def setUp(self):
        super().setUp()
        self.sealed = graphd.connect(part_config=support.fixture(FIXTURE).config).graph()
        self.sealed = self.sealed.ndata["feat"][:].clone()

    def serve(self, *options):
        """Starts servers that every user of this machine can reach."""
        self.servers = support.Daemons(FIXTURE, *options)
        self.addCleanup(self.servers.stop)
        os.chmod(self.servers.folder, 0o755)

    def start(self, action, user=None):
        """Starts a process of a job of its own."""
        process = subprocess.Popen(
            [sys.executable, "-c", JOB, action],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.servers.environment(),
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
        for each in (process.wait, process.stdin.close, process.stdout.close, process.kill):
            self.addCleanup(each)
        return process

    def job(self, action, user=None):
        """Runs such a process, and returns what it prints."""
        process = self.start(action, user)
        output = process.communicate(timeout=100)[0]
        self.assertEqual(process.returncode, 0)
        return output

    def connect(self, **options):
        """Opens the graph in this process, as a job of its own."""
        session = self.servers.connect()
        self.addCleanup(session.close)
        return session.graph(**options)

    def test_later_jobs_see_a_change_and_the_graph_keeps_its_own(self):
        self.serve()
        self.assertEqual(
            self.job("feature[[3, 199]] = numpy.full((2, feature.shape[1]), 7, 'float32')"), ""
        )
        wanted = self.sealed.clone()
        wanted[[3, 199]] = 7
        g = self.connect(persistent_features=True)
        feature = g.ndata["feat"]
        self.assertTrue(torch.equal(feature[:], wanted))
        self.assertTrue(feature.persistent)
        for nodes, _, (block,) in DistNodeDataLoader(
            g, [3, 4], NeighborSampler([2], prefetch_node_feats=["feat"]), batch_size=2
        ):
            self.assertTrue(torch.equal(block.srcdata["feat"], wanted[nodes]))
        other = self.connect().ndata["feat"]
        self.assertTrue(torch.equal(other[:], self.sealed))
        # The second job's own change is its own.
        other[[3]] = wanted[[5]]
        self.assertTrue(torch.equal(feature[:], wanted))
        self.assertFalse(other.persistent)
        # It goes on where the first has ended.
        feature.add([3], wanted[[4]])
        wanted[3] += wanted[4]
        self.assertTrue(torch.equal(feature[:], wanted))

    def test_an_open_graph_finds_a_change_after_a_barrier(self):
        self.serve()
        g = self.connect(persistent_features=True)
        self.job("feature[[3]] = feature[[4]]")
        self.assertTrue(torch.equal(g.ndata["feat"][:], self.sealed))
        g.barrier()
        self.assertTrue(torch.equal(g.ndata["feat"][[3]], self.sealed[[4]]))

    def test_a_second_job_reads_while_the_first_writes_and_is_refused_until_it_has_ended(self):
        self.serve()
        first = self.start("feature[[3]] = feature[[4]]; print('done', flush=True); input()")
        self.assertEqual(first.stdout.readline(), "done\n")
        feature = self.connect(persistent_features=True).ndata["feat"]
        self.assertTrue(torch.equal(feature[[3]], self.sealed[[4]]))
        with self.assertRaisesRegex(graphd.errors.DeniedError, re.escape(REFUSED[:-1])):
            feature[[5]] = self.sealed[[6]]
        first.communicate("\n", timeout=100)
        feature[[5]] = self.sealed[[6]]
        self.assertTrue(torch.equal(feature[[3, 5]], self.sealed[[4, 6]]))

    def test_jobs_that_make_the_first_change_at_once_take_turns(self):
        self.serve()
        action = "input(); feature[[{0}]] = feature[[{0}]] + 1; print('done', flush=True); input()"
        jobs = [self.start(action.format(row)) for row in range(3)]
        for job in jobs:
            job.stdin.write("\n")
            job.stdin.flush()
        said = [job.stdout.readline() for job in jobs]
        for job in jobs:
            job.communicate("\n", timeout=100)
        self.assertEqual(said.count("done\n"), 1, said)
        self.assertEqual(
            sum(line.endswith(REFUSED) and "DeniedError" in line for line in said), 2, said
        )
        wanted = self.sealed.clone()
        wanted[said.index("done\n")] += 1
        feature = self.connect(persistent_features=True).ndata["feat"]
        self.assertTrue(torch.equal(feature[:], wanted))

    def test_another_job_fills_the_copy_if_the_first_dies(self):
        self.serve()
        died = self.start(DIES)
        self.assertEqual(died.wait(timeout=100), -signal.SIGKILL)
        feature = self.connect(persistent_features=True).ndata["feat"]
        self.assertTrue(torch.equal(feature[:], self.sealed))
        feature[[5]] = self.sealed[[6]]
        self.assertTrue(torch.equal(feature[[5]], self.sealed[[6]]))

    def test_users_who_may_only_read_see_changes_and_make_none(self):
        self.serve("--allow_read", "user:nobody")
        write = "feature[[3]] = abs(feature[[3]] * 0)"
        show = "; print(feature[[3]].tolist())"
        refusal = r"DeniedError .*user 65534 may not {}.*--allow_write user:65534"
        self.assertRegex(self.job(write, NOBODY), refusal.format("create tensors"))
        self.assertEqual(self.job("0" + show, NOBODY), f"{self.sealed[[3]].tolist()}\n")
        self.job(write)
        self.assertEqual(self.job("0" + show, NOBODY), f"{[[0.0] * self.sealed.shape[1]]}\n")
        self.assertRegex(
            self.job("feature[[3]] = feature[[4]]", NOBODY), refusal.format("change tensors")
        )
        feature = self.connect(persistent_features=True).ndata["feat"]
        self.assertEqual(feature[[3]].count_nonzero(), 0)

    def test_dropping_the_copy_gives_the_graphs_feature_back(self):
        self.serve()
        self.job("feature[[3]] = feature[[4]]")
        DistTensor.drop(self.connect(), COPY)
        feature = self.connect(persistent_features=True).ndata["feat"]
        self.assertTrue(torch.equal(feature[:], self.sealed))

    def test_changes_without_servers_are_in_the_state_directory(self):
        config = support.fixture(FIXTURE).config
        with tempfile.TemporaryDirectory(prefix="graphd-state-") as folder:
            for _ in range(2):
                graphd.distributed.initialize(part_config=config, state_dir=folder)
                g = DistGraph(persistent_features=True)
                g.ndata["feat"].add([3], self.sealed[[4]])
                result = g.ndata["feat"][[3]]
                del g
                graphd.distributed.exit_client()
        self.assertTrue(torch.allclose(result, self.sealed[[3]] + 2 * self.sealed[[4]]))


if __name__ == "__main__":
    support.main()
