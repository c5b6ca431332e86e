# SPDX-License-Identifier: Apache-2.0
"""Tests programs that end while daemon threads are in calls of graphd."""

import subprocess
import sys

import support

# The functions of threads, which never end. They use NumPy, because PyTorch itself aborts a program
# that ends while a daemon thread is in one of its functions.
BARRIER = """
def work():
    g.barrier()
"""
READS = """
feat, ids = g.nodes["user"].data["feat"], numpy.arange(300).repeat(100)
def work():
    while True:
        feat[ids]
"""
LOADER = """
loader = DistNodeDataLoader(
    g, {"user": numpy.arange(300)}, NeighborSampler([5, 5]), batch_size=3, num_workers=2
)
def work():
    while True:
        for batch in loader:
            pass
"""
PROGRAM = """
import atexit, threading, time, numpy
atexit.register(lambda: print(len(g.find_edges([1, 2], "follows")[0]), "edges at the end"))
import graphd
from graphd.distributed import *
from graphd.sampling import NeighborSampler
graphd.use("numpy")
initialize(job_id="j", rank=0, world_size=2)
g = DistGraph()
{}
for _ in range({}):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
print("main ends", flush=True)
"""


class Exit(support.GraphTest):
    def test_threads_in_calls_do_not_keep_a_program_from_ending(self):
        for name, body, threads in (
            ("barrier", BARRIER, 1),  # a trainer may wait there only once
            ("reads", READS, 3),
            ("loader", LOADER, 1),
        ):
            for transport in ("auto", "tcp"):
                with self.subTest(name, transport=transport):
                    done = subprocess.run(
                        [sys.executable, "-c", PROGRAM.format(body, threads)],
                        env=self.daemons().environment(GRAPHD_TRANSPORT=transport),
                        capture_output=True,
                        text=True,
                        timeout=60 * support.slowness(),
                    )
                    self.assertEqual(
                        (done.returncode, done.stdout, done.stderr),
                        (0, "main ends\n2 edges at the end\n", ""),
                    )


if __name__ == "__main__":
    support.main()
