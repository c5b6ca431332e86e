#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what a server tells while it loads: the metrics, the page for people in a real browser,
graphctl and the service manager. The reads of the daemon are held at a place that the test chooses."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))
sys.path.insert(0, HERE)
from browser import browse  # noqa: E402
from free_ports import free_ports  # noqa: E402
from wide_graph import write_wide_graph  # noqa: E402

BIN = os.environ.get("GRAPHD_BIN_DIR") or sys.exit("set GRAPHD_BIN_DIR to build/<preset>/bin")
HELD_READS = os.environ.get("GRAPHD_HELD_READS") or sys.exit("set GRAPHD_HELD_READS, as ctest does")
MIB = 1 << 20
SLOW = max(1, os.getloadavg()[0] / os.cpu_count())


def wait_until(what, condition, seconds=30):
    end = time.monotonic() + seconds * SLOW
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited for {what}")


class Loading(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="graphd-loading-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.mkdir(f"{cls.folder}/raw")
        write_wide_graph(f"{cls.folder}/raw", 48 * MIB)
        subprocess.run([f"{BIN}/graphctl", "partition", "--graph_name", "wide", "--input",
                        f"{cls.folder}/raw/metadata.json", "--num_parts", "1", "--output",
                        f"{cls.folder}/parts"], check=True, capture_output=True, timeout=120)

    def setUp(self):
        self.port, metrics = free_ports(2)
        self.address = f"127.0.0.1:{metrics}"
        self.work = tempfile.mkdtemp(dir=self.folder)
        self.runtime = f"{self.work}/run"
        self.allow(0)
        with open(f"{self.work}/ip.txt", "w") as out:
            out.write(f"127.0.0.1 {self.port}\n")
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.manager.close)
        self.manager.bind(f"{self.work}/notify")
        self.manager.setblocking(False)
        environment = dict(os.environ, LD_PRELOAD=HELD_READS, HELD_READS=f"{self.work}/allowed",
                           NOTIFY_SOCKET=f"{self.work}/notify")
        with open(f"{self.work}/log", "w") as log:
            self.daemon = subprocess.Popen(
                [f"{BIN}/graphd", "--server_name", "wide", "--part_config",
                 f"{self.folder}/parts/wide.json", "--part_id", "0", "--port", str(self.port),
                 "--metrics", self.address, "--runtime_dir", self.runtime, "--state_dir",
                 f"{self.work}/state"], stdout=log, stderr=log, env=environment)
        self.addCleanup(self.daemon.wait)
        self.addCleanup(self.daemon.kill)

    def allow(self, size):
        """Lets the daemon read so many bytes in all."""
        with open(f"{self.work}/allowed.new", "w") as out:
            out.write(str(size))
        os.rename(f"{self.work}/allowed.new", f"{self.work}/allowed")

    def metrics(self):
        try:
            with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=10) as answer:
                text = answer.read().decode()
        except OSError:
            return {}
        return {name: float(value) for name, value in re.findall(r"^(\S+) (\S+)$", text, re.M)}

    def loaded(self, least):
        """Waits until so many bytes are in memory and graphctl is told so; returns the metrics then."""
        def found():
            metrics, file = self.metrics(), f"{self.runtime}/wide/{self.port}.loading"
            if metrics.get("graphd_loading_bytes", -1) < least or not os.path.exists(file):
                return None
            with open(file) as told:
                return metrics if json.load(told)["done"] == metrics["graphd_loading_bytes"] else None
        seen = []

        def stays():
            seen.append(found())
            time.sleep(0.1)  # the server keeps its page for so long
            last = [each and each["graphd_loading_bytes"] for each in seen[-5:]]
            return len(last) == 5 and last[0] is not None and len(set(last)) == 1

        wait_until(f"{least} bytes to be in memory, and no more", stays)
        return seen[-1]

    def graphctl(self, *arguments):
        return subprocess.run([f"{BIN}/graphctl", *arguments, "--runtime_dir", self.runtime],
                              capture_output=True, text=True, timeout=60 * SLOW)

    def status(self, *arguments):
        return self.graphctl("server", "status", "--server_name", "wide", "--ip_config",
                             f"{self.work}/ip.txt", *arguments)

    def notices(self):
        """Returns what the daemon has told its service manager since the last call."""
        told = ""
        try:
            while True:
                told += self.manager.recv(4096).decode() + "\n"
        except BlockingIOError:
            return told

    def test_a_server_tells_how_far_its_loading_has_come(self):
        first = self.loaded(0)
        self.assertEqual(first['graphd_state{state="loading"}'], 1)
        self.assertEqual(first['graphd_state{state="ready"}'], 0)
        self.assertEqual(first['graphd_server_info{server_name="wide",graph_name=""}'], 1)
        self.assertIn("STATUS=loading\n", self.notices())

        # The daemon counts in steps of 4 MiB.
        self.allow(16 * MIB)
        third = self.loaded(12 * MIB)
        loaded = third["graphd_loading_bytes"]
        self.assertLess(loaded, 20 * MIB)
        total = third["graphd_loading_total_bytes"]
        self.assertGreater(total, 48 * MIB)
        self.assertLess(total, 52 * MIB)
        percent = int(100 * loaded / total)

        done = self.status()
        self.assertEqual(done.returncode, 5)
        self.assertRegex(done.stdout, rf"127.0.0.1:{self.port}: server 'wide' loading {percent} %, "
                                      rf"\d+.\d MiB of \d+.\d MiB, pid {self.daemon.pid}\n")
        (shown,) = json.loads(self.status("--json").stdout)
        self.assertEqual(shown["status"]["state"], "loading")
        self.assertEqual(shown["status"]["loading"],
                         {"done": loaded, "total": total, "percent": percent})
        self.assertIn(f"server 'wide' loading {percent} %", self.graphctl("ps").stdout)
        health = self.graphctl("status")
        self.assertEqual(health.returncode, 5)
        self.assertIn(f" loading {percent} %", health.stdout)

        page, said = browse(f"http://{self.address}/", 5000)
        self.assertEqual(said, [])
        self.assertEqual(page.state, "state loading")
        self.assertEqual(page.texts[:3], [f"wide {percent} %", "wide", f"loading {percent} %"])
        texts = page.texts[page.texts.index("Loading"):]
        self.assertRegex(texts[texts.index("partitions") + 1],
                         rf"{loaded / MIB:.1f} MiB of {total / MIB:.1f} MiB")

        self.allow(32 * MIB)
        loaded = self.loaded(28 * MIB)["graphd_loading_bytes"]
        self.assertLess(loaded, 36 * MIB)
        self.assertIn(f"loading {int(100 * loaded / total)} %", self.status().stdout)
        self.allow(1 << 40)
        wait_until("it to be ready", lambda: self.metrics().get('graphd_state{state="ready"}') == 1)
        self.assertNotIn("graphd_loading_bytes", self.metrics())
        told = []

        def is_ready():
            told.append(self.notices())
            return "READY=1" in "".join(told)

        wait_until("the service manager to be told", is_ready)
        self.assertRegex("".join(told), r"(?s)STATUS=loading: \d+ % of .*READY=1")
        done = self.status()
        self.assertEqual((done.returncode, "wide' loading" in done.stdout), (0, False), done.stderr)
        page, said = browse(f"http://{self.address}/", 3000)
        self.assertEqual((page.state, said), ("state ready", []))
        self.assertNotIn("Loading", page.texts)
        self.assertEqual([name for name in os.listdir(f"{self.runtime}/wide") if "loading" in name], [])

    def test_a_server_that_ends_while_it_loads_is_not_shown_as_loading(self):
        self.allow(8 * MIB)
        self.loaded(4 * MIB)
        self.assertIn("loading", self.status().stdout)
        self.daemon.send_signal(signal.SIGKILL)
        self.daemon.wait()
        done = self.status()
        self.assertEqual((done.returncode, done.stdout), (5, ""))
        self.assertIn("no server", self.graphctl("ps").stdout)


if __name__ == "__main__":
    unittest.main()
