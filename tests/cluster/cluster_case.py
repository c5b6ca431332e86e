# SPDX-License-Identifier: Apache-2.0
"""The base of the cluster tests: three machines with graphctl, and a check at the end of every test
that no process remains on them."""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration", "launch"))
from harness import BIN, ProcessTest, partition, wait_until
from machines import Cluster


def start_cluster(programs, desk=False):
    """Starts three machines and an operator's, with the programs at the same path on each, and one
    with a user's `desk` if that is asked for."""
    if os.geteuid() != 0:
        raise AssertionError("the cluster tests make network namespaces: run them as root")
    cluster = Cluster(3, desk)
    os.mkdir(cluster.root + "/bin")
    for program in programs:
        shutil.copy(os.path.join(BIN, program), cluster.root + "/bin")
    return cluster


def give_partitions(cluster):
    """Makes a graph of three partitions. Each machine gets its own, as on real hosts, in /srv/ws."""
    partition(cluster.root, 3)
    for number, machine in enumerate(cluster.machines):
        workspace = machine.folder + "/srv/ws"
        os.mkdir(workspace)
        shutil.copy(cluster.root + "/ring.json", workspace)
        shutil.copytree(f"{cluster.root}/part{number}", f"{workspace}/part{number}")


def parent_of(pid):
    """Returns the parent of a process, or None if the process has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return None


class ClusterCase(ProcessTest):
    cluster = None  # set before setUp

    def setUp(self):
        self.cluster.write_known_hosts()
        self.cluster.write_ssh_config()
        self.started = []
        self.assertEqual(self.left(), [], "processes that an earlier test left")

    def tearDown(self):
        left = self.end_processes()
        self.assertEqual(left, [], "processes that the test left on the hosts")
        wait_until("sshd's sessions to end", lambda: not [
            p for m in self.cluster.machines for p, c in m.processes() if not self.is_service(c)], 5)

    def left(self):
        return [each for machine in self.cluster.machines for each in machine.work()
                if not self.is_service(each[1])]

    def is_service(self, command):
        """Returns whether a process may remain on a machine between tests."""
        return False

    def trainers(self, words):
        """Returns the pids of the processes with `words` in their command that are not graphctl's.
        A child of such a process that has not begun another program yet is not one of them."""
        found = [pid for machine in self.cluster.machines for pid, command in machine.processes()
                 if words in command and "graphctl" not in command]
        return [pid for pid in found if parent_of(pid) not in [None, *found]]

    def graphctl_pid(self, job):
        """Returns the pid of graphctl, the child of nsenter in the machine's PID namespace."""
        with open(f"/proc/{job.pid}/task/{job.pid}/children") as file:
            return int(file.read().split()[0])
