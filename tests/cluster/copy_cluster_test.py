# SPDX-License-Identifier: Apache-2.0
"""Tests graphctl copy to three hosts that run sshd: resulting files, failures, and its speed
compared with plain ssh."""

import filecmp
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from cluster_case import ClusterCase, start_cluster
from harness import DEADLINE, SLOW, kill_all, partition, start_partial_copy, wait_until

BIG = 160 << 20
UNAVAILABLE, FULL = 5, 6


def setUpModule():
    global cluster
    cluster = start_cluster(("graphctl", "graphd"))
    unittest.addModuleCleanup(cluster.close)
    partition(cluster.root + "/data", 3)
    os.makedirs(cluster.root + "/scripts/model")
    with open(cluster.root + "/scripts/model/train.sh", "w") as out:
        out.write("echo trained $RANK\n")
    os.chmod(cluster.root + "/scripts/model/train.sh", 0o755)
    os.mkdir(cluster.root + "/big")
    with open(cluster.root + "/big/weights", "wb") as out:
        for _ in range(BIG >> 20):
            out.write(os.urandom(1 << 20))


class CopyTest(ClusterCase):
    def setUp(self):
        self.cluster = cluster
        super().setUp()
        with open(cluster.root + "/ip.txt", "w") as out:
            out.write("".join(f"{m.address}\t30050\n" for m in cluster.machines))

    def tearDown(self):
        super().tearDown()
        for machine in cluster.machines:
            shutil.rmtree(self.workspace(machine), ignore_errors=True)

    def workspace(self, machine):
        return machine.folder + "/srv/ws"

    def line(self, *more, workspace="/srv/ws", scripts="scripts"):
        root = cluster.root
        return cluster.operator.enter(
            root + "/bin/graphctl", "copy", "--part_config", root + "/data/ring.json",
            "--ip_config", root + "/ip.txt", "--workspace", workspace, "--rel_data_path", "data",
            "--script_folder", f"{root}/{scripts}", *more)

    def copy(self, *more, **options):
        return subprocess.run(self.line("--json", *more, **options), capture_output=True, text=True,
                              timeout=2 * DEADLINE * SLOW)

    def hosts(self, *more, code=0, **options):
        done = self.copy(*more, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)["hosts"]

    def start_copy(self, *more):
        """Starts a copy of the big file and returns when part of it is on the second host."""
        def start():
            process = subprocess.Popen(self.line(*more, scripts="big"), stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            self.started.append(process)
            return process

        def remove_copy():
            for machine in cluster.machines:
                shutil.rmtree(self.workspace(machine) + "/big")

        partial = self.workspace(cluster.machines[1]) + "/big/.weights.partial"
        return start_partial_copy(start, partial, 8 << 20, remove_copy)

    def assert_trees(self, scripts="scripts"):
        """Checks that every machine has its partition and the common files, and no other files."""
        for number, machine in enumerate(cluster.machines):
            expected = {f"data/part{number}/{name}": f"data/part{number}/{name}"
                        for name in os.listdir(f"{cluster.root}/data/part{number}")}
            expected |= {"data/ring.json": "data/ring.json", "ip.txt": "ip.txt"}
            for folder, _, names in os.walk(f"{cluster.root}/{scripts}"):
                for name in names:
                    path = os.path.relpath(os.path.join(folder, name), cluster.root)
                    expected[path] = path
            workspace = self.workspace(machine)
            there = [os.path.relpath(os.path.join(folder, name), workspace)
                     for folder, _, names in os.walk(workspace) for name in names]
            self.assertEqual(sorted(there), sorted(expected))
            for path, source in expected.items():
                self.assertTrue(filecmp.cmp(f"{workspace}/{path}", f"{cluster.root}/{source}",
                                            shallow=False), path)

    def graphctl(self, *words):
        return subprocess.run(cluster.operator.enter(cluster.root + "/bin/graphctl", *words),
                              capture_output=True, text=True, timeout=DEADLINE * SLOW)


class Copies(CopyTest):
    def test_three_hosts_get_their_trees_and_a_job_runs_on_them(self):
        sent = self.hosts()
        self.assertTrue(all(host["ok"] and not host["local"] for host in sent))
        self.assert_trees()
        os.makedirs(cluster.operator.folder + "/srv/ws", exist_ok=True)
        job = self.graphctl("launch", "--workspace", "/srv/ws", "--ip_config",
                            cluster.root + "/ip.txt", "--part_config", "data/ring.json",
                            "--insecure", "scripts/model/train.sh")
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertEqual(sorted(line.split("] ")[1] for line in job.stdout.splitlines()),
                         ["trained 0", "trained 1", "trained 2"])
        wait_until("the job's processes to end", lambda: not self.left())

    def test_a_second_copy_sends_nothing(self):
        self.hosts()
        begin = time.monotonic()
        again = self.hosts("--verify")
        print(f"    a copy with nothing to send to three hosts: {time.monotonic() - begin:.3f} s")
        self.assertEqual([(h["files_missing"], h["bytes_sent"]) for h in again], [(0, 0)] * 3)

    def test_a_damaged_file_on_a_host_is_repaired_and_only_that(self):
        self.hosts()
        with open(self.workspace(cluster.machines[2]) + "/data/part2/graph.seg", "r+b") as file:
            file.seek(10)
            file.write(b"\xff\xff")
        again = self.hosts()
        self.assertEqual([h["files_missing"] for h in again], [0, 0, 1])
        self.assert_trees()

    def test_a_normal_user_copies_one_host_at_a_time(self):
        done = self.copy("--ssh_username", "graph", "--jobs", "1", workspace="/tmp/graph-ws")
        self.assertEqual(done.returncode, 0, done.stderr)
        for machine in cluster.machines:
            copied = f"/proc/{machine.init()}/root/tmp/graph-ws/data/ring.json"
            self.assertEqual(os.stat(copied).st_uid, 2000)

    def test_speed_compared_with_plain_ssh(self):
        # Copy to memory, so that the disk is not measured.
        def bare(*options):
            begin = time.monotonic()
            with open(cluster.root + "/big/weights", "rb") as source:
                subprocess.run(cluster.operator.enter(
                    "ssh", *options, cluster.machines[0].address, "cat > /run/bare; rm /run/bare"),
                    stdin=source, check=True, timeout=DEADLINE * SLOW)
            return BIG / (time.monotonic() - begin) / 1e6

        with open(cluster.root + "/ip.txt", "w") as out:
            out.write(f"{cluster.machines[0].address}\n" * 3)
        plain, fastest = bare(), bare("-c", "aes128-gcm@openssh.com")
        begin = time.monotonic()
        (host,) = self.hosts(workspace="/run/ws", scripts="big")
        whole = BIG / (time.monotonic() - begin) / 1e6
        speed = host["bytes_sent"] / host["seconds"] / 1e6
        shutil.rmtree(f"/proc/{cluster.machines[0].init()}/root/run/ws")
        print(f"    to one host: copy {speed:.0f} MB/s "
              f"({whole:.0f} with start, checksums and end), "
              f"ssh 'cat > file' {plain:.0f} MB/s, with aes128-gcm {fastest:.0f} MB/s; "
              f"ratio {speed / plain:.2f} and {speed / fastest:.2f}")
        self.assertGreater(speed / plain, 0.3)


class Interruptions(CopyTest):
    def assert_goes_on(self):
        again = self.hosts(scripts="big")
        resumed = again[1]
        self.assertGreater(resumed["bytes_resumed"] + resumed["bytes_same"], 8 << 20)
        self.assertLess(resumed["bytes_sent"], BIG)
        self.assert_trees("big")

    def test_a_killed_graphctl_leaves_no_process_and_the_copy_can_continue(self):
        job = self.start_copy()
        os.kill(self.graphctl_pid(job), signal.SIGKILL)
        wait_until("every host to be empty", lambda: not self.left())
        self.assert_goes_on()

    def test_an_interrupt_ends_the_copy_everywhere(self):
        job = self.start_copy()
        begin = time.monotonic()
        os.kill(self.graphctl_pid(job), signal.SIGINT)
        _, err = job.communicate(timeout=DEADLINE * SLOW)
        print(f"    interrupted after {time.monotonic() - begin:.3f} s")
        self.assertEqual(job.returncode, 130, err)
        wait_until("every host to be empty", lambda: not self.left())
        self.assert_goes_on()

    def test_a_host_that_dies_is_named_and_the_others_are_copied_to(self):
        # The second host is receiving when it dies; the others may be waiting for their turn.
        job = self.start_copy("--jobs", "3")
        kill_all(pid for pid, command in cluster.machines[1].processes()
                 if command.startswith("sshd: root") or "receive" in command)
        _, err = job.communicate(timeout=2 * DEADLINE * SLOW)
        self.assertEqual(job.returncode, UNAVAILABLE, err)
        self.assertIn("10.99.0.2: ", err)
        for number in (0, 2):
            machine = cluster.machines[number]
            self.assertIn(f"{machine.address}: sent ", err)
            self.assertTrue(filecmp.cmp(self.workspace(machine) + "/big/weights",
                                        cluster.root + "/big/weights", shallow=False))
        self.assert_goes_on()

    def test_a_host_that_dies_while_it_waits_gives_up_its_turn(self):
        job = subprocess.Popen(self.line("--jobs", "1", scripts="big"), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        self.started.append(job)
        partial = self.workspace(cluster.machines[0]) + "/big/.weights.partial"
        wait_until("the first host's turn", lambda: job.poll() is not None
                   or os.path.exists(partial))
        (helper,) = [pid for pid, command in cluster.machines[1].work() if "receive" in command]
        os.kill(helper, signal.SIGKILL)
        _, err = job.communicate(timeout=2 * DEADLINE * SLOW)
        self.assertEqual(job.returncode, UNAVAILABLE, err)
        self.assertIn("10.99.0.2: ", err)
        for number in (0, 2):
            self.assertIn(f"10.99.0.{number + 1}: sent ", err)

    def test_a_network_failure_ends_the_copy_on_both_sides(self):
        job = self.start_copy("--jobs", "3", "--host_timeout", "3")
        begin = time.monotonic()
        cluster.cable(cluster.machines[1], False)
        try:
            _, err = job.communicate(timeout=2 * DEADLINE * SLOW)
            print(f"    graphctl gave the host up after {time.monotonic() - begin:.3f} s")
            self.assertEqual(job.returncode, UNAVAILABLE, err)
            self.assertIn("10.99.0.2: ", err)
            wait_until("its helper to end", lambda: not cluster.machines[1].work())
        finally:
            cluster.cable(cluster.machines[1], True)
        # sshd notices the failure only through its own keep-alive.
        for pid, command in cluster.machines[1].processes():
            if command.startswith("sshd:"):
                os.kill(pid, signal.SIGKILL)
        self.assert_goes_on()


class Refusals(CopyTest):
    def assert_nothing_sent(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stderr)
        for word in (*words, "nothing was sent"):
            self.assertIn(word, done.stderr)
        for machine in cluster.machines:
            self.assertFalse(os.path.exists(self.workspace(machine) + "/data"))
        wait_until("every host to be empty", lambda: not self.left())

    def test_nothing_is_sent_if_a_host_cannot_be_reached(self):
        with open(cluster.root + "/ip.txt", "w") as out:
            out.write("10.99.0.1\n10.99.0.77\n10.99.0.3\n")
        self.assert_nothing_sent(self.copy("--connect_timeout", "2"), UNAVAILABLE, "10.99.0.77")

    def test_a_host_without_graphctl(self):
        self.assert_nothing_sent(self.copy("--graphctl", "/no/such/graphctl"), 3,
                                 "/no/such/graphctl", "--graphctl")

    def test_a_full_disk_is_reported_with_host_path_and_sizes(self):
        second = cluster.machines[1]
        run = ["mount", "-t", "tmpfs", "-o", "size=16m", "none", "/srv/ws"]
        os.makedirs(self.workspace(second))
        subprocess.run(second.enter(*run), check=True)
        try:
            done = self.copy(scripts="big")
            self.assert_nothing_sent(done, FULL, "10.99.0.2: /srv/ws", "160 MiB",
                                     "are needed", "16.0 MiB", "are free")
        finally:
            subprocess.run(second.enter("umount", "/srv/ws"), check=True)

    def state(self, pid):
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]

    def test_a_disk_that_fills_up_during_the_copy(self):
        second = cluster.machines[1]
        os.makedirs(self.workspace(second))
        subprocess.run(second.enter("mount", "-t", "tmpfs", "-o", "size=200m,mode=755", "none",
                                    "/srv/ws"), check=True)
        try:
            job = subprocess.Popen(self.line("--jobs", "1", scripts="big"), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
            self.started.append(job)
            first = self.workspace(cluster.machines[0]) + "/data/part0/partition.json"
            wait_until("the first host's turn",
                       lambda: job.poll() is not None or os.path.exists(first))
            os.kill(self.graphctl_pid(job), signal.SIGSTOP)
            wait_until("nsenter to stop with it, as it does", lambda: self.state(job.pid) == "T")
            subprocess.run(second.enter("fallocate", "-l", "150m", "/srv/ws/else"), check=True)
            os.kill(job.pid, signal.SIGCONT)
            _, err = job.communicate(timeout=2 * DEADLINE * SLOW)
            self.assertEqual(job.returncode, FULL, err)
            self.assertIn("10.99.0.2: /srv/ws/big/weights: the disk is full", err)
        finally:
            subprocess.run(second.enter("umount", "/srv/ws"), check=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
