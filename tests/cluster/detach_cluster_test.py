# SPDX-License-Identifier: Apache-2.0
"""Tests jobs that live by themselves on three hosts that run sshd: one survives the end of the ssh
session that started it and of the machine where that was, is found, watched and stopped from other
machines, and resumes after all its trainers were killed."""

import os
import re
import shutil
import subprocess
import unittest

from cluster_case import ClusterCase, give_partitions, start_cluster
from harness import BIN, DEADLINE, SLOW, kill_all, read_line, wait_until

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools")
PYTHON = os.path.join(BIN, "..", "python")
WORK = "echo up $(hostname); while [ ! -e finish ]; do sleep 0.05; done; echo done"


def setUpModule():
    global cluster
    cluster = start_cluster(("graphctl", "graphd"), desk=True)
    unittest.addModuleCleanup(cluster.close)
    shutil.copy(os.path.join(TOOLS, "resuming_trainer.py"), cluster.root + "/bin")
    # The package of the build tree consists of links; the machines see copies.
    shutil.copytree(PYTHON, cluster.root + "/python")
    give_partitions(cluster)
    for machine in cluster.everyone():
        os.makedirs(machine.folder + "/srv/ws", exist_ok=True)
        with open(machine.folder + "/srv/ws/ip.txt", "w") as out:
            out.write("".join(each.address + "\n" for each in cluster.machines))


class DetachedJobs(ClusterCase):
    def setUp(self):
        self.cluster = cluster
        super().setUp()

    def tearDown(self):
        for machine in cluster.machines:
            for name in ("finish", "go"):
                if os.path.exists(f"{machine.folder}/srv/ws/{name}"):
                    os.remove(f"{machine.folder}/srv/ws/{name}")
        super().tearDown()

    def words(self, verb, *arguments):
        return [cluster.root + "/bin/graphctl", verb, *arguments[:1], "--server_name", "ring",
                "--workspace", "/srv/ws", "--ip_config", "ip.txt", *arguments[1:]]

    def graphctl(self, where, verb, *arguments):
        return subprocess.run(where.enter(*self.words(verb, *arguments)), capture_output=True,
                              text=True, timeout=DEADLINE * SLOW)

    def launch_by_ssh(self, host, *arguments):
        """Starts a detached job in an ssh session on a host; returns its id when the session has
        ended."""
        command = " ".join("'" + word + "'" for word in (
            cluster.root + "/bin/graphctl", "launch", "--server_name", "ring", "--workspace",
            "/srv/ws", "--ip_config", "ip.txt", "--part_config", "ring.json", "--insecure",
            "--memory_dir", "/run", "--detach", *arguments))
        done = subprocess.run(
            cluster.operator.enter("ssh", host.address, command),
            capture_output=True, text=True, timeout=DEADLINE * SLOW)
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_until("the ssh session to end",
                   lambda: not [c for m in cluster.with_sshd() for _, c in m.processes()
                                if c.startswith("sshd:")], 10)
        return done.stdout.strip()

    def are_paused(self, job):
        logs = self.graphctl(cluster.operator, "logs", job).stdout
        self.assertNotIn("Traceback", logs)
        return logs.count("paused after step 12") == 3

    def all_gone(self):
        wait_until("every host to be empty", lambda: not self.left(), 30)

    def remove(self, machine):
        """Kills everything on a machine and disconnects it, until the end of the test."""
        machine.kill()
        cluster.cable(machine, False)

        def restore():
            machine.boot()
            cluster.cable(machine, True)
            cluster.await_sshd(machine)
        self.addCleanup(restore)

    def test_it_outlives_the_session_and_the_machine_that_started_it(self):
        last = cluster.machines[2]
        # The user's machine is not a host of the job.
        job = self.launch_by_ssh(cluster.desk, WORK)
        self.remove(cluster.desk)
        self.assertEqual(len(self.trainers("while [ ! -e finish ]")), 3)
        # The operator's machine has never heard of the job. Each daemon shows what the hosts have
        # reported, which the launcher passes on after its trainer has started.
        def shown_everywhere():
            found = self.graphctl(cluster.operator, "ps").stdout
            return len(re.findall(f"job {job}, .* attached here, hosts: 10.99.0.1 running, "
                                  "10.99.0.2 running, 10.99.0.3 running", found)) == 3
        wait_until("every daemon to show the job on all hosts", shown_everywhere)
        watcher = subprocess.Popen(last.enter(*self.words("attach", job)), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.started.append(watcher)
        lines = sorted(read_line(watcher.stdout) for _ in range(3))
        self.assertEqual(lines, [f"[10.99.0.{n}:{n - 1}] up m{n}\n" for n in (1, 2, 3)])
        stopped = self.graphctl(cluster.operator, "stop", job, "--grace", "5")
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        _, said = watcher.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual(watcher.returncode, 143, said)
        self.all_gone()
        logs = self.graphctl(cluster.operator, "logs", job)
        self.assertEqual(logs.stdout.count("up m"), 3, logs.stderr)
        self.assertEqual(self.graphctl(cluster.operator, "wait", job).returncode, 143)

    def test_it_resumes_after_all_its_trainers_were_killed(self):
        train = (f"PYTHONPATH={cluster.root}/python exec /usr/bin/python3 "
                 f"{cluster.root}/bin/resuming_trainer.py")
        job = self.launch_by_ssh(cluster.machines[0], "--max_restarts", "2", "--keep_alive",
                                 f"{train} job 20 0 12 go")
        wait_until("all trainers to be in the middle", lambda: self.are_paused(job), 60)
        killed = self.trainers("resuming_trainer")
        self.assertEqual(len(killed), 3)
        kill_all(killed)
        waited = self.graphctl(cluster.machines[2], "wait", job)
        logs = self.graphctl(cluster.operator, "logs", job).stdout
        self.assertEqual(waited.returncode, 0, waited.stderr + logs)
        self.assertEqual(logs.count("begins at step 0 of 20, 3 trainers"), 3, logs)
        self.assertEqual(logs.count("begins at step 10 of 20, 3 trainers"), 3, logs)
        self.assertEqual(logs.count("ends with rows of [20.0]"), 3, logs)
        # Other jobs continue with more trainers from its last checkpoint, and then with fewer.
        for trainers, begin in ((6, 20), (3, 30)):
            other = self.launch_by_ssh(cluster.machines[1], "--num_trainers", str(trainers // 3),
                                       f"{train} {job} {begin + 10}")
            waited = self.graphctl(cluster.operator, "wait", other)
            logs = self.graphctl(cluster.operator, "logs", other).stdout
            self.assertEqual(waited.returncode, 0, waited.stderr + logs)
            begins = f"begins at step {begin} of {begin + 10}, {trainers} trainers"
            self.assertEqual(logs.count(begins), trainers, logs)
            self.assertEqual(logs.count(f"ends with rows of [{begin + 10}.0]"), trainers, logs)
        shown = self.graphctl(cluster.operator, "ps").stdout
        self.assertEqual(len(re.findall(f"job {job}, started again 1 of 2 times, ended", shown)), 3,
                         shown)
        wait_until("the jobs to be gone",
                   lambda: not [c for _, c in self.left() if "/graphd " not in c])
        stopped = subprocess.run(cluster.operator.enter(
            cluster.root + "/bin/graphctl", "server", "stop", "--server_name", "ring",
            "--workspace", "/srv/ws", "--ip_config", "ip.txt"), capture_output=True, text=True)
        self.assertEqual(stopped.returncode, 0, stopped.stderr)

    def test_a_lost_host_ends_the_job_on_the_others(self):
        job = self.launch_by_ssh(cluster.machines[0], "--host_timeout", "3", WORK)
        cluster.cable(cluster.machines[2], False)
        try:
            waited = self.graphctl(cluster.machines[0], "wait", job, "--connect_timeout", "2")
            self.assertEqual(waited.returncode, 5, waited.stderr)
            self.assertIn("10.99.0.3 has been silent for 3 s (--host_timeout)", waited.stderr)
        finally:
            cluster.cable(cluster.machines[2], True)
        # The lost host ends its part by itself.
        wait_until("every host to be empty", lambda: not self.left(), 60)


if __name__ == "__main__":
    unittest.main(verbosity=2)
