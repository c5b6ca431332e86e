# SPDX-License-Identifier: Apache-2.0
"""Tests that Ctrl-C ends every wait, and that interrupted objects remain usable."""

import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import torch

import graphd
import support
from graphd.distributed import (
    DistDataLoader,
    DistEmbedding,
    DistNodeDataLoader,
    DistTensor,
    SparseSGD,
    initialize,
    sample_neighbors,
)
from graphd.sampling import NeighborSampler
from late_device import LateDevice


class Interrupt(support.GraphTest):
    def interrupted(self, call):
        """Checks that Ctrl-C after 0.2 s ends the call within a second."""
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        begin = time.monotonic()
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            call()
        self.assertLess(time.monotonic() - begin, 0.2 + support.slowness())
        timer.join()

    def test_waiting_for_a_silent_daemon(self):
        g = self.served("tcp")
        nodes = {"user": torch.arange(300)}
        feat = g.nodes["user"].data["feat"]
        loader = DistNodeDataLoader(g, nodes, NeighborSampler([3]), batch_size=10, num_workers=2)
        collating = DistDataLoader(
            torch.arange(300), 10, num_workers=2, collate_fn=lambda ids: feat[torch.tensor(ids)]
        )
        device = LateDevice()
        delivered = DistNodeDataLoader(
            g, nodes, NeighborSampler([3]), device, batch_size=10, num_workers=2
        )
        self.assertEqual(len(list(delivered)), len(delivered))
        delivered_items = DistDataLoader(
            *(torch.arange(300), 10),
            num_workers=2,
            collate_fn=lambda ids: feat[torch.tensor(ids)],
            device=device,
        )
        stopped = self.daemons().processes[1]
        stopped.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED | os.WNOWAIT)
        try:
            self.interrupted(lambda: feat[nodes["user"]])
            self.interrupted(lambda: sample_neighbors(g, nodes, 3))
            self.interrupted(lambda: g.find_edges(list(range(1200)), "follows"))
            self.interrupted(functools.partial(list, loader))
            self.interrupted(lambda: list(collating))
            for each in (delivered, delivered_items):
                self.interrupted(functools.partial(list, each))
                self.interrupted(functools.partial(iter, each))  # behind the batch that is made
            self.interrupted(lambda: DistTensor((300, 2), torch.float32, name="never"))
            begin = time.monotonic()
            del loader
            self.assertLess(time.monotonic() - begin, support.slowness())
        finally:
            stopped.send_signal(signal.SIGCONT)
        self.assertEqual(feat[nodes["user"]].shape, (300, 16))
        for each in (delivered, delivered_items):
            self.assertEqual(len(list(each)), len(each))

    def test_waiting_for_other_trainers(self):
        daemons = self.daemons()
        os.environ.update(GRAPHD_RUNTIME_DIR=daemons.runtime, GRAPHD_TRANSPORT="auto")
        initialize(
            daemons.ip_config,
            server_name=daemons.server_name,
            job_id="interrupted",
            rank=0,
            world_size=2,
        )
        g = graphd.distributed.DistGraph()
        self.interrupted(g.barrier)
        optimizer = SparseSGD([DistEmbedding(300, 2)], lr=1.0, synchronous=True)
        self.interrupted(optimizer.step)

    def test_waiting_for_a_server_that_does_not_exist(self):
        path = os.path.join(self.daemons().folder, "nobody.txt")
        with open(path, "w") as file:
            file.write("127.0.0.1 1\n127.0.0.1 2\n")
        self.interrupted(lambda: initialize(path, server_name="nobody"))

    def test_a_forked_process_gets_an_error(self):
        g = self.served("tcp")
        feat = g.nodes["user"].data["feat"]
        child = os.fork()
        if child == 0:
            try:
                feat[[0, 299]]
            except graphd.errors.InvalidError as error:
                os._exit(7 if "forked" in str(error) else 1)
            os._exit(0)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        self.assertEqual(feat[[0, 299]].shape, (2, 16))

    def test_partitioning(self):
        folder = tempfile.mkdtemp(prefix="graphd-interrupt-")
        self.addCleanup(shutil.rmtree, folder)
        code = (
            "import graphd, numpy, signal\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "ends = numpy.random.default_rng(0).integers(0, 100000, (2, 10_000_000))\n"
            "print('begins', flush=True)\n"
            f"graphd.distributed.partition_graph(ends, 'g', 8, {folder!r}, part_method='random')\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.assertEqual(process.stdout.readline(), "begins\n")
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
        self.assertIn("KeyboardInterrupt", error)
        self.assertFalse(os.path.exists(os.path.join(folder, "g.json")))

    def test_a_program_ends(self):
        daemons = self.daemons()
        code = (
            "import graphd, signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
            "graphd.distributed.initialize(job_id='ends', rank=0, world_size=2);"
            "g = graphd.distributed.DistGraph();"
            "print('waits', flush=True); g.barrier()"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=daemons.environment(),
        )
        self.assertEqual(process.stdout.readline(), "waits\n")
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        _, errors = process.communicate(timeout=20)
        self.assertLess(time.monotonic() - begin, 2 * support.slowness())
        self.assertIn("KeyboardInterrupt", errors)
        self.assertEqual(process.returncode, -signal.SIGINT)


if __name__ == "__main__":
    support.main()
