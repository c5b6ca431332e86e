# SPDX-License-Identifier: Apache-2.0
"""Tests that graphctl top shows the load that trainers cause."""

import json
import os
import subprocess
import threading
import time

import torch

import support
from graphd.distributed import DistTensor, sample_neighbors


class Top(support.GraphTest):
    fixture = "sbm_2p_metis"

    def command(self, *verb):
        """Returns the command of graphctl that asks the servers of the fixture."""
        daemons = self.daemons()
        servers = ("--server_name", daemons.server_name, "--ip_config", daemons.ip_config)
        return [os.path.join(support.BIN, "graphctl"), *verb, "--json", *servers]

    def top(self, *options):
        """Starts graphctl top for the servers of the fixture."""
        process = subprocess.Popen(
            self.command("top", *options),
            env=self.daemons().environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.terminate)
        return process

    def samples(self, top):
        """Yields the samples of graphctl top, which is killed if they take too long in all."""
        timer = threading.Timer(30 * support.slowness(), top.kill)
        timer.start()
        self.addCleanup(timer.cancel)
        for line in top.stdout:
            yield json.loads(line)
        self.fail("graphctl top has not shown it in time")

    def wait_for_barrier(self, seconds):
        """Waits until a barrier has been in flight at a daemon for some time."""
        end = time.monotonic() + 30 * support.slowness()
        while time.monotonic() < end:
            shown = subprocess.run(
                self.command("debug", "requests"),
                env=self.daemons().environment(),
                check=True,
                capture_output=True,
                timeout=30 * support.slowness(),
            ).stdout
            requests = [each for daemon in json.loads(shown) for each in daemon["requests"]]
            if any(
                each["operation"] == "barrier" and each["seconds"] >= seconds for each in requests
            ):
                return
        self.fail("no daemon has shown the barrier in time")

    def check_text_of_requests(self):
        """Checks what `graphctl debug requests` shows a person while trainer 0 waits in a barrier."""
        command = [word for word in self.command("debug", "requests") if word != "--json"]
        shown = subprocess.run(
            command,
            env=self.daemons().environment(),
            check=True,
            capture_output=True,
            text=True,
            timeout=30 * support.slowness(),
        ).stdout
        self.assertRegex(shown, r"(?m)^127\.0\.0\.1:\d+: 1 request in flight$")
        self.assertRegex(
            shown,
            r"(?m)^ +\d+\.\d{3} s  barrier of job waits, trainer 0, (pid \d+|127\.0\.0\.1:\d+): "
            r"waits for rank 1$",
        )

    def test_reads_in_mapped_memory_are_those_of_the_trainer(self):
        g = self.served()
        tensor = DistTensor((g.num_nodes(), 4), torch.float32, name="read")
        nodes = torch.arange(g.num_nodes())
        tensor[nodes] = torch.ones(len(nodes), 4)
        samples = self.samples(self.top("--interval", "0.5"))
        self.assertNotIn("mapped_rows", next(samples)[0])  # there was no earlier sample
        edges = rows = size = 0
        for _ in range(20):
            for each in (g.ndata["feat"][nodes], tensor[nodes[:100]]):
                rows += len(each)
                size += each.numel() * each.element_size()
            edges += sample_neighbors(g, nodes, 3).num_edges()
        expected = {"mapped_rows": rows, "mapped_bytes": size, "mapped_edges": edges}
        seen, of_job = dict.fromkeys(expected, 0), dict.fromkeys(expected, 0)
        for machines in samples:
            for machine in machines:
                (job,) = machine["job_rates"]
                self.assertEqual(machine["rows"], 0)  # nothing was sent
                for name in expected:
                    seen[name] += machine[name] * machine["seconds"]
                    of_job[name] += job[name] * machine["seconds"]
            # The trainer may tell of its reads in several messages.
            if all(
                round(counts[name]) >= expected[name]
                for counts in (seen, of_job)
                for name in expected
            ):
                break
        self.assertEqual({name: round(value) for name, value in seen.items()}, expected)
        self.assertEqual({name: round(value) for name, value in of_job.items()}, expected)

    def test_rows_that_a_cache_has_are_those_that_top_shows(self):
        daemons = self.daemons()
        os.environ.update(GRAPHD_RUNTIME_DIR=daemons.runtime, GRAPHD_TRANSPORT="tcp")
        session = daemons.connect(job_id="caches", row_cache="8MiB")
        self.addCleanup(session.close)
        g = session.graph()
        nodes = torch.arange(g.num_nodes())
        samples = self.samples(self.top("--interval", "0.5"))
        next(samples)
        for _ in range(4):
            g.ndata["feat"][nodes]
        counts = g.row_cache_statistics()
        self.assertGreater(counts["hits"], 2 * len(nodes))
        expected = {"rows_cached": counts["hits"], "rows_not_cached": counts["misses"]}
        seen = dict.fromkeys(expected, 0)
        for machines in samples:
            sample_neighbors(g, nodes, 1)  # a client tells with its next request what its cache had
            for machine in machines:
                for name in expected:
                    seen[name] += machine[name] * machine["seconds"]
            if round(seen["rows_cached"]) >= counts["hits"]:
                break
        self.assertEqual({name: round(value) for name, value in seen.items()}, expected)
        command = [word for word in self.command("top", "--once") if word != "--json"]
        shown = subprocess.run(
            command,
            env=daemons.environment(),
            check=True,
            capture_output=True,
            text=True,
            timeout=30 * support.slowness(),
        ).stdout
        self.assertIn("CACHED", shown)

    def test_a_wait_of_known_length_is_in_the_times_of_its_operation(self):
        daemons = self.daemons()
        os.environ.update(GRAPHD_RUNTIME_DIR=daemons.runtime, GRAPHD_TRANSPORT="tcp")
        sessions = daemons.connect_trainers("waits", 2)
        for session in sessions:
            self.addCleanup(session.close)
        samples = self.samples(self.top("--interval", "0.5"))
        self.assertNotIn("operations", next(samples)[0])
        waited = []

        def wait():
            start = time.monotonic()
            sessions[0].barrier()
            waited.append(time.monotonic() - start)

        first = threading.Thread(target=wait)
        first.start()
        self.wait_for_barrier(0.7)
        self.check_text_of_requests()
        sessions[1].barrier()
        first.join()
        barriers = []
        for machines in samples:
            for machine in machines:
                for each in machine["operations"]:
                    if each["operation"] == "barrier":
                        barriers.append((each["requests"] * machine["seconds"], each))
            if sum(count for count, _ in barriers) > 1.5:
                break
        # The daemon of partition 0 keeps barriers. The second trainer has not waited.
        longest = max(each["p99"] for _, each in barriers)
        self.assertGreaterEqual(longest, 0.7)
        self.assertLessEqual(longest, 1.1 * waited[0])
        self.assertLess(min(each["p50"] for _, each in barriers), 0.35)
        self.assertLess(max(each["queue_p99"] for _, each in barriers), 0.35)

    def test_rates(self):
        g = self.served("tcp")
        tensor = DistTensor((g.num_nodes(), 4), torch.float32, name="written")
        nodes, done = torch.arange(g.num_nodes()), threading.Event()

        def work():
            while not done.is_set():
                g.ndata["feat"][nodes]
                sample_neighbors(g, nodes, 3)
                tensor[nodes] = torch.ones(len(nodes), 4)

        worker = threading.Thread(target=work)
        worker.start()
        try:
            shown = subprocess.run(
                [
                    os.path.join(support.BIN, "graphctl"),
                    "top",
                    "--once",
                    "--json",
                    "--interval",
                    "0.5",
                    "--server_name",
                    self.daemons().server_name,
                    "--ip_config",
                    self.daemons().ip_config,
                ],
                env=self.daemons().environment(),
                check=True,
                capture_output=True,
                text=True,
                timeout=60,
            ).stdout
        finally:
            done.set()
            worker.join()
        machines = json.loads(shown)
        self.assertEqual(len(machines), 2)
        for machine in machines:
            self.assertEqual((machine["jobs"], machine["trainers"]), (1, 1))
            self.assertGreater(machine["tensor_bytes"], 4 * g.num_nodes())
            for name in ("requests", "rows", "edges", "pushes", "bytes_sent"):
                self.assertGreater(machine[name], 0, name)
            operations = {each["operation"]: each for each in machine["operations"]}
            for name in ("sample", "gather", "change_rows"):
                times = operations[name]
                self.assertGreater(times["requests"], 0, name)
                self.assertGreater(times["p50"], 1e-6, name)
                self.assertLessEqual(times["p50"], times["p99"], name)
                self.assertLess(times["p99"], 60, name)
                self.assertLessEqual(times["queue_p50"], times["p99"], name)


if __name__ == "__main__":
    support.main()
