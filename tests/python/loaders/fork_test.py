# SPDX-License-Identifier: Apache-2.0
"""Tests children of a trainer: a forked child cannot use the session of its parent, ends without a
wait and may initialize; DataLoader's workers, however they are started, join the job."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset

import graphd
import support
from graphd import seeds
from graphd.distributed import (
    DistEmbedding,
    DistGraph,
    DistNodeDataLoader,
    DistTensor,
    SparseAdagrad,
    exit_client,
    feature_copies,
    initialize,
)
from graphd.sampling import NeighborSampler

LIMIT = 10 * support.slowness()  # seconds until a child is considered to hang
NODES = 300  # nodes of type user


# A trainer with everything that has threads or memory of its own. Its child ends as programs do.
EXITS = f"""
import os, sys, torch
from graphd.distributed import *
from graphd.sampling import NeighborSampler
initialize()
g = DistGraph()
rows = g.nodes["user"].data["feat"][torch.arange(3)]
embedding = DistEmbedding({NODES}, 2, name="emb")
optimizer = SparseAdagrad([embedding], lr=0.1, staleness=2)
(embedding(torch.tensor([1])) ** 2).sum().backward()
optimizer.step()
batches = iter(DistNodeDataLoader(g, {{"user": torch.arange({NODES})}}, NeighborSampler([2]),
                                  batch_size=10, num_workers=2))
next(batches)
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    print("child")
    sys.exit(0)
status = os.waitpid(pid, 0)[1]
assert torch.equal(g.nodes["user"].data["feat"][torch.arange(3)], rows)
optimizer.wait()
print("parent", os.waitstatus_to_exitcode(status), flush=True)
"""


class OwnGraph(Dataset):
    """Reads features in the process that asks for them, through a session of that process."""

    graph = None

    def __len__(self):
        return 40

    def __getitem__(self, i):
        if OwnGraph.graph is None:
            OwnGraph.graph = DistGraph()
        feat = OwnGraph.graph.nodes["user"].data["feat"]
        return os.getpid(), feat[[i, NODES - 1 - i]]


def join_job(_):
    initialize()


class Fork(support.GraphTest):
    def child(self, run):
        """Runs a function in a forked child. Returns what it printed, and its exit code."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            with os.fdopen(write, "w") as out, contextlib.redirect_stdout(out):
                try:
                    run()
                except BaseException as error:
                    print(type(error).__name__, error)
            # The exception that sys.exit raises would go on with the test in the child.
            os._exit(0)
        os.close(write)
        end = time.monotonic() + LIMIT
        while (done := os.waitpid(pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                self.fail("the child hangs")
            time.sleep(0.01)
        with os.fdopen(read) as printed:
            return printed.read(), os.waitstatus_to_exitcode(done[1])

    def refused(self, use):
        text, code = self.child(use)
        self.assertEqual(code, 0)
        self.assertIn("InvalidError", text)
        self.assertIn("this process was forked", text)
        self.assertIn("graphd.distributed.initialize() in this process", text)

    def feat(self, g, transport):
        """Checks a feature in the parent."""
        rows = g.nodes["user"].data["feat"][[0, NODES - 1]]
        self.assertEqual(rows.shape, (2, 16), transport)
        return rows

    def test_a_child_does_not_wait_for_threads_of_its_parent(self):
        for module in (feature_copies, seeds):
            held, leave = threading.Event(), threading.Event()

            def hold(module=module, held=held, leave=leave):
                with module._lock:
                    held.set()
                    leave.wait()

            thread = threading.Thread(target=hold)
            thread.start()
            held.wait()
            try:
                text, _ = self.child(lambda module=module: print(module._lock.acquire(timeout=1)))
            finally:
                leave.set()
                thread.join()
            self.assertEqual(text, "True\n", module.__name__)

    def test_a_child_ends_by_sys_exit(self):
        config = support.fixture(self.fixture).config
        for way in ("standalone", "auto", "tcp"):
            with self.subTest(way):
                if way == "standalone":
                    environment = dict(os.environ, GRAPHD_PART_CONFIG=config)
                else:
                    environment = self.daemons().environment(GRAPHD_TRANSPORT=way)
                done = subprocess.run(
                    [sys.executable, "-c", EXITS],
                    capture_output=True,
                    text=True,
                    timeout=3 * LIMIT,
                    env=environment,
                )
                self.assertEqual(
                    (done.stdout, done.returncode), ("child\nparent 0\n", 0), done.stderr
                )

    def test_a_child_that_dies_at_once_leaves_the_parents_connections(self):
        g = self.served("tcp")
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
            self.feat(g, "tcp")

    def test_every_use_in_a_child_is_refused(self):
        for number, g in enumerate(self.each_way()):
            self.refuse_every_use(g, number)

    def refuse_every_use(self, g, number):
        feat = g.nodes["user"].data["feat"]
        own = DistTensor((NODES,), torch.int64, name=f"own{number}")
        embedding = DistEmbedding(NODES, 2, name=f"emb{number}")
        optimizer = SparseAdagrad([embedding], lr=0.1)
        loader = DistNodeDataLoader(
            g, {"user": torch.arange(NODES)}, NeighborSampler([2]), batch_size=50, num_workers=2
        )
        batches = iter(loader)
        next(batches)
        uses = {
            "read": lambda: feat[[1]],
            "slice": lambda: feat[0:5],
            "read a tensor": lambda: own[[1]],
            "write": lambda: own.__setitem__([1], torch.tensor([1])),
            "look up": lambda: embedding(torch.tensor([1])),
            "step": optimizer.step,
            "sample": lambda: graphd.distributed.sample_neighbors(g, {"user": [0]}, 2),
            "make": lambda: DistTensor((NODES,), torch.int64, name="more"),
            "go on": lambda: [next(batches) for _ in range(10)],
            "begin": lambda: next(iter(loader)),
            "degrees": lambda: g.in_degrees([0], etype=g.canonical_etypes[0]),
        }
        if graphd.distributed.session.peek().world_size == 1 and not self.is_standalone():
            uses["barrier"] = g.barrier
            uses["open"] = DistGraph
        for name, use in uses.items():
            with self.subTest(use=name):
                self.refused(use)
        # Nothing of this has damaged the parent.
        self.feat(g, "parent")
        own[[1]] = torch.tensor([5])
        self.assertEqual(own[[1]].tolist(), [5])
        (embedding(torch.tensor([1])) ** 2).sum().backward()
        optimizer.step()
        self.assertGreater(len(list(batches)), 0)

    def is_standalone(self):
        return graphd.distributed.session.peek().is_standalone

    def test_a_child_ends_while_loaders_and_steps_run(self):
        g = self.served("tcp")
        embedding = DistEmbedding(NODES, 2, name="emb2")
        optimizer = SparseAdagrad([embedding], lr=0.1, staleness=2)
        for _ in range(5):
            loader = iter(
                DistNodeDataLoader(
                    g,
                    {"user": torch.arange(NODES)},
                    NeighborSampler([2]),
                    batch_size=10,
                    num_workers=2,
                )
            )
            next(loader)
            (embedding(torch.tensor([1])) ** 2).sum().backward()
            optimizer.step()
            self.assertEqual(self.child(lambda: None), ("", 0))
            del loader

    def test_a_child_may_initialize(self):
        daemons = self.daemons()
        for transport in ("auto", "tcp"):
            g = self.served(transport)
            expected = self.feat(g, transport)

            def use(expected=expected):
                initialize(daemons.ip_config, server_name=daemons.server_name)
                rows = DistGraph().nodes["user"].data["feat"][[0, NODES - 1]]
                print(torch.equal(rows, expected))

            self.assertEqual(self.child(use), ("True\n", 0))
            # The child of the child may initialize, too.
            self.assertEqual(
                self.child(lambda use=use: [use(), print(self.child(use))]),
                ("True\n('True\\n', 0)\n", 0),
            )
            self.assertTrue(torch.equal(self.feat(g, transport), expected))
            exit_client()

    def test_the_end_of_the_parent_is_noticed_while_a_child_lives(self):
        daemons = self.daemons()
        code = (
            "import graphd, os, time; graphd.distributed.initialize()\n"
            "pid = os.fork()\n"
            "if pid == 0: time.sleep(3600)\n"
            "print(pid, flush=True); time.sleep(3600)"
        )
        for transport in ("auto", "tcp"):
            trainer = subprocess.Popen(
                [sys.executable, "-c", code],
                stdout=subprocess.PIPE,
                text=True,
                env=daemons.environment(GRAPHD_JOB_ID="orphan", GRAPHD_TRANSPORT=transport),
            )
            child = int(trainer.stdout.readline())
            try:
                self.assertIn("job orphan", self.status())
                trainer.kill()
                trainer.wait()
                trainer.stdout.close()
                end = time.monotonic() + LIMIT
                while "job orphan" in self.status() and time.monotonic() < end:
                    time.sleep(0.02)
                self.assertNotIn("job orphan", self.status())
                os.kill(child, 0)
            finally:
                os.kill(child, signal.SIGKILL)

    def status(self):
        return subprocess.run(
            [os.path.join(support.BIN, "graphctl"), "ps"],
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT,
            env=self.daemons().environment(),
        ).stdout

    def test_subprocesses_work(self):
        self.served("tcp")
        done = subprocess.run(
            [sys.executable, "-c", "print('here')"],
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT,
        )
        self.assertEqual(done.stdout, "here\n")
        self.assertEqual(os.system("true"), 0)

    def as_trainer(self):
        """Makes this process a trainer as one that graphctl launches."""
        daemons = self.daemons()
        variables = daemons.environment(GRAPHD_JOB_ID="launched", RANK="0", WORLD_SIZE="1")
        before = {name: os.environ.get(name) for name in variables}

        def restore():
            exit_client()
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

        self.addCleanup(restore)
        os.environ.update(variables)
        initialize()
        return DistGraph()

    def test_workers_of_a_data_loader_join_the_job_however_they_are_started(self):
        for transport in ("auto", "tcp"):
            os.environ["GRAPHD_TRANSPORT"] = transport
            self.load_with_workers(self.as_trainer())
            exit_client()
            self.assertNotIn("GRAPHD_TRAINER", os.environ)

    def load_with_workers(self, g):
        ids = torch.tensor([[i, NODES - 1 - i] for i in range(40)]).reshape(-1)
        expected = g.nodes["user"].data["feat"][ids]
        for method in ("fork", "forkserver", "spawn"):
            with self.subTest(method, transport=os.environ["GRAPHD_TRANSPORT"]):
                loader = DataLoader(
                    OwnGraph(),
                    batch_size=4,
                    num_workers=2,
                    worker_init_fn=join_job,
                    multiprocessing_context=method,
                    timeout=6 * LIMIT,
                )
                seen, processes = [], set()
                for pids, rows in loader:
                    processes |= set(pids.tolist())
                    seen.append(rows)
                self.assertTrue(torch.equal(torch.cat(seen).reshape(80, 16), expected))
                self.assertEqual(len(processes), 2)
                self.assertNotIn(os.getpid(), processes)

    def test_a_worker_that_does_not_initialize_is_told_to(self):
        g = self.served("auto")
        OwnGraph.graph = g
        try:
            loader = DataLoader(
                OwnGraph(), num_workers=1, multiprocessing_context="fork", timeout=6 * LIMIT
            )
            with self.assertRaisesRegex(Exception, r"initialize\(\) in this process"):
                next(iter(loader))
        finally:
            OwnGraph.graph = None

    def test_a_worker_shares_the_tensors_of_the_job_but_not_its_barriers(self):
        graph = self.as_trainer()
        own = DistTensor((NODES,), torch.int64, name="own")
        own[[3]] = torch.tensor([7])

        def use():
            initialize()
            g = DistGraph()
            print(DistTensor((NODES,), torch.int64, name="own")[[3]].tolist())
            g.barrier()

        text, code = self.child(use)
        self.assertEqual(code, 0)
        self.assertEqual(graph.num_nodes("user"), NODES)
        self.assertTrue(text.startswith("[7]\nInvalidError only trainers take part"), text)

    def test_a_child_with_another_rank_is_a_trainer(self):
        self.as_trainer()
        os.environ["WORLD_SIZE"] = "1"

        def use():
            os.environ["GRAPHD_JOB_ID"] = "another"
            initialize()
            DistGraph().barrier()
            print("passed")

        self.assertEqual(self.child(use), ("passed\n", 0))


if __name__ == "__main__":
    support.main()
