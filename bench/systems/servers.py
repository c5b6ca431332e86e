# SPDX-License-Identifier: Apache-2.0
"""Starts the servers that trainers are measured on, graphd's and DGL's, and stops them. It needs the
standard library alone."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

READY_SECONDS, STOP_SECONDS = 600, 300
NAME = "products"


def free_ports(count):
    """Returns ports of loopback that nothing listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Servers:
    """The servers of a part config, one per partition. With `with`, they run inside of the block."""

    ready = ""  # the text in the log of a server that is ready
    trainers = 5  # the number of processes whose attaching is measured

    def __init__(self, part_config):
        self.part_config = os.path.realpath(part_config)
        with open(part_config, encoding="utf-8") as file:
            self.parts = json.load(file)["num_parts"]
        self.processes = []
        self.start_seconds = 0.0

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="graphd-compare-")
        self.ports = free_ports(self.parts)
        self.ip_config = os.path.join(self.folder, "ip_config.txt")
        with open(self.ip_config, "w", encoding="utf-8") as file:
            file.write("".join(f"127.0.0.1 {port}\n" for port in self.ports))
        begin = time.perf_counter()
        try:
            for part in range(self.parts):
                with open(self.log(part), "w", encoding="utf-8") as log:
                    self.processes.append(
                        subprocess.Popen(
                            self.command(part), stdout=log, stderr=log, env=self.environment(part)
                        )
                    )
            for part in range(self.parts):
                self.wait(part)
        except BaseException:
            self.__exit__()
            raise
        self.start_seconds = time.perf_counter() - begin
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self, part):
        return os.path.join(self.folder, f"server-{part}.log")

    def said(self, part):
        with open(self.log(part), encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait(self, part):
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end and self.processes[part].poll() is None:
            if self.ready in self.said(part):
                return
            time.sleep(0.002)
        raise RuntimeError(f"server {part} is not ready: {self.said(part)[-800:]}")

    def trainer(self, command):
        """Returns the command that runs a trainer beside the first server."""
        return command

    def shared_files(self):
        """Returns what os.stat says of the files of the first server that hold shared memory."""
        raise NotImplementedError

    def shared_bytes(self):
        """Returns the shared memory that the first server takes."""
        return sum({found.st_ino: 512 * found.st_blocks for found in self.shared_files()}.values())


class Graphd(Servers):
    """Servers of graphd."""

    ready = "serving"

    def __init__(self, part_config, bin_folder, state=None):
        super().__init__(part_config)
        self.bin_folder = bin_folder

    def command(self, part):
        return [
            os.path.join(self.bin_folder, "graphd"),
            *("--server_name", NAME),
            *("--part_config", self.part_config),
            *("--part_id", str(part)),
            *("--listen", f"127.0.0.1:{self.ports[part]}"),
            *("--runtime_dir", os.path.join(self.folder, "run")),
            *("--state_dir", os.path.join(self.folder, f"state-{part}")),
        ]

    def environment(self, part=None):
        return dict(
            os.environ,
            GRAPHD_SERVER_NAME=NAME,
            GRAPHD_IP_CONFIG=self.ip_config,
            GRAPHD_RUNTIME_DIR=os.path.join(self.folder, "run"),
        )

    def loading_seconds(self):
        """Returns the time in which the first server has loaded its partition, as its log says."""
        return float(re.search(r"partition 0 of .* in (\S+) s$", self.said(0), re.MULTILINE)[1])

    def shared_files(self):
        folder = f"/proc/{self.processes[0].pid}/fd"
        return [os.stat(os.path.join(folder, name)) for name in os.listdir(folder)
                if os.readlink(os.path.join(folder, name)).startswith("/memfd:")]  # fmt: skip


class Dgl(Servers):
    """Servers of DGL, each on a machine of its own as far as DGL can see: with its own /dev/shm, because
    servers of the same graph use the same names there. That takes root."""

    ready = "waiting for connections"
    trainers = 1  # because its servers end with their first trainer

    def __init__(self, part_config, python):
        super().__init__(part_config)
        self.python = python
        if os.geteuid() != 0:
            raise PermissionError("DGL's servers get a /dev/shm of their own, which takes root")

    def command(self, part):
        mounted = 'mount -t tmpfs -o size=100% tmpfs /dev/shm && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", mounted, "sh", self.python, "-u", "-m",
                "systems.dgl_server"]  # fmt: skip

    def environment(self, part=None):
        return dict(
            os.environ,
            DGL_DIST_MODE="distributed",
            DGL_ROLE="client" if part is None else "server",
            DGL_SERVER_ID=str(part or 0),
            DGL_IP_CONFIG=self.ip_config,
            DGL_NUM_SERVER="1",
            DGL_NUM_CLIENT="1",
            DGL_NUM_SAMPLER="0",
            DGL_CONF_PATH=self.part_config,
            DGL_GRAPH_FORMAT="csc",
            DGLBACKEND="pytorch",
        )

    def trainer(self, command):
        return ["nsenter", "--mount", "--target", str(self.processes[0].pid), *command]

    def shared_files(self):
        # The folder is that of the server's own mount namespace.
        return [entry.stat() for entry in os.scandir(f"/proc/{self.processes[0].pid}/root/dev/shm")]
