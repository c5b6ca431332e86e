# SPDX-License-Identifier: Apache-2.0
"""The base of the integration tests: a tiny partitioned graph, graphctl as a real process, and a
way to find all of its descendants, whatever session they are in."""

import contextlib
import gzip
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools"))
from free_ports import free_ports

BIN = os.environ.get("GRAPHD_BIN_DIR") or sys.exit("set GRAPHD_BIN_DIR to build/<preset>/bin")
GRAPHCTL = os.path.join(BIN, "graphctl")
DEADLINE = 30  # seconds until a wait fails
# The factors by which limits of time grow because of a sanitizer, and also of the machine's load.
SANITIZED = 4 if "asan" in BIN or "tsan" in BIN else 1
SLOW = max(SANITIZED, os.getloadavg()[0] / os.cpu_count())


def wait_until(what, condition, seconds=DEADLINE):
    seconds *= SLOW
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"waited {seconds} s for {what}")


def read_line(pipe, seconds=DEADLINE):
    """Returns the next line of a process's output, "" at its end. Reads single bytes, so that
    communicate() still returns all following output."""
    seconds *= SLOW
    end = time.monotonic() + seconds
    line = b""
    while not line.endswith(b"\n"):
        if not select.select([pipe], [], [], max(0, end - time.monotonic()))[0]:
            raise AssertionError(f"waited {seconds} s for a line; so far there is {line!r}")
        byte = os.read(pipe.fileno(), 1)
        if not byte:
            break
        line += byte
    return line.decode()


def write_raw_graph(directory, nodes=60):
    """Writes a ring in OGB's raw layout."""
    os.makedirs(os.path.join(directory, "raw"))
    for name, text in {
        "edge.csv.gz": "".join(f"{i},{(i + 1) % nodes}\n" for i in range(nodes)),
        "num-node-list.csv.gz": f"{nodes}\n",
        "num-edge-list.csv.gz": f"{nodes}\n",
    }.items():
        with gzip.open(os.path.join(directory, "raw", name), "wt") as out:
            out.write(text)


def partition(directory, parts, name="ring", nodes=60):
    """Partitions a ring into `directory`, as <name>.json."""
    raw = os.path.join(directory, "raw_graph_" + name)
    write_raw_graph(raw, nodes)
    subprocess.run([GRAPHCTL, "partition", "--input", raw, "--graph_name", name, "--num_parts",
                    str(parts), "--part_method", "random", "--output", directory],
                   check=True, capture_output=True, timeout=DEADLINE)


def kill_all(pids):
    """Kills the processes, of which some may have ended: a job ends its other trainers after the first
    death, for example."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def start_partial_copy(start, partial, size, remove_copy):
    """Returns the process of a copy, start(), when the file `partial` has more than `size` bytes. On a
    busy machine, all may have been copied before this function looks; then it calls remove_copy() and
    starts another one."""
    for _ in range(5):
        process = start()
        wait_until("some of it to be there", lambda process=process: process.poll() is not None or (
            os.path.exists(partial) and os.path.getsize(partial) > size))
        if process.poll() is None:
            return process
        if process.returncode != 0:
            raise AssertionError(f"the copy has failed with exit code {process.returncode}")
        remove_copy()
    raise AssertionError("each copy ended before it could be interrupted")


def processes_with(mark):
    """Returns (pid, command) of every living process whose environment contains `mark`."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if mark.encode() not in file.read():
                    continue
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                found.append((int(entry), file.read().replace(b"\0", b" ").decode().strip()))
        except OSError:
            continue  # it has ended in the meantime, or is a zombie
    return [each for each in found if each[1]]


class ProcessTest(unittest.TestCase):
    """A test that starts the processes in `started`, and kills those that do not end after it."""

    started = ()

    def left(self):
        """Returns (pid, command) of every living process that the test started, even indirectly."""
        raise NotImplementedError

    def end_processes(self):
        """Ends all processes; returns those that should have ended before."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        # On a busy machine, processes need time to end.
        end = time.monotonic() + 10 * SLOW
        while (left := self.left()) and time.monotonic() < end:
            time.sleep(0.02)
        kill_all(pid for pid, _ in left)
        return left


class GraphctlTest(ProcessTest):
    """A workspace with a graph in two partitions, ip.txt with two daemons on loopback, and its own
    directories for what daemons keep. At the end of a test, no process may remain."""

    def setUp(self):
        self.workspace = tempfile.mkdtemp(prefix="graphd-test-")
        self.runtime = os.path.join(self.workspace, "run")
        self.mark = "GRAPHD_TEST_MARK=" + uuid.uuid4().hex
        name, value = self.mark.split("=")
        self.environment = dict(os.environ, GRAPHD_RUNTIME_DIR=self.runtime,
                                GRAPHD_STATE_DIR=os.path.join(self.workspace, "state"),
                                GRAPHD_JOBS_DIR=os.path.join(self.workspace, "state"),
                                **{name: value})
        partition(self.workspace, 2)
        self.ports = free_ports(2)
        self.write("ip.txt", "".join(f"127.0.0.1 {port}\n" for port in self.ports))
        self.started = []

    def tearDown(self):
        left = self.end_processes()
        shutil.rmtree(self.workspace)
        self.assertEqual(left, [], "processes that the test left behind")

    def path(self, name):
        return os.path.join(self.workspace, name)

    def write(self, name, text):
        with open(self.path(name), "w") as out:
            out.write(text)

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def left(self, but=""):
        """Returns living processes of this test, except those whose command contains `but`."""
        return [each for each in processes_with(self.mark) if not but or but not in each[1]]

    def daemons(self):
        return [pid for pid, command in self.left() if command.startswith(BIN + "/graphd ")]

    def sockets(self):
        return [name for _, _, files in os.walk(self.runtime) for name in files
                if name.endswith(".sock")]

    def graphctl(self, *arguments, **options):
        return subprocess.run([GRAPHCTL, *arguments], cwd=self.workspace, env=self.environment,
                              capture_output=True, text=True, timeout=DEADLINE * SLOW, **options)

    def start(self, *arguments, **options):
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen([GRAPHCTL, *arguments], cwd=self.workspace,
                                   env=self.environment, text=True, **options)
        self.started.append(process)
        return process

    def launch_line(self, *arguments, trainers=2):
        return ("launch", "--server_name", "ring", "--ip_config", "ip.txt", "--part_config",
                "ring.json", "--num_trainers", str(trainers), *arguments)

    def launch(self, *arguments, trainers=2):
        return self.graphctl(*self.launch_line(*arguments, trainers=trainers))

    def start_launch(self, *arguments, trainers=2, **options):
        return self.start(*self.launch_line(*arguments, trainers=trainers), **options)

    def start_server(self):
        done = self.graphctl("server", "start", "--server_name", "ring", "--ip_config", "ip.txt",
                             "--part_config", "ring.json")
        self.assertEqual(done.returncode, 0, done.stderr)

    def stop_server(self, *arguments):
        done = self.graphctl("server", "stop", "--server_name", "ring", "--ip_config", "ip.txt",
                             *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)

    def lines(self, output):
        """Returns the trainers' lines as sorted (rank, text)."""
        return sorted((int(line[1:line.index("]")].split(":")[-1]), line[line.index("]") + 2:])
                      for line in output.splitlines() if line.startswith("["))
