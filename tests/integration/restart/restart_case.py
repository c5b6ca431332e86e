# SPDX-License-Identifier: Apache-2.0
"""The base of tests that replace a daemon's process under a service manager."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
from harness import BIN, DEADLINE, SLOW, free_ports, partition
from service_manager import ServiceManager


class RestartCase(unittest.TestCase):
    """A ring in two partitions, and a service manager that starts daemons named 'ring'."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="graphd-restart-")
        self.addCleanup(shutil.rmtree, self.folder)
        partition(self.folder, 2)
        self.manager = ServiceManager(self.folder)
        self.addCleanup(self.manager.close)
        self.port, = free_ports(1)
        self.process = None
        self.addCleanup(self.kill)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def begin(self, *options, parts="0,1"):
        """Starts the daemon."""
        with open(self.path("log"), "w") as out:
            self.process = self.manager.start(
                os.path.join(BIN, "graphd"), "--server_name", "ring", "--part_config",
                self.path("ring.json"), "--part_id", parts,
                "--runtime_dir", self.path("run"), "--state_dir", self.path("state"), *options,
                stdout=out, stderr=subprocess.STDOUT)

    def log(self):
        with open(self.path("log")) as file:
            return file.read()

    def start(self, *options, parts="0,1"):
        """Starts the daemon, with TCP, and returns its log once it is ready."""
        self.begin("--listen", f"127.0.0.1:{self.port}", *options, parts=parts)
        return self.await_ready()

    def await_ready(self):
        ready = self.manager.ready.wait(DEADLINE * SLOW)
        text = self.log()
        self.assertTrue(ready, text)
        return text

    def end(self, number):
        """Sends the daemon a signal, and waits until it has ended with code 0."""
        self.process.send_signal(number)
        self.assertEqual(self.process.wait(DEADLINE * SLOW), 0, self.log())

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
