# SPDX-License-Identifier: Apache-2.0
"""A cluster of Slurm on this machine: munged, slurmctld, and slurmd for each of two nodes."""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from free_ports import free_ports
from slurm_programs import PACKAGES, SETTINGS, path_of

CONFIG = (
    SETTINGS
    + """\
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
ProctrackType=proctrack/pgid
NodeName=one NodeAddr=127.0.0.1 NodeHostname={host} Port={ports[1]} CPUs=4
NodeName=two NodeAddr=127.0.0.1 NodeHostname={host} Port={ports[2]} CPUs=4
"""
)


class Slurm:
    """The daemons; `environment` lets srun find them."""

    def __init__(self):
        for program in PACKAGES:
            path_of(program)
        self.processes = []
        self.folder = tempfile.mkdtemp(prefix="graphd-slurm-")
        try:
            self._begin()
        except BaseException:
            self.stop()
            raise

    def _begin(self):
        os.chmod(self.folder, 0o755)
        for name in ("munge", "state"):
            os.mkdir(os.path.join(self.folder, name))
        key = self.path("munge/key")
        with open(key, "wb") as file:
            file.write(os.urandom(128))
        os.chmod(key, 0o600)
        config = self.path("slurm.conf")
        with open(config, "w") as file:
            file.write(
                CONFIG.format(
                    folder=self.folder,
                    socket=self.path("munge/socket"),
                    host=socket.gethostname(),
                    user=getpass.getuser(),
                    ports=free_ports(3),
                )
            )
        self.environment = dict(os.environ, SLURM_CONF=config)
        self._start(
            "munged", "--foreground", "--force", "--key-file", key,
            *(f"--{name}={self.path('munge')}/{file}" for name, file in (
                ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed")
            )),
        )  # fmt: skip
        self._wait(lambda: os.path.exists(self.path("munge/socket")))
        self._start("slurmctld", "-D", "-f", config)
        for node in ("one", "two"):
            self._start("slurmd", "-D", "-N", node, "-f", config)
        self._wait(lambda: self.run("sinfo", "-h", "-o", "%t").split() == ["idle"])

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *command, environment=None):
        """Returns the output of a command of Slurm."""
        done = subprocess.run(
            command,
            env={**self.environment, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        return done.stdout

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(timeout=30)
        shutil.rmtree(self.folder)

    def _start(self, program, *arguments):
        with open(self.path(f"{program}-{len(self.processes)}.out"), "w") as out:
            self.processes.append(
                subprocess.Popen(
                    [path_of(program), *arguments], stdout=out, stderr=out, env=self.environment
                )
            )

    def _wait(self, is_done):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if is_done():
                return
            time.sleep(0.05)
        logs = [name for name in os.listdir(self.folder) if name.endswith((".out", ".log"))]
        texts = []
        for name in logs:
            with open(self.path(name)) as file:
                texts.append(f"== {name}\n{file.read()[-2000:]}")
        raise AssertionError("Slurm does not start:\n" + "\n".join(texts))
