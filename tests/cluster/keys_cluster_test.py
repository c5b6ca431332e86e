# SPDX-License-Identifier: Apache-2.0
"""Tests of keys on three hosts: sent over ssh, used by jobs without --insecure, renewed and
revoked."""

import json
import os
import shutil
import stat
import subprocess
import unittest

from cluster_case import ClusterCase, start_cluster
from harness import BIN, DEADLINE, SLOW, partition

KEYS = "/srv/keys"


def setUpModule():
    global cluster
    cluster = start_cluster(("graphctl", "graphd"))
    unittest.addModuleCleanup(cluster.close)
    shutil.copy(os.path.join(BIN, "..", "tests", "ring_trainer"), cluster.root + "/bin")
    partition(cluster.root, 3)
    for machine in (*cluster.machines, cluster.operator):
        workspace = machine.folder + "/srv/ws"
        shutil.copytree(cluster.root, workspace,
                        ignore=lambda folder, names: [name for name in names if folder ==
                                                      cluster.root and not name.startswith("part")
                                                      and name != "ring.json"])
    with open(cluster.operator.folder + "/srv/ws/ip.txt", "w") as out:
        out.write("".join(machine.address + "\n" for machine in cluster.machines))


class KeysOnThreeHosts(ClusterCase):
    def setUp(self):
        self.cluster = cluster
        super().setUp()
        for machine in (*cluster.machines, cluster.operator):
            shutil.rmtree(machine.folder + KEYS, ignore_errors=True)

    def graphctl(self, *arguments):
        return subprocess.run(
            cluster.operator.enter(cluster.root + "/bin/graphctl", *arguments),
            capture_output=True, text=True, timeout=DEADLINE * SLOW)

    def keys(self, verb, *arguments):
        hosts = () if verb in ("create", "list") else (
            "--ip_config", "/srv/ws/ip.txt")
        done = self.graphctl("keys", verb, "--server_name", "ring", "--keys", KEYS, "--json",
                             *hosts, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def launch(self, *arguments, guard=("--keys", KEYS)):
        return self.graphctl("launch", "--server_name", "ring", "--workspace", "/srv/ws",
                             "--ip_config", "ip.txt", "--part_config", "ring.json", *guard,
                             *arguments)

    def test_each_host_gets_what_it_needs_and_not_the_authoritys_key(self):
        self.keys("create", "--client", "alice")
        sent = self.keys("distribute")
        self.assertEqual([host["ok"] for host in sent["hosts"]], [True] * 3)
        for machine in cluster.machines:
            folder = machine.folder + KEYS
            self.assertEqual(sorted(os.listdir(folder)), [
                "ca.pem", "client.key", "client.pem", "lock", "revoked", "server.key",
                "server.pem"])
            for name in os.listdir(folder):
                self.assertEqual(stat.S_IMODE(os.stat(f"{folder}/{name}").st_mode), 0o600)
        self.keys("distribute", "--client", "alice")
        with open(cluster.machines[0].folder + KEYS + "/client.pem") as have, \
                open(cluster.operator.folder + KEYS + "/clients/alice/client.pem") as made:
            self.assertEqual(have.read(), made.read())

    def test_the_hosts_of_a_detached_job_meet_with_them(self):
        self.keys("create")
        self.keys("distribute")
        launched = self.launch("--detach", "--max_restarts", "1",
                               "echo attempt $GRAPHD_RESTART_COUNT; sleep 1; "
                               "exit $((1 - GRAPHD_RESTART_COUNT))")
        self.assertEqual(launched.returncode, 0, launched.stderr)
        job = (launched.stdout.strip(), "--workspace", "/srv/ws", "--ip_config", "ip.txt")
        waited = self.graphctl("wait", *job)
        logs = self.graphctl("logs", *job).stdout
        self.assertEqual(waited.returncode, 0, waited.stderr + logs)
        self.assertEqual([logs.count(f"attempt {n}\n") for n in (0, 1)], [3, 3], logs)

    def test_jobs_use_them_without_insecure_until_they_are_revoked(self):
        self.keys("create")
        self.keys("distribute")
        first = self.launch("--keep_alive", "--", cluster.root + "/bin/ring_trainer")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(first.stdout.count("checked 60 nodes, 1 of 3 partitions mapped"), 3)
        self.keys("rotate")
        second = self.launch("--", cluster.root + "/bin/ring_trainer")
        self.assertEqual(second.returncode, 0, second.stderr)
        self.keys("revoke", "owner")
        third = self.launch("--", cluster.root + "/bin/ring_trainer")
        self.assertNotEqual(third.returncode, 0)
        self.assertIn("revoked", third.stdout + third.stderr)
        stopped = self.graphctl("server", "stop", "--server_name", "ring", "--ip_config",
                                "/srv/ws/ip.txt", "--force")
        self.assertEqual(stopped.returncode, 0, stopped.stderr)

    def test_a_shared_secret_is_sent_and_admits_jobs(self):
        self.keys("create", "--shared_secret")
        sent = self.keys("distribute")
        self.assertEqual([host["ok"] for host in sent["hosts"]], [True] * 3)
        for machine in cluster.machines:
            self.assertEqual(os.listdir(machine.folder + KEYS), ["secret.key"])
            mode = os.stat(machine.folder + KEYS + "/secret.key").st_mode
            self.assertEqual(stat.S_IMODE(mode), 0o600)
        done = self.launch("--", cluster.root + "/bin/ring_trainer",
                           guard=("--secret", KEYS + "/secret.key"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("checked 60 nodes, 1 of 3 partitions mapped"), 3)

    def test_a_host_that_has_made_keys_itself_keeps_them(self):
        self.keys("create")
        other = cluster.machines[1].folder + KEYS
        shutil.copytree(cluster.operator.folder + KEYS, other)
        shutil.rmtree(cluster.operator.folder + KEYS)
        self.keys("create")
        done = self.graphctl("keys", "distribute", "--server_name", "ring", "--keys", KEYS,
                             "--ip_config", "/srv/ws/ip.txt")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("its own authority", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
