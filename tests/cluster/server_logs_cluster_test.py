# SPDX-License-Identifier: Apache-2.0
"""Tests `graphctl server logs` on three hosts that run sshd: their logs are merged by time and
followed, and a host whose cable is pulled is named while the others go on."""

import os
import re
import signal
import subprocess
import unittest

from cluster_case import ClusterCase, give_partitions, start_cluster
from harness import DEADLINE, SLOW, read_line

LOST_SECONDS = 2


def setUpModule():
    global cluster
    cluster = start_cluster(("graphctl", "graphd"))
    unittest.addModuleCleanup(cluster.close)
    give_partitions(cluster)
    os.mkdir(cluster.operator.folder + "/srv/ws")
    with open(cluster.operator.folder + "/srv/ws/ip.txt", "w") as out:
        out.write("".join(each.address + "\n" for each in cluster.machines))


class ServerLogs(ClusterCase):
    def setUp(self):
        self.cluster = cluster
        super().setUp()

    def words(self, verb, *arguments):
        return cluster.operator.enter(
            cluster.root + "/bin/graphctl", "server", verb, "--server_name", "ring", "--workspace",
            "/srv/ws", "--ip_config", "ip.txt", "--host_timeout", str(LOST_SECONDS), *arguments)

    def server(self, verb, *arguments):
        done = subprocess.run(self.words(verb, *arguments), capture_output=True, text=True,
                              timeout=DEADLINE * SLOW)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_logs_of_hosts_are_merged_and_a_lost_host_is_named(self):
        self.server("start", "--part_config", "ring.json", "--insecure", "--memory_dir", "/run")
        hosts = [f"{machine.address}:30050" for machine in cluster.machines]
        for reason in ("first", "second"):
            self.server("drain", "--reason", reason)
            self.server("undrain")
        shown = self.server("logs").splitlines()
        times = [line[:23] for line in shown]
        self.assertEqual(times, sorted(times))
        drained = [re.search(r"\[(.*?)\].*\((\w+)\)$", line).groups() for line in shown
                   if "drains this server" in line]
        self.assertEqual([reason for _, reason in drained], ["first"] * 3 + ["second"] * 3)
        self.assertEqual({host for host, _ in drained[:3]}, set(hosts))

        follower = subprocess.Popen(self.words("logs", "--follow", "--lines", "1"),
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(follower)
        first = [read_line(follower.stdout) for _ in hosts]
        self.assertEqual([line.count("ends the drain") for line in first], [1, 1, 1])
        lost = cluster.machines[2]
        cluster.cable(lost, up=False)
        self.addCleanup(cluster.cable, lost, up=True)
        said = read_line(follower.stderr)
        self.assertIn(f"graphctl: {hosts[2]}: ", said)
        self.assertIn("; the logs of the other hosts go on", said)
        drain = self.graphctl_of_two("drain")
        self.assertEqual(drain.returncode, 0, drain.stderr)
        after = {re.search(r"\[(.*?)\]", read_line(follower.stdout)).group(1) for _ in range(2)}
        self.assertEqual(after, set(hosts[:2]))
        os.kill(self.graphctl_pid(follower), signal.SIGINT)
        self.assertEqual(follower.wait(DEADLINE * SLOW), 128 + signal.SIGINT)

        # Without --follow, the exit status tells that the logs of one host are missing.
        done = subprocess.run(self.words("logs", "--connect_timeout", "2"), capture_output=True,
                              text=True, timeout=DEADLINE * SLOW)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn(hosts[2], done.stderr)
        self.assertEqual(len([line for line in done.stdout.splitlines() if "(first)" in line]), 2)
        cluster.cable(lost, up=True)
        self.server("stop")

    def graphctl_of_two(self, verb):
        """Controls the two hosts that can be reached."""
        with open(cluster.operator.folder + "/srv/ws/two.txt", "w") as out:
            out.write("".join(each.address + "\n" for each in cluster.machines[:2]))
        words = self.words(verb)
        words[words.index("ip.txt")] = "two.txt"
        return subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE * SLOW)


if __name__ == "__main__":
    unittest.main()
