# SPDX-License-Identifier: Apache-2.0
"""Slurm on the machines of a cluster test: a munged on each, slurmctld on the operator's machine, and
a slurmd on each of the others, which are the nodes."""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools"))
from slurm_programs import SETTINGS, path_of

CONFIG = SETTINGS + """\
SlurmctldHost=op({operator})
SlurmUser=root
SlurmdUser=root
ProctrackType=proctrack/linuxproc
KillWait=2
MessageTimeout=5
{nodes}
"""
# The daemons of Slurm on a machine, and what they start for a step.
OWN = ("munged", "slurmctld", "slurmd", "slurmstepd", "slurmscriptd")


def is_of_slurm(command):
    """Returns whether a process is one of Slurm's own."""
    return os.path.basename(command.split()[0].rstrip(":")) in OWN


class SlurmCluster:
    def __init__(self, cluster):
        self.cluster = cluster
        self.folder = cluster.root + "/slurm"
        self.processes = []
        for each in ("state", "log", *(f"spool-{machine.name}" for machine in cluster.machines)):
            os.makedirs(f"{self.folder}/{each}")
        self.config = self.folder + "/slurm.conf"
        with open(self.config, "w") as out:
            out.write(CONFIG.format(
                operator=cluster.operator.address, folder=self.folder,
                socket="/run/munge/socket",
                nodes="\n".join(f"NodeName={m.name} NodeAddr={m.address} CPUs=4"
                                for m in cluster.machines)))
        # A network namespace has a /sys of its own, without cgroups.
        with open(self.folder + "/cgroup.conf", "w") as out:
            out.write("CgroupPlugin=cgroup/v1\n")
        with open(self.folder + "/munge.key", "wb") as out:
            os.fchmod(out.fileno(), 0o600)
            out.write(os.urandom(128))
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self):
        for machine in self.cluster.everyone():
            subprocess.run(machine.enter("mkdir", "-m", "755", "/run/munge"), check=True)
            self.run(machine, "munged", "--foreground", "--force",
                     f"--key-file={self.folder}/munge.key",
                     *(f"--{name}=/run/munge/{file}" for name, file in (
                         ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log"),
                         ("seed-file", "seed"))))
        self.wait(lambda: all(os.path.exists(f"/proc/{m.init()}/root/run/munge/socket")
                              for m in self.cluster.everyone()))
        self.run(self.cluster.operator, "slurmctld", "-D", "-f", self.config)
        for machine in self.cluster.machines:
            self.run(machine, "slurmd", "-D", "-f", self.config)
        self.wait(self.is_idle)

    def run(self, machine, program, *arguments):
        with open(f"{self.folder}/log/{machine.name}-{program}.log", "w") as out:
            self.processes.append(subprocess.Popen(
                machine.enter("env", "SLURM_CONF=" + self.config, path_of(program), *arguments),
                stdout=out, stderr=out, stdin=subprocess.DEVNULL))

    def command(self, *words):
        """Returns a command that runs `words` on the operator's machine, as a user of Slurm."""
        return self.cluster.operator.enter("env", "SLURM_CONF=" + self.config, *words)

    def ask(self, *words):
        return subprocess.run(self.command(*words), capture_output=True, text=True,
                              timeout=30).stdout

    def is_idle(self):
        return self.ask("sinfo", "-h", "-o", "%T %D").split() == [
            "idle", str(len(self.cluster.machines))]

    def wait(self, is_done):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if is_done():
                return
            time.sleep(0.05)
        texts = []
        for folder, _, names in os.walk(self.folder):
            for name in names:
                if name.endswith(".log"):
                    with open(os.path.join(folder, name)) as file:
                        texts.append(f"== {name}\n{file.read()[-2000:]}")
        raise AssertionError("Slurm is not ready:\n" + "\n".join(texts))

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(timeout=30)
